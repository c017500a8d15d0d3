"""Where rows are run, of the arena or of a table: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
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
