"""Values with levels and with alternatives: by brute force over orders, by their axioms, and by their claims."""

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.core.choices import tabulate_choices
from accredit.errors import BadPayoff, InvalidInput
from accredit.evaluate.choice_axioms import AXIOMS, KEPT, choice_axioms
from accredit.games import ChoiceFunction, ChoiceTable
from accredit.values import banzhaf, bolger, by_player, multichoice, multichoices, shapley
from accredit.values.alternatives import average
from accredit.values.multichoice import (
    MARKS,
    RULES,
    SHARED,
    Units,
    dividends,
    from_dividends,
    from_orders,
    from_vertices,
    from_weights,
)
from tests.random_games import random_games

VALUES = {
    "orders": from_orders,
    "dividends": from_dividends,
    "weights": lambda v: from_weights(v, np.arange(1.0, max(v.shape))),
    "vertices": from_vertices,
}


def tables(shapes=((2, 3), (3, 3), (2, 2, 3)), seed=0):
    rng = np.random.default_rng(seed)
    for shape in shapes:
        v = rng.normal(size=shape)
        v.flat[0] = 0
        yield v


@pytest.mark.parametrize("in_one_go", [False, True], ids=["orders", "vertices"])
def test_orders_and_vertices_by_every_order(in_one_go):
    """All orders of level-ups; for vertices only those in which every player climbs all its levels at once."""
    for v in tables():
        top = [n - 1 for n in v.shape]
        units = [i for i, m in enumerate(top) for _ in range(m)]
        orders = set(permutations(units))
        if in_one_go:
            orders = {tuple(i for i in who for _ in range(top[i])) for who in permutations(range(v.ndim))}
        credit = [np.zeros(m) for m in top]
        for order in orders:
            at = [0] * v.ndim
            for i in order:
                before = v[tuple(at)]
                at[i] += 1
                credit[i][at[i] - 1] += (v[tuple(at)] - before) / len(orders)
        for found, truth in zip((from_vertices if in_one_go else from_orders)(v), credit, strict=True):
            assert_allclose(found, truth, atol=1e-12)


def test_dividends_are_the_shapley_value_of_levels():
    for v in tables():
        game = ChoiceTable(range(v.ndim), v)
        assert_allclose(multichoice(game, "dividends").credit, shapley(Units(game)).credit, atol=1e-12)
        assert_allclose(dividends(v).sum(), v.flat[-1])


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_keeps_exactly_the_axioms_that_it_claims(rule):
    """Both ways: what is claimed survives every random game, what is denied has a witness."""
    found = choice_axioms(VALUES[rule])
    game = ChoiceTable("ab", next(tables()))
    given = {"weights": [1, 2]} if rule == "weights" else {}
    claimed = {c.axiom: c.holds for c in multichoice(game, rule, **given).claims}
    assert set(claimed) == set(AXIOMS) == set(SHARED) | set(MARKS)
    for axiom, violation in found.items():
        assert (violation <= KEPT) == (claimed[axiom] is Holds.EXACTLY), (axiom, violation)


def test_equal_loss_and_balanced_contributions_single_out_one_rule():
    """Klijn, Slikker and Zarzuelo (1999): with efficiency they determine every level, from the smallest games up."""

    def determined(v):
        """Top levels from balanced contributions and efficiency, lower ones from equal loss."""
        top = [n - 1 for n in v.shape]
        active = [i for i, m in enumerate(top) if m]
        if not active:
            return [np.zeros(0) for _ in top]
        less = {i: determined(np.delete(v, top[i], axis=i)) for i in active}
        lower = {i: sum(float(less[i][i].sum()) for _ in [0]) for i in active}
        first = active[0]
        # x_i − x_i without j's top = x_j − x_j without i's top, so every top level is x_first plus a known number
        ahead = {i: float(less[first][i][-1] - less[i][first][-1]) if i != first else 0.0 for i in active}
        whole = float(v.flat[-1]) - sum(lower.values()) - sum(top[i] * ahead[i] for i in active)
        x = whole / sum(top[i] for i in active)
        return [np.append(less[i][i] + x + ahead[i], x + ahead[i]) if i in active else np.zeros(0) for i in range(len(top))]

    for v in tables(((2, 3), (3, 3), (2, 2, 2))):
        for found, truth in zip(determined(v), from_dividends(v), strict=True):
            assert_allclose(found, truth, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_with_two_states_every_rule_is_shapleys(rule):
    for game in random_games(4, count=3, seed=1):
        levels = ChoiceTable(game.players, game.table.reshape([2] * 4).transpose())
        given = {"weights": [3]} if rule == "weights" else {}
        assert_allclose(multichoice(levels, rule, **given).credit, shapley(game).credit, atol=1e-12)


def test_three_small_games_tell_the_rules_apart():
    """The table of docs/multichoice.md: one player with one level, one with two."""
    both = [[0, 0, 0], [0, 1, 1]]  # a at 1 and b at 1
    late = [[0, 0, 0], [0, 0, 1]]  # a at 1 and b at 2
    two = [[0, 0, 1], [0, 1, 1]]  # any two level units
    shares = {
        str(both): {
            "orders": [2 / 3, 1 / 3, 0],
            "dividends": [1 / 2, 1 / 2, 0],
            "weights": [1 / 2, 1 / 2, 0],
            "vertices": [1 / 2, 1 / 2, 0],
        },
        str(late): {
            "orders": [1 / 3, 0, 2 / 3],
            "dividends": [1 / 3] * 3,
            "weights": [1 / 3, 0, 2 / 3],
            "vertices": [1 / 2, 0, 1 / 2],
        },
        str(two): {
            "orders": [1 / 3, 1 / 3, 1 / 3],
            "dividends": [1 / 6, 2 / 3, 1 / 6],
            "weights": [1 / 6, 1 / 2, 1 / 3],
            "vertices": [0, 1 / 2, 1 / 2],
        },
    }
    for table in (both, late, two):
        found = multichoices(ChoiceTable("ab", table))
        for rule, expected in shares[str(table)].items():
            assert_allclose(found[rule].credit, expected, atol=1e-12, err_msg=f"{rule} of {table}")


@pytest.mark.parametrize("rule", ["orders", "vertices", "dividends"])
def test_estimates_agree_with_the_truth_and_keep_the_budget(rule):
    """Intervals at 1 − 1e-7 of 12 levels: a false alarm in about one run of a million."""
    v = np.random.default_rng(5).normal(size=(3, 3, 3, 3, 3, 3))
    asked = 0

    def worth(choices):
        nonlocal asked
        asked += len(choices)
        return v[tuple(choices.T)]

    game = ChoiceFunction(range(6), [3] * 6, worth)
    truth = multichoice(ChoiceTable(range(6), v), rule)
    found = multichoice(game, rule, budget=600, level=1 - 1e-7)
    assert asked == found.payoffs <= 600 and not found.exact
    assert found.credit.sum() == pytest.approx(v.flat[-1] - v.flat[0])
    assert found.interval is not None
    assert (found.interval[:, 0] <= truth.credit).all() and (truth.credit <= found.interval[:, 1]).all()


def test_estimates_claim_what_every_order_keeps():
    game = ChoiceFunction(
        range(8), [4] * 8, lambda c: c[:, 1:].sum(axis=1) ** 2.0 + (c[:, 0] > 1)
    )  # level 1 of player 0 is null
    found = multichoice(game, "orders", budget=500)
    assert found["0: 1"] == 0 and found.claim("null level").holds is Holds.EXACTLY
    assert found.claim("symmetry").holds is Holds.IN_EXPECTATION and found.claim("equal loss").holds is Holds.NO


def test_totals_of_players():
    game = ChoiceTable("ab", [[0, 0, 0], [0, 0, 1]])
    assert by_player(multichoice(game, "dividends"), game) == pytest.approx({"a": 1 / 3, "b": 2 / 3})


# Alternatives without an order


def test_bolger_by_definition():
    """θ_i = Σ (|S|−1)!(n−|S|)!/(n!·(r−1)^(n−|S|+1))·Σ_k [v(arrangement) − v(i moves to k)] (Bolger, 1993)."""
    rng = np.random.default_rng(2)
    n, r = 3, 3
    v = rng.normal(size=(r,) * n)
    names = [["x", "y", "z"]] * n
    found = bolger(ChoiceTable("abc", v, names))
    for j, name in enumerate("xyz"):
        credit = np.zeros(n)
        for choice in product(range(r), repeat=n):
            size = sum(k == j for k in choice)
            for i in range(n):
                if choice[i] != j:
                    continue
                weight = factorial(size - 1) * factorial(n - size) / (factorial(n) * (r - 1) ** (n - size + 1))
                moved = [(*choice[:i], k, *choice[i + 1 :]) for k in range(r) if k != j]
                credit[i] += weight * sum(v[choice] - v[other] for other in moved)
        assert_allclose(found[name].credit, credit, atol=1e-12)
        assert found[name].credit.sum() == pytest.approx(found[name].total)


def test_with_two_alternatives_bolger_is_shapley():
    game = next(random_games(4, count=1, seed=3))
    two = ChoiceTable(game.players, game.table.reshape([2] * 4).transpose(), [["out", "in"]] * 4)
    assert_allclose(bolger(two)["in"].credit, shapley(game).credit, atol=1e-12)
    assert_allclose(bolger(two)["out"].credit, -shapley(game).credit, atol=1e-12)
    assert_allclose(average(two.table, 1), game.table)


def test_bolger_keeps_its_claims():
    rng = np.random.default_rng(4)
    v = rng.normal(size=(3, 3))
    null = np.stack([v, v, v])  # the first player's choice never matters
    symmetric = v + v.T
    names = [["x", "y", "z"]]
    assert_allclose(bolger(ChoiceTable("abc", null, names * 3))["y"].credit[0], 0, atol=1e-12)
    assert_allclose(*bolger(ChoiceTable("ab", symmetric, names * 2))["z"].credit, atol=1e-12)


def test_bolger_is_estimated_within_the_budget():
    """Intervals at 1 − 1e-7 for 24 numbers: a false alarm in fewer than three runs of a million."""
    v = np.indices((3,) * 8).sum(axis=0) ** 2.0 + np.random.default_rng(6).normal(size=(3,) * 8)
    game = ChoiceFunction(range(8), [["x", "y", "z"]] * 8, lambda c: v[tuple(c.T)])
    truth = bolger(ChoiceTable(range(8), v, [["x", "y", "z"]] * 8))
    found = bolger(game, budget=1500, level=1 - 1e-7)
    assert (found.payoffs or 0) <= 1500
    for name in "xyz":
        low, high = found[name].interval.T
        assert (low <= truth[name].credit).all() and (truth[name].credit <= high).all()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: multichoice(ChoiceTable("ab", np.zeros((2, 3))), "sums"), "orders, dividends"),
        (lambda: multichoice(ChoiceTable("ab", np.zeros((2, 3))), "weights"), r"weights=\[1, 2\]"),
        (lambda: multichoice(ChoiceTable("ab", np.zeros((2, 3))), "orders", weights=[1, 2]), "takes no weights"),
        (lambda: multichoice(ChoiceTable("ab", np.zeros((2, 3))), "weights", weights=[2, 1]), "none smaller"),
        (lambda: multichoice(ChoiceFunction("ab", [9, 9], len), "orders", budget=20), "fewer than two orders"),
        (lambda: multichoice(ChoiceFunction(range(9), [9] * 9, len), "weights", weights=range(1, 9)), "exact only"),
        (lambda: multichoice(ChoiceFunction("ab", [3, 3], lambda c: np.zeros(1)), "orders"), "one number each"),
        (lambda: multichoice(ChoiceFunction("ab", [3, 3], lambda c: c[:, 0] / 0.0), "orders"), "finite"),
        (lambda: ChoiceTable("ab", np.zeros((2, 1))), "at least two choices"),
        (lambda: ChoiceTable("ab", np.zeros((2, 2)), [["x", "y"], "xy"]), "list of names"),
        (lambda: ChoiceTable("ab", np.zeros((2, 2)), [["x", "y"], ["x", "y", "z"]]), "need"),
        (lambda: bolger(ChoiceTable("ab", np.zeros((2, 2)), [["x", "y"], ["x", "z"]])), "different alternatives"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*divide:RuntimeWarning", "ignore:.*invalid:RuntimeWarning")
def test_bad_choices_are_named(call, word):
    with pytest.raises((InvalidInput, BadPayoff), match=word):
        call()


def test_a_table_is_not_asked_again():
    assert tabulate_choices(ChoiceTable("ab", [[0, 1], [2, 3.0]])).tolist() == [[0, 1], [2, 3]]
    assert banzhaf(Units(ChoiceTable("ab", [[0, 1], [2, 4.0]]))).credit.tolist() == [2.5, 1.5]
