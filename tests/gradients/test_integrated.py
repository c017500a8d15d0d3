"""Integrated gradients: against captum, against Shapley where they must agree, and honest about the gap."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients
from numpy.testing import assert_allclose

from accredit.core import Holds, endpoints
from accredit.errors import InvalidInput, NotConverged
from accredit.evaluate import check_claims
from accredit.games import image_game, text_game
from accredit.gradients import integrated_gradients
from accredit.rows import tabular_game
from accredit.values import shapley
from tests.games.hand_made import bag
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model

PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_adds_up_under_both_kernels(family):
    results = [
        integrated_gradients(text_model(family, kernel), text_for(family), target=1, payoff="logit")
        for kernel in ("sdpa", "eager")
    ]
    for result in results:
        assert abs(result.unshared) <= 1e-3 * np.abs(result.credit).sum()
        assert result.certificate["completeness gap"] == pytest.approx(abs(result.unshared))
    assert_allclose(results[0].credit, results[1].credit, atol=1e-5 * max(1, np.abs(results[0].credit).max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("baseline", ["mask", "pad"])
def test_agrees_with_captum_on_the_embedding_layer(dtype, baseline):
    model = text_model("bert", dtype=dtype)
    encoded = model.encode(TEXT)
    ours = integrated_gradients(model, encoded, target=2, baseline=baseline, players="token", payoff="logit")
    ids = torch.from_numpy(encoded.ids)[None]
    away = torch.where(torch.from_numpy(encoded.special), ids, {"mask": 4, "pad": 0}[baseline])
    layer = LayerIntegratedGradients(lambda i: model.model(i).logits[:, 2], model.model.bert.embeddings.word_embeddings)
    theirs = layer.attribute(ids, away, n_steps=ours.certificate["steps"]).sum(dim=-1)[0].detach()
    assert_allclose(ours.credit, theirs[1:-1], atol=1e-5)
    assert_allclose(theirs[[0, -1]], 0, atol=1e-7)  # special tokens stay, so they earn nothing


def test_agrees_with_captum_on_pixels_and_rows():
    model = image_model()
    ours = integrated_gradients(model, PICTURE, target=1, baseline="zero", payoff="logit")
    theirs = IntegratedGradients(lambda x: model.model(x).logits[:, 1]).attribute(
        torch.from_numpy(PICTURE)[None], n_steps=ours.certificate["steps"]
    )
    patches = theirs[0, 0].detach().numpy().reshape(3, 4, 3, 4).sum(axis=(1, 3))
    assert_allclose(ours.credit, patches.ravel(), atol=1e-5)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    row = np.array([0.5, -1.0, 2.0, 0.1])
    ours = integrated_gradients(net, row, target=0, baseline=[0.1, 0.2, 0.3, 0.4], payoff="logit")
    theirs = IntegratedGradients(lambda x: net(x)[:, 0]).attribute(
        torch.tensor(row[None], dtype=torch.float32),
        torch.tensor([[0.1, 0.2, 0.3, 0.4]]),
        n_steps=ours.certificate["steps"],
    )
    assert_allclose(ours.credit, theirs[0], atol=1e-5)


@pytest.mark.parametrize("removal", ["mask", "pad", "zero"])
def test_shares_the_total_of_the_game_with_the_same_removal(removal):
    model = text_model("bert", dtype=torch.float64)
    nobody, everybody = endpoints(text_game(model, TEXT, removal=removal, target=0, players="token", payoff="logit"))
    result = integrated_gradients(model, TEXT, target=0, baseline=removal, payoff="logit")
    assert_allclose([result.baseline, result.total], [nobody, everybody - nobody], atol=1e-9)
    picture = image_game(image_model(dtype=torch.float64), PICTURE, target=0, payoff="logit")
    nobody, everybody = endpoints(picture)
    assert_allclose(
        integrated_gradients(image_model(dtype=torch.float64), PICTURE, target=0, payoff="logit").total,
        everybody - nobody,
        atol=1e-9,
    )


@pytest.mark.parametrize("removal", ["mask", "pad", "zero"])
def test_is_the_shapley_value_of_an_additive_model(removal):
    model = bag()
    game = text_game(model, "the film is not good", removal=removal, target=1, players="token", payoff="logit")
    result = integrated_gradients(model, "the film is not good", target=1, baseline=removal, payoff="logit")
    assert_allclose(result.credit, shapley(game).credit, atol=1e-9)
    check_claims(result, game)


def test_is_the_shapley_value_of_a_multilinear_model():
    class Product(torch.nn.Module):
        def forward(self, x):
            return x[:, 0] * x[:, 1] * x[:, 2] + 2 * x[:, 1]

    x = np.array([1.5, -2.0, 0.5])
    result = integrated_gradients(Product(), x, tolerance=1e-6, payoff="logit")
    game = tabular_game(Product(), x, np.zeros((1, 3)))
    assert_allclose(result.credit, shapley(game).credit, atol=1e-5)


def test_null_and_equal_players_of_the_game_may_be_treated_apart():
    """x₁ x₂ (1 − x₂) is 0 wherever both are 0 or 1, yet its slopes on the line are not: the claims must say no."""

    class Bump(torch.nn.Module):
        def forward(self, x):
            return x[:, 0] * x[:, 1] * (1 - x[:, 1])

    result = integrated_gradients(Bump(), [1.0, 1.0], tolerance=1e-4, payoff="logit")
    assert_allclose(result.credit, [1 / 6, -1 / 6], atol=1e-5)
    assert result.claim("null player").holds is Holds.NO and result.claim("symmetry").holds is Holds.NO
    check_claims(result, tabular_game(Bump(), [1.0, 1.0], np.zeros((1, 2))))


def test_words_earn_what_their_tokens_earn():
    model = text_model("bert", dtype=torch.float64)
    tokens, words = (integrated_gradients(model, TEXT, target=0, players=p, payoff="logit") for p in ("token", "word"))
    assert_allclose(tokens["grip"] + tokens["ping"], words["gripping"], rtol=1e-9)
    assert_allclose(tokens["beauti"] + tokens["ful"] + tokens["ly"], words["beautifully"], rtol=1e-9)
    assert_allclose(tokens.credit.sum(), words.credit.sum())


def test_steps_are_raised_until_the_gap_meets_the_tolerance():
    model = text_model("bert", dtype=torch.float64)
    loose = integrated_gradients(model, TEXT, target=0, steps=2, tolerance=1.0, payoff="logit")
    tight = integrated_gradients(model, TEXT, target=0, steps=2, tolerance=1e-8, payoff="logit")
    assert loose.certificate["steps"] == 2 < tight.certificate["steps"]
    assert abs(tight.unshared) <= 1e-8 * np.abs(tight.credit).sum()
    assert tight.claim("efficiency").holds is Holds.IN_THE_LIMIT


def test_what_does_not_converge_is_not_returned():
    class Step(torch.nn.Module):
        def forward(self, x):
            return torch.where(x.sum(dim=1) > 0.7, 1.0, 0.0) + 0.1 * x[:, 0]

    with pytest.raises(NotConverged, match="most_steps"):
        integrated_gradients(Step(), [1.0, 1.0], most_steps=64, payoff="logit")


@pytest.mark.slow
def test_refusals():
    model, gpt2 = text_model("bert"), text_model("gpt2")
    with pytest.raises(InvalidInput, match="baseline"):
        integrated_gradients(model, TEXT, baseline="snow", payoff="logit")
    with pytest.raises(InvalidInput, match="baseline"):
        integrated_gradients(gpt2, TEXT, baseline="mask", payoff="logit")
    with pytest.raises(InvalidInput, match="steps"):
        integrated_gradients(model, TEXT, steps=0, payoff="logit")
    with pytest.raises(InvalidInput, match="payoff"):
        integrated_gradients(model, TEXT, payoff="money")
