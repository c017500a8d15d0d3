"""How much two columns of a table repeat one another: 0 where one tells the other, 1 where they have nothing in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.rows.cohorts import numbers

if TYPE_CHECKING:
    from accredit.rows.result import TableExplanation


def column_distances(explanation: TableExplanation, columns: Sequence[int]) -> FloatArray:
    """1 − association of every two of some columns: (n, n), zero on the diagonal.

    The association is |Spearman's rank correlation| of two columns of numbers, the correlation ratio of ranks where one is
    words, and Cramér's V of two columns of words; over the rows where both are known. Without such rows, or where a column is
    constant, it is 0.

    >>> from accredit.rows.result import TableExplanation
    >>> cells = [[1, 2, 3, 4], [9, 7, 5, 1], ["a", "a", "b", "b"]]
    >>> e = TableExplanation(("x", "y", "z"), ("p",), np.zeros((4, 3, 1)), [0], np.zeros((4, 1)), cells, "m")
    >>> column_distances(e, [0, 1, 2]).round(3).tolist()
    [[0.0, 0.0, 0.106], [0.0, 0.0, 0.106], [0.106, 0.106, 0.0]]
    """
    read = [_read(explanation.values[i]) for i in columns]
    apart = np.zeros((len(columns), len(columns)))
    for i, j in combinations(range(len(columns)), 2):
        (one, kind_one), (other, kind_other) = read[i], read[j]
        both = np.isfinite(one) & np.isfinite(other)
        apart[i, j] = apart[j, i] = 1 - _association(one[both], other[both], kind_one, kind_other)
    return apart


def _read(cells: Sequence[object]) -> tuple[FloatArray, bool]:
    """Numbers as they are, words as codes, NaN where nothing is known; and whether they are words."""
    values, known = numbers(cells)  # type: ignore[arg-type]
    words = [None if c is None or c != c else str(c) for c in cells]
    if all(known[r] or words[r] is None for r in range(len(words))):
        return np.where(known, values, np.nan), False
    codes = {word: float(k) for k, word in enumerate(sorted({w for w in words if w is not None}))}
    return np.array([np.nan if w is None else codes[w] for w in words]), True


def _association(one: FloatArray, other: FloatArray, first_words: bool, second_words: bool) -> float:
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    if first_words and second_words:
        return _cramer(_codes(one), _codes(other))
    if first_words or second_words:
        kinds, value = (one, other) if first_words else (other, one)
        return _correlation_ratio(_codes(kinds), _ranks(value))
    return min(1.0, abs(float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])))


def _codes(values: FloatArray) -> IntArray:
    return np.asarray(np.unique(values, return_inverse=True)[1])


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values))


def _correlation_ratio(kinds: IntArray, values: FloatArray) -> float:
    """η: the root of the share of variance that lies between the kinds."""
    counts = np.bincount(kinds)
    means = np.bincount(kinds, values) / counts
    return float(np.sqrt(min(1.0, (counts * (means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum())))


def _cramer(one: IntArray, other: IntArray) -> float:
    """Cramér's V of two columns of kinds."""
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(1.0, chi / (table.sum() * (min(table.shape) - 1)))))
