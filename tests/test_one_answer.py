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

TEXT = "A gripping, dull film."
PICTURE = (np.add.outer(np.arange(28), np.arange(28)) * 4).astype(np.uint8)
BUDGET = accredit.defaults.BUDGET
PARAMETERS = {"beta": "beta:16,1", "semivalue": "semivalue:" + ",".join(["1"] + ["0"] * 5)}
CALLS = {  # what stands for the open places of a call
    "beta": "accredit.beta(game, 16, 1)",
    "semivalue": "accredit.semivalue(game, [1, 0, 0, 0, 0, 0])",
    "owen": "accredit.owen(game, tree)",
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
