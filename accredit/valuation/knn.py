r"""Nearest neighbours: the one learner whose Data Shapley values are known in closed form (Jia et al., 2019).

A coalition is judged at a test point z by its K nearest members: $v_z(S) = \frac1K \sum_{k \le \min(K,|S|)} 1[y_{(k)} = y_z]$,
averaged over test points. With training points sorted by distance to z, nearest first,

$$\phi_{(N)} = \frac{\min(K,N)}{N K}\,1[y_{(N)} = y_z], \qquad
  \phi_{(i)} = \phi_{(i+1)} + \frac{\min(K,i)}{i K}\,\big(1[y_{(i)} = y_z] - 1[y_{(i+1)} = y_z]\big).$$

Rows that are equally far from z have no order of their own. The payoff is then the mean over all orders of the tied rows, so
that it depends on the data alone, not on the names of classes or the order of the file. By linearity the Shapley value is that
mean too: in a tie of t rows at places a … b, of which a share m is right, with weights $w_i = \min(K,i)/(iK)$ and their mean w̄,

$$\phi = \phi^m_{(b)} + (1[y = y_z] - m)\,\Big(w_b + (\bar w - w_b)\,\frac{t}{t-1}\Big),$$

where $\phi^m$ is the recursion above with m in place of every tied row's 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Holds,
    IntArray,
    InvalidInput,
    Precision,
    whole_number,
)
from accredit.core.arguments import checked_arguments
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

CHUNK = 1 << 22  # distances held at once

Ties = dict[
    int, tuple[IntArray, IntArray]
]  # test row of a chunk -> first place and size of every group at one distance


class KNNUtility(Utility):
    """A game: players are training rows, the payoff is the share of right labels among the K nearest that play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[1.1]], [1])
    >>> KNNUtility(data, k=2).payoff(np.array([[True, False, False], [False, True, True], [False, True, False]]))
    array([0. , 1. , 0.5])
    """

    @checked_arguments
    def __init__(self, data: Split, k: int = 5) -> None:
        self.data, self.k = data, _checked_k(data, k)

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and the share of right neighbours at each test point (batch, M)."""
        outputs = np.empty((len(coalitions), len(self.targets)))
        for first, order, ties in _nearest(self.data):
            part = slice(first, first + len(order))
            right = self.data.y[order] == self.data.test_y[part, None]  # (m, N)
            for row, coalition in enumerate(coalitions):
                outputs[row, part] = _right_among(coalition, order, right, self.k, ties) / self.k
        return outputs.mean(axis=1), outputs

    def fingerprint_parts(self) -> dict[str, Any]:
        return {"data": self.data, "model": f"nearest neighbours k={self.k}", "metric": "share of right neighbours"}


def _right_among(coalition: BoolArray, order: IntArray, right: BoolArray, k: int, ties: Ties) -> FloatArray:
    """How many of the K nearest that play are right, at each test point (m,); looks no farther than it must.

    Where only some of a tie find a place among the K nearest, each of its members has the same part of a place.
    """
    count = np.zeros(len(order))
    unsettled, reach = np.setdiff1d(np.arange(len(order)), np.fromiter(ties, np.int64)), 8 * k
    while len(unsettled):
        plays = coalition[order[unsettled, :reach]]
        nearest = plays & (np.cumsum(plays, axis=1) <= k)
        count[unsettled] = (nearest & right[unsettled, :reach]).sum(axis=1)
        unsettled = unsettled[plays.sum(axis=1) < k] if reach < order.shape[1] else unsettled[:0]
        reach *= 8
    for row, (starts, sizes) in ties.items():
        plays = coalition[order[row]]
        here = np.add.reduceat(plays, starts, dtype=np.int64)
        room = np.clip(k - (np.cumsum(here) - here), 0, here) / np.maximum(here, 1)  # a member's part of a place
        count[row] = (np.repeat(room, sizes) * (plays & right[row])).sum()
    return count


@checked_arguments
def knn_shapley(data: Split, k: int = 5) -> Attribution:
    """Exact Data Shapley values of every training row for a K-nearest-neighbour classifier.

    Costs M·N·(d + log N) for M test points: no retraining, no sampling error. The credits add up to the share of right
    labels among K neighbours when all rows play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[0.4]], [1])
    >>> knn_shapley(data, k=1).credit.round(4)
    array([-0.6667,  0.3333,  0.3333])
    >>> knn_shapley(split([[0.0], [0.0]], ["a", "b"], [[0.0]], ["a"]), k=1).credit  # a tie: the mean over both orders
    array([ 0.75, -0.25])
    """
    k, n = _checked_k(data, k), len(data)
    weights = np.minimum(k, np.arange(1, n + 1)) / (np.arange(1, n + 1) * k)  # min(K, i)/(iK) for i = 1 … N
    credit = np.zeros(n)
    everybody = 0.0
    for first, order, ties in _nearest(data):
        right = (data.y[order] == data.test_y[first : first + len(order), None]).astype(np.float64)  # (m, N)
        apart = {row: _within_tie(right[row], weights, *tie) for row, tie in ties.items()}
        for row, (starts, sizes) in ties.items():
            right[row] = np.repeat(np.add.reduceat(right[row], starts) / sizes, sizes)
        by_place = right * weights
        by_place[:, :-1] -= right[:, 1:] * weights[:-1]
        by_place = np.cumsum(by_place[:, ::-1], axis=1)[:, ::-1]
        for row, differences in apart.items():
            by_place[row] += differences
        credit += np.bincount(order.ravel(), weights=by_place.ravel(), minlength=n)
        everybody += right[:, :k].sum() / k
    tests = len(data.test_x)
    why = "the closed form of Jia et al. (2019), exact for every test point"
    return Attribution(
        data.names,
        credit / tests,
        total=everybody / tests,
        method=f"knn-shapley(k={k})",
        claims=tuple(
            Claim(axiom, Holds.EXACTLY, why) for axiom in ("efficiency", "symmetry", "null player", "linearity")
        ),
        precision=Precision.exact(),
        baseline=0.0,
        payoffs=0,
        stopped="closed form",
    )


def _within_tie(right: FloatArray, weights: FloatArray, starts: IntArray, sizes: IntArray) -> FloatArray:
    """What a row earns beside the mean of its tie, by place: (N,); zero for rows that are alone at their distance."""
    share = np.repeat(np.add.reduceat(right, starts) / sizes, sizes)
    last = weights[starts + sizes - 1]
    spread = (np.add.reduceat(weights, starts) / sizes - last) * sizes / np.maximum(sizes - 1, 1)
    return np.asarray((right - share) * np.repeat(last + spread, sizes))


def _nearest(data: Split) -> Iterator[tuple[int, IntArray, Ties]]:
    """Training rows by distance from each test point, in chunks: (first test row, order (m, N), ties that matter).

    ‖x‖² − 2zᵀx is one matrix product but loses digits that ‖x − z‖² keeps. Where the loss could change which label comes
    first, the distances of that test point are computed again, difference by difference, and equal ones are found. Ties
    among rows of one label change nothing and are not listed.
    """
    centre = data.x.mean(axis=0)  # subtracting it changes no distance but keeps rounding small
    near, tests = data.x - centre, data.test_x - centre
    squares = (near**2).sum(axis=1)
    digits = 4 * (data.x.shape[1] + 2) * np.finfo(float).eps
    rounding = digits * (squares.max() + (tests**2).sum(axis=1))  # (M,) bound
    rows = max(1, CHUNK // len(data))
    for first in range(0, len(tests), rows):
        part = slice(first, first + rows)
        distance = squares - 2 * tests[part] @ near.T  # ‖z‖² is the same for all
        order = np.argsort(distance, axis=1)
        gaps = np.diff(np.take_along_axis(distance, order, axis=1), axis=1)
        doubtful = ((gaps <= rounding[part, None]) & (np.diff(data.y[order], axis=1) != 0)).any(axis=1)
        ties: Ties = {}
        for row in np.flatnonzero(doubtful).tolist():
            again = ((data.x - data.test_x[first + row]) ** 2).sum(axis=1)
            order[row] = np.argsort(again, kind="stable")
            ranked = again[order[row]]
            starts = np.flatnonzero(np.append(True, np.diff(ranked) > digits * ranked[1:]))
            ties[row] = (starts, np.diff(np.append(starts, len(data))))
        yield first, order, ties


def _checked_k(data: Split, k: int) -> int:
    if data.classes is None:
        raise InvalidInput("this split holds numbers, not classes; use KNNRegression and knn_regression_shapley")
    return whole_number(k, "k", example=5)
