"""`paused`: what is sent, in which order, and which error comes out."""

from __future__ import annotations

import logging
import traceback
import unittest
import urllib.error
from typing import Any, Union
from unittest import mock

from smg.rl import RL, FanoutError, FanoutResult, RlError, paused
from tests.support import Answer, FakeServerCase, failure, report

SELECTOR = "engine=sglang, role!=reward"
PARTIAL = Answer(207, report("w1", failed=(failure("w2"),)))
DEAD = Answer(raw=b"")
OK = Answer(body=report("w1", "w2"))


class Paused(FakeServerCase):
    def setUp(self) -> None:
        super().setUp()
        self.rl = RL(self.server.url, timeout=10)
        self.ran = False

    def sent(self) -> list[tuple[str, Any]]:
        for request in self.server.requests:
            self.assertEqual(request.method, "POST")
            self.assertEqual(request.query, [("selector", SELECTOR)])
        return [(request.path.rsplit("/", 1)[1], request.json) for request in self.server.requests]

    def test_pause_block_resume(self) -> None:
        self.answers = [OK]
        with paused(self.rl, SELECTOR) as result:
            self.assertIsInstance(result, FanoutResult)
            self.assertEqual(result.succeeded, 2)
            self.assertEqual(self.sent(), [("pause_generation", {})])
        self.assertEqual(self.sent(), [("pause_generation", {}), ("continue_generation", {})])

    def test_a_mode_goes_to_the_pause_only(self) -> None:
        self.answers = [OK]
        with paused(self.rl, SELECTOR, mode="in_place"):
            pass
        self.assertEqual(self.sent(), [("pause_generation", {"mode": "in_place"}), ("continue_generation", {})])

    def test_a_timeout_goes_to_both(self) -> None:
        timeouts: list[Any] = []
        fanout = self.rl.fanout

        def spy(*args: Any, **named: Any) -> FanoutResult:
            timeouts.append(named["timeout"])
            return fanout(*args, **named)

        self.answers = [OK]
        with mock.patch.object(self.rl, "fanout", spy):
            with paused(self.rl, SELECTOR, timeout=7):
                pass
        self.assertEqual(timeouts, [7, 7])

    def test_a_bad_timeout_sends_nothing(self) -> None:
        for timeout in (0, -1):
            with self.assertRaises(ValueError) as caught:
                with paused(self.rl, SELECTOR, timeout=timeout):
                    self.ran = True
            self.assertIsNone(caught.exception.__context__)  # not even a resume was tried
        self.assertFalse(self.ran)
        self.assertEqual(self.server.requests, [])

    def test_a_pause_that_failed(self) -> None:
        refused = Answer(401, "no")
        for answer, error in ((PARTIAL, FanoutError), (refused, RlError), (DEAD, OSError)):
            with self.subTest(error=error.__name__):
                self.server.requests.clear()
                self.answers = [answer, OK]
                with self.assertRaises(error):
                    with paused(self.rl, SELECTOR):
                        self.ran = True
                self.assertFalse(self.ran)
                self.assertEqual(self.sent(), [("pause_generation", {}), ("continue_generation", {})])

    def test_the_error_of_the_pause_wins_over_that_of_the_resume(self) -> None:
        self.answers = [PARTIAL, Answer(502, {"error": "later"})]
        with self.assertRaises(FanoutError) as caught:
            with paused(self.rl, SELECTOR):
                self.ran = True
        self.assertFalse(self.ran)
        context = caught.exception.__context__
        self.assertIsInstance(context, RlError)
        assert isinstance(context, RlError)
        self.assertEqual(context.code, "later")

    def test_a_block_that_failed(self) -> None:
        for error in (KeyError("mine"), KeyboardInterrupt(), SystemExit(3), StopIteration()):
            with self.subTest(error=repr(error)):
                self.server.requests.clear()
                self.answers = [OK]
                with self.assertRaises(type(error)) as caught:
                    with paused(self.rl, SELECTOR):
                        raise error
                self.assertIs(caught.exception, error)
                self.assertIsNone(error.__context__)
                self.assertEqual(self.sent(), [("pause_generation", {}), ("continue_generation", {})])

    def test_a_block_and_a_resume_that_failed(self) -> None:
        for answer, type_ in ((PARTIAL, FanoutError), (DEAD, OSError)):
            with self.subTest(type=type_.__name__):
                self.answers = [OK, answer]
                mine = KeyError("mine")
                with self.assertRaises(KeyError) as caught:
                    with paused(self.rl, SELECTOR):
                        raise mine
                self.assertIs(caught.exception, mine)
                self.assertIsInstance(mine.__context__, type_)
                self.assertEqual(no_circle(mine), [KeyError, *no_circle(mine.__context__)])
                self.assertIn(type_.__name__ if type_ is FanoutError else "Error", "".join(
                    traceback.format_exception(type(mine), mine, mine.__traceback__)
                ))

    def test_a_context_of_the_blocks_error_stays_and_the_resume_is_logged(self) -> None:
        self.answers = [OK, PARTIAL]
        with self.assertLogs("smg.rl", logging.WARNING) as logs:
            with self.assertRaises(KeyError) as caught:
                with paused(self.rl, SELECTOR):
                    try:
                        raise ValueError("first")
                    except ValueError:
                        raise KeyError("second")
        self.assertIsInstance(caught.exception.__context__, ValueError)
        self.assertIn("w2", logs.output[0])

    def test_only_the_resume_failed(self) -> None:
        cases: tuple[tuple[Answer, Union[type[FanoutError], type[OSError]]], ...] = (
            (PARTIAL, FanoutError),
            (DEAD, OSError),
        )
        for answer, type_ in cases:
            self.answers = [OK, answer]
            self.ran = False
            with self.assertRaises(type_):
                with paused(self.rl, SELECTOR):
                    self.ran = True
            self.assertTrue(self.ran)

    def test_an_interrupt_while_resuming_after_a_failure_gets_out(self) -> None:
        self.answers = [OK]
        with self.assertRaises(KeyboardInterrupt):
            with paused(self.rl, SELECTOR):
                with_interrupt = mock.patch.object(self.rl, "fanout", side_effect=KeyboardInterrupt)
                with_interrupt.start()
                self.addCleanup(with_interrupt.stop)
                raise KeyError("mine")

    def test_leaving_the_block_early_resumes(self) -> None:
        def leave() -> int:
            with paused(self.rl, SELECTOR):
                return 7

        self.answers = [OK]
        self.assertEqual(leave(), 7)
        self.assertEqual([path for path, _ in self.sent()], ["pause_generation", "continue_generation"])

    def test_a_gateway_that_is_gone(self) -> None:
        self.server.stop()
        with self.assertLogs("smg.rl", logging.WARNING), self.assertRaises(urllib.error.URLError):
            with paused(self.rl, SELECTOR):
                self.ran = True
        self.assertFalse(self.ran)


def no_circle(error: Any) -> list[type]:
    """Types along the contexts of an error; fails when they lead back."""
    seen: list[Any] = []
    while error is not None:
        if any(error is each for each in seen):
            raise AssertionError(f"a circle: {seen}")
        seen.append(error)
        error = error.__context__
    return [type(each) for each in seen]


if __name__ == "__main__":
    unittest.main()
