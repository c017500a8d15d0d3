"""Executors: where payoffs are evaluated. In this process, in threads, in worker processes, or on a Dask cluster.

Anything with `submit(function, *arguments) -> Future` will do. What an executor lacks is added here by a *crew*: it
hands the game to the workers once, knows how many tasks run at a time, and can be rebuilt after its workers died.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from accredit.checks import needs, real_numbers
from accredit.checks.numbers import a_type
from accredit.core import BoolArray, FloatArray, Game
from accredit.core.coalitions import pack, unpack
from accredit.core.multi_target import Predicting, retrain
from accredit.core.threads import one_thread_for_good
from accredit.errors import AccreditError, BadPayoff, InvalidInput

CONNECT_SECONDS = 10.0
TALKATIVE = ("distributed", "tornado", "asyncio")  # each reports a lost connection by itself, in many lines


class ExecutorError(AccreditError):
    """Workers cannot be reached, started or rebuilt.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from accredit.games import TableGame
    >>> from accredit.store import durable
    >>> closed = ThreadPoolExecutor()
    >>> closed.shutdown()
    >>> with durable(TableGame("ab", [0, 5, 3, 10]), executor=closed) as game:
    ...     game.payoff(np.ones((1, 2), dtype=bool))
    Traceback (most recent call last):
        ...
    accredit.store.executors.ExecutorError: the workers of ThreadPoolExecutor died, and only its owner can start ...
    """


@runtime_checkable
class Executor(Protocol):
    """Whatever runs a function elsewhere: `concurrent.futures`, loky, mpi4py.futures, Dask's `get_executor()`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> isinstance(ThreadPoolExecutor(), Executor), isinstance("processes:2", Executor)
    (True, False)
    """

    def submit(self, function: Callable[..., object], /, *arguments: object) -> Future[Any]: ...


@dataclass(frozen=True)
class BatchResult:
    """What a worker returns for a batch of coalitions."""

    values: FloatArray  # (batch,); NaN where there is a problem
    outputs: FloatArray | None  # (batch, targets)
    seconds: float  # for the whole batch
    problems: dict[int, str]  # row -> what went wrong


def evaluate(game: Game, coalitions: BoolArray) -> BatchResult:
    """Payoffs of a batch; a coalition that raises or earns no finite number is named and does not affect the others."""
    began = time.perf_counter()
    try:
        values, outputs = _ask(game, coalitions)
    except Exception as error:  # whatever a user's model raises is recorded for that coalition only
        if len(coalitions) == 1:
            problem = f"{type(error).__name__}: {error}"[:500]
            return BatchResult(np.array([np.nan]), None, time.perf_counter() - began, {0: problem})
        return _join([evaluate(game, coalitions[i : i + 1]) for i in range(len(coalitions))])
    problems = {int(row): f"payoff is {values[row]}" for row in np.flatnonzero(~np.isfinite(values))}
    if outputs is not None:
        broken = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        problems |= {int(row): "an output is not a finite number" for row in broken if int(row) not in problems}
    return BatchResult(values, outputs, time.perf_counter() - began, problems)


def _ask(game: Game, coalitions: BoolArray) -> tuple[FloatArray, FloatArray | None]:
    count = len(coalitions)
    outputs: FloatArray | None = None
    if isinstance(game, Predicting):
        values, outputs = retrain(game, coalitions)
        if outputs.shape != (count, len(game.targets)):
            raise ValueError(f"outputs have shape {outputs.shape} for {count} coalitions and {len(game.targets)} targets")
    else:
        values = game.payoff(coalitions.copy())  # which it may change, and fail: each is then asked alone
    values = real_numbers(values, "payoff", BadPayoff, copy=True)
    if values.shape != (count,):
        raise ValueError(f"payoff of {count} coalitions has shape {values.shape}; one number each is needed")
    return values, outputs


def _join(parts: list[BatchResult]) -> BatchResult:
    values = np.concatenate([part.values for part in parts])
    known = [part.outputs for part in parts if part.outputs is not None]
    outputs = None
    if known:
        blank = np.full_like(known[0], np.nan)
        outputs = np.concatenate([blank if part.outputs is None else part.outputs for part in parts])
    problems = {row: part.problems[0] for row, part in enumerate(parts) if part.problems}
    return BatchResult(values, outputs, sum(part.seconds for part in parts), problems)


def evaluate_packed(game: Game, bits: npt.NDArray[np.uint8], limit: float | None = None) -> BatchResult:
    """`evaluate` for coalitions that travelled as bits. After `limit` seconds the process that evaluates ends."""
    with end_after(limit):
        return evaluate(game, unpack(bits, len(game.players)))


@contextmanager
def end_after(limit: float | None) -> Iterator[None]:
    """End this process if the block takes longer than `limit` seconds.

    Python's own watchdog does it: it needs no help from the interpreter, which a library that hangs may keep to itself.
    """
    if limit is None:
        yield
        return
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


class Crew(Protocol):
    """Workers that know the game."""

    width: int  # tasks that run at the same time
    limit: float | None  # seconds after which a worker that still has no payoff is ended
    least: int  # coalitions of a task, for a game that is the cheaper the more it is asked at once

    def start(self, game: Game) -> None: ...
    def submit(self, coalitions: BoolArray) -> Future[BatchResult]: ...
    def lost(self) -> Exception | None:
        """Why nothing under way will ever be done; None while it may be."""
        ...

    def rebuild(self) -> None:
        """Make the crew usable again after its workers have died."""
        ...

    def close(self) -> None: ...


class Serial:
    """One coalition batch after another, in this process; at least `least` coalitions in a batch, where there are so many."""

    width = 1
    limit: float | None = None

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def start(self, game: Game) -> None:
        self._game = game

    def submit(self, coalitions: BoolArray) -> Future[BatchResult]:
        future: Future[BatchResult] = Future()
        future.set_result(evaluate(self._game, coalitions))
        return future

    def lost(self) -> None:
        """This process does the work itself."""

    def rebuild(self) -> None:
        """Nothing to do: if this process dies, so does the caller."""

    def close(self) -> None:
        """Nothing to close."""


class Threads:
    """Threads of this process: for payoffs that wait or release the interpreter lock."""

    limit: float | None = None
    least = 1

    def __init__(self, workers: int | None = None) -> None:
        self.width = _check_workers(workers)

    def start(self, game: Game) -> None:
        self._game = game
        self._pool = ThreadPoolExecutor(self.width, thread_name_prefix="accredit")

    def submit(self, coalitions: BoolArray) -> Future[BatchResult]:
        return self._pool.submit(evaluate, self._game, coalitions)

    def lost(self) -> None:
        """Threads end with this process."""

    def rebuild(self) -> None:
        self.close()
        self.start(self._game)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@cache
def processes_can_run() -> bool:
    """Whether worker processes can share locks, for which Linux needs a /dev/shm that can be written."""
    try:
        get_context("spawn").Lock()
    except (OSError, ImportError):
        return False
    return True


def fresh_processes(
    workers: int | None, initializer: Callable[..., None] | None = None, initargs: tuple[object, ...] = ()
) -> ProcessPoolExecutor:
    """A pool of processes that are started afresh and never forked, so that threads and BLAS are safe. They end with this
    process, also when it is killed."""
    if not processes_can_run():
        raise ExecutorError(
            "worker processes cannot run here: their locks need a /dev/shm that can be written. Stay in this process: "
            "executor='serial', or workers=1",
            code="unavailable",
        )
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin, (initializer, initargs))


def _begin(initializer: Callable[..., None] | None, initargs: tuple[object, ...]) -> None:
    """The first thing that a worker process does: it would wait for work for ever after its parent was killed."""
    parent = parent_process()
    assert parent is not None
    _leave_with(parent.sentinel)
    if initializer is not None:
        initializer(*initargs)


def _leave_with(end: Connection | int) -> None:
    """End this process when `end` can be read: nothing is ever written there, so it has been closed, or its holder died."""
    threading.Thread(target=lambda: (wait([end]), os._exit(1)), daemon=True).start()


def submit_to(
    pool: ProcessPoolExecutor, function: Callable[..., object], *arguments: object, game: object = None
) -> Future[Any]:
    """Submit a task to a pool that hands `game` to each process it starts; BrokenProcessPool where its workers have died.

    A pool learns of a dead worker in a thread of its own. Until then it starts another process from what that thread is
    closing, which fails with whatever the system says, "handle is closed" for one. So it is not the error that tells whether
    the game cannot travel or the pool is dying, but the game.
    """
    try:
        return pool.submit(function, *arguments)
    except BrokenExecutor:
        raise
    except Exception as error:  # pickling may raise anything, and so may a pool that is being closed
        _check_can_travel(game)
        raise BrokenProcessPool(f"the pool could not start another process: {error}") from error


def _check_can_travel(game: object) -> None:
    try:
        ForkingPickler.dumps(game)
    except Exception as error:
        raise InvalidInput(
            f"the game cannot be sent to worker processes: {error}. Define its functions in a module that can be "
            "imported, or use executor='threads' or 'serial'",
            argument="game",
            code="unsupported",
        ) from None


_enlisted: list[Game] = []  # the game of a worker process


def _enlist(game: Game, lifeline: Connection) -> None:
    """Prepare a worker process: one thread, ignoring Ctrl-C (the parent decides), and ending when it is let go."""
    _enlisted[:] = [game]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_with(lifeline)
    one_thread_for_good()


def _evaluate_enlisted(bits: npt.NDArray[np.uint8], limit: float | None) -> BatchResult:
    return evaluate_packed(_enlisted[0], bits, limit)


class Processes:
    """Worker processes; each holds the game."""

    least = 1

    def __init__(self, workers: int | None = None, limit: float | None = None) -> None:
        self.width, self.limit = _check_workers(workers), limit

    def start(self, game: Game) -> None:
        self._game = game
        reader, self._lifeline = get_context("spawn").Pipe(duplex=False)
        self._pool = fresh_processes(self.width, initializer=_enlist, initargs=(game, reader))

    def submit(self, coalitions: BoolArray) -> Future[BatchResult]:
        return submit_to(self._pool, _evaluate_enlisted, pack(coalitions), self.limit, game=self._game)

    def lost(self) -> None:
        """A pool that is broken says so itself."""

    def rebuild(self) -> None:
        self.close()
        self.start(self._game)

    def close(self) -> None:
        self._lifeline.close()  # whatever still runs is given up at once: its coalitions are simply asked again
        self._pool.shutdown(wait=True, cancel_futures=True)


class Dask:
    """A Dask cluster: the one at `address`, or a local one started for the run."""

    least = 1

    def __init__(self, address: str | None = None, workers: int | None = None, limit: float | None = None) -> None:
        self._address, self._workers, self.limit = address, workers, limit
        self.width = 1

    def start(self, game: Game) -> None:
        with needs("cluster", "executor='dask'"):
            from distributed import Client, LocalCluster
        self._game = game
        with ExitStack() as opened:  # what was opened is closed again, should the start fail
            for name in [n for n in logging.root.manager.loggerDict if n.partition(".")[0] in TALKATIVE]:
                reports = logging.getLogger(name)  # some parts have a level of their own
                opened.callback(reports.setLevel, reports.level)
                reports.setLevel(logging.CRITICAL)  # what is lost is reported once, by us
            place = self._address
            if place is None:
                workers = _check_workers(self._workers)
                cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
                opened.callback(cluster.close)
                place = cluster
            try:
                self.client = Client(place, timeout=CONNECT_SECONDS)
            except (OSError, TimeoutError, ValueError) as error:
                raise ExecutorError(
                    f"no Dask scheduler answers at {self._address}: {error}. Start one with `dask scheduler`, "
                    "or write executor='dask' for a local cluster",
                    code="unavailable",
                ) from None
            opened.callback(self.client.close)
            self.rebuild()
            self._opened = opened.pop_all()

    def _enlist(self) -> None:
        threads = self.client.nthreads()
        if not threads:
            self.client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            threads = self.client.nthreads()
        self.width = max(1, sum(threads.values()))
        self._shared = self.client.scatter(self._game, broadcast=True, hash=False)
        self._executor = self.client.get_executor(pure=False)

    def submit(self, coalitions: BoolArray) -> Future[BatchResult]:
        future: Future[BatchResult] = self._executor.submit(evaluate_packed, self._shared, pack(coalitions), self.limit)
        return future

    def lost(self) -> Exception | None:
        """A client that has lost its scheduler gives up; futures that it held may never hear of it."""
        status = self.client.status
        return None if status in ("running", "connecting") else ConnectionError(f"the Dask client is {status}")

    def rebuild(self) -> None:
        """Hand the game out, also again: the workers that held it may be gone."""
        try:
            self._enlist()
        except (OSError, TimeoutError) as error:  # a closed connection is an OSError
            raise ExecutorError(
                f"the Dask cluster has no workers, or lost them: {' '.join(str(error).split())}; run again to resume",
                code="unavailable",
            ) from None
        except Exception as error:  # what a worker raises while it reads the game arrives as a plain exception
            raise ExecutorError(
                f"the Dask workers cannot read the game: {' '.join(str(error).split())[:300]}. Every worker needs the same "
                "packages and modules, in the same versions",
                code="unavailable",
            ) from None

    def close(self) -> None:
        self._opened.close()


class Given:
    """A user's own executor; the game travels with every task, and a broken executor cannot be rebuilt."""

    limit: float | None = None
    least = 1

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.width = getattr(executor, "_max_workers", None) or os.cpu_count() or 1

    def start(self, game: Game) -> None:
        self._game = game

    def submit(self, coalitions: BoolArray) -> Future[BatchResult]:
        return self._executor.submit(evaluate_packed, self._game, pack(coalitions))

    def lost(self) -> None:
        """Its owner knows."""

    def rebuild(self) -> None:
        raise ExecutorError(
            f"the workers of {type(self._executor).__name__} died, and only its owner can start them again; "
            "pass a new executor: what was evaluated is kept",
            code="failed",
        )

    def close(self) -> None:
        """The executor belongs to the caller."""


def crew_of(executor: str | Executor | Crew | None, limit: float | None = None) -> Crew:
    """A crew from a word: `serial`, `threads`, `processes`, `dask`, each with `:workers`, or `dask:tcp://host:port`;
    or from any object with `submit()`. None means `processes`, and `serial` where processes cannot share locks. `limit`
    is the longest that one payoff may take, in seconds; only a process can be ended when it is over.

    >>> crew_of("threads:3").width
    3
    """
    if limit is not None:
        _check_limit(limit)
    crew = executor if isinstance(executor, Serial | Threads | Processes | Dask | Given) else _make(executor, limit)
    if limit is not None and crew.limit != limit:
        raise InvalidInput(
            f"limit {limit:g} s needs workers that can be ended, and {type(crew).__name__.lower()} runs where nothing can; "
            "use executor='processes:2' or 'dask'",
            argument="limit",
            code="conflict",
        )
    return crew


def _check_limit(limit: float) -> None:
    if not (isinstance(limit, int | float) and np.isfinite(limit) and limit > 0):
        raise InvalidInput(f"limit must be a positive number of seconds or None, got {limit!r}", argument="limit", code="range")


def _make(executor: str | Executor | Crew | None, limit: float | None) -> Crew:
    if executor is None:
        return Processes(None, limit) if processes_can_run() else Serial()
    if not isinstance(executor, str):
        if isinstance(executor, Executor):
            return Given(executor)
        raise InvalidInput(
            f"executor is {a_type(executor)} without submit(); write for example 'processes:4'",
            argument="executor",
            code="type",
        )
    kind, _, detail = executor.partition(":")
    if kind == "dask" and detail and not detail.isdigit():
        return Dask(detail, None, limit)
    if detail and not detail.isdigit():
        raise InvalidInput(
            f"executor {executor!r}: {detail!r} is not a number of workers; write for example '{kind}:4'",
            argument="executor",
            code="unreadable",
        )
    workers = int(detail) if detail else None
    match kind:
        case "serial":
            return Serial()
        case "threads":
            return Threads(workers)
        case "processes":
            return Processes(workers, limit)
        case "dask":
            return Dask(None, workers, limit)
    raise InvalidInput(
        f"unknown executor {executor!r}; write serial, threads, processes, dask, threads:4, or dask:tcp://host:8786",
        argument="executor",
        code="unknown",
    )


def _check_workers(workers: int | None) -> int:
    if workers is None:
        return os.cpu_count() or 1
    if workers < 1:
        raise InvalidInput(f"workers must be at least 1, got {workers}", argument="workers", code="range")
    return workers
