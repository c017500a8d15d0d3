"""What every solver has in common: one method, a budget ledger, and a way to say how far a long run is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from accredit.core import Attribution, Game, InvalidInput

PROGRESS_AFTER = 2.0  # seconds a run must last before it draws a bar


class Solver(Protocol):
    """A frozen bundle of settings with one method.

    To write one, decorate `solve` with `solves_every_output` (`every_output`): it then answers games of several outputs too.
    """

    def solve(self, game: Game) -> Attribution: ...


@dataclass(frozen=True)
class Stop:
    """When to stop sampling: whichever of the given limits comes first.

    `budget` counts payoffs, `seconds` is wall time, `half_width` is the widest 95 % (or other `level`) interval wanted.
    """

    budget: int | None = None
    seconds: float | None = None
    half_width: float | None = None

    def __post_init__(self) -> None:
        for name in ("budget", "seconds", "half_width"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float | np.number) or not value > 0):
                raise InvalidInput(f"{name} must be positive, got {value!r}; leave it out for no such limit")
        if self.budget is None and self.seconds is None and self.half_width is None:
            raise InvalidInput(
                "no stopping rule is given; write for example budget=1000, seconds=10 or half_width=0.01"
            )


class Progress:
    """A bar on standard error, drawn only on a terminal and only when a run lasts."""

    def __init__(self, label: str, total: float) -> None:
        self._label, self._total, self._began, self._drawn = label, total, time.monotonic(), False

    def update(self, done: float) -> None:
        """Draw the bar at `done` of `total`."""
        elapsed = time.monotonic() - self._began
        if elapsed < PROGRESS_AFTER or not sys.stderr.isatty() or self._total <= 0:
            return
        share = min(1.0, done / self._total)
        left = f", {elapsed / share - elapsed:.0f} s left" if share > 0 else ""
        bar = "█" * round(24 * share) + "·" * (24 - round(24 * share))
        sys.stderr.write(f"\r{self._label} {bar} {share:4.0%}{left}\x1b[K")
        sys.stderr.flush()
        self._drawn = True

    def close(self) -> None:
        """Wipe the bar."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def progress(label: str, total: float) -> Iterator[Progress]:
    """A progress bar that is wiped when the block ends, also by an error."""
    bar = Progress(label, total)
    try:
        yield bar
    finally:
        bar.close()
