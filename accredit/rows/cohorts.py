"""Rows in groups that are read side by side: by a column, by labels, or by what divides their credit most; and how much two
columns repeat one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from accredit.checks import shown, whole_number
from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray, IntArray, player_index
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.rows.result import Cell, TableExplanation

MOST_COHORTS = 12  # that can be told apart side by side
KINDS = 6  # distinct numbers up to which each is a group of its own
FEWEST_ROWS = 5  # in a group that is found by itself
THRESHOLDS = 16  # tried per column


def split(explanation: TableExplanation, by: str | int | Iterable[object]) -> list[tuple[str, list[int]]]:
    """Groups with their names and the positions of their rows; every row is in one of them."""
    if isinstance(by, str):
        return _by_cells(by, explanation.cells[player_index(explanation.players, by)])
    if isinstance(by, int) and not isinstance(by, bool):
        return list(_by_credit(explanation, whole_number(by, "by", 2, MOST_COHORTS)))
    labels: list[object] = list(by) if isinstance(by, Iterable) else []
    if len(labels) != len(explanation):
        raise InvalidInput(
            f"by is {shown(by)}; write a column's name, a number of groups, or one label per row ({len(explanation)} of them)",
            argument="by",
            code="shape",
        )
    if all(isinstance(label, bool | np.bool_) for label in labels):
        return _named([("chosen", np.array(labels, dtype=bool)), ("the others", ~np.array(labels, dtype=bool))])
    return _by_kind([str(label) for label in labels], "labels", "{}")


def numbers(cells: Sequence[Cell] | npt.NDArray[np.object_]) -> tuple[FloatArray, BoolArray]:
    """Cells as numbers, and which of them are: booleans count, words and missing values do not."""
    known = np.array([isinstance(c, int | float | np.number) and c == c for c in cells], dtype=bool)
    values = np.zeros(len(known))
    values[known] = [float(c) for c, there in zip(cells, known, strict=True) if there]  # type: ignore[arg-type]
    return values, known


def _by_cells(name: str, cells: Sequence[Cell]) -> list[tuple[str, list[int]]]:
    values, known = numbers(cells)
    words = any(not there and cell is not None for cell, there in zip(cells, known, strict=True))
    if words or (len(set(values[known].tolist())) <= KINDS and not _is_wide(values[known])):
        texts = ["missing" if c is None or c != c else round_off(c) if isinstance(c, float) else str(c) for c in cells]
        return _by_kind(texts, name, f"{name} = {{}}")
    middle = float(np.quantile(values[known], 0.5, method="lower"))
    if middle == values[known].max():  # so that there is something above
        middle = float(values[known][values[known] < middle].max())
    edge = round_off(middle)
    below, above = known & (values <= middle), known & (values > middle)
    return _named([(f"{name} ≤ {edge}", below), (f"{name} > {edge}", above), (f"{name} missing", ~known)])


def _is_wide(values: FloatArray) -> bool:
    """Numbers that are all different are measured, however few they are."""
    return len(values) > 1 and len(set(values.tolist())) == len(values)


def _by_kind(texts: list[str], name: str, form: str) -> list[tuple[str, list[int]]]:
    kinds = list(dict.fromkeys(sorted(texts)))
    if len(kinds) > MOST_COHORTS:
        raise InvalidInput(
            f"by makes {len(kinds)} groups of {name}, and up to {MOST_COHORTS} can be told apart; give labels for fewer",
            argument="by",
            code="too-many",
        )
    return _named([(form.format(kind), np.array([text == kind for text in texts])) for kind in kinds])


def _named(groups: list[tuple[str, BoolArray]]) -> list[tuple[str, list[int]]]:
    return [(name, np.flatnonzero(rows).tolist()) for name, rows in groups if rows.any()]


def _by_credit(explanation: TableExplanation, count: int) -> Iterator[tuple[str, list[int]]]:
    """Splits at a value of a column, one after another, each the one that leaves least spread of the credit within groups."""
    credit = explanation.credit[:, :, explanation.place()]
    groups: list[tuple[str, IntArray]] = [("", np.arange(len(credit)))]
    while len(groups) < count:
        cuts = [(cut, g) for g, (_, rows) in enumerate(groups) if (cut := _best_cut(explanation, credit, rows)) is not None]
        if not cuts:
            break
        (_, name, edge, inside), g = max(cuts, key=lambda found: found[0][0])
        before, rows = groups.pop(g)
        start = f"{before}, " if before else ""
        groups += [(f"{start}{name} ≤ {edge}", rows[inside]), (f"{start}{name} > {edge}", rows[~inside])]
    for name, rows in groups:
        yield name or "all rows", rows.tolist()


def _best_cut(explanation: TableExplanation, credit: FloatArray, rows: IntArray) -> tuple[float, str, str, BoolArray] | None:
    """What the best cut of a group gains, its column, its edge, and which rows are below; None where none gains anything."""
    best: tuple[float, str, str, BoolArray] | None = None
    own = credit[rows]
    spread = float(((own - own.mean(axis=0)) ** 2).sum())
    for name, cells in zip(explanation.players, explanation.cells, strict=True):
        values, known = numbers([cells[r] for r in rows.tolist()])
        if not known.all():
            continue
        for edge in np.unique(np.quantile(values, np.linspace(0, 1, THRESHOLDS + 2)[1:-1], method="lower")).tolist():
            inside = values <= edge
            if min(inside.sum(), (~inside).sum()) < FEWEST_ROWS:
                continue
            parts = own[inside], own[~inside]
            gain = spread - sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)
            if gain > 1e-9 * spread and (best is None or gain > best[0]):
                best = gain, name, round_off(edge), inside
    return best


# Columns that repeat one another


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
    read = [_read(explanation.cells[i]) for i in columns]
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
