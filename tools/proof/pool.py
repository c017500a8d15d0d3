"""Cells tried in worker processes: one that hangs or dies is named, and the rest go on."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

MEMORY = 12 << 30  # bytes of address space: a cell that asks for more has no business doing so


def _work(task: Callable[[Any], Any], pipe: Connection, other_end: Connection) -> None:
    """Try what comes down the pipe until it ends; the terminal is nobody's."""
    other_end.close()  # a copy made by forking, beside which the pipe would outlive its owner
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(task(item))
        except MemoryError as error:
            pipe.send(error)


class Worker:
    """One process, started again after a hang."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self._task = task
        self._start()

    def _start(self) -> None:
        fork = multiprocessing.get_context("fork")
        self._pipe, theirs = fork.Pipe()
        self._process = fork.Process(target=_work, args=(self._task, theirs, self._pipe), daemon=True)
        self._process.start()
        theirs.close()

    def tried(self, item: Any, seconds: float) -> Any:
        """The task's answer; "hang" past the limit, "died" where the process ended."""
        try:
            self._pipe.send(item)
            if self._pipe.poll(seconds):
                return self._pipe.recv()
            ended = "hang"
        except (EOFError, BrokenPipeError, ConnectionResetError):
            ended = "died"
        self.stop()
        self._start()
        return ended

    def stop(self) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()


def all_tried(
    items: Sequence[Any], task: Callable[[Any], Any], seconds: float, each: Callable[[int, int], None]
) -> Iterator[tuple[Any, Any, float]]:
    """Every item with its answer and the seconds it took, in order."""
    worker = Worker(task)
    try:
        for k, item in enumerate(items):
            began = time.monotonic()
            yield item, worker.tried(item, seconds), time.monotonic() - began
            each(k + 1, len(items))
    finally:
        worker.stop()
