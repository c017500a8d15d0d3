"""Where rows of the arena are run: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from accredit.core import InvalidInput, MissingExtra

Submit = Callable[..., Any]  # (function, *arguments) -> future


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
    elif kind == "processes" and (not detail or (detail.isdigit() and int(detail) > 0)):
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(int(detail) if detail else None, mp_context=get_context("spawn")) as pool:
            yield pool.submit
    elif kind == "dask":
        with _dask(detail) as submit:
            yield submit
    else:
        raise InvalidInput(
            f"unknown executor {executor!r}; write serial, processes, processes:4, dask or dask:tcp://host:8786"
        )


@contextmanager
def _dask(address: str) -> Iterator[Submit]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("distributed", "cluster", "executor='dask'") from None
    local: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
    if address and not address.isdigit():
        client = Client(address, timeout=10)
    else:
        client = Client(n_workers=int(address), **local) if address else Client(**local)
    try:
        yield client.get_executor(pure=False).submit
    finally:
        client.close()
