"""One question, one answer: what `explain` says is what the function that a method names says, with nothing but defaults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import accredit
from accredit import explain
from accredit.core import Attribution
from accredit.explanation.graph import graph_of
from accredit.explanation.loading import builtin_model, subject_of
from accredit.games import image_game, string_game, text_game
from accredit.methods import METHODS
from accredit.models import as_string_model
from accredit.rows import tabular_game

TEXT = "A gripping, dull film."
PICTURE = (np.add.outer(np.arange(28), np.arange(28)) * 4).astype(np.uint8)
BUDGET = accredit.defaults.BUDGET
PARAMETERS = {"beta": "beta:16,1", "semivalue": "semivalue:" + ",".join(["1"] + ["0"] * 5)}
CALLS = {  # what stands for the open places of a call
    "beta": "accredit.beta(game, 16, 1)",
    "semivalue": "accredit.semivalue(game, [1, 0, 0, 0, 0, 0])",
    "owen": "accredit.owen(game, tree)",
    "hierarchy": "accredit.values.hierarchy(game, tree)",
}
EXPLAINED = [m for m in METHODS if m.kind in ("game", "gradients") and "text" in m.applies]
PICTURED = [m for m in EXPLAINED if "image" in m.applies and m.name not in ("owen", "semivalue")]


def called(method, **known):
    """What the call of a method gives, its open places filled in."""
    words = CALLS.get(method.name, method.call).replace("budget=…", "budget=budget")
    return eval(words, {"accredit": accredit, "budget": BUDGET, **known})


def assert_same(found: Attribution, wanted: Attribution) -> None:
    assert found.players == wanted.players
    np.testing.assert_allclose(found.credit, wanted.credit, rtol=0, atol=4 * wanted.rounding)


@pytest.fixture(scope="module")
def model():
    return builtin_model("text")


@pytest.mark.slow
@pytest.mark.parametrize("method", EXPLAINED, ids=lambda m: m.name)
def test_a_text_has_one_answer(method, model):
    wanted = explain(TEXT, methods=[PARAMETERS.get(method.name, method.name)])
    subject = subject_of(model, TEXT)
    found = called(method, game=text_game(model, TEXT), model=model, text=TEXT, tree=subject.tree)
    assert_same(found, wanted[method.name if method.name in wanted.attributions else wanted.methods[0]])


@pytest.mark.slow
@pytest.mark.parametrize("method", PICTURED, ids=lambda m: m.name)
def test_a_picture_has_one_answer(method):
    vision = builtin_model("image")
    players = (2, 2)
    wanted = explain(PICTURE, vision, players=players, methods=[PARAMETERS.get(method.name, method.name)])
    game = image_game(vision, PICTURE, players=players)
    named = replace(method, call=method.call.replace("text)", "picture, players=players)"))
    found = called(named, game=game, model=vision, picture=PICTURE, players=players)
    assert_same(found, wanted[wanted.methods[0]])


def test_a_function_of_strings_has_one_answer():
    function = lambda texts: np.array([[1.0, len(text)] for text in texts])  # noqa: E731
    wanted = explain(TEXT, function, target=1, methods="shapley")["shapley"]
    assert_same(accredit.shapley(string_game(as_string_model(function), TEXT, target=1)), wanted)


BACKGROUND = np.random.default_rng(0).normal(size=(20, 4))
ROW = np.array([0.5, -1.0, 2.0, 0.3])
OF_ROWS = [m for m in METHODS if m.kind == "game" and "groups" not in m.takes and m.name not in ("asymmetric", "nucleolus")]


def models_of_rows():
    """What people bring: a pipeline, an ensemble, a network, a machine without a closed form here, a plain function."""
    pytest.importorskip("sklearn")
    import torch
    from sklearn import ensemble, linear_model, pipeline, preprocessing, svm

    labels = (BACKGROUND[:, 0] + BACKGROUND[:, 1] * BACKGROUND[:, 2] > 0).astype(int)
    torch.manual_seed(0)
    models = {
        "pipeline": pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
        "forest": ensemble.RandomForestClassifier(5, max_depth=4, random_state=0),
        "boosting": ensemble.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2),
        "vectors": svm.SVC(),
    }
    return {
        **{name: model.fit(BACKGROUND, labels) for name, model in models.items()},
        "network": torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)),
        "function": lambda rows: np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pipeline", "forest", "boosting", "vectors", "network", "function"])
@pytest.mark.parametrize("method", OF_ROWS, ids=lambda m: m.name)
def test_a_row_has_one_answer(method, kind):
    model = models_of_rows()[kind]
    name = "semivalue:1,0,0,0" if method.name == "semivalue" else PARAMETERS.get(method.name, method.name)
    doors = [
        explain(ROW[None], model, background=BACKGROUND, methods=name),
        accredit.explain_rows(ROW[None], model, BACKGROUND, methods=name),
        accredit.Explainer(model, background=BACKGROUND, methods=name)(ROW[None]),
    ]
    game = tabular_game(model, ROW, BACKGROUND)
    found = accredit.semivalue(game, [1, 0, 0, 0]) if method.name == "semivalue" else called(method, game=game)
    for each in doors:
        assert_same(found, each[0])


def test_attention_has_one_answer_for_the_same_places(model):
    """These functions are given attention and the places where the output is read: explain finds both in the model."""
    subject = subject_of(model, TEXT)
    graph = graph_of(subject, "af")
    wanted = explain(TEXT, methods="attention,rollout")
    for name, function in (("attention", accredit.attention.raw_attention), ("rollout", accredit.attention.rollout)):
        scores = function(graph.attention)[graph.outputs].mean(axis=0)
        np.testing.assert_allclose(graph.by_player(scores), wanted[name].credit, rtol=1e-12)


def test_gripping_is_credited_the_same_at_every_door(model):
    """The case that led here: two doors, two numbers."""
    ways = [
        explain("A gripping film.")["shapley"]["gripping"],
        accredit.shapley(text_game(model, "A gripping film."))["gripping"],
        accredit.explain("A gripping film.", model, methods="shapley")["shapley"]["gripping"],
    ]
    assert max(ways) - min(ways) < 1e-4
