"""Pause, do something, resume."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from ._client import RL
from ._models import FanoutResult
from ._transport import checked_timeout

_log = logging.getLogger("smg.rl")


@contextmanager
def paused(
    rl: RL, selector: str, *, mode: Optional[str] = None, timeout: Optional[float] = None
) -> Iterator[FanoutResult]:
    """Pauses every SGLang engine that matches, runs the block, and resumes, whatever happened::

        with paused(rl, "engine=sglang", mode="retract"):
            rl.fanout("update_weights_from_disk", {"model_path": "/ckpt/7", "weight_version": "7"}, selector="engine=sglang")

    * The pause failed, on one engine or on all: the block does not run, the resume is sent, the error of the pause is raised.
    * The block failed: the resume is sent, the error of the block is raised. A failure of the resume becomes its
      ``__context__`` if it has none, and is logged otherwise.
    * Only the resume failed: its error is raised. The engines it names are still paused.

    The resume is a fan-out of its own, to whoever matches then. Do not select on what the block changes: ``control``,
    ``weight_version``, ``health``.

    :param mode: ``abort``, ``retract`` or ``in_place``; the engine's own default when ``None``.
    :param timeout: of the pause and of the resume, each.
    """
    if timeout is not None:
        checked_timeout(timeout)  # before anything is sent

    def resume() -> None:
        rl.fanout("continue_generation", {}, selector=selector, timeout=timeout)

    try:
        # A pause that failed may have reached some engines, also when no answer came.
        body = {} if mode is None else {"mode": mode}
        yield rl.fanout("pause_generation", body, selector=selector, timeout=timeout)
    except BaseException as error:
        try:
            resume()
        except Exception as resume_error:
            if error.__context__ is None:
                _cut(resume_error, error)
                error.__context__ = resume_error
            else:
                _log.warning("engines may still be paused: resuming %r failed: %s", selector, resume_error)
        raise
    resume()


def _cut(raised: BaseException, handled: BaseException) -> None:
    """Takes `handled` off the contexts of `raised`, where Python put it: the contexts must not form a circle."""
    link = raised
    while link.__context__ is not None and link.__context__ is not handled:
        link = link.__context__
    link.__context__ = None
