"""Can this CPU run half precision? Tried in a process of its own, because the answer may be that the process dies.

A CPU may announce instructions that the system does not grant: AMX in many virtual machines. Then the first bfloat16 product of
some size ends the interpreter with an illegal instruction, which nothing in Python can catch. So the products are tried in a
child, once per process and precision, when a model in that precision is about to run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import torch

HALVES = ("bfloat16", "float16")
CURE = (
    "ONEDNN_MAX_CPU_ISA",
    "AVX512_CORE",
)  # torch's kernels without the instructions that are announced and not granted
FAULTS = (
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGFPE,
    signal.SIGABRT,
)  # what a process does to itself; SIGKILL is others'
SECONDS = 120.0  # for a child that imports torch, on a machine under load


@dataclass(frozen=True)
class PrecisionTrial:
    """What became of a child process that computed in one precision.

    >>> trial = PrecisionTrial("bfloat16", "a matrix product", "SIGILL", cured=True)
    >>> trial.died, trial.remedy
    (True, 'set ONEDNN_MAX_CPU_ISA=AVX512_CORE before Python starts')
    """

    dtype: str
    operation: str = ""  # the last that was begun
    signal: str | None = None  # that ended the child; None: none did
    unknown: str | None = None  # why nothing was learnt; None: something was
    cured: bool = False  # does it live with CURE in its environment?

    @property
    def died(self) -> bool:
        return self.signal is not None

    @property
    def works(self) -> bool | None:
        """None where nothing was learnt."""
        return None if self.unknown is not None else not self.died

    @property
    def remedy(self) -> str:
        """What to do about a child that died."""
        return f"set {'='.join(CURE)} before Python starts" if self.cured else "use float32"

    def __str__(self) -> str:
        if self.unknown is not None:
            return f"{self.dtype} could not be tried: {self.unknown}"
        if self.signal is None:
            return f"{self.dtype} works"
        return f"{self.dtype} dies: {self.operation} ends the process by {self.signal}; {self.remedy}"


def try_precision(dtype: str) -> PrecisionTrial:
    """Whether this CPU runs products in a precision. The first call takes as long as `import torch`, and is remembered."""
    return _trial(dtype, trial_command(dtype))


def check_precision(weights: Iterable[torch.Tensor]) -> None:
    """Refuse a model whose weights are on the CPU, in a half precision that would end this process."""
    held = {str(dtype).removeprefix("torch.") for dtype, place in {(w.dtype, w.device) for w in weights} if place.type == "cpu"}
    for dtype in held.intersection(HALVES):
        trial = try_precision(dtype)
        if trial.died:
            cure = f"{trial.remedy} (tried: it helps), or " if trial.cured else ""
            raise InvalidInput(
                f"model holds {dtype} weights, which this CPU cannot compute with: {trial.operation} was tried in another "
                f"process and ended it by {trial.signal}. Most likely it announces instructions that it is not granted; "
                f"{cure}use float32: model.float(), and for a folder model.float().save_pretrained(folder)",
                argument="model",
                code="unavailable",
            )


def trial_command(dtype: str) -> tuple[str, ...]:
    """What is run to try a precision: an interpreter that shares nothing with this one but its libraries."""
    found = find_spec("torch")
    folder = str(Path(found.origin).parents[1]) if found is not None and found.origin else ""
    return (sys.executable, "-I", str(Path(__file__).with_name("precision_trial.py")), dtype, folder)


@cache
def _trial(dtype: str, command: tuple[str, ...]) -> PrecisionTrial:
    trial = _run(dtype, command, os.environ)
    if not trial.died:
        return trial
    again = _run(dtype, command, os.environ | dict([CURE]))
    return PrecisionTrial(dtype, trial.operation, trial.signal, cured=not again.died and again.unknown is None)


def _run(dtype: str, command: tuple[str, ...], environment: Mapping[str, str]) -> PrecisionTrial:
    try:
        child = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return PrecisionTrial(dtype, unknown=f"no answer from {command[0]} within {SECONDS:g} s")
    except OSError as error:
        return PrecisionTrial(dtype, unknown=f"{command[0]!r} cannot be started: {error}")
    operation = (child.stdout.splitlines() or ["importing torch"])[-1]
    if -child.returncode in FAULTS:
        return PrecisionTrial(dtype, operation, signal.Signals(-child.returncode).name)
    if child.returncode != 0:
        said = (child.stderr.splitlines() or [f"exit code {child.returncode}"])[-1]
        return PrecisionTrial(dtype, operation, unknown=f"{operation}: {said:.200}")
    return PrecisionTrial(dtype, operation)
