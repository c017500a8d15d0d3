"""Ask a peer: a process of its environment, a line of JSON per message, arrays in .npz files beside it, and no pickle.

`Side` is one process with the functions of one script in `sides/`. It is started when it is first called. CPU seconds are
those of the peer's own process without the conversation, so they are compared with ours in the same run.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from benchmarks.peers import environments

SIDES = Path(__file__).parent / "sides"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
QUIET = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
Payoff = Callable[[BoolArray], FloatArray]


class PeerFailed(RuntimeError):
    """The peer raised an error, or its process ended."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a peer found: plain values and arrays by name, and the CPU seconds that it took."""

    found: dict[str, Any]
    seconds: float

    def __getitem__(self, name: str) -> Any:
        return self.found[name]


@dataclass(eq=False)
class Side:
    """A peer's process. It imports `module` when it starts, which is not counted as work."""

    python: Path
    script: Path
    module: str = "numpy"
    _process: subprocess.Popen[str] | None = None
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _written: int = field(default=0)

    def call(self, name: str, payoff: Payoff | None = None, /, **given: Any) -> Answer:
        """Run a function of the script. Arrays among `given` go as arrays; `payoff` answers what the peer asks."""
        arrays = {key: value for key, value in given.items() if isinstance(value, np.ndarray)}
        self._say({"call": name, "given": {key: value for key, value in given.items() if key not in arrays}}, arrays)
        while True:
            told = self._hear()
            if "ask" in told:
                if payoff is None:
                    raise PeerFailed(f"{self.script.stem}.{name} asks for payoffs, and there is no game")
                self._say({}, {"payoffs": np.asarray(payoff(told["arrays"]["coalitions"]), dtype=np.float64)})
            elif "failed" in told:
                raise PeerFailed(f"{told['failed']}\n{told['where']}")
            else:
                return Answer(told["found"] | told.get("arrays", {}), told["cpu"])

    def close(self) -> None:
        """End the process; closing its input is all that it needs."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=60)
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._folder = None

    def _say(self, message: dict[str, Any], arrays: dict[str, Any]) -> None:
        process = self._started()
        if arrays and self._folder is not None:
            self._written += 1
            file = Path(self._folder.name) / f"ours-{self._written}.npz"
            np.savez(file, **arrays)
            message |= {"arrays": str(file)}
        assert process.stdin is not None
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        process = self._started()
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            told = self._stderr().read_text(encoding="utf-8", errors="replace").strip()[-2000:]
            self._process = None
            raise PeerFailed(f"the process of {self.script.stem} ended with {code}: {told}")
        message: dict[str, Any] = json.loads(line)
        if "arrays" in message:
            file = Path(message["arrays"])
            with np.load(file, allow_pickle=False) as kept:
                message["arrays"] = {name: kept[name] for name in kept.files}
            file.unlink()
        return message

    def _stderr(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "stderr"

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._folder = tempfile.TemporaryDirectory(prefix="peer-")
            own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
            with self._stderr().open("w") as stderr:
                self._process = subprocess.Popen(
                    [str(self.python), "-u", str(self.script), self._folder.name, self.module],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=own | ONE_THREAD | QUIET,
                )  # fmt: skip
        return self._process


_ASKED: dict[str, str] = {}


def interpreter_of(pin: environments.Pin) -> Path:
    """The interpreter of a peer, which is from now on among those that this process has asked."""
    _ASKED[pin.package] = pin.version
    return environments.made(pin)


def asked_versions() -> dict[str, str]:
    """The peers that this process has asked, with their versions."""
    return dict(_ASKED)


@cache
def side(package: str, script: str) -> Side:
    """The process of one peer and one script; its environment is made if need be."""
    pin = environments.PINS[package]
    started = Side(interpreter_of(pin), SIDES / f"{script}.py", pin.module or pin.package)
    atexit.register(started.close)
    return started
