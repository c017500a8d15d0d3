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
        """(3, N): credit and its squares, summed over the test rows given, and the largest of them in size; and what there was
        to share, summed."""
        ...


@dataclass(frozen=True, eq=False)
class Judgement:
    """What all test rows together say of the training rows."""

    credit: FloatArray  # (N,): the mean over test rows
    stderr: FloatArray  # (N,): of that mean
    largest: FloatArray  # (N,): what a single test row says at most, in size
    total: float  # what there was to share, on average
    tests: int

    def unseen(self, most: float) -> FloatArray:
        """How far test rows that were not drawn may move a credit, (N,): one in M may be nearer to a row than all that were.

        A row earns about 1/place, and places near it are as likely as each other, so that what it misses is, in the mean, what
        it earned at its nearest test row, once more for every e-fold up to the `most` that a row can earn.
        """
        size = np.where(self.largest > 0, self.largest, max(most, 1.0))
        return np.asarray(self.largest * (1 + np.log(np.maximum(most / size, 1.0))) / self.tests)


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
        return tuple(f"{what} of {name}" for what in ("sum", "squares", "largest") for name in names)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        found = [self.judge.judge(np.flatnonzero(tests)) for tests in coalitions]
        return np.array([total for _, total in found]), np.array([credit.ravel() for credit, _ in found])


def spread_over_tests(judge: Judge, executor: str | Executor | None, watch: Callable[[int], None] | None = None) -> Judgement:
    """What all test rows say."""
    tests = len(judge.data.test_x)
    blocks = np.zeros((min(BLOCKS, tests), tests), dtype=bool)
    for block, rows in zip(blocks, np.array_split(np.arange(tests), len(blocks)), strict=True):
        block[rows] = True
    told = None if watch is None else lambda done: watch(done * tests // len(blocks))
    with durable(BlockGame(judge), executor=executor, name={"game": "blocks of test rows"}, watch=told) as game:
        totals, found = game.retrain(blocks)
    by_block = found.reshape(len(blocks), 3, -1)
    credit, squares = by_block[:, :2].sum(axis=0) / tests
    stderr = np.sqrt(np.maximum(squares - credit**2, 0.0) / max(tests - 1, 1))
    return Judgement(credit, stderr, by_block[:, 2].max(axis=0), float(totals.sum()) / tests, tests)
