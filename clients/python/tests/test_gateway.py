"""Every method against the real gateway and engines. Needs `npm run build` and Node."""

from __future__ import annotations

import json
import time
import unittest
from typing import Callable, ClassVar

from smg.rl import RL, FanoutError, FanoutResult, RlError, Worker, paused
from tests.support import Answer, FakeServer, Program, Received, fetch, gateway, mock_engine, until

KEY = "operators-key-1"
SGLANG = "engine=sglang"


class Gateway(unittest.TestCase):
    """Two SGLang engines, a vLLM and an engine that writes down what reaches it, behind a gateway with a key."""

    engines: ClassVar[list[tuple[Program, str]]]
    recorder: ClassVar[FakeServer]
    url: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.engines = []
        for kind in ("sglang", "sglang", "vllm"):
            engine = mock_engine("--kind", kind)
            cls.addClassCleanup(engine[0].kill)
            cls.engines.append(engine)
        cls.recorder = FakeServer(answer_as_engine)
        cls.addClassCleanup(cls.recorder.stop)
        program, cls.url = gateway(
            [*(url for _, url in cls.engines), cls.recorder.url],
            *("--enable-rl", "--api-key", KEY, "--policy", "round_robin", "--rl-control-timeout-secs", "3"),
            *("--retry-max-retries", "1", "--health-check-timeout-secs", "2"),
        )
        cls.addClassCleanup(program.kill)

    def setUp(self) -> None:
        self.rl = RL(self.url, api_key=KEY, timeout=30)
        until("all are known by kind", lambda: self.kinds() == ["sglang", "sglang", "vllm"])
        self.sglang = self.rl.worker(self.id_of(0))
        self.addCleanup(self.rl.set_fleet_state, "active", selector="url!=none")

    def kinds(self) -> list[str]:
        return sorted(worker.engine for worker in self.rl.workers() if worker.engine in ("sglang", "vllm"))

    def id_of(self, index: int) -> str:
        return self.row_of(self.engines[index][1]).id

    def row_of(self, url: str) -> Worker:
        return next(worker for worker in self.rl.workers() if worker.base_url == url)

    def states(self) -> list[str]:
        return [self.row_of(url).control for _, url in self.engines[:2]]

    def test_workers(self) -> None:
        workers = self.rl.workers()
        self.assertEqual(len(workers), 4)
        for worker in workers:
            self.assertEqual((worker.connection_mode, worker.worker_type), ("http", "regular"))
            self.assertEqual((worker.health, worker.control, worker.dp_ranks), ("ready", "active", 1))
            self.assertIsInstance(worker.labels, dict)
            self.assertIn("pause_modes", worker.capabilities)

    def test_worker(self) -> None:
        worker = self.sglang
        self.assertEqual((worker.engine, worker.model_id), ("sglang", "mock-model"))
        self.assertEqual((worker.url, worker.base_url), (self.engines[0][1], self.engines[0][1]))
        self.assertEqual(worker.capabilities["pause_modes"], ["abort", "retract", "in_place"])

    def test_ids_nobody_has(self) -> None:
        calls: list[Callable[[str], object]] = [
            self.rl.worker,
            lambda id_: self.rl.set_version(id_, 1),
            lambda id_: self.rl.set_state(id_, "active"),
            lambda id_: self.rl.call(id_, "health", method="GET"),
        ]
        for id_ in ("nope", "a/b", "../workers", "a b?c#d%", "é"):
            with self.subTest(id=id_):
                for call in calls:
                    with self.assertRaises(RlError) as caught:
                        call(id_)
                    self.assertEqual((caught.exception.status, caught.exception.code), (404, "worker_not_found"))
                    self.assertEqual(caught.exception.payload["id"], id_)

    def test_set_version(self) -> None:
        worker = self.rl.set_version(self.sglang.id, 41)
        self.assertEqual((worker.weight_version, worker.version_source), ("41", "api"))
        self.assertEqual(self.rl.worker(self.sglang.id).weight_version, "41")
        with self.assertRaises(RlError) as caught:
            self.rl.set_version(self.sglang.id, "a b")
        self.assertEqual((caught.exception.status, caught.exception.code), (400, "invalid_version"))

    def test_set_fleet_version(self) -> None:
        workers = self.rl.set_fleet_version("42", selector=SGLANG)
        self.assertEqual([worker.weight_version for worker in workers], ["42", "42"])
        with self.assertRaises(RlError) as caught:
            self.rl.set_fleet_version("42", selector="engine==x")
        self.assertEqual((caught.exception.code, caught.exception.payload["offset"]), ("invalid_selector", 7))

    def test_set_state(self) -> None:
        self.assertEqual(self.rl.set_state(self.sglang.id, "asleep").control, "asleep")
        self.assertEqual(self.rl.worker(self.sglang.id).control, "asleep")
        with self.assertRaises(RlError) as caught:
            self.rl.set_state(self.sglang.id, "napping")
        self.assertEqual((caught.exception.status, caught.exception.code), (400, "invalid_body"))

    def test_set_fleet_state(self) -> None:
        workers = self.rl.set_fleet_state("paused", selector='engine in (sglang, "vllm")')
        self.assertEqual([worker.control for worker in workers], ["paused"] * 3)
        with self.assertRaises(RlError) as caught:
            self.rl.set_fleet_state("paused", selector=" ")
        self.assertEqual(caught.exception.code, "selector_required")

    def test_call(self) -> None:
        result = self.rl.call(self.sglang.id, "server_info", method="GET", timeout=20)
        self.assertEqual((result.status, result.worker_id, result.url), (200, self.sglang.id, self.sglang.url))
        self.assertEqual(result.body["model_path"], "mock-model")
        self.assertIsInstance(result.latency_ms, int)

    def test_an_engine_that_refuses_is_a_result(self) -> None:
        self.assertEqual(self.rl.call(self.sglang.id, "no_such_route", {}).status, 404)
        self.assertEqual(self.rl.call(self.sglang.id, "pause_generation").status, 400)

    def test_a_call_arrives_as_it_was_meant(self) -> None:
        big = 2**64 + 1
        result = self.rl.call(
            self.row_of(self.recorder.url).id,
            "echo",
            {"seed": big, "text": "é"},
            params={"tags": ["weights", "kv_cache"], "a": "b&c=d é+", "selector": "gone"},
        )
        self.assertEqual(result.body["query"], [["tags", "weights"], ["tags", "kv_cache"], ["a", "b&c=d é+"]])
        self.assertEqual(json.loads(result.body["body"]), {"seed": big, "text": "é"})
        self.assertEqual(result.body["seed"], big)

    def test_odd_answers_of_an_engine(self) -> None:
        id_ = self.row_of(self.recorder.url).id
        self.assertEqual(self.rl.call(id_, "text").body, "plain")
        self.assertEqual(self.rl.call(id_, "redirect").status, 302)
        huge = self.rl.call(id_, "huge")
        self.assertEqual((huge.status, huge.body_truncated, len(huge.body)), (200, True, 1_048_576))
        # A 204 has no body on the wire, so there is nothing to make a result of.
        for path, method, status in (("nothing", "POST", 204), ("text", "HEAD", 200)):
            with self.assertRaises(RlError) as caught:
                self.rl.call(id_, path, method=method)
            self.assertEqual((caught.exception.code, caught.exception.status), ("unexpected_response", status))

    def test_what_the_gateway_refuses(self) -> None:
        id_ = self.row_of(self.recorder.url).id
        for path in ("a?b", "../x", "a/b/c/d/e", ""):
            with self.assertRaises(RlError) as caught:
                self.rl.call(id_, path)
            self.assertEqual((caught.exception.status, caught.exception.code), (400, "invalid_engine_path"))
        with self.assertRaises(RlError) as caught:
            self.rl.call(id_, "text", method="DELETE")
        self.assertEqual((caught.exception.status, caught.exception.code), (405, "http_error"))

    def test_an_engine_that_is_too_slow(self) -> None:
        started = time.monotonic()
        with self.assertRaises(RlError) as caught:
            self.rl.call(self.row_of(self.recorder.url).id, "slow")
        self.assertEqual((caught.exception.status, caught.exception.code), (504, "upstream_timeout"))
        self.assertGreater(time.monotonic() - started, 2)

    def test_fanout(self) -> None:
        result = self.rl.fanout("health", selector="engine in (sglang,vllm)", method="GET")
        self.assertEqual((result.total, result.succeeded, result.failed, len(result.results)), (3, 3, [], 3))
        with self.assertRaises(RlError) as caught:
            self.rl.fanout("health", selector="engine=none", method="GET")
        self.assertEqual((caught.exception.status, caught.exception.code), (400, "no_workers_match"))
        self.assertNotIsInstance(caught.exception, FanoutError)

    def test_a_fanout_that_failed_in_part(self) -> None:
        selector = "engine in (sglang, vllm)"
        with self.assertRaises(FanoutError) as caught:
            self.rl.fanout("server_info", selector=selector, method="GET")
        error = caught.exception
        self.assertEqual((error.status, error.code, error.result.succeeded), (207, "fanout_partial", 2))
        (failed,) = error.result.failed
        self.assertEqual((failed.worker_id, failed.url), (self.id_of(2), self.engines[2][1]))
        self.assertEqual((failed.status, failed.error), (404, "upstream_error"))
        self.assertIn(failed.worker_id, str(error))
        self.assertIn(failed.worker_id, error.result.results)
        partial = self.rl.fanout("server_info", selector=selector, method="GET", allow_partial=True)
        self.assertEqual(partial.failed, [failed])

    def test_paused_and_refitted(self) -> None:
        with paused(self.rl, SGLANG, mode="retract") as pause:
            self.assertIsInstance(pause, FanoutResult)
            self.assertEqual(self.states(), ["paused", "paused"])
            body = {"model_path": "/m", "weight_version": "50", "flush_cache": True}
            self.rl.fanout("update_weights_from_disk", body, selector=SGLANG)
        self.assertEqual(self.states(), ["active", "active"])
        for _, url in self.engines[:2]:
            worker = self.row_of(url)
            self.assertEqual((worker.weight_version, worker.version_source), ("50", "passthrough"))

    def test_a_pause_that_failed_in_part_is_undone(self) -> None:
        ran = False
        with self.assertRaises(FanoutError) as caught:
            with paused(self.rl, "engine in (sglang, vllm)"):  # vLLM has no such route
                ran = True
        self.assertEqual((ran, caught.exception.result.succeeded), (False, 2))
        self.assertIsInstance(caught.exception.__context__, FanoutError)
        self.assertEqual(self.states(), ["active", "active"])

    def test_a_block_that_failed_resumes(self) -> None:
        with self.assertRaises(KeyError):
            with paused(self.rl, SGLANG):
                raise KeyError("mine")
        self.assertEqual(self.states(), ["active", "active"])

    def test_keys(self) -> None:
        for key in (None, "wrong"):
            with self.assertRaises(RlError) as caught:
                RL(self.url, api_key=key).workers()
            self.assertEqual((caught.exception.status, caught.exception.code), (401, "http_error"))


def answer_as_engine(request: Received) -> Answer:
    """Healthy, of no known kind, and odd."""
    if request.path == "/echo":
        about = {
            "query": request.query,
            "body": request.body.decode(),
            "seed": request.json["seed"],
        }
        return Answer(body=about)
    if request.path == "/slow":
        return Answer(body={}, delay=4)
    odd = {
        "/health": Answer(body={}),
        "/v1/models": Answer(body={"object": "list", "data": [{"id": "mock-model", "object": "model"}]}),
        "/text": Answer(body="plain", headers=(("content-type", "text/plain"),)),
        "/redirect": Answer(302, "elsewhere", headers=(("location", "/text"),)),
        "/huge": Answer(body={"a": "x" * 1_100_000}),
        "/nothing": Answer(204),
    }
    return odd.get(request.path, Answer(404, {"error": "no such route"}))


class WithoutRl(unittest.TestCase):
    def test_a_control_plane_that_is_off(self) -> None:
        program, url = gateway([])
        self.addCleanup(program.kill)
        with self.assertRaises(RlError) as caught:
            RL(url).workers()
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "http_error"))
        self.assertEqual(fetch(f"{url}/v1/rl/workers"), (404, b""))


if __name__ == "__main__":
    unittest.main()
