"""What methods that make their own passes will take: said before they are begun, and refused where it is too long.

Methods that ask payoffs are told by how many they have asked (`stream`); these cannot be seen from outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from accredit.errors import InvalidInput

LONG = 5.0  # seconds from which a run is announced
METHOD_SECONDS = 60.0  # of CPU time, that one method of an answer may take by its forecast
LONGEST_SECONDS = 300.0  # the same for a method of which there is no shorter form
PRODUCTS_PER_LAYER = 40  # products of two (T, T) matrices that a layer of a flow takes, all steps together (benchmarks/flow.py)
BACKWARD_BYTES = 8 << 30  # that a backward pass may keep

Announce = Callable[[str], None]
_listener: ContextVar[Announce | None] = ContextVar("listener", default=None)


@contextmanager
def announcing(announce: Announce | None) -> Iterator[None]:
    """Within, forecasts of methods go to `announce`."""
    token = _listener.set(announce)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(what: str, seconds: float, most: float, instead: str, argument: str = "methods") -> None:
    """Say what a method will take, if that is long; refuse it where it is more than `most` seconds, with what to do instead.

    >>> announce("flow", 900, 300, "shorten the text")
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: flow would take about 900 s of CPU time here, and 300 s are allowed; shorten the text
    """
    if seconds > most:
        raise InvalidInput(
            f"{what} would take about {seconds:,.0f} s of CPU time here, and {most:g} s are allowed; {instead}",
            argument=argument,
            code="too-many",
        )
    listener = _listener.get()
    if listener is not None and seconds >= LONG:
        listener(f"{what}, about {seconds:.0f} s of CPU time")


def product_seconds(tokens: int) -> float:
    """CPU seconds of one product of two (T, T) matrices here, from a smaller one."""
    size = min(tokens, 256)
    one = np.random.default_rng(0).random((size, size))
    one @ one
    began = time.process_time()
    for _ in range(4):
        one @ one
    return max(time.process_time() - began, 1e-5) / 4 * (tokens / size) ** 3


def backward_bytes(layers: int, heads: int, width: int, inner: int, tokens: int, eager: bool) -> float:
    """Bytes that a pass keeps for its way back: of every layer some vectors per token and, by the eager kernel, its attention.
    SmolLM2-135M by AttnLRP at 1,000 tokens: 2.0 GB more than before were measured.

    >>> round(backward_bytes(30, 9, 576, 1536, 1000, eager=True) / 1e9, 1)
    2.2
    """
    return 4.0 * layers * tokens * (6 * width + 4 * inner + (heads * tokens if eager else 0))
