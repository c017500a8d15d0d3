"""Training rows by distance from test rows: all of them, or the nearest few. Distances that rounding blurs are taken again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.valuation.split import Split

DISTANCES_HELD = 1 << 22  # distances held at once
PASS = 1 << 16  # training rows that are centred at a time
FEW_COLUMNS = 8  # up to which a tree finds neighbours faster than looking at every row does

Ties = dict[int, tuple[IntArray, IntArray]]  # test row of a chunk -> first place and size of every group at one distance


class Distances:
    """Squared distances, less what is the same for all training rows, and how far rounding may have moved them.

    ‖x‖² − 2zᵀx is one matrix product but loses digits that ‖x − z‖² keeps.
    """

    def __init__(self, data: Split) -> None:
        self.data = data
        self._centre = data.x.mean(axis=0)  # subtracting it changes no distance but keeps rounding small
        self._squares = np.concatenate([(part**2).sum(axis=1) for _, part in self._shift()])
        self.digits = 4 * (data.x.shape[1] + 2) * np.finfo(float).eps

    def _shift(self) -> Iterator[tuple[slice, FloatArray]]:
        """The training rows about their mean, some at a time: no second copy of a million rows is held."""
        for start in range(0, len(self.data), PASS):
            rows = slice(start, start + PASS)
            yield rows, self.data.x[rows] - self._centre

    def chunks(self, tests: IntArray) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """First of the test rows, distances (m, N), bound on their rounding (m,)."""
        rows = max(1, DISTANCES_HELD // len(self.data))
        for first in range(0, len(tests), rows):
            asked = self.data.test_x[tests[first : first + rows]] - self._centre
            found = np.empty((len(asked), len(self.data)))
            for part, near in self._shift():
                found[:, part] = self._squares[part] - 2 * asked @ near.T  # ‖z‖² is the same for all
            yield first, found, self.digits * (self._squares.max() + (asked**2).sum(axis=1))

    def again(self, test: int) -> tuple[IntArray, tuple[IntArray, IntArray]]:
        """Training rows by their distance to one test row, difference by difference, and the groups at one distance."""
        far = ((self.data.x - self.data.test_x[test]) ** 2).sum(axis=1)
        order = np.argsort(far, kind="stable")
        ranked = far[order]
        starts = np.flatnonzero(np.append(True, np.diff(ranked) > self.digits * ranked[1:]))
        return order, (starts, np.diff(np.append(starts, len(far))))


def all_by_distance(distances: Distances, tests: IntArray) -> Iterator[tuple[int, IntArray, Ties]]:
    """Training rows by distance from each test row, in chunks: (first of the tests, order (m, N), ties that matter).

    Where rounding could change which label comes first, the distances of that test row are computed again, and equal ones are
    found. Ties among rows of one label change nothing and are not listed.
    """
    y = distances.data.y
    for first, distance, rounding in distances.chunks(tests):
        order = np.argsort(distance, axis=1)
        gaps = np.diff(np.take_along_axis(distance, order, axis=1), axis=1)
        doubtful = ((gaps <= rounding[:, None]) & (np.diff(y[order], axis=1) != 0)).any(axis=1)
        ties: Ties = {}
        for row in np.flatnonzero(doubtful).tolist():
            order[row], ties[row] = distances.again(int(tests[first + row]))
        yield first, order, ties


def nearest_few(distances: Distances, tests: IntArray, reach: int) -> Iterator[tuple[int, IntArray, BoolArray]]:
    """The `reach` nearest training rows of each test row, in chunks: (first of the tests, order (m, reach), doubtful (m,)).

    Doubtful are the test rows at which rounding or a tie could change which label comes first, or which rows are among them.
    """
    data = distances.data
    if data.x.shape[1] <= FEW_COLUMNS:
        yield from _by_tree(distances, tests, reach)
        return
    for first, distance, rounding in distances.chunks(tests):
        some = np.argpartition(distance, reach - 1, axis=1)[:, :reach]
        inside = np.take_along_axis(distance, some, axis=1)
        ranks = np.argsort(inside, axis=1)
        order, inside = np.take_along_axis(some, ranks, axis=1), np.take_along_axis(inside, ranks, axis=1)
        labels = data.y[order]
        blurred = ((np.diff(inside, axis=1) <= rounding[:, None]) & (np.diff(labels, axis=1) != 0)).any(axis=1)
        for row in range(len(order)):  # rows beyond that rounding could bring in
            other = (distance[row] <= inside[row, -1] + rounding[row]) & (data.y != labels[row, -1])
            blurred[row] |= np.count_nonzero(other) > np.count_nonzero(labels[row] != labels[row, -1])
        yield first, order, blurred


def _by_tree(distances: Distances, tests: IntArray, reach: int) -> Iterator[tuple[int, IntArray, BoolArray]]:
    from scipy.spatial import KDTree

    data = distances.data
    tree = KDTree(data.x)
    rows = max(1, DISTANCES_HELD // (reach + 1))
    for first in range(0, len(tests), rows):
        far, order = tree.query(data.test_x[tests[first : first + rows]], reach + 1)
        close = np.diff(far**2, axis=1) <= distances.digits * far[:, 1:] ** 2
        apart = np.diff(data.y[order], axis=1) != 0
        apart[:, -1] = True  # of rows beyond nothing is known
        yield first, order[:, :reach], (close & apart).any(axis=1)
