"""Which input column each encoded column belongs to, found out by changing one input column at a time.

A one-hot block belongs to the column that it encodes, a scaled number to its own column; a principal component belongs to
nobody. What the encoder is called does not matter: each input column is exchanged between rows, and the encoded columns that
change are its own. The answer is then tried on random mixtures of rows, and refused where encoding a mixture is not the
mixture of the encodings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import as_array, real_numbers
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.cells import take_cells
from accredit.trees.tables import spans

if TYPE_CHECKING:
    from accredit.models.row_types import Table, TableFunction

EXCHANGED_ROWS = 128  # rows on which columns are exchanged, beside those where an encoded column is smallest or largest
EXCHANGED_CELLS = 1 << 20  # that are encoded at once: calling an encoder costs more than a few rows
MIXTURES_TRIED = 256  # mixtures that are tried


class NotSeparable(InvalidInput):
    """An encoded column depends on several input columns, so that it cannot belong to one.

    >>> owners(lambda rows: rows.sum(axis=1, keepdims=True), np.array([[1, 2], [-3, 4], [5, 6]]))
    Traceback (most recent call last):
        ...
    accredit.trees.separable.NotSeparable: encoded column 0 depends on the columns 0, 1 together; credit it to a ...
    """

    usual = "unsupported"


@check_arguments
def owners(encode: Callable[[Table], FloatArray], rows: Table) -> IntArray:
    """The input column that each encoded column belongs to: (encoded,). `rows` hold every value that will be mixed.

    >>> owners(lambda rows: np.stack([rows[:, 1], rows[:, 0] > 0, -rows[:, 1]], axis=1), np.array([[1, 2], [-3, 4], [5, 6]]))
    array([1, 0, 1])
    """
    if not hasattr(rows, "iloc"):
        rows = as_array(rows, "rows")
    if len(rows.shape) != 2 or not len(rows):
        raise InvalidInput(
            f"rows has shape {rows.shape}; give rows × columns with at least one row", argument="rows", code="shape"
        )
    encoded = real_numbers(encode(rows), "what encode returns")
    if encoded.ndim != 2 or len(encoded) != len(rows):
        raise InvalidInput(
            f"encode returned shape {encoded.shape} for {len(rows)} rows; it must return one row each",
            argument="encode",
            code="shape",
        )
    known = np.where(np.isnan(encoded), -np.inf, encoded)
    picked = np.unique(np.concatenate([known.argmin(axis=0), known.argmax(axis=0), np.arange(min(EXCHANGED_ROWS, len(known)))]))
    some, before = _take(rows, picked), encoded[picked]
    columns = some.shape[1]
    changed = np.zeros((encoded.shape[1], columns), dtype=bool)
    for part in spans(columns, EXCHANGED_CELLS // (len(picked) * columns)):
        exchanged = np.arange(part.start, part.stop)  # tables beside one another, each with one column exchanged
        one = np.tile(np.arange(len(picked)), len(exchanged))
        kept = np.repeat(exchanged, len(picked))[:, None] != np.arange(columns)
        after = encode(mixtures(some, one, np.tile(np.roll(np.arange(len(picked)), 1), len(exchanged)), kept))
        same = _same(after.reshape(len(exchanged), *before.shape), before)
        changed[:, part] = ~same.all(axis=1).T
    several = changed.sum(axis=1) > 1
    if several.any():
        which = int(np.argmax(several))
        names = [_name(some, c) for c in np.flatnonzero(changed[which])[:4]]
        raise NotSeparable(
            f"encoded column {which} depends on the columns {', '.join(names)} together; credit it to a group of these, or "
            "explain the model as a function of rows"
        )
    own: IntArray = changed.argmax(axis=1)  # a column that never changes belongs to anybody
    _try_mixtures(encode, rows, encoded, own)
    return own


def still_own(encode: TableFunction, rows: Table, encoded: FloatArray, own: IntArray, first: int | None = None) -> bool:
    """Is encoding a mixture of two rows the mixture of their encodings, if encoded columns belong to `own`? One of the two is
    among the `first` rows; None: both are any."""
    rng = np.random.default_rng(0)
    one, other = (
        rng.integers(0, len(encoded) if first is None else first, MIXTURES_TRIED),
        rng.integers(0, len(encoded), MIXTURES_TRIED),
    )
    kept = rng.random((MIXTURES_TRIED, rows.shape[1])) < 0.5
    expected = np.where(kept[:, own], encoded[one], encoded[other])
    return bool(_same(encode(mixtures(rows, one, other, kept)), expected).all())


def _try_mixtures(encode: TableFunction, rows: Table, encoded: FloatArray, own: IntArray) -> None:
    """Refuse where encoding a mixture of two rows is not the mixture of their encodings."""
    if not still_own(encode, rows, encoded, own):
        raise NotSeparable(
            "the encoding of a mixture of two rows is not the mixture of their encodings, so that columns cannot be credited "
            "one by one; explain the model as a function of rows"
        )


def mixtures(rows: Table, first: IntArray, second: IntArray, kept: BoolArray) -> Table:
    """Rows that take kept columns from one row and the others from a second: (m,), (m,), (m, columns) -> (m, columns)."""
    return take_cells(rows, np.where(kept, first[:, None], second[:, None]))


def any_mixtures(rows: Table) -> Table:
    """Some mixtures of pairs of rows, drawn at random, and the first rows themselves."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, len(rows), (2, MIXTURES_TRIED))
    kept = rng.random((MIXTURES_TRIED, rows.shape[1])) < 0.5
    kept[: min(EXCHANGED_ROWS, len(rows))] = True
    one[: min(EXCHANGED_ROWS, len(rows))] = np.arange(min(EXCHANGED_ROWS, len(rows)))
    return mixtures(rows, one, other, kept)


def _same(a: FloatArray, b: FloatArray) -> BoolArray:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _take(rows: Table, which: IntArray) -> Table:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def _name(rows: Table, column: int) -> str:
    return str(rows.columns[column]) if hasattr(rows, "columns") else str(column)
