#!/usr/bin/env python3
"""Puts a checkpoint on every SGLang engine that a selector names, all at once: pause, load, resume; then asks for one answer and
checks that the new weights made it.

    pip install ./clients/python
    python3 examples/rl/refit_from_disk.py --model-path /checkpoints/step-42 --weight-version 42 --selector engine=sglang

Exit code 0 if it did, 1 if anything failed, 2 if the command line is wrong, 128 and its number after a signal.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from types import FrameType
from typing import Any, Optional

from smg.rl import RL, FanoutError, RlError, paused


class Failed(Exception):
    """A step that was answered, but not as it should be."""


def flags(argv: Optional[list[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Puts a checkpoint on SGLang engines, all at once.")
    parser.add_argument("--smg", default="http://127.0.0.1:30000", metavar="URL", help="gateway [%(default)s]")
    parser.add_argument("--model-path", required=True, metavar="PATH", help="checkpoint, as every engine sees it")
    parser.add_argument("--weight-version", required=True, metavar="V", help="its version; whole numbers that grow")
    parser.add_argument("--selector", default="engine=sglang", help="which engines [%(default)s]")
    parser.add_argument(
        "--api-key", default=os.environ.get("SMG_API_KEY"), metavar="KEY", help="gateway's key [$SMG_API_KEY]"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=660.0,
        metavar="SECONDS",
        help="of one step, above the gateway's --rl-control-timeout-secs [%(default)s]",
    )
    return parser.parse_args(argv)


def give_up(number: int, frame: Optional[FrameType]) -> None:
    """Leaves by way of the resume, where the default would end the process and leave engines paused."""
    signal.signal(number, signal.SIG_IGN)  # shells tell some of them twice
    sys.exit(128 + number)


def refit(rl: RL, selector: str, model_path: str, weight_version: str) -> None:
    """Whoever waits, waits for the slowest engine. Engines are resumed whatever happens."""
    with paused(rl, selector) as pause:
        print(f"paused {pause.succeeded} engines")
        report = rl.fanout(
            "update_weights_from_disk",
            {"model_path": model_path, "weight_version": weight_version, "flush_cache": True},
            selector=selector,
        )
        for result in report.results.values():
            # An engine can refuse with a 200.
            if isinstance(result.body, dict) and result.body.get("success") is False:
                raise Failed(f"{result.url} refused: {result.body.get('message')}")
            print(f"{result.url}: version {weight_version}, loaded in {result.latency_ms} ms")
    print("resumed")


def probe(smg: str, api_key: Optional[str], weight_version: str, timeout: float) -> None:
    """Asks for one answer and compares the version it is stamped with."""
    headers = {"content-type": "application/json"}
    # Engines outside the selector may have older weights; they are not asked.
    headers["x-smg-version-policy"] = f"min-version:{weight_version}"
    if api_key:
        headers["authorization"] = f"Bearer {api_key}"
    body = json.dumps({"text": "Hello!", "sampling_params": {"max_new_tokens": 4}}).encode()
    request = urllib.request.Request(smg.rstrip("/") + "/generate", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        stamped = response.headers.get("x-smg-weight-version")
        engine = response.headers.get("x-smg-routed-worker-id")
        answer: Any = json.load(response)
    if stamped != weight_version:
        raise Failed(f"/generate was answered by {engine} with version {stamped}, not {weight_version}")
    # What the engine itself says, if it does.
    meta_info = answer.get("meta_info") if isinstance(answer, dict) else None
    reported = meta_info.get("weight_version") if isinstance(meta_info, dict) else None
    if reported is not None and reported != weight_version:
        raise Failed(f"{engine} reports version {reported}, not {weight_version}")
    print(f"{engine} answered with version {stamped}")


def main() -> int:
    args = flags()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, give_up)
    try:
        rl = RL(args.smg, api_key=args.api_key, timeout=args.timeout)
        refit(rl, args.selector, args.model_path, args.weight_version)
        probe(rl.base_url, args.api_key, args.weight_version, args.timeout)
    except FanoutError as error:
        for failure in error.result.failed:
            print(f"{failure.url}: {failure.error}: {failure.message}", file=sys.stderr)
        return 1
    except urllib.error.HTTPError as error:
        with error:
            print(f"/generate answered {error.code} {error.read(500).decode('utf-8', 'replace')}", file=sys.stderr)
        return 1
    except (Failed, RlError, OSError, http.client.HTTPException, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
