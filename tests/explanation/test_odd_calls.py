"""Calls as strangers make them: what is in the wrong place, in the wrong container, or called as others call it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("transformers")

from accredit import Explainer, TableGame, cite, explain, explain_rows, explain_series, from_shap, leave_one_out, owen, shapley
from accredit.influence import network, trace
from accredit.labels import wrong_labels
from accredit.store import save
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
