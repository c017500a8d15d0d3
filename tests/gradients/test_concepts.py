"""TCAV: planted concepts are found, random ones are not, and the corrections are right."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy import stats

from accredit.errors import InvalidInput
from accredit.gradients import tcav
from accredit.gradients.concepts import (
    _measure,
    _p_value,
    _random_concept,
    concept_vector,
    layer_activations,
    layer_slopes,
)
from tests.models.small_models import image_model, text_model


class Planted(torch.nn.Module):
    """Logit 1 grows with hidden coordinate 0 and does not see coordinate 1."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Identity()

    def forward(self, x):
        h = self.hidden(x)
        return torch.stack([-h[:, 0], torch.tanh(h[:, 0]) + 0.1 * h[:, 2] ** 2], dim=1)


def rows(count: int, seed: int, **shift: float) -> np.ndarray:
    """Normal rows of 12 numbers, moved along the named coordinates: x0=5."""
    x = np.random.default_rng(seed).normal(size=(count, 12))
    for name, by in shift.items():
        x[:, int(name[1:])] += by
    return x


@pytest.mark.slow
def test_a_planted_concept_is_found_and_its_opposite_scores_zero():
    concepts = {
        "for": rows(20, 1, x0=5),
        "against": rows(20, 2, x0=-5),
        "blind": rows(20, 3, x1=5),
    }
    result = tcav(Planted(), rows(30, 4), concepts, rows(100, 5), layer="hidden", target=1, random_concepts=99)
    assert result["for"] == 1.0 and result["against"] == 0.0
    corrected = dict(zip(result.players, result.certificate["p corrected"], strict=True))
    assert corrected["for"] <= 0.03 and corrected["against"] <= 0.03 < corrected["blind"]
    assert result.total is None and result.certificate["separation"][0] > 0.95
    assert result.certificate["sensitivity"][0] > 0 > result.certificate["sensitivity"][1]
    each = np.array(result.certificate["sensitivity per input"])
    assert each.shape == (3, 30) and (each[0] > 0).all() and (each[1] < 0).all()
    assert_allclose(each.mean(axis=1), result.certificate["sensitivity"])


@pytest.mark.slow
def test_random_concepts_are_seldom_called_significant():
    """Null concepts at level 0.05, 60 of them: more than 16 rejections have probability 3e-8 (binomial)."""
    assert stats.binom.sf(16, 60, 0.05) < 1e-6
    rng = np.random.default_rng(7)
    slopes, pool = rng.normal(size=(20, 6)) + 0.3, rng.normal(size=(400, 6))
    null = [_random_concept(pool, 15, slopes, 3, 1.0, rng) for _ in range(99)]
    p = [_p_value(_measure(rng.normal(size=(15, 6)), pool, slopes, 3, 1.0, rng), null, "rank") for _ in range(60)]
    assert sum(value <= 0.05 for value in p) <= 16


@pytest.mark.slow
def test_the_t_test_mistakes_the_sampling_of_a_concept_for_a_finding():
    """Why it is not the default: at level 0.05 it rejects null concepts far more often."""
    rng = np.random.default_rng(8)
    slopes, pool = rng.normal(size=(40, 6)) + 1, rng.normal(size=(400, 6))
    null = [_random_concept(pool, 15, slopes, 10, 1.0, rng) for _ in range(40)]
    p = [_p_value(_measure(rng.normal(size=(15, 6)), pool, slopes, 10, 1.0, rng), null, "t") for _ in range(40)]
    # at the stated level more than 14 of 40 rejections would have probability 1e-9
    assert stats.binom.sf(14, 40, 0.05) < 1e-6
    assert sum(value <= 0.05 for value in p) > 14


def test_concept_vectors_point_from_random_to_concept():
    rng = np.random.default_rng(0)
    direction, accuracy = concept_vector(rng.normal(size=(200, 5)) + np.array([0, 3, 0, 0, -4]), rng.normal(size=(200, 5)))
    assert_allclose(np.linalg.norm(direction), 1)
    assert_allclose(direction, np.array([0, 3, 0, 0, -4]) / 5, atol=0.15)
    assert accuracy > 0.95
    with pytest.raises(InvalidInput, match="equal"):
        concept_vector(np.ones((3, 2)), np.ones((3, 2)))


def test_concept_vectors_are_those_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(30, 4)) + 0.5, rng.normal(size=(30, 4)) * [1, 2, 1, 1]
    h = np.concatenate([a, b])
    theirs = (
        LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit((h - h.mean(axis=0)) / h.std(), [1] * 30 + [0] * 30).coef_[0]
    )
    assert_allclose(concept_vector(a, b)[0], theirs / np.linalg.norm(theirs), atol=1e-5)


def test_slopes_are_those_of_moving_every_token_together():
    model = text_model("bert", dtype=torch.float64)
    layer, step = "bert.encoder.layer.0", 1e-6
    slope = layer_slopes(model, ["the film is good"], layer, 1, "logit")[0]
    direction = np.random.default_rng(0).normal(size=slope.shape)
    module = dict(model.model.named_modules())[layer]
    ends = []
    for sign in (1, -1):
        kick = sign * step * torch.from_numpy(direction)
        hook = module.register_forward_hook(
            lambda _m, _a, out, kick=kick: (out[0] + kick, *out[1:]) if isinstance(out, tuple) else out + kick
        )
        ends.append(model.predict(model.encode("the film is good"))[1])
        hook.remove()
    assert_allclose((ends[0] - ends[1]) / (2 * step), slope @ direction, rtol=1e-5)
    assert layer_activations(model, ["the film", "very good film"], layer).shape == (2, 16)


def test_texts_and_pictures_have_concepts():
    good, bad = ["good film", "very good", "the film is good"], ["not good", "bad film", "it is bad"]
    pool = ["the", "a film", "it lands", "shot", "very", "never it", "is the", "a"]
    result = tcav(
        text_model("bert"),
        good,
        {"bad": bad},
        pool,
        layer="bert.encoder.layer.1",
        target=1,
        random_concepts=9,
        negatives=2,
    )
    assert 0 <= result["bad"] <= 1 and 0 < result.certificate["p"][0] <= 1
    pictures = list(np.random.default_rng(0).normal(size=(14, 1, 12, 12)).astype(np.float32))
    result = tcav(
        image_model(),
        pictures[:3],
        {"noise": pictures[3:6]},
        pictures[6:],
        layer="vit.layernorm",
        target=0,
        random_concepts=5,
        negatives=2,
        test="t",
    )
    assert 0 <= result["noise"] <= 1


def test_the_same_seed_gives_the_same_result():
    runs = [
        tcav(Planted(), rows(5, 4), {"c": rows(6, 1)}, rows(30, 5), layer="hidden", target=1, random_concepts=5, seed=s)
        for s in (0, 0)
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concepts": {}}, "0 concepts"),
        ({"concepts": {"c": rows(1, 1)}}, "at least 2"),
        ({"random": rows(9, 1)}, "two disjoint sets"),
        ({"layer": "nowhere"}, "not in the model"),
        ({"negatives": 1}, "negatives"),
        ({"test": "chi"}, "test"),
    ],
)
def test_refusals(changes, message):
    given = {
        "examples": rows(5, 4),
        "concepts": {"c": rows(6, 1)},
        "random": rows(30, 5),
        "layer": "hidden",
        "target": 1,
    } | changes
    with pytest.raises(InvalidInput, match=message):
        tcav(Planted(), given.pop("examples"), given.pop("concepts"), given.pop("random"), **given)
