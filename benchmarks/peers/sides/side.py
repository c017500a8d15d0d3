"""What a peer's process needs to answer: read a call, run a function of its script, write what it found. numpy only.

A message is one line of JSON; arrays travel beside it in an .npz file that the line names. The peer's process is that of its
own environment, where this project is not installed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Function = Callable[..., dict[str, Any]]


class Pipe:
    """The two ends of the conversation. What the peer prints goes to stderr, where it can do no harm."""

    def __init__(self) -> None:
        self._replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.folder = Path(sys.argv[1])
        self.waited = 0.0  # CPU seconds spent on messages, which are no part of the peer's work
        self._written = 0

    def say(self, message: dict[str, Any], arrays: dict[str, Any] | None = None) -> None:
        if arrays:
            self._written += 1
            file = self.folder / f"theirs-{self._written}.npz"
            np.savez(file, **arrays)
            message |= {"arrays": str(file)}
        self._replies.write(json.dumps(message) + "\n")
        self._replies.flush()

    def hear(self) -> dict[str, Any] | None:
        line = sys.stdin.readline()
        if not line:
            return None
        message: dict[str, Any] = json.loads(line)
        if "arrays" in message:
            file = Path(message.pop("arrays"))
            with np.load(file, allow_pickle=False) as kept:
                message["arrays"] = {name: kept[name] for name in kept.files}
            file.unlink()
        return message

    def payoff(self, coalitions: Any) -> Any:
        """What the other side says that these coalitions earn: (batch, n) -> (batch,)."""
        began = time.process_time()
        self.say({"ask": "payoff"}, {"coalitions": np.atleast_2d(np.asarray(coalitions)).astype(bool)})
        answer = self.hear()
        if answer is None:
            raise SystemExit(0)
        self.waited += time.process_time() - began
        return answer["arrays"]["payoffs"]


def serve(functions: dict[str, Function]) -> None:
    """Answer calls until the other side is done. A function has `payoff` as a parameter if it asks for payoffs."""
    warnings.simplefilter("ignore")
    pipe = Pipe()
    importlib.import_module(sys.argv[2])
    while (message := pipe.hear()) is not None:
        function = functions[message["call"]]
        given = message["given"] | message.get("arrays", {})
        if "payoff" in function.__code__.co_varnames[: function.__code__.co_argcount]:
            given["payoff"] = pipe.payoff
        pipe.waited, began = 0.0, time.process_time()
        try:
            found = function(**given)
        except Exception as error:  # the peer's failure is a result: it is named beside the others
            told = traceback.format_exc(limit=-2)
            pipe.say({"failed": f"{type(error).__name__}: {error}"[:500], "where": told[-1000:]})
            continue
        seconds = found.pop("cpu", time.process_time() - began - pipe.waited)
        arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
        rest = {name: value for name, value in found.items() if name not in arrays}
        pipe.say({"found": rest, "cpu": seconds}, arrays)


def timed(run: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """A result and the least CPU seconds that it took."""
    found, least = None, float("inf")
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        least = min(least, time.process_time() - began)
    return found, least
