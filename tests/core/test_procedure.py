"""How a result was made: one record, one line of text, and files of the format before."""

import json
from pathlib import Path

import pytest

from accredit import Attribution, Attributions, InvalidInput, TableGame, shapley
from accredit.core import Interactions, Procedure, Selection
from accredit.values import Permutations
from tests.wording import reads

BEFORE = Path(__file__).parent / "before"  # written when `method` was a line of text
GAME = TableGame(("alice", "bob", "carol"), [0, 5, 3, 10, 1, 7, 4, 14])


def test_a_text_names_a_procedure():
    one = Attribution(("x",), [1.0], 1.0, "by hand")
    assert one.method == Procedure("by hand") and str(one.method) == "by hand"
    with pytest.raises(InvalidInput, match="method is 3"):
        Attribution(("x",), [1.0], 1.0, 3)


def test_equal_procedures_are_one_in_a_set_and_survive_json():
    how = Procedure.by("shapley", Permutations(orders=9, seed=2)).then("mean |credit| over 9 rows")
    assert Procedure.from_plain(json.loads(json.dumps(how.as_plain()))) == how
    assert len({how, Procedure.from_plain(how.as_plain()), how.of}) == 2
    assert reads(str(how))


@pytest.mark.parametrize("odd", [{"settings": 3}, {"of": "x"}, {"closed_form": 1}, {"name": None}, {"extra": 1}])
def test_what_is_not_a_procedure_is_refused(odd):
    with pytest.raises(InvalidInput):
        Procedure.from_plain(Procedure("shapley").as_plain() | odd)


@pytest.mark.parametrize(
    "kind, file",
    [
        (Attribution, "attribution"),
        (Attribution, "sampled"),
        (Attributions, "attributions"),
        (Selection, "selection"),
        (Interactions, "interactions"),
    ],
)
def test_files_of_the_format_before_are_read(kind, file):
    text = (BEFORE / f"{file}.json").read_text(encoding="utf-8")
    assert kind.from_json(kind.from_json(text).to_json()) == kind.from_json(text)


def test_the_line_of_the_format_before_is_kept():
    text = (BEFORE / "attribution.json").read_text(encoding="utf-8")
    read, now = Attribution.from_json(text), shapley(GAME)
    assert json.loads(text)["method"] == str(read.method) == str(now.method)
    assert read.as_dict() == now.as_dict() and read.claims == now.claims


@pytest.mark.parametrize("number", [1, 4, "3", None, True])
def test_other_formats_are_refused_by_their_number(number):
    data = json.loads(shapley(GAME).to_json()) | {"format": number}
    with pytest.raises(InvalidInput, match="has format") as refused:
        Attribution.from_json(json.dumps(data))
    assert (refused.value.argument, refused.value.code) == ("", "format")
