"""One thread for the linear algebra of an estimate.

The matrices of an estimate have tens to hundreds of rows. BLAS spreads even these over all cores, and its threads wait for
one another by spinning: with as many busy processes as cores a factorisation of 150 rows then takes half a second instead of
a tenth of a millisecond. On one thread sums also come out in one order, so a seed gives the same digits on any number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


class _Held:
    """Who is inside: the first to come sets the limit, the last to leave lifts it, whatever the order of the others."""

    lock = Lock()
    inside = 0
    limit: Any = None


@cache
def _pools() -> Any:
    """The BLAS libraries of this process. Finding them takes a millisecond, so it is done once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS keeps to one thread within the block, in every thread of this process, and is then as it was."""
    with _Held.lock:
        if _Held.inside == 0:
            _Held.limit = _pools().limit(limits=1)
        _Held.inside += 1
    try:
        yield
    finally:
        with _Held.lock:
            _Held.inside -= 1
            if _Held.inside == 0:
                _Held.limit.restore_original_limits()
