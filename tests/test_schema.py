"""The JSON schema in the documentation describes what results write, and refuses what they refuse."""

import json
from pathlib import Path

import pytest

import accredit
from accredit.core import Attribution, Note, NoteKind, Precision, Selection
from accredit.errors import InvalidInput
from accredit.explanation.result import Explanation, Token
from accredit.games import TableGames
from accredit.rows.result import TableExplanation, beside

jsonschema_rs = pytest.importorskip("jsonschema_rs")
SCHEMA = jsonschema_rs.validator_for(
    json.loads((Path(__file__).parent.parent / "docs" / "results.schema.json").read_text(encoding="utf-8"))
)
GAME = accredit.TableGame("abc", [0, 1, 2, 4, 3, 5, 6, 9])
SAMPLED = accredit.FunctionGame([f"p{i}" for i in range(14)], lambda s: s.sum(axis=1) ** 2.0)
ONE = Attribution(("Good", "."), [2.0, 0.5], 2.5, "by hand")
RESULTS = {
    "exact": lambda: accredit.shapley(GAME),
    "sampled": lambda: accredit.shapley(SAMPLED, budget=200),
    "standard errors": lambda: accredit.owen(GAME, [["a", "b"], "c"], orders=9),
    "scores": lambda: Attribution(("x",), [1.0], None, "m"),
    "several outputs": lambda: accredit.shapley(TableGames("ab", ("x", "y"), [[0, 0], [5, 1], [3, 2], [10, 3]])),
    "interactions": lambda: accredit.shapley_interactions(GAME, 2),
    "a selection": lambda: Selection(("x", "y"), [True, False], "m", scores=[1.0, 2.0], seed=3),
    "an explanation": lambda: Explanation(
        "Good.", (("POSITIVE", 0.9),), "POSITIVE", ("Good", "."), ("by hand", "other"), {"by hand": ONE}, {"other": "why"},
        tokens=(Token("Good", 0, 4, "Good"), Token(".", 4, 5, ".")), notes=(Note(NoteKind.WARNING, "it is made up"), "by hand"),
    ),
    "a table": lambda: TableExplanation(
        ("age", "pay"), ("price",), [[[2.0], [-1.0]]], base=[3.0], prediction=[[4.0]], cells=[[41], [None]], method="m",
        apart=[(0, Precision.exact("counted"))],
    ),
    "a table by two methods": lambda: beside([
        TableExplanation(("age",), ("price",), [[[2.0]]], [3.0], [[5.0]], [[41]], name) for name in ("shapley", "banzhaf")
    ]),
}  # fmt: skip


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_what_results_write_follows_the_schema(result):
    made = result()
    written = json.loads(made.to_json())
    SCHEMA.validate(written)
    assert type(made).from_json(json.dumps(written)) == made


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_what_the_schema_refuses_is_not_read(result):
    made = result()
    written = json.loads(made.to_json())
    refused = 0
    for field in written:
        for odd in (None, True, -1, "x", [], {}, [["x", 1, 2]], {"a": [1]}):
            data = written | {field: odd}
            if not SCHEMA.is_valid(data):
                refused += 1
                with pytest.raises(InvalidInput):
                    type(made).from_json(json.dumps(data))
    for data in ({k: v for k, v in written.items() if k != "players" and k != "by_output"}, written | {"extra": 1}):
        assert not SCHEMA.is_valid(data)
        with pytest.raises(InvalidInput):
            type(made).from_json(json.dumps(data))
    assert refused > 15


def test_no_kind_of_result_is_missing():
    kinds = {json.loads(result().to_json())["kind"] for result in RESULTS.values()}
    described = json.loads((Path(__file__).parent.parent / "docs" / "results.schema.json").read_text(encoding="utf-8"))
    assert kinds == {name for name, one in described["$defs"].items() if "kind" in one.get("properties", {})}
