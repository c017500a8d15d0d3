"""The schedule: coalitions in, evaluated batches out, whatever happens to the workers in between.

- *Batches by time.* A task should last about `TASK_SECONDS`, so that a slow utility does not wait for a long queue
  and a fast one does not drown in messages; sizes follow the measured cost.
- *A bounded window.* Each worker has at most two tasks under way; the rest wait here, where a kill costs nothing.
- *Lost workers.* When a pool breaks, every task under way is asked again, one coalition at a time and alone, so that
  if a worker dies again it is clear which coalition is to blame.
- *Failures.* A coalition that raises, earns no finite number or kills its worker is tried `1 + retries` times, then set
  aside. One that takes longer than the limit of its crew is set aside when it has done so alone.
- *Shared work.* What is about to be evaluated is claimed first; what another process has claimed is left to it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

import numpy as np

from accredit.core import BoolArray, FloatArray
from accredit.games.batches import report
from accredit.store.executors import BatchResult, Crew, ExecutorError

TASK_SECONDS = 0.1
TASK_ROWS = 4096  # the largest batch
GROWTH = 8  # a batch grows at most this fold from one task to the next
WINDOW = 2  # tasks under way, per worker
REACH = 8  # batches among which a whole one is looked for, where other processes take from the same coalitions
LOOK_SECONDS = 1.0  # after which a crew that has finished nothing is asked whether it is still there
MOST_REBUILDS = 20  # crews lost in a row
DEAD_ON_ARRIVAL = 3  # coalitions that kill their worker before any payoff was ever seen


@dataclass(frozen=True)
class FinishedBatch:
    """Part of the work that is done: rows of the batch, and what became of them."""

    rows: list[int]
    values: FloatArray  # (rows,)
    outputs: FloatArray | None  # (rows, targets)
    seconds: float  # each
    problems: dict[int, str]  # position in `rows` -> problem
    final: bool = True  # False: the problems will be tried again


def _all(rows: list[int], most: int) -> list[int]:
    """The claim of a process that shares its work with nobody."""
    return rows[:most]


@dataclass
class Schedule:
    """Work through a batch of coalitions with a crew; iterate to receive finished parts as they come."""

    crew: Crew
    coalitions: BoolArray  # (batch, n)
    retries: int = 2
    claim: Callable[[list[int], int], list[int]] = _all  # rows, how many -> the first that are ours to evaluate
    _tries: dict[int, int] = field(default_factory=dict)  # row -> failed attempts
    _suspects: deque[int] = field(default_factory=deque)  # rows that were under way when a worker died
    _seconds: float | None = None  # per coalition, measured
    _size: int = 1
    _succeeded: bool = False
    _set_aside: int = 0
    _rebuilt: int = 0  # crews since the last payoff
    _claimed: set[int] = field(default_factory=set)
    _asked: dict[int, float] = field(default_factory=dict)  # row that was submitted alone -> when

    def __iter__(self) -> Iterator[FinishedBatch]:
        waiting = deque(range(len(self.coalitions)))
        under_way: dict[Future[BatchResult], list[int]] = {}
        try:
            while waiting or self._suspects or under_way:
                broken = self._fill(waiting, under_way)
                if under_way and not broken:
                    done, _ = wait(under_way, LOOK_SECONDS, return_when=FIRST_COMPLETED)
                    report(0)  # whoever follows the work may have left
                    broken = None if done else self.crew.lost()
                    for future in done:
                        rows = under_way.pop(future)
                        try:
                            result = future.result()
                        except Exception as error:  # not the game's: evaluate() catches those. The worker is lost.
                            broken = error
                            yield from self._died(rows, error, alone=len(rows) == 1 and not under_way and len(done) == 1)
                            continue
                        yield from self._digest(rows, result, waiting)
                if broken:
                    for future, rows in under_way.items():
                        future.cancel()
                        self._suspects.extend(rows)
                    under_way.clear()
                    self._rebuild(broken)
        finally:
            for future in under_way:
                future.cancel()

    def _rebuild(self, error: Exception) -> None:
        """Start a new crew, unless crew after crew was lost without a single payoff in between."""
        self._rebuilt += 1
        if self._rebuilt > MOST_REBUILDS:
            raise ExecutorError(f"{self._rebuilt} crews in a row were lost: {error}; run again to resume", code="failed")
        self.crew.rebuild()

    def _fill(self, waiting: deque[int], under_way: dict[Future[BatchResult], list[int]]) -> Exception | None:
        """Submit until the window is full; suspects go alone. Returns the error of a crew that takes no more work."""
        while self._suspects or waiting:
            if len(under_way) >= (1 if self._suspects else WINDOW * self.crew.width):
                return None
            if self._suspects:
                rows = [self._suspects.popleft()]
            else:
                share = -(-(len(waiting)) // (WINDOW * self.crew.width))
                rows = self._ours(waiting, max(self.crew.least, min(self._size, share)))
                if not rows:
                    continue
            if len(rows) == 1:
                self._asked[rows[0]] = time.monotonic()
            try:
                under_way[self.crew.submit(self.coalitions[rows])] = rows
            except (RuntimeError, OSError) as error:  # BrokenExecutor is a RuntimeError
                self._suspects.extend(rows)
                return error
        return None

    def _ours(self, waiting: deque[int], size: int) -> list[int]:
        """Take up to `size` rows that this process may evaluate; what others have claimed on the way is left to them. A row
        that is tried again was claimed before."""
        near = [waiting.popleft() for _ in range(min(REACH * size, len(waiting)))]
        fresh = [row for row in near if row not in self._claimed]
        self._claimed |= set(self.claim(fresh, size)) if fresh else set()
        rows = [row for row in near if row in self._claimed][:size]
        if len(rows) == size:
            waiting.extendleft(reversed(near[near.index(rows[-1]) + 1 :]))
        return rows

    def _digest(self, rows: list[int], result: BatchResult, waiting: deque[int]) -> Iterator[FinishedBatch]:
        """Pass on what is good, queue what failed for another try, set aside what failed too often."""
        self._rebuilt = 0
        self._measure(result.seconds / len(rows))
        again = {}
        for position, problem in result.problems.items():
            row = rows[position]
            self._tries[row] = self._tries.get(row, 0) + 1
            if self._tries[row] <= self.retries:
                again[position] = problem
                waiting.append(row)
        each = result.seconds / len(rows)
        self._succeeded |= len(result.problems) < len(rows)
        if again:
            keep = [p for p in range(len(rows)) if p not in again]
            yield FinishedBatch(
                [rows[p] for p in again],
                np.full(len(again), np.nan),
                None,
                each,
                dict(enumerate(again.values())),
                final=False,
            )
            rows = [rows[p] for p in keep]
            outputs = None if result.outputs is None else result.outputs[keep]
            problems = {keep.index(p): text for p, text in result.problems.items() if p in keep}
            if rows:
                yield FinishedBatch(rows, result.values[keep], outputs, each, problems)
        else:
            yield FinishedBatch(rows, result.values, result.outputs, each, result.problems)

    def _died(self, rows: list[int], error: Exception, alone: bool) -> Iterator[FinishedBatch]:
        """A worker is gone. If it had one coalition and nobody beside it, that coalition is to blame."""
        if alone:
            row = rows[0]
            self._tries[row] = self._tries.get(row, 0) + 1
            limit = self.crew.limit
            if limit is not None and time.monotonic() - self._asked[row] >= limit:
                yield FinishedBatch([row], np.array([np.nan]), None, limit, {0: f"no payoff within the limit of {limit:g} s"})
                return
            if self._tries[row] > self.retries:
                self._set_aside += 1
                if not self._succeeded and self._set_aside >= DEAD_ON_ARRIVAL:
                    raise ExecutorError(
                        f"workers die on every coalition: {error}. In a script, start the run under "
                        "`if __name__ == '__main__':`; or try executor='serial' to see the cause",
                        code="failed",
                    )
                problem = f"its worker died {self._tries[row]} times: {type(error).__name__}: {error}"[:500]
                yield FinishedBatch([row], np.array([np.nan]), None, 0.0, {0: problem})
                return
        self._suspects.extend(rows)

    def _measure(self, seconds: float) -> None:
        """Follow the cost of one coalition, and size the next tasks by it."""
        seconds = max(seconds, 1e-7)
        self._seconds = seconds if self._seconds is None else 0.7 * self._seconds + 0.3 * seconds
        self._size = int(np.clip(TASK_SECONDS / self._seconds, 1, min(TASK_ROWS, GROWTH * self._size)))
