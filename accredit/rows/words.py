r"""Conditional answers for mixed tables: numbers that are normal around a mean which words, booleans and gaps move.

The general location model (Olkin & Tate, 1961): words $w$ as they occur in the background, and numbers
$z \mid w \sim N(\mu(w), \Sigma)$ with $\mu$ a sum of one effect per word. Given the present columns, absent words are those of
a background row, drawn in proportion to

$$\pi_b \prod_{j \in S} \bigl(\lambda 1[w_{bj} = w_j] + (1 - \lambda) p_j(w_j)\bigr)\;
N\bigl(z_S;\, \mu_S(w_b),\, \Sigma_{SS}\bigr),$$

and absent numbers are drawn from the normal distribution given $z_S$ and those words. λ is how closely words must agree
(Aitchison & Aitken, 1976); it is chosen so that background rows, left out in turn, are most likely. Where a column of numbers
has gaps, to be one is a word of its own, and Σ is estimated from what is known (the EM algorithm).

With `ranks`, numbers are first replaced by normal scores of their ranks, and what is drawn is a value of the background at that
rank: a Gaussian copula given the words. A number with few different values is then a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtr, ndtri

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.models.cells import columns_of
from accredit.rows.normal import NORMAL_DRAWS, covariance, root

if TYPE_CHECKING:
    from accredit.models.row_types import Table

RIDGE = 1e-3  # of the effects of words, in background rows
ROUNDS, CLOSE = 50, 1e-6  # of the EM algorithm, at most; how little Σ must change before
FEW_VALUES = 8  # of a number, up to which ranks take it for a word
AGREEMENT = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # λ is one of these
ROWS_LEFT_OUT = 300  # background rows by which λ is chosen


class Mixed:
    """A table as numbers, NaN where a cell is missing, and as places of words: (m, d) each; `is_word` says which of the two a
    column is. A column of numbers with gaps has two words: known and missing."""

    def __init__(self, both: Table, few_values: int = 0) -> None:
        columns = columns_of(both)
        self.is_word: BoolArray = np.array([_is_word(column) for column in columns])
        self.codes: IntArray = np.zeros(both.shape, dtype=np.int64)
        self.numbers: FloatArray = np.zeros(both.shape)
        for i, column in enumerate(columns):
            if not self.is_word[i]:
                self.numbers[:, i] = _numbers(column)
                missing = np.isnan(self.numbers[:, i])
                self.codes[:, i] = missing
                self.is_word[i] = missing.all() or len(np.unique(self.numbers[~missing, i])) <= few_values
            if self.is_word[i]:
                self.codes[:, i], self.numbers[:, i] = _places(column), 0.0

    @property
    def tells(self) -> BoolArray:
        """Columns in which rows may agree: words, and numbers with gaps."""
        return self.is_word | (self.codes > 0).any(axis=0)

    def indicators(self) -> tuple[FloatArray, IntArray]:
        """One column of 0 and 1 per word, and the column of the table that each belongs to: (m, q), (q,)."""
        kinds = [(i, k) for i in np.flatnonzero(self.tells) for k in range(self.codes[:, i].max() + 1)]
        held = np.array([self.codes[:, i] == k for i, k in kinds], dtype=np.float64).reshape(len(kinds), len(self.codes)).T
        return held, np.array([i for i, _ in kinds], dtype=np.int64)


def is_plain(both: Table) -> bool:
    """Are all cells numbers, none of them missing?"""
    if isinstance(both, np.ndarray):
        return both.dtype.kind in "iuf" and bool(np.isfinite(both).all())
    return all(getattr(kind, "kind", "O") in "iuf" for kind in both.dtypes) and not both.isna().any(axis=None)


def _is_word(column: Iterable[object]) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind != "O" or str(getattr(column, "dtype", "")) == "category":
        return kind not in "iuf"
    known = [cell for cell in column if cell is not None and cell == cell]
    return not all(isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in known)


def _numbers(column: object) -> FloatArray:
    """Cells as numbers, NaN where they are missing."""
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)  # None is NaN


def _places(column: Iterable[object]) -> IntArray:
    """The place of every cell's text among the texts; a missing cell is a text of its own."""
    return np.asarray(np.unique([str(cell) for cell in column], return_inverse=True)[1])


class Ranks:
    """A column of numbers by its ranks in the background: normal scores of them, and the row that holds each rank."""

    def __init__(self, values: FloatArray, weights: FloatArray) -> None:
        self._row = np.argsort(values, kind="stable")[: np.isfinite(values).sum()]
        self._sorted = values[self._row]
        self._reached = np.cumsum(weights[self._row])
        self._reached /= self._reached[-1]

    def score(self, values: FloatArray) -> FloatArray:
        """Normal scores of the middle of the ranks that a value takes; NaN stays."""
        reached = np.concatenate([[0.0], self._reached])
        middle = sum(reached[np.searchsorted(self._sorted, values, side)] for side in ("left", "right")) / 2
        least = 0.5 / len(self._row)
        return np.where(np.isnan(values), np.nan, ndtri(np.clip(middle, least, 1 - least)))

    def row(self, scores: FloatArray) -> IntArray:
        """The background row whose value has such a score."""
        return np.asarray(self._row[np.searchsorted(self._reached, ndtr(scores)).clip(max=len(self._row) - 1)])


@final
class GeneralLocation:
    """The model of a table whose first len(weights) rows are the background; `given(row)` draws what is absent from a row."""

    def __init__(
        self, both: Table, weights: FloatArray, *, ranks: bool = False, draws: int = NORMAL_DRAWS, seed: int = 0
    ) -> None:
        mixed, rows = Mixed(both, FEW_VALUES if ranks else 0), len(weights)
        self.both, self.weights, self.draws = both, weights, draws
        self.is_word, self.codes, self.tells = mixed.is_word, mixed.codes, mixed.tells
        self.ranks = {i: Ranks(mixed.numbers[:rows, i], weights) for i in np.flatnonzero(~self.is_word) if ranks}
        self.numbers = mixed.numbers
        for i, by_rank in self.ranks.items():
            self.numbers[:, i] = by_rank.score(self.numbers[:, i])
        self.held, self.owner = mixed.indicators()
        self._fit(self.held[:rows], self.numbers[:rows])
        self.agreement = _choose_agreement(self.codes[:rows, self.tells], weights)
        rng = np.random.default_rng(seed)
        size = ndtri(0.5 + (np.arange(draws // 2) + 0.5) / draws)  # each part of the normal distribution comes once
        half = np.stack([rng.permutation(size) * rng.choice([-1, 1], len(size)) for _ in range(both.shape[1])], axis=1)
        self.noise = np.concatenate([half, -half])
        self.deal = rng.permutation((np.arange(draws) + rng.random()) / draws)  # even: each row comes as often as it should

    def _fit(self, held: FloatArray, numbers: FloatArray) -> None:
        """Effects of words and Σ; missing numbers are expected, given the others, until nothing changes."""
        weights, missing = self.weights, np.isnan(numbers)
        mean = weights @ held
        inputs = held - mean
        by_word = (inputs * weights[:, None]).T
        inverse = np.linalg.inv(by_word @ inputs + RIDGE / len(held) * np.eye(len(mean)))
        known = np.where(missing, 0.0, numbers)
        filled = np.where(missing, weights @ known / np.maximum(weights @ ~missing, np.finfo(float).tiny), numbers)
        spare = np.zeros((numbers.shape[1],) * 2)  # what expected values lack of the spread of real ones
        for _ in range(ROUNDS if missing.any() else 1):
            centre = weights @ filled
            self.effect = inverse @ by_word @ (filled - centre)
            self.level = centre - mean @ self.effect
            expected = self.level + held @ self.effect
            self.covariance = covariance(filled - expected, weights) + spare
            if not missing.any():
                return
            before, spare = filled, np.zeros_like(spare)
            filled = known.copy()
            for gone in np.unique(missing, axis=0):
                some = (missing == gone).all(axis=1)
                slope, left = regression(self.covariance, gone, ~gone)
                off = numbers[np.ix_(some, ~gone)] - expected[np.ix_(some, ~gone)]
                filled[np.ix_(some, gone)] = expected[np.ix_(some, gone)] + off @ slope.T
                spare[np.ix_(gone, gone)] += weights[some].sum() * left
            if np.abs(filled - before).max() <= CLOSE * np.abs(filled).max():
                return

    def given(self, row: int) -> GivenRow:
        """What is absent from a row, drawn given what is present."""
        return GivenRow(self, row)


@final
class GivenRow:
    """Draws of the absent columns of one row given the present ones, words and numbers."""

    def __init__(self, model: GeneralLocation, row: int) -> None:
        self._model, self._row, self.size = model, row, model.draws
        self._point, self._own = model.numbers[row], model.held[row]
        size = len(model.weights)
        alike = model.codes[:size] == model.codes[row]
        share = np.maximum(model.weights @ alike, 0.5 / size)
        self._agree = np.where(model.tells, np.log(model.agreement * alike + (1 - model.agreement) * share), 0.0)

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray]:
        drawn = [self._draw(present) for present in kept]
        source, numbers = np.concatenate([s for s, _ in drawn]), np.concatenate([n for _, n in drawn])
        return self._table(source, numbers), np.full((len(kept), self.size), 1 / self.size)

    def _draw(self, present: BoolArray) -> tuple[IntArray, FloatArray]:
        """The row whose cell is taken, column by column, and the numbers: (draws, d) each."""
        model, size = self._model, len(self._model.weights)
        held = np.where(present[model.owner], self._own, model.held[:size])  # words of the row where it says them
        mean = model.level + held @ model.effect  # (b, d)
        seen, wanted = present & ~model.is_word & ~np.isnan(self._point), ~present & ~model.is_word
        gap = self._point[seen] - mean[:, seen]
        inverse = np.linalg.inv(model.covariance[np.ix_(seen, seen)])
        fit = self._agree[:, present].sum(axis=1) - 0.5 * np.einsum("bi,ij,bj->b", gap, inverse, gap)
        counted = model.weights > 0
        chance = model.weights * np.exp(np.minimum(fit - fit[counted].max(), 0.0))
        donors = np.searchsorted(np.cumsum(chance / chance.sum()), model.deal).clip(max=size - 1)
        slope, left = regression(model.covariance, wanted, seen)
        drawn = mean[donors][:, wanted] + gap[donors] @ slope.T + model.noise[:, wanted] @ root(left).T
        source = np.where(present, self._row, donors[:, None])
        numbers = np.tile(self._point, (self.size, 1))
        missing = model.codes[donors][:, wanted] > 0
        numbers[:, wanted] = np.where(missing, np.nan, drawn)
        for k, i in enumerate(np.flatnonzero(wanted)):
            if i in model.ranks:
                source[:, i] = np.where(missing[:, k], donors, model.ranks[i].row(drawn[:, k]))
        return source, numbers

    def _table(self, source: IntArray, numbers: FloatArray) -> Table:
        model, taken = self._model, self._model.is_word | np.isin(np.arange(source.shape[1]), list(self._model.ranks))
        if isinstance(model.both, np.ndarray):
            filled = np.take_along_axis(model.both, source, axis=0)
            if not taken.all():
                filled = filled.astype(np.result_type(filled.dtype, np.float64), copy=False)
                filled[:, ~taken] = numbers[:, ~taken]
            return filled
        import pandas

        columns = {
            i: column.array.take(source[:, i]) if taken[i] else numbers[:, i] for i, column in enumerate(columns_of(model.both))
        }
        return pandas.DataFrame(columns).set_axis(model.both.columns, axis=1)


def regression(covariance: FloatArray, wanted: BoolArray, given: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Slopes of the wanted columns on the given ones, and the covariance that is left: (wanted, given), (wanted, wanted)."""
    across = covariance[np.ix_(given, wanted)]
    slope = np.asarray(np.linalg.solve(covariance[np.ix_(given, given)], across).T, dtype=np.float64)
    return slope, covariance[np.ix_(wanted, wanted)] - slope @ across


def _choose_agreement(codes: IntArray, weights: FloatArray) -> float:
    """λ: the one that makes background rows, left out in turn, most likely by their words: (b, columns)."""
    few = np.flatnonzero(weights > 0)[:: max(1, (weights > 0).sum() // ROWS_LEFT_OUT)]
    if not codes.shape[1] or len(few) < 2:
        return AGREEMENT[-1]
    alike = codes[few, None] == codes[few]  # (f, f, columns)
    share = np.einsum("rbj,b->rj", alike, weights[few]) / weights[few].sum()
    others = weights[few] * ~np.eye(len(few), dtype=bool)
    likely = []
    for one in AGREEMENT:
        each = np.log(one * alike + (1 - one) * share[:, None]).sum(axis=2)
        top = each.max(axis=1, keepdims=True)
        likely.append(float((np.log((others * np.exp(each - top)).sum(axis=1)) + top[:, 0]).sum()))
    return AGREEMENT[int(np.argmax(likely))]
