"""Client for the RL control plane of the SMG gateway (``smg launch --enable-rl``).

A trainer sees its rollout engines, calls their own routes through the gateway, and tells it versions and states::

    from smg.rl import RL, FanoutError, paused

    rl = RL("http://127.0.0.1:30000", api_key=None, timeout=1200)
    for worker in rl.workers():
        print(worker.id, worker.engine, worker.health, worker.control, worker.weight_version)

    selector = "engine=sglang"
    try:
        with paused(rl, selector):
            rl.fanout(
                "update_weights_from_disk",
                {"model_path": "/checkpoints/step-42", "weight_version": "42", "flush_cache": True},
                selector=selector,
            )
    except FanoutError as error:
        for failure in error.result.failed:
            print(failure.url, failure.error, failure.message)
        raise

Standard library only. An :class:`RL` has no state but its settings: threads may share it, every call makes its own
connection. Connection errors and timeouts come as the standard library raises them (``urllib.error.URLError``,
``http.client.HTTPException``, ``OSError``); everything the gateway answers that is not a success is an :class:`RlError`.
"""

from ._client import RL
from ._errors import FanoutError, RlError
from ._models import CallResult, FanoutFailure, FanoutResult, Worker
from ._paused import paused

__all__ = [
    "RL",
    "CallResult",
    "FanoutError",
    "FanoutFailure",
    "FanoutResult",
    "RlError",
    "Worker",
    "paused",
]
