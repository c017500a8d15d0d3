"""How many payoffs fit into one forward pass, and how long a run will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accredit.checks.numbers import real_number, whole_number
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import unique
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

MEMORY = 1 << 30  # bytes of activations that one forward pass may use
CACHE_TOKENS = 2048  # larger batches leave the CPU's caches and gain nothing
ROWS_PER_PASS = 1 << 14
TIMED_BATCHES = 3


class BatchedGame(Protocol):
    """A game whose payoffs come from forward passes of equal rows."""

    @property
    def players(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> int: ...
    def payoff(self, coalitions: BoolArray) -> FloatArray: ...


@dataclass(frozen=True)
class RunCost:
    """What a run will cost, from timed batches on this machine."""

    payoffs: int
    seconds: float
    rows: int  # payoffs in one forward pass

    def __str__(self) -> str:
        return f"about {self.payoffs} payoffs, {self.seconds:.3g} s ({self.rows} at a time)"


def estimate(game: BatchedGame, budget: int) -> RunCost:
    """Time a few full batches of random coalitions, and scale to `budget` payoffs."""
    whole_number(budget, "budget", example=100)
    n, rows = len(game.players), min(game.rows, budget)
    coalitions = np.random.default_rng(0).random((rows, n)) < 0.5
    game.payoff(coalitions)  # the first call also pays for allocations
    seconds, asked = [], len(unique(coalitions)[0])
    for _ in range(TIMED_BATCHES):
        began = time.perf_counter()
        game.payoff(coalitions)
        seconds.append(time.perf_counter() - began)
    return RunCost(budget, min(seconds) / asked * budget, rows)


def rows_that_fit(bytes_per_row: float, memory: float, tokens: int = 1, device: str = "cpu") -> int:
    """Rows of one forward pass: as many as `memory` holds, on a CPU no more than its caches use well; at least one.

    >>> rows_that_fit(2.0**20, memory=2.0**26), rows_that_fit(2.0**30, memory=2.0**26)
    (64, 1)
    """
    if not real_number(memory, "memory", 0, example=1e9) > 0:
        raise InvalidInput(
            f"memory is {memory!r}; give a positive number of bytes, for example memory=1e9", argument="memory", code="range"
        )
    most = CACHE_TOKENS // tokens if device == "cpu" else ROWS_PER_PASS
    return int(max(1, min(most, memory // max(bytes_per_row, 1.0))))


_REPORT: ContextVar[Callable[[int], None]] = ContextVar("report", default=lambda rows: None)


@contextmanager
def reporting(report: Callable[[int], None]) -> Iterator[None]:
    """Inside the block, `report` is called after every batch with the number of its rows."""
    before = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(before)


def report(rows: int) -> None:
    """Say that so many rows are done."""
    _REPORT.get()(rows)


def spans(count: int, rows: int) -> Iterator[slice]:
    """`count` rows cut into slices of `rows`; each is reported as done when the next is asked for.

    >>> [(s.start, s.stop) for s in spans(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        yield slice(start, stop)
        report(stop - start)


def spans_by_length(lengths: IntArray, tokens: int, even: bool = False) -> Iterator[IntArray]:
    """Rows of different length dealt into batches of similar (if `even`, equal) length, each of at most `tokens` padded
    tokens.

    >>> [batch.tolist() for batch in spans_by_length(np.array([5, 2, 4, 2]), 8)]
    [[1, 3], [2], [0]]
    >>> [batch.tolist() for batch in spans_by_length(np.array([2, 1, 2, 2]), 6, even=True)]
    [[1], [0, 2, 3]]
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= tokens:
            if even and lengths[order[stop]] != lengths[order[start]]:
                break
            stop += 1
        yield order[start:stop]
        report(stop - start)
        start = stop


def transformer_bytes(config: PreTrainedConfig, tokens: int, outputs: int, width: int) -> float:
    """Peak bytes of activations for one row of a transformer in inference, from its configuration.

    Counts the residual stream and its copies, the widest feed-forward layer, one layer of attention weights, and the
    output layer over `outputs` at every position when it is a vocabulary.
    """
    hidden = _widest(config, 512.0, "hidden_size", "hidden_sizes")
    inner = _widest(config, 4 * hidden, "intermediate_size", "d_ff")
    heads = _widest(config, 8.0, "num_attention_heads", "num_heads")
    return float(width * tokens * (8 * hidden + 2 * inner + heads * tokens + outputs))


def _widest(config: PreTrainedConfig, otherwise: float, *names: str) -> float:
    """A size from a configuration; of stages with different sizes, the largest."""
    for name in names:
        size = getattr(config, name, None)
        if size:
            return float(np.max(size))
    return otherwise
