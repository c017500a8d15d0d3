"""One thread: for the linear algebra of an estimate, for many small fits, for torch's sums, of a worker process for good.

The matrices of an estimate have tens to hundreds of rows. BLAS spreads even these over all cores, and its threads wait for
one another by spinning: beside another busy process a factorisation of 150 rows then takes a thousand times as long. On one
thread sums also come out in one order, so a seed gives the same digits on any number of cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threadpoolctl

# The limit belongs to the process: were two threads to set and lift it in turn, the second would restore the first one's.
_ALONE = RLock()


@cache
def _pools() -> threadpoolctl.ThreadpoolController:
    """The BLAS libraries of this process. Finding them takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS keeps to one thread within the block and is then as it was. Other threads that ask for the same wait."""
    with _ALONE, _pools().limit(limits=1):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Every native pool, BLAS and OpenMP, keeps to one thread: many small fits are faster so, and give the same digits on
    every machine. Libraries are looked for anew, because scikit-learn brings its own when it is imported."""
    from threadpoolctl import threadpool_limits

    with _ALONE, threadpool_limits(1):
        yield


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """torch keeps to one thread: sums come out in one order, so a row gives the same digits wherever it runs. Without torch,
    nothing."""
    try:
        import torch
    except ModuleNotFoundError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_thread_for_good() -> None:
    """Every pool of this process keeps to one thread from now on: a worker shares the machine with others like it."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
