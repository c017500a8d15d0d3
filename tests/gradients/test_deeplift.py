"""DeepLIFT: against captum where the question is the same, by hand, and complete on every family or refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from accredit.explanation import explain
from accredit.games import text_game
from accredit.gradients import deep_lift, integrated_gradients
from accredit.gradients.deeplift import average, multiply, rescale
from accredit.values import shapley
from tests.models.answering_models import answering
from tests.models.small_models import FAMILIES, TEXT, text_for, text_model
from tests.wording import refused


@pytest.mark.filterwarnings("ignore")
def test_captum_gives_the_same_on_maps_and_activations():
    from captum.attr import DeepLift

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    ).double()
    row, away = torch.randn(2, 1, 4, dtype=torch.float64)
    theirs = DeepLift(net).attribute(row.requires_grad_(True), away, target=1).detach().numpy()[0]
    ours = deep_lift(net, row[0].detach().numpy(), target=1, baseline=away[0].numpy(), payoff="logit")
    assert_allclose(ours.credit, theirs, atol=1e-12)
    assert abs(ours.unshared) < 1e-12


def test_a_product_is_shared_in_halves_and_baselines_are_averaged():
    class Both(torch.nn.Module):
        def forward(self, x):
            return (x[:, 0] * x[:, 1] + torch.exp(x[:, 2]))[:, None]

    found = deep_lift(Both(), [2.0, 3.0, 1.0], payoff="logit")
    assert_allclose(found.credit, [3.0, 3.0, np.e - 1], atol=1e-5)
    two = deep_lift(Both(), [2.0, 3.0, 1.0], baseline=[0.0, 1.0], payoff="logit")
    assert_allclose(two.credit, np.mean([found.credit, [2.0, 3.0, 0.0]], axis=0), atol=1e-5)  # from 1: 6 − 1 = 1·2 + 2·1½
    assert two.certificate["baselines"] == 2 and two.payoffs == 4


@pytest.mark.parametrize("f", [lambda x: x.softmax(-1), lambda x: torch.nn.functional.layer_norm(x, (5,))])
def test_multipliers_of_a_row_hand_on_its_whole_difference(f):
    x = torch.randn((2, 5), dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_(True)
    y, weights = average(f, x), torch.arange(5.0, dtype=torch.float64)
    (by,) = torch.autograd.grad((y * weights).sum(), x)
    assert_allclose(((x[1] - x[0]) * by[1]).sum().item(), ((y[1] - y[0]) * weights).sum().item(), atol=1e-12)


def test_where_nothing_differs_the_slope_is_taken():
    x = torch.tensor([[1.0], [1.0]], dtype=torch.float64, requires_grad=True)
    (by,) = torch.autograd.grad(rescale(torch.exp, x).sum(), x)
    assert_allclose(by.numpy(), np.e)
    (by,) = torch.autograd.grad(multiply(x, 2 * x).sum(), x)
    assert_allclose(by.numpy(), 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_shares_add_up_on_every_family(family):
    model = text_model(family, dtype=torch.float64)
    for payoff in ("logit", "log-odds"):
        found = deep_lift(model, text_for(family), payoff=payoff)
        assert abs(found.unshared) <= 1e-5 * np.abs(found.credit).sum()
        assert found.certificate["completeness gap"] == pytest.approx(abs(found.unshared), abs=1e-12)


@pytest.mark.slow
def test_on_a_trained_model_it_is_near_the_values_of_the_game():
    from accredit.models import load_text_model
    from accredit.models.builtin import text_folder

    model, text = load_text_model(text_folder()), "A gripping, beautifully shot film."
    asked = {"target": "POSITIVE", "payoff": "log-odds", "players": "word"}
    game = shapley(text_game(model, text, removal="mask", **asked)).credit
    lifted = deep_lift(model, text, baseline="mask", **asked).credit
    assert np.corrcoef(lifted, game)[0, 1] > 0.9
    assert np.corrcoef(lifted, integrated_gradients(model, text, baseline="mask", **asked).credit)[0, 1] > 0.9


@pytest.mark.slow
def test_answers_and_settings_reach_it_and_what_does_not_add_up_is_refused():
    found = explain("A gripping film.", answering("llama", torch.float64), answer=" It is", methods="deep-lift")
    assert len(found.others) > 1 and abs(found["deep-lift"].unshared) < 1e-4
    model = text_model("bert", dtype=torch.float64)
    higher = explain(TEXT, model, methods="deeplift", layer=1, baseline=["mask", "zero"])["deep-lift"]
    assert higher.provenance["baseline"] == "mask, zero" and "[CLS]" in higher.players
    with refused("unsupported", has="is too steep"):
        explain("A gripping film.", answering("bloom", torch.float64), answer=" It is", methods="deep-lift")
