"""Scores from slopes: against captum and plain autograd, on every family, and on models worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import LayerGradientXActivation
from numpy.testing import assert_allclose, assert_array_equal

from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.gradients import input_x_gradient, saliency, smoothgrad
from tests.games.hand_made import bag
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model

PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)
SCORES = (saliency, input_x_gradient, smoothgrad)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", SCORES)
def test_every_family_under_both_kernels(family, method):
    one, two = (method(text_model(family, kernel), text_for(family), target=1, players="token") for kernel in ("sdpa", "eager"))
    assert one.total is None and np.abs(one.credit).max() > 0
    assert one.players == text_model(family).encode(text_for(family)).partition("token").players
    assert_allclose(one.credit, two.credit, atol=1e-5 * max(1, np.abs(one.credit).max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_saliency_and_input_x_gradient_agree_with_autograd_and_captum(dtype):
    model = text_model("bert", dtype=dtype)
    encoded = model.encode(TEXT)
    ids = torch.from_numpy(encoded.ids)[None]
    vectors = model.model.bert.embeddings.word_embeddings(ids).detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(model.model(inputs_embeds=vectors).logits[0, 2], vectors)
    assert_allclose(
        saliency(model, encoded, target=2, players="token", payoff="logit").credit,
        slope[0, 1:-1].abs().sum(dim=-1),
        rtol=1e-5,
    )
    layer = LayerGradientXActivation(lambda i: model.model(i).logits[:, 2], model.model.bert.embeddings.word_embeddings)
    theirs = layer.attribute(ids)[0, 1:-1].sum(dim=-1).detach()
    assert_allclose(input_x_gradient(model, encoded, target=2, players="token", payoff="logit").credit, theirs, atol=1e-5)


def test_linear_models_have_their_weights_as_slopes():
    model = bag()
    w, table = model.model.head.weight[1].detach().numpy(), model.model.embedding.weight.detach().numpy()
    ids = model.encode("the film is good").ids[1:-1]
    assert_allclose(saliency(model, "the film is good", target=1, payoff="logit").credit, np.abs(w).sum())
    assert_allclose(input_x_gradient(model, "the film is good", target=1, payoff="logit").credit, table[ids] @ w)
    smooth = smoothgrad(model, "the film is good", target=1, payoff="logit")
    assert_allclose(smooth.credit, np.abs(w).sum())
    assert_allclose(smooth.stderr, 0, atol=1e-12)


def test_smoothgrad_is_the_mean_slope_of_a_curved_payoff():
    """f = Σ x³ has mean slope 3 (x² + σ²) under noise of standard deviation σ."""

    class Cubes(torch.nn.Module):
        def forward(self, x):
            return (x**3).sum(dim=1)

    x = np.array([-1.0, 0.5, 2.0])
    result = smoothgrad(Cubes(), x, noise=0.1, samples=4000, seed=1, payoff="logit")
    sigma = 0.1 * 3.0
    # eight standard errors of a normal mean: false alarm below 1e-14 a number
    assert (np.abs(result.credit - 3 * (x**2 + sigma**2)) <= 8 * result.stderr + 1e-6).all()
    assert (result.stderr > 0).all()


def test_smoothgrad_takes_the_mean_before_the_magnitude():
    """At the bottom of x² slopes of both signs cancel, although each is far from 0."""

    class Squares(torch.nn.Module):
        def forward(self, x):
            return (x**2).sum(dim=1)

    bottom = smoothgrad(Squares(), [0.0, 3.0], noise=0.1, samples=2000, seed=1, payoff="logit")
    # the mean slope is normal with standard error 0.6 / √2000 = 0.013, its mean magnitude would be 0.48
    assert bottom["x0"] <= 8 * 0.6 / 2000**0.5
    assert_allclose(bottom["x1"], 6, atol=8 * 0.6 / 2000**0.5)


def test_smoothgrad_tends_to_saliency_repeats_and_leaves_global_randomness_alone():
    model = text_model("bert", dtype=torch.float64)
    before = torch.random.get_rng_state()
    a, b = (smoothgrad(model, TEXT, target=0, noise=1e-7, samples=4, seed=3, payoff="logit") for _ in range(2))
    assert_array_equal(before, torch.random.get_rng_state())
    assert_array_equal(a.credit, b.credit)
    assert_allclose(a.credit, saliency(model, TEXT, target=0, payoff="logit").credit, rtol=1e-4)
    c = smoothgrad(model, TEXT, target=0, samples=4, seed=4, payoff="logit")
    assert not np.array_equal(smoothgrad(model, TEXT, target=0, samples=4, seed=3, payoff="logit").credit, c.credit)


@pytest.mark.parametrize("method", SCORES)
def test_words_and_pictures(method):
    words = method(text_model("bert"), TEXT, target=0, players="word")
    assert words.players[1] == "gripping"
    patches = method(image_model(), PICTURE, target="bag")
    assert patches.players[4] == "r1c1" and len(patches) == 9


def test_subword_scores_add_up_to_word_scores():
    model = text_model("bert", dtype=torch.float64)
    for method in (saliency, input_x_gradient):
        tokens, words = (method(model, TEXT, target=0, players=unit) for unit in ("token", "word"))
        assert_allclose(tokens["grip"] + tokens["ping"], words["gripping"], rtol=1e-9)


def test_scores_divide_nothing_and_say_so():
    for method in SCORES:
        result = method(text_model("bert"), TEXT)
        assert [result.claim(a).holds for a in ("efficiency", "symmetry", "null player")] == [Holds.NO] * 3
    assert input_x_gradient(text_model("bert"), TEXT, payoff="logit").claim("linearity").holds is Holds.EXACTLY


def test_input_x_gradient_is_linear_in_the_payoff():
    one, two = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)), torch.nn.Linear(3, 1)

    class Both(torch.nn.Module):
        def forward(self, x):
            return one(x) + 2 * two(x)

    x = [0.3, -1.0, 2.0]
    parts = input_x_gradient(one, x, payoff="logit").credit + 2 * input_x_gradient(two, x, payoff="logit").credit
    assert_allclose(input_x_gradient(Both(), x, payoff="logit").credit, parts, atol=1e-6)


def test_refusals():
    with pytest.raises(InvalidInput, match="no gradients"):
        saliency(lambda rows: rows.sum(axis=1), [1.0, 2.0], payoff="logit")
    with pytest.raises(InvalidInput, match="samples"):
        smoothgrad(text_model("bert"), TEXT, samples=1, payoff="logit")
    with pytest.raises(InvalidInput, match="row has shape"):
        saliency(torch.nn.Linear(2, 2), np.zeros((2, 2)), payoff="logit")
    with pytest.raises(InvalidInput, match="players names 1"):
        saliency(torch.nn.Linear(2, 2), [0.0, 1.0], players=["a"], payoff="logit")


def test_the_model_is_left_as_it_was():
    model = text_model("bert")
    model.model.train()
    for method in SCORES:
        method(model, TEXT, target=0)
    assert model.model.training and all(p.requires_grad and p.grad is None for p in model.model.parameters())
