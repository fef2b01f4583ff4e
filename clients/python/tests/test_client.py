"""The client against a server that answers what it is told."""

from __future__ import annotations

import http.client
import pickle
import socket
import threading
import unittest
import urllib.error
from typing import Any, Callable

from smg.rl import RL, CallResult, FanoutError, FanoutFailure, FanoutResult, RlError, Worker
from tests.support import Answer, FakeServer, FakeServerCase, environment, failure, outcome, report, row

KEY = "operators-key-1"


class WhatIsSent(FakeServerCase):
    def setUp(self) -> None:
        super().setUp()
        self.rl = RL(self.server.url + "/", api_key=KEY)

    def test_workers(self) -> None:
        self.answer({"protocol_version": 1, "workers": [row("w1"), row("w2")], "total": 2})
        self.assertEqual([each.id for each in self.rl.workers()], ["w1", "w2"])
        sent = self.server.last
        self.assertEqual((sent.method, sent.target, sent.body), ("GET", "/v1/rl/workers", b""))
        self.assertEqual(sent.headers["authorization"], f"Bearer {KEY}")
        self.assertEqual(sent.headers["accept"], "application/json")
        self.assertNotIn("content-type", sent.headers)

    def test_worker(self) -> None:
        self.answer(row())
        worker = self.rl.worker("w1")
        self.assertEqual(self.server.last.target, "/v1/rl/workers/w1")
        self.assertEqual(
            worker,
            Worker(
                id="w1",
                url="http://a:1@0",
                base_url="http://a:1",
                engine="sglang",
                engine_version="0.5",
                model_id="m",
                worker_type="regular",
                connection_mode="http",
                tp_size=2,
                dp_size=None,
                pp_size=None,
                dp_ranks=1,
                role=None,
                health="ready",
                weight_version="9",
                labels={"tp_size": "2"},
                capabilities={"abort": True},
                control="paused",
                version_source="api",
            ),
        )

    def test_set_version(self) -> None:
        self.answer(row())
        self.assertEqual(self.rl.set_version("w1", "42").weight_version, "9")
        sent = self.server.last
        self.assertEqual((sent.method, sent.target), ("POST", "/v1/rl/workers/w1/version"))
        self.assertEqual(sent.json, {"weight_version": "42"})
        self.assertEqual(sent.headers["content-type"], "application/json")

    def test_whole_numbers_are_versions(self) -> None:
        class Scalar:  # of an array library
            def __index__(self) -> int:
                return 8

        self.answer(row())
        for version, text in ((42, "42"), (2**64, "18446744073709551616"), (Scalar(), "8"), (" 7 ", " 7 ")):
            self.rl.set_version("w1", version)
            self.assertEqual(self.server.last.json, {"weight_version": text})

    def test_other_values_are_no_versions(self) -> None:
        for value in (True, False, 7.0, None, b"7", ["7"]):
            with self.subTest(value=value):
                with self.assertRaises(TypeError):
                    self.rl.set_version("w1", value)  # type: ignore[arg-type]
                with self.assertRaises(TypeError):
                    self.rl.set_fleet_version(value, selector="a=b")  # type: ignore[arg-type]
        self.assertEqual(self.server.requests, [])

    def test_set_fleet_version(self) -> None:
        self.answer({"protocol_version": 1, "workers": [row()], "total": 1})
        workers = self.rl.set_fleet_version(43, selector='engine=sglang, role!="a b"')
        self.assertEqual([each.id for each in workers], ["w1"])
        sent = self.server.last
        self.assertEqual((sent.method, sent.path), ("POST", "/v1/rl/version"))
        self.assertEqual(sent.query, [("selector", 'engine=sglang, role!="a b"')])
        self.assertEqual(sent.json, {"weight_version": "43"})

    def test_states_are_not_checked_here(self) -> None:
        self.answer(row())
        self.rl.set_state("w1", "napping")
        self.assertEqual(self.server.last.target, "/v1/rl/workers/w1/state")
        self.assertEqual(self.server.last.json, {"control": "napping"})

    def test_set_fleet_state(self) -> None:
        self.answer({"protocol_version": 1, "workers": [], "total": 0})
        self.assertEqual(self.rl.set_fleet_state("paused", selector="a=b"), [])
        self.assertEqual(self.server.last.path, "/v1/rl/state")
        self.assertEqual(self.server.last.query, [("selector", "a=b")])
        self.assertEqual(self.server.last.json, {"control": "paused"})

    def test_call(self) -> None:
        self.answer(outcome(body={"n": 1}))
        result = self.rl.call("w1", "/pause_generation", {"mode": "retract"})
        self.assertEqual(result, CallResult("w1", "http://w1:1", 200, 3, {"n": 1}))
        sent = self.server.last
        self.assertEqual((sent.method, sent.target), ("POST", "/v1/rl/workers/w1/engine/pause_generation"))
        self.assertEqual(sent.json, {"mode": "retract"})

    def test_only_one_slash_is_dropped(self) -> None:
        self.answer(outcome())
        self.rl.call("w1", "//a/b")
        self.assertEqual(self.server.last.target, "/v1/rl/workers/w1/engine//a/b")

    def test_no_body_and_an_empty_body_differ(self) -> None:
        self.answer(outcome())
        self.rl.call("w1", "resume")
        self.assertEqual(self.server.last.body, b"")
        self.assertNotIn("content-type", self.server.last.headers)
        for body, sent in (({}, b"{}"), ([], b"[]"), (0, b"0"), (False, b"false"), ("", b'""')):
            self.rl.call("w1", "resume", body)
            self.assertEqual(self.server.last.body, sent)
            self.assertEqual(self.server.last.headers["content-type"], "application/json")

    def test_big_integers_stay_as_they_are(self) -> None:
        big = 2**64 + 1
        self.answer(outcome(body={"seed": big}))
        self.assertEqual(self.rl.call("w1", "generate", {"seed": big}).body, {"seed": big})
        self.assertEqual(self.server.last.body, b'{"seed": 18446744073709551617}')

    def test_what_json_cannot_say_is_refused_before_sending(self) -> None:
        for body in ({"lr": float("nan")}, {"lr": float("inf")}, {"a": {1}}):
            with self.assertRaises((TypeError, ValueError)):
                self.rl.call("w1", "x", body)
        self.assertEqual(self.server.requests, [])

    def test_methods(self) -> None:
        self.answer(outcome())
        for method in ("GET", "get", "POST"):
            self.rl.call("w1", "server_info", method=method)
            self.assertEqual(self.server.last.method, method.upper())

    def test_params(self) -> None:
        self.answer(outcome())
        params = {"tags": ["weights", "kv_cache"], "level": 2, "flag": True, "none": None, "t": ("é", "a&b"), "e": []}
        self.rl.call("w1", "wake_up", params=params)
        self.assertEqual(
            self.server.last.query,
            [("tags", "weights"), ("tags", "kv_cache"), ("level", "2"), ("flag", "true"), ("t", "é"), ("t", "a&b")],
        )
        self.rl.call("w1", "wake_up", params={})
        self.assertNotIn("?", self.server.last.target)

    def test_fanout(self) -> None:
        self.answer(report("w1", "w2"))
        params = {"selector": "mine=1", "level": [1, 2]}
        result = self.rl.fanout("/flush_cache", {}, selector="engine=sglang", params=params)
        self.assertEqual((result.total, result.succeeded, result.failed), (2, 2, []))
        self.assertEqual(sorted(result.results), ["w1", "w2"])
        sent = self.server.last
        self.assertEqual((sent.method, sent.path), ("POST", "/v1/rl/engine/flush_cache"))
        self.assertEqual(sent.query, [("selector", "engine=sglang"), ("level", "1"), ("level", "2")])
        self.assertEqual(params, {"selector": "mine=1", "level": [1, 2]})

    def test_ids_and_paths_are_escaped(self) -> None:
        self.answer({**row(), **outcome()})
        id_ = "a/b?c#d e%é"
        escaped = "/v1/rl/workers/a%2Fb%3Fc%23d%20e%25%C3%A9"
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: self.rl.worker(id_), escaped),
            (lambda: self.rl.set_version(id_, "1"), escaped + "/version"),
            (lambda: self.rl.set_state(id_, "active"), escaped + "/state"),
            (lambda: self.rl.call(id_, "a?b#c d/e"), escaped + "/engine/a%3Fb%23c%20d/e"),
        ]
        for call, target in calls:
            call()
            self.assertEqual(self.server.last.target, target)

    def test_ids_that_would_be_other_routes_are_refused(self) -> None:
        for id_ in ("", ".", ".."):
            with self.assertRaises(ValueError):
                self.rl.worker(id_)
        for wrong in (None, 7):
            with self.assertRaises(TypeError):
                self.rl.worker(wrong)  # type: ignore[arg-type]
            with self.assertRaises(TypeError):
                self.rl.fanout("x", selector=wrong)  # type: ignore[arg-type]
        self.assertEqual(self.server.requests, [])

    def test_without_a_key_no_authorization_is_sent(self) -> None:
        self.answer(row())
        for key in (None, ""):
            RL(self.server.url, key).worker("w1")
            self.assertNotIn("authorization", self.server.last.headers)

    def test_a_base_url_with_a_path(self) -> None:
        self.answer(row())
        rl = RL(self.server.url + "/smg//")
        self.assertEqual(rl.base_url, self.server.url + "/smg")
        rl.worker("w1")
        self.assertEqual(self.server.last.target, "/smg/v1/rl/workers/w1")

    def test_threads_share_a_client(self) -> None:
        self.server.script = lambda request: Answer(body=row(request.path.rsplit("/", 1)[1]), delay=0.01)
        got: dict[str, str] = {}

        def ask(id_: str) -> None:
            got[id_] = self.rl.worker(id_).id

        ids = [f"w{number}" for number in range(16)]
        threads = [threading.Thread(target=ask, args=(id_,)) for id_ in ids]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(got, {id_: id_ for id_ in ids})

    def test_a_client_can_be_pickled(self) -> None:
        self.answer(row())
        pickle.loads(pickle.dumps(self.rl)).worker("w1")
        self.assertEqual(self.server.last.headers["authorization"], f"Bearer {KEY}")


class WhatIsRead(FakeServerCase):
    def setUp(self) -> None:
        super().setUp()
        self.rl = RL(self.server.url, api_key=KEY, timeout=10)

    def test_unknown_members_are_ignored_and_missing_ones_filled(self) -> None:
        self.answer({"id": "w1", "url": "u", "later": {"a": 1}, "labels": None})
        worker = self.rl.worker("w1")
        self.assertEqual((worker.id, worker.url, worker.engine, worker.tp_size), ("w1", "u", None, None))
        self.assertEqual((worker.labels, worker.capabilities), ({}, {}))
        self.assertEqual((worker.control, worker.version_source), ("active", None))

    def test_a_control_of_null_is_active(self) -> None:
        self.assertEqual(Worker.from_json({"control": None}).control, "active")

    def test_an_engine_that_refuses_is_a_result(self) -> None:
        for status in (400, 404, 500, 503):
            self.answer(outcome(status=status, body="nope", more=1), status=status)
            result = self.rl.call("w1", "x")
            self.assertEqual((result.status, result.body, result.body_truncated), (status, "nope", False))

    def test_an_engine_that_redirects_is_a_result(self) -> None:
        self.answer(outcome(status=302, body=""), status=302)
        self.assertEqual(self.rl.call("w1", "x").status, 302)

    def test_a_truncated_body_is_flagged(self) -> None:
        self.answer(outcome(body="aaa", body_truncated=True))
        self.assertTrue(self.rl.call("w1", "x").body_truncated)

    def test_a_gateway_that_refuses_raises(self) -> None:
        payload = {"error": "upstream_timeout", "message": "too slow", "worker_id": "w1", "latency_ms": 1}
        self.answer(payload, status=504)
        with self.assertRaises(RlError) as caught:
            self.rl.call("w1", "x")
        error = caught.exception
        self.assertEqual((error.status, error.code, error.payload), (504, "upstream_timeout", payload))
        self.assertEqual(str(error), "upstream_timeout (HTTP 504): too slow")

    def test_every_method_raises_what_the_gateway_refuses(self) -> None:
        rl = self.rl
        methods: list[Callable[[], object]] = [
            rl.workers,
            lambda: rl.worker("w1"),
            lambda: rl.set_version("w1", "1"),
            lambda: rl.set_fleet_version("1", selector="a=b"),
            lambda: rl.set_state("w1", "active"),
            lambda: rl.set_fleet_state("active", selector="a=b"),
            lambda: rl.call("w1", "x"),
            lambda: rl.fanout("x", selector="a=b"),
            lambda: rl.fanout("x", selector="a=b", allow_partial=True),
        ]
        odd: list[tuple[Answer, int, str, str]] = [
            (Answer(404, {"error": "worker_not_found", "message": "gone"}), 404, "worker_not_found", "gone"),
            (Answer(404), 404, "http_error", ""),
            (Answer(401, "Missing or invalid Authorization header"), 401, "http_error", "Missing"),
            (Answer(502, "<html>" + "x" * 10_000), 502, "http_error", "<html>"),
            (Answer(500, b"\xff\xfe\x00"), 500, "http_error", "\ufffd"),
            (Answer(500, [1, 2]), 500, "http_error", ""),
            (Answer(500, "null"), 500, "http_error", ""),
            (Answer(500, "[" * 100_000), 500, "http_error", "[["),
            (Answer(500, {"message": "no code"}), 500, "unknown", "no code"),
            (Answer(500, {"error": None}), 500, "unknown", ""),
            (Answer(500, {"error": 7, "message": 8}), 500, "unknown", ""),
            (Answer(503, {"error": {"code": "no_workers", "message": "none"}}), 503, "no_workers", "none"),
            (Answer(503, {"error": {}}), 503, "unknown", ""),
            (Answer(200, {"status": "ok"}), 200, "unexpected_response", "not an answer"),
            (Answer(200, "hello"), 200, "unexpected_response", "not an answer"),
            (Answer(200, {"workers": [1], "results": {"w1": 1}}), 200, "unexpected_response", "not an answer"),
            (Answer(200, {"workers": {}, "results": {}, "failed": {}}), 200, "unexpected_response", "not an answer"),
            (Answer(204), 204, "unexpected_response", "not an answer"),
            (Answer(307, headers=(("location", "/x"),)), 307, "unexpected_response", "redirects"),
            (Answer(304, raw=b"HTTP/1.1 304 Not Modified\r\n\r\n"), 304, "unexpected_response", "redirects"),
        ]
        for answer, status, code, text in odd:
            self.answers = [answer]
            for index, method in enumerate(methods):
                with self.subTest(answer=str(answer)[:80], method=index):
                    with self.assertRaises(RlError) as caught:
                        method()
                    error = caught.exception
                    self.assertNotIsInstance(error, FanoutError)
                    self.assertEqual((error.status, error.code), (status, code))
                    self.assertTrue(str(error).startswith(f"{code} (HTTP {status})"), str(error))
                    self.assertIn(text, str(error))
                    self.assertLess(len(str(error)), 300)

    def test_a_fanout_that_failed_in_part_raises(self) -> None:
        failed = (
            failure("w2", error="upstream_error", message="HTTP 500", status=500),
            failure("w3", error="unsupported_connection_mode", connection_mode="grpc"),
        )
        self.answer(report("w1", failed=failed), status=207)
        with self.assertRaises(FanoutError) as caught:
            self.rl.fanout("x", selector="a=b")
        error = caught.exception
        self.assertIsInstance(error, RlError)
        self.assertEqual((error.status, error.code), (207, "fanout_partial"))
        self.assertEqual(str(error), "fanout_partial (HTTP 207): 2 of 3 engines failed: w2, w3")
        self.assertEqual(
            error.result.failed,
            [
                FanoutFailure("w2", "http://w2:1", 500, "upstream_error", "HTTP 500"),
                FanoutFailure("w3", "http://w3:1", None, "unsupported_connection_mode", "gone", "grpc"),
            ],
        )
        self.assertEqual((error.result.total, error.result.succeeded), (3, 1))

    def test_allow_partial_returns_it(self) -> None:
        self.answer(report("w1", failed=(failure("w2"),)), status=207)
        result = self.rl.fanout("x", selector="a=b", allow_partial=True)
        self.assertEqual([each.worker_id for each in result.failed], ["w2"])

    def test_failures_decide_not_the_status(self) -> None:
        self.answer(report("w1", failed=(failure("w2"),)), status=200)
        with self.assertRaises(FanoutError) as caught:
            self.rl.fanout("x", selector="a=b")
        self.assertEqual(caught.exception.status, 200)
        self.answer(report("w1"), status=207)
        self.assertEqual(self.rl.fanout("x", selector="a=b").succeeded, 1)

    def test_a_report_under_another_status_is_unexpected(self) -> None:
        self.answer(report("w1"), status=202)
        with self.assertRaises(RlError) as caught:
            self.rl.fanout("x", selector="a=b")
        self.assertEqual(caught.exception.code, "unexpected_response")

    def test_a_text_names_few_of_many_failures(self) -> None:
        result = FanoutResult({}, [FanoutFailure.from_json(failure(f"w{n}")) for n in range(1000)], 1000, 0)
        self.assertTrue(str(FanoutError(result)).endswith("w9 and 990 more"))
        self.assertEqual(FanoutError(result).status, 207)

    def test_errors_cross_process_boundaries(self) -> None:
        error = RlError(404, {"error": "worker_not_found", "message": "gone", "id": "w1"})
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.status, again.payload), (str(error), 404, error.payload))
        partial = FanoutError(FanoutResult.from_json(report("w1", failed=(failure("w2"),))), 200)
        copy = pickle.loads(pickle.dumps(partial))
        self.assertEqual((str(copy), copy.result, copy.status), (str(partial), partial.result, 200))


class Timeouts(FakeServerCase):
    def test_only_positive_numbers_are_timeouts(self) -> None:
        rl = RL(self.server.url)
        calls: list[Callable[[Any], object]] = [
            lambda value: RL(self.server.url, timeout=value),
            lambda value: rl.call("w1", "x", timeout=value),
            lambda value: rl.fanout("x", selector="a=b", timeout=value),
        ]
        for call in calls:
            for value in (0, -1, -0.5, float("nan"), float("inf")):
                with self.assertRaises(ValueError):
                    call(value)
            for wrong in (True, "5", [1]):
                with self.assertRaises(TypeError):
                    call(wrong)
        self.assertEqual(self.server.requests, [])

    def test_a_call_has_its_own(self) -> None:
        self.answers = [Answer(body=outcome(), delay=1.5)]
        with self.assertRaises(OSError) as caught:
            RL(self.server.url, timeout=30).call("w1", "x", timeout=0.2)
        reason = getattr(caught.exception, "reason", caught.exception)
        self.assertIsInstance(reason, socket.timeout)

    def test_the_clients_own_holds_otherwise(self) -> None:
        self.answers = [Answer(body=row(), delay=1.5)]
        with self.assertRaises(OSError):
            RL(self.server.url, timeout=0.2).worker("w1")

    def test_the_default_is_600(self) -> None:
        self.assertEqual(RL(self.server.url).timeout, 600.0)


class Connections(FakeServerCase):
    def test_nobody_listens(self) -> None:
        self.server.stop()
        with self.assertRaises(urllib.error.URLError) as caught:
            RL(self.server.url).workers()
        self.assertIsInstance(caught.exception.reason, ConnectionRefusedError)

    def test_an_answer_that_breaks_off_is_no_answer(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        for raw in (
            head + b"content-length: 100\r\n\r\n{}",
            head + b"transfer-encoding: chunked\r\n\r\n10\r\n{}",
        ):
            self.answers = [Answer(raw=raw)]
            with self.assertRaises(http.client.IncompleteRead):
                RL(self.server.url).workers()

    def test_an_answer_that_is_not_http(self) -> None:
        for raw in (b"", b"hello\r\n"):
            self.answers = [Answer(raw=raw)]
            with self.assertRaises((http.client.HTTPException, OSError)):
                RL(self.server.url).workers()

    def test_redirects_are_not_followed(self) -> None:
        other = FakeServer(lambda _: Answer(body=row()))
        self.addCleanup(other.stop)
        for status in (301, 302, 303, 307, 308):
            self.answers = [Answer(status, headers=(("location", other.url + "/v1/rl/workers/w1"),))]
            with self.assertRaises(RlError) as caught:
                RL(self.server.url, KEY).worker("w1")
            self.assertEqual(caught.exception.status, status)
        self.assertEqual(other.requests, [])

    def test_the_proxy_of_the_environment_is_used(self) -> None:
        self.answer(row())
        with environment(http_proxy=self.server.url, no_proxy=""):
            RL("http://gateway.invalid:1").worker("w1")
        self.assertEqual(self.server.last.target, "http://gateway.invalid:1/v1/rl/workers/w1")
        with environment(http_proxy="http://127.0.0.1:1", no_proxy="127.0.0.1"):
            RL(self.server.url).worker("w1")

    def test_base_urls(self) -> None:
        for url in ("127.0.0.1:30000", "ftp://h", "file:///etc/passwd", "http://", "", "http://h?a=b", "http://h#f"):
            with self.subTest(url=url), self.assertRaises(ValueError):
                RL(url)
        with self.assertRaises(TypeError):
            RL(None)  # type: ignore[arg-type]


class Secrets(FakeServerCase):
    def test_a_client_does_not_show_its_key(self) -> None:
        for text in (repr(RL(self.server.url, KEY)), str(RL(self.server.url, KEY))):
            self.assertIn(self.server.url, text)
            self.assertNotIn(KEY, text)

    def test_a_bad_key_or_url_is_not_quoted(self) -> None:
        for key in (KEY + "\n", KEY + "\r\nx-a: b", KEY + "é", KEY + "\0"):
            with self.assertRaises(ValueError) as caught:
                RL(self.server.url, key)
            self.assertNotIn(KEY, str(caught.exception))
        for url in (f"http://user:{KEY}@h", f"ftp://user:{KEY}@h"):
            with self.assertRaises(ValueError) as caught:
                RL(url)
            self.assertNotIn(KEY, str(caught.exception))

    def test_an_answer_that_echoes_the_request_does_not_show_it(self) -> None:
        for echo in (f"denied: authorization: Bearer {KEY}", f"denied: unknown key {KEY}"):
            for body in (echo, {"error": "denied", "message": echo}):
                self.answer(body, status=403)
                with self.assertRaises(RlError) as caught:
                    RL(self.server.url, KEY).workers()
                error = caught.exception
                for text in (str(error), repr(error), repr(error.payload)):
                    self.assertIn("denied", text)
                    self.assertNotIn(KEY, text)

    def test_a_key_that_is_an_ordinary_word_changes_no_success(self) -> None:
        self.answer({"workers": [{"id": "w1", "engine": "sglang"}]})
        self.assertEqual(RL(self.server.url, "sglang").workers()[0].engine, "sglang")


if __name__ == "__main__":
    unittest.main()
