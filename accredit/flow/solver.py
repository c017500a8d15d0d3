"""The solver of max flows in whole units: OR-tools, in this process or in one of its own.

Every part of OR-tools loads a HiGHS of its own under the name by which highspy, and with it cvxpy, loads another. A process
holds one of the two, and whoever comes second cannot be loaded. So where highspy is installed, or OR-tools cannot be loaded for
another reason, it runs in a second process, which is started once and asked by messages. Flows and cvxpy then work in either
order, and the numbers are the same.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from accredit.checks import needs
from accredit.core import IntArray
from accredit.errors import BrokenLibrary, NotConverged
from accredit.flow.solver_process import read, solve_each, write

if TYPE_CHECKING:
    from ortools.graph.python.max_flow import SimpleMaxFlow

PURPOSE = "exact max flow"
LIBRARY = "ortools.graph.python.max_flow"
PROGRAM = Path(__file__).with_name("solver_process.py")
START = "import json, runpy, sys; sys.path[:] = json.loads(sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')"
SMALL_GRAPH_ARCS = 1 << 12  # arcs up to which the flows of a solve come with its value, whether they are asked for or not
ENDING_SECONDS = 5.0  # for a process that has left the conversation

Process = subprocess.Popen[bytes]
Question = tuple[dict[str, object], list[IntArray]]  # what is said, and arrays beside it
Reply = tuple[dict[str, Any], list[IntArray]]  # the same, as it was read

MaxFlow: TypeAlias = "SimpleMaxFlow | RemoteMaxFlow"


def simple_max_flow() -> MaxFlow:
    """An empty solver: `SimpleMaxFlow` of OR-tools, or one with its methods that asks another process."""
    with needs("flow", PURPOSE):
        if not _is_installed("ortools"):
            raise ModuleNotFoundError("OR-tools is not installed", name="ortools")
    if LIBRARY in sys.modules or not _is_installed("highspy"):
        with suppress(ImportError):
            from ortools.graph.python import max_flow

            return max_flow.SimpleMaxFlow()
    return RemoteMaxFlow()


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ValueError:  # a name that was blocked
        return False


def solve(solver: MaxFlow, source: int, sink: int) -> int:
    """The optimal flow in whole units."""
    none = np.empty(0, dtype=np.int64)
    return int(solve_all(solver, source, sink, none, none[None])[0])


def solve_all(solver: MaxFlow, source: int, sink: int, arcs: IntArray, capacities: IntArray) -> IntArray:
    """The optimal flows in whole units, one for each row of capacities of some arcs: (batch, arcs) -> (batch,). The last row
    stays."""
    ask = solver.solve_each if isinstance(solver, RemoteMaxFlow) else partial(solve_each, solver)
    status, values = ask(source, sink, arcs, capacities)
    if status != solver.OPTIMAL:
        raise NotConverged(f"OR-tools ended with status {status} instead of an optimal flow; rescale the capacities")
    return np.asarray(values)


class RemoteMaxFlow:
    """A `SimpleMaxFlow` in another process. This one keeps the graph, so that a process that has ended can be replaced.

    >>> solver = RemoteMaxFlow()
    >>> arcs = solver.add_arcs_with_capacity(np.array([0, 1]), np.array([1, 2]), np.array([5, 3]))
    >>> solve(solver, 0, 2), solver.flows(arcs).tolist(), solver.get_source_side_min_cut().tolist()
    (3, [3, 3], [0, 1])
    """

    OPTIMAL = "OPTIMAL"
    _numbers = count()

    def __init__(self) -> None:
        self._number = next(self._numbers)
        self._tails, self._heads, self._capacity = np.empty((3, 0), dtype=np.int64)
        self._known: tuple[Process, IntArray] | None = None  # the process that has the graph, and the capacities there
        self._last: tuple[tuple[int, int], IntArray] | None = None  # ends and capacities of the last solve
        self._found: list[IntArray] = []  # its flows and cut, once asked for
        _remote().start()
        weakref.finalize(self, _dropped.append, self._number)

    def add_arcs_with_capacity(
        self, tails: npt.NDArray[np.integer], heads: npt.NDArray[np.integer], capacities: IntArray
    ) -> IntArray:
        """The numbers of the new arcs."""
        before = len(self._tails)
        self._tails, self._heads = np.append(self._tails, tails), np.append(self._heads, heads)
        self._capacity = np.append(self._capacity, capacities)
        self._known = None
        return np.arange(before, len(self._tails))

    def set_arcs_capacity(self, arcs: IntArray, capacities: IntArray) -> None:
        self._capacity[arcs] = capacities

    def solve_each(self, source: int, sink: int, arcs: IntArray, capacities: IntArray) -> tuple[str, IntArray]:
        """The status and the max flows, one for each row of capacities of some arcs; the last row stays."""
        if not len(capacities):
            return self.OPTIMAL, np.empty(0, dtype=np.int64)
        at_once = len(capacities) == 1 and len(self._tails) <= SMALL_GRAPH_ARCS
        status, (values, *found) = self._ask((source, sink), self._capacity, arcs, capacities, at_once)
        self._capacity[arcs] = capacities[-1]
        self._last, self._found = ((source, sink), self._capacity.copy()), found
        return status, values

    def flows(self, arcs: IntArray) -> IntArray:
        return np.asarray(self._solution()[0][arcs])

    def get_source_side_min_cut(self) -> IntArray:
        return self._solution()[1]

    def _solution(self) -> list[IntArray]:
        """Flows and cut of the last solve."""
        if not self._found and self._last is not None:
            none = np.empty(0, dtype=np.int64)
            self._found = self._ask(*self._last, none, none.reshape(0, 0), True)[1][1:]
        return self._found

    def _ask(
        self, ends: tuple[int, int], before: IntArray, arcs: IntArray, capacities: IntArray, flows: bool
    ) -> tuple[str, list[IntArray]]:
        """Capacities `before`, then a solve for each row; its status, the values, and if asked for the flows and the cut."""
        process, answer, arrays = _remote().ask(partial(self._question, ends, before, arcs, capacities, flows))
        after = before.copy()
        after[arcs] = capacities[-1] if len(capacities) else before[arcs]
        self._known = process, after
        return answer["status"], arrays

    def _question(
        self,
        ends: tuple[int, int],
        before: IntArray,
        arcs: IntArray,
        capacities: IntArray,
        flows: bool,
        process: Process,
    ) -> Question:
        """What to ask a process, which may or may not have the graph."""
        new = self._known is None or self._known[0] is not process
        graph = [self._tails, self._heads, before] if new else []
        if self._known is not None and not new:
            other = np.flatnonzero(self._known[1] != before)
            arcs = np.append(other, arcs)  # of an arc that is there twice, the later capacity holds
            capacities = np.hstack([np.tile(before[other], (len(capacities), 1)), capacities])
        elif not len(capacities):
            capacities = np.empty((1, 0), dtype=np.int64)  # the last solve, once more
        said: dict[str, object] = {
            "graph": self._number,
            "new": new,
            "source": ends[0],
            "sink": ends[1],
            "solves": len(capacities),
        }
        return said | {"flows": flows}, [*graph, arcs, capacities]


class Remote:
    """The process in which OR-tools runs. It ends with this one, and is started again if it ends before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: Process | None = None

    def start(self) -> None:
        with self._lock:
            self._ensure_process()

    def stop(self) -> None:
        with self._lock:
            self._stop()

    def ask(self, question: Callable[[Process], Question]) -> tuple[Process, *Reply]:
        """Who answered, and what; asked once more where the process ends over it."""
        with self._lock:
            for _ in range(2):
                process = self._ensure_process()
                try:
                    answer, arrays = _ask(process, *question(process))
                except (EOFError, OSError):  # it has ended, or is about to
                    ended = self._stop(ENDING_SECONDS)
                    continue
                except BaseException:  # an interrupt: half a conversation cannot be gone on with
                    self._stop()
                    raise
                if "error" in answer:
                    raise BrokenLibrary(f"{PURPOSE} needs OR-tools, which fails in its own process: {answer['error']:.300}")
                return process, answer, arrays
        raise BrokenLibrary(f"{PURPOSE} needs OR-tools, and the process in which it runs has ended twice, {ended}")

    def _ensure_process(self) -> Process:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-I", "-c", START, json.dumps(sys.path), str(PROGRAM)]
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            try:
                self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, start_new_session=True)
            except OSError as error:
                raise BrokenLibrary(
                    f"{PURPOSE} needs OR-tools, which cannot be loaded beside highspy, and no process of its own can be "
                    f"started for it: {error}"
                ) from None
        return self._process

    def _stop(self, patience: float = 0.0) -> str:
        """End the process unless it ends by itself, and say how it did."""
        process, self._process = self._process, None
        if process is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        process.kill()
        process.communicate()
        code = process.returncode
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


def _ask(process: Process, said: dict[str, object], arrays: list[IntArray]) -> Reply:
    assert process.stdin is not None and process.stdout is not None
    dropped = [_dropped.popleft() for _ in range(len(_dropped))]
    write(process.stdin, said | {"dropped": dropped}, arrays)
    return read(process.stdout)


_dropped: deque[int] = deque()  # graphs that nobody asks about any more
_remotes: dict[int, Remote] = {}  # by process: one that was forked from another has its own


def _remote() -> Remote:
    return _remotes.setdefault(os.getpid(), Remote())


@atexit.register
def _leave() -> None:
    if os.getpid() in _remotes:
        _remotes[os.getpid()].stop()
