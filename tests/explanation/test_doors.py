"""The doors: one typed way in, one answer at every door, and words for what does not fit."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sklearn")

from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import accredit
from accredit import InvalidInput
from accredit.explanation import (
    AnswerRequest,
    Explainer,
    PictureRequest,
    RowRequest,
    TextRequest,
    explain,
    explain_answer,
    explain_picture,
    explain_rows,
    explain_text,
    kind_of,
)
from tests.wording import refused

X = np.random.default_rng(0).normal(size=(40, 3))
FOREST = RandomForestRegressor(8, random_state=0).fit(X, X[:, 0] * X[:, 1])
FACTS = ["Anna lives in Rome .", "Boris owns a dog ."]
QUERY = "Where does Anna live ?"
PICTURE = (np.add.outer(np.arange(28), np.arange(28)) * 4).astype(np.uint8)
DOORS = {
    explain_text: TextRequest,
    explain_picture: PictureRequest,
    explain_rows: RowRequest,
    explain_answer: AnswerRequest,
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_door_has_the_settings_of_its_request_and_no_others(door):
    shown = inspect.signature(door).parameters
    settings = {field.name for field in fields(DOORS[door])}
    assert settings <= set(shown)
    assert len(set(shown) - settings) <= 3 and not any(p.kind is p.VAR_KEYWORD for p in shown.values())
    for field in fields(DOORS[door]):
        assert shown[field.name].default is field.default or shown[field.name].default == field.default


@pytest.mark.slow
def test_every_door_gives_the_same_answer():
    text = "A gripping film."
    assert (
        explain(text, methods="loo")["loo"] == explain_text(text, methods="loo")["loo"] == Explainer(methods="loo")(text)["loo"]
    )
    pictured = {"methods": "loo", "players": (2, 2)}
    assert explain(PICTURE, **pictured)["loo"] == explain_picture(PICTURE, **pictured)["loo"]
    row = explain_rows(X[:2], FOREST, X)
    for other in (explain(X[:2], FOREST, background=X), Explainer(FOREST, background=X)(X[:2])):
        assert (other.credit == row.credit).all() and other.method == row.method
    answered = {"context": FACTS, "query": QUERY, "methods": "shapley"}
    assert explain(**answered)["shapley"] == explain_answer(**answered)["shapley"]
    assert Explainer(methods="shapley")(context=FACTS, query=QUERY)["shapley"] == explain(**answered)["shapley"]


def test_the_order_of_calls_decides_nothing(tmp_path):
    """A text after a picture's file, and the file after a text, are read as they would be alone."""
    from PIL import Image

    file = str(tmp_path / "shirt.png")
    Image.fromarray(PICTURE).save(file)
    for inputs in (["Dull.", file, file, "Dull."], [file, "Dull."]):
        explainer = Explainer(methods="loo", budget=40)
        for given in inputs:
            alone = explain(given, methods="loo", budget=40)
            found = explainer(given)
            assert (found.target, found.players, found.notes) == (alone.target, alone.players, alone.notes)


def test_an_explainer_reads_its_model_once(monkeypatch):
    from accredit.explanation import loading

    loads = []
    load = loading.builtin_model
    monkeypatch.setattr(loading, "builtin_model", lambda kind: loads.append(kind) or load(kind))
    explainer = Explainer(methods="loo")
    for text in ("A gripping film.", "Dull.", "Not bad."):
        explainer(text)
    assert loads == ["text"]


CALLS = {  # what is called -> argument and code of what it answers
    "a misspelt setting": (lambda: explain("A film.", methds=["loo"]), "methds", "unknown"),
    "a misspelt setting of an explainer": (lambda: Explainer(FOREST, backgruond=X), "backgruond", "unknown"),
    "a misspelt setting of a door": (lambda: explain_rows(X[:1], FOREST, X, dependance="cover"), "dependance", "unknown"),
    "rows' setting for a text": (lambda: explain("A film.", dependence="cover"), "dependence", "misplaced"),
    "a text's setting for rows": (lambda: explain(X[:1], FOREST, background=X, cut=True), "cut", "misplaced"),
    "gradients of rows": (lambda: explain(X[:1], FOREST, background=X, layer=1), "layer", "misplaced"),
    "a picture's setting for a text": (lambda: explain_text("A film.", size=9), "size", "misplaced"),
    "a text's setting for a picture": (lambda: explain_picture(PICTURE, cut=True), "cut", "misplaced"),
    "an answer's setting for a text": (lambda: explain_text("A film.", context=FACTS), "context", "misplaced"),
    "rows' setting for an answer": (lambda: explain(context=FACTS, query=QUERY, weights=[1]), "weights", "misplaced"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_misspelt_and_misplaced_settings_are_answered_as_such(case):
    call, argument, code = CALLS[case]
    with pytest.raises(InvalidInput) as refused:
        call()
    assert (refused.value.argument, refused.value.code) == (argument, code)
    assert str(refused.value).startswith(argument)


TEXTS = make_pipeline(TfidfVectorizer(), LinearRegression()).fit(["a film", "a book"], [0.0, 1.0])


def ones(texts):
    return [1.0] * len(texts)


MISTAKEN = {  # habits of those who know shap -> argument and code of what they are answered
    "a background in the place of a tokenizer": (lambda: explain(X[:1], FOREST, X), "tokenizer", "misplaced"),
    "the same when an explainer is made": (lambda: Explainer(FOREST, X)(X[:1]), "tokenizer", "misplaced"),
    "the same for a run": (lambda: Explainer(FOREST, X).run(X[:1], RowRequest()), "tokenizer", "misplaced"),
    "the model first": (lambda: explain(FOREST, X[:1]), "given", "type"),
    "several texts": (lambda: explain(["A film.", "A book."]), "given", "type"),
    "several texts at the door of texts": (lambda: explain_text(["A film.", "A book."], len), "given", "type"),
    "rows at the door of texts": (lambda: explain_text(X[:1], FOREST), "given", "type"),
    "a text for a model of tables": (lambda: explain("A film.", FOREST), "model", "type"),
    "a number": (lambda: explain(3), "given", "type"),
    "an empty list": (lambda: explain([]), "given", "empty"),
    "a method of no name for a text": (lambda: explain("A film.", methods="shaply"), "methods", "unknown"),
    "a method of no name for rows": (lambda: explain_rows(X[:1], FOREST, X, methods=["loo", "shaply"]), "methods", "unknown"),
    "a method of texts for rows": (lambda: explain(X[:1], FOREST, background=X, methods="rollout"), "methods", "misplaced"),
    "a method of texts for a function": (lambda: explain("A film.", ones, methods="rollout"), "methods", "unsupported"),
    "groups of rows": (lambda: explain(X[:1], FOREST, background=X, methods="owen"), "methods", "unsupported"),
    "the same of a game": (lambda: explain_rows(X[:1], FOREST, X, methods="banzhaf-owen"), "methods", "unsupported"),
    "an answer's setting for rows": (lambda: explain(X[:1], FOREST, background=X, context=FACTS), "context", "misplaced"),
    "captum's steps for a text": (lambda: explain("A film.", methods="ig", steps=50), "steps", "misplaced"),
    "an array of texts": (lambda: explain(np.array(["A film.", "A book."]), TEXTS), "given", "type"),
    "words as positions": (lambda: explain("A film.", players={"it": ["film"]}), "players", "type"),
    "types of a file for a model that is none": (lambda: explain_rows(X[:1], FOREST, X, trusted=["a"]), "trusted", "misplaced"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKEN)
def test_what_stands_in_the_wrong_place_is_never_left_out_without_a_word(case):
    call, argument, code = MISTAKEN[case]
    with refused(code, argument):
        call()


def test_a_setting_of_series_beside_a_plain_frame_is_misplaced():
    pandas = pytest.importorskip("pandas")
    with refused("misplaced", "outputs"):
        explain(pandas.DataFrame(X[:1]), FOREST, background=X, outputs=["yes"])


def test_what_other_libraries_call_a_setting_is_looked_up_before_it_is_guessed():
    with refused("unknown", "masker"):
        Explainer(FOREST, masker=X)


def test_what_other_explainers_have_is_said_to_be_called():
    with pytest.raises(AttributeError) as refused:
        Explainer(FOREST, background=X).shap_values(X[:1])
    assert refused.value.name == "shap_values" and "explainer(…).credit" in str(refused.value)


def test_a_misspelt_setting_is_answered_with_the_nearest():
    for wrong, right in {"methds": "methods", "taget": "target", "budgt": "budget"}.items():
        with pytest.raises(InvalidInput, match=f"did you mean {right}"):
            explain("A film.", **{wrong: 1})


def test_a_misspelt_setting_of_an_explainer_is_looked_for_in_every_kind_of_question():
    with pytest.raises(InvalidInput, match=r"background\?$"):
        Explainer(sum, backgrund=[[1.0]])
    with pytest.raises(InvalidInput, match=r"separator\?$"):
        Explainer(separater="-")


def test_the_kind_is_decided_by_what_is_given():
    pandas = pytest.importorskip("pandas")
    linear = LinearRegression().fit(X, X[:, 0])
    kinds = {
        "text": ("A film.", None, {}),
        "rows": (X, linear, {}),
        "answer": ("Prompt", None, {"answer": "yes"}),
        "picture": (PICTURE, None, {}),
    }
    assert {kind: kind_of(*given) for kind, given in kinds.items()} == {kind: kind for kind in kinds}
    assert kind_of(pandas.DataFrame(X), None, {}) == kind_of({"a": 1.0}, None, {}) == "rows"
    assert kind_of(("premise", "hypothesis"), None, {}) == "text"


def test_an_array_and_a_function_are_rows_and_ask_for_a_background():
    """The first line of many a shap user."""
    with pytest.raises(InvalidInput, match="background"):
        explain(X[:2], lambda rows: rows[:, 0])
    found = explain(X[:2], lambda rows: rows[:, 0], background=X)
    assert accredit.explain(X, lambda rows: rows[:, 0]).credit.shape == (40, 3, 1) and found.credit.shape == (2, 3, 1)
