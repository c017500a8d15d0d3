"""What is said about a table before its rows are judged: columns that give the label away, test rows that were learned from,
and one number that outweighs all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.valuation.split import Split

if TYPE_CHECKING:
    import pandas

ROWS_NEEDED = 20  # rows, below which a column may tell every label by chance
MANY_KINDS = 50  # a column of words with more distinct values, or more than half of its rows, is not a category
OFTEN = 0.1  # share of test rows that are training rows, from which it is said
SHARE_OF_VARIANCE = 0.5  # share of the variance of all numbers that one may make before it is named


def table_notes(frame: pandas.DataFrame, columns: Sequence[str], data: Split, training: IntArray) -> tuple[str, ...]:
    """All of it. `frame` holds the columns of the training rows, `training` the places of these rows in the file."""
    told = (
        _telling(frame, columns, np.asarray(data.y, dtype=np.int64))
        if data.classes is not None
        else _outweighing(np.asarray(data.y, dtype=np.float64), training)
    )
    return told + _repeat(data)


def _telling(frame: pandas.DataFrame, columns: Sequence[str], y: IntArray) -> tuple[str, ...]:
    """Columns that alone tell every label."""
    if len(y) < ROWS_NEEDED:
        return ()
    return tuple(
        f"column {column!r} alone tells every label: leave it out if it was made from the labels, since errors that were "
        "copied into it cannot be found"
        for column in columns
        if _tells(frame[column], y)
    )


def _tells(column: pandas.Series, y: IntArray) -> bool:
    """Numbers in whose order every class is one stretch, or few words of one class each."""
    values, codes = np.unique(column if column.dtype.kind in "iufb" else column.astype(str), return_inverse=True)
    if len({*zip(codes.tolist(), y.tolist(), strict=True)}) > len(values):
        return False
    if column.dtype.kind not in "iufb":
        return len(values) <= min(MANY_KINDS, len(y) // 4)
    ordered = y[np.argsort(codes, kind="stable")]
    return int((ordered[1:] != ordered[:-1]).sum()) == int(y.max())


def _outweighing(y: FloatArray, training: IntArray) -> tuple[str, ...]:
    """A number far from all others."""
    off = (y - np.median(y)) ** 2
    row, total = int(off.argmax()), float(off.sum())
    if len(y) < ROWS_NEEDED or not total or off[row] < SHARE_OF_VARIANCE * total:
        return ()
    return (
        f"the target of row {training[row] + 1} is {y[row]:g}, which alone makes {off[row] / total:.0%} of the variance of "
        "all: squared errors are about that row. Check it, or predict logarithms",
    )


def _repeat(data: Split) -> tuple[str, ...]:
    """Test rows that are also training rows, where rows differ as a rule."""
    taught = {row.tobytes() for row in data.x}
    again = sum(row.tobytes() in taught for row in data.test_x)
    if again < OFTEN * len(data.test_x) or 2 * len(taught) < len(data.x):
        return ()
    return (
        f"{again} of {len(data.test_x)} test rows are training rows, too: what those are worth is what they say of themselves. "
        "Drop copies from the file, or give other rows with test=FILE",
    )
