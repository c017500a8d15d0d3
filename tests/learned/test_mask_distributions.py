"""Mask laws: what they draw, and that what they teach is the gradient of what they draw."""

import itertools

import pytest
import torch

from accredit.errors import InvalidInput
from accredit.learned.mask_distributions import (
    Bernoulli,
    Dirichlet,
    DrawnTopK,
    RelaxedTopK,
    SoftmaxMask,
    information,
    law_from,
    law_settings,
)
from accredit.learned.networks import LOWEST

LAWS = (
    SoftmaxMask(0.5),
    RelaxedTopK(2),
    Bernoulli("reinforce"),
    Bernoulli("relaxed"),
    Bernoulli("rebar"),
    Dirichlet(0.3),
    DrawnTopK(2),
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def some_logits(present, seed=1):
    logits = torch.randn(present.shape, generator=generator(seed))
    return logits.masked_fill(present == 0, LOWEST).requires_grad_()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_masks_lie_in_the_unit_interval_and_leave_absent_players_out(law):
    present = torch.tensor([[1.0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]).repeat(100, 1)
    logits = some_logits(present)
    drawn = law.draw(logits, present, lambda mask: mask.sum(dim=1), generator())
    for mask in (drawn.mask, law.random(present, generator())):
        assert (mask >= 0).all() and (mask <= 1).all() and (mask[present == 0] == 0).all()
        assert mask[0::3].sum() > 0
    slope = torch.autograd.grad(drawn.objective.sum() + law.price(logits, present).sum(), logits)[0]
    assert torch.isfinite(slope).all() and (slope[present == 0] == 0).all()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_follow_their_generator_and_leave_global_state_alone(law):
    present = torch.ones(3, 6)
    logits = some_logits(present)
    before = torch.random.get_rng_state()

    def draw(seed):
        return law.draw(logits, present, lambda mask: mask.sum(dim=1), generator(seed)).mask

    assert torch.equal(draw(5), draw(5))
    assert isinstance(law, SoftmaxMask) or not torch.equal(draw(5), draw(6))
    assert torch.equal(before, torch.random.get_rng_state())


def test_new_noise_in_every_step():
    """The noise of the published word model was drawn once and for all; here one generator gives new noise each time."""
    law, present, source = RelaxedTopK(3), torch.ones(2, 8), generator()
    first, second = (law.random(present, source) for _ in range(2))
    assert not torch.allclose(first, second)


def test_relaxed_sets_become_sets_when_cold():
    present = torch.ones(500, 10)
    masks = RelaxedTopK(3, temperature=0.001).random(present, generator())
    assert ((masks < 1e-3) | (masks > 1 - 1e-3)).float().mean() > 0.98
    assert (masks.sum(dim=1) < 3 + 1e-3).all()  # three draws, some of the same player


def test_relaxed_top_1_draws_each_player_by_its_chance():
    """The largest entry is player i with chance softmax(logits)_i: the Gumbel trick. 40,000 draws, a standard error of at
    most 0.0025; 0.0125 is five of them, four players: false alarm < 3e-6 by the normal law, so six (0.015): < 1e-8."""
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).repeat(40_000, 1)
    drawn = RelaxedTopK(1, temperature=0.3).relax(logits, torch.ones(logits.shape), generator())
    shares = torch.bincount(drawn.argmax(dim=1), minlength=4) / len(drawn)
    assert (shares - logits[0].softmax(dim=0)).abs().max() < 0.015


def wavy(mask):
    """A loss that is not linear in the mask, so that a relaxed gradient would be biased."""
    return (mask[:, 0] - 2 * mask[:, 1] * mask[:, 2] + 0.3) ** 2 + torch.sin(3 * mask[:, 2])


def exact_slope(logits):
    """∇ Σ_b π(b) ℓ(b) over all 2³ coins."""
    logits = logits.clone().requires_grad_()
    total = torch.zeros(())
    for coins in itertools.product((0.0, 1.0), repeat=3):
        b = torch.tensor(coins)
        chance = torch.where(b > 0, logits.sigmoid(), (-logits).sigmoid()).prod()
        total = total + chance * wavy(b[None])[0]
    return torch.autograd.grad(total, logits)[0]


def slopes(law, logits, rows, baseline=None):
    many = logits.repeat(rows, 1).requires_grad_()
    base = None if baseline is None else torch.full((rows,), baseline)
    drawn = law.draw(many, torch.ones(many.shape), wavy, generator(3), base)
    return torch.autograd.grad(drawn.objective.sum(), many)[0]


@pytest.mark.parametrize(("gradient", "baseline"), [("reinforce", None), ("reinforce", 1.7), ("rebar", None)])
def test_coins_are_taught_the_exact_slope_on_average(gradient, baseline):
    """Mean of 200,000 gradients within six standard errors in three coordinates: false alarm < 1e-8 by the normal law."""
    logits = torch.tensor([0.4, -0.8, 1.1])
    found = slopes(Bernoulli(gradient, temperature=0.5), logits, 200_000, baseline).double()
    error = found.std(dim=0) / len(found) ** 0.5
    assert ((found.mean(dim=0) - exact_slope(logits)).abs() < 6 * error).all()
    assert (error < 0.01).all()


def test_drawn_sets_are_taught_the_exact_slope_on_average():
    """Over all ordered pairs of three players. 200,000 draws, six standard errors in three coordinates: < 1e-8."""
    logits = torch.tensor([0.4, -0.8, 1.1]).requires_grad_()
    total = torch.zeros(())
    for first, second in itertools.permutations(range(3), 2):
        left = torch.tensor([i for i in range(3) if i != first])
        chance = logits.softmax(dim=0)[first] * logits[second].exp() / logits[left].exp().sum()
        total = total + chance * wavy(torch.eye(3)[[first]] + torch.eye(3)[[second]])[0]
    exact = torch.autograd.grad(total, logits)[0]
    found = slopes(DrawnTopK(2), logits.detach(), 200_000).double()
    error = found.std(dim=0) / len(found) ** 0.5
    assert ((found.mean(dim=0) - exact).abs() < 6 * error).all() and (error < 0.01).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in LAWS if not isinstance(law, Dirichlet)], ids=repr)  # its chances are read
def test_draws_stay_on_the_device_of_the_logits(law):
    """Noise is drawn on the CPU and moved; `meta` refuses to be mixed with the CPU, as any other device does."""
    present = torch.ones(3, 6, device="meta")
    logits = torch.zeros(3, 6, device="meta", requires_grad=True)
    drawn = law.draw(logits, present, lambda mask: mask.sum(dim=1), generator())
    assert {part.device.type for part in (drawn.mask, drawn.objective, law.price(logits, present))} == {"meta"}


def test_the_relaxed_gradient_is_biased_and_rebar_is_calmer_than_reinforce():
    logits = torch.tensor([0.4, -0.8, 1.1])
    relaxed = slopes(Bernoulli("relaxed", temperature=0.5), logits, 200_000).double()
    error = relaxed.std(dim=0) / len(relaxed) ** 0.5
    assert ((relaxed.mean(dim=0) - exact_slope(logits)).abs() > 6 * error).any()
    plain, calm = (slopes(Bernoulli(g, temperature=0.5), logits, 50_000).var(dim=0).sum() for g in ("reinforce", "rebar"))
    assert calm < 0.8 * plain  # 0.71 here: this loss is far from smooth


def test_the_price_is_information_or_size():
    present = torch.tensor([[1.0, 1, 1, 1, 0]])
    even = torch.tensor([[2.0, 2, 2, 2, LOWEST]])
    sure = torch.tensor([[50.0, 0, 0, 0, LOWEST]])
    assert float(information(even, present)) == pytest.approx(0, abs=1e-6)
    assert float(information(sure, present)) == pytest.approx(float(torch.tensor(4.0).log()), abs=1e-5)
    assert float(RelaxedTopK(3).price(sure, present)) == pytest.approx(3 * float(torch.tensor(4.0).log()), abs=1e-4)
    assert float(Bernoulli().price(torch.tensor([[0.0, 0, 0, 0, LOWEST]]), present)) == pytest.approx(0.5)


def test_random_laws_look_at_nothing():
    present = torch.ones(4000, 6)
    assert (DrawnTopK(2).random(present, generator()).sum(dim=1) == 2).all()
    for law in (DrawnTopK(2), RelaxedTopK(2), Dirichlet(0.5), SoftmaxMask(), Bernoulli(rate=1 / 3)):
        mean = law.random(present, generator()).mean(dim=0)  # standard error at most 0.5/√4000 = 0.008; six of them
        assert (mean - mean.mean()).abs().max() < 0.05
    sparse, flat = (SoftmaxMask(concentration=c).random(present, generator()).amax(dim=1).mean() for c in (0.1, 10.0))
    assert sparse > 0.7 > 0.4 > flat


def test_settings_round_trip():
    for law in LAWS:
        assert law_from(law_settings(law)) == law


@pytest.mark.parametrize(
    "make",
    [
        lambda: RelaxedTopK(0),
        lambda: RelaxedTopK(2, temperature=0.0),
        lambda: RelaxedTopK(2.5),
        lambda: Bernoulli("guess"),
        lambda: Bernoulli(rate=1.0),
        lambda: Dirichlet(-1.0),
        lambda: law_from({"kind": "gaussian"}),
        lambda: law_from({"kind": "softmax", "heat": 1}),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_the_loss_of_several_draws_is_their_mean():
    logits, present = torch.randn(3, 5, generator=torch.Generator().manual_seed(1)), torch.ones(3, 5)
    pay = torch.arange(5.0)

    def loss(mask):
        return mask @ pay

    twelve = RelaxedTopK(2, draws=12).draw(logits, present, loss, torch.Generator().manual_seed(0))
    single, same = RelaxedTopK(2), torch.Generator().manual_seed(0)
    each = torch.stack([single.draw(logits, present, loss, same).losses for _ in range(12)])
    torch.testing.assert_close(twelve.losses, each.mean(dim=0))
    torch.testing.assert_close(twelve.objective, twelve.losses)
    with pytest.raises(InvalidInput, match="draws"):
        RelaxedTopK(2, draws=0)
