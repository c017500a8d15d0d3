"""Where rows are run, of the arena or of a table: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from accredit.checks import needs
from accredit.errors import AccreditError, InvalidInput

Submit = Callable[..., Any]  # (function, *arguments) -> future


class WorkerLost(AccreditError):
    """A process that ran rows is gone; the rows it had finished are not."""

    usual = "failed"


@contextmanager
def workers(executor: str) -> Iterator[Submit | None]:
    """A `submit` function for the word given: `serial`, `processes`, `processes:4`, `dask`, `dask:tcp://host:8786`.

    None means: run the rows here, one after another. Worker processes are started afresh, so they share nothing with this
    one; each loads the model once.

    >>> with workers("serial") as submit:
    ...     submit is None
    True
    """
    kind, _, detail = executor.partition(":")
    if kind == "serial" and not detail:
        yield None
    elif kind == "processes" and (not detail or _is_count(detail)):
        with _processes(int(detail) if detail else None) as submit:
            yield submit
    elif kind == "dask" and (not detail or _is_count(detail) or ":" in detail):
        with _dask(detail) as submit:
            yield submit
    else:
        raise InvalidInput(
            f"unknown executor {executor!r}; write serial, processes, processes:4, dask or dask:tcp://host:8786",
            argument="executor",
            code="unknown",
        )


def _is_count(detail: str) -> bool:
    return detail.isdecimal() and int(detail) > 0


@contextmanager
def _processes(count: int | None) -> Iterator[Submit]:
    from concurrent.futures.process import BrokenProcessPool

    from accredit.store.executors import fresh_processes, submit_to

    try:
        with fresh_processes(count) as pool:
            yield partial(submit_to, pool)
    except BrokenProcessPool:
        raise WorkerLost(
            "a worker process ended before its row was done: it was killed, or memory ran out. With store=… the finished rows "
            "are kept: run the same command again, with fewer processes"
        ) from None


@contextmanager
def _dask(address: str) -> Iterator[Submit]:
    with needs("cluster", "executor='dask'"):
        from distributed import Client, KilledWorker
    local: dict[str, object] = {"threads_per_worker": 1, "dashboard_address": None}
    try:
        if ":" in address:
            client = Client(address, timeout=10)
        else:
            client = Client(n_workers=int(address), **local) if address else Client(**local)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"executor 'dask:{address}': no scheduler answers there: {error}", argument="executor", code="unavailable"
        ) from None
    try:
        yield client.get_executor(pure=False).submit
    except KilledWorker:
        raise WorkerLost(
            "workers of the Dask cluster ended again and again on one row: they were killed, or memory ran out. With store=… "
            "the finished rows are kept: run the same command again"
        ) from None
    finally:
        client.close()


LEASE_SECONDS = 60.0
RENEWALS = 4  # per lease: one that comes late, because the machine is busy, does no harm


def _machine() -> str:
    """This machine, and on Linux this container: only here does the number of a process mean anything."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"{platform.node()}/{namespace}"


def new_holder() -> str:
    """A name for a holder of leases in this process."""
    return f"{_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_lost(holder: str, until: float) -> bool:
    """Whether nobody works under this lease any more.

    >>> is_lost(new_holder(), until=time.time() + 60), is_lost(new_holder(), until=time.time() - 1)
    (False, True)
    """
    if until < time.time():
        return True
    machine, process, _ = holder.rsplit(":", 2)
    if machine != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, and belongs to somebody else
        return False
    return False


def held_by_others(rows: Sequence[tuple[int, str, float, bytes]], holder: str, key_bytes: int) -> set[bytes]:
    """The coalitions in leases (number, holder, until, keys one after another) of other holders that still work."""
    return {
        keys[start : start + key_bytes]
        for _, other, until, keys in rows
        if other != holder and not is_lost(other, until)
        for start in range(0, len(keys), key_bytes)
    }


class Renewal:
    """A thread that moves the expiry of a holder's leases on, through a connection of its own, which never makes a file."""

    def __init__(self, path: str | Path, holder: str) -> None:
        self._address, self._holder = f"{Path(path).absolute().as_uri()}?mode=rw", holder
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="accredit leases", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / RENEWALS):
            with (
                suppress(sqlite3.Error),
                closing(sqlite3.connect(self._address, timeout=LEASE_SECONDS / RENEWALS, uri=True)) as file,
                file,
            ):
                until = time.time() + LEASE_SECONDS
                file.execute("UPDATE leases SET until = ? WHERE holder = ?", (until, self._holder))

    def end(self) -> None:
        self._ended.set()
