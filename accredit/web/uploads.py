"""A file that was dropped on the page: it lies in a folder of its own while it is read, and messages call it by its name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path, PurePath

from accredit.checks.table_format import TableFormat
from accredit.checks.tables import JSON_LINES, SEPARATORS, ending
from accredit.errors import InvalidInput

TABLES = (*SEPARATORS, *JSON_LINES)
ASKED = "Say so below the file, under “How it is written”"
UNASKED = "There is no field for that here: save the file so that it is certain, or use the command"
SAID_OF_TABLES = frozenset(each.name for each in fields(TableFormat))


def kind_of(name: str, endings: tuple[str, ...] = TABLES) -> str:
    """How the name of a file ends, if the page reads such files.

    >>> kind_of("Staff.CSV")
    '.csv'
    """
    kind = ending(name)
    if kind not in endings or name.lower().endswith(".gz"):
        raise InvalidInput(
            f"{PurePath(name).name!r} is not a file that this page reads; drop {', '.join(endings)}", code="format"
        )
    return kind


@contextmanager
def drop(text: str, name: str, endings: tuple[str, ...] = TABLES, asks: bool = False) -> Iterator[Path]:
    """The path of the text while it is read; `asks` says whether there are fields for how it is written."""
    kind = kind_of(name, endings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{kind}"
        path.write_text(text, encoding="utf-8")
        try:
            yield path
        except InvalidInput as error:
            said = str(error).replace(str(path), PurePath(name).name)
            if error.argument in SAID_OF_TABLES:
                said += f". {ASKED if asks else UNASKED}"
            raise InvalidInput(said, argument=error.argument, code=error.code) from None


def in_own_name(notes: Iterable[str], path: Path, name: str) -> tuple[str, ...]:
    """Notes on a file that was dropped, by the name that it had."""
    return tuple(note.replace(path.name, PurePath(name).name) for note in notes)
