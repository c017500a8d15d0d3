"""Rows of a table as they are: arrays or data frames side by side, brought to one kind without changing a single value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import filterfalse
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accredit.checks import as_array, needs
from accredit.checks.numbers import a_type
from accredit.checks.suggestions import did_you_mean
from accredit.checks.written_numbers import is_number
from accredit.errors import InvalidInput
from accredit.models.cells import are_plain_numbers, as_array_of_numbers, columns_of
from accredit.store.frames import names_frame, notes_of, read_frame

if TYPE_CHECKING:
    import pandas

    from accredit.core import FloatArray, IntArray
    from accredit.models.row_types import Table
    from accredit.rows.result import Cell

COLUMNS_SHOWN = 8  # column names in a message
NO = frozenset(["no", "n", "false", "nein", "falsch", "non", "faux", "falso", "nej", "falskt", "nee", "onwaar", "nie", "ne"])
MOST_DENSE_CELLS = 50_000_000  # cells of a sparse matrix that are filled in: 400 MB


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows: an array (m, d) or a data frame, with a name per column and per row."""

    table: Table
    columns: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def framed(self) -> bool:
        return hasattr(self.table, "iloc")

    @property
    def frame(self) -> pandas.DataFrame:
        """The table of rows that are framed, with all that a data frame has."""
        return self.table

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: IntArray) -> Table:
        """The table of some rows, by position."""
        return self.frame.iloc[rows] if self.framed else self.table[rows]

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """Each column's values as plain JSON types; missing ones are None."""
        numbers = as_array_of_numbers(self.table)
        if numbers is not None and np.isfinite(numbers).all():
            return tuple(map(tuple, numbers.T.tolist()))
        return tuple(map(_plain_column, columns_of(self.table)))


def rows_of(given: object, columns: Iterable[object] | None = None, what: str = "rows") -> Rows:
    """Rows from a data frame, an array, a list or mapping of columns, or one row; `columns` names those of an array.

    >>> rows_of({"age": 41, "town": "A"}).columns, len(rows_of([[1, 2], [3, 4]]))
    (('age', 'town'), 2)
    """
    frame = _as_frame(given)
    if frame is not None:
        if columns is not None:
            raise InvalidInput(
                f"names is for arrays, and {what} is a data frame whose columns have names; leave names out",
                argument="names",
                code="misplaced",
            )
        names = tuple(str(c) for c in frame.columns)
        _check_distinct(names, what)
        _check_finite(frame, names, what)
        labels = tuple(map(str, frame.index))
        table: Table = frame.reset_index(drop=True)
    else:
        table = _array(given, what)
        names = tuple(f"x{i}" for i in range(table.shape[1])) if columns is None else tuple(map(str, columns))
        _check_distinct(names, "names")
        if len(names) != table.shape[1]:
            raise InvalidInput(
                f"names has {len(names)} entries and {what} {table.shape[1]} columns; they must match",
                argument="names",
                code="shape",
            )
        labels = tuple(map(str, range(len(table))))
    if len(table) == 0 or not names:
        raise InvalidInput(
            f"{what} has {len(table)} rows and {len(names)} columns; give at least one of each", argument=what, code="empty"
        )
    return Rows(table, names, labels)


def _as_frame(given: object) -> pandas.DataFrame | None:
    """Rows that name their columns as a data frame, whatever holds them; None where nothing names them."""
    if isinstance(given, Mapping):
        held = all(isinstance(value, list | np.ndarray) or hasattr(value, "iloc") for value in given.values())
        return _frame({name: list(column) for name, column in given.items()} if given and held else [dict(given)])
    if isinstance(given, list | tuple) and len(given) and all(isinstance(row, Mapping) for row in given):
        return _frame([dict(row) for row in given])
    if hasattr(given, "iloc"):
        return given if hasattr(given, "columns") else _unstack(given)
    if isinstance(given, str | PurePath) and names_frame(given):
        return read_frame(str(given))
    if hasattr(given, "collect_schema") and hasattr(given, "collect"):  # a lazy frame of polars
        given = given.collect()
    if hasattr(given, "to_pandas"):
        return given.to_pandas()
    if isinstance(given, np.ndarray) and given.dtype.names:
        return _frame({name: np.atleast_1d(given)[name] for name in given.dtype.names})
    return None


def _check_finite(frame: pandas.DataFrame, names: tuple[str, ...], what: str) -> None:
    if are_plain_numbers(frame) and not np.isinf(frame.to_numpy(dtype=np.float64)).any():
        return
    for name, column in zip(names, columns_of(frame), strict=True):
        if getattr(column.dtype, "kind", "O") == "c":
            raise InvalidInput(f"{what} holds complex numbers in column {name!r}; give real ones", argument=what, code="type")
        if getattr(column.dtype, "kind", "O") == "f" and np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise InvalidInput(
                f"{what} holds an infinite value in column {name!r}; replace it first", argument=what, code="not-finite"
            )


def numbers_or_words(rows: Rows) -> Iterator[FloatArray | npt.NDArray[np.str_]]:
    """Each column as floats, where it holds numbers, booleans or dates (missing ones are NaN), else as text."""
    for column in columns_of(rows.table):
        kind = getattr(column.dtype, "kind", "O")
        if kind in "mM":
            dated = np.asarray(column, dtype=f"{kind}8[ns]")
            yield np.where(np.isnat(dated), np.nan, dated.astype(np.int64))
        elif kind in "biuf":
            yield column.astype(np.float64) if isinstance(column, np.ndarray) else column.to_numpy(np.float64, na_value=np.nan)
        elif all(isinstance(value, int | float | np.number | np.bool_ | None) for value in column):
            yield np.array([np.nan if value is None else float(value) for value in column])
        else:
            yield np.array([str(value) for value in column])


def align(rows: object, background: Rows, what: str = "rows") -> Rows:
    """The rows with the background's columns in its order: by name where they have names, by position where they do not."""
    if isinstance(rows, Rows):
        given = rows
    elif (frame := _as_frame(rows)) is not None:
        given = rows_of(frame, what=what)
    else:
        given = rows_of(rows, background.columns if _width(rows) == len(background.columns) else None, what)
    if given.framed:
        return _by_name(given, background, what)
    if len(given.columns) != len(background.columns):
        raise InvalidInput(
            f"{what} has {len(given.columns)} columns and background {len(background.columns)}; they must match",
            argument=what,
            code="shape",
        )
    if not background.framed:
        return Rows(given.table, background.columns, given.names)
    frame = _frame(given.table.tolist(), background.frame.columns)
    return Rows(frame, background.columns, given.names)


def densify(given: Any, absent: float, what: str = "rows") -> tuple[object, tuple[str, ...]]:
    """A sparse matrix as an array, and what to say about its absent cells: whoever fills it decides what they are. Anything
    else as it is. How large the array will be is known before it is made.

    >>> import scipy.sparse
    >>> densify(scipy.sparse.csr_array([[0.0, 2.0]]), 0.0)
    (array([[0., 2.]]), ('The absent cells of rows, a sparse matrix, were read as 0.',))
    """
    if not hasattr(given, "tocoo"):
        return given, ()
    cells = int(np.prod(given.shape))
    if cells > MOST_DENSE_CELLS:
        raise InvalidInput(
            f"{what} is a sparse matrix of {' × '.join(f'{size:,}' for size in given.shape)} cells, and at most "
            f"{MOST_DENSE_CELLS:,} are filled in; give fewer rows, or only the columns that the model uses",
            argument=what,
            code="too-many",
        )
    held = given.tocsr().tocoo()  # which adds up cells that are given twice
    table = np.full(held.shape, absent, dtype=np.result_type(held.dtype, np.float64))
    table[held.row, held.col] = held.data
    said = "missing, as xgboost reads them" if np.isnan(absent) else f"{absent:g}"
    return table, (f"The absent cells of {what}, a sparse matrix, were read as {said}.",)


def match_columns(given: object, wanted: tuple[str, ...] | None, what: str = "rows") -> tuple[object, tuple[str, ...]]:
    """Rows with the columns that a model has learned from, in its order, where both name them; and what a reader must know:
    how the rows were read from a file, and which columns were left out or moved.

    >>> frame, notes = match_columns({"id": 7, "pay": 1.5, "age": 41}, ("age", "pay"))
    >>> list(frame.columns), notes
    (['age', 'pay'], ("Column 'id' of rows, which the model has not learned from, was left out.",))
    """
    frame = _as_frame(given)
    if frame is None:
        return given, ()
    notes = notes_of(frame)
    names = [str(name) for name in frame.columns]
    plain = [name.replace(" ", "_") for name in names]
    if wanted is not None and not set(wanted) <= set(names) and set(wanted) <= set(plain):
        wanted = tuple(names[plain.index(name)] for name in wanted)  # lightgbm writes names without blanks
    if wanted is not None and not set(wanted) <= set(names) and len(set(bare := [n.strip() for n in names])) == len(names):
        learned = {name.strip(): name for name in wanted}  # names with blanks around them are the same columns
        names = [learned.get(plain, name) for plain, name in zip(bare, names, strict=True)]
        frame = frame.set_axis(names, axis=1) if set(wanted) <= set(names) else frame
    if wanted is None or not names or names == list(wanted) or len(set(names)) < len(names):
        return frame, notes
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InvalidInput(
            f"{what} lacks the {_count_columns(missing)} {_read_list(missing)}, which the model has learned from; {what} has "
            f"{_read_list(names)}{did_you_mean(missing[0], names)}",
            argument=what,
            code="missing",
        )
    extra = [name for name in names if name not in wanted]
    if extra:
        said = _count_columns(extra).capitalize()
        were = "was" if len(extra) == 1 else "were"
        notes += (f"{said} {_read_list(extra)} of {what}, which the model has not learned from, {were} left out.",)
    elif set(names) == set(wanted):
        notes += (f"The columns of {what} were put into the order in which the model has learned them.",)
    return frame.iloc[:, [names.index(name) for name in wanted]], notes


def _count_columns(names: list[str]) -> str:
    return f"column{'s' * (len(names) > 1)}"


def _by_name(given: Rows, background: Rows, what: str) -> Rows:
    if not background.framed and not set(given.columns) & set(background.columns):
        raise InvalidInput(
            f"{what} has named columns ({_read_list(list(given.columns))}) and background has none; give both as data "
            "frames, or both as arrays",
            argument=what,
            code="conflict",
        )
    missing = [c for c in background.columns if c not in given.columns]
    extra = [c for c in given.columns if c not in background.columns]
    if missing or extra:
        said = f"lacks the column{'s' * (len(missing) > 1)} {_read_list(missing)}" if missing else ""
        said += " and " * bool(missing and extra)
        said += f"has the column{'s' * (len(extra) > 1)} {_read_list(extra)}, which the background lacks" if extra else ""
        raise InvalidInput(
            f"{what} {said}; give exactly the background's columns: {what}[list(background.columns)]",
            argument=what,
            code="conflict",
        )
    table = given.frame
    if given.columns != background.columns:
        table = table.iloc[:, [given.columns.index(c) for c in background.columns]]
    if not background.framed:
        return Rows(table.to_numpy(), background.columns, given.names)
    return Rows(table.set_axis(background.frame.columns, axis=1), background.columns, given.names)


def join(rows: Rows, background: Rows) -> tuple[Table, tuple[str, ...]]:
    """Background and rows in one table, background first, and what had to be widened. No value changes, or it is refused.

    >>> table, notes = join(rows_of([[2.9]]), rows_of([[1], [3]]))
    >>> table.ravel().tolist(), notes
    ([1.0, 3.0, 2.9], ())
    """
    if not background.framed:
        both = np.concatenate([background.table, rows.table])
        for part, given in ((both[: len(background)], background.table), (both[len(background) :], rows.table)):
            if not _same(part, given):
                raise InvalidInput(
                    f"rows of {rows.table.dtype} and a background of {background.table.dtype} have no common type that keeps "
                    "every value; give both as data frames",
                    code="conflict",
                )
        return both, ()
    import pandas

    columns, notes = {}, []
    pairs = zip(background.columns, columns_of(rows.table), columns_of(background.table), strict=True)
    for i, (name, row, other) in enumerate(pairs):
        columns[i], note = _join_column(row, other, name)
        notes += [note] if note else []
    return pandas.DataFrame(columns).set_axis(background.frame.columns, axis=1), tuple(notes)


def fit(rows: Rows, background: Rows) -> Rows:
    """The rows with the background's types where that changes no value."""
    if not background.framed or _alike(rows.table, background.table):
        return rows
    import pandas

    pairs = zip(background.columns, columns_of(rows.table), columns_of(background.table), strict=True)
    columns = {i: _fit_column(row, other, name) for i, (name, row, other) in enumerate(pairs)}
    return Rows(pandas.DataFrame(columns).set_axis(background.frame.columns, axis=1), rows.columns, rows.names)


def kinds_of(table: Table) -> tuple[object, ...]:
    """The types of a table's columns."""
    return (table.dtype,) if isinstance(table, np.ndarray) else tuple(table.dtypes)


def type_of(table: Table, like: Table) -> Table | None:
    """A table with the column types of another; None where that changes a value."""
    if isinstance(table, np.ndarray):
        if table.dtype == like.dtype:
            return table
        cast = table.astype(like.dtype)
        return cast if _same(cast, table) else None
    kinds = kinds_of(like)
    if _alike(table, like):
        return table
    parts = [_fitting(column, kind) for column, kind in zip(columns_of(table), kinds, strict=True)]
    if any(part.dtype != kind for part, kind in zip(parts, kinds, strict=True)):
        return None
    import pandas

    return pandas.DataFrame(dict(enumerate(parts))).set_axis(table.columns, axis=1)


def stack(first: Table, second: Table) -> Table:
    """Two tables with the same columns and types below one another."""
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    import pandas

    return pandas.concat([first, second], ignore_index=True)


def part(table: Table, start: int, stop: int) -> Table:
    """Some rows of an array or a data frame."""
    return table[start:stop] if isinstance(table, np.ndarray) else table.iloc[start:stop].reset_index(drop=True)


def _alike(one: pandas.DataFrame, other: pandas.DataFrame) -> bool:
    """Do the columns of two frames have the same types, with categories in the same order?"""
    return all(
        a == b and (not hasattr(a, "categories") or a.categories.equals(b.categories))
        for a, b in zip(one.dtypes, other.dtypes, strict=True)
    )


def _fit_column(row: pandas.Series, background: pandas.Series, name: str) -> pandas.Series:
    import pandas

    if not isinstance(background.dtype, pandas.CategoricalDtype):
        return row if row.dtype == background.dtype else _fitting(row, background.dtype)
    kinds = background.dtype.categories
    unseen = [v for v in row if v == v and v is not None and v not in kinds]
    if unseen:
        raise InvalidInput(
            f"column {name!r} holds {unseen[0]!r}, which is not one of the background's categories "
            f"({_read_list([str(k) for k in kinds])}); if the model has learned it, add it to the background's categories",
            code="unknown",
        )
    return pandas.Series(pandas.Categorical(list(row), dtype=background.dtype))


def _join_column(row: pandas.Series, background: pandas.Series, name: str) -> tuple[pandas.Series, str]:
    import pandas

    fit = _fit_column(row, background, name)
    both = pandas.concat([background, fit], ignore_index=True)
    if both.dtype == background.dtype == fit.dtype:
        return both, ""
    widened = both.dtype != background.dtype
    if both.dtype == object and background.dtype != object:
        both = _numeric(both, row, background.dtype, name)
    for part, given in ((both.iloc[: len(background)], background), (both.iloc[len(background) :], row)):
        if not _same_cells(part, given):
            raise InvalidInput(
                f"column {name!r}: {given.dtype} values change when they become {both.dtype}; give both the same type",
                code="conflict",
            )
    note = f"column {name!r} was widened from {background.dtype} to {both.dtype} to hold the rows' values"
    return both, note if widened else ""


def _fitting(row: pandas.Series, dtype: object) -> pandas.Series:
    """A column in the background's type, if that changes none of its values; else as it is."""
    try:
        cast = row.astype(dtype)
        return cast if _same_cells(cast, row) else row
    except (TypeError, ValueError, OverflowError):
        return row


def _numeric(both: pandas.Series, row: pandas.Series, dtype: object, name: str) -> pandas.Series:
    """A column of mixed booleans and numbers as floats; anything else is refused."""
    odd = [v for v in row if not isinstance(v, int | float | np.number | np.bool_)]
    if odd or not all(isinstance(v, int | float | np.number | np.bool_) for v in both):
        value = next(filterfalse(is_number, filter(_is_text, odd)), (odd or row.tolist())[0])
        raise InvalidInput(
            f"column {name!r} is {dtype} in the background and holds {value!r} in the rows; give both the same type"
            f"{_advise_words(row, dtype, value)}",
            code="conflict",
        )
    return both.astype(np.float64)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _advise_words(row: pandas.Series, dtype: object, value: object) -> str:
    """What to write where words of a file stand beside numbers or truth values."""
    if isinstance(value, Decimal):
        return "; rows of a database: rows.astype(float)"
    if not _is_text(value):
        return ""
    words = sorted({str(v) for v in row if _is_text(v)})
    if str(dtype) == "bool" and len(words) <= 2:
        yes = next((word for word in words if word.lower() not in NO), "…")
        no = next((word for word in words if word != yes), "…")
        return f"; of a file, say which word is true and which is false: truth='{yes},{no}'"
    return "" if re.search(r"\d", str(value)) else f"; of a file, if it stands for a missing value: missing={value!r:.40}"


def _same_cells(part: pandas.Series, given: pandas.Series) -> bool:
    missing = part.isna().to_numpy()
    if not np.array_equal(missing, given.isna().to_numpy()):
        return False
    return all(a == b for a, b, gone in zip(part, given, missing, strict=True) if not gone)


def _same(part: npt.NDArray[np.generic], given: npt.NDArray[np.generic]) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(((part == given) | ((part != part) & (given != given))).all())


def _array(given: object, what: str) -> npt.NDArray[np.generic]:
    """Rows (m, d) as an array of their own type."""
    if hasattr(given, "tocoo"):
        raise InvalidInput(
            f"{what} is a sparse matrix ({type(given).__name__}); give {what}.toarray(), NaN where the model takes absent "
            "cells for missing",
            argument=what,
            code="type",
        )
    if isinstance(given, str | bytes | PurePath):
        raise InvalidInput(
            f"{what} is {str(given)!r:.60}; give rows, or the name of a .csv, .tsv, .jsonl (.gz may follow) or .parquet file",
            code="type",
            argument=what,
        )
    table = as_array(given, what)
    if table.ndim == 0:
        raise InvalidInput(
            f"{what} is {a_type(given)}; give a data frame, an array of rows × columns, or a mapping of one row",
            code="type",
            argument=what,
        )
    table = table[None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise InvalidInput(f"{what} has shape {table.shape}; give rows × columns", code="shape", argument=what)
    if table.dtype.kind == "c":
        raise InvalidInput(f"{what} holds complex numbers; give real ones", argument=what, code="type")
    if table.dtype.kind == "f" and np.isinf(table).any():
        raise InvalidInput(f"{what} holds an infinite value; replace it first", argument=what, code="not-finite")
    if table.dtype == object and any(type(value).__name__ == "NAType" for value in table.flat):
        raise InvalidInput(
            f"{what} holds <NA> in an array; write None or NaN, or give a data frame", argument=what, code="type"
        )
    if table.dtype.kind in "US" and isinstance(given, Iterable):
        rows = _collect_rows(given)
        if any(isinstance(value, int | float) for row in rows for value in row):
            return np.array([list(row) for row in rows], dtype=np.object_)  # numpy would turn numbers into words
    return table


def _collect_rows(given: Iterable[object]) -> list[list[object]]:
    """The cells of rows, or of one row."""
    rows = list(given)
    nested = [list(row) for row in rows if isinstance(row, list | tuple | np.ndarray)]
    return nested if nested and len(nested) == len(rows) else [rows]


def _width(given: object) -> int:
    """Columns of an array or of rows in a list; 0 where they differ."""
    try:
        shape = given.shape if hasattr(given, "shape") else np.asarray(given).shape
    except ValueError:
        return 0
    return int(shape[-1]) if shape else 0


def _unstack(series: pandas.Series) -> pandas.DataFrame:
    """One row as a frame that keeps each cell's own type."""
    held = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
    cells = series.to_numpy()[None] if held else [series.tolist()]
    return _frame(cells, series.index, [series.name if series.name is not None else 0])


def _frame(rows: object, columns: object = None, index: object = None) -> pandas.DataFrame:
    with needs("data", "rows with named columns"):
        import pandas
    return pandas.DataFrame(rows, columns=columns, index=index)


def _check_distinct(names: tuple[str, ...], what: str) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise InvalidInput(
            f"{what} has several columns called {doubled[0]!r}; columns are players, so their names must differ",
            argument=what,
            code="duplicate",
        )


def _read_list(names: list[str]) -> str:
    return ", ".join(map(repr, names[:COLUMNS_SHOWN])) + (", …" if len(names) > COLUMNS_SHOWN else "")


def _plain_column(column: npt.NDArray[np.generic] | pandas.Series) -> tuple[Cell, ...]:
    """The values of a column as JSON types; those of finite numbers need no look at each."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf" and np.isfinite(numbers := np.asarray(column)).all():
        return tuple(numbers.tolist())
    return tuple(plain_cell(value) for value in column)


def plain_cell(value: object) -> Cell:
    """A value as a JSON type: numbers and booleans stay, missing is None, everything else is its text."""
    if value is None or (isinstance(value, float | np.floating) and not np.isfinite(value)):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str):
        return value
    text = str(value)
    return None if text in ("NaT", "<NA>") else text
