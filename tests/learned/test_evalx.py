"""EVAL-X learns P(y | x_S) of the exact world, whatever an explainer does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from accredit.errors import InvalidInput
from accredit.learned.evalx import EvalX
from accredit.learned.inputs import Tabular, Words
from accredit.shortcuts.world import World
from tests.wording import refused, warned


def logistic(z):
    return 1 / (1 + np.exp(-z))


WORLD = World.of(4, lambda x: logistic(2 * x[:, 0] + 1.5 * x[:, 1] * x[:, 2]))


@pytest.mark.slow
def test_it_learns_what_the_shown_values_tell():
    """Every case under every mask: within 0.15 of the exact conditional, 0.04 on average (soft targets, 2500 rows)."""
    x, _ = WORLD.sample(2500, seed=0)
    judge = EvalX(Tabular(4), width=32).fit(x, WORLD.answer, seed=0)
    cases, masks = np.repeat(WORLD.x, 16, axis=0), np.tile(WORLD.masks, (16, 1))
    gap = np.abs(judge.predict(cases, masks) - WORLD.answer(cases * masks))
    assert gap.max() < 0.15
    assert gap.mean() < 0.04


@pytest.mark.slow
def test_labels_probabilities_and_a_black_box_are_all_targets():
    x, y = WORLD.sample(300, seed=1)
    everything = np.ones((300, 4))
    hard = EvalX(Tabular(4), width=16, epochs=20).fit(x, y, seed=0)
    soft = EvalX(Tabular(4), width=16, epochs=20).fit(x, WORLD.answer(x), seed=0)
    asked = EvalX(Tabular(4), width=16, epochs=20).fit(x, WORLD.answer, seed=0)
    np.testing.assert_array_equal(soft.predict(x, everything), asked.predict(x, everything))
    assert hard.accuracy(x, everything, WORLD.answer(x).argmax(axis=1)) > 0.8


def test_the_same_seed_gives_the_same_judge_and_leaves_the_callers_random_numbers_alone():
    x, y = WORLD.sample(200, seed=1)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second = (EvalX(Tabular(4), width=8, epochs=3).fit(x, y, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.predict(x, np.ones_like(x)), second.predict(x, np.ones_like(x)))
    assert torch.equal(before, torch.get_rng_state())


def test_masks_are_fair_coins_and_half_of_them_have_k_players():
    present = np.ones((4000, 6), dtype=bool)
    present[:, 5] = False
    fair = EvalX(Words(6, 9)).masks(present, np.random.default_rng(0))
    assert abs(fair[:, :5].mean() - 0.5) < 5 * 0.5 / np.sqrt(20_000)  # five standard errors: false alarms below 1e-6
    assert not fair[:, 5].any()
    sized = EvalX(Words(6, 9), k=1).masks(present, np.random.default_rng(0))
    # half of the rows have exactly one; of the coins, 5/32 have one by chance
    assert abs((sized.sum(axis=1) == 1).mean() - (0.5 + 0.5 * 5 / 32)) < 5 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EvalX(Tabular(3), keep=1.0), "between 0 and 1"),
        (lambda: EvalX(Tabular(3), k=4), r"k must be a whole number from 1 to 3"),
        (lambda: EvalX(Tabular(3)).predict(np.zeros((2, 3)), np.ones((2, 3))), "call .fit"),
        (lambda: EvalX(Tabular(3)).fit(np.zeros((20, 3)), np.zeros(20, dtype=int)), "labels are all 0"),
        (lambda: EvalX(Tabular(3)).fit(np.zeros((20, 3)), np.zeros(20)), "whole numbers"),
        (lambda: EvalX(Tabular(3)).fit(np.zeros((2, 3)), np.arange(2)), "too few"),
        (lambda: EvalX(Tabular(3)).fit(np.zeros((20, 2)), np.arange(20) % 2), r"shape \(N, 3\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_masks_of_the_wrong_width_are_refused():
    x, y = WORLD.sample(60, seed=1)
    judge = EvalX(Tabular(4), width=8, epochs=1).fit(x, y)
    with refused("shape", "mask"):
        judge.predict(x, np.ones((60, 3)))


def test_a_loss_that_is_no_number_is_told():
    x = np.random.default_rng(0).normal(size=(60, 3))
    with warned("the untrained ones"):
        EvalX(Tabular(3), rate=1e30, epochs=2).fit(x, x[:, 0] > 0)
