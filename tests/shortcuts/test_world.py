"""The exact world against brute force; Theorem 1 of mask-neutral weighting where it holds, and where it does not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.shortcuts.world import Choices, World, look_at
from tests.wording import refused

SEEDS = st.integers(0, 2**32 - 1)


def random_world(rng: np.random.Generator, features: int = 3, classes: int = 2) -> World:
    return World(rng.dirichlet(np.full((1 << features) * classes, 0.5)).reshape(-1, classes))


def random_choices(rng: np.random.Generator, features: int = 3, classes: int = 2) -> Choices:
    world = random_world(rng, features, classes)
    return world.draw(rng.dirichlet(np.full(1 << features, 0.3), size=1 << features))


def mask_neutral(rng: np.random.Generator, features: int, classes: int) -> Choices:
    """A random Q(x, y, m) in which the mask says nothing about the label, though it may depend on x: assumption (2)."""
    cases = 1 << features
    labels, masks = rng.dirichlet(np.ones(classes)), rng.dirichlet(np.ones(cases))
    given_both = rng.dirichlet(np.ones(cases), size=(classes, cases))  # Q(x | y, m)
    joint = np.einsum("y,m,ymx->xym", labels, masks, given_both)
    return Choices(World(joint.sum(axis=2)), joint)


def selection(rng: np.random.Generator, q: Choices) -> np.ndarray:
    """Q(S = 1 | y, m) > 0 that leaves P(m) and P(y) alone: assumptions (3) and (4). Shape (classes, masks).

    s ∝ 1 + a_y b_m with E[a] = E[b] = 0 under Q, and |a b| < 1.
    """
    labels, masks = q.joint.sum(axis=(0, 2)), q.of_masks
    a, b = rng.normal(size=len(labels)), rng.normal(size=len(masks))
    product_ = np.outer(a - labels @ a, b - masks @ b)
    chance = 1 + 0.95 * product_ / np.abs(product_).max()
    return chance / chance.max()


def loss_of(rng: np.random.Generator, world: World) -> np.ndarray:
    """A random loss L(f(x ⊙ m), y): any number for each x ⊙ m and y. Shape (cases, classes, masks)."""
    table = rng.exponential(size=(3**world.features, world.classes))
    return table[look_at(world)].transpose(0, 2, 1)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(2, 3))
def test_theorem_1_weighted_loss_is_the_mask_neutral_loss(seed, features, classes):
    rng = np.random.default_rng(seed)
    q = mask_neutral(rng, features, classes)
    p = q.select(selection(rng, q))
    assert_allclose(p.of_masks, q.of_masks, atol=1e-12)  # (4)
    loss = loss_of(rng, q.world)
    assert_allclose(p.expectation(loss, p.weights), q.expectation(loss), rtol=1e-9)


def test_theorem_1_is_about_something_the_unweighted_loss_is_another():
    rng = np.random.default_rng(0)
    q = mask_neutral(rng, 3, 2)
    p = q.select(selection(rng, q))
    loss = loss_of(rng, q.world)
    assert abs(p.expectation(loss) - q.expectation(loss)) > 0.01


HALF = World.of(1, lambda x: (x[:, 0] + 1) / 2)  # one fair feature, y = 1 where it is +1
SHOWN = np.array([False, True])  # mask 0 hides it, mask 1 shows it


def fair_masks() -> Choices:
    """Masks drawn by a fair coin that sees nothing: Q(x, y, m) = P(x, y) / 2."""
    return HALF.draw(np.full((2, 2), 0.5))


def test_theorem_1_fails_when_selection_depends_on_x():
    """y is a coin that x knows nothing of; pairs (x = +1, hidden) and (x = −1, shown) are never kept. The margins are as
    before and P(y | m) = P(y), so all weights are 1; yet the loss 1[x = +1 is shown] is now 1/2 instead of 1/4."""
    coin = World.of(1, lambda x: np.full(2, 0.5))
    q = coin.draw(np.full((2, 2), 0.5))
    kept = np.zeros((2, 1, 2))
    kept[1, 0, 1] = kept[0, 0, 0] = 1
    p = q.select(kept)
    assert_allclose(p.weights, 1.0)
    assert_allclose(p.of_masks, q.of_masks)
    loss = np.zeros((2, 2, 2))
    loss[1, :, 1] = 1
    assert_allclose([p.expectation(loss, p.weights), q.expectation(loss)], [0.5, 0.25])


def test_theorem_1_fails_when_a_pair_is_never_kept():
    """y = 0 is kept only hidden and y = 1 only shown: margins stay 1/2, weights are 1/2, half of the loss is lost."""
    q = fair_masks()
    p = q.select(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert_allclose(p.of_masks, q.of_masks)
    assert_allclose(p.weights, [[0.5, 0.0], [0.0, 0.5]])
    loss = np.ones((2, 2, 2))
    assert_allclose([p.expectation(loss, p.weights), q.expectation(loss)], [0.5, 1.0])


def test_theorem_1_fails_when_selection_changes_how_often_masks_occur():
    """Shown masks are kept three times as often: weights are 1, and the loss 1[shown] is 3/4 instead of 1/2."""
    q = fair_masks()
    p = q.select(np.array([[1 / 3, 1.0]]))
    loss = np.broadcast_to(SHOWN, (2, 2, 2)).astype(float)
    assert_allclose([p.expectation(loss, p.weights), q.expectation(loss)], [0.75, 0.5])


def test_theorem_1_fails_when_masks_and_labels_belong_together():
    """The mask is the label in Q already, and everything is kept: weights 1/2 halve the loss."""
    q = HALF.choose(np.array([[False], [True]]))
    p = q.select(1.0)
    loss = np.ones((2, 2, 2))
    assert_allclose([p.expectation(loss, p.weights), q.expectation(loss)], [0.5, 1.0])


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_conditionals_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    choices = random_choices(rng, 3, 3)
    world = choices.world
    mask, case = rng.integers(8, size=2)
    alike = [c for c in range(8) if all(world.x[c, i] == world.x[case, i] for i in range(3) if world.masks[mask, i])]
    honest = world.joint[alike].sum(axis=0)
    assert_allclose(world.given[mask, case], honest / honest.sum(), atol=1e-12)
    own = choices.joint[alike, :, mask].sum(axis=0)
    assert_allclose(choices.read[mask, case], own / own.sum(), atol=1e-12)
    shown = (world.x[case] * world.masks[mask])[None]
    assert_allclose(world.answer(shown)[0], world.given[mask, case])
    assert_allclose(choices.answer(shown)[0], choices.read[mask, case])


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_information_is_a_sum_of_logarithms(seed):
    choices = random_choices(np.random.default_rng(seed), 2, 2)
    table = choices.joint.sum(axis=0)  # (classes, masks)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    direct = sum(
        table[y, m] * np.log(table[y, m] / (rows[y] * columns[m])) for y, m in product(range(2), range(4)) if table[y, m] > 0
    )
    assert_allclose(choices.information, direct, atol=1e-12)
    assert choices.encoding >= -1e-12


def test_a_mask_drawn_without_looking_gives_nothing_away():
    rng = np.random.default_rng(3)
    choices = random_choices(rng)
    assert choices.information > 0.01
    neutral = choices.neutral()
    assert_allclose([neutral.information, neutral.encoding], 0, atol=1e-12)
    assert_allclose(neutral.of_masks, choices.of_masks)
    assert_allclose(neutral.joint.sum(axis=2), choices.world.joint)


def test_a_switch_shown_with_what_it_switches_is_no_encoding():
    """Feature 2 says whether feature 0 or feature 1 is the label. Showing it and the one it names: the mask varies, and
    tells nothing beyond the values. Showing the one it names alone: the reader learns from the mask which it was."""
    world = World.of(3, lambda x: (np.where(x[:, 2] > 0, x[:, 0], x[:, 1]) + 1) / 2)
    first = world.x[:, 2:] > 0
    both = world.choose(np.where(first, [True, False, True], [False, True, True]))
    assert_allclose([both.information, both.encoding], 0, atol=1e-12)
    assert_allclose(both.world.best_masks(2).sum(axis=1), 2)
    alone = world.choose(np.where(first, [True, False, False], [False, True, False]))
    assert_allclose(alone.information, 0, atol=1e-12)  # the mask alone says nothing of the label …
    # … yet y is certain where an honest reader of one feature believes 3/4: log(1 / 0.75)
    assert_allclose(alone.encoding, np.log(4 / 3))


def test_best_mask_finds_the_features_that_matter():
    world = World.of(5, lambda x: 1 / (1 + np.exp(-2 * x[:, 1] * x[:, 3])))
    assert world.best_mask(2).tolist() == [False, True, False, True, False]
    assert (world.best_masks(2) == world.best_mask(2)).all()
    assert world.best_mask(1).tolist() == [True, False, False, False, False]  # one alone tells nothing: a tie


def test_random_masks_seldom_show_what_counts_together():
    """Section 4.1 of Bai et al.: where only a pair tells anything, one random pair of features in fifteen does, which is what
    random pretraining has to learn from; where every feature tells something, all pairs do."""
    pair = World.of(6, lambda x: (x[:, 0] * x[:, 1] + 1) / 2)
    alone = World.of(6, lambda x: (x.sum(axis=1) + 6) / 12)
    shares = []
    for world in (pair, alone):
        pairs = world.masks[world.masks.sum(axis=1) == 2]
        shares.append(np.mean([world.information(mask) > 1e-12 for mask in pairs]))
    assert shares == [1 / 15, 1.0]
    assert pair.best_mask(2).tolist() == [True, True, False, False, False, False]


def test_decided_is_what_the_black_box_says():
    world = World.of(2, lambda x: np.where(x[:, 0] > 0, 0.9, 0.2))
    assert_allclose(world.decide().given[3, :, 1], world.x[:, 0] > 0)


def test_samples_come_from_the_law():
    choices = random_choices(np.random.default_rng(5), 2, 2)
    x, masks, labels = choices.sample(40_000, seed=1)
    share = np.mean((masks[:, 0]) & (labels == 1))
    true = choices.joint[:, 1, :][:, choices.world.masks[:, 0]].sum()
    assert abs(share - true) < 5 * np.sqrt(0.25 / 40_000)  # five standard errors: false alarms below 1e-6
    assert set(np.unique(x)) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.full((3, 2), 1 / 6), "joint must be"),
        (np.full((128, 2), 1 / 256), "d ≤ 6"),
        (np.full((2, 1), 0.5), "two classes"),
        (np.full((2, 2), 0.5), "sum to 1"),
        (np.array([[np.nan, 0.5], [0.25, 0.25]]), "probabilities"),
    ],
)
def test_what_is_no_world_is_refused(table, message):
    with pytest.raises(InvalidInput, match=message):
        World(table)


def test_rows_with_other_numbers_are_refused():
    with pytest.raises(InvalidInput, match="removed"):
        HALF.answer([[0.5]])
    with refused("range", "k"):
        HALF.best_mask(2)
