"""What the reader of a result must know beside its numbers: a kind that code may ask, and a sentence for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from accredit.checks.numbers import check_text, shown
from accredit.errors import InvalidInput


class NoteKind(StrEnum):
    """What a note is about.

    >>> NoteKind("warning") is NoteKind.WARNING
    True
    """

    REMARK = "remark"  # anything else: how the input was read, what was chosen or left out
    NOTHING_KNOWN = "nothing known"  # every word of the input is unknown to the model
    NOTHING_EARNED = "nothing earned"  # all parts of a prompt together hardly change how likely the answer is
    OTHER_TARGETS = "other targets"  # credit for other targets comes from the same passes
    NOT_UNIQUE = "not unique"  # maximum flows disagree on who comes first
    COLLAPSE = "collapse"  # how many flows between two tokens do not depend on the layers between them
    WARNING = "warning"  # the numbers may not say what they seem to say


@dataclass(frozen=True)
class Note:
    """One thing to know about a result. Code decides by `kind`; `text` is for people, and may be worded better one day.

    >>> print(Note(NoteKind.REMARK, "Two rows were cut."))
    Two rows were cut.
    >>> print(Note(NoteKind.WARNING, "it shows the mask more than the model"))
    Warning: it shows the mask more than the model
    """

    kind: NoteKind
    text: str

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", NoteKind(self.kind))
        except ValueError:
            raise InvalidInput(
                f"kind is {shown(self.kind)}; write one of {', '.join(NoteKind)}", argument="kind", code="unknown"
            ) from None
        check_text(self.text, "text")

    def __str__(self) -> str:
        return f"Warning: {self.text}" if self.kind is NoteKind.WARNING else self.text

    def as_plain(self) -> list[str]:
        """As JSON types: [kind, text]."""
        return [str(self.kind), self.text]

    @classmethod
    def from_plain(cls, data: object) -> Note:
        """From the list [kind, text] that a result writes."""
        if not isinstance(data, list) or len(data) != 2:
            raise InvalidInput(
                f"notes holds {shown(data)}; a note is a list of two texts: kind, text", argument="notes", code="type"
            )
        return cls(*data)


def check_notes(given: object, name: str = "notes") -> tuple[Note, ...]:
    """The notes of a result; a text is a remark.

    >>> check_notes(["Two rows were cut."])
    (Note(kind=<NoteKind.REMARK: 'remark'>, text='Two rows were cut.'),)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is {shown(given)}; write a tuple of notes", argument=name, code="type")
    return tuple(note if isinstance(note, Note) else Note(NoteKind.REMARK, check_text(note, name)) for note in given)


def read_notes(data: object, *, are_lines: bool) -> tuple[Note, ...]:
    """Notes from JSON; results of the format before kept no more than their lines."""
    if not isinstance(data, list):
        raise InvalidInput(f"notes is {shown(data)}; it must be a list", argument="notes", code="type")
    return check_notes(data) if are_lines else tuple(Note.from_plain(note) for note in data)
