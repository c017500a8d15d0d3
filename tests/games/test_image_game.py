"""Pictures as games: payoffs by hand, additive truth, and removals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.ndimage import gaussian_filter

from accredit.core import endpoints
from accredit.errors import InvalidInput
from accredit.games import image_game
from accredit.models import as_image_model
from accredit.values import shapley
from tests.models.small_models import image_model

PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)


@pytest.mark.parametrize("removal", ["mean", "blur", "zero", 0.25])
def test_payoffs_are_those_of_the_painted_picture(removal):
    model = image_model(dtype=torch.float64)
    game = image_game(model, PICTURE, removal=removal, target=1, payoff="logit")
    gone = {
        "mean": np.full_like(PICTURE, PICTURE.mean()),
        "zero": PICTURE * 0,
        0.25: PICTURE * 0 + 0.25,
        "blur": gaussian_filter(PICTURE, (0, 2, 2)),
    }[removal]
    coalitions = np.random.default_rng(0).random((8, 9)) < 0.5
    for kept, earned in zip(coalitions, game.payoff(coalitions), strict=True):
        mask = np.kron(kept.reshape(3, 3), np.ones((4, 4)))[None] == 1
        with torch.no_grad():
            logits = model.model(torch.from_numpy(np.where(mask, PICTURE, gone))[None].double()).logits
        assert_allclose(earned, logits[0, 1], atol=1e-6)


def test_patches_of_a_linear_model_earn_their_own_part():
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(144, 2)).double()
    game = image_game(as_image_model(net), PICTURE, players=(3, 3), removal="zero", target=1, payoff="logit")
    parts = (net[1].weight[1].detach().numpy().reshape(12, 12) * PICTURE[0]).reshape(3, 4, 3, 4).sum(axis=(1, 3))
    assert_allclose(shapley(game).credit, parts.ravel(), atol=1e-6)


def test_kernels_agree_and_credit_adds_up():
    games = [image_game(image_model(kernel), PICTURE, target="shirt", payoff="logit") for kernel in ("sdpa", "eager")]
    credits = [shapley(game).credit for game in games]
    assert_allclose(credits[0], credits[1], atol=1e-5)
    nobody, everybody = endpoints(games[0])
    assert abs(credits[0].sum() - (everybody - nobody)) <= 1e-6


def test_repeats_cost_nothing_and_batches_change_nothing():
    model = image_model(dtype=torch.float64)
    wide, narrow = (image_game(model, PICTURE, memory=m, payoff="logit") for m in (1e9, 1.0))
    coalitions = np.random.default_rng(0).random((20, 9)) < 0.5
    rows: list[int] = []
    model.model.register_forward_pre_hook(lambda _m, given: rows.append(len(given[0])) or None)
    earned = wide.payoff(np.concatenate([coalitions, coalitions]))
    assert sum(rows) == len(np.unique(coalitions, axis=0))
    assert_allclose(earned[:20], narrow.payoff(coalitions), atol=1e-12)
    assert narrow.rows == 1


def test_refusals():
    for arguments, message in (
        ({"removal": "burn"}, "removal"),
        ({"payoff": "money"}, "payoff"),
        ({"target": 9}, "target"),
    ):
        with pytest.raises(InvalidInput, match=message):
            image_game(image_model(), PICTURE, **arguments)


def test_estimate_and_provenance():
    game = image_game(image_model(), PICTURE, target="bag", payoff="logit")
    assert game.estimate(50).payoffs == 50
    assert game.provenance["target"] == "bag" and "bag" in repr(game)
