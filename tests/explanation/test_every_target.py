"""`target="all"`: every output of a model from the passes of one, each as if it had been asked for alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from accredit.arena.texts import count_passes
from accredit.errors import InvalidInput
from accredit.explanation import Explanation, explain
from accredit.models import as_string_model
from tests.models.small_models import TEXT, image_model, text_model
from tests.wording import refused, says

GAMES = ["shapley", "leave-one-out", "banzhaf", "owen", "lime", "permutations", "beta:4,1"]


@pytest.fixture(scope="module")
def bert():
    return text_model("bert")


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"players": "token", "budget": 60, "seed": 2}, {"removal": "delete"}])
def test_every_target_is_explained_as_if_alone_from_the_passes_of_one(bert, settings):
    with count_passes(bert.model) as passes:
        one = explain(TEXT, bert, methods=GAMES, **settings)
        alone = passes[0]
        every = explain(TEXT, bert, methods=GAMES, target="all", **settings)
    assert passes[0] == 2 * alone
    assert all(every[name] == one[name] for name in GAMES)
    assert every.target == one.target and len(every.outputs) == bert.classes == 3
    for label in every.outputs:
        single, found = explain(TEXT, bert, methods=GAMES, target=label, **settings), every.of(label)
        assert found.target == label and found.methods == tuple(GAMES)
        for name in GAMES:
            np.testing.assert_allclose(found[name].credit, single[name].credit, rtol=0, atol=1e-12)
            assert found[name].provenance["target"] == label


def test_ten_classes_of_a_picture_cost_the_passes_of_one():
    pixels = (np.arange(784).reshape(28, 28) % 251).astype(np.uint8)
    options = {"methods": ["shapley", "leave-one-out"], "players": (2, 2)}
    from accredit.explanation.loading import builtin_model

    model = builtin_model("image")
    with count_passes(model.model) as passes:
        explain(pixels, model, **options)
        alone = passes[0]
        every = explain(pixels, model, target="all", **options)
    assert passes[0] == 2 * alone
    assert len(every.others) == 9 and says(every.notes[-1].text, "9 other targets")
    for label in ("Coat", "Bag"):
        single = explain(pixels, model, target=label, **options)
        np.testing.assert_allclose(every.of(label)["shapley"].credit, single["shapley"].credit, rtol=0, atol=1e-12)


def test_what_plays_no_game_answers_for_the_main_target_alone(bert):
    every = explain(TEXT, bert, methods=["shapley", "saliency", "attention"], target="all")
    assert says(every.notes[-1].text, "saliency, attention answer")
    other = every.of(next(iter(every.others)))
    assert other.methods == ("shapley",) and other.others == {} and other.flow is None
    assert set(every.attributions) == {"shapley", "saliency", "attention"}
    assert every.of(every.target).methods == every.methods


def test_other_targets_survive_json_and_are_counted_where_the_main_one_is_shown(bert):
    every = explain(TEXT, bert, methods=["shapley", "loo"], target="all")
    again = Explanation.from_json(every.to_json())
    assert again == every and again.of("NEUTRAL") == every.of("NEUTRAL")
    assert says(str(every), "2 other targets")
    assert "others" not in explain(TEXT, bert, methods="loo").to_plain()
    with pytest.raises(InvalidInput, match="NEGATIVE, NEUTRAL, POSITIVE"):
        every.of("MAYBE")


def test_a_picture_and_strings_have_all_their_targets():
    image = np.random.default_rng(0).integers(0, 256, (12, 12))
    every = explain(image, image_model(), methods="loo", target="all")
    assert len(every.outputs) == len(every.prediction)

    def two(texts):
        return [[float("not" in text), float(len(text))] for text in texts]

    words = explain("not good", as_string_model(two, labels=("denies", "length")), methods="shapley", target="all")
    assert sorted(words.outputs) == ["denies", "length"]
    assert words.of("denies")["shapley"].as_dict() == {"not": 1.0, "good": 0.0}


def test_too_many_outputs_and_a_label_called_all_are_refused(bert, monkeypatch):
    with pytest.raises(InvalidInput, match="also a label"):
        explain("not good", as_string_model(lambda texts: [[1.0, 2.0]] * len(texts), labels=("All", "b")), target="all")
    monkeypatch.setattr("accredit.explanation.subject.OUTPUTS", 2)
    with refused("too-many", "target"):
        explain(TEXT, bert, target="all")
