r"""Every row valued, every row a test row: values of nearest neighbours, cross-fitted.

The rows are dealt into F folds, each class alike in all. In the game of fold f its rows are the test rows and all others train.
The payoff is the mean of these games, $v(S) = \frac1F \sum_f v_f(S \setminus f)$, so by linearity a row's value is the mean of
its values in them, zero where it is a test row itself. Beside one split with a quarter for testing, each row is judged by three
times as many test rows, by models taught by several sets of rows, and no row is left without a value. Test rows of
different folds are different rows, so squared errors add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import t as student

from accredit import defaults
from accredit.core import Attribution, BoolArray, FloatArray, IntArray, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.store import Executor
from accredit.valuation.certainty import FEWEST_TESTS, over_test_rows
from accredit.valuation.knn import KNNUtility, knn_shapley
from accredit.valuation.knn_numbers import KNNRegression
from accredit.valuation.split import Labels, Split


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Rows in folds; a game whose players are all of them.

    >>> x = np.arange(80.0)[:, None] % 40
    >>> rows = CrossFit(x, (x[:, 0] > 20).astype(int), tuple(map(str, range(80))), ("low", "high"), folds=2, seed=0)
    >>> values = cross_fit(rows)
    >>> bool(np.isclose(values.credit.sum(), rows.payoff(np.ones((1, 80), dtype=bool))[0]))
    True
    """

    x: FloatArray  # (N, d)
    y: Labels  # (N,)
    names: tuple[str, ...]
    classes: tuple[str, ...] | None
    folds: int
    seed: int
    k: int = 5  # nearest neighbours

    def __post_init__(self) -> None:
        if self.folds < 2 or len(self.y) // self.folds < FEWEST_TESTS:
            most = len(self.y) // FEWEST_TESTS
            cure = f"write folds={most} or fewer" if most >= 2 else "leave folds out"
            raise InvalidInput(
                f"folds={self.folds} of {len(self.y)} rows; two or more of at least {FEWEST_TESTS} rows are needed, to say "
                f"what other test rows would: {cure}",
                argument="folds",
                code="range",
            )

    @cached_property
    def fold(self) -> IntArray:
        """The fold in which each row is a test row (N,)."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        if self.classes is not None:
            order = order[np.argsort(self.y[order], kind="stable")]
        found = np.empty(len(self.y), dtype=np.int64)
        found[order] = np.arange(len(self.y)) % self.folds
        return found

    def splits(self) -> Iterator[tuple[BoolArray, Split]]:
        """Which rows train (N,), and the split."""
        for f in range(self.folds):
            held = self.fold == f
            names = tuple(name for name, is_held in zip(self.names, held.tolist(), strict=True) if not is_held)
            yield ~held, Split(self.x[~held], self.y[~held], self.x[held], self.y[held], names, self.classes)

    @property
    def players(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def _games(self) -> list[tuple[BoolArray, KNNUtility | KNNRegression]]:
        kind = KNNRegression if self.classes is None else KNNUtility
        return [(taught, kind(data, self.k)) for taught, data in self.splits()]

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """(batch,)"""
        return np.asarray(np.mean([game.payoff(coalitions[:, taught]) for taught, game in self._games], axis=0))


def cross_fit(rows: CrossFit, executor: str | Executor = "serial", watch: Callable[[int], None] | None = None) -> Attribution:
    """The values of all rows, with intervals over the choice of the test rows of every fold."""
    credit, variance, unseen, total = np.zeros(len(rows.y)), np.zeros(len(rows.y)), np.zeros(len(rows.y)), 0.0
    done, found = 0, None
    for taught, data in rows.splits():

        def count(tests: int, before: int = done) -> None:
            if watch:
                watch(before + tests)

        found = knn_shapley(data, rows.k, executor=executor, watch=count)
        done += len(data.test_y)
        assert found.interval is not None and found.stderr is not None and found.total is not None  # folds are large enough
        half = float(student.ppf((1 + defaults.LEVEL) / 2, len(data.test_y) - 1)) * found.stderr
        credit[taught] += found.credit
        variance[taught] += found.stderr**2
        unseen[taught] += np.maximum(found.interval[:, 1] - found.credit - half, 0.0)
        total += found.total
    assert found is not None
    exact = replace(
        found,
        players=rows.names,
        credit=credit / rows.folds,
        total=total / rows.folds,
        method=Procedure("knn-shapley", settings={"k": rows.k, "folds": rows.folds}, closed_form=True),
        stderr=None,
        interval=None,
        level=None,
        precision=Precision.exact(),
        certificate={},
    )
    tests = len(rows.y) - len(rows.y) // rows.folds  # that judge each row, at least
    return over_test_rows(exact, np.sqrt(variance) / rows.folds, tests - 1, tests - rows.folds, unseen=unseen / rows.folds)
