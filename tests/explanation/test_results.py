"""One vocabulary for every result: methods, outputs, brackets, and rows by several methods."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import accredit
from accredit.core import Attribution, Holds, Precision
from accredit.errors import InvalidInput
from accredit.explanation import Explanation
from accredit.results import Result
from accredit.rows import TableExplanation
from accredit.rows.result import beside
from tests.wording import refused

RNG = np.random.default_rng(0)
CREDIT = RNG.normal(size=(4, 3, 2))
CLAIMS = (accredit.Claim("efficiency", "exactly", "by hand"), accredit.Claim("symmetry", "exactly", "by hand"))
VOCABULARY = (
    "methods",
    "outputs",
    "target",
    "of",
    "top",
    "items",
    "by_method",
    "show",
    "plot",
    "to_html",
    "to_json",
    "from_json",
    "to_pandas",
    "to_shap",
    "__getitem__",
    "__contains__",
    "__len__",
    "__iter__",
)


def table(method="shapley", scale=1.0, pairs=False) -> TableExplanation:
    credit, base = scale * CREDIT, np.array([1.0, -1.0])
    square = np.arange(4 * 3 * 3 * 2, dtype=float).reshape(4, 3, 3, 2)
    more = {"pairs": square, "pairs_index": "sii", "pairs_precision": Precision.exact()} if pairs else {}
    return TableExplanation(
        ("age", "pay", "shapley"),
        ("no", "yes"),
        credit,
        base,
        base + CREDIT.sum(axis=1),
        [[r * 10 + i for r in range(4)] for i in range(3)],
        f"{method}/closed form",
        target="yes",
        method_name=method,
        interval=np.stack([credit - 1, credit + 1], axis=-1),
        precision=Precision.interval("by hand"),
        claims=CLAIMS,
        apart=[(2, Precision.exact("counted"))],
        **more,
    )


def text() -> Explanation:
    each = {
        name: Attribution(("A", "film"), credit, 3.0, name) for name, credit in (("leave-one-out", [1, 2]), ("lime", [2, 1]))
    }
    return Explanation(
        "A film",
        (("POSITIVE", 0.9),),
        "POSITIVE",
        ("A", "film"),
        ("flow", "leave-one-out", "lime"),
        each,
        {"flow": "the model has no attention"},
        others={"NEGATIVE": {"lime": each["lime"]}},
    )


@pytest.mark.parametrize("result", [table(), text()], ids=["rows", "text"])
def test_every_result_speaks_the_same_words(result):
    assert isinstance(result, Result)
    assert [word for word in VOCABULARY if not hasattr(type(result), word) and not hasattr(result, word)] == []
    assert type(result).from_json(result.to_json()) == result


# Methods


def test_methods_of_a_text_by_name_alias_and_in_order():
    e = text()
    assert e.methods == ("flow", "leave-one-out", "lime") and len(e) == 2
    assert [name for name, _ in e] == [name for name, _ in e.items()] == ["leave-one-out", "lime"]
    assert "loo" in e and "lime" in e and "flow" not in e and "A" not in e and 3 not in e
    assert e["loo"] is e["leave-one-out"] is e.by_method()
    assert e.top(1).players == ("film",)  # by the first method that answered
    with pytest.raises(InvalidInput, match="no attention"):
        e["flow"]
    assert bool(replace(e, methods=("flow",), attributions={}, others={}))


@pytest.mark.parametrize("result", [table(), text()], ids=["rows", "text"])
def test_a_wrong_name_is_answered_with_those_that_are_there_and_the_nearest(result):
    near = result.methods[-1]
    with refused("unknown", "method") as caught:
        result[near[:-1] + "x"]
    assert f"mean '{near}'" in str(caught.value)
    with refused("unknown", "output") as caught:
        result.of(result.outputs[-1] + "X")
    assert f"mean '{result.outputs[-1]}'" in str(caught.value)


def test_a_string_alone_is_a_method_also_where_a_column_has_that_name():
    e = table()
    assert e["shapley"] == e and e[:, "shapley"].players == ("shapley",)
    with refused("unknown", "method"):
        e["age"]
    with refused("unknown", "method"):
        e["yes"]


def test_outputs_of_a_text_and_another_one():
    e = text()
    assert e.outputs == ("POSITIVE", "NEGATIVE") and e.of("NEGATIVE").methods == ("lime",)
    assert table().of("no").target == "no" and table().outputs == ("no", "yes")


# Rows by several methods


def several() -> TableExplanation:
    return beside([table(pairs=True), table("banzhaf", 0.5), table("beta:16,1", 2.0)])


def test_each_method_has_its_own_numbers():
    e = several()
    assert e.methods == ("shapley", "banzhaf", "beta:16,1") and "beta:16,1" in e and "lime" not in e
    assert e["shapley"] == table(pairs=True) and e["banzhaf"] == table("banzhaf", 0.5)
    assert [one.methods for _, one in e.items()] == [("shapley",), ("banzhaf",), ("beta:16,1",)]
    assert_array_equal(e.credit, CREDIT)  # the first method's


def test_parts_and_outputs_are_those_of_every_method():
    e = several()
    assert e[1:3]["banzhaf"] == e["banzhaf"][1:3] and e[[2, 0]]["banzhaf"] == e["banzhaf"][[2, 0]]
    assert e[:, "age"]["banzhaf"] == e["banzhaf"][:, "age"]
    assert e.of("no")["banzhaf"] == e["banzhaf"].of("no")
    assert e[[True, False, False, True], :, "no"].methods == e.methods


@pytest.mark.slow
def test_several_methods_survive_json_and_frames():
    e = several()
    assert TableExplanation.from_json(e.to_json()) == e and "by_other_methods" not in table().to_plain()
    frame = e.to_pandas()
    assert frame.index.names == ["method", "row"] and len(frame) == 12
    assert_array_equal(frame.loc["banzhaf", "age"], 0.5 * CREDIT[:, 0, 1])


def test_files_that_were_written_before_methods_had_names_are_read():
    plain = table().to_plain()
    del plain["method_name"]
    assert TableExplanation.from_json(json.dumps(plain)).methods == ("shapley/closed form",)


@pytest.mark.parametrize(
    "others",
    [
        {"lime": table("banzhaf")},
        {"shapley": table()},
        {"banzhaf": replace(table("banzhaf"), target="no")},
        {"banzhaf": table("banzhaf")[1:]},
        {"banzhaf": beside([table("banzhaf"), table("lime")])},
        {"banzhaf": 3},
        [table("banzhaf")],
    ],
)
def test_other_methods_must_be_about_the_same(others):
    with pytest.raises(InvalidInput, match="by_other_methods"):
        replace(table(), by_other_methods=others)


X = RNG.normal(size=(30, 3))


def linear(rows):
    return rows @ [2.0, 1.0, 0.0] + rows[:, 0] * rows[:, 1]


@pytest.mark.slow
def test_rows_are_explained_by_several_methods_in_one_call():
    e = accredit.explain(X[:3], linear, background=X[10:], methods="shapley, loo, banzhaf")
    assert e.methods == ("shapley", "leave-one-out", "banzhaf")
    for name in e.methods:
        alone = accredit.explain(X[:3], linear, background=X[10:], methods=name)
        assert_array_equal(e[name].credit, alone.credit)
        assert e[name] == alone
    assert [word in str(e) for word in ("Shapley, exact", "Leave", "Banzhaf")] == [True] * 3


def test_a_thinned_background_is_the_same_for_every_method():
    settings = {"background": X[10:], "most_background": 5, "background_by": "draw", "seed": 3}
    e = accredit.explain(X[:2], linear, methods=["shapley", "banzhaf"], **settings)
    assert_array_equal(e.base, e["banzhaf"].base)


@pytest.mark.slow
def test_a_page_says_what_every_method_found(tmp_path):
    several().to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('id="row-0"') == 1 and page.count("Banzhaf") >= 1 and page.count("<h2>") > 5


# Rows, columns and outputs


def test_one_row_is_an_attribution_and_one_cell_a_number():
    e = table()
    assert e[0] == e.row(0) == next(iter(e)) and e[-1] == e.row(3) and e[np.int64(1)] == e.row(1)
    assert e[0, :, "no"] == e.row(0, "no") and e[0, :, 0] == e.row(0, "no")
    assert e[0, "age"] == CREDIT[0, 0, 1] and e[0, "age", "no"] == CREDIT[0, 0, 0] and e[-1, -1, 1] == CREDIT[3, 2, 1]
    assert e[0, ["pay", "age"]].credit.tolist() == CREDIT[0, [1, 0], 1].tolist()
    assert e[2].precision == Precision.exact("counted")


@pytest.mark.parametrize(
    ("index", "rows", "columns", "outputs"),
    [
        (slice(2, None), [2, 3], [0, 1, 2], [0, 1]),
        ([3, 0], [3, 0], [0, 1, 2], [0, 1]),
        (np.array([True, False, True, False]), [0, 2], [0, 1, 2], [0, 1]),
        (np.array([1, 1]), [1, 1], [0, 1, 2], [0, 1]),
        ((slice(None), "pay"), [0, 1, 2, 3], [1], [0, 1]),
        ((slice(None), ["shapley", "age"]), [0, 1, 2, 3], [2, 0], [0, 1]),
        ((slice(None), slice(None), "no"), [0, 1, 2, 3], [0, 1, 2], [0]),
        (([2], [0, 1], ["yes"]), [2], [0, 1], [1]),
        (([0],), [0], [0, 1, 2], [0, 1]),
    ],
)
def test_parts_hold_what_was_picked(index, rows, columns, outputs):
    e = table(pairs=True)
    part = e[index]
    assert_array_equal(part.credit, CREDIT[np.ix_(rows, columns, outputs)])
    assert_array_equal(part.interval, e.interval[np.ix_(rows, columns, outputs)])
    assert_array_equal(part.prediction, e.prediction[np.ix_(rows, outputs)])
    assert_array_equal(part.base, e.base[outputs])
    assert part.players == tuple(e.players[i] for i in columns) and part.rows == tuple(str(r) for r in rows)
    assert part.cells == tuple(tuple(r * 10 + i for r in rows) for i in columns)
    assert part.outputs == tuple(e.outputs[k] for k in outputs) and part.target == ("yes" if 1 in outputs else "no")
    assert [row for row, _ in part.apart] == [place for place, r in enumerate(rows) if r == 2]
    if len(columns) > 1:
        assert_array_equal(part.pairs, e.pairs[np.ix_(rows, columns, columns, outputs)])
    assert TableExplanation.from_json(part.to_json()) == part


def test_a_part_of_the_columns_no_longer_claims_to_add_up():
    part = table(pairs=True)[:, ["age"]]
    assert [claim.holds for claim in part.claims] == [Holds.NO, Holds.EXACTLY] and part.pairs is None
    assert table()[1:].claims == CLAIMS and table()[:, ["pay", "age", "shapley"]].claims == CLAIMS
    with refused("missing", "interactions"):
        part.interactions(0)


@pytest.mark.parametrize(
    ("index", "argument", "code"),
    [
        (4, "rows", "range"),
        (True, "rows", "type"),
        (1.0, "rows", "type"),
        (slice(4, None), "rows", "empty"),
        ([], "rows", "empty"),
        (slice("a", None), "rows", "type"),
        (np.zeros((2, 2), int), "rows", "type"),
        ([True, False], "rows", "shape"),
        (["0"], "rows", "type"),
        (("shapley", "age"), "rows", "type"),
        ((0, "agee"), "columns", "unknown"),
        ((0, 3), "columns", "range"),
        ((slice(None), ["age", "age"]), "columns", "duplicate"),
        ((0, "age", "maybe"), "outputs", "unknown"),
        ((0, "age", slice(None)), "outputs", "shape"),
        ((0, "age", "no", 1), "index", "shape"),
        ((), "index", "shape"),
        (None, "index", "shape"),
        ({"a"}, "rows", "type"),
    ],
    ids=str,
)
def test_other_indices_are_refused_with_the_place_and_a_call_that_works(index, argument, code):
    with pytest.raises(InvalidInput) as refused:
        table()[index]
    assert (refused.value.argument, refused.value.code) == (argument, code)


def test_the_columns_that_matter_most_are_those_of_largest_mean_size():
    sizes = np.abs(CREDIT[:, :, 1]).mean(axis=0)
    found = table().top(2)
    assert found.players == tuple(table().players[i] for i in np.argsort(-sizes)[:2])


def test_a_player_is_in_an_attribution():
    one = text()["lime"]
    assert "film" in one and "tale" not in one and ("film", 1.0) not in one


# Figures


@pytest.mark.slow
def test_the_figures_of_results_are_methods():
    pytest.importorskip("matplotlib")
    rows, words = table(pairs=True), text()
    drawn = [
        rows.plot.bar(),
        rows.plot.beeswarm(),
        rows.plot.waterfall(1),
        rows.plot.force(1),
        rows.plot.scatter("age"),
        rows.plot.heatmap(),
        rows.plot.decision(),
        rows.plot.interactions(),
        rows.plot.interactions(row=0),
        words.plot.bar(),
        words.plot.bar(method="lime"),
        words.plot.strip(),
    ]
    assert all(ax.get_title(loc="left") for ax in drawn)
    with pytest.raises(InvalidInput, match="no flow"):
        words.plot.flow()
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.slow
def test_a_waterfall_draws_the_interval_of_each_step_and_says_so():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    ax = table().plot.waterfall(0, top=2)  # the largest, and the others together, which have no interval
    lines = ax.containers[-1].lines[2][0].get_segments()
    assert len(lines) == 1 and np.isclose(np.ptp(lines[0][:, 0]), 2.0)
    assert "95% interval" in ax.get_xlabel()
    assert "left over" not in ax.get_xlabel() and "left over" in table()[:, "age"].plot.waterfall(0).get_xlabel()
    exact = table().plot.waterfall(2)  # this row is known exactly
    assert "interval" not in exact.get_xlabel()
    pyplot.close("all")


HINTS = {  # what other libraries call it -> what it is here
    "values": "credit", "shap_values": "credit", "data": "cells", "base_values": "base", "feature_names": "players",
}  # fmt: skip


@pytest.mark.parametrize("theirs", HINTS)
def test_what_others_call_a_part_is_said_by_its_name_here(theirs):
    """`values` are SHAP values to shap's users and would be cells to others: nothing has that name."""
    for result, ours in ((table(), HINTS[theirs]), (table()[0], {"base": "baseline"}.get(HINTS[theirs], HINTS[theirs]))):
        with pytest.raises(AttributeError) as missing:
            getattr(result, theirs)
        assert ours == "cells" or f"it is .{ours} here" in str(missing.value)


def test_rows_are_not_picked_by_truth_values_in_another_order():
    pandas = pytest.importorskip("pandas")
    rows = table()
    keep = pandas.Series([True, False, False, True], index=list(rows.rows))
    assert rows[keep].rows == (rows.rows[0], rows.rows[3])
    with refused("conflict", "rows"):
        rows[keep[::-1]]


def test_a_row_that_is_picked_by_its_name_is_said_by_its_position():
    named = replace(table(), rows=("anna", "boris", "clara", "dan"))
    with refused("unknown", "method"):
        named["clara"]
