"""Notes of results: code asks the kind, people read the text."""

import json

import pytest

from accredit import InvalidInput
from accredit.core import Note, NoteKind
from accredit.core.notes import check_notes, read_notes


@pytest.mark.parametrize("kind", NoteKind)
def test_every_kind_survives_json(kind):
    note = Note(kind, "a “sentence”")
    assert read_notes(json.loads(json.dumps([note.as_plain()])), are_lines=False) == (note,)
    assert str(note).endswith(note.text)


def test_a_text_is_a_remark_whatever_it_says():
    assert [note.kind for note in check_notes(["Warning: no kind", Note("warning", "one")])] == ["remark", "warning"]


@pytest.mark.parametrize("odd", ["x", 3, [3], [["rumour", "x"]], [["remark"]], [["remark", 3]], ["x"]])
def test_what_is_not_a_note_is_refused(odd):
    with pytest.raises(InvalidInput):
        read_notes(odd, are_lines=False)
