"""Numbers as people and programs write them: decimal commas, thousands, currencies, percent, trailing minus, missing values.

A column is one of numbers if all its cells are, but those that stand for a missing value. Whether 1,234 is a thousand or a
little more than one is decided by the column, then by the file, and refused where neither can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isclose
from pathlib import Path

from accredit.checks.table_format import TableFormat
from accredit.errors import InvalidInput

BLANK = "[ \u00a0\u2007\u2009\u202f]"  # between thousands, or before a currency: all but the first are wide or thin ones
MINUS = "−–-"  # a sign, a dash as word processors write it, a hyphen
CURRENCY = (
    "(?:[$€£¥₹₩₽₺₪₴]|(?:US|CA|AU|NZ|HK|[ACR])[$]|kr[.]?|Kč|zł|Fr[.]|"
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|TRY|USD|ZAR)"
)
NUMBER = re.compile(
    rf"(?P<sign>[+{MINUS}]?){BLANK}*(?P<before>{CURRENCY}?){BLANK}*(?P<inner>[+{MINUS}]?)"
    rf"(?P<body>[0-9](?:[0-9.,'’]|{BLANK})*[0-9]|[0-9][.,]?|[.,][0-9]+)(?P<power>(?:[eE][+-]?[0-9]{{1,4}})?)"
    rf"{BLANK}*(?P<after>{CURRENCY}?){BLANK}*(?P<percent>%?)(?P<minus>[{MINUS}]?)"
)
MISSING = frozenset(  # in a column of numbers; small letters
    ("-", "--", "---", "–", "—", "?", "??", ".", "..", "…", "na", "n/a", "#n/a", "#na", "n.a.", "nan", "-nan", "<na>", "none",
     "null", "nil", "unknown", "missing", "k.a.", "k. a.", "keine angabe", "unbekannt", "inconnu", "n.d.", "n/d", "s/d",
     "desconocido", "sconosciuto", "onbekend", "okänd", "#nv", "#n/d", "#i/t")
)  # fmt: skip
NOTHING = re.compile(rf"{CURRENCY}{BLANK}*[{MINUS}]+")  # as accounts write an amount that is not there
SHEET_ERROR = re.compile(r"#[^\W\d_]+(/0)?[!?]")  # what spreadsheets write, each in its language: #DIV/0!, #WERT!, #NOM?
NULL = "\\N"  # of databases, in every column
DATES = tuple(
    map(
        re.compile,
        (r"\d{4}-\d\d?-\d\d?([T ].*)?", r"\d\d?/\d\d?/\d{2,4}", r"\d\d?\.\d\d?\.\d{2,4}", r"\d{4}/\d\d?/\d\d?"),
    )
)
FEW_WORDS = 0.5  # share of words below which a column was probably meant to hold numbers
SHOWN = 3  # examples in a note
Parts = dict[str, str]  # of a number: its body, and what stands around it


def _shapes(decimal: str, thousands: str) -> re.Pattern[str]:
    """How the body of a number looks with this decimal mark."""
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{decimal}\d*)?" for mark in (thousands, BLANK, "['’]"))
    grouped += rf"|[1-9]\d?(?:{thousands}\d\d)+{thousands}\d{{3}}(?:{decimal}\d*)?"  # as in India: 12,34,567
    return re.compile(rf"\d*{decimal}\d+|\d+{decimal}?|{grouped}", re.ASCII)


SHAPES = {".": _shapes(r"\.", ","), ",": _shapes(",", r"\.")}


UNIT = re.compile(
    rf"[+{MINUS}]?[0-9](?:[0-9.,']|{BLANK})*(?:[^\W0-9_]{{1,6}}[²³]?|[‰°*†])"
)  # 12 kg, 5 ‰, and 1.5* with a footnote
BRACKETS = re.compile(rf"\({BLANK}*{NUMBER.pattern}{BLANK}*\)")  # how accounts write a negative number
OTHER_FORM = re.compile(  # '12 as spreadsheets mark texts, fractions, hexadecimals, 1_000, digits of other scripts
    r"'[0-9][0-9.,]*|[0-9]+/[0-9]+|0[xX][0-9a-fA-F]+|[0-9]{1,3}(?:_[0-9]{3})+|(?:(?![0-9])[\d.,٫٬])+"
)
TOTAL = re.compile(
    r"((grand|gran|sub|sous)[ -]?)?(totals?|sums?|totale?)|(zwischen|teil|gesamt)?summen?|gesamt|insgesamt|total général|"
    r"somma|suma|(sub)?totaal|razem|celkem",
    re.IGNORECASE,
)


@dataclass
class NumberColumns:
    """The cells of a table, of which some columns hold numbers. `how` and `notes` say what was done once they are rewritten."""

    file: str
    names: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    lines: Sequence[int]
    delimiter: str
    said: TableFormat
    words: frozenset[str] = frozenset()  # columns that hold words, whatever they look like
    how: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def rewrite(self) -> tuple[tuple[str, ...], ...]:
        """All rows, with numbers as Python writes them and missing values empty."""
        if not self.rows:
            return ()
        gone = dict.fromkeys((NULL, *self.said.missing), "")
        columns = [_replace(column, gone) for column in zip(*self.rows, strict=True)]
        self._note_nulls()
        truths = dict(zip(self.said.truth, ("True", "False"), strict=True)) if self.said.truth else {}
        columns = [_replace(column, truths) if {*column} <= {*truths, ""} else column for column in columns]
        read = [k for k, name in enumerate(self.names) if name not in self.words]
        plain = {k for k in read if _is_plain(columns[k])}
        numbers = {k for k in read if k not in plain and self._holds_numbers(k, columns[k])}
        if self.delimiter in ";|" or self.said.decimal == "," or any("," in cell for k in numbers for cell in columns[k]):
            numbers |= {k for k in plain if any("." in cell for cell in columns[k])}  # a point may be for thousands
        marks = {k: _decimal_marks(columns[k]) for k in sorted(numbers)}
        decimals = {k: self._decimal(k, marks) for k in marks}
        for k, decimal in decimals.items():
            columns[k] = self._plain(k, columns[k], decimal)
        words = sorted({*range(len(columns))} - plain - numbers)
        for k in words:
            if k in read:
                self._note_dates(k, columns[k])
                self._note_other_numbers(k, columns[k])
        self._note_total([columns[k] for k in sorted(plain | numbers)], [columns[k] for k in words])
        return tuple(zip(*columns, strict=True))

    def _where(self, k: int, cell: str) -> str:
        line = self.lines[next(r for r, row in enumerate(self.rows) if row[k] == cell)]
        return f"line {line}, column {self.names[k]!r}"

    def _named(self, k: int) -> str:
        return f"{self.names[k]!r} of {Path(self.file).name}"

    def _holds_numbers(self, k: int, column: list[str]) -> bool:
        """Are all cells numbers, however written, or missing? Empties the latter, in place, and says so."""
        kinds = [cell for cell in dict.fromkeys(column) if cell.strip()]
        words = [cell for cell in kinds if not is_number(cell)]
        if len(words) == len(kinds):
            return False
        strangers = {word for word in words if not _is_missing(word)}
        if strangers:
            if not all(BRACKETS.fullmatch(word.strip()) for word in strangers):  # of which another note speaks
                self._note_words(k, column, strangers)
            return False
        if words:
            count = sum(cell in words for cell in column)
            self.notes.append(
                f"Read as missing in column {self._named(k)}: {', '.join(map(repr, words[:SHOWN]))} "
                f"({count} cell{'s' * (count != 1)})."
            )
        column[:] = ["" if cell in words or not cell.strip() else cell for cell in column]
        return True

    def _note_nulls(self) -> None:
        """Cells that a database wrote for a missing value."""
        if NULL in self.said.missing:
            return
        for k in range(len(self.names)):
            count = sum(row[k] == NULL for row in self.rows)
            if count:
                self.notes.append(f"Read as missing in column {self._named(k)}: {NULL!r} ({count} cell{'s' * (count != 1)}).")

    def _note_words(self, k: int, column: list[str], strangers: set[str]) -> None:
        """Where few cells are words, the column was probably meant to hold numbers."""
        if sum(cell in strangers for cell in column) < FEW_WORDS * len(column):
            first = next(cell for cell in column if cell in strangers)
            self.notes.append(
                f"Column {self._named(k)} is read as words, because {first!r:.40} ({self._where(k, first)}) is not a number; "
                f"if it stands for a missing value, write missing={first!r:.40}."
            )

    def _decimal(self, k: int, marks: dict[int, dict[str, str]]) -> str:
        """The decimal mark of a column: as said, as the file shows, or a point."""
        if self.said.decimal is not None:
            return self.said.decimal
        known = {mark: (j, cell) for j, found in marks.items() for mark, cell in found.items() if mark != "?"}
        if len(known) == 2:
            (i, point), (j, comma) = known["."], known[","]
            raise InvalidInput(
                f"{self.file!r} writes {point!r} with a point ({self._where(i, point)}) and {comma!r} with a comma "
                f"({self._where(j, comma)}); say which is the decimal mark with decimal=',' or decimal='.', or write all "
                "numbers in one way",
                argument="decimal",
                code="ambiguous",
            )
        if known:
            return next(iter(known))
        unsure = marks[k].get("?")
        if unsure is not None and ("," in unsure or self.delimiter in ";|"):
            mark, other = (",", ".") if "," in unsure else (".", ",")
            raise InvalidInput(
                f"{unsure!r} ({self._where(k, unsure)} of {self.file!r}) is {unsure.replace(mark, '').strip()} or "
                f"{unsure.replace(mark, '.').strip()}, and no other number of the file tells which; write decimal={other!r} "
                f"for the first, decimal={mark!r} for the second",
                argument="decimal",
                code="ambiguous",
            )
        return "."

    def _plain(self, k: int, column: list[str], decimal: str) -> list[str]:
        """The numbers of a column as Python writes them."""
        found = {cell: _take_apart(cell) for cell in dict.fromkeys(column) if cell.strip()}
        odd = next((cell for cell, parts in found.items() if not SHAPES[decimal].fullmatch(parts["body"])), None)
        if odd is not None and "," in odd:
            self._note_words(k, column, {odd})  # it has been said that a comma is not a decimal mark
            return column
        if odd is not None:
            raise InvalidInput(
                f"{odd!r} ({self._where(k, odd)} of {self.file!r}) is not a number with {decimal} as decimal mark; write it in "
                "another way, or name the mark with decimal=…",
                argument="decimal",
                code="type",
            )
        self._check_units(k, found)
        plain = {cell: _write(parts, decimal, self.said.percent) for cell, parts in found.items()}
        if decimal == "," and any("," in parts["body"] for parts in found.values()):
            self.how = ("with , as decimal mark",)
        self._note_changes(k, found, plain, decimal)
        return _replace(column, plain)

    def _check_units(self, k: int, found: dict[str, Parts]) -> None:
        coins = {parts["before"] or parts["after"] for parts in found.values()} - {""}
        percent = [cell for cell, parts in found.items() if parts["percent"]]
        if len(coins) > 1 or (percent and (coins or len(percent) < len(found))):
            raise InvalidInput(
                f"column {self.names[k]!r} of {self.file!r} holds numbers in several units, for example "
                f"{', '.join(map(repr, list(found)[:SHOWN]))}; write all of them in one",
                code="conflict",
            )
        if percent and self.said.percent is None:
            cell = percent[0]
            raise InvalidInput(
                f"{cell!r} ({self._where(k, cell)} of {self.file!r}) is {found[cell]['body']}, or a hundredth of it; write "
                "percent='number' for the first or percent='fraction' for the second, as the model has learned it",
                argument="percent",
                code="ambiguous",
            )

    def _note_changes(self, k: int, found: dict[str, Parts], plain: dict[str, str], decimal: str) -> None:
        """What was done to a column beside its decimal mark, each with an example."""
        signs: dict[str, Callable[[Parts], object]] = {
            "thousands": lambda parts: re.search(rf"[^\d{decimal}]", parts["body"]),
            "a currency": lambda parts: parts["before"] or parts["after"],
            "percent": lambda parts: parts["percent"],
            "a minus at the end": lambda parts: parts["minus"],
        }
        for what, is_there in signs.items():
            cell = next((cell for cell, parts in found.items() if is_there(parts)), None)
            if cell is not None:
                self.notes.append(f"Column {self._named(k)} is written with {what}: {cell.strip()} was read as {plain[cell]}.")

    def _note_dates(self, k: int, column: list[str]) -> None:
        """A column of dates that are not all written alike."""
        forms: dict[re.Pattern[str], str] = {}
        for cell in filter(None, map(str.strip, column)):
            form = next((form for form in DATES if form.fullmatch(cell)), None)
            if form is None:
                return
            forms.setdefault(form, cell)
        if len(forms) > 1:
            self.notes.append(
                f"Column {self._named(k)} holds dates in several forms ({', '.join(forms.values())}); they are read as words."
            )

    def _note_other_numbers(self, k: int, column: list[str]) -> None:
        """A column of words that are numbers in a form that is not read: with units, or in brackets."""
        cells = [cell.strip() for cell in column if cell.strip()]
        bracket = next(filter(BRACKETS.fullmatch, cells), None)
        if bracket is not None and all(BRACKETS.fullmatch(cell) or is_number(cell) or _is_missing(cell) for cell in cells):
            self.notes.append(
                f"Column {self._named(k)} is read as words, because of brackets: if {bracket} stands for a negative number, "
                f"write -{bracket.strip('( )')}."
            )
        elif cells and all(UNIT.fullmatch(cell) for cell in cells):
            self.notes.append(
                f"Column {self._named(k)} holds numbers with units, such as {cells[0]!r:.40}, and is read as words; write the "
                "numbers alone to have them read as numbers."
            )
        elif cells and all(map(OTHER_FORM.fullmatch, cells)):
            self.notes.append(
                f"Column {self._named(k)} may hold numbers in a form that is not read, such as {cells[0]!r:.40}, and is read "
                "as words; write them as 12 or 1.5 to have them read as numbers."
            )

    def _note_total(self, numbers: list[list[str]], words: list[list[str]]) -> None:
        """A last row that adds up the others and names nothing but that, or rows that are called totals."""
        if self._adds_up(numbers, words):
            self.notes.append(
                f"The last row of {Path(self.file).name} (line {self.lines[-1]}) adds up the others and looks like a total; it "
                "was read as a row like them. If it is a total, delete it."
            )
            return
        called = [
            f"line {line} ({next(filter(None, cells))!r:.40})"
            for line, cells in zip(self.lines, zip(*words, strict=True), strict=False)
            if any(cells) and all(not cell or TOTAL.fullmatch(cell.strip(" :")) for cell in cells)
        ]
        if called and len(called) < FEW_WORDS * len(self.rows):
            self.notes.append(
                f"{Path(self.file).name} has rows that are called a total, and were read like the others: "
                f"{', '.join(called[:SHOWN])}. Delete what sums up other rows."
            )

    def _adds_up(self, numbers: list[list[str]], words: list[list[str]]) -> bool:
        named = words or [column for column in numbers if not column[-1].strip()]  # numbers of rows, say, which a total has not
        if len(self.rows) < 3 or not named or not all(TOTAL.fullmatch(c[-1].strip(" :") or "total") for c in words):
            return False
        try:
            columns = [[float(cell or 0) for cell in column] for column in numbers if column[-1].strip()]
        except ValueError:
            return False
        return bool(columns) and all(
            isclose(sum(column[:-1]), column[-1], rel_tol=1e-6) and any(column[:-1]) for column in columns
        )


def _is_missing(cell: str) -> bool:
    """Does such a cell stand for a missing number?"""
    word = cell.strip().lower()
    return word in MISSING or any(form.fullmatch(cell.strip()) for form in (SHEET_ERROR, NOTHING))


def _replace(column: Sequence[str], by: dict[str, str]) -> list[str]:
    return [by.get(cell, cell) for cell in column]


def _is_plain(column: list[str]) -> bool:
    """Do Python and pandas read every cell as a number? The quick answer for most columns."""
    try:
        for cell in column:
            if cell:
                float(cell)
    except ValueError:
        return False
    return not any("_" in cell or not cell.isascii() for cell in column)


def _take_apart(cell: str) -> Parts:
    """The parts of a number; what is not one is all body."""
    found = NUMBER.fullmatch(cell.strip())
    return found.groupdict() if found is not None else {**dict.fromkeys(NUMBER.groupindex, ""), "body": cell.strip()}


def is_number(cell: str) -> bool:
    """Is it a number with either decimal mark, with at most one sign and one currency?

    >>> [is_number(cell) for cell in ("12-", "$1,234.50", "1.234,56 €", "-5-", "1,23,4", "12-15")]
    [True, True, True, False, False, False]
    """
    parts = _take_apart(cell)
    signs = sum(bool(parts[name]) for name in ("sign", "inner", "minus"))
    fits = any(shape.fullmatch(parts["body"]) for shape in SHAPES.values())
    return fits and signs <= 1 and not (parts["before"] and parts["after"])


def _decimal_marks(column: list[str]) -> dict[str, str]:
    """Decimal mark -> a cell that shows it for sure; "?" -> a cell in which it could be either."""
    found: dict[str, str] = {}
    for cell in dict.fromkeys(column):
        if (mark := _decimal_mark(cell)) is not None:
            found.setdefault(mark, cell)
    return found


def _decimal_mark(cell: str) -> str | None:
    """Which mark is the decimal one, judged by one cell: "?" if it could be either, None if there is none.

    >>> [_decimal_mark(cell) for cell in ("12", "1.5", "0,125", "1.234", "1.234,5", "1,234,567", "1 234", "1.234e5")]
    [None, '.', ',', '?', ',', '.', None, '.']
    """
    parts = _take_apart(cell)
    used = [mark for mark in ".," if mark in parts["body"]]
    fits = [mark for mark in used if SHAPES[mark].fullmatch(parts["body"])] or [
        mark for mark in SHAPES if SHAPES[mark].fullmatch(parts["body"])
    ]
    if not used or not fits:
        return None
    other = "," if used[0] == "." else "."
    if len(used) == 1 and fits == used and not parts["power"] and SHAPES[other].fullmatch(parts["body"]):
        return "?"
    return fits[0]


def _write(parts: Parts, decimal: str, percent: str | None) -> str:
    """A number as Python writes it.

    >>> _write(_take_apart("1.234,5-"), ",", None), _write(_take_apart("12,5 %"), ",", "fraction")
    ('-1234.5', '0.125')
    """
    digits = "".join("." if letter == decimal else letter for letter in parts["body"] if letter.isdigit() or letter == decimal)
    negative = any(parts[name] and parts[name] in MINUS for name in ("sign", "inner", "minus"))
    written = f"{'-' * negative}{digits}{parts['power']}"
    return str(Decimal(written) / 100) if parts["percent"] and percent == "fraction" else written
