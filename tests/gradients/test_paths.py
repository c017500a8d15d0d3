"""Kin of integrated gradients: random points, one line for each player, a path through words, and lines behind a block."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import GradientShap, LayerGradientXActivation, LayerIntegratedGradients
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.errors import InvalidInput, NotConverged
from accredit.evaluate import check_claims
from accredit.games import text_game
from accredit.gradients import (
    discretised_integrated_gradients,
    gradient_shap,
    input_x_gradient,
    integrated_gradients,
    saliency,
    sequential_integrated_gradients,
    smoothgrad,
)
from accredit.gradients.discretised import word_path
from accredit.rows import tabular_game
from accredit.values import leave_one_out
from tests.games.hand_made import bag
from tests.models.small_models import FAMILIES, TEXT, image_model, text_for, text_model
from tests.wording import refused

PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)


class Cubes(torch.nn.Module):
    """f = x₁³ + 2 x₁ x₂."""

    def forward(self, x):
        return x[:, 0] ** 3 + 2 * x[:, 0] * x[:, 1]


# Random points


def test_gradient_shap_estimates_integrated_gradients():
    model = text_model("bert", dtype=torch.float64)
    exact = integrated_gradients(model, TEXT, target=0, tolerance=1e-8, payoff="logit")
    drawn = gradient_shap(model, TEXT, target=0, samples=200, seed=3, payoff="logit")
    # eight standard errors of a mean that is nearly normal: false alarm below 1e-12 for 14 players
    assert (np.abs(drawn.credit - exact.credit) <= 8 * drawn.stderr + 1e-9).all()
    assert drawn.total == pytest.approx(exact.total) and drawn.claim("efficiency").holds is Holds.IN_EXPECTATION
    assert drawn.certificate["completeness gap"] == pytest.approx(abs(drawn.unshared))


def test_gradient_shap_from_several_baselines_is_the_mean_of_each():
    row, ways = [2.0, -1.0], [[0.0, 0.0], [1.0, 1.0]]
    drawn = gradient_shap(Cubes(), row, baseline=ways, samples=4000, seed=1, payoff="logit")
    each = [integrated_gradients(Cubes(), row, baseline=way, payoff="logit") for way in ways]
    # eight standard errors: false alarm below 1e-14
    assert (np.abs(drawn.credit - np.mean([one.credit for one in each], axis=0)) <= 8 * drawn.stderr).all()
    assert drawn.total == pytest.approx(np.mean([one.total for one in each]))


def test_gradient_shap_is_captums_on_a_linear_model():
    torch.manual_seed(0)
    net, row = torch.nn.Linear(3, 2), [0.5, -1.0, 2.0]
    theirs = GradientShap(net).attribute(torch.tensor([row]), torch.zeros(1, 3), target=1)[0].detach()
    assert_allclose(gradient_shap(net, row, target=1, payoff="logit").credit, theirs, atol=1e-6)


def test_gradient_shap_with_noise_claims_no_total():
    noisy = gradient_shap(Cubes(), [2.0, -1.0], noise=0.2, samples=100, payoff="logit")
    assert noisy.claim("efficiency").holds is Holds.NO and (noisy.stderr > 0).all()
    check_claims(noisy, tabular_game(Cubes(), [2.0, -1.0], np.zeros((1, 2))))


def test_gradient_shap_does_not_return_what_missed_a_cliff():
    class Cliff(torch.nn.Module):
        def forward(self, x):
            return torch.sigmoid(1e5 * (x.sum(dim=1) - 0.7)) + 0.1 * x[:, 0]

    with refused("not-converged", kind=NotConverged, has="their standard error"):
        gradient_shap(Cliff(), [1.0, 1.0], payoff="logit")
    with pytest.raises(InvalidInput, match="samples"):
        gradient_shap(Cubes(), [1.0, 1.0], samples=1, payoff="logit")
    with pytest.raises(InvalidInput, match="empty list"):
        gradient_shap(Cubes(), [1.0, 1.0], baseline=[], payoff="logit")


# One line for each player


@pytest.mark.slow
@pytest.mark.parametrize("removal", ["mask", "pad", "zero"])
@pytest.mark.parametrize("players", ["token", "word"])
def test_sequential_integrated_gradients_are_leave_one_out(removal, players):
    model = text_model("bert", dtype=torch.float64)
    text = "a gripping film!"
    game = text_game(model, text, removal=removal, target=0, players=players, payoff="logit")
    found = sequential_integrated_gradients(
        model, text, target=0, baseline=removal, players=players, tolerance=1e-9, payoff="logit"
    )
    assert_allclose(found.credit, leave_one_out(game).credit, atol=1e-8)
    assert found.certificate["largest gap"] < 1e-8
    check_claims(found, game)


def test_sequential_integrated_gradients_as_written_in_the_paper():
    """One Riemann sum for each token, from the sentence in which that token alone is masked."""
    model = text_model("bert", dtype=torch.float64)
    encoded = model.encode("the film is good")
    ids = torch.from_numpy(encoded.ids)
    table = model.model.bert.embeddings.word_embeddings.weight.detach()
    x, literal = table[ids], []
    for i in range(1, len(ids) - 1):
        away = x.clone()
        away[i] = table[model.tokenizer.mask_token_id]
        middles = (torch.arange(400) + 0.5)[:, None, None] / 400
        here = (away + middles * (x - away)).requires_grad_(True)
        (slope,) = torch.autograd.grad(model.model(inputs_embeds=here).logits[:, 1].sum(), here)
        literal.append(float(((x - away) * slope).sum()) / 400)
    assert_allclose(sequential_integrated_gradients(model, encoded, target=1, payoff="logit").credit, literal, atol=1e-5)


def test_sequential_integrated_gradients_of_pictures_and_rows():
    assert sequential_integrated_gradients(image_model(), PICTURE, target=1, payoff="logit").certificate["largest gap"] < 1e-3
    found = sequential_integrated_gradients(Cubes(), [2.0, -1.0], payoff="logit")
    assert_allclose(found.credit, [2.0**3 - 4.0, -4.0], atol=1e-5)

    class Step(torch.nn.Module):
        def forward(self, x):
            return torch.where(x.sum(dim=1) > 0.7, 1.0, 0.0) + 0.1 * x[:, 0]

    with pytest.raises(NotConverged, match="leave-one-out"):
        sequential_integrated_gradients(Step(), [1.0, 0.0], most_steps=64, payoff="logit")


# A path through words


def _literal_path(table, word, end, points, neighbours, strategy):
    """The published path, one coordinate at a time."""
    chain, path = [word], [list(table[word])]

    def between(v, a, b):
        return min(a, b) <= v <= max(a, b)

    def bent(v, here):
        return [v[c] if between(v[c], here[c], end[c]) else here[c] - (here[c] - end[c]) / points for c in range(len(v))]

    for _ in range(points - 2):
        last = table[chain[-1]]
        order = sorted(range(len(table)), key=lambda v: sum((table[v][c] - last[c]) ** 2 for c in range(len(last))))
        near = [v for v in order[: neighbours + 1] if v not in chain and list(table[v]) != list(end)]
        if not near:
            path += [list(end)] * (points - 1 - len(path))
            break
        if strategy == "greedy":
            cost = {v: sum((a - b) ** 2 for a, b in zip(table[v], bent(table[v], last), strict=True)) for v in near}
        else:
            cost = {v: -sum(between(table[v][c], last[c], end[c]) for c in range(len(last))) for v in near}
        chain.append(min(near, key=cost.__getitem__))
        path.append(bent(table[chain[-1]], path[-1]))
    return np.array([*path, list(end)])[::-1]


@pytest.mark.parametrize(("strategy", "words", "dims"), [("greedy", 25, 3), ("maxcount", 25, 61), ("greedy", 4, 3)])
def test_a_path_of_words_as_published(strategy, words, dims):
    rng = np.random.default_rng(0)
    table, end = rng.normal(size=(words, dims)), rng.normal(size=dims)
    ours = word_path(table, 2, end, 9, 6, strategy)
    assert_allclose(ours, _literal_path(table, 2, end, 9, 6, strategy), atol=1e-12)
    one_way = np.sign(np.diff(ours, axis=0)) * np.sign(table[2] - end)
    assert (one_way >= 0).all() and (ours[0] == end).all() and (ours[-1] == table[2]).all()


def test_discretised_integrated_gradients_are_slopes_along_that_path():
    model = text_model("bert", dtype=torch.float64)
    encoded = model.encode("the film is good")
    table = model.model.bert.embeddings.word_embeddings.weight.detach().numpy()
    mask = table[model.tokenizer.mask_token_id]
    lines = [_literal_path(table, i, mask, 8, 5, "greedy") for i in encoded.ids[1:-1].tolist()]
    path = np.repeat(table[encoded.ids][None], 8, axis=0)
    path[:, 1:-1] = np.stack(lines, axis=1)
    literal = np.zeros(len(encoded))
    for k in range(7):
        here = torch.from_numpy(path[k]).requires_grad_(True)
        (slope,) = torch.autograd.grad(model.model(inputs_embeds=here[None]).logits[0, 1], here)
        literal += ((path[k + 1] - path[k]) * slope.numpy()).sum(axis=1)
    found = discretised_integrated_gradients(model, encoded, target=1, points=8, neighbours=5, players="token", payoff="logit")
    assert_allclose(found.credit, literal[1:-1], atol=1e-10)
    assert found.certificate["completeness gap"] == pytest.approx(abs(found.unshared))
    assert found.claim("efficiency").holds is Holds.NO
    check_claims(found, text_game(model, encoded, target=1, players="token", payoff="logit"))


def test_a_linear_model_shares_the_same_along_any_path():
    ways = (integrated_gradients, discretised_integrated_gradients, gradient_shap, sequential_integrated_gradients)
    one, *others = (way(bag(), "the film is not good", target=1).credit for way in ways)
    for other in others:
        assert_allclose(other, one, atol=1e-9)


def test_a_path_through_words_needs_words():
    with refused("unsupported"):
        discretised_integrated_gradients(Cubes(), [1.0, 2.0], payoff="logit")
    with pytest.raises(InvalidInput, match="strategy"):
        discretised_integrated_gradients(text_model("bert"), TEXT, strategy="wander", players="token", payoff="logit")


# Lines behind a block


def _captum_layer(model, k):
    """What enters a block is what the part before it gives."""
    bert = model.model.bert
    return lambda ids: model.model(ids).logits[:, 2], bert.embeddings if k == 0 else bert.encoder.layer[k - 1]


@pytest.mark.parametrize("layer", [0, 1])
def test_a_block_chosen_by_number_is_captums_layer(layer):
    model = text_model("bert", dtype=torch.float64)
    encoded = model.encode(TEXT)
    ids, everyone = torch.from_numpy(encoded.ids)[None], [*range(1, len(encoded) - 1), 0, len(encoded) - 1]
    away = torch.where(torch.from_numpy(encoded.special), ids, 4)
    ours = integrated_gradients(model, encoded, target=2, layer=layer, players="token", payoff="logit")
    theirs = LayerIntegratedGradients(*_captum_layer(model, layer)).attribute(ids, away, n_steps=ours.certificate["steps"])
    assert_allclose(ours.credit, theirs.sum(dim=-1)[0, everyone].detach(), atol=1e-4)
    assert ours.players[-2:] == ("[CLS]", "[SEP]") and abs(ours.unshared) < 1e-6
    theirs = LayerGradientXActivation(*_captum_layer(model, layer)).attribute(ids)
    ours = input_x_gradient(model, encoded, target=2, layer=layer, players="token", payoff="logit")
    assert_allclose(ours.credit, theirs.sum(dim=-1)[0, everyone].detach(), atol=1e-4)


def test_a_block_may_be_named_by_its_path():
    model = text_model("bert")
    one, two = (saliency(model, TEXT, target=0, layer=layer, payoff="logit") for layer in (1, "bert.encoder.layer.1"))
    assert_allclose(one.credit, two.credit)
    assert smoothgrad(model, TEXT, target=0, layer=1, samples=2, payoff="logit").players == one.players


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_blocks(family):
    model = text_model(family)
    found = integrated_gradients(model, text_for(family), target=1, layer=1, players="token", payoff="logit")
    assert len(found.players) == len(model.encode(text_for(family)))
    assert abs(found.unshared) <= 1e-3 * np.abs(found.credit).sum()
    assert not any(part._forward_pre_hooks for part in model.model.modules())


def test_blocks_that_are_not_there_are_refused():
    model = text_model("bert")
    for layer in (2, -1, "bert.roof", True):
        with pytest.raises(InvalidInput, match="give a number from 0 to 1, or the path of a block"):
            saliency(model, TEXT, layer=layer, payoff="logit")
    with pytest.raises(InvalidInput, match="entered 0 times"):
        saliency(model, TEXT, layer="bert.encoder.layer", payoff="logit")
    with refused("misplaced", "layer"):
        saliency(Cubes(), [1.0, 2.0], layer=1, payoff="logit")


# Where a path begins


def test_baselines_beyond_tokens():
    model = text_model("bert", dtype=torch.float64)
    table = model.model.bert.embeddings.word_embeddings.weight.detach()
    named = integrated_gradients(model, TEXT, target=0, baseline="mean", payoff="logit")
    given = integrated_gradients(model, TEXT, target=0, baseline=table.mean(dim=0).numpy(), payoff="logit")
    assert_allclose(named.credit, given.credit)
    assert [named.provenance["baseline"], given.provenance["baseline"]] == ["mean", "given"]
    for bad in ([1.0, 2.0], [float("nan")] * 16, "snow", object()):
        with pytest.raises(InvalidInput, match="baseline"):
            integrated_gradients(model, TEXT, target=0, baseline=bad, payoff="logit")
