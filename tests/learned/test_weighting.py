"""Mask-neutral weights: what they are, where they get no gradient from, and Theorem 1 on worlds small enough to list."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("torch")

import torch

from accredit.errors import InvalidInput
from accredit.learned.weighting import MaskLabels, effective_sample_size


def neutral_world(rng):
    """Q(x, y, m) over x ∈ {0..3}, y ∈ {0,1}, m ∈ {0..2} with Y independent of M, as the theorem asks."""
    prior, masks = rng.dirichlet([3, 3]), rng.dirichlet([3, 3, 3])
    features = rng.dirichlet(np.ones(4), size=(2, 3))  # Q(x | y, m): X may depend on both
    return np.einsum("y,m,ymx->xym", prior, masks, features)


def balanced_selection(rng, prior, masks):
    """Q(S=1 | y, m) > 0 that leaves P(M) and P(Y) as they are, with P(S=1) = 1/2."""
    tilt = rng.normal(size=3)
    tilt -= masks @ tilt
    tilt *= 0.4 * min(prior) / abs(tilt).max()
    return 0.5 + np.outer([1 / prior[0], -1 / prior[1]], tilt)  # (y, m)


@pytest.mark.parametrize("seed", range(5))
def test_theorem_1_weighted_loss_of_the_biased_world_is_the_neutral_loss(seed):
    rng = np.random.default_rng(seed)
    q = neutral_world(rng)
    kept = balanced_selection(rng, q.sum(axis=(0, 2)), q.sum(axis=(0, 1)))
    p = q * kept / (q * kept).sum()
    weights = p.sum(axis=(0, 2))[:, None] / (p.sum(axis=0) / p.sum(axis=(0, 1)))  # P(y) / P(y | m), (y, m)
    loss = rng.normal(size=q.shape)  # any loss of any f(x ⊙ m)
    assert_allclose((p * weights * loss).sum(), (q * loss).sum(), atol=1e-12)
    assert abs((p * loss).sum() - (q * loss).sum()) > 1e-4  # without weights it is another number


def test_theorem_1_fails_where_the_choice_depends_on_the_features():
    q = neutral_world(np.random.default_rng(0))
    kept = np.full(q.shape, 0.5)
    kept[0], kept[1] = 0.9, 0.1  # features 0 and 1 decide who is seen: assumption (3) is broken
    p = q * kept / (q * kept).sum()
    weights = p.sum(axis=(0, 2))[:, None] / (p.sum(axis=0) / p.sum(axis=(0, 1)))
    loss = np.zeros(q.shape)
    loss[0] = 1
    assert abs((p * weights * loss).sum() - (q * loss).sum()) > 0.05


@pytest.mark.slow
def test_the_classifier_learns_p_y_given_m_and_weights_follow_from_it():
    masks = np.array(list(product([0, 1], repeat=2)))
    told = np.array([0.1, 0.4, 0.7, 0.9])  # P(y = 1 | m)
    mask = torch.tensor(np.repeat(masks, 100, axis=0), dtype=torch.float32)
    labels = torch.tensor((np.arange(100) < 100 * told[:, None]).astype(int).ravel())
    classifier = MaskLabels(2, 2, seed=1)
    classifier.learn(mask, labels, steps=600)
    learned = classifier(torch.tensor(masks, dtype=torch.float32)).softmax(dim=1)[:, 1]
    assert_allclose(learned.detach().numpy(), told, atol=0.03)
    prior = torch.tensor([0.475, 0.525])
    w = classifier.weights(mask, labels, prior)
    expected = np.where(labels.numpy() == 1, 0.525 / np.repeat(told, 100), 0.475 / (1 - np.repeat(told, 100)))
    assert_allclose(w.numpy(), expected, rtol=0.15)
    assert not w.requires_grad


def test_weights_are_clipped_below_and_above():
    classifier = MaskLabels(1, 2, hidden=(), seed=0)
    with torch.no_grad():
        classifier.network[0].weight.zero_()
        classifier.network[0].bias.copy_(torch.tensor([30.0, -30.0]))  # P(y=1) ≈ 1e-26
    mask, prior = torch.zeros(2, 1), torch.tensor([0.5, 0.5])
    assert_allclose(classifier.weights(mask, torch.tensor([0, 1]), prior, cap=1e9).numpy(), [0.5, 500], rtol=1e-5)
    assert_allclose(classifier.weights(mask, torch.tensor([0, 1]), prior, floor=0.1, cap=1e9).numpy(), [0.5, 5], rtol=1e-5)
    assert_allclose(classifier.weights(mask, torch.tensor([0, 1]), prior).numpy(), [0.5, 50], rtol=1e-5)


def test_learning_leaves_the_mask_and_the_random_state_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    mask = torch.rand(8, 3, requires_grad=True)
    torch.set_rng_state(before)
    classifier = MaskLabels(3, 2, seed=3)
    classifier.learn(mask, torch.tensor([0, 1] * 4), steps=2)
    assert mask.grad is None
    assert torch.equal(torch.get_rng_state(), before)


def test_effective_sample_size():
    assert effective_sample_size([3, 3, 3]) == pytest.approx(3)
    assert effective_sample_size([4, 2]) == pytest.approx(36 / 20)
    for wrong in ([], [0, 0], [1, -1], [np.nan]):
        with pytest.raises(InvalidInput, match=r"every number must be finite|must not be negative"):
            effective_sample_size(wrong)
    with pytest.raises(InvalidInput, match="at least 2"):
        MaskLabels(3, 1)


def weighted_steps(batches: int, **settings):
    """Weights of the rows of some batches, whose masks know nothing of the labels; and the first batch's masks and labels."""
    from accredit.learned.mask_distributions import RelaxedTopK
    from accredit.learned.schedules import Job, WeightedSchedule
    from accredit.learned.stages import Batch, Training

    players, rows, generator = 400, 40, torch.Generator().manual_seed(0)
    seen = []

    class Selector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x, answer):
            return self.scale * x

    class Surrogate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.zeros(2))

        def forward(self, x, mask):
            seen.append(mask.detach())
            return self.bias + 0 * mask.sum(dim=1, keepdim=True)

    training = Training(batch=rows, rate=1e-9)  # the selector stays as it is
    job = Job(
        Selector(), Surrogate(), RelaxedTopK(10), 0.0, training, generator, torch.full((2,), 0.5), Surrogate, players, 0, 10
    )
    (stage,) = WeightedSchedule(**settings).stages(job)
    labels = []
    for _ in range(batches):
        choice = torch.randint(2, (rows,), generator=generator)
        x = 3 * torch.randn(rows, players, generator=generator)
        stage.step(Batch(x, torch.ones(rows, players), torch.eye(2)[choice], choice))
        labels.append(choice)
    return torch.stack(stage.weights), seen[0], labels[0]


def test_masks_that_know_nothing_of_the_label_are_weighted_by_one_on_average():
    """P(Y|M) of 400 players learns 40 rows by heart in five steps: weights by what it has just learned are too small."""
    fresh, _, _ = weighted_steps(60)
    learned, _, _ = weighted_steps(60, learn_first=True)
    assert_allclose(fresh.mean(), 1, atol=1e-5)
    assert learned[20:].mean() < 0.92


def test_rows_are_weighted_before_p_y_given_m_learns_from_them():
    weights, masks, labels = weighted_steps(1)
    untaught = MaskLabels(400, 2, (64,), seed=0).weights(masks, labels, torch.full((2,), 0.5))
    assert_allclose(weights[0].numpy(), (untaught / untaught.mean()).numpy(), rtol=1e-5)
