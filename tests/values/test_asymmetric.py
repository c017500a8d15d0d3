"""Asymmetric values: the average over all permutations that respect an order is the oracle."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from accredit import asymmetric, check_claims, shapley
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame
from accredit.values.cubes import CubeGame
from accredit.values.precedence import precedence_of
from tests.wording import refused

NAMES = "abcdef"


def over_permutations(v, n, pairs):
    """Frye, Rowat and Feige's definition, by listing the permutations."""
    credit, count = np.zeros(n), 0
    for order in permutations(range(n)):
        place = {player: k for k, player in enumerate(order)}
        if all(place[i] < place[j] for i, j in pairs):
            here, count = 0, count + 1
            for player in order:
                credit[player] += v[here | 1 << player] - v[here]
                here |= 1 << player
    return credit / count


def random_pairs(rng, n, density=0.35):
    hidden = rng.permutation(n)
    return [(int(hidden[i]), int(hidden[j])) for i in range(n) for j in range(i + 1, n) if rng.random() < density]


@pytest.mark.slow
def test_equals_the_average_over_all_permutations():
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = int(rng.integers(2, 7))
        pairs = random_pairs(rng, n) or [(0, 1)]
        v = rng.normal(size=1 << n)
        game = TableGame(NAMES[:n], v)
        found = asymmetric(game, [(NAMES[i], NAMES[j]) for i, j in pairs])
        assert_allclose(found.credit, over_permutations(v, n, pairs), atol=1e-12)
        check_claims(found, game)


def test_cubes_in_stages_have_a_closed_form():
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(2, 7))
        stage = rng.integers(0, 3, n)
        stage[:2] = 0, 1
        groups = [[NAMES[i] for i in np.flatnonzero(stage == s)] for s in np.unique(stage)]
        present = rng.random((8, n)) < 0.35
        game = CubeGame(NAMES[:n], rng.normal(size=8), present, (rng.random((8, n)) < 0.35) & ~present, constant=2.0)
        closed, asked = asymmetric(game, groups), asymmetric(FunctionGame(NAMES[:n], game.payoff), groups)
        assert closed.payoffs == 0
        assert_allclose(closed.credit, asked.credit, atol=1e-12)
        assert closed.total == pytest.approx(asked.total)


def test_without_a_say_it_is_shapley():
    """One player that comes first and earns nothing leaves the others as they are."""
    game = FunctionGame("xabc", lambda c: (c[:, 1:] @ np.array([1.0, 2.0, 4.0])) ** 2)
    found = asymmetric(game, [["x"], ["a", "b", "c"]])
    assert_allclose(found.credit[1:], shapley(game).credit[1:])
    assert found["x"] == 0


def test_a_chain_credits_gains_along_it_whatever_the_number_of_players():
    names = [f"p{i}" for i in range(60)]
    game = FunctionGame(names, lambda c: c.sum(axis=1) ** 2.0)
    found = asymmetric(game, names)
    assert_allclose(found.credit, 2 * np.arange(60) + 1)
    assert found.payoffs == 61


@pytest.mark.parametrize(
    ("players", "pairs", "extensions"),
    [("abcd", "ac bc bd", 5), ("abcdefg", "ac bc bd ef", 525), ("abcde", "ab ac bd cd", 10), ("abcdef", "ad bd be ce cf", 61)],
)
@pytest.mark.slow
def test_every_order_that_respects_the_partial_one_is_equally_likely(players, pairs, extensions):
    """χ² over the orders; the false-alarm rate of each case is 1e-7."""
    order = precedence_of(players, [tuple(pair) for pair in pairs.split()])
    draws = 40 * extensions + 4000
    _, counts = np.unique(order.draw(np.random.default_rng(7), draws), axis=0, return_counts=True)
    assert len(counts) == extensions
    expected = draws / extensions
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-7, extensions - 1)


@pytest.mark.slow
def test_estimates_keep_their_claims_and_intervals_cover():
    """30 players in two stages, whose values are known. The share of covered values varies from run to run by 0.05 at most (it
    is 0.95 or more), so that the mean of 40 runs falls below 0.9 with a chance below 1e-9."""
    w = np.random.default_rng(3).normal(size=30)
    names = [f"p{i}" for i in range(30)]
    game = FunctionGame(names, lambda c: (c @ w) ** 2)
    first, second = w[:15], w[15:]  # within a stage: w_i (w_i + Σ_{j≠i} w_j) + 2 w_i · what came before
    truth = np.concatenate([first * first.sum(), second * second.sum() + 2 * second * first.sum()])
    covered = []
    for seed in range(40):
        found = asymmetric(game, [names[:15], names[15:]], budget=3000, seed=seed)
        assert found.unshared == pytest.approx(0, abs=1e-9)
        assert found.interval is not None
        covered.append(np.mean((found.interval[:, 0] <= truth) & (truth <= found.interval[:, 1])))
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize(
    "order",
    [
        [["a", "b"], "c"],
        [("a", "c"), ("b", "c")],
        {"c": ["a", "b"]},
        "a, b < c",
        "a < c; b < c",
        '[["a", "b"], "c"]',
        '{"c": ["a", "b"]}',
    ],
)
def test_one_order_is_written_in_several_ways(order):
    assert precedence_of("abc", order).pairs == (("a", "c"), ("b", "c"))


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ("a < b; b < c; c < a", "conflict"),
        ("a < a; a < b", "duplicate"),
        ([("a", "a")], "conflict"),
        ("a < z", "unknown"),
        ([("a", "b", "c")], "type"),
        ([["a", "b"], "a"], "duplicate"),
        ("a, < b", "empty"),
        (3, "type"),
        ([["a", 3.5]], "type"),
        ("a", "empty"),
        ([], "empty"),
        ("", "empty"),
        ("[1", "unreadable"),
    ],
)
def test_what_is_no_order_is_refused(order, code):
    with refused(code, "" if code == "unreadable" else "order"):
        asymmetric(TableGame("abc", np.arange(8.0)), order)


def test_a_circle_is_named():
    with pytest.raises(InvalidInput, match="'b' before 'c' before 'd' before 'b'"):
        precedence_of("abcd", "a < b < c < d; d < b")
