"""Tables in files: CSV, TSV and JSON lines, read by one set of rules wherever a command or a function takes one.

The rules, which docs/tables.md states for readers: text is UTF-8, with or without a byte-order mark, plain or gzipped, of at
most 256 MiB. The ending of the name decides how cells are separated. The first line names the columns, each name once. Every
other line has as many cells as the first one; lines of blanks are skipped. A cell that JSON leaves out is empty.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from accredit.checks.files import LIMIT, as_path, as_text, check_is_file, read_bytes
from accredit.checks.json_data import read_json
from accredit.checks.lazy import needs
from accredit.checks.suggestions import did_you_mean
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas

TOO_LONG = "split it, or keep only the rows you need"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
Lines = list[tuple[int, list[str]]]  # where a row begins in its file, counted from 1, and its cells


@dataclass(frozen=True)
class Sheet:
    """The cells of a table as text, and where each row stands."""

    file: str
    names: tuple[str, ...]  # of the columns, each once
    rows: tuple[tuple[str, ...], ...]  # each as long as `names`
    lines: tuple[int, ...]  # of the file, counted from 1: where each row begins

    def __len__(self) -> int:
        return len(self.rows)

    def records(self) -> Iterator[dict[str, str]]:
        """Row by row, column -> cell."""
        return (dict(zip(self.names, row, strict=True)) for row in self.rows)

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


def read_sheet(path: str | Path) -> Sheet:
    """The table in a .csv, .tsv, .jsonl or .ndjson file (.gz may follow)."""
    check_is_file(path)
    file, kind = str(path), ending(path)
    if not is_table(path):
        raise InvalidInput(
            f"{file!r} ends in neither .csv, .tsv nor .jsonl (.gz may follow); rename it to match its contents", code="format"
        )
    content = read_content(path)
    lines = _json_lines(content, file) if kind in JSON_LINES else _split(content, file, SEPARATORS[kind])
    if not lines:
        raise InvalidInput(f"{file!r} is empty; its first line must name the columns", code="empty")
    (_, names), *rows = lines
    _check_names(names, file, kind)
    for line, cells in rows:
        if len(cells) != len(names):
            raise InvalidInput(
                f"line {line} of {file!r} has {_count(len(cells), 'cell')} and the header {len(names)}; write every cell, "
                f"and put quotation marks around one that holds a {'comma' if kind == '.csv' else 'tab'}",
                code="shape",
            )
    return Sheet(file, tuple(names), tuple(tuple(cells) for _, cells in rows), tuple(line for line, _ in rows))


def read_lines(path: str | Path) -> list[str]:
    """The lines of a text file, whether they end as on Linux, Windows or the first Macs; none follows the last end."""
    whole = read_content(path).replace("\r\n", "\n").replace("\r", "\n")
    return whole.rstrip("\n").split("\n") if whole.strip() else []


def read_content(path: str | Path) -> str:
    """The text of a file in UTF-8, unpacked where its name ends in .gz. No more than `LIMIT` bytes are ever held."""
    raw = read_bytes(path, LIMIT, TOO_LONG)
    if Path(path).name.lower().endswith(".gz"):
        raw = _unpack(raw, str(path))
    return as_text(raw, path)


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


def _check_names(names: Sequence[str], file: str, kind: str) -> None:
    other = next((mark for mark in "\t;" if kind == ".csv" and len(names) == 1 and mark in names[0]), None)
    if other is not None:
        instead = "name it .tsv" if other == "\t" else "save it with commas"
        raise InvalidInput(f"the first line of {file!r} holds a {other!r} and no comma; {instead}", code="format")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise InvalidInput(f"{times} columns of {file!r} are called {name!r}; give each its own name", code="duplicate")


def _split(content: str, file: str, mark: str) -> Lines:
    """Lines of cells. In CSV quotation marks enclose cells; in TSV they may, and the file decides once for all its cells."""
    try:
        quoted = _cells(content, mark, csv.QUOTE_MINIMAL)
    except _Torn as torn:
        if mark == ",":
            raise InvalidInput(
                f"line {torn.line} of {file!r} cannot be split into cells: {torn}; close every quotation mark that opens a "
                "cell, and double those inside it",
                code="unreadable",
            ) from None
        return _cells(content, mark, csv.QUOTE_NONE)
    if mark == "," or '"' not in content:
        return quoted
    plain = _cells(content, mark, csv.QUOTE_NONE)
    return quoted if _enclose(quoted, plain) else plain


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
        return float(cell)
    except ValueError:
        raise InvalidInput(f"{where} is {cell!r:.60}, which is not a number; write for example 0.5", code="type") from None


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
