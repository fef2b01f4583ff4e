"""One HTTP request, one connection."""

from __future__ import annotations

import json
import math
import urllib.request
from collections.abc import Mapping
from typing import Any, Optional
from urllib.parse import urlencode, urlsplit

from .. import __version__


class Transport:
    """Sends JSON to the gateway and reads what comes back. Nothing changes between requests, so threads may share it."""

    def __init__(self, base_url: str, api_key: Optional[str]) -> None:
        self.base_url = _checked_base_url(base_url)
        self._authorization = _authorization(api_key)
        self._opener = _opener()

    def __getstate__(self) -> dict[str, Any]:
        # TLS settings cannot be pickled; the other process makes its own.
        return {name: value for name, value in vars(self).items() if name != "_opener"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _opener=_opener())

    def send(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        params: Optional[Mapping[str, Any]] = None,
        body: Any = None,
    ) -> tuple[int, Any]:
        """Status and body of the answer; the body parsed if it is JSON, else as text.

        :param body: sent as JSON; ``None`` sends no body.
        :param timeout: seconds, of connecting and of each wait for bytes.
        """
        url = self.base_url + path
        query = _query(params)
        if query:
            url += "?" + query
        headers = {"Accept": "application/json", "User-Agent": f"smg-python/{__version__}"}
        data = None
        if body is not None:
            # What JSON cannot say (NaN) is refused here rather than by every engine.
            data = json.dumps(body, allow_nan=False).encode("utf-8")
            headers["Content-Type"] = "application/json"
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        with self._opener.open(request, timeout=timeout) as response:
            status: int = response.status
            raw: bytes = response.read()
        if self._authorization is not None:
            # Something on the way may echo what it was sent; the key must not end up in an error text. In a success the key
            # alone is left: a short one may be part of any word.
            raw = raw.replace(self._authorization.encode("ascii"), b"Bearer ***")
            if not 200 <= status <= 299:
                raw = raw.replace(self._authorization.removeprefix("Bearer ").encode("ascii"), b"***")
        return status, _parsed(raw)


def checked_timeout(timeout: float) -> float:
    """:raises ValueError: unless it is a positive, finite number of seconds."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {type(timeout).__name__}")
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout}")
    return float(timeout)


def _opener() -> urllib.request.OpenerDirector:
    """HTTP and HTTPS, through the proxies that the environment names, and nothing else.

    No redirects: a control call must not become a GET, nor the key go to another host. Every status is an answer.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _checked_base_url(base_url: str) -> str:
    if not isinstance(base_url, str):
        raise TypeError(f"base_url must be a string, not {type(base_url).__name__}")
    parts = urlsplit(base_url)
    if "@" in parts.netloc:
        # The URL is not shown: it has a password in it.
        raise ValueError("base_url must not contain credentials: use api_key")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must be http://host[:port] or https://host[:port], not {base_url!r}")
    if "?" in base_url or "#" in base_url:
        raise ValueError(f"base_url must not have a query or a fragment: {base_url!r}")
    return base_url.rstrip("/")


def _authorization(api_key: Optional[str]) -> Optional[str]:
    if not api_key:
        return None
    # Checked here because http.client would quote the key in its own complaint.
    if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable():
        raise ValueError("api_key must be a string of printable ASCII characters (does it end with a newline?)")
    return f"Bearer {api_key}"


def _query(params: Optional[Mapping[str, Any]]) -> str:
    """``None`` leaves a parameter out, a list repeats it, and booleans are spelled as in JSON."""
    if params is None:
        return ""
    pairs = []
    for name, value in params.items():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if each is not None:
                pairs.append((name, ("true" if each else "false") if isinstance(each, bool) else each))
    return urlencode(pairs)


def _parsed(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
