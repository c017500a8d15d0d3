"""Columns of a table as numbers that a network reads: numbers in standard deviations, words and gaps as indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, final

import numpy as np
import numpy.typing as npt

from accredit.core import FloatArray
from accredit.core.statistics import units
from accredit.rows.frames import Rows, numbers_or_words

WORDS_PER_COLUMN = 50  # different words of a column that are told apart; the others count as one
FARTHEST = 1e6  # standard deviations beyond which a number is read as this far


@final
@dataclass(frozen=True)
class Column:
    """How one column is read: by mean and spread, or by its common words."""

    mean: float = 0.0
    spread: float = 1.0
    words: tuple[str, ...] | None = None

    def read(self, values: npt.NDArray[np.generic]) -> list[FloatArray]:
        """The column's features: the number and whether it is missing, or one indicator per word and one for any other."""
        if self.words is None:
            numbers = values if values.dtype.kind == "f" else np.full(len(values), np.nan)  # words where numbers were
            known = np.isfinite(numbers)
            scaled = np.where(known, (np.where(known, numbers, 0.0) - self.mean) / self.spread, 0.0)
            return [np.clip(scaled, -FARTHEST, FARTHEST), (~known).astype(np.float64)]
        said = np.array([str(value) for value in values])
        each = [(said == word).astype(np.float64) for word in self.words]
        return [*each, 1.0 - np.sum(each, axis=0)]


class WrittenColumn(TypedDict):
    """A `Column` as JSON."""

    mean: float
    spread: float
    words: Sequence[str] | None


@final
@dataclass(frozen=True)
class Columns:
    """How all columns of a table are read, as the training rows show them.

    >>> from accredit.rows.frames import rows_of
    >>> rows = rows_of({"age": [20.0, 40.0], "town": ["A", "B"]})
    >>> Columns.of(rows).read(rows).tolist()  # age, its gap; A, B, another town
    [[-1.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0, 0.0]]
    """

    each: tuple[Column, ...]

    @classmethod
    def of(cls, rows: Rows) -> Columns:
        """Learn means, spreads and words from rows."""
        return cls(tuple(_column(values) for values in numbers_or_words(rows)))

    def read(self, rows: Rows) -> npt.NDArray[np.float32]:
        """Rows as features: (N, features), single precision."""
        parts = [one for column, values in zip(self.each, numbers_or_words(rows), strict=True) for one in column.read(values)]
        return np.stack(parts, axis=1).astype(np.float32)

    def to_plain(self) -> list[WrittenColumn]:
        return [{"mean": column.mean, "spread": column.spread, "words": column.words} for column in self.each]

    @classmethod
    def from_plain(cls, data: Sequence[WrittenColumn]) -> Columns:
        return cls(
            tuple(
                Column(float(one["mean"]), float(one["spread"]), None if one["words"] is None else tuple(one["words"]))
                for one in data
            )
        )


def _column(values: npt.NDArray[np.generic]) -> Column:
    if values.dtype.kind == "f":
        known = values[np.isfinite(values)]
        return Column(float(known.mean()), float(units(known[:, None])[0])) if len(known) else Column(0.0, 1.0)
    words, count = np.unique(values, return_counts=True)
    return Column(words=tuple(words[np.argsort(-count, kind="stable")[:WORDS_PER_COLUMN]].tolist()))
