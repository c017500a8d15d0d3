"""To shap and back: shapes, plots, and no claim about what shap computed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression

import accredit
from accredit import Attribution, InvalidInput, from_shap
from accredit.core import Attributions, Known
from accredit.errors import MissingExtra
from accredit.explanation import Explanation, Token
from accredit.rows import TableExplanation

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(RNG.normal(size=(80, 4)), columns=["age", "pay", "km", "size"])
PRICE = ROWS["age"] * ROWS["pay"] + 2 * ROWS["km"]
KIND = pd.qcut(PRICE, 3, labels=["low", "mid", "high"])
THEIRS = {
    "values": np.array([[2.0, -1.0], [1.0, 0.5]]),
    "base_values": np.array([3.0, 3.0]),
    "data": np.array([[41, 7], [30, 9]]),
    "feature_names": ["age", "pay"],
    "output_names": None,
}


def theirs(**changed) -> SimpleNamespace:
    return SimpleNamespace(**(THEIRS | changed))


@pytest.fixture(scope="module")
def shap():
    return pytest.importorskip("shap", reason="shap is not installed")


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(5, max_depth=4, random_state=0).fit(ROWS, PRICE)


@pytest.fixture(scope="module")
def kinds():
    return RandomForestClassifier(5, max_depth=3, random_state=0).fit(ROWS, KIND)


# Ours to shap


@pytest.mark.slow
def test_one_output_has_the_shapes_and_numbers_that_shap_gives(shap, forest):
    given = shap.TreeExplainer(forest, ROWS[:30], feature_perturbation="interventional")(ROWS[30:40])
    ours = accredit.explain(ROWS[30:40], forest, background=ROWS[:30]).to_shap()
    assert ours.values.shape == given.values.shape == (10, 4) and ours.base_values.shape == given.base_values.shape == (10,)
    assert_allclose(ours.values, given.values, atol=1e-6)
    assert_allclose(ours.base_values, given.base_values, atol=1e-6)
    assert_array_equal(ours.data, given.data)
    assert list(ours.feature_names) == list(given.feature_names) and ours.output_names is None


@pytest.mark.slow
def test_several_outputs_have_the_shapes_and_numbers_that_shap_gives(shap, kinds):
    given = shap.TreeExplainer(kinds, ROWS[:30], feature_perturbation="interventional")(ROWS[30:40])
    found = accredit.explain(ROWS[30:40], kinds, background=ROWS[:30])
    ours = found.to_shap()
    assert ours.values.shape == given.values.shape == (10, 4, 3) and ours.base_values.shape == given.base_values.shape
    assert_allclose(ours.values, given.values, atol=1e-6)
    assert_allclose(ours.base_values, given.base_values, atol=1e-6)
    assert list(ours.output_names) == list(kinds.classes_)
    assert found[:, :, "mid"].to_shap().values.shape == (10, 4)
    assert_array_equal(found[:, :, "mid"].to_shap().values, ours.values[..., 2])


@pytest.mark.slow
def test_what_shap_writes_into_its_arrays_does_not_reach_ours(shap):
    ours = TableExplanation(("a",), ("y",), [[[2.0]]], [1.0], [[3.0]], [[5]], "m")
    ours.to_shap().values[:] = 0
    assert ours.credit[0, 0, 0] == 2.0


@pytest.mark.slow
def test_words_and_missing_cells_reach_shap(shap):
    ours = TableExplanation(("a", "b"), ("y",), np.ones((2, 2, 1)), [1.0], [[3.0], [3.0]], [["red", None], [1, 2]], "m")
    assert ours.to_shap().data.tolist()[0] == ["red", 1] and np.isnan(ours.to_shap().data[1, 0])


@pytest.mark.slow
def test_a_row_has_its_values_and_other_players_their_names(shap):
    row = TableExplanation(("a", "b"), ("y",), [[[2.0], [1.0]]], [1.0], [[4.0]], [[5], [None]], "m")[0].to_shap()
    assert row.values.tolist() == [2.0, 1.0] and float(row.base_values) == 1.0 and row.data[0] == 5 and np.isnan(row.data[1])
    cookies = accredit.shapley(accredit.TableGame(("alice", "bob"), [0, 5, 3, 10])).to_shap()
    assert list(cookies.data) == ["alice", "bob"] and float(cookies.base_values) == 0.0
    assert Attribution(("x",), [1.0], None, "scores").to_shap().base_values is None


@pytest.mark.slow
def test_a_text_is_its_strings_which_join_to_it(shap):
    text = "A dull film, a gripping end."
    e = accredit.explain(text, methods=["shapley", "loo"])
    ours = e.to_shap()
    assert "".join(ours.data) == text and ours.values.shape == (len(e.players),)
    assert_array_equal(ours.values, e["shapley"].credit)
    assert_array_equal(e.to_shap("loo").values, e["leave-one-out"].credit)
    assert_allclose(ours.base_values + ours.values.sum(), e["shapley"].baseline + e["shapley"].total)


@pytest.mark.slow
def test_a_text_in_several_outputs_has_an_axis_for_them(shap):
    e = accredit.explain("A dull film.", methods="shapley", target="all")
    ours = e.to_shap()
    assert ours.values.shape == (4, 2) and list(ours.output_names) == list(e.outputs)
    for k, name in enumerate(e.outputs):
        assert_array_equal(ours.values[:, k], e.of(name)["shapley"].credit)


@pytest.mark.slow
def test_groups_of_words_and_pairs_of_texts_go_by_their_names(shap):
    grouped = accredit.explain("A dull film.", methods="loo", players={"ends": [1, 3], "middle": [2]})
    assert set(grouped.to_shap().data) >= {"ends", "middle"}
    credit = {"by hand": Attribution(("A", "B"), [1.0, 2.0], 3.0, "by hand", baseline=0.0)}
    tokens = (Token("A", 0, 1, "A"), Token("B", 0, 1, "B", part=1))
    pair = Explanation("A", (("yes", 1.0),), "yes", ("A", "B"), ("by hand",), credit, tokens=tokens, pair="B")
    assert list(pair.to_shap().data) == ["A", "B"]


def test_without_shap_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises((MissingExtra, ImportError), match="to_shap needs"):
        TableExplanation(("a",), ("y",), [[[2.0]]], [1.0], [[3.0]], [[5]], "m").to_shap()


# shap to ours


def test_what_comes_in_makes_no_claims():
    e = from_shap(theirs())
    assert e.claims == () and e.methods == ("shap",) and e.precision.known is Known.UNKNOWN and e.precision.because
    assert e.credit[:, :, 0].tolist() == THEIRS["values"].tolist() and e.base.tolist() == [3.0]
    assert e.cells == ((41, 30), (7, 9)) and e.players == ("age", "pay")
    assert e[0].claims == () and not e[0].exact and e.provenance["read from"]
    assert any("stands in" in note.text for note in e.notes)  # no model was asked for its predictions


def test_predictions_make_what_is_missed_visible():
    e = from_shap(theirs(), predictions=[4.5, 4.5])
    assert e.unshared[:, 0].tolist() == [0.5, 0.0] and not any("stands in" in note.text for note in e.notes)
    for wrong in ([1.0], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]):
        with pytest.raises(InvalidInput, match="predictions") as refused:
            from_shap(theirs(), predictions=wrong)
        assert (refused.value.argument, refused.value.code) == ("predictions", "shape")


@pytest.mark.parametrize(
    ("changed", "base"),
    [
        ({"base_values": 3.0}, [3.0]),
        ({"base_values": np.array([[3.0], [3.0]])}, [3.0]),
        ({"values": np.ones((2, 2, 3)), "base_values": np.array([1.0, 2.0, 3.0])}, [1.0, 2.0, 3.0]),
        ({"values": np.ones((2, 2, 3)), "base_values": np.array([[1.0, 2.0, 3.0]] * 2)}, [1.0, 2.0, 3.0]),
        ({"values": np.ones((2, 2, 3)), "base_values": 1.0}, [1.0, 1.0, 1.0]),
    ],
)
def test_base_values_of_every_shape(changed, base):
    assert from_shap(theirs(**changed)).base.tolist() == base


def test_what_is_missing_is_named_or_said():
    e = from_shap(theirs(base_values=None, data=None, feature_names=None))
    assert e.players == ("x0", "x1") and e.outputs == ("prediction",) and e.base.tolist() == [0.0]
    assert any("no base values" in note.text for note in e.notes) and any("no data" in note.text for note in e.notes)
    three = from_shap(theirs(values=np.ones((2, 2, 3)), base_values=None))
    assert three.outputs == ("output 0", "output 1", "output 2")
    doubled = from_shap(theirs(feature_names=["age", "age"]))
    assert doubled.players == ("age", "age (2)") and any("name" in note.text for note in doubled.notes)
    assert any("error_std" in note.text for note in from_shap(theirs(error_std=np.ones((2, 2)))).notes)


def test_one_row_is_an_attribution_and_in_several_outputs_several():
    one = from_shap(theirs(values=np.array([2.0, -1.0]), base_values=3.0, data=np.array([41, 7])))
    assert isinstance(one, Attribution) and one.as_dict() == {"age": 2.0, "pay": -1.0} and one.baseline == 3.0
    assert one.claims == () and one.method.name == "shap" and one.total == 1.0
    several = from_shap(theirs(values=np.ones((2, 3)), base_values=np.array([1.0, 2, 3]), data=np.array([41, 7])))
    assert isinstance(several, Attributions) and several["output 2"].baseline == 3.0


def test_one_row_of_pairs():
    square = np.array([[1.0, 0.5], [0.5, 2.0]])
    one = from_shap(theirs(values=square, base_values=3.0, data=np.array([41, 7])))
    assert one.as_dict() == {"age": 1.5, "pay": 2.5}


def test_one_column_of_many_rows():
    e = from_shap(theirs(values=np.array([2.0, 1.0]), data=np.array([41, 30]), feature_names="age"))
    assert e.players == ("age",) and e.credit[:, 0, 0].tolist() == [2.0, 1.0] and e.cells == ((41, 30),)


def test_a_text_of_shap_has_its_tokens_as_players():
    one = from_shap(theirs(values=np.ones(3), base_values=0.5, data=np.array(["the ", "", "the "]), feature_names=None))
    assert one.players == ("the ", "(nothing)", "the  (2)")


def test_pairs_are_told_from_outputs_by_their_base_values():
    half, names = np.arange(12.0).reshape(3, 2, 2), {"data": None, "base_values": np.zeros(3)}
    square = half + half.swapaxes(1, 2)
    e = from_shap(theirs(values=square, **names))
    assert e.pairs is not None and e.outputs == ("prediction",)
    assert e.pairs[0, 0, 1, 0] == square[0, 0, 1] + square[0, 1, 0] and e.pairs[0, 0, 0, 0] == 0
    assert_array_equal(e.credit[:, :, 0], square.sum(axis=2))
    assert e.interactions(0).claims == () and not e.interactions(0).exact
    assert from_shap(theirs(values=square, data=None, base_values=np.zeros((3, 2)))).pairs is None
    assert from_shap(theirs(values=square, data=None, base_values=np.zeros(2))).pairs is None
    assert from_shap(theirs(values=square, data=None, base_values=None, output_names=["no", "yes"])).pairs is None
    open_ended = theirs(values=square, data=None, base_values=None)
    with pytest.raises(InvalidInput) as refused:
        from_shap(open_ended)
    assert (refused.value.argument, refused.value.code) == ("interactions", "missing")
    assert from_shap(open_ended, interactions=True).pairs is not None
    assert from_shap(open_ended, interactions=False).pairs is None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (np.ones((2, 2)), "type"),
        (3, "type"),
        ({"values": 1}, "type"),
        (theirs(values=np.ones((2, 0))), "empty"),
        (theirs(values=np.array([[1.0], [1.0, 2.0]], dtype=object)), "shape"),
        (theirs(values=np.ones((2, 8, 8, 3)), data=np.ones((2, 8, 8, 3))), "shape"),
        (theirs(base_values=np.array([3.0, 4.0])), "unsupported"),
        (theirs(base_values=np.ones(7)), "shape"),
        (theirs(data=np.ones((2, 5))), "shape"),
        (theirs(feature_names=["age"]), "shape"),
    ],
    ids=["array", "number", "mapping", "no columns", "ragged", "picture", "bases", "base shape", "data shape", "names"],
)
def test_what_cannot_be_read_is_refused(given, code):
    with pytest.raises(InvalidInput, match="explanation") as refused:
        from_shap(given)
    assert (refused.value.argument, refused.value.code) == ("explanation", code)


def explainers(shap, forest, kinds):
    line = LinearRegression().fit(ROWS, PRICE)
    return {
        "trees": (shap.TreeExplainer(forest), forest.predict, {}),
        "trees, background": (shap.TreeExplainer(forest, ROWS[:20], feature_perturbation="interventional"), forest.predict, {}),
        "trees, classes": (shap.TreeExplainer(kinds), kinds.predict_proba, {}),
        "linear": (shap.LinearExplainer(line, ROWS), line.predict, {}),
        "kernel": (shap.KernelExplainer(line.predict, ROWS[:5]), line.predict, {"silent": True}),
        "permutation": (shap.PermutationExplainer(line.predict, ROWS[:5]), line.predict, {"silent": True}),
        "exact": (shap.ExactExplainer(line.predict, ROWS[:5]), line.predict, {"silent": True}),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees", "trees, background", "trees, classes", "linear", "kernel", "permutation", "exact"])
def test_what_shaps_explainers_return_is_read(name, shap, forest, kinds):
    explainer, predict, settings = explainers(shap, forest, kinds)[name]
    try:
        given = explainer(ROWS[:3], **settings)
    except TypeError:  # this explainer knows no bar that could be silent
        given = explainer(ROWS[:3])
    e = from_shap(given, predictions=predict(ROWS[:3]))
    assert_allclose(e.credit.reshape(given.values.shape), given.values)
    assert_allclose(e.unshared, 0, atol=1e-6)  # these are efficient, and now that was tested
    assert e.claims == () and e.provenance["shap"] and e.players == tuple(ROWS)
    assert_allclose(e.to_shap().values, given.values)
    assert TableExplanation.from_json(e.to_json()) == e
    one = from_shap(given[0])
    first = one.credit if isinstance(one, Attribution) else np.asarray(one.credit)
    assert_allclose(first, given.values[0])


@pytest.mark.slow
def test_interactions_of_shaps_trees_are_ours(shap, forest, kinds):
    given = shap.TreeExplainer(forest)(ROWS[:3], interactions=True)
    ours = accredit.explain(ROWS[:3], forest, dependence="cover", interactions=True)
    read = from_shap(given)
    assert_allclose(read.pairs, ours.pairs, atol=1e-6)
    assert_allclose(read.credit, ours.credit, atol=1e-6)
    classes = from_shap(shap.TreeExplainer(kinds)(ROWS[:3], interactions=True))
    assert classes.pairs.shape == (3, 4, 4, 3)


# shap's plots


def _decision(shap, e, text):
    return shap.plots.decision(e.base_values[0], e.values, feature_names=list(e.feature_names), show=False)


def _groups(shap, e, text):
    return shap.plots.group_difference(e.values, e.data[:, 0] > 0, feature_names=list(e.feature_names), show=False)


PLOTS = {
    "bar": lambda shap, e, text: shap.plots.bar(e, show=False),
    "beeswarm": lambda shap, e, text: shap.plots.beeswarm(e, show=False),
    "waterfall": lambda shap, e, text: shap.plots.waterfall(e[3], show=False),
    "scatter": lambda shap, e, text: shap.plots.scatter(e[:, "age"], color=e[:, "pay"], show=False),
    "heatmap": lambda shap, e, text: shap.plots.heatmap(e, show=False),
    "force": lambda shap, e, text: shap.plots.force(e[0], matplotlib=True, show=False),
    "decision": _decision,
    "violin": lambda shap, e, text: shap.plots.violin(e, show=False),
    "text": lambda shap, e, text: shap.plots.text(text, display=False),
    "group difference": _groups,
    "embedding": lambda shap, e, text: shap.plots.embedding(
        "age", e.values, feature_names=list(e.feature_names), show=False
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_shaps_plots_draw_what_we_computed(plot, shap, forest):
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    table = accredit.explain(ROWS[30:60], forest, background=ROWS[:30]).to_shap()
    text = accredit.explain("A dull film, a gripping end.", methods="shapley").to_shap()
    try:
        drawn = PLOTS[plot](shap, table, text)
        if plot == "text":
            assert "gripping" in drawn
            return
        figure = pyplot.gcf()
        figure.canvas.draw()
        written = {word.get_text() for ax in figure.axes for word in ax.findobj(match=lambda a: hasattr(a, "get_text"))}
        assert figure.axes and any(name in line for name in ("age", "km") for line in written)
    finally:
        pyplot.close("all")
