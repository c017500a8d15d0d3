"""The door for JSON: types, ranges, keys, sizes, depth, text."""

import json

import numpy as np
import pytest

from accredit import Attribution, Interactions, InvalidInput, TableGame, shapley, shapley_interactions
from accredit.checks.json_data import plain, read_json
from accredit.core import Attributions, Claim, Holds, Selection
from accredit.games import TableGames
from accredit.rows import TableExplanation
from accredit.values import Permutations
from tests.wording import refused

GAME = TableGame("abc", [0, 1, 2, 4, 3, 5, 6, 9])
WHOLE = {
    Attribution: shapley(GAME),
    Interactions: shapley_interactions(GAME, 2),
    Selection: Selection(("x", "y"), [True, False], "m"),
    Attributions: shapley(TableGames("ab", ("x", "y"), [[0, 0], [5, 1], [3, 2], [10, 3]])),
}
ODD = [None, True, 1, -1, 1.5, "x", [], {}, [1], {"a": 1}, [[1]], [None], ["x", "x"], 10**15]
# what is written in a field of each kind may be any of these; nothing else
MEANT = {
    "players": (), "credit": (), "total": (None, 1, -1, 1.5, 10**15), "method": (), "claims": ([],),
    "stderr": (None,), "interval": (None,), "level": (None,), "precision": (), "baseline": (None, 1, -1, 1.5, 10**15),
    "payoffs": (None, 1, 10**15), "seed": (None, 1, 10**15), "stopped": ("x",), "certificate": ({}, {"a": 1}),
    "provenance": ({}, {"a": 1}), "index": ("x",), "means": ("x",), "values": (), "chosen": (), "rule": ("x",),
    "scores": (None,), "by_output": (), "blur": (None, 1, 1.5, 10**15), "kind": (), "format": (),
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_every_field_takes_only_what_it_means(kind):
    written = json.loads(WHOLE[kind].to_json())
    for field, odd in ((field, odd) for field in written for odd in ODD):
        text = json.dumps(written | {field: odd})
        if any(type(odd) is type(good) and odd == good for good in (*MEANT[field], written[field])):
            assert plain(json.loads(kind.from_json(text).to_json()))[field] == odd
            continue
        with pytest.raises(InvalidInput) as refused:
            kind.from_json(text)
        if field == "players" and odd == [1]:  # a number is a name; what is refused is one player too few
            continue
        assert field.removeprefix("by_") in str(refused.value), (field, odd, str(refused.value))


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
def test_fields_that_are_missing_misspelt_or_doubled_are_refused(kind):
    written = json.loads(WHOLE[kind].to_json())
    for field in written:
        if field != "blur":  # not known of results that were written before it was
            with pytest.raises(InvalidInput, match=field):
                kind.from_json(json.dumps({key: value for key, value in written.items() if key != field}))
        if field not in ("kind", "format"):
            with refused("unknown"):
                kind.from_json(json.dumps({field + "x" if key == field else key: v for key, v in written.items()}))
        twice = WHOLE[kind].to_json()[:-1] + f', "{field}": 1}}'
        with pytest.raises(InvalidInput, match=f"'{field}' twice"):
            kind.from_json(twice)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "give the JSON text"),
        (3, "give the JSON text"),
        (b"\xff\xfe{}", "not text in UTF-8"),
        ("{}}", "is not JSON"),
        ("", "is not JSON"),
        ("[" * 100_000, "nested more than 100 deep"),
        ("[" * 101 + "]" * 101, "nested more than 100 deep"),
        ('{"a": ' + "9" * 5000 + "}", "whole number of 5000 digits"),
        ("-" + "9" * 400, "whole number of 400 digits"),
        ("1e999", "1e999, which is beyond"),
        ("NaN", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ('["\\ud800"]', "half of a surrogate pair"),
        ('{"\\udfff": 1}', "half of a surrogate pair"),
        ('{"a": {"b": 1, "b": 2}}', "'b' twice"),
    ],
)
def test_json_that_is_not_plain_data_is_refused(text, why):
    with pytest.raises(InvalidInput, match=why):
        read_json(text, "the file")


def test_json_that_is_plain_data_is_read():
    assert read_json("\ufeff[1, 2.5, null]", "x") == [1, 2.5, None]
    assert read_json(b'{"\\ud83d\\ude00": 1}', "x") == {"😀": 1}
    assert read_json("[" * 100 + "]" * 100, "x")


def test_results_keep_only_what_json_holds():
    loop = {}
    loop["loop"] = loop
    for odd, why in (
        (loop, "contains itself"),
        ({"x": 10**400}, "1.8e308"),
        ({"x": "\udc80"}, "surrogate"),
        ({"x": np.ma.masked_all(2)}, "masked"),
    ):
        with pytest.raises(InvalidInput, match=why):
            Attribution(("x",), [1], 1, "m", certificate=odd)


def test_claims_say_one_thing_about_each_axiom_in_known_words():
    assert Claim("efficiency", "exactly", "x").holds is Holds.EXACTLY
    with pytest.raises(InvalidInput, match="holds is 'perhaps'"):
        Claim("efficiency", "perhaps", "x")
    with pytest.raises(InvalidInput, match="axiom is 3"):
        Claim(3, Holds.NO, "x")
    with refused("duplicate", "claims"):
        Attribution(("x",), [1], 1, "m", (Claim("a", "no", ""), Claim("a", "exactly", "")))


def _with_one_truth(value, path=()):
    """Copies of plain data, each with one number of a list replaced by true; and where."""
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, inner in items:
        if isinstance(inner, float) and isinstance(value, list):
            yield [*value[:key], True, *value[key + 1 :]], (*path, key)
        for changed, place in _with_one_truth(inner, (*path, key)):
            copy = list(value) if isinstance(value, list) else dict(value)
            copy[key] = changed
            yield copy, place


@pytest.mark.parametrize(
    "result",
    [
        *WHOLE.values(),
        Permutations(orders=30, seed=0).solve(GAME),
        Selection(("x", "y"), [True, False], "m", scores=[0.5, 0.25]),
        TableExplanation(("a", "b"), ("y",), [[[2.0], [-1.0]]], [3.0], [[4.0]], [[41], [1.5]], "m"),
    ],
    ids=lambda result: type(result).__name__,
)
def test_true_is_not_a_number_in_json(result):
    cells = isinstance(result, TableExplanation)  # whose `values` are what was in the table
    changed = [data for data, place in _with_one_truth(json.loads(result.to_json())) if not (cells and place[0] == "values")]
    assert changed or result.scores is None
    for data in changed:
        with pytest.raises(InvalidInput):
            type(result).from_json(json.dumps(data))
