"""How a table is written in its file, where a person says so: everything that is left out is decided by the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, get_args

from accredit.errors import InvalidInput

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
Percent = Literal["number", "fraction"]
KEEP = "none"  # as `index`: every column is read, also one that numbers the rows


@dataclass(frozen=True)
class TableFormat:
    """What is known about the file of a table. `missing` are words that stand for a missing value, in every column; `index`
    is a column that only numbers or names the rows, or "none" to read them all; `percent` says what 5% is, 5 or 0.05; `truth`
    are the words for true and for false: columns that hold nothing else are truth values.

    >>> TableFormat(delimiter="tab", decimal=",").delimiter
    '\\t'
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    index: str | None = None
    missing: tuple[str, ...] = ()
    percent: Percent | None = None
    truth: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        named = {name: mark for mark, name in DELIMITERS.items()} | {"\\t": "\t"}
        object.__setattr__(self, "delimiter", named.get(self.delimiter or "", self.delimiter))
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter.isalnum() or self.delimiter in '"\r\n.+-'
        ):
            raise InvalidInput(
                f"delimiter is {self.delimiter!r:.40}; write a character such as ; or one of {', '.join(DELIMITERS.values())}",
                argument="delimiter",
                code="unknown",
            )
        if self.truth is not None and (len(self.truth) != 2 or not all(self.truth) or self.truth[0] == self.truth[1]):
            raise InvalidInput(
                f"truth is {','.join(self.truth)!r:.40}; write the word for true and the word for false: ja,nein",
                argument="truth",
                code="shape",
            )
        for name, allowed in (("decimal", (".", ",")), ("percent", get_args(Percent))):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise InvalidInput(f"{name} is {value!r:.40}; write {' or '.join(allowed)}", argument=name, code="unknown")


_FORMAT: ContextVar[TableFormat] = ContextVar("_FORMAT", default=TableFormat())  # noqa: B039  it is frozen


def current_format() -> TableFormat:
    """What was said about the tables that are being read."""
    return _FORMAT.get()


@contextmanager
def written_as(said: TableFormat) -> Iterator[None]:
    """Tables inside are read as said: those of one command, which may read several files.

    >>> with written_as(TableFormat(decimal=",")):
    ...     current_format().decimal
    ','
    """
    before = _FORMAT.set(said)
    try:
        yield
    finally:
        _FORMAT.reset(before)


class TableNote(UserWarning):
    """How a table was read, where nothing that is returned can carry the note."""
