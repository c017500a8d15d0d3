"""Tables in files: CSV, TSV and JSON lines, read by one set of rules wherever a command or a function takes one.

The rules, which docs/tables.md states for readers: what is certain is read, and a note says how; what can be read in two ways
is refused with the line, the column and the setting of `TableFormat` that decides. The first line names the columns, each
name once. Every other line has as many cells as the first one; lines of blanks are skipped. A cell that JSON leaves out is
empty.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from accredit.checks.encodings import decode
from accredit.checks.files import LIMIT, as_path, check_is_file, read_bytes
from accredit.checks.json_data import read_json
from accredit.checks.lazy import needs
from accredit.checks.suggestions import did_you_mean
from accredit.checks.table_format import DELIMITERS, KEEP, TableFormat, TableNote, current_format
from accredit.checks.written_numbers import NULL, SHOWN, NumberColumns, is_number
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas

TOO_LONG = "split it, or keep only the rows you need"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
EXCEL_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # the first line of some of Excel's files
RULED = re.compile(r"[-+=| ]+")  # a line that is drawn below the names of columns, or around a table
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
FORMULA = re.compile(r'="([^"]*)"')  # how Excel is told that a cell is a text
QUOTED_NAMES = re.compile(r'"[^"]*"(?: "[^"]*")+')  # how R writes names between blanks
FIXED_WIDTH = re.compile(r" *\S+(?: {2,}\S+)+ *")
MOST_ABOVE = 20  # lines of a title
BORDER = re.compile(r"[+|][-+=|]{3,}[+|]")  # of a table as databases print it
UNNAMED = re.compile(r"(Unnamed: 0(\.\d+)?)?")  # what pandas and R call a column of row names
Lines = list[tuple[int, list[str]]]  # where a row begins in its file, counted from 1, and its cells


@dataclass(frozen=True)
class Sheet:
    """The cells of a table as text, and where each row stands."""

    file: str
    names: tuple[str, ...]  # of the columns, each once
    rows: tuple[tuple[str, ...], ...]  # each as long as `names`
    lines: tuple[int, ...]  # of the file, counted from 1: where each row begins
    delimiter: str = ","
    how: tuple[str, ...] = ()  # it was read, where that goes beyond what its name says: "with ; as delimiter"
    remarks: tuple[str, ...] = ()  # what was left out or changed on the way

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of how the file was read."""
        said = f"The file {Path(self.file).name} was read {' and '.join(self.how)}."
        return (said, *self.remarks) if self.how else self.remarks

    def records(self) -> Iterator[dict[str, str]]:
        """Row by row, column -> cell."""
        return (dict(zip(self.names, row, strict=True)) for row in self.rows)

    def with_plain_numbers(self, said: TableFormat | None = None, words: Iterable[str] = ()) -> Sheet:
        """The same with numbers as Python writes them, whatever stands for the decimal mark, thousands, currencies and missing
        values; columns of words, and those named so, stay as they are."""
        said = said or current_format()
        columns = NumberColumns(self.file, self.names, self.rows, self.lines, self.delimiter, said, frozenset(words))
        rows = columns.rewrite()
        return replace(self, rows=rows, how=self.how + columns.how, remarks=self.remarks + tuple(columns.notes))

    def column(self, name: str | None, argument: str) -> list[str]:
        """The cells of one column, by name; without a name, those of the only one. `argument` is what a person sets to name
        it."""
        if name is None and len(self.names) == 1:
            name = self.names[0]
        if name is None or name not in self.names:
            what = "no column was named" if name is None else f"there is no column {name!r}"
            columns = ", ".join(self.names) or "none"
            meant = did_you_mean(name, self.names)
            raise InvalidInput(
                f"{what} in {self.file!r}; its columns are {columns}: pick one with {argument}=…{meant}",
                argument=argument,
                code="missing" if name is None else "unknown",
            )
        at = self.names.index(name)
        return [row[at] for row in self.rows]


def ending(path: str | Path) -> str:
    """How the name of a file ends, in lower case and without .gz.

    >>> ending("Reviews.CSV.gz")
    '.csv'
    """
    return Path(as_path(path).name.lower().removesuffix(".gz")).suffix


def is_table(path: str | Path) -> bool:
    """Is a file of this name read as a table?"""
    return ending(path) in (*SEPARATORS, *JSON_LINES)


def read_sheet(path: str | Path, said: TableFormat | None = None) -> Sheet:
    """The table in a .csv, .tsv, .jsonl or .ndjson file (.gz may follow). `said` is what is known of how it is written."""
    check_is_file(path)
    file, kind, said = str(path), ending(path), said or current_format()
    if not is_table(path):
        raise InvalidInput(
            f"{file!r} ends in neither .csv, .tsv nor .jsonl (.gz may follow); {how_to_save(path)}", code="format"
        )
    content, encoded = _decoded(path, said)
    above: tuple[str, ...] = ()  # lines of a title or of comments
    if kind in JSON_LINES:
        lines, delimiter = _json_lines(content, file), ","
    else:
        lines, delimiter, above = _split(content, file, SEPARATORS[kind], said.delimiter)
    if not lines:
        raise InvalidInput(f"{file!r} is empty; its first line must name the columns", code="empty")
    how = [f"with {_shown(delimiter)} as delimiter"] if SEPARATORS.get(kind, ",") != delimiter else []
    how += [encoded] if encoded else []
    remarks = [] if kind in JSON_LINES else [*_note_above(above, Path(file).name), *_tidy(lines, Path(file).name, said.index)]
    (_, names), *rows = lines
    _check_names(names, file)
    for line, cells in rows:
        if len(cells) != len(names):
            raise InvalidInput(
                f"line {line} of {file!r} has {_count(len(cells), 'cell')} and the header {len(names)}; write every cell, put "
                f"quotation marks around one that holds a {DELIMITERS.get(delimiter, delimiter)}, or name what stands between "
                "cells with delimiter=…",
                code="shape",
            )
    cells_of_rows, at = tuple(tuple(cells) for _, cells in rows), tuple(line for line, _ in rows)
    sheet = Sheet(file, tuple(names), cells_of_rows, at, delimiter, tuple(how), tuple(remarks))
    return _without(sheet, said.index) if said.index not in (None, KEEP) else sheet


def how_to_save(path: str | Path) -> str:
    """What to do with a file that is not read as a table."""
    if ending(path) in SPREADSHEETS:
        return "save the sheet as CSV UTF-8, or read it with pandas"
    return "save it as CSV, or rename it to match its contents"


def warn_notes(sheet: Sheet) -> Sheet:
    """The same sheet, its notes said as warnings: for readers whose result cannot carry a note."""
    for note in sheet.notes:
        warnings.warn(note, TableNote, stacklevel=3)
    return sheet


def _decoded(path: str | Path, said: TableFormat) -> tuple[str, str]:
    raw = read_bytes(path, LIMIT, TOO_LONG)
    if Path(path).name.lower().endswith(".gz"):
        raw = _unpack(raw, str(path))
    return decode(raw, str(path), said.encoding)


def _without(sheet: Sheet, index: str | None) -> Sheet:
    """The sheet without the column that numbers its rows."""
    sheet.column(index, "index")  # which refuses a name that is not there
    at = sheet.names.index(index or "")
    kept = tuple(row[:at] + row[at + 1 :] for row in sheet.rows)
    return replace(sheet, names=sheet.names[:at] + sheet.names[at + 1 :], rows=kept)


def _tidy(lines: Lines, file: str, index: str | None) -> list[str]:
    """Take out, in place, cells that belong to no column: what follows a last delimiter, and unnamed numbers or names of rows.
    Returns what was done."""
    (_, names), *rows = lines
    notes = [*_strip(lines, file), *_unwrap(lines, file)]
    if len(names) == 1 and rows and all(FIXED_WIDTH.fullmatch(line[0]) for _, line in (lines[0], lines[-1])):
        notes.append(f"The lines of {file} look like columns of a fixed width; they were read as one column of words.")
    if len(names) == 1 and rows and BORDER.fullmatch(names[0].strip()):
        notes.append(f"The lines of {file} draw a box; they were read as one column of words. Have it written as CSV instead.")
    elif len(names) == 1 and sum("\t" in cell for _, cells in rows for cell in cells) > 1:
        notes.append(f"Cells of {file} hold tabs; they were read as one column of words. If tabs divide columns, name it .tsv.")
    longer = bool(rows) and all(len(cells) == len(names) + 1 for _, cells in rows)
    if longer and not any(cells[-1].strip() for _, cells in rows):
        for _, cells in rows:
            del cells[-1]
        notes.append(f"A delimiter at the end of every line of {file} was left out.")
    elif longer and len(names) > 1 and _name_rows([cells[0] for _, cells in rows]):
        names.insert(0, "")  # as R writes a table: row names, which the header does not count
    if any(len(cells) != len(names) for _, cells in rows):
        return notes  # which is refused
    blank = [k for k, name in enumerate(names) if not name.strip() and not any(cells[k].strip() for _, cells in rows)]
    if blank and rows and len(blank) < len(names):
        for _, cells in lines:
            for k in reversed(blank):
                del cells[k]
        notes.append(
            f"{_count(len(blank), 'column')} of {file} without a name and without a value {_were(len(blank))} left out."
        )
    if index is None and len(names) > 1 and UNNAMED.fullmatch(names[0]) and _are_distinct([cells[0] for _, cells in rows]):
        for _, cells in lines:
            del cells[0]
        notes.append(
            f"The first column of {file}, which has no name, numbers or names the rows and was left out; to read it, write "
            f"index={KEEP!r}."
        )
    if names.count("") == 1 and len(names) > 1:
        k = names.index("")
        names[k] = f"Unnamed: {k}"
        notes.append(f"Column {k + 1} of {file} has no name and is called {names[k]!r} here, as pandas calls it.")
    values = [name for name in names if (is_number(name) and not name.strip().isdigit()) or name == NULL]
    if values:
        notes.append(
            f"The first line of {file} looks like a row rather than names of columns ({', '.join(values[:SHOWN])}); if it is "
            "one, write a line with the names above it."
        )
    return notes


def _unwrap(lines: Lines, file: str) -> list[str]:
    """Take the text out of cells that are written as ="00123", in place. Returns what was done."""
    wrapped = next((cell for _, cells in lines for cell in cells if FORMULA.fullmatch(cell)), None)
    if wrapped is None:
        return []
    for _, cells in lines:
        cells[:] = [found[1] if (found := FORMULA.fullmatch(cell)) else cell for cell in cells]
    return [f"Cells of {file} such as {wrapped:.40} are texts of a spreadsheet and were read without = and quotation marks."]


def _strip(lines: Lines, file: str) -> list[str]:
    """Take out, in place, a blank after every delimiter, and blanks around names. Returns what was done."""
    (_, names), *rows = lines
    if len(names) > 1 and all(cell[:1] in ("", " ") for _, cells in lines for cell in cells[1:]) and names[1][:1] == " ":
        for _, cells in lines:
            cells[1:] = [cell.lstrip(" ") for cell in cells[1:]]
        return [f"The blank after every delimiter of {file} was left out."]
    bare = [name.strip() or name for name in names]  # a name of blanks alone stays one, to be seen and refused
    if bare == names or len(set(bare)) < len(names) or not rows:
        return []
    example = next(name for name, short in zip(names, bare, strict=True) if name != short)
    names[:] = bare
    return [f"Blanks around names of columns of {file} were left out, for example of {example!r}."]


def _note_above(above: tuple[str, ...], file: str) -> list[str]:
    if not above:
        return []
    said = next(filter(None, (line.strip(" ,;|\t\r\n") for line in above)), "")
    return [
        f"{_count(len(above), 'line')} above the names of the columns of {file} {_were(len(above))} left out: {said!r:.60}."
    ]


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _are_distinct(cells: list[str]) -> bool:
    return bool(cells) and all(cells) and len(set(cells)) == len(cells)


def _name_rows(cells: list[str]) -> bool:
    """Are these names of rows that a header does not count? Numbers are if they count 1, 2, 3, …; any others may be data."""
    if len(cells) < 2 or not _are_distinct(cells):
        return False
    return cells == [str(k + 1) for k in range(len(cells))] or not any(re.match(r"[-+.]?\d", cell) for cell in cells)


def _shown(delimiter: str) -> str:
    return {"\t": "a tab", " ": "a blank"}.get(delimiter, delimiter)


def read_lines(path: str | Path) -> list[str]:
    """The lines of a text file, whether they end as on Linux, Windows or the first Macs; none follows the last end."""
    whole = read_content(path).replace("\r\n", "\n").replace("\r", "\n")
    return whole.rstrip("\n").split("\n") if whole.strip() else []


def read_content(path: str | Path) -> str:
    """The text of a file, unpacked where its name ends in .gz; what is not UTF-8 is said. No more than `LIMIT` bytes are ever
    held."""
    content, encoded = _decoded(path, current_format())
    if encoded:
        warnings.warn(f"The file {Path(path).name} was read {encoded}.", TableNote, stacklevel=3)
    return content


def _unpack(packed: bytes, file: str) -> bytes:
    """What a gzip file holds; a small file may hold more than any memory."""
    try:
        with gzip.open(io.BytesIO(packed)) as opened:
            raw = opened.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{file!r} is not a whole gzip file: {error}", code="unreadable") from None
    if len(raw) > LIMIT:
        raise InvalidInput(f"{file!r} holds more than {LIMIT >> 20} MiB of text; {TOO_LONG}", code="too-many")
    return raw


def _check_names(names: Sequence[str], file: str) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1 and not name:
        raise InvalidInput(
            f"{times} columns of {file!r} have no name; write one above each, and delete what stands above the names",
            code="duplicate",
        )
    if times > 1:
        raise InvalidInput(f"{times} columns of {file!r} are called {name!r}; give each its own name", code="duplicate")


def _split(content: str, file: str, usual: str, said: str | None) -> tuple[Lines, str, tuple[str, ...]]:
    """Lines of cells, the delimiter that is between them (what was said, what Excel wrote into the first line, or the one that
    gives every line as many cells as the header), and lines above the names of the columns."""
    skipped = 0
    if (excel := EXCEL_SEPARATOR.match(content)) is not None:
        content, skipped = content[excel.end() :], 1
    told = said or (excel[1] if excel else None)
    above = _lines_above(content, file, [told] if told else list(DELIMITERS))
    content, skipped = content[sum(map(len, above)) :], skipped + len(above)
    mark = told or _find_delimiter(content, file, usual)
    return [(line + skipped, cells) for line, cells in _split_by(content, file, mark)], mark, above


def _lines_above(content: str, file: str, marks: list[str]) -> tuple[str, ...]:
    """The lines of a title or of comments that stand above the names of the columns: with one cell, or after a #, where what
    follows is surely a table, names that are no numbers above as many cells with a number among them."""
    first = [found[0] for found in islice(LINE.finditer(content), MOST_ABOVE + 1)]
    for mark in marks:
        cells = [sum(bool(cell.strip(' "\r\n')) for cell in line.split(mark)) for line in first]
        at = next((k for k, line in enumerate(first) if cells[k] > 1 and not line.startswith("#")), 0)
        if at and cells[at] not in cells[:at] and _begins_table(content[sum(map(len, first[:at])) :], file, mark):
            return tuple(first[:at])
    return ()


def _begins_table(content: str, file: str, mark: str) -> bool:
    if not _makes_columns(content, file, mark):
        return False
    (_, names), *rows = _split_by(content, file, mark)
    named = all(name.strip() and not is_number(name) for name in names) and len(set(names)) == len(names)
    return named and bool(rows) and any(is_number(cell) for cell in rows[0][1])


def _find_delimiter(content: str, file: str, usual: str) -> str:
    """The delimiter of a file: the usual one of its name, unless only another makes columns of it."""
    header = next((line for line in content.splitlines() if line.strip()), "")
    others = [mark for mark in DELIMITERS if mark != usual and _splits(header, mark)]
    if not others:
        return " " if not _splits(header, usual) and QUOTED_NAMES.fullmatch(header) else usual
    fits = [mark for mark in (usual, *others) if _makes_columns(content, file, mark)]
    if len(fits) == 1 or (fits and usual == "\t" == fits[0]):
        return fits[0]
    if fits:
        raise InvalidInput(
            f"{file!r} can be split into columns by {' and by '.join(DELIMITERS[mark] for mark in fits)}; say which with "
            f"delimiter={DELIMITERS[fits[0]]!r}",
            argument="delimiter",
            code="ambiguous",
        )
    return usual if _splits(header, usual) else others[0]  # lines differ in length, which is refused


def _splits(header: str, mark: str) -> bool:
    """Is there such a mark outside quotation marks?"""
    return mark in re.sub('"[^"]*"', "", header)


def _makes_columns(content: str, file: str, mark: str) -> bool:
    """Does this delimiter give every line as many cells as the header, or one more for a name of the row, or for nothing?"""
    try:
        header, *rows = [len(cells) for _, cells in _split_by(content, file, mark)] or [0]
    except InvalidInput:
        return False
    return header > 1 and ({*rows} <= {header} or {*rows} == {header + 1})


def _split_by(content: str, file: str, mark: str) -> Lines:
    """Lines of cells. Quotation marks enclose cells where commas or semicolons separate them; in a TSV they may, and the file
    decides once for all its cells."""
    try:
        quoted = _cells(content, mark, csv.QUOTE_MINIMAL)
    except _Torn as torn:
        if mark not in "\t|":
            raise InvalidInput(
                f"line {torn.line} of {file!r} cannot be split into cells: {torn}; close every quotation mark that opens a "
                "cell, and double those inside it",
                code="unreadable",
            ) from None
        return _trim(_cells(content, mark, csv.QUOTE_NONE), mark)
    if mark not in "\t|" or '"' not in content:
        return _trim(quoted, mark)
    plain = _cells(content, mark, csv.QUOTE_NONE)
    return _trim(quoted if _enclose(quoted, plain) else plain, mark)


def _trim(lines: Lines, mark: str) -> Lines:
    """Tables with pipes are written for the eye: blanks around cells, and lines that are drawn, are not part of them."""
    if mark != "|":
        return lines
    return [(line, [cell.strip() for cell in cells]) for line, cells in lines if not RULED.fullmatch("|".join(cells))]


def _enclose(quoted: Lines, plain: Lines) -> bool:
    """Do the quotation marks of a TSV enclose its cells, or are they characters like any other?

    They enclose them where only this gives every line as many cells as the header. Where both readings do, there must be a
    sign of a program that quotes: a quoted name in the header, or a doubled mark inside an enclosed cell.
    """
    if not _even(quoted):
        return False
    if not _even(plain):
        return True
    if len(quoted) != len(plain):
        return False
    changed = [
        (k, raw)
        for k, (a, b) in enumerate(zip(quoted, plain, strict=True))
        for read, raw in zip(a[1], b[1], strict=True)
        if read != raw
    ]
    return any(k == 0 or '""' in raw[1:-1] for k, raw in changed)


def _even(lines: Lines) -> bool:
    return len({len(cells) for _, cells in lines}) <= 1


class _Torn(Exception):
    """A line that cannot be split."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


def _cells(content: str, mark: str, quoting: Literal[0, 3]) -> Lines:
    """Every line that is not blank, split into cells."""
    csv.field_size_limit(max(csv.field_size_limit(), len(content)))  # a text may be as long as its file
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=mark, quoting=quoting, strict=True)
    found: Lines = []
    before = 0
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found.append((before + 1, cells))
            before = reader.line_num
    except csv.Error as error:
        raise _Torn(before + 1, str(error)) from None
    return found


def _json_lines(content: str, file: str) -> Lines:
    """One JSON object per line; a value that is not a string is read as its JSON text, null as an empty cell."""
    found: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        data = read_json(line, f"line {number} of {file!r}")
        if not isinstance(data, dict):
            raise InvalidInput(
                f'line {number} of {file!r} is not a JSON object; write for example {{"text": "A fine film."}}',
                code="unreadable",
            )
        found.append((number, {name: _text(value) for name, value in data.items()}))
    names = list(dict.fromkeys(name for _, row in found for name in row))
    return [(0, names), *((number, [row.get(name, "") for name in names]) for number, row in found)] if names else []


def number(cell: str, where: str) -> float:
    """A cell as a number; `where` names the cell in the message.

    >>> number(" 1e3", "line 2")
    1000.0
    """
    try:
        if "_" in cell or not cell.isascii():  # Python takes 1_000 and digits of other scripts; tables do not
            raise ValueError
        read = float(cell)
    except ValueError:
        raise InvalidInput(f"{where} is {cell!r:.60}, which is not a number; write for example 0.5", code="type") from None
    if math.isinf(read) and any(sign.isdigit() for sign in cell):
        raise InvalidInput(f"{where} is {cell!r:.60}, beyond the largest number, 1.8e308", code="range")
    return read


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def player_frame(players: Sequence[str], columns: Mapping[str, object]) -> pandas.DataFrame:
    """A pandas frame with one row per player."""
    with needs("data", "to_pandas"):
        import pandas
    return pandas.DataFrame(dict(columns), index=pandas.Index(players, name="player"))
