"""Explanations that were saved in the format before are read; others are refused by their number."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from accredit import explain
from accredit.core import Note, NoteKind
from accredit.explanation import Explanation
from accredit.rows import TableExplanation
from tests.wording import reads, refused

BEFORE = Path(__file__).parent / "before"  # written when methods and notes were lines of text
KINDS = {"explanation": Explanation, "table": TableExplanation}


@pytest.mark.parametrize("file", KINDS)
def test_files_of_the_format_before_are_read(file):
    text = (BEFORE / f"{file}.json").read_text(encoding="utf-8")
    kind, noted = KINDS[file], json.loads(text) | {"notes": ["a line"]}
    read = kind.from_json(json.dumps(noted))
    assert read.notes == (Note(NoteKind.REMARK, "a line"),) and kind.from_json(read.to_json()) == read
    assert json.loads(read.to_json())["format"] == noted["format"] + 1


@pytest.mark.parametrize("file", KINDS)
@pytest.mark.parametrize("number", [0, 3])
def test_other_formats_are_refused(file, number):
    text = (BEFORE / f"{file}.json").read_text(encoding="utf-8")
    with refused("format"):
        KINDS[file].from_json(json.dumps(json.loads(text) | {"format": number}))


def test_the_note_on_other_targets_is_left_out_by_its_kind():
    one = explain("A gripping film.", methods=["leave-one-out"], target="all")
    assert [note.kind for note in one.notes] == [NoteKind.OTHER_TARGETS]
    said = replace(one, notes=(Note(NoteKind.OTHER_TARGETS, "reworded"), "comes from the same passes"))
    assert reads([note.text for note in said.of(next(iter(one.others))).notes])
