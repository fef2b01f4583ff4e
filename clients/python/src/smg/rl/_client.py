"""The routes of ``/v1/rl``."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NoReturn, Optional, SupportsIndex, Union
from urllib.parse import quote

from ._errors import FanoutError, RlError
from ._models import CallResult, FanoutResult, Worker
from ._transport import Transport, checked_timeout


class RL:
    """The RL control plane of one gateway.

    Every method raises :class:`RlError` when the gateway refuses, and what the standard library raises when it cannot be
    reached::

        rl = RL("http://127.0.0.1:30000", api_key="operators-key")
        print([worker.weight_version for worker in rl.workers()])

    :param base_url: of the gateway. A path is kept, for a gateway behind a reverse proxy.
    :param api_key: the operator's key, or an admin's token, when the gateway asks for one; empty counts as none.
    :param timeout: seconds, of connecting and of each wait for bytes. The gateway answers when the slowest engine has, so
        let it be longer than the gateway's ``--rl-control-timeout-secs``: when the client hangs up first, the gateway
        cancels the calls still in flight.
    """

    def __init__(self, base_url: str, api_key: Optional[str] = None, timeout: float = 600.0) -> None:
        self.timeout = checked_timeout(timeout)
        self._transport = Transport(base_url, api_key)
        self.base_url = self._transport.base_url

    def __repr__(self) -> str:
        return f"RL({self.base_url!r}, timeout={self.timeout!r})"

    def workers(self) -> list[Worker]:
        """Every engine. Registration is asynchronous: ask again when one is missing."""
        return _rows(*self._send("GET", "/workers"))

    def worker(self, worker_id: str) -> Worker:
        """One engine; the id of any rank will do. Unknown: :class:`RlError`, ``worker_not_found``."""
        return _row(*self._send("GET", f"/workers/{_segment(worker_id)}"))

    def set_version(self, worker_id: str, weight_version: Union[str, SupportsIndex]) -> Worker:
        """Records the weights an engine has. The engine is not called. Whole numbers are sent as text."""
        body = {"weight_version": _version(weight_version)}
        return _row(*self._send("POST", f"/workers/{_segment(worker_id)}/version", body=body))

    def set_fleet_version(
        self, weight_version: Union[str, SupportsIndex], *, selector: str
    ) -> list[Worker]:
        """:meth:`set_version` for every engine that matches; returns those."""
        body = {"weight_version": _version(weight_version)}
        return _rows(*self._send("POST", "/version", params=_selecting(selector), body=body))

    def set_state(self, worker_id: str, control: str) -> Worker:
        """Records ``active``, ``paused`` or ``asleep``. The engine is not called."""
        body = {"control": control}
        return _row(*self._send("POST", f"/workers/{_segment(worker_id)}/state", body=body))

    def set_fleet_state(self, control: str, *, selector: str) -> list[Worker]:
        """:meth:`set_state` for every engine that matches; returns those."""
        params = _selecting(selector)
        return _rows(*self._send("POST", "/state", params=params, body={"control": control}))

    def call(
        self,
        worker_id: str,
        path: str,
        body: Any = None,
        *,
        method: str = "POST",
        params: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> CallResult:
        """Calls a route of one engine, and returns what it answered, refusals included: read ``status``.

        An answer that has no body on the wire (to ``HEAD``, or a 204) is an :class:`RlError` with the code
        ``unexpected_response`` and that status.

        :param path: the engine's own: ``pause_generation``, ``server_info``, …
        :param body: sent as JSON. ``None`` sends none; SGLang wants at least ``{}`` when it pauses and continues.
        :param params: the engine's query; a list repeats its parameter.
        :param timeout: instead of the client's.
        """
        route = f"/workers/{_segment(worker_id)}/engine/{_path(path)}"
        status, payload = self._send(method, route, params=params, body=body, timeout=timeout)
        if isinstance(payload, dict) and "latency_ms" in payload and "error" not in payload:
            return CallResult.from_json(payload)
        _refuse(status, payload)

    def fanout(
        self,
        path: str,
        body: Any = None,
        *,
        selector: str,
        method: str = "POST",
        params: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        allow_partial: bool = False,
    ) -> FanoutResult:
        """Makes the same call to every engine that matches, and waits for all of them.

        Nobody matches: :class:`RlError`, ``no_workers_match``.

        :param selector: for instance ``engine=sglang, role!=reward``; replaces a ``selector`` in ``params``.
        :param allow_partial: return instead of raising when engines failed.
        :raises FanoutError: when an engine failed, unless ``allow_partial``.
        """
        status, payload = self._send(
            method,
            f"/engine/{_path(path)}",
            params={**(params or {}), **_selecting(selector)},
            body=body,
            timeout=timeout,
        )
        if status not in (200, 207) or not _is_report(payload):
            _refuse(status, payload)
        result = FanoutResult.from_json(payload)
        if result.failed and not allow_partial:
            raise FanoutError(result, status)
        return result

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        timeout: Optional[float] = None,
    ) -> tuple[int, Any]:
        return self._transport.send(
            method.upper(),
            "/v1/rl" + path,
            params=params,
            body=body,
            timeout=self.timeout if timeout is None else checked_timeout(timeout),
        )


def _rows(status: int, payload: Any) -> list[Worker]:
    rows = payload.get("workers") if isinstance(payload, dict) else None
    if status != 200 or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        _refuse(status, payload)
    return [Worker.from_json(row) for row in rows]


def _row(status: int, payload: Any) -> Worker:
    if status != 200 or not isinstance(payload, dict) or "id" not in payload:
        _refuse(status, payload)
    return Worker.from_json(payload)


def _is_report(payload: Any) -> bool:
    if not isinstance(payload, dict):
        return False
    results, failed = payload.get("results"), payload.get("failed", [])
    return (
        isinstance(results, dict)
        and isinstance(failed, list)
        and all(isinstance(each, dict) for each in (*results.values(), *failed))
    )


def _refuse(status: int, payload: Any) -> NoReturn:
    if status >= 400:
        raise RlError(status, payload)
    message = "not an answer of the RL API"
    if 300 <= status < 400:
        message += "; redirects are not followed"
    raise RlError(status, {"error": "unexpected_response", "message": message, "body": payload})


def _segment(worker_id: str) -> str:
    if not isinstance(worker_id, str):
        raise TypeError(f"worker_id must be a string, not {type(worker_id).__name__}")
    # These would make another route of it, here or in a proxy on the way.
    if worker_id in ("", ".", ".."):
        raise ValueError(f"{worker_id!r} is not a worker id")
    return quote(worker_id, safe="")


def _path(path: str) -> str:
    """One leading slash is dropped. What does not belong into a path is escaped, for the gateway to refuse it."""
    return quote(path[1:] if path.startswith("/") else path, safe="/")


def _selecting(selector: str) -> dict[str, str]:
    if not isinstance(selector, str):
        raise TypeError(f"selector must be a string, not {type(selector).__name__}")
    return {"selector": selector}


def _version(weight_version: Union[str, SupportsIndex]) -> str:
    """Text as it is; whole numbers, those of array libraries included, as text. ``True`` is not a version."""
    if isinstance(weight_version, str):
        return weight_version
    if isinstance(weight_version, bool) or not hasattr(weight_version, "__index__"):
        raise TypeError(
            f"weight_version must be a string or a whole number, not {type(weight_version).__name__}"
        )
    return str(operator.index(weight_version))
