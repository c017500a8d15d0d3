"""Games for the store's tests, in a module of their own so that worker processes can import them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray


class Sizes:
    """Four players; a coalition earns the square of its size, after a pause."""

    players = ("a", "b", "c", "d")

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        time.sleep(self.seconds * len(coalitions))
        return coalitions.sum(axis=1) ** 2.0


class Wide(Sizes):
    """Twelve players, for longer runs."""

    players = tuple("abcdefghijkl")


class Breaks(Sizes):
    """Raises, earns no number or dies for the coalition of everybody; only the first `cured_after` times, if given."""

    def __init__(self, folder: str, how: str, cured_after: int | None = None) -> None:
        super().__init__()
        self.folder, self.how, self.cured_after = folder, how, cured_after

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        earned = super().payoff(coalitions)
        full = coalitions.all(axis=1)
        if full.any() and self._still_broken():
            if self.how == "raise":
                raise FloatingPointError("the fit exploded")
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            earned[full] = np.nan
        return earned

    def _still_broken(self) -> bool:
        tries = len(list(Path(self.folder).iterdir()))
        (Path(self.folder) / f"{tries}-{os.getpid()}-{time.monotonic_ns()}").touch()
        return self.cured_after is None or tries < self.cured_after


class Traced(Sizes):
    """Leaves a file for every coalition evaluated. The first process to leave one may be `held` until it is killed."""

    players = tuple("abcdefghij")

    def __init__(self, folder: str, held: bool = False) -> None:
        super().__init__()
        self.folder, self.held = folder, held

    def kill_held(self) -> int:
        """Kill the process that is held, once there is one; its number."""
        while not os.path.islink(f"{self.folder}.held"):
            time.sleep(0.01)
        process = int(os.readlink(f"{self.folder}.held"))
        os.kill(process, signal.SIGKILL)
        return process

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        earned = super().payoff(coalitions)
        for row in coalitions:
            name = "".join("1" if plays else "0" for plays in row)
            (Path(self.folder) / f"{name}-{os.getpid()}-{time.monotonic_ns()}").touch()
        if self.held:
            with suppress(FileExistsError):
                os.symlink(str(os.getpid()), f"{self.folder}.held")  # of one process alone, whole or not at all
                time.sleep(600)
        return earned


class TwoTargets(Sizes):
    """Predicts two targets besides its payoff."""

    targets = ("size", "has a")

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        return self.payoff(coalitions), np.column_stack([coalitions.sum(axis=1), coalitions[:, 0]]).astype(float)


class Hangs(Sizes):
    """Never answers for the coalition of everybody."""

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        if coalitions.all(axis=1).any():
            time.sleep(600)
        return super().payoff(coalitions)


class DeadlyToRead(Sizes):
    """A game that kills given processes when another process reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.victims: list[int] = []

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__ |= state
        for process in sorted(self.victims, key=lambda victim: victim == os.getpid()):  # the reader itself comes last
            os.kill(process, signal.SIGKILL)
