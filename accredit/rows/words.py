r"""Conditional answers for tables with words: numbers that are normal around a mean which the words move.

The general location model (Olkin & Tate, 1961): words $w$ as they occur in the background, and numbers
$z \mid w \sim N(\mu(w), \Sigma)$ with $\mu$ a sum of one effect per word. Given the present columns, absent words are those of
a background row, drawn in proportion to

$$\pi_b\, 1[w_b \text{ agrees with the row in the present words}]\; N\bigl(z_S;\, \mu_S(w_b),\, \Sigma_{SS}\bigr),$$

and absent numbers are drawn from the normal distribution given $z_S$ and those words. Without words this is `Gaussian`; without
numbers it draws from the background rows that have the present words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.rows.normal import NORMAL_DRAWS, covariance, root

if TYPE_CHECKING:
    from accredit.models.row_types import Table

RIDGE = 1e-3  # of the effects of words, in background rows


class Mixed:
    """A table as numbers and as places of words: (m, d) each; `is_word` says which of the two a column is."""

    def __init__(self, both: Table) -> None:
        columns = [both[:, i] if isinstance(both, np.ndarray) else both.iloc[:, i] for i in range(both.shape[1])]
        self.is_word: BoolArray = np.array([_is_word(column) for column in columns])
        self.codes: IntArray = np.full(both.shape, -1)
        self.numbers: FloatArray = np.zeros(both.shape)
        for i, column in enumerate(columns):
            if self.is_word[i]:
                self.codes[:, i] = _places(column)
                continue
            self.numbers[:, i] = np.asarray(column, dtype=np.float64)
            if not np.isfinite(self.numbers[:, i]).all():
                name = f"x{i}" if isinstance(both, np.ndarray) else both.columns[i]
                raise InvalidInput(
                    f"column {str(name)!r} has missing values; conditional answers need numbers without gaps: fill them, or "
                    "write dependence='interventional'",
                    code="missing",
                )

    def indicators(self) -> tuple[FloatArray, IntArray]:
        """One column of 0 and 1 per word, and the column of the table that each belongs to: (m, q), (q,)."""
        kinds = [(i, k) for i in np.flatnonzero(self.is_word) for k in range(self.codes[:, i].max() + 1)]
        held = np.array([self.codes[:, i] == k for i, k in kinds], dtype=np.float64).reshape(len(kinds), len(self.codes)).T
        return held, np.array([i for i, _ in kinds], dtype=np.int64)


def has_words(both: Table) -> bool:
    """Does a column hold anything but numbers?"""
    if isinstance(both, np.ndarray):
        return both.dtype.kind not in "biuf" and any(_is_word(column) for column in both.T)
    return any(getattr(kind, "kind", "O") not in "biuf" for kind in both.dtypes)


def _is_word(column: Iterable[object]) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind != "O" or str(getattr(column, "dtype", "")) == "category":
        return kind not in "iuf"
    return not all(isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in column)


def _places(column: Iterable[object]) -> IntArray:
    """The place of every cell's text among the texts; a missing cell is a text of its own."""
    return np.asarray(np.unique([str(cell) for cell in column], return_inverse=True)[1])


@final
class GeneralLocation:
    """Draws of the absent columns given the present ones, words and numbers; the first len(weights) rows are the background."""

    def __init__(self, both: Table, row: int, weights: FloatArray, draws: int = NORMAL_DRAWS, seed: int = 0) -> None:
        mixed = Mixed(both)
        self._both, self._row, self._weights, self.size = both, row, weights, draws
        self._is_word, self._codes = mixed.is_word, mixed.codes
        self._point = mixed.numbers[row]
        size = len(weights)
        held, self._owner = mixed.indicators()
        self._held, mean = held[:size], weights @ held[:size]
        self._own = held[row]
        inputs = self._held - mean
        centre = weights @ mixed.numbers[:size]
        squares = (inputs * weights[:, None]).T @ inputs + RIDGE / size * np.eye(len(mean))
        self._effect = np.linalg.solve(squares, (inputs * weights[:, None]).T @ (mixed.numbers[:size] - centre))
        self._level = centre - mean @ self._effect
        self._covariance = covariance(mixed.numbers[:size] - inputs @ self._effect, weights)
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((draws // 2, both.shape[1]))
        self._noise = np.concatenate([half, -half])
        self._deal = rng.permutation((np.arange(draws) + rng.random()) / draws)  # even: each row comes as often as it should

    def complete(self, kept: BoolArray) -> tuple[Table, FloatArray]:
        drawn = [self._draw(present) for present in kept]
        donors, numbers = np.concatenate([d for d, _ in drawn]), np.concatenate([n for _, n in drawn])
        source = np.where(np.repeat(kept, self.size, axis=0), self._row, donors[:, None])
        return self._table(source, numbers), np.full((len(kept), self.size), 1 / self.size)

    def _draw(self, present: BoolArray) -> tuple[IntArray, FloatArray]:
        """Background rows whose words are taken, and the numbers: (draws,), (draws, d)."""
        held = np.where(present[self._owner], self._own, self._held)  # words of the row where it says them, else the others'
        mean = self._level + held @ self._effect  # (b, d)
        seen, wanted = present & ~self._is_word, ~present & ~self._is_word
        gap = self._point[seen] - mean[:, seen]
        inverse = np.linalg.inv(self._covariance[np.ix_(seen, seen)])
        fit = -0.5 * np.einsum("bi,ij,bj->b", gap, inverse, gap)
        chance = self._agreeing(present) * np.exp(fit - fit.max())
        donors = np.searchsorted(np.cumsum(chance / chance.sum()), self._deal).clip(max=len(chance) - 1)
        numbers = np.tile(self._point, (self.size, 1))
        slope = self._covariance[np.ix_(wanted, seen)] @ inverse
        left = self._covariance[np.ix_(wanted, wanted)] - slope @ self._covariance[np.ix_(seen, wanted)]
        numbers[:, wanted] = mean[donors][:, wanted] + gap[donors] @ slope.T + self._noise[:, wanted] @ root(left).T
        return donors, numbers

    def _agreeing(self, present: BoolArray) -> FloatArray:
        """The weights of the background rows that have most of the present words of the row."""
        words = present & self._is_word
        alike = (self._codes[: len(self._weights), words] == self._codes[self._row, words]).sum(axis=1)
        counted = self._weights > 0
        return np.where(alike == alike[counted].max(), self._weights, 0.0)

    def _table(self, source: IntArray, numbers: FloatArray) -> Table:
        if isinstance(self._both, np.ndarray):
            filled = np.take_along_axis(self._both, source, axis=0)
            filled[:, ~self._is_word] = numbers[:, ~self._is_word]
            return filled
        import pandas

        columns = {
            i: self._both.iloc[:, i].take(source[:, i]).reset_index(drop=True) if word else numbers[:, i]
            for i, word in enumerate(self._is_word.tolist())
        }
        return pandas.DataFrame(columns).set_axis(self._both.columns, axis=1)
