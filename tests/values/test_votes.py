"""Weighted votes: sums of votes against all coalitions, whole numbers only, and the games of the textbooks."""

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput, TooManyPlayers
from accredit.games import FunctionGame, WeightedVote
from accredit.games import textbook as t
from accredit.values import banzhaf, beta, least_core, normalised_banzhaf, nucleolus, semivalue, shapley
from accredit.values.exact import decisive
from accredit.values.semivalues import leave_one_out_weights
from tests.wording import refused


def test_sums_of_votes_agree_with_all_coalitions():
    rng = np.random.default_rng(0)
    rules = (shapley, banzhaf, lambda g: beta(g, 2, 3), lambda g: semivalue(g, leave_one_out_weights(len(g.players))))
    for _ in range(12):
        n = int(rng.integers(1, 8))
        weights = rng.integers(0, 6, size=n)
        weights[0] += 1
        vote = WeightedVote(range(n), weights, int(rng.integers(1, weights.sum() + 1)))
        plain = FunctionGame(range(n), vote.payoff)
        for rule in rules:
            assert_allclose(rule(vote).credit, rule(plain).credit, atol=1e-12)


def exact_shapley(weights, quota, player):
    """Shapley–Shubik by whole numbers: coalitions of the others counted by size and votes."""
    others = [w for i, w in enumerate(weights) if i != player]
    counts = {(0, 0): 1}
    for w in others:
        added = {}
        for (size, votes), c in counts.items():
            added[size + 1, votes + w] = added.get((size + 1, votes + w), 0) + c
        for key, c in added.items():
            counts[key] = counts.get(key, 0) + c
    n = len(weights)
    decided = ((k, c) for (k, votes), c in counts.items() if quota - weights[player] <= votes < quota)
    return sum((Fraction(c * factorial(k) * factorial(n - k - 1), factorial(n)) for k, c in decided), Fraction(0))


def test_the_electoral_college_in_whole_numbers():
    vote = t.electoral_college(1992)
    assert vote.weights.sum() == t.electoral_college(2024).weights.sum() == 538 and len(vote.players) == 51
    found = shapley(vote)
    for state in ("CA", "WY"):
        at = vote.players.index(state)
        assert found.credit[at] == pytest.approx(float(exact_shapley(vote.weights.tolist(), 270, at)), rel=1e-12)
    assert found.credit.sum() == pytest.approx(1)
    with pytest.raises(InvalidInput, match="1992, 2024"):
        t.electoral_college(1800)


def test_the_security_council_as_published():
    """Permanent members 421/2145 and others 4/2145 (Shapley and Shubik's index of the council of fifteen); Banzhaf 848 and 84
    of 2^14 swings."""
    vote = t.security_council()
    assert_allclose(shapley(vote).credit * 2145, [421] * 5 + [4] * 10, rtol=1e-12)
    assert_allclose(banzhaf(vote).credit * 2**14, [848] * 5 + [84] * 10, rtol=1e-12)
    assert normalised_banzhaf(vote)["China"] == pytest.approx(848 / 5080)


@pytest.mark.parametrize(("estate", "shares"), [(100, [100 / 3] * 3), (200, [50, 75, 75]), (300, [50, 100, 150])])
def test_the_talmud_divides_by_the_nucleolus(estate, shares):
    """Mishna, Kethubot 93a, as explained by Aumann and Maschler (1985)."""
    assert_allclose(nucleolus(t.bankruptcy(estate, {"a": 100, "b": 200, "c": 300})).credit, shares, atol=1e-9)


def test_the_runway_is_shared_by_those_who_need_it():
    """Littlechild and Owen (1973): each piece is split evenly among the aircraft that need it."""
    assert_allclose(shapley(t.airport({"small": 12, "middle": 28, "large": 30})).credit, [4, 12, 14])


@pytest.mark.parametrize("n", [4, 5, 7])
def test_apex(n):
    assert_allclose(shapley(t.apex(n)).credit, [(n - 2) / n, *[2 / (n * (n - 1))] * (n - 1)])
    assert_allclose(nucleolus(t.apex(n)).credit, np.array([n - 2, *[1] * (n - 1)]) / (2 * n - 3), atol=1e-9)
    assert least_core(t.apex(n)).core_is_empty


def test_gloves_and_unanimity():
    assert_allclose(shapley(t.gloves(1, 2)).credit, [2 / 3, 1 / 6, 1 / 6])
    assert_allclose(nucleolus(t.gloves(1, 2)).credit, [1, 0, 0], atol=1e-9)
    assert_allclose(shapley(t.unanimity("abcd", "bd")).credit, [0, 0.5, 0, 0.5])


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: WeightedVote("ab", [1.5, 1], 2), "whole numbers"),
        (lambda: WeightedVote("ab", [1, 1], 1.5), "quota must be a whole number from 1 to 2"),
        (lambda: WeightedVote("ab", [1, -1], 1), "none negative"),
        (lambda: WeightedVote("ab", [1], 1), "2 players"),
        (lambda: WeightedVote("ab", [1, 1], 3), "quota must be a whole number from 1 to 2, got 3"),
        (lambda: WeightedVote("ab", [2**53 + 1, 1], 1), "more than are counted exactly"),
        (lambda: WeightedVote("ab", [2**62, 2**62], 1), "more than are counted exactly"),
        (lambda: WeightedVote("ab", ["x", 1], 1), "weights must be real numbers, and holds 'x'"),
        (lambda: t.bankruptcy(700, {"a": 100, "b": 200}), "between 0 and the sum"),
        (lambda: t.airport({"a": -1}), "at least 0"),
        (lambda: t.apex(2), "at least 3"),
        (lambda: t.unanimity("ab", ""), "carrier is empty"),
    ],
)
def test_bad_votes_are_named(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()


def test_a_vote_too_fine_to_count_is_refused():
    with refused("too-many", kind=TooManyPlayers):
        shapley(WeightedVote(range(100), [10**9] * 100, 5 * 10**10))


def test_chances_by_hand():
    assert_allclose(decisive(np.array([1] * 4), 2)[0], [0, 1, 0, 0])
    assert comb(4, 2) == 6
