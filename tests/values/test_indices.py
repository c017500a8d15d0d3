"""Interaction indices against definitions written down afresh: averages of discrete derivatives, orders, least squares."""

from fractions import Fraction
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accredit
from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame, restricted
from accredit.values import banzhaf, shapley
from accredit.values.indices import INDICES, index_of
from tests.random_games import random_games
from tests.wording import refused

EXPANSIONS = [name for name, index in INDICES.items() if index.expands]


def subsets(players):
    return [frozenset(who) for size in range(len(players) + 1) for who in combinations(players, size)]


def payoff(game, who):
    return game.table[sum(1 << game.players.index(p) for p in who)]


def derivative(game, coalition, others):
    """How v changes at `others` when the coalition joins, its members taken together: Σ (−1)^{|T|−|L|} v(others ∪ L)."""
    return sum((-1) ** (len(coalition) - len(part)) * payoff(game, others | part) for part in subsets(coalition))


def shapley_interaction(game, coalition):
    n, t = len(game.players), len(coalition)
    rest = [p for p in game.players if p not in coalition]
    return sum(
        factorial(n - t - len(s)) * factorial(len(s)) / factorial(n - t + 1) * derivative(game, coalition, s)
        for s in subsets(rest)
    )


def banzhaf_interaction(game, coalition):
    rest = [p for p in game.players if p not in coalition]
    return sum(derivative(game, coalition, s) for s in subsets(rest)) / 2 ** len(rest)


def taylor_interaction(game, coalition, order):
    """Below the top order the derivative at nobody; at the top the derivative at whoever came before, over all orders."""
    if len(coalition) < order:
        return derivative(game, coalition, frozenset())
    found = []
    for arrived in permutations(game.players):
        first = min(arrived.index(p) for p in coalition)
        found.append(derivative(game, coalition, frozenset(arrived[:first])))
    return sum(found) / len(found)


def k_shapley(game, order):
    """Grown from order 1, the Shapley value, by spreading the Shapley interactions of each next size (Bernoulli numbers)."""
    bernoulli = {1: Fraction(-1, 2), 2: Fraction(1, 6), 3: Fraction(0)}
    found = {}
    for k in range(1, order + 1):
        for who in map(frozenset, combinations(game.players, k)):
            found[who] = shapley_interaction(game, who)
        for who in [w for w in found if len(w) < k]:
            rest = [p for p in game.players if p not in who]
            more = [frozenset(who | set(extra)) for extra in combinations(rest, k - len(who))]
            found[who] += float(bernoulli[k - len(who)]) * sum(shapley_interaction(game, w) for w in more)
    return found | {frozenset(): payoff(game, ())}


def best_fit(game, order, weight, exact=()):
    """Least squares over all coalitions; `exact` ones are met to the last digit."""
    terms = [t for t in subsets(game.players) if len(t) <= order]
    every = subsets(game.players)
    holds = np.array([[float(t <= s) for t in terms] for s in every])
    v = np.array([payoff(game, s) for s in every])
    w = np.array([0.0 if s in exact else weight(len(s)) for s in every])
    bound = np.array([s in exact for s in every])
    a = np.zeros((len(terms) + bound.sum(), len(terms) + bound.sum()))
    a[: len(terms), : len(terms)] = holds.T @ (w[:, None] * holds)
    a[len(terms) :, : len(terms)] = holds[bound]
    a[: len(terms), len(terms) :] = holds[bound].T
    found = np.linalg.solve(a, np.concatenate([holds.T @ (w * v), v[bound]]))
    return dict(zip(terms, found, strict=False))


def faith_shapley(game, order):
    n = len(game.players)
    ends = (frozenset(), frozenset(game.players))
    if order == n:
        return {t: derivative(game, t, frozenset()) for t in subsets(game.players)}
    return best_fit(game, order, lambda s: (n - 1) / (comb(n, s) * s * (n - s)), ends)


DEFINED = {
    "mobius": lambda game, k: {t: derivative(game, t, frozenset()) for t in subsets(game.players) if len(t) <= k},
    "sii": lambda game, k: {t: shapley_interaction(game, t) for t in subsets(game.players) if len(t) == k},
    "bii": lambda game, k: {t: banzhaf_interaction(game, t) for t in subsets(game.players) if len(t) == k},
    "k-sii": k_shapley,
    "stii": lambda game, k: {t: taylor_interaction(game, t, k) for t in subsets(game.players) if len(t) <= k},
    "fsii": faith_shapley,
    "fbii": lambda game, k: best_fit(game, k, lambda s: 1.0),
}


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("name", INDICES)
def test_every_index_is_what_its_definition_says(name, order):
    for players in (4, 5):
        for game in random_games(players, count=2, seed=order):
            found = accredit.interactions(game, name, order)
            expected = DEFINED[name](game, order)
            assert {frozenset(who) for who, _ in found} == set(expected)
            for who, x in found:
                assert x == pytest.approx(expected[frozenset(who)], abs=1e-10), who


def test_published_and_hand_worked_cases():
    """The majority of three has dividends 1 for pairs and −2 for all. A Shapley interaction cancels them; Shapley–Taylor does
    not (Sundararajan, Dhamdhere and Agarwal, 2020)."""
    majority = TableGame("abc", [0, 0, 0, 1, 0, 1, 1, 1])
    pair = {name: accredit.interactions(majority, name)["a", "b"] for name in INDICES}
    assert_allclose([pair["sii"], pair["bii"], pair["mobius"], pair["stii"]], [0, 0, 1, 1 / 3], atol=1e-15)
    singles = {name: accredit.interactions(majority, name)["a"] for name in EXPANSIONS}
    assert_allclose([singles["stii"], singles["k-sii"], singles["fsii"]], [0, 1 / 3, 1 / 3], atol=1e-15)
    one = accredit.interactions(TableGame("abcd", [0] * 15 + [24]), "stii")  # all four or nothing: six pairs share it
    assert one["a", "c"] == 4 and one["a"] == 0
    data_sets = TableGame("ABC", [0, 50, 20, 75, 25, 80, 90, 100])
    k = accredit.interactions(data_sets, "k-sii")
    assert k["B", "C"] == 20 and k["A"] == pytest.approx(115 / 3 + 20)  # half of −20 twice is given back


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("name", INDICES)
def test_claims_are_true(name, order):
    """Every claim an index makes, put to games that could refute it; and those it does not make are refuted somewhere."""
    broken = 0.0
    for game in random_games(5, count=5, seed=7):
        other = next(random_games(5, count=1, seed=8))
        found = accredit.interactions(game, name, order)
        claims = {claim.axiom: claim.holds for claim in found.claims}
        scale = np.abs(game.table).max()
        short = abs(sum(x for who, x in found if who) - (game.table[-1] - game.table[0])) / scale
        if claims["efficiency"] is Holds.EXACTLY:
            assert short < 1e-12
        broken = max(broken, short)
        both = accredit.interactions(TableGame(game.players, game.table + 3 * other.table), name, order)
        summed = {who: x + 3 * accredit.interactions(other, name, order)[who] for who, x in found}
        assert claims["linearity"] is Holds.EXACTLY
        assert all(both[who] == pytest.approx(x, abs=1e-12 * scale) for who, x in summed.items())
        index = np.arange(32)
        null = accredit.interactions(TableGame(game.players, game.table[index & ~2]), name, order)  # b never matters
        assert claims["null player"] is Holds.EXACTLY and max(abs(x) for who, x in null if "b" in who) < 1e-12 * scale
        swapped = index & ~3 | (index & 1) << 1 | (index & 2) >> 1
        equal = accredit.interactions(TableGame(game.players, (game.table + game.table[swapped]) / 2), name, order)
        assert claims["symmetry"] is Holds.EXACTLY
        for who, x in equal:
            twin = [{"a": "b", "b": "a"}.get(p, p) for p in who]
            assert x == pytest.approx(equal[twin], abs=1e-12 * scale)
    assert (claims["efficiency"] is Holds.EXACTLY) == (broken < 1e-12)


@pytest.mark.parametrize(("name", "value"), [("sii", shapley), ("bii", banzhaf)])
def test_recursion(name, value):
    for game in random_games(5, count=3, seed=3):
        assert {c.axiom for c in accredit.interactions(game, name).claims} >= {"recursion"}
        assert_allclose([x for _, x in accredit.interactions(game, name, 1)], value(game).credit, atol=1e-12)
        rest = [p for p in game.players if p != "c"]
        present, absent = restricted(game, rest, given=["c"]), restricted(game, rest)
        gained = accredit.interactions(present, name)["a", "b"] - accredit.interactions(absent, name)["a", "b"]
        assert accredit.interactions(game, name, 3)["a", "b", "c"] == pytest.approx(gained, abs=1e-12)


def test_with_all_sizes_every_expansion_is_the_dividends():
    for game in random_games(4, count=2, seed=4):
        dividends = accredit.mobius(game)
        for name in EXPANSIONS:
            full = accredit.interactions(game, name, 4)
            assert all(full[who] == pytest.approx(x, abs=1e-12) for who, x in dividends)


def test_dividends_ask_only_what_they_need():
    game = accredit.counted(FunctionGame([f"p{i}" for i in range(70)], lambda c: c.sum(axis=1) ** 2.0 + 1e6 * c[:, 3]))
    found = accredit.interactions(game, "mobius", 2)
    assert game.payoffs <= 1 + 70 + comb(70, 2) + 2 and found.exact
    assert found["p1"] == 1 and found["p3"] == 1e6 + 1 and found["p1", "p69"] == 2
    for small in random_games(6, count=2, seed=5):
        plain = FunctionGame(small.players, small.payoff)
        some = accredit.interactions(plain, "mobius", 3)
        assert some.sizes == (0, 1, 2, 3)
        assert all(x == pytest.approx(accredit.mobius(small)[who], abs=1e-12) for who, x in some)


@pytest.mark.parametrize("named", [accredit.mobius, accredit.shapley_interactions, accredit.banzhaf_interactions])
def test_order_means_exactly_that_many_players_in_every_named_function(named):
    game = next(random_games(5, count=1, seed=6))
    for order in (1, 2, 3):
        found = named(game, order)
        assert found.sizes == (order,)
        expansion = accredit.interactions(game, found.index, order).of_size(order)
        assert found.values == expansion.values
    claimed = {c.axiom: c.holds for c in accredit.mobius(game, 2).claims}
    assert claimed["reconstruction"] is Holds.NO


def test_names():
    assert index_of("Shapley–Taylor").name == "stii" and index_of("faith_banzhaf").name == "fbii"
    with refused("unknown", "index"):
        index_of("ksii")
    with pytest.raises(InvalidInput, match="order"):
        accredit.interactions(TableGame("ab", [0, 1, 1, 3]), "stii", 3)
