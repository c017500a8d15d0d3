"""A few entries of `make golden`, recorded and compared; and that every kind of difference is seen."""

from __future__ import annotations

import doctest
import json

import numpy as np
import pytest

from accredit import TableGame, shapley
from accredit.methods import methods_for
from tests.wording import reads, says
from tools import golden
from tools.proof.golden import doors, entries, records

REWORDED = "wording or format differs"


def verdict(old: object, new: object) -> str:
    return records.difference(records.record(old), records.record(new)).verdict


def test_one_bit_of_a_number_is_seen_and_measured():
    found = records.difference(records.record(np.array([0.3, 1.0])), records.record(np.array([0.1 + 0.2, 1.0])))
    assert found.verdict == "numbers differ" and 1e-16 < found.largest < 2e-16 and found.where == "whole/0"
    assert verdict([0.0], [-0.0]) == "numbers differ"
    assert verdict([float("nan")], [float("nan")]) == "same"


def test_words_fields_and_their_order_are_format_and_not_numbers():
    assert verdict("took 3 steps", "needs 3 steps") == REWORDED
    assert verdict({"a": 1, "b": 2}, {"b": 2, "a": 1}) == REWORDED
    assert verdict({"a": 1}, {"a": 1.0}) == REWORDED
    assert verdict("took 3 steps", "took 4 steps") == "numbers differ"


def test_what_a_method_found_is_told_apart_from_how_it_is_written():
    """A result that only gets another claim keeps its numbers; one that credits another player does not."""
    game = TableGame(("alice", "bob"), [0, 5, 3, 10])
    was = records.record(shapley(game))
    assert was["numbers"] == {"players": ["alice", "bob"], "credit": [6.0, 4.0], "total": 10.0, "baseline": 0.0}
    reworded = json.loads(json.dumps(was).replace("telescope", "add up"))
    assert records.difference(was, reworded).verdict == REWORDED
    renamed = records.record(shapley(TableGame(("alice", "bob", "cyd"), [0, 5, 3, 10, 0, 5, 3, 10])))
    assert says(str(records.difference(was, renamed)), "numbers at numbers/players/2")


def test_what_belongs_to_a_run_is_hidden():
    hidden = {"/tmp/place": "FOLDER", "2.13.0+cpu": "(torch)"}
    text = '{"seconds": {"shapley": 0.31}, "torch": "2.13.0+cpu"} written: /tmp/place/a.html, 16 payoffs in < 0.01 s'
    shown = '{"seconds": "(of the run)", "torch": "(torch)"} written: FOLDER/a.html, 16 payoffs in # s'
    assert records.masked(text, hidden) == shown
    assert records.record({"seconds": 0.5, "credit": 0.5})["whole"] == {"seconds": records.MASKED, "credit": 0.5}


def test_an_entry_that_raises_is_an_error_and_no_result():
    assert reads(golden._tried(lambda: doors.no_such_name, {}))


@pytest.mark.parametrize(
    ("kind", "place"),
    [("text", "text"), ("picture", "image"), ("strings", "strings"), ("answer", "answer"), ("data", "training data")],
)
def test_every_method_is_recorded_for_every_kind_of_input(kind, place):
    names = entries.entries([kind])
    assert {f"{kind}/{method.name}" for method in methods_for(place)} <= names.keys()


def test_every_value_of_a_game_is_recorded_exact_and_sampled():
    names = entries.entries(["games"])
    assert {f"games/table, {method.name}" for method in methods_for("game")} <= names.keys()
    assert {f"games/function, {m.name}" for m in methods_for("game") if "text" in m.applies} <= names.keys()


@pytest.mark.slow
def test_every_door_opens():
    gone = []
    for name in doors.ADDRESS:
        try:
            getattr(doors, name)
        except (ImportError, AttributeError) as error:
            gone.append(str(error))
    assert gone == []


@pytest.mark.slow
def test_a_folder_is_recorded_compared_and_found_out_where_it_was_changed(tmp_path, capsys):
    only = ["--only", "games/gloves"]
    assert golden.main(["record", str(tmp_path), *only]) == 0
    assert golden.main(["compare", str(tmp_path), *only, "--jobs", "2"]) == 0
    assert says(capsys.readouterr().out.splitlines()[-1], "0 numbers differ")
    path = golden.file_of(tmp_path, "games/gloves")
    kept = json.loads(path.read_text())
    kept["whole"]["epsilon"] += 0.25
    path.write_text(json.dumps(kept))
    golden.write(tmp_path, "games/gloves of old", kept)
    assert golden.main(["compare", str(tmp_path), "--show", "games/gloves*"]) == 1
    said = capsys.readouterr().out
    assert (
        says(said, "numbers differ: games/gloves")
        and "\n-whole/epsilon = 0.25\n" in said
        and "\n+whole/epsilon = 0.0\n" in said
    )
    assert says(said, "missing: games/gloves of")


def test_examples_in_docstrings_hold():
    assert doctest.testmod(records).failed == doctest.testmod(golden).failed == 0
