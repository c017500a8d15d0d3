"""Columns of a table as the numbers that a model learns from: numbers, dates and categories, with their gaps.

Files as people keep them hold more than that. A gap is filled and marked, a date becomes days, a column of too many words for
categories is left out; each is said in a note. What would change the question is refused: texts, and numbers among which some
are words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput
from accredit.training_data.table_notes import MANY_KINDS
from accredit.valuation.split import LARGEST_NUMBER, is_number
from accredit.valuation.targets import rows

if TYPE_CHECKING:
    import pandas

WORDS_OF_A_TEXT = 3.0  # on average, from which a column of many different cells holds texts, not names
GAP = "(missing)"  # the category of an empty cell
ROWS_OF_AN_ID = 20  # training rows, from which different whole numbers are no chance
CALLED_ID = re.compile(
    r"(^|[_ .-])(?i:id|index|idx|key|uuid|guid)$|[a-z]I[dD]$|^Unnamed: 0$|^(?i:row|record)([_ ]?(no|nr|number))?$"
)
DATE_FORMATS = ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y")  # besides ISO 8601
SECONDS_PER_DAY = 86_400.0
FILLED, A_CATEGORY = "read as the median, and as missing in a column of its own", "an empty cell is a category of its own"
COLUMNS_NAMED = 3  # of those with empty cells

Block = tuple[FloatArray, FloatArray]  # of training and of test rows: (rows, numbers)


def column_features(
    train: pandas.DataFrame, held: pandas.DataFrame, left_out: set[str | None]
) -> tuple[FloatArray, FloatArray, tuple[str, ...], tuple[str, ...]]:
    """What is learned from training and test rows, the columns that it comes from, and notes on what was made of them."""
    blocks: dict[str, Block] = {}
    notes: list[str] = []
    names: list[str] = []
    gaps: dict[str, dict[str, int]] = {FILLED: {}, A_CATEGORY: {}}  # what is made of empty cells -> column -> how many
    seen = [column for column in train.columns if column not in left_out]
    for column in seen:
        parts = (train[column], held[column])
        if parts[0].isna().all():
            notes.append(f"column {column!r} is empty in all training rows and is left out")
        elif len(seen) > 1 and _names_rows(*parts):
            notes.append(
                f"column {column!r} numbers the rows, as an id does, and is left out; identity={str(column)!r} names rows by it"
            )
        elif parts[0].dtype.kind in "iufb" or _are_many_numbers(parts[0]):
            blocks[column] = _numbers(*parts)
            gaps[FILLED][column] = _empty_cells(*parts)
        elif (days := _days(*parts)) is not None:
            blocks[column] = days
            gaps[FILLED][column] = _empty_cells(*parts)
            notes.append(f"column {column!r} holds dates and is read as days")
        elif _has_many_words(*parts):
            names.append(column)
            notes.append(
                f"column {column!r} holds {parts[0].nunique()} different words in {len(train)} rows, too many for categories, "
                "and is left out"
            )
        else:
            blocks[column] = _categories(*parts)
            gaps[A_CATEGORY][column] = _empty_cells(*parts)
    if not blocks and names:
        _refuse_many(train[names[0]])
    if not blocks:
        raise InvalidInput("there is no column left to learn from; name a text column with text=COLUMN", code="missing")
    x, test_x = (np.hstack(sides) for sides in zip(*blocks.values(), strict=True))
    told = [note for made, empty in gaps.items() for note in _on_gaps(empty, made)]
    return x, test_x, tuple(blocks), (*notes, *told)


def _names_rows(train: pandas.Series, held: pandas.Series) -> bool:
    """Whether whole numbers name the rows: no two are alike, and they count from 0 or 1 without a gap, or the column is called
    an id. A model would learn from them in which order the rows were written."""
    import pandas

    if len(train) < ROWS_OF_AN_ID or train.dtype.kind not in "iu" or held.dtype.kind not in "iu":
        return False
    for part in (train, pandas.concat([train, held])):
        if part.nunique() == len(part):
            first, last = int(part.min()), int(part.max())
            if (first in (0, 1) and last - first + 1 == len(part)) or CALLED_ID.search(str(train.name)):
                return True
    return False


def _empty_cells(train: pandas.Series, held: pandas.Series) -> int:
    return int(train.isna().sum() + held.isna().sum())


def _on_gaps(empty: Mapping[str, int], made: str) -> tuple[str, ...]:
    """One note on all columns with empty cells.

    >>> _on_gaps({"size": 2, "age": 0}, FILLED), len(_on_gaps({"size": 2, "age": 7}, FILLED))
    (("column 'size' is empty in 2 rows: read as the median, and as missing in a column of its own",), 1)
    """
    counts = [(column, count) for column, count in empty.items() if count]
    if len(counts) < 2:
        return tuple(f"column {column!r} is empty in {rows(count)}: {made}" for column, count in counts)
    listed = ", ".join(f"{column!r} in {rows(count)}" for column, count in counts[:COLUMNS_NAMED])
    more = f" and {len(counts) - COLUMNS_NAMED} more" if len(counts) > COLUMNS_NAMED else ""
    return (f"{len(counts)} columns have empty cells, {listed}{more}: {made}",)


def _numbers(train: pandas.Series, held: pandas.Series) -> Block:
    """Numbers as they are."""
    return _with_gaps(_finite(train), _finite(held))


def _finite(column: pandas.Series) -> FloatArray:
    if column.dtype.kind not in "iufb" and not _are_numbers(column):
        word = next(v for v in column.dropna() if not is_number(v))
        raise InvalidInput(
            f"column {column.name!r} holds numbers in the training rows and words in the test rows, for example {word!r}",
            code="type",
        )
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.abs(numbers) >= LARGEST_NUMBER
    if bad.any():
        raise InvalidInput(
            f"column {column.name!r} holds {numbers[bad][0]} in {rows(int(bad.sum()))}; fill, scale or drop them",
            code="not-finite",
        )
    return np.asarray(numbers)


def _are_numbers(column: pandas.Series) -> bool:
    return all(map(is_number, column.dropna()))


def _are_many_numbers(column: pandas.Series) -> bool:
    """Whether a file holds numbers as words, too many to be codes of categories."""
    return not are_few(column) and _are_numbers(column)


def are_few(column: pandas.Series) -> bool:
    """Whether words are few enough to be categories."""
    return bool(column.nunique() <= min(MANY_KINDS, max(2, len(column) // 2)))


def _with_gaps(train: FloatArray, held: FloatArray) -> Block:
    """Gaps filled with the median of the training rows, and beside the numbers where they were.

    >>> _with_gaps(np.array([1.0, np.nan, 3.0]), np.array([4.0]))
    (array([[1., 0.],
           [2., 1.],
           [3., 0.]]), array([[4., 0.]]))
    """
    middle, gaps = float(np.nanmedian(train)), (np.isnan(train), np.isnan(held))
    parts = [np.where(gap, middle, part)[:, None] for gap, part in zip(gaps, (train, held), strict=True)]
    if any(gap.any() for gap in gaps):
        parts = [np.column_stack([part, gap]) for part, gap in zip(parts, gaps, strict=True)]
    return parts[0], parts[1]


def _days(train: pandas.Series, held: pandas.Series) -> Block | None:
    """Days since 1970 of cells that are all dates; None where they are not, or may be read in two ways."""
    cells = [[None if gap else str(cell) for cell, gap in zip(c, c.isna(), strict=True)] for c in (train, held)]
    ways: list[Callable[[str], datetime]] = [datetime.fromisoformat, *(_reader(form) for form in DATE_FORMATS)]
    read = [found for way in ways if (found := _read_dates(cells, way)) is not None]
    if len(read) != 1:
        return None
    return _with_gaps(*read[0])


def _reader(form: str) -> Callable[[str], datetime]:
    return lambda cell: datetime.strptime(cell, form)


def _read_dates(cells: Sequence[Sequence[str | None]], way: Callable[[str], datetime]) -> tuple[FloatArray, FloatArray] | None:
    """Every cell read in one way, as days; None where one cannot be."""
    try:
        days = [np.array([np.nan if cell is None else _days_of(way(cell.strip())) for cell in part]) for part in cells]
    except (ValueError, OverflowError):
        return None
    return days[0], days[1]


def _days_of(moment: datetime) -> float:
    """Days since 1970, in UTC; a moment without a zone is taken as it stands."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / SECONDS_PER_DAY


def _has_many_words(train: pandas.Series, held: pandas.Series) -> bool:
    """Whether there are too many words for categories, as in names; refuses texts, and numbers with a few words."""
    cells = [str(cell) for cell in (*train.dropna(), *held.dropna())]
    words = [cell for cell in cells if not is_number(cell)]
    if 0 < len(words) <= len(cells) // 10:
        raise InvalidInput(
            f"column {train.name!r} holds numbers and, in {len(words)} of {len(cells)} rows, words, for example "
            f"{words[0]!r:.40}; write numbers in all of them, or words in all of them",
            code="type",
        )
    if are_few(train):
        return False
    if np.mean([len(cell.split()) for cell in cells]) >= WORDS_OF_A_TEXT:
        _refuse_many(train)
    return True


def _refuse_many(column: pandas.Series) -> None:
    raise InvalidInput(
        f"column {column.name!r} holds {column.nunique()} different words in {len(column)} rows, too many for categories; name "
        "it with text=COLUMN, or leave it out of the file",
        code="too-many",
    )


def _categories(train: pandas.Series, held: pandas.Series) -> Block:
    """One column of zeros and ones for every word of the training rows, and for empty cells of either part."""
    words = [np.where(part.isna(), GAP, part.astype(str)) for part in (train, held)]
    kinds = np.unique([*words[0], *words[1][held.isna()]])
    hot: list[BoolArray] = [part[:, None] == kinds for part in words]
    return hot[0].astype(np.float64), hot[1].astype(np.float64)
