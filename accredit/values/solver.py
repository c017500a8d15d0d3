"""What every solver has in common: one method, a budget ledger, and a way to say how far a long run has got."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Game
from accredit.core.display import in_notebook
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

PROGRESS_AFTER = 2.0  # seconds a run must last before it draws a bar
TOLD_FROM = 0.01  # of a run: before that, nobody can tell how long the rest will take
PROGRESS_FILE = "ACCREDIT_PROGRESS"  # variable that names a file for it
FILE_EVERY = 0.25  # seconds between two writes of that file
LOG_EVERY = 10.0  # seconds between two lines where output goes into a file or a pipe


@runtime_checkable
class Solver(Protocol):
    """A frozen bundle of settings with one method.

    To write one, decorate `solve` with `solves_every_output` (`every_output`): it then answers games of several outputs too.

    >>> from accredit.values import Exact, Permutations
    >>> [isinstance(solver, Solver) for solver in (Exact(), Permutations(orders=500, seed=0), "shapley")]
    [True, True, False]
    """

    def solve(self, game: Game) -> Attribution: ...


@dataclass(frozen=True)
class Stop:
    """When to stop sampling: whichever of the given limits comes first.

    `budget` counts payoffs, `seconds` is wall time, `half_width` is the widest 95 % (or other `level`) interval wanted.

    >>> Stop(budget=1000, half_width=0.01)
    Stop(budget=1000, seconds=None, half_width=0.01)
    >>> Stop()
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: no stopping rule is given; write for example budget=1000, seconds=10 or ...
    """

    budget: int | None = None
    seconds: float | None = None
    half_width: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("budget", "seconds", "half_width"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float | np.number) or not value > 0):
                raise InvalidInput(
                    f"{name} must be positive, got {value!r}; leave it out for no such limit", argument=name, code="range"
                )
        if self.budget is None and self.seconds is None and self.half_width is None:
            raise InvalidInput(
                "no stopping rule is given; write for example budget=1000, seconds=10 or half_width=0.01", code="missing"
            )


class RunProgress(NamedTuple):
    """How far a run has got: what it does, the share that is done, and the seconds that are left, as far as they are known.

    >>> print(RunProgress("training", 0.25, 12.0))
    training ██████··················  25%, 12 s left
    """

    label: str
    share: float
    left: float | None

    def __str__(self) -> str:
        left = "" if self.left is None else f", {self.left:.0f} s left"
        return f"{self.label} {'█' * round(24 * self.share) + '·' * (24 - round(24 * self.share))} {self.share:4.0%}{left}"


class Progress:
    """One line that says how far a long run has got: on a terminal, or in a notebook; elsewhere one every ten seconds. Inside a
    run that already has a line it is silent."""

    def __init__(
        self, label: str, total: float, show: Callable[[RunProgress | None], None] | None, visible: bool = False
    ) -> None:
        self._label, self._total, self._show = label, total, show
        self.visible = visible  # whether somebody may be watching, so that it is worth a thread to report more often
        self._began, self._drawn = time.monotonic(), False

    def update(self, done: float, label: str = "") -> None:
        """Draw the line at `done` of the total, once the run has lasted a while."""
        elapsed = time.monotonic() - self._began
        if self._show is None or elapsed < PROGRESS_AFTER or self._total <= 0:
            return
        share = min(1.0, done / self._total)
        self._show(RunProgress(label or self._label, share, elapsed / share - elapsed if share >= TOLD_FROM else None))
        self._drawn = True

    def expect(self, total: float) -> None:
        """Another total than was thought at first; what was drawn is wiped."""
        self.close()
        self._total = total

    def close(self) -> None:
        """Wipe the line."""
        if self._drawn and self._show is not None:
            self._show(None)


def _on_terminal(line: RunProgress | None) -> None:
    sys.stderr.write(f"\r{line or ''}\x1b[K")
    sys.stderr.flush()


def _in_log() -> Callable[[RunProgress | None], None]:
    """A sign of life now and then, for those who send standard error into a file; none that wipes or is wiped."""
    last = time.monotonic()

    def show(line: RunProgress | None) -> None:
        nonlocal last
        if line is not None and time.monotonic() - last >= LOG_EVERY:
            last = time.monotonic()
            left = "" if line.left is None else f", {line.left:.0f} s left"
            sys.stderr.write(f"{line.label}: {line.share:.0%}{left}\n")
            sys.stderr.flush()

    return show


def _in_notebook() -> Callable[[RunProgress | None], None]:
    """A line under the running cell that is written over."""
    from IPython.display import display

    shown: DisplayHandle | None = None

    def show(line: RunProgress | None) -> None:
        nonlocal shown
        content = {"text/plain": str(line or "")}
        if shown is None:
            shown = display(content, raw=True, display_id=True)
        else:
            shown.update(content, raw=True)

    return show


def _in_file(path: str) -> Callable[[RunProgress | None], None]:
    """A small file of JSON that another process reads: always whole, and written at most a few times in a second."""
    last = -math.inf

    def show(line: RunProgress | None) -> None:
        nonlocal last
        if line is not None and time.monotonic() - last < FILE_EVERY:
            return
        last = time.monotonic()
        Path(f"{path}.new").write_text(json.dumps(line and line._asdict()), encoding="utf-8")
        os.replace(f"{path}.new", path)

    return show


def _screen() -> Callable[[RunProgress | None], None] | None:
    """Where a line can be shown: in a file that was named, under the cell of a notebook, on a terminal, or nowhere."""
    if path := os.environ.get(PROGRESS_FILE):
        return _in_file(path)
    if in_notebook():
        return _in_notebook()
    return _on_terminal if sys.stderr.isatty() else None


_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)  # a run that has its line


@contextmanager
def progress(label: str, total: float) -> Iterator[Progress]:
    """A line of progress that is wiped when the block ends, also by an error; in a log, lines that stay. Runs inside the block
    draw none."""
    screen = None if _INSIDE.get() else _screen()
    bar = Progress(label, total, screen or (None if _INSIDE.get() else _in_log()), screen is not None)
    before = _INSIDE.set(True)
    try:
        yield bar
    finally:
        _INSIDE.reset(before)
        bar.close()
