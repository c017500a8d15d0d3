r"""Ridge regression in closed form, for many subsets of the training rows at once.

$$w_S = \Big(\sum_{i \in S} x_i x_i^\top + \lambda I\Big)^{-1} \sum_{i \in S} x_i t_i$$

with t the target less the mean of all training targets, which is added to every answer; or for classes one ±1 column per class,
the highest answer winning. A constant feature is appended and penalised like the others, so that S = ∅ is defined: it predicts
the mean, and credit is for more than learning it; of classes it prefers none.
"""

from __future__ import annotations

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.valuation.scores import margins, score_named, score_tests
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

NUMBERS_PER_CHUNK = 1 << 22  # numbers held by one chunk of coalitions


class RidgeUtility(Utility):
    """A game: players are training rows, the payoff is the test score of ridge trained on them.

    Costs N·d² + d³ operations per coalition, d being at most the number of rows (more columns are rotated away). Every
    coalition is multiplied and solved by itself, so its payoff does not depend on the batch.

    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0]], [0, 1], [[-2.0], [2.0], [1.0]], [0, 1, 1])
    >>> RidgeUtility(data, l2=0.1).payoff(np.array([[False, False], [True, True]]))
    array([0.5, 1. ])
    """

    @check_arguments
    def __init__(self, data: Split, l2: float = 1.0, metric: str | None = None) -> None:
        if not l2 > 0:
            raise InvalidInput(
                f"l2 must be positive, got {l2!r}; small subsets have no unique fit otherwise", argument="l2", code="range"
            )
        self.data, self.l2 = data, float(l2)
        self.metric, self._score = score_named(metric, data)
        self._x, self._test_x = _rotate(*(np.hstack([a, np.ones((len(a), 1))]) for a in (data.x, data.test_x)))
        self._mean = float(data.y.mean()) if data.classes is None else 0.0
        self._t = _codes(data) - self._mean  # (N, C)

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and margins (batch, M)."""
        rows = max(1, NUMBERS_PER_CHUNK // self._x.size)
        chunks = [self._chunk(coalitions[i : i + rows]) for i in range(0, len(coalitions), rows)]
        if not chunks:
            return np.zeros(0), np.zeros((0, len(self.targets)))
        return np.concatenate([c[0] for c in chunks]), np.concatenate([c[1] for c in chunks])

    def _chunk(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        kept = self._x.T * coalitions[:, None, :]  # (batch, d, N)
        grams = kept @ self._x + self.l2 * np.eye(self._x.shape[1])  # (batch, d, d)
        weights = np.linalg.solve(grams, kept @ self._t)  # (batch, d, C)
        answers = self._test_x @ weights + self._mean  # (batch, M, C)
        return self._score(answers, self.data.test_y), margins(answers, self.data)

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray | None:
        return score_tests(self.metric, payoffs, outputs, self.data)

    def fingerprint_parts(self) -> dict[str, object]:
        return {"data": self.data, "model": f"ridge l2={self.l2!r} about the mean", "metric": self.metric}


def _codes(data: Split) -> FloatArray:
    """Targets as columns: the numbers themselves, or one ±1 column per class."""
    if data.classes is None:
        return np.asarray(data.y, dtype=np.float64)[:, None]
    return np.where(data.y[:, None] == np.arange(len(data.classes)), 1.0, -1.0)


def _rotate(x: FloatArray, test_x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates in the span of the training rows: ridge weights lie in it, so the answers are the same."""
    if x.shape[1] <= x.shape[0]:
        return x, test_x
    axes = np.linalg.svd(x, full_matrices=False)[2].T  # (d, N)
    return x @ axes, test_x @ axes
