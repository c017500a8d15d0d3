"""Calls as strangers make them: what is in the wrong place, in the wrong container, or called as others call it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("transformers")

from accredit import (
    Attribution,
    Explainer,
    TableGame,
    WeightedVote,
    cite,
    explain,
    explain_rows,
    explain_series,
    explain_text,
    flow_report,
    from_shap,
    joint_flow,
    leave_one_out,
    owen,
    shapley,
)
from accredit.core import NoteKind
from accredit.influence import network, trace
from accredit.labels import wrong_labels, wrong_numbers, wrong_tags, wrong_votes
from accredit.store import save
from accredit.valuation import split
from accredit.values import Lime
from tests.wording import refused

TEXT = "A gripping film."
ROWS = np.array([[0.0, 1.0], [2.0, -3.0], [4.0, 5.0]])
FACTS = ["Anna lives in Rome .", "Boris owns a dog ."]


class Model:
    """A class that somebody forgot to make."""

    def fit(self, rows, answers):
        return self

    def predict(self, rows):
        return rows.sum(axis=1)


def total(rows):
    return rows.sum(axis=1)


@pytest.mark.parametrize(
    ("given", "argument", "code"),
    [
        (b"A film.", "given", "type"),
        ((text for text in [TEXT]), "given", "type"),
        ({TEXT}, "given", "type"),
        (pd.Series([TEXT, "Bad."]), "given", "type"),
        (np.array([TEXT, "Bad."]), "given", "type"),
        ([TEXT, None], "given", "type"),
        ([["A", "film"]], "given", "type"),
        (("one", "two", "three"), "given", "type"),
        (ROWS, "model", "missing"),
        (ROWS.tolist(), "model", "missing"),
        ([[1.0, 2.0], [3.0]], "given", "shape"),
    ],
    ids=["bytes", "generator", "set", "series", "array", "gap", "nested", "three", "rows", "lists", "ragged"],
)
def test_what_is_no_text_and_no_picture_is_called_what_it_is(given, argument, code):
    with refused(code, argument):
        explain(given)


def test_a_text_may_hold_any_character():
    assert explain("good\0film", methods="loo").players == ("good\0film",)


@pytest.mark.parametrize(
    ("settings", "argument", "code"),
    [
        ({"methods": {"loo": 1}}, "methods", "type"),
        ({"methods": (name for name in ["loo"])}, "methods", "type"),
        ({"players": {}}, "players", "empty"),
        ({"cut": "no"}, "cut", "type"),
        ({"tokenizer": object()}, "tokenizer", "misplaced"),
        ({"payoff": lambda outputs: outputs}, "payoff", "shape"),
        ({"methods": "smoothgrad", "noise": -1}, "noise", "range"),
        ({"methods": "rollout", "heads": [1.0, 1.0, 1.0]}, "heads", "shape"),
        ({"model": Model}, "model", "type"),
        ({"model": [1, 2]}, "model", "type"),
        ({"passages": FACTS}, "passages", "unknown"),
    ],
    ids=[
        "methods in a mapping",
        "methods read once",
        "no players",
        "cut in words",
        "tokenizer alone",
        "payoff of two numbers",
        "noise below zero",
        "heads of another model",
        "class",
        "list",
        "passages",
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_never_dropped(settings, argument, code):
    with refused(code, argument):
        explain(TEXT, **{"methods": "loo", **settings})


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: explain(ROWS, ROWS[:, 0]), "model", "type"),
        (lambda: explain_rows(ROWS, Model, ROWS), "model", "type"),
        (lambda: explain_rows(pd.DataFrame(ROWS).astype(complex), Model(), ROWS), "rows", "type"),
        (lambda: explain_series(np.ones((2, 4, 1)), total, "zeros", channels_first="no"), "channels_first", "type"),
        (lambda: explain(ROWS, total, background=ROWS, n_jobs=2), "n_jobs", "unknown"),
        (lambda: cite(context=pd.DataFrame({"text": FACTS}), query="Where ?"), "context", "type"),
        (lambda: explain(context=FACTS, query="Where ?", separator=3), "separator", "type"),
        (lambda: trace("a folder", None, FACTS, "Anna lives in", "Rome ."), "model", "type"),
        (lambda: network(None), "model", "type"),
        (lambda: wrong_labels(["yes", "no"], pred_probs=ROWS), "pred_probs", "unknown"),
        (lambda: wrong_labels(["yes", "no"], ROWS), "", "too-many"),
        (lambda: owen(TableGame(("a",), [0, 1])), "groups", "missing"),
        (lambda: leave_one_out(TableGame(("a",), [0, 1]), "a"), "", "too-many"),
        (lambda: shapley(TableGame({"a": 1}, [0, 1])), "players", "type"),
        (lambda: save("result.json", 3), "result", "type"),
    ],
    ids=[
        "labels",
        "class",
        "complex",
        "series",
        "workers",
        "frame",
        "separator",
        "trace",
        "network",
        "probabilities",
        "positions",
        "no groups",
        "two games",
        "players in a mapping",
        "save",
    ],
)
def test_what_stands_in_the_wrong_place_is_named(call, argument, code):
    with refused(code, argument):
        call()


LABELS = pd.Series(["yes", "no"] * 20)
VIEWS = pd.DataFrame(np.arange(80.0).reshape(40, 2))
TURNED = slice(None, None, -1)  # the same rows, from the last to the first
EVEN = np.full((2, 3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: TableGame("ab", pd.Series([10, 0, 3, 5], index=[3, 0, 2, 1])), "table"),
        (lambda: TableGame("ab", pd.Series([10, 0, 3, 5], index=["ab", "", "b", "a"])), "table"),
        (lambda: WeightedVote("abc", pd.Series([3, 2, 1], index=["c", "b", "a"]), 3), "weights"),
        (lambda: Attribution(("a", "b"), pd.Series([2, 1], index=["b", "a"]), 3, "by hand"), "credit"),
        (lambda: explain_rows(VIEWS[:1], total, VIEWS, weights=pd.Series(range(40))[TURNED]), "weights"),
        (lambda: wrong_labels(LABELS, features=VIEWS, names=pd.Series(map(str, range(40)))[TURNED]), "names"),
        (lambda: wrong_labels(LABELS, features={"numbers": VIEWS[TURNED]}), "features"),
        (lambda: wrong_labels(LABELS, features=VIEWS, excerpts=LABELS[TURNED]), "excerpts"),
        (lambda: wrong_numbers(VIEWS[0], features=VIEWS[TURNED]), "features"),
        (lambda: wrong_votes({"ann": LABELS, "bob": LABELS[TURNED]}, features=VIEWS), "votes"),
        (lambda: wrong_votes({"ann": LABELS, "bob": LABELS}, features=VIEWS[TURNED]), "features"),
        (lambda: wrong_tags(LABELS.map(lambda label: {label}), features=VIEWS[TURNED]), "features"),
    ],
)
def test_a_column_that_names_the_same_things_in_another_order_is_not_read_place_by_place(call, argument):
    with refused("conflict", argument):
        call()


def test_a_column_in_the_same_order_is_read():
    votes = pd.Series([1, 2, 3], index=list("abc"))
    assert WeightedVote("abc", votes, 3).weights.tolist() == [1, 2, 3]
    part = pd.Series([9, 9, 0, 5, 3, 10])[2:]  # of a longer column
    assert TableGame("ab", part).table.tolist() == [0, 5, 3, 10]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: explain_rows(ROWS, total, ROWS, background=ROWS), "background", "duplicate"),
        (lambda: explain_rows(X=ROWS, model=total), "X", "unknown"),
        (lambda: explain(instance=ROWS, model=total), "instance", "unknown"),
        (lambda: explain_rows(ROWS, total, ROWS, players={"first": "0"}), "players", "type"),
        (lambda: wrong_labels(pd.get_dummies(LABELS), features=VIEWS), "labels", "shape"),
        (lambda: wrong_labels(LABELS, features=VIEWS.where(VIEWS > 9)), "features", "not-finite"),
        (lambda: wrong_labels(LABELS, features=VIEWS.assign(word="a")), "features", "type"),
        (lambda: wrong_tags(["yes,no"] * 40, features=VIEWS), "tags", "type"),
        (lambda: from_shap(shaped(np.full((2, 3), np.nan))), "explanation", "not-finite"),
        (lambda: from_shap(shaped(np.arange(18.0).reshape(2, 3, 3)), interactions=True), "interactions", "conflict"),
        (lambda: from_shap(shaped(ROWS), background=ROWS), "background", "unknown"),
        (lambda: joint_flow(EVEN, super_edges=0), "super_edges", "range"),
        (lambda: Lime(width=0), "width", "range"),
        (lambda: explain_text(TEXT, methods="integrated-gradients", tolerance=0), "tolerance", "range"),
    ],
)
def test_what_is_refused_is_what_was_typed(call, argument, code):
    with refused(code, argument):
        call()


def shaped(values: np.ndarray) -> SimpleNamespace:
    """What an explainer of shap returns."""
    return SimpleNamespace(values=values, base_values=np.zeros(len(values)), data=None, feature_names=None, output_names=None)


def test_a_forest_that_has_learned_nothing_is_said_to():
    ensemble = pytest.importorskip("sklearn.ensemble")
    with refused("type", "model"):
        explain_rows(ROWS, ensemble.RandomForestRegressor())


def test_what_a_message_tells_to_write_can_be_written():
    with refused("shape", "attention", has="attention[None]"):
        joint_flow(EVEN[0])
    attentions = tuple(np.stack([layer] * 4)[None] for layer in EVEN)  # of each layer: (texts, heads, tokens, tokens)
    with refused("shape", "attention", has="[layer[0].mean(0) for layer in attentions]"):
        flow_report(attentions)
    assert joint_flow([layer[0].mean(0) for layer in attentions]).total == joint_flow(EVEN).total
    with refused("type", "layer", has="layer=0"):
        joint_flow(EVEN, layer="last")
    with refused("type", "players", has="[1, 2]"):
        explain_text(TEXT, methods="loo", players={"both": ["gripping"]})
    assert explain_text(TEXT, methods="loo", players={"both": [1, 2]}).players == ("both", "film", ".")
    with refused("unknown", "test_y", has="regression=True"):
        split(ROWS, ROWS[:, 0], ROWS, ROWS[:, 1])
    assert split(ROWS, ROWS[:, 0], ROWS, ROWS[:, 1], regression=True).classes is None


def test_labels_in_a_frame_of_one_column_are_those_of_the_column():
    assert set(wrong_labels(LABELS.to_frame(), features=VIEWS).given) == {"yes", "no"}


def test_predictions_that_shap_misses_are_said():
    notes = [note.text for note in from_shap(shaped(ROWS), predictions=[1.0, -1.0, 9.5]).notes]
    assert any("0.5" in note for note in notes)
    assert not any("misses" in note.text for note in from_shap(shaped(ROWS), predictions=total(ROWS)).notes)


def test_the_name_of_a_file_is_explained_as_a_text_and_said_to_be_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film").write_text("A gripping story.")
    said = [note for note in explain_text("film", methods="loo").notes if note.kind is NoteKind.WARNING]
    assert len(said) == 1 and not any(note.kind is NoteKind.WARNING for note in explain_text("films", methods="loo").notes)


@pytest.mark.parametrize("method", ["lime", "lasso", "leave-one-out", "surrogate", "banzhaf"])
def test_credit_of_rows_begins_where_nothing_is_known_whatever_the_method(method):
    skewed = np.array([[0.0, 1.0], [2.0, -3.0], [4.0, 50.0]])
    found = explain_rows(ROWS[:1], lambda rows: rows[:, 0] * rows[:, 1], skewed, methods=method, budget=60)
    assert found.base == pytest.approx([(0.0 - 6.0 + 200.0) / 3])


def test_a_store_that_is_a_folder_is_called_store(tmp_path):
    with refused("unwritable", "store"):
        explain(context=FACTS, query="Where does Anna live ?", store=tmp_path)


def test_what_shap_has_reshaped_adds_up_to_nothing():
    shap = pytest.importorskip("shap")
    theirs = shap.Explanation(values=ROWS, base_values=np.zeros(3), data=ROWS)
    assert from_shap(theirs[:2]).methods == ("shap",)
    with refused("unsupported", "explanation"):
        from_shap(theirs.abs)
    with refused("conflict", "interactions"):
        from_shap(theirs, interactions=True)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("shap_values", "credit"),
        ("expected_value", "base"),
        ("feature_names", "players"),
        ("plot_waterfall", "plot.waterfall()"),
    ],
)
def test_what_others_call_a_part_of_a_result_says_what_it_is_called_here(name, ours):
    rows = Explainer(total, background=ROWS)(ROWS)
    with pytest.raises(AttributeError) as caught:
        getattr(rows, name)
    assert f".{ours}" in str(caught.value)
    assert not hasattr(rows, "no such thing")
