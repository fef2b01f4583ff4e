"""What the control plane answers, as dataclasses. Members of an answer that are not listed here are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class Worker:
    """One engine: a row of ``GET /v1/rl/workers``.

    The ranks of a data-parallel engine are one row; ``dp_ranks`` counts them.

    >>> Worker.from_json({"id": "w1", "url": "http://e:1", "a_later_field": 1}).control
    'active'
    """

    id: str
    url: str
    base_url: str
    engine: str
    engine_version: Optional[str]
    model_id: str
    worker_type: str
    connection_mode: str
    tp_size: Optional[int]
    dp_size: Optional[int]
    pp_size: Optional[int]
    dp_ranks: int
    role: Optional[str]
    health: str
    #: ``None`` while nobody has said what the engine has.
    weight_version: Optional[str]
    labels: dict[str, str] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)
    #: ``active``, ``paused`` or ``asleep``.
    control: str = "active"
    #: ``registration``, ``passthrough`` or ``api``.
    version_source: Optional[str] = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Worker:
        """Reads a row. What is missing becomes ``None``, ``{}`` or ``"active"``: older gateways send fewer members."""
        get: Any = row.get  # the row is not checked: a member is what the gateway says it is
        return cls(
            id=get("id"),
            url=get("url"),
            base_url=get("base_url"),
            engine=get("engine"),
            engine_version=get("engine_version"),
            model_id=get("model_id"),
            worker_type=get("worker_type"),
            connection_mode=get("connection_mode"),
            tp_size=get("tp_size"),
            dp_size=get("dp_size"),
            pp_size=get("pp_size"),
            dp_ranks=get("dp_ranks"),
            role=get("role"),
            health=get("health"),
            weight_version=get("weight_version"),
            labels=get("labels") or {},
            capabilities=get("capabilities") or {},
            control=get("control") or "active",
            version_source=get("version_source"),
        )


@dataclass(frozen=True)
class CallResult:
    """What one engine answered, whatever its status.

    An engine can refuse with a 200, too: ``{"success": false}``.

    >>> CallResult.from_json({"worker_id": "w1", "url": "http://e:1", "status": 200, "latency_ms": 3, "body": {}}).status
    200
    """

    worker_id: str
    url: str
    status: int
    latency_ms: int
    #: Parsed when the engine answered JSON, else a string.
    body: Any
    #: The answer was longer than 1 MiB: ``body`` is its first 1 MiB, as a string.
    body_truncated: bool = False

    @classmethod
    def from_json(cls, outcome: Mapping[str, Any]) -> CallResult:
        get: Any = outcome.get
        return cls(
            worker_id=get("worker_id"),
            url=get("url"),
            status=get("status"),
            latency_ms=get("latency_ms"),
            body=get("body"),
            body_truncated=get("body_truncated") is True,
        )


@dataclass(frozen=True)
class FanoutFailure:
    """An engine of a fan-out that did not answer 2xx."""

    worker_id: str
    url: str
    #: The engine's status, if it answered; the answer is then in :attr:`FanoutResult.results`.
    status: Optional[int]
    #: ``upstream_error``, ``upstream_unreachable``, ``upstream_timeout`` or ``unsupported_connection_mode``.
    error: str
    message: str
    #: Only with ``unsupported_connection_mode``.
    connection_mode: Optional[str] = None

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> FanoutFailure:
        get: Any = entry.get
        return cls(
            worker_id=get("worker_id"),
            url=get("url"),
            status=get("status"),
            error=get("error"),
            message=get("message"),
            connection_mode=get("connection_mode"),
        )


@dataclass(frozen=True)
class FanoutResult:
    """What all engines of a fan-out answered: ``total == succeeded + len(failed)``."""

    #: By worker id; every engine that answered, whatever its status.
    results: dict[str, CallResult]
    failed: list[FanoutFailure]
    total: int
    succeeded: int

    @classmethod
    def from_json(cls, report: Mapping[str, Any]) -> FanoutResult:
        get: Any = report.get
        return cls(
            results={id_: CallResult.from_json(outcome) for id_, outcome in get("results").items()},
            failed=[FanoutFailure.from_json(entry) for entry in get("failed") or ()],
            total=get("total"),
            succeeded=get("succeeded"),
        )
