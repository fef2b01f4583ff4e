"""What the tests need: the real gateway and mock engines as processes, a server that answers what it is told, an engine that
writes down what reaches it. Loopback only, ephemeral ports, everything ends with its test."""

from __future__ import annotations

import atexit
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Optional, Union
from urllib.parse import parse_qsl, urlsplit

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "clients" / "python" / "src"
MAIN = ROOT / "dist" / "src" / "main.js"
START_SECONDS = 30.0

# `timeout` and CI stop us with SIGTERM; leave as after an exception then, so that no process stays behind.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

# The machine's proxy, if it has one, has no business between two loopback ports, nor do the developer's own settings.
for _name in list(os.environ):
    if _name.startswith("SMG_") or _name.lower() in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        del os.environ[_name]


def until(what: str, is_done: Callable[[], bool], seconds: float = START_SECONDS) -> None:
    """Waits, with a bound, until something holds."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise AssertionError(f"gave up waiting: {what}")
        time.sleep(0.05)


class Program:
    """A process of ours, with what it said."""

    def __init__(self, argv: list[str], env: Optional[Mapping[str, str]] = None) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=ROOT,
            encoding="utf-8",
        )
        self.lines: list[str] = []
        self._unread: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        atexit.register(self.kill)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._unread.put(line)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def first_line(self) -> str:
        try:
            return self._unread.get(timeout=START_SECONDS)
        except queue.Empty:
            raise AssertionError("it said nothing") from None

    def kill(self) -> None:
        """Ends it at once; more than once is fine."""
        atexit.unregister(self.kill)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()


def smg(*argv: str) -> Program:
    """Starts the built gateway program."""
    node = shutil.which("node")
    if node is None:
        raise AssertionError("node is missing")
    if not MAIN.exists():
        raise AssertionError("dist/ is missing: npm run build")
    return Program([node, str(MAIN), *argv])


def mock_engine(*argv: str) -> tuple[Program, str]:
    """Starts a mock engine on a free port; the process and its URL."""
    program = smg("mock-engine", "--port", "0", *argv)
    try:
        return program, str(json.loads(program.first_line())["url"])
    except BaseException:
        program.kill()
        raise


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def gateway(urls: list[str], *argv: str) -> tuple[Program, str]:
    """Starts a gateway in front of these engines, and waits until all are ready; the process and its URL."""
    port, metrics_port = free_ports(2)
    program = smg(
        "launch",
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics_port)),
        *("--worker-startup-check-interval", "1"),
        *(("--worker-urls", *urls) if urls else ()),
        *argv,
    )
    url = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        if program.process.poll() is not None:
            raise AssertionError(f"the gateway ended: {program.output}")
        status, body = fetch(f"{url}/readiness")
        if not urls:
            return status in (200, 503)
        return status == 200 and json.loads(body)["healthy_workers"] >= len(urls)

    try:
        until("the gateway is ready", is_ready)
    except BaseException:
        program.kill()
        raise
    return program, url


def fetch(url: str, body: Any = None, headers: Optional[Mapping[str, str]] = None) -> tuple[int, bytes]:
    """Status and body; status 0 while nobody listens."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=dict(headers or {}))
    if data is not None:
        request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return 0, b""


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What to answer. `raw` is sent as it is, instead of everything else; then the connection ends."""

    status: int = 200
    body: Union[bytes, str, dict[str, Any], list[Any]] = b""
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0
    raw: Optional[bytes] = None


class FakeServer:
    """Answers with `script(request)`, and keeps the requests."""

    def __init__(self, script: Callable[[Received], Answer]) -> None:
        self.requests: list[Received] = []
        self.script = script
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(self.command, self.path, headers, self.rfile.read(length))
                fake.requests.append(request)
                answer = fake.script(request)
                if answer.delay:
                    time.sleep(answer.delay)
                if answer.raw is not None:
                    self.wfile.write(answer.raw)
                    self.close_connection = True
                    return
                body = answer.body
                if isinstance(body, str):
                    body = body.encode()
                elif not isinstance(body, bytes):
                    body = json.dumps(body).encode()
                self.send_response(answer.status)
                if not any(name == "content-type" for name, _ in answer.headers):
                    self.send_header("content-type", "application/json")
                for name, value in answer.headers:
                    self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD" and answer.status != 204:
                    self.wfile.write(body)

            do_GET = do_POST = do_HEAD = do_PUT = do_CONNECT = do_DELETE = _handle

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients that hang up

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def last(self) -> Received:
        return self.requests[-1]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class FakeServerCase(unittest.TestCase):
    """A test with a server that answers `self.answers` one after the other, the last one for ever."""

    def setUp(self) -> None:
        self.answers: list[Answer] = [Answer(body={})]
        self.server = FakeServer(self._next)
        self.addCleanup(self.server.stop)

    def _next(self, _: Received) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def answer(self, *bodies: Any, status: int = 200) -> None:
        self.answers = [each if isinstance(each, Answer) else Answer(status, each) for each in bodies]


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def row(id_: str = "w1", **members: Any) -> dict[str, Any]:
    """A row of the discovery answer, complete."""
    return {
        "id": id_,
        "url": "http://a:1@0",
        "base_url": "http://a:1",
        "engine": "sglang",
        "engine_version": "0.5",
        "model_id": "m",
        "worker_type": "regular",
        "connection_mode": "http",
        "tp_size": 2,
        "dp_size": None,
        "pp_size": None,
        "dp_ranks": 1,
        "role": None,
        "health": "ready",
        "weight_version": "9",
        "version_source": "api",
        "control": "paused",
        "labels": {"tp_size": "2"},
        "capabilities": {"abort": True},
        **members,
    }


def outcome(worker_id: str = "w1", status: int = 200, body: Any = None, **members: Any) -> dict[str, Any]:
    return {
        "worker_id": worker_id,
        "url": f"http://{worker_id}:1",
        "status": status,
        "latency_ms": 3,
        "body": body,
        **members,
    }


def report(*ok: str, failed: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """The answer of a fan-out."""
    return {
        "results": {id_: outcome(id_) for id_ in ok},
        "failed": list(failed),
        "total": len(ok) + len(failed),
        "succeeded": len(ok),
    }


def failure(worker_id: str, **members: Any) -> dict[str, Any]:
    return {
        "worker_id": worker_id,
        "url": f"http://{worker_id}:1",
        "error": "upstream_unreachable",
        "message": "gone",
        **members,
    }
