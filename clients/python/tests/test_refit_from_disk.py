"""examples/rl/refit_from_disk.py, as a program of its own. Needs `npm run build` and Node."""

from __future__ import annotations

import os
import signal
import sys
import unittest
from typing import ClassVar

from smg.rl import RL
from tests.support import ROOT, SOURCES, Answer, FakeServer, Program, Received, fetch, gateway, mock_engine, report, until

SCRIPT = str(ROOT / "examples" / "rl" / "refit_from_disk.py")
KEY = "operators-key-1"
BODY = {"text": "hi", "sampling_params": {"max_new_tokens": 1}}


def start(*argv: str, **env: str) -> Program:
    paths = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return Program([sys.executable, SCRIPT, *argv], {"PYTHONPATH": paths, **env})


def refit(*argv: str, **env: str) -> tuple[int, str]:
    """Runs the example; exit code and what it said."""
    program = start(*argv, **env)
    try:
        code = program.process.wait(60)
    finally:
        program.kill()
    return code, program.output


class AgainstTheGateway(unittest.TestCase):
    url: ClassVar[str]
    urls: ClassVar[list[str]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.urls = []
        for _ in range(2):
            program, url = mock_engine("--kind", "sglang", "--tokens", "2")
            cls.addClassCleanup(program.kill)
            cls.urls.append(url)
        program, cls.url = gateway(cls.urls, "--enable-rl", "--api-key", KEY, "--rl-version-policy", "latest-only")
        cls.addClassCleanup(program.kill)

    def test_puts_a_version_on_every_engine(self) -> None:
        code, said = refit("--smg", self.url + "/", "--model-path", "/m", "--weight-version", "7", "--api-key", KEY)
        self.assertEqual(code, 0, said)
        for url in self.urls:
            self.assertIn(f"{url}: version 7, loaded in", said)
            self.assertIn('"weight_version":"7"', fetch(f"{url}/model_info")[1].decode().replace(": ", ":"))
        self.assertIn("answered with version 7", said)
        self.assertNotIn(KEY, said)
        workers = RL(self.url, KEY).workers()
        self.assertEqual([(each.control, each.weight_version) for each in workers], [("active", "7")] * 2)

    def test_the_key_may_come_from_the_environment(self) -> None:
        argv = ("--smg", self.url, "--model-path", "/m", "--weight-version", "8", "--selector", "model=mock-model")
        self.assertEqual(refit(*argv, SMG_API_KEY=KEY)[0], 0)

    def test_ends_with_1_when_nothing_was_refitted(self) -> None:
        argv = ("--smg", self.url, "--model-path", "/m", "--weight-version", "9", "--timeout", "20")
        for more, text in (
            (("--api-key", "wrong"), "HTTP 401"),
            (("--api-key", KEY, "--selector", "engine=vllm"), "no_workers_match"),
            (("--api-key", KEY, "--selector", "engine"), "invalid_selector"),
            (("--api-key", KEY, "--timeout", "0"), "timeout must be"),
            (("--api-key", KEY, "--smg", "http://127.0.0.1:1"), "refused"),
        ):
            with self.subTest(text=text):
                code, said = refit(*argv, *more)
                self.assertEqual(code, 1, said)
                self.assertIn(text, said)
                self.assertNotIn("Traceback", said)

    def test_ends_with_2_on_a_wrong_command_line(self) -> None:
        self.assertEqual(refit("--smg", self.url)[0], 2)


class AgainstOddAnswers(unittest.TestCase):
    """A gateway whose /generate says what it is told."""

    def setUp(self) -> None:
        self.generate = Answer()
        self.update: Answer = Answer(body=report("w1"))
        self.server = FakeServer(self.answer)
        self.addCleanup(self.server.stop)

    def answer(self, request: Received) -> Answer:
        if request.path == "/generate":
            return self.generate
        return self.update if "update_weights" in request.path else Answer(body=report("w1"))

    def refit(self) -> tuple[int, str]:
        return refit("--smg", self.server.url, "--model-path", "/m", "--weight-version", "7", "--timeout", "20")

    def test_what_is_sent(self) -> None:
        self.generate = Answer(body={"text": "a"}, headers=(("x-smg-weight-version", "7"),))
        code, said = self.refit()
        self.assertEqual(code, 0, said)
        self.assertEqual(
            [request.path.rsplit("/", 1)[1] for request in self.server.requests],
            ["pause_generation", "update_weights_from_disk", "continue_generation", "generate"],
        )
        self.assertEqual(
            self.server.requests[1].json, {"model_path": "/m", "weight_version": "7", "flush_cache": True}
        )

    def test_ends_with_1_when_the_stamp_is_not_the_new_version(self) -> None:
        for headers, text in (((("x-smg-weight-version", "6"),), "version 6"), ((), "version None")):
            self.generate = Answer(body={"text": "a"}, headers=headers)
            code, said = self.refit()
            self.assertEqual(code, 1, said)
            self.assertIn(text, said)

    def test_ends_with_1_when_the_engine_reports_another_version(self) -> None:
        stamp = (("x-smg-weight-version", "7"),)
        self.generate = Answer(body={"meta_info": {"weight_version": "6"}}, headers=stamp)
        code, said = self.refit()
        self.assertEqual((code, "reports version 6" in said), (1, True), said)

    def test_ends_with_1_when_generate_fails(self) -> None:
        for answer in (Answer(503, {"error": {"code": "no_available_workers"}}), Answer(body="no json"), Answer(raw=b"")):
            self.generate = answer
            code, said = self.refit()
            self.assertEqual(code, 1, said)
            self.assertNotIn("Traceback", said)

    def test_ends_with_1_when_an_engine_refused_with_200_and_resumes(self) -> None:
        refused = report("w1")
        refused["results"]["w1"]["body"] = {"success": False, "message": "no such checkpoint"}
        self.update = Answer(body=refused)
        code, said = self.refit()
        self.assertEqual((code, "no such checkpoint" in said), (1, True), said)
        self.assertTrue(self.server.requests[-1].path.endswith("/continue_generation"))

    def test_resumes_at_a_signal_during_the_load(self) -> None:
        self.update = Answer(body=report("w1"), delay=3)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                self.server.requests.clear()
                program = start("--smg", self.server.url, "--model-path", "/m", "--weight-version", "7", "--timeout", "20")
                self.addCleanup(program.kill)
                until("it loads", lambda: len(self.server.requests) == 2)
                program.process.send_signal(number)
                self.assertEqual(program.process.wait(60), 128 + number, program.output)
                self.assertTrue(self.server.requests[-1].path.endswith("/continue_generation"))
                self.assertNotIn("Traceback", program.output)


if __name__ == "__main__":
    unittest.main()
