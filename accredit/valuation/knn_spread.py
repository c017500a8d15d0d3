"""Test rows spread over workers: each block of them judges all training rows, and what they say is added up.

A block of test rows is a coalition of a game whose players are the test rows and whose targets are the training rows. So blocks
go where payoffs go, with all that an executor does about workers that are lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.store import Executor, durable
from accredit.valuation.split import Split

BLOCKS = 16  # whatever the executor, so that sums come out the same


class Judge(Protocol):
    """Something that knows what training rows earn at some test rows."""

    @property
    def data(self) -> Split: ...
    def judge(self, tests: IntArray) -> tuple[FloatArray, float]:
        """Credit and its squares (2, N), and what there was to share, all summed over the test rows given."""
        ...


@dataclass(frozen=True, eq=False)
class BlockGame:
    """The game of blocks: payoff and outputs of a coalition are what its test rows say, summed."""

    judge: Judge

    @property
    def players(self) -> tuple[str, ...]:
        return self.judge.data.targets

    @property
    def targets(self) -> tuple[str, ...]:
        names = self.judge.data.names
        return (*names, *(f"square of {name}" for name in names))

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        found = [self.judge.judge(np.flatnonzero(tests)) for tests in coalitions]
        return np.array([total for _, total in found]), np.array([credit.ravel() for credit, _ in found])


def spread_over_tests(
    judge: Judge, executor: str | Executor | None, watch: Callable[[int], None] | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """Credit (N,), its standard error over test rows (N,), and what there was to share, averaged over all test rows."""
    tests = len(judge.data.test_x)
    blocks = np.zeros((min(BLOCKS, tests), tests), dtype=bool)
    for block, rows in zip(blocks, np.array_split(np.arange(tests), len(blocks)), strict=True):
        block[rows] = True
    told = None if watch is None else lambda done: watch(done * tests // len(blocks))
    with durable(BlockGame(judge), executor=executor, name={"game": "blocks of test rows"}, watch=told) as game:
        totals, found = game.retrain(blocks)
    credit, squares = (found.sum(axis=0) / tests).reshape(2, -1)
    stderr = np.sqrt(np.maximum(squares - credit**2, 0.0) / max(tests - 1, 1))
    return credit, stderr, float(totals.sum()) / tests
