r"""Nearest neighbours: the one learner whose Data Shapley values are known in closed form (Jia et al., 2019).

A coalition is judged at a test point z by its K nearest members: $v_z(S) = \frac1K \sum_{k \le \min(K,|S|)} 1[y_{(k)} = y_z]$,
averaged over test points. With training points sorted by distance to z, nearest first,

$$\phi_{(N)} = \frac{\min(K,N)}{N K}\,1[y_{(N)} = y_z], \qquad
  \phi_{(i)} = \phi_{(i+1)} + \frac{\min(K,i)}{i K}\,\big(1[y_{(i)} = y_z] - 1[y_{(i+1)} = y_z]\big).$$

Equal distances are ordered by label, then by row, so that equal rows are equal players.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from accredit.core import Attribution, BoolArray, Claim, FloatArray, Holds, IntArray, InvalidInput, Precision
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

CHUNK = 1 << 22  # distances held at once


class KNNUtility(Utility):
    """A game: players are training rows, the payoff is the share of right labels among the K nearest that play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[1.1]], [1])
    >>> KNNUtility(data, k=2).payoff(np.array([[True, False, False], [False, True, True], [False, True, False]]))
    array([0. , 1. , 0.5])
    """

    def __init__(self, data: Split, k: int = 5) -> None:
        self.data, self.k = data, _checked_k(data, k)

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and the share of right neighbours at each test point (batch, M)."""
        outputs = np.empty((len(coalitions), len(self.targets)))
        for first, order in _nearest(self.data):
            right = self.data.y[order] == self.data.test_y[first : first + len(order), None]  # (m, N)
            for row, coalition in enumerate(coalitions):
                outputs[row, first : first + len(order)] = _right_among(coalition, order, right, self.k) / self.k
        return outputs.mean(axis=1), outputs

    def fingerprint_parts(self) -> dict[str, Any]:
        return {"data": self.data, "model": f"nearest neighbours k={self.k}", "metric": "share of right neighbours"}


def _right_among(coalition: BoolArray, order: IntArray, right: BoolArray, k: int) -> IntArray:
    """How many of the K nearest that play are right, at each test point (m,); looks no farther than it must."""
    count = np.zeros(len(order), dtype=np.int64)
    unsettled, reach = np.arange(len(order)), 8 * k
    while len(unsettled):
        plays = coalition[order[unsettled, :reach]]
        nearest = plays & (np.cumsum(plays, axis=1) <= k)
        count[unsettled] = (nearest & right[unsettled, :reach]).sum(axis=1)
        unsettled = unsettled[plays.sum(axis=1) < k] if reach < order.shape[1] else unsettled[:0]
        reach *= 8
    return count


def knn_shapley(data: Split, k: int = 5) -> Attribution:
    """Exact Data Shapley values of every training row for a K-nearest-neighbour classifier.

    Costs M·N·(d + log N) for M test points: no retraining, no sampling error. The credits add up to the share of right
    labels among K neighbours when all rows play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[0.4]], [1])
    >>> knn_shapley(data, k=1).credit.round(4)
    array([-0.6667,  0.3333,  0.3333])
    """
    k, n = _checked_k(data, k), len(data)
    places = np.arange(1, n)
    steps = np.minimum(k, places) / (places * k)  # min(K, i)/(iK) for i = 1 … N−1
    credit = np.zeros(n)
    everybody = 0.0
    for first, order in _nearest(data):
        right = (data.y[order] == data.test_y[first : first + len(order), None]).astype(np.float64)  # (m, N)
        by_place = np.empty_like(right)
        by_place[:, -1] = right[:, -1] * (min(k, n) / (n * k))
        by_place[:, :-1] = (right[:, :-1] - right[:, 1:]) * steps
        by_place = np.cumsum(by_place[:, ::-1], axis=1)[:, ::-1]
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


def _nearest(data: Split) -> Iterator[tuple[int, IntArray]]:
    """Training rows by distance from each test point, in chunks: (first test row, order (m, N)).

    ‖x‖² − 2zᵀx is one matrix product but loses digits that ‖x − z‖² keeps. Where the loss could change which label comes
    first, the distances of that test point are computed again, difference by difference.
    """
    by_label = np.argsort(data.y, kind="stable")  # a stable sort of distances then settles ties by label, then by row
    x, labels = data.x[by_label], data.y[by_label]
    centre = x.mean(axis=0)  # subtracting it changes no distance but keeps rounding small
    near, tests = x - centre, data.test_x - centre
    squares = (near**2).sum(axis=1)
    rounding = 4 * (x.shape[1] + 2) * np.finfo(float).eps * (squares.max() + (tests**2).sum(axis=1))  # (M,) bound
    rows = max(1, CHUNK // len(data))
    for first in range(0, len(tests), rows):
        part = slice(first, first + rows)
        distance = squares - 2 * tests[part] @ near.T  # ‖z‖² is the same for all
        order = np.argsort(distance, axis=1)
        gaps = np.diff(np.take_along_axis(distance, order, axis=1), axis=1)
        doubtful = ((gaps <= rounding[part, None]) & (np.diff(labels[order], axis=1) != 0)).any(axis=1)
        if doubtful.any():
            from scipy.spatial.distance import cdist

            order[doubtful] = np.argsort(cdist(data.test_x[part][doubtful], x, "sqeuclidean"), axis=1, kind="stable")
        yield first, by_label[order]


def _checked_k(data: Split, k: int) -> int:
    if data.classes is None:
        raise InvalidInput("nearest neighbours value rows by their class; this split holds numbers: use RidgeUtility")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidInput(f"k must be a whole number of neighbours, at least 1, got {k!r}")
    return k
