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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Holds, IntArray, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.store import Executor
from accredit.valuation.certainty import over_test_rows
from accredit.valuation.knn_numbers import NEIGHBOURS_HELD, value_rows
from accredit.valuation.knn_spread import spread_over_tests
from accredit.valuation.split import Split
from accredit.valuation.utility import Utility

# Training rows by distance from test rows: all of them, or the nearest few. Distances that rounding blurs are taken again.

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


class KNNUtility(Utility):
    """A game: players are training rows, the payoff is the share of right labels among the K nearest that play.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[1.1]], [1])
    >>> KNNUtility(data, k=2).payoff(np.array([[True, False, False], [False, True, True], [False, True, False]]))
    array([0. , 1. , 0.5])
    """

    @check_arguments
    def __init__(self, data: Split, k: int = 5) -> None:
        self.data, self.k = data, _check_k(data, k)
        self._sorted: list[tuple[int, IntArray, BoolArray, Ties]] | None = None

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and the share of right neighbours at each test point (batch, M)."""
        outputs = np.empty((len(coalitions), len(self.targets)))
        for first, order, right, ties in self._neighbours():
            part = slice(first, first + len(order))
            for row, coalition in enumerate(coalitions):
                outputs[row, part] = _right_among(coalition, order, right, self.k, ties) / self.k
        return outputs.mean(axis=1), outputs

    def _neighbours(self) -> Iterable[tuple[int, IntArray, BoolArray, Ties]]:
        """For some test rows at a time: the first, training rows by distance (m, N), who of them is right (m, N), and ties.

        They are sorted once, where their order can be held.
        """
        if self._sorted is not None:
            return self._sorted
        found = self._sort()
        if len(self.targets) * len(self.data) > NEIGHBOURS_HELD:
            return found
        self._sorted = list(found)
        return self._sorted

    def _sort(self) -> Iterator[tuple[int, IntArray, BoolArray, Ties]]:
        for first, order, ties in all_by_distance(Distances(self.data), np.arange(len(self.targets))):
            right = self.data.y[order] == self.data.test_y[first : first + len(order), None]
            yield first, order.astype(np.int32), right, ties

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_sorted": None}  # a worker sorts for itself: that is less than to send it

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray:
        return outputs

    def fingerprint_parts(self) -> dict[str, object]:
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


@check_arguments
def knn_shapley(
    data: Split,
    k: int = 5,
    *,
    within: float | None = None,
    executor: str | Executor | None = "serial",
    watch: Callable[[int], None] | None = None,
) -> Attribution:
    """Exact Data Shapley values of every training row for K nearest neighbours, of classes or of numbers.

    Costs M·N·(d + log N) for M test points: no retraining, and exact for these test points. The interval says how far others
    would move a value; it takes 30 of them. For classes the credits add up to the share of right labels among K neighbours when
    all rows play; for numbers, to how much the squared error falls, from predicting the mean of all training targets to asking
    the K nearest of all rows. `within`, for classes, asks for less: every credit is at most that far from the exact one, and
    only max(K, 1/within) neighbours of each test point are sorted. `executor` spreads the test points over threads, worker
    processes or a cluster; `watch` is called with the number of test points done so far.

    >>> from accredit.valuation import split
    >>> data = split([[0.0], [1.0], [2.0]], [0, 1, 1], [[0.4]], [1])
    >>> knn_shapley(data, k=1).credit.round(4)
    array([-0.6667,  0.3333,  0.3333])
    >>> knn_shapley(split([[0.0], [0.0]], ["a", "b"], [[0.0]], ["a"]), k=1).credit  # a tie: the mean over both orders
    array([ 0.75, -0.25])
    >>> numbers = split([[0.0], [1.0], [5.0]], [1.0, 2.0, 6.0], [[0.9]], [2.0], regression=True)
    >>> knn_shapley(numbers, k=1).credit.round(4)
    array([ 2.5,  3.5, -5. ])
    """
    if data.classes is None:
        if within is not None:
            raise InvalidInput(
                f"within is {within!r}, and this split holds numbers: squared errors have no bound; leave it out",
                argument="within",
                code="conflict",
            )
        return value_rows(data, k, executor, watch)
    k = _check_k(data, k)
    reach = _reach(within, k, len(data))
    found = spread_over_tests(Neighbours(data, k, reach), executor, watch)
    credit = found.credit
    exact = Attribution(
        data.names,
        credit,
        total=found.total,
        method=Procedure("knn-shapley", settings={"k": k}, closed_form=True),
        claims=_exact_claims(),
        baseline=0.0,
        payoffs=0,
        precision=Precision.exact(),
        stopped="closed form",
    )
    judged = over_test_rows(exact, found.stderr, found.tests, found.tests, unseen=found.unseen(1 / k))
    if reach is None:
        return judged
    bound = 1 / reach
    ends = np.column_stack([credit, credit]) if judged.interval is None else judged.interval
    further = "" if judged.interval is None else f"; and {judged.interval_because}"
    return replace(
        judged,
        method=Procedure("knn-shapley", settings={"k": k, "within": bound}, closed_form=False),
        claims=_claims_within(reach),
        precision=Precision.interval(
            f"a bound that always holds: rows beyond the {reach} nearest earn at most 1/{reach}{further}"
        ),
        interval=ends + np.array([-bound, bound]),
        stopped=f"the {reach} nearest rows of each test row",
    )


def _exact_claims() -> tuple[Claim, ...]:
    why = "the closed form of Jia et al. (2019), exact for every test point"
    return tuple(Claim(axiom, Holds.EXACTLY, why) for axiom in ("efficiency", "symmetry", "null player", "linearity"))


def _claims_within(reach: int) -> tuple[Claim, ...]:
    why = f"every credit is within 1/{reach} of the closed form of Jia et al. (2019), and equal to it with all rows in reach"
    return (
        Claim("efficiency", Holds.IN_THE_LIMIT, why),
        Claim("symmetry", Holds.EXACTLY, "equal rows are equally far from every test point"),
        Claim("null player", Holds.IN_THE_LIMIT, why),
        Claim("linearity", Holds.IN_THE_LIMIT, why),
    )


def _reach(within: float | None, k: int, rows: int) -> int | None:
    """How many neighbours of each test point are looked at; None: all of them.

    The row at place i matters only if fewer than K of the i − 1 nearer rows came before it, and then by at most 1/K: its credit
    is at most 1/i for i ≥ K. To call the row at place R and all beyond it worthless moves every credit by at most 1/R.
    """
    if within is None:
        return None
    if isinstance(within, bool) or not isinstance(within, int | float) or not 0 < within < 1:
        raise InvalidInput(
            f"within must lie between 0 and 1, got {within!r}; credits are shares of right neighbours, 0.001 is usual",
            argument="within",
            code="range",
        )
    reach = max(k, ceil(min(1 / within, rows)))
    return reach if reach < rows else None


@dataclass(frozen=True, eq=False)
class Neighbours:
    """What the neighbours of test rows earn, summed over these: sums, squares, largest (3, N), and the share of right ones."""

    data: Split
    k: int
    reach: int | None  # neighbours that are looked at; None: all

    @cached_property
    def _distances(self) -> Distances:
        return Distances(self.data)

    def judge(self, tests: IntArray) -> tuple[FloatArray, float]:
        if self.reach is None:
            return self._all(tests)
        weights, credit, everybody = _weights(self.k, self.reach), np.zeros((3, len(self.data))), 0.0
        for first, order, doubtful in nearest_few(self._distances, tests, self.reach):
            here = tests[first : first + len(order)]
            clear = order[~doubtful]
            right = self._right(here[~doubtful], clear)
            by_place = np.zeros_like(right)
            steps = (right[:, :-1] - right[:, 1:]) * weights[:-1]
            by_place[:, :-1] = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
            _gather(credit, clear, by_place)
            everybody += right[:, : self.k].sum() / self.k
            again, shares = self._all(here[doubtful])
            credit[:2] += again[:2]
            np.maximum(credit[2], again[2], out=credit[2])
            everybody += shares
        return credit, everybody

    def _right(self, tests: IntArray, order: IntArray) -> FloatArray:
        return np.asarray(self.data.y[order] == self.data.test_y[tests, None], dtype=np.float64)

    def _all(self, tests: IntArray) -> tuple[FloatArray, float]:
        n = len(self.data)
        weights, credit, everybody = _weights(self.k, n), np.zeros((3, n)), 0.0
        for first, order, ties in all_by_distance(self._distances, tests):
            right = self._right(tests[first : first + len(order)], order)  # (m, N)
            apart = {row: _within_tie(right[row], weights, *tie) for row, tie in ties.items()}
            for row, (starts, sizes) in ties.items():
                right[row] = np.repeat(np.add.reduceat(right[row], starts) / sizes, sizes)
            by_place = right * weights
            by_place[:, :-1] -= right[:, 1:] * weights[:-1]
            by_place = np.cumsum(by_place[:, ::-1], axis=1)[:, ::-1]
            for row, differences in apart.items():
                by_place[row] += differences
            _gather(credit, order, by_place)
            everybody += right[:, : self.k].sum() / self.k
        return credit, everybody


def _gather(found: FloatArray, order: IntArray, by_place: FloatArray) -> None:
    """Add what training rows earn at some test rows, and its square, and keep the largest: (m, places) into (3, N)."""
    who = order.ravel()
    for power in (1, 2):
        found[power - 1] += np.bincount(who, weights=(by_place**power).ravel(), minlength=found.shape[1])
    np.maximum.at(found[2], who, np.abs(by_place).ravel())


def _weights(k: int, places: int) -> FloatArray:
    """min(K, i)/(iK) for i = 1 … places."""
    i = np.arange(1, places + 1)
    return np.asarray(np.minimum(k, i) / (i * k))


def _within_tie(right: FloatArray, weights: FloatArray, starts: IntArray, sizes: IntArray) -> FloatArray:
    """What a row earns beside the mean of its tie, by place: (N,); zero for rows that are alone at their distance."""
    share = np.repeat(np.add.reduceat(right, starts) / sizes, sizes)
    last = weights[starts + sizes - 1]
    spread = (np.add.reduceat(weights, starts) / sizes - last) * sizes / np.maximum(sizes - 1, 1)
    return np.asarray((right - share) * np.repeat(last + spread, sizes))


def _check_k(data: Split, k: int) -> int:
    if data.classes is None:
        raise InvalidInput("this split holds numbers, not classes; use KNNRegression", argument="data", code="type")
    return whole_number(k, "k", example=5)
