"""Tables in files as data frames: one set of rules for cells, and a type for every column."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accredit.checks import needs
from accredit.checks.files import LONGEST, check_is_file
from accredit.checks.table_format import TableFormat, TableNote
from accredit.checks.tables import Sheet, ending, how_to_save, is_table, read_sheet
from accredit.checks.written_numbers import SHOWN
from accredit.errors import AccreditError, InvalidInput

if TYPE_CHECKING:
    import pandas


PARQUET = 2 << 30  # bytes of cells, after unpacking
NOTES = "accredit notes"  # where a frame keeps how it was read
PADDED = re.compile(r"[+-]?0[0-9]+")  # a code such as 007 rather than a number


def read_frame(path: str | Path, codes: str | None = None, said: TableFormat | None = None) -> pandas.DataFrame:
    """A table in a .csv, .tsv, .jsonl (.gz may follow) or .parquet file as a data frame; empty cells are missing values.

    `codes` names a column in which 01 and 1 are two different words, if numbers with such zeros occur in it. `said` is what is
    known of how the file is written. What a reader must know of how it was read goes along: `notes_of(frame)`.
    """
    notes: tuple[str, ...] = ()
    if ending(path) == ".parquet":
        frame = _parquet(path)
    elif is_table(path):
        sheet = read_sheet(path, said).with_plain_numbers(said)
        frame = _type_of(sheet, codes)
        notes = sheet.notes + _note_missing(sheet, frame) + _note_zeros(sheet, frame)
    else:
        raise InvalidInput(
            f"{str(path)!r} ends in neither .csv, .tsv, .jsonl (.gz may follow) nor .parquet; {how_to_save(path)}",
            code="format",
        )
    if frame.empty:
        raise InvalidInput(f"{str(path)!r} holds no rows; write at least one below the names of the columns", code="empty")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise InvalidInput(
            f"two columns of {str(path)!r} are called {doubled[0]!r}; give each a name of its own", code="duplicate"
        )
    frame = frame.reset_index(drop=True)
    frame.attrs[NOTES] = notes
    return frame


def names_frame(given: object) -> bool:
    """Is this the path of a file that is read as a table? Whether it is there is another question.

    >>> names_frame("rent.csv.gz"), names_frame("A fine film."), names_frame(None)
    (True, False, False)
    """
    if not isinstance(given, str | Path) or not str(given) or len(str(given)) > LONGEST or "\0" in str(given):
        return False
    return is_table(given) or ending(given) == ".parquet"


def notes_of(table: object) -> tuple[str, ...]:
    """How a table was read, if `read_frame` made it."""
    return tuple(getattr(table, "attrs", {}).get(NOTES, ()))


def warn_reading(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The same frame, its notes said as warnings: for what cannot carry them."""
    for note in notes_of(frame):
        warnings.warn(note, TableNote, stacklevel=3)
    return frame


def _note_missing(sheet: Sheet, frame: pandas.DataFrame) -> tuple[str, ...]:
    """Words such as NA or None that count as missing."""
    notes = []
    for k, name in enumerate(sheet.names):
        gone = frame[name].isna().to_numpy()
        words = Counter(row[k] for row, is_gone in zip(sheet.rows, gone, strict=True) if is_gone and row[k])
        if words:
            count = words.total()
            notes.append(
                f"Read as missing in column {name!r} of {Path(sheet.file).name}: {', '.join(map(repr, list(words)[:SHOWN]))} "
                f"({count} cell{'s' * (count != 1)})."
            )
    return tuple(notes)


def _note_zeros(sheet: Sheet, frame: pandas.DataFrame) -> tuple[str, ...]:
    """Numbers that begin with zeros, which are not kept: such a column is often a code."""
    notes = []
    for k, name in enumerate(sheet.names):
        padded = next((row[k] for row in sheet.rows if PADDED.fullmatch(row[k].strip())), None)
        if padded is not None and frame[name].dtype.kind in "iuf":
            notes.append(
                f"Column {name!r} of {Path(sheet.file).name} is written with zeros in front: {padded} was read as the number "
                f"{int(padded)}."
            )
    return tuple(notes)


def _is_padded(sheet: Sheet, column: str | None) -> bool:
    return column in sheet.names and any(PADDED.fullmatch(cell.strip()) for cell in sheet.column(column, "codes"))


def _pandas() -> Any:
    with needs("data", "reading a table"):
        import pandas
    return pandas


def _parquet(path: str | Path) -> pandas.DataFrame:
    check_is_file(path)
    with needs("trees", f"reading {str(path)!r}"):
        import pyarrow.parquet
    try:
        about = pyarrow.parquet.read_metadata(path)
        size = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        cells = about.num_rows * about.num_columns
        if (held := max(size, 8 * cells)) > PARQUET:
            raise InvalidInput(
                f"{str(path)!r} unpacks to {held >> 20:,} MiB; at most {PARQUET >> 20:,} are read: keep only the rows you need",
                code="too-many",
            )
        frame = _with_named_index(_pandas().read_parquet(path)).rename(columns=str)
    except AccreditError:
        raise
    except Exception as error:  # pyarrow has its own kinds of errors for damaged files
        raise InvalidInput(f"{str(path)!r} cannot be read as a table: {_first_line(error)}", code="unreadable") from error
    return frame


def _with_named_index(frame: pandas.DataFrame) -> pandas.DataFrame:
    """An index that has a name is a column of the file, as it would be of a .csv; one without a name only numbers the rows."""
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index(level=named, allow_duplicates=True) if named else frame


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _type_of(sheet: Sheet, codes: str | None = None) -> pandas.DataFrame:
    """Cells as numbers, truth values or words, whichever fits the whole column; pandas reads them from quoted lines."""
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([sheet.names, *sheet.rows])
    out.seek(0)
    kept = {codes: str} if _is_padded(sheet, codes) else None
    frame: pandas.DataFrame = _pandas().read_csv(out, names=list(sheet.names), header=0, index_col=False, dtype=kept)
    return frame
