"""Errors that carry an answer of the gateway. Both survive pickling, so that they can cross process boundaries."""

from __future__ import annotations

from typing import Any

from ._models import FanoutResult

#: Longest piece of a body that is not JSON, and longest list of ids, in an error text.
_MAX_TEXT = 200
_MAX_IDS = 10


class RlError(Exception):
    """The gateway refused, or its answer is not one of the RL API.

    >>> error = RlError(404, {"error": "worker_not_found", "message": "worker `w9` not found", "id": "w9"})
    >>> error.code, str(error)
    ('worker_not_found', 'worker_not_found (HTTP 404): worker `w9` not found')
    >>> RlError(404, "").code  # the control plane is off: a 404 without a body
    'http_error'
    """

    #: HTTP status of the gateway's answer.
    status: int
    #: ``error`` of the answer; ``http_error`` when it is no JSON object, ``unknown`` when it names none.
    code: str
    #: The answer: parsed when it is JSON, else its text.
    payload: Any

    def __init__(self, status: int, payload: Any) -> None:
        self.status = status
        self.payload = payload
        self.code, message = _read(payload)
        super().__init__(f"{self.code} (HTTP {status})" + (f": {message}" if message else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.status, self.payload))


class FanoutError(RlError):
    """At least one engine of a fan-out failed. Those that did not keep what they did; :attr:`result` tells which."""

    #: The whole report, successes included.
    result: FanoutResult

    def __init__(self, result: FanoutResult, status: int = 207) -> None:
        self.result = result
        ids = [str(failure.worker_id) for failure in result.failed]
        named = ", ".join(ids[:_MAX_IDS])
        more = f" and {len(ids) - _MAX_IDS} more" if len(ids) > _MAX_IDS else ""
        message = f"{len(ids)} of {result.total} engines failed: {named}{more}"
        super().__init__(status, {"error": "fanout_partial", "message": message})

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.result, self.status))


def _read(payload: Any) -> tuple[str, str]:
    """Code and message of an answer, in the shape of the RL API or in that of the inference routes."""
    if not isinstance(payload, dict):
        text = payload.strip() if isinstance(payload, str) else ""
        return "http_error", text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"
    code: Any = payload.get("error")
    message: Any = payload.get("message")
    if isinstance(code, dict):
        code, message = code.get("code"), code.get("message")
    return (
        code if isinstance(code, str) and code else "unknown",
        message if isinstance(message, str) else "",
    )
