from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit import defaults
from accredit.core import Holds
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.evaluate import check_claims
from accredit.games import FunctionGame, TableGame, counted, grouped
from accredit.values import banzhaf, banzhaf_owen, owen, shapley
from tests.random_games import random_games
from tests.wording import refused, says


def by_orders(game, groups):
    """Average gains over every order in which each group (and group of groups) stays together."""
    n, v = len(game.players), game.table
    credit, count = np.zeros(n), 0

    def together(order, tree):
        if isinstance(tree, str):
            return True
        members = [leaves(part) for part in tree]
        for part, names in zip(tree, members, strict=True):
            places = sorted(order.index(name) for name in names)
            if places[-1] - places[0] + 1 != len(places) or not together(order, part):
                return False
        return True

    def leaves(tree):
        return [tree] if isinstance(tree, str) else [name for part in tree for name in leaves(part)]

    for order in permutations(game.players):
        if not together(order, groups):
            continue
        count += 1
        there = 0
        for name in order:
            i = game.players.index(name)
            credit[i] += v[there | 1 << i] - v[there]
            there |= 1 << i
    return credit / count


@pytest.mark.parametrize(
    "groups",
    [
        [["a", "b"], ["c", "d"], "e"],
        [["a", ["b", "c"]], ["d", "e"]],
        [[["a", "b"], "c"], "d", "e"],
        ["a", "b", "c", "d", "e"],
        [["a", "b", "c", "d", "e"]],
    ],
    ids=str,
)
def test_is_the_average_over_orders_that_keep_groups_together(groups):
    for game in random_games(players=5, count=2, seed=4):
        assert_allclose(owen(game, groups).credit, by_orders(game, groups), atol=1e-12)


@pytest.mark.parametrize("groups", [[["a", "b"]], {"pair": ["a", "b"]}, [["a", ["b", "c"]]], {"x": {"y": ["a", "b"]}}], ids=str)
def test_players_left_out_stay_outside_the_one_group_that_is_named(groups):
    def listed(tree):
        return tree if isinstance(tree, str) else [listed(t) for t in (tree.values() if isinstance(tree, dict) else tree)]

    for game in random_games(players=5, count=2, seed=4):
        named = str(groups)
        whole = listed(groups) + [p for p in game.players if f"'{p}'" not in named]
        assert_allclose(owen(game, groups).credit, by_orders(game, whole), atol=1e-12)


def test_without_groups_it_is_shapley():
    for game in random_games(players=5, count=3, seed=5):
        assert_allclose(owen(game, list(game.players)).credit, shapley(game).credit, atol=1e-12)


def test_members_share_the_value_of_their_group():
    for game in random_games(players=6, count=3, seed=6):
        groups = {"x": ["a", "b", "c"], "y": ["d", "e"]}
        inside, outside = owen(game, groups), shapley(grouped(game, groups))
        for name, members in groups.items():
            assert sum(inside[p] for p in members) == pytest.approx(outside[name], abs=1e-12)
        assert inside["f"] == pytest.approx(outside["f"], abs=1e-12)


def test_symmetry_is_rightly_not_claimed():
    """Three equal players, two of them grouped: the majority game credits the pair, not the single one."""
    game = FunctionGame("abc", lambda c: c.sum(axis=1) >= 2)
    assert owen(game, [["a", "b"], "c"]).credit.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("orders", [None, 50])
def test_keeps_its_claims(orders):
    def value(game):
        return owen(game, [["a", "b"], ["c", "d"]], orders=orders, seed=3)

    for game in random_games(players=5, count=5, seed=7):
        padded = TableGame(game.players, np.concatenate([game.table[:16], game.table[:16]]))  # e never matters
        check_claims(value(padded), padded, value)


def test_samples_agree_with_the_exact_value():
    game = next(random_games(players=6, count=1, seed=8))
    groups = [["a", "b", "c"], ["d", ["e", "f"]]]
    exact, sampled = owen(game, groups), owen(game, groups, orders=4000, seed=1)
    # six players at 6.5 standard errors: false alarm below 6 × 1e-10 for normal means
    assert (np.abs(sampled.credit - exact.credit) < 6.5 * sampled.stderr + 1e-12).all()


def test_counts_what_it_asks():
    for orders in (None, 7):
        game = counted(next(random_games(players=5, count=1, seed=9)))
        assert owen(game, [["a", "b"], ["c", "d", "e"]], orders=orders).payoffs == game.payoffs


def test_wide_trees_are_estimated_within_the_budget():
    game = counted(FunctionGame([str(i) for i in range(40)], lambda c: c.sum(axis=1)))
    for budget in (None, 500):
        game.payoffs = 0
        found = owen(game, list(game.players), budget=budget)
        assert not found.exact and found.payoffs == game.payoffs <= (budget or defaults.BUDGET)
    nested = [[str(8 * i + j) for j in range(8)] for i in range(5)]
    exact = owen(game, nested, budget=1 << 18)
    assert exact.exact and exact.credit == pytest.approx(np.ones(40))
    assert says(owen(game, list(game.players), budget=9).stopped, "80 payoffs for")
    with pytest.raises(InvalidInput, match="both given"):
        owen(game, nested, budget=9, orders=9)


@pytest.mark.parametrize("groups", [[["a", "b"], ["c", "d", "e"]], ["a", "b", "c", "d", "e"], [[["a", "b"], "c"], ["d", "e"]]])
def test_banzhaf_owen_counts_every_set_of_groups_alike(groups):
    """By definition: for one level, over sets R of the other groups and sets T of the others inside; groups of one: Banzhaf."""
    game = next(random_games(players=5, count=1, seed=3))
    found = banzhaf_owen(game, groups)
    if all(isinstance(group, str) for group in groups):
        assert_allclose(found.credit, banzhaf(game).credit, atol=1e-12)
    if groups == [["a", "b"], ["c", "d", "e"]]:
        unions = [[0, 1], [2, 3, 4]]
        for mine, others in (unions, unions[::-1]):
            for i in mine:
                inside = [j for j in mine if j != i]
                before = [[*r, *t] for r in ([], others) for k in range(len(inside) + 1) for t in combinations(inside, k)]
                gains = [game.table[_index([*s, i])] - game.table[_index(s)] for s in before]
                assert found.credit[i] == pytest.approx(np.mean(gains))
    assert found.claim("efficiency").holds is Holds.NO


def _index(members):
    return sum(1 << i for i in members)


def test_banzhaf_owen_refuses_more_payoffs_than_the_budget():
    game = FunctionGame([str(i) for i in range(12)], lambda c: c.sum(axis=1))
    with refused("too-many", "budget", kind=TooManyPlayers):
        banzhaf_owen(game, list(game.players), budget=100)


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([["a"], ["a", "b"]], "overlap"),
        ([["z"]], "unknown"),
        ([[]], "empty"),
        ([["a", 3]], "unknown player '3'"),
        ([["a"], None], "a group is"),
    ],
)
def test_bad_groups_are_named(groups, word):
    with pytest.raises(InvalidInput, match=word):
        owen(next(random_games(3, 1, seed=0)), groups)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"orders": 1}, "from 2 to"), ({"orders": 2.5}, "whole number"), ({"orders": 9, "seed": -1}, "seed must be")],
)
def test_bad_sampling_is_named(settings, word):
    with pytest.raises(InvalidInput, match=word):
        owen(next(random_games(3, 1, seed=0)), ["a"], **settings)


@pytest.mark.parametrize("orders", [None, 7])
def test_a_game_with_random_payoffs_is_shared_to_the_last_bit_it_paid(orders):
    rng = np.random.default_rng(0)
    noisy = FunctionGame("abcd", lambda coalitions: coalitions.sum(axis=1) + rng.normal(size=len(coalitions)))
    shared = owen(noisy, [["a", "b"], ["c", "d"]], orders=orders)
    assert abs(shared.unshared) < 1e-12


@pytest.mark.parametrize("depth", [201, 3000])
def test_trees_that_are_too_deep_or_contain_themselves_are_refused(depth):
    tree = ["a"]
    for _ in range(depth):
        tree = [tree]
    loop = []
    loop.extend([loop, loop])
    for odd in ([tree, "b"], [loop, "b"], {"x": {"y": loop}}):
        with refused("unreadable", "groups"):
            owen(FunctionGame("ab", lambda coalitions: coalitions.sum(axis=1)), odd)


def test_more_orders_than_memory_holds_are_refused():
    with refused("range", "orders"):
        owen(FunctionGame("ab", lambda coalitions: coalitions.sum(axis=1)), ["a", "b"], orders=10**12)
