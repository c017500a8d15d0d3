r"""Nearest neighbours that predict a number: Data Shapley values in closed form.

A coalition is judged at a test point z by its K nearest members. A place that no member fills is filled by ȳ, the mean of all
training targets, so that the empty coalition predicts ȳ and credit is for more than learning the mean:

$$v_z(S) = -\Big(\sum_{l \in \text{top}_K(S)} a_l - T\Big)^2, \qquad a_l = \frac{y_l - \bar y}{K}, \quad T = y_z - \bar y.$$

Rows are numbered by distance, nearest first. Draw t uniformly from [0, 1] and let every other row play with chance t: that is
how a Shapley value meets coalitions. Rows i and i + 1 replace each other, if fewer than K nearer rows play, so

$$\phi_i - \phi_{i+1} = -(a_i - a_{i+1})\Big[(a_i + a_{i+1} - 2T)\frac{\min(K,i)}{i}
   + 2 q_i \sum_{l<i} a_l + 2 \sum_{l>i+1} r_l\,a_l\Big],$$

with $q_i = \frac{m(m+1)}{2i(i-1)}$, m = min(K, i) − 1: the chance that a given nearer row plays and leaves a place; and
$r_l = \frac{m(m+1)}{2(l-1)(l-2)}$, m = min(K − 1, l − 2): that a given farther row plays and is among the first K − 1. The
level follows from efficiency. Rows at the same distance are taken in the order in which they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Holds, IntArray, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.store import Executor
from accredit.valuation.certainty import over_test_rows
from accredit.valuation.knn_spread import spread_over_tests
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

NEIGHBOURS_HELD = 1 << 26  # places in orders that are held at once
ORDER = "rows at one distance are taken in the order in which they were given"


class KNNRegression(Utility):
    """A game: players are training rows, the payoff is minus the squared error of the K nearest that play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [5.0]], [1.0, 2.0, 6.0], [[0.9]], [2.0], regression=True)
    >>> KNNRegression(data, k=1).payoff(np.array([[False, False, False], [True, False, False], [True, True, False]]))
    array([-1., -1.,  0.])
    """

    metric = "neg_mean_squared_error"

    @check_arguments
    def __init__(self, data: Split, k: int = 5) -> None:
        self.data, self.k = data, check_k(data, k)

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and minus the squared error at each test point (batch, M)."""
        mean = float(self.data.y.mean())
        outputs = np.empty((len(coalitions), len(self.targets)))
        for test in range(len(self.data.test_y)):
            order = _order(self.data, test) if self._orders is None else self._orders[test]
            plays = coalitions[:, order]
            nearest = plays & (np.cumsum(plays, axis=1) <= self.k)
            predicted = mean + nearest @ (self.data.y[order] - mean) / self.k
            outputs[:, test] = -((predicted - self.data.test_y[test]) ** 2)
        return outputs.mean(axis=1), outputs

    @cached_property
    def _orders(self) -> IntArray | None:
        """Training rows by distance from every test row (M, N), sorted once; None where they cannot all be held."""
        tests = len(self.data.test_y)
        if tests * len(self.data) > NEIGHBOURS_HELD:
            return None
        return np.array([_order(self.data, test) for test in range(tests)], dtype=np.int32)

    def __getstate__(self) -> dict[str, object]:
        return {name: kept for name, kept in vars(self).items() if name != "_orders"}  # a worker sorts for itself

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray:
        return outputs

    def fingerprint_parts(self) -> dict[str, object]:
        return {
            "data": self.data,
            "model": f"nearest neighbours k={self.k}, missing ones the mean",
            "metric": self.metric,
        }


def value_rows(data: Split, k: int, executor: str | Executor | None, watch: Callable[[int], None] | None) -> Attribution:
    """Exact Shapley values of every training row in the game of `KNNRegression`.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [5.0]], [1.0, 2.0, 6.0], [[0.9]], [2.0], regression=True)
    >>> value_rows(data, 1, None, None).credit.round(4)
    array([ 2.5,  3.5, -5. ])
    """
    k = check_k(data, k)
    found = spread_over_tests(NumberNeighbours(data, k), executor, watch)
    why = f"closed form, exact for every test point; {ORDER}"
    exact = Attribution(
        data.names,
        found.credit,
        total=found.total,
        method=Procedure("knn-shapley", settings={"k": k}, closed_form=True),
        claims=tuple(Claim(a, Holds.EXACTLY, why) for a in ("efficiency", "symmetry", "null player", "linearity")),
        precision=Precision.exact(),
        baseline=-float(((data.test_y - data.y.mean()) ** 2).mean()),
        payoffs=0,
        stopped="closed form",
    )
    return over_test_rows(exact, found.stderr, found.tests, found.tests, unseen=found.unseen(float(found.largest.max())))


@dataclass(frozen=True, eq=False)
class NumberNeighbours:
    """What the neighbours of test rows earn, as `Judge` says; there was to share how much the squared error falls."""

    data: Split
    k: int

    def judge(self, tests: IntArray) -> tuple[FloatArray, float]:
        data, mean = self.data, float(self.data.y.mean())
        chances = _chances(self.k, len(data))
        credit, total = np.zeros((3, len(data))), 0.0
        for test in tests.tolist():
            order = _order(data, test)
            at, miss = (data.y[order] - mean) / self.k, float(data.test_y[test]) - mean
            earned = miss**2 - (at[: self.k].sum() - miss) ** 2
            by_place = _by_place(at, miss, earned, *chances)
            credit[:2, order] += [by_place, by_place**2]
            credit[2, order] = np.maximum(credit[2, order], np.abs(by_place))
            total += earned
        return credit, total


def _chances(k: int, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """min(K, i)/i and q for i = 1 … N − 1, and r for l = 1 … N (0 where l ≤ 2)."""
    i = np.arange(1, n, dtype=np.float64)
    m = np.minimum(k, i) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(i > 1, m * (m + 1) / (2 * i * (i - 1)), 0.0)
        far = np.arange(1, n + 1, dtype=np.float64)
        m = np.minimum(k - 1, far - 2)
        r = np.where(far > 2, m * (m + 1) / (2 * (far - 1) * (far - 2)), 0.0)
    return np.minimum(k, i) / i, q, r


def _by_place(at: FloatArray, miss: float, earned: float, first: FloatArray, q: FloatArray, r: FloatArray) -> FloatArray:
    """Credit by place for one test point: differences of neighbours in the order, and the level from efficiency."""
    nearer = np.concatenate([[0.0], np.cumsum(at)])[: len(at) - 1]  # Σ over l < i
    beyond = np.concatenate([np.cumsum((r * at)[::-1])[::-1], [0.0, 0.0]])[2 : len(at) + 1]  # Σ over l > i + 1
    steps = -(at[:-1] - at[1:]) * ((at[:-1] + at[1:] - 2 * miss) * first + 2 * q * nearer + 2 * beyond)
    above_last = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    return np.asarray(above_last + (earned - above_last.sum()) / len(at))


def _order(data: Split, test: int) -> IntArray:
    """Training rows by their distance to a test point."""
    return np.argsort(((data.x - data.test_x[test]) ** 2).sum(axis=1), kind="stable")


def check_k(data: Split, k: int) -> int:
    if data.classes is not None:
        raise InvalidInput("this split holds classes; use KNNUtility", argument="data", code="type")
    return whole_number(k, "k", example=5)
