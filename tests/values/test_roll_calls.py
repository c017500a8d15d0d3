"""Roll calls: by every order and vote, by the published figures, and by their claims."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.games import ChoiceFunction, ChoiceTable
from accredit.values import roll_calls, shapley
from tests.random_games import random_games
from tests.wording import refused


def table(shape, worth):
    return ChoiceTable(range(len(shape)), np.array([worth(*x) for x in np.ndindex(*shape)], dtype=float).reshape(shape))


def pivots(game, steps):
    """How often each player clinches each step of a monotone game, by every roll call: the definition of Freixas (2005)."""
    v, n = game.table, game.table.ndim
    top = [m - 1 for m in v.shape]
    credit, calls = np.zeros(n), 0
    for order in permutations(range(n)):
        for votes in product(*(range(m) for m in v.shape)):
            calls += 1
            for low, high in pairwise(steps):
                for k, i in enumerate(order):
                    said = set(order[: k + 1])
                    worst = v[tuple(votes[j] if j in said else 0 for j in range(n))]
                    best = v[tuple(votes[j] if j in said else top[j] for j in range(n))]
                    if worst >= high or best <= low:  # at least this level for sure, or surely not
                        credit[i] += high - low
                        break
    return credit / calls


def test_it_is_the_definition_by_pivots():
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (2, 3, 3), (3, 2, 4)):
        v = rng.integers(0, 3, size=shape)
        for axis in range(v.ndim):
            v = np.maximum.accumulate(v, axis=axis)
        v.flat[0], v.flat[-1] = 0, v.max()
        game = ChoiceTable(range(v.ndim), v.astype(float))
        assert_allclose(roll_calls(game).credit, pivots(game, sorted(set(v.ravel().tolist()))), atol=1e-12)


def marks(scale):
    """Three examiners, each with right, regular or wrong, and four final marks: weights and quotas of the published example."""

    def mark(theory, practice, procedure):
        total = (-3, 0, 1)[theory] + (-1, 0, 2)[practice] + (-2, 0, 1)[procedure]
        return scale[sum(total >= quota for quota in (1, 2, 3))]

    return table((3, 3, 3), mark)


@pytest.mark.parametrize(
    ("game", "published"),
    [  # levels from the lowest to the highest; the examples of Freixas (2005), as shares of v(m)
        (table((3, 3, 3), lambda a, b, c: a == 2 and (b > 0 or c > 0)), [22 / 27, 5 / 54, 5 / 54]),
        (
            table((4, 4, 4, 4), lambda a, b, c, d: a == 3 and ((b > 1 and c > 0) or (c > 1 and b > 0))),
            [29 / 48, 19 / 96, 19 / 96, 0],
        ),
        (marks((0, 0, 0, 1)), [42 / 162, 78 / 162, 42 / 162]),  # how often each decides about the highest mark
    ],
    ids=["ternary", "quaternary", "marks"],
)
def test_published_figures(game, published):
    found = roll_calls(game)
    assert_allclose(found.credit / found.total, published, atol=1e-12)


def test_one_published_count_is_not_symmetric():
    """For the second mark the article prints 54, 60 and 48 of 162; but theory and procedure are equals there."""
    game = marks((0, 0, 1, 1))
    assert_allclose(game.table, game.table.transpose(2, 1, 0))
    assert_allclose(roll_calls(game).credit * 162, [51, 60, 51])
    assert_allclose(roll_calls(game).credit, pivots(game, [0, 1]))


def test_the_security_council_with_abstentions():
    """0.1636 and 0.0182 in print (Felsenthal and Machover, 1998). One of the five permanent members settles a roll call with
    chance 5 · 0.1636; a mean of 2,000 calls is 5.5 standard errors off in fewer than one run of ten million."""

    def passes(votes):
        return ((votes == 2).sum(axis=1) >= 9) & (votes[:, :5] > 0).all(axis=1)

    found = roll_calls(ChoiceFunction(range(15), [3] * 15, passes), budget=2 + 29 * 2000)
    assert found.credit.sum() == pytest.approx(1)
    settled = 5 * 0.1636
    assert abs(found.credit[:5].sum() - settled) < 5.5 * (settled * (1 - settled) / 2000) ** 0.5 + 5 * 5e-5


def test_with_two_levels_it_is_shapleys():
    for game in random_games(4, count=3, seed=1):
        levels = ChoiceTable(game.players, game.table.reshape([2] * 4).transpose())
        assert_allclose(roll_calls(levels).credit, shapley(game).credit, atol=1e-12)


def test_its_claims_hold_on_random_games():
    rng = np.random.default_rng(2)
    v, w = rng.normal(size=(2, 3, 3, 3))
    found = roll_calls(ChoiceTable("abc", v))
    assert found.credit.sum() == pytest.approx(v.flat[-1] - v.flat[0]) and found.total == pytest.approx(found.credit.sum())
    assert_allclose(
        roll_calls(ChoiceTable("abc", 2 * v - w)).credit, 2 * found.credit - roll_calls(ChoiceTable("abc", w)).credit
    )
    null = np.stack([v[0]] * 3)
    assert_allclose(roll_calls(ChoiceTable("abc", null)).credit[0], 0, atol=1e-12)
    alike = v + v.transpose(1, 0, 2)
    assert_allclose(*roll_calls(ChoiceTable("abc", alike)).credit[:2])
    assert {claim.axiom: claim.holds for claim in found.claims} == dict.fromkeys(
        ("efficiency", "symmetry", "null player", "linearity"), Holds.EXACTLY
    )


def test_it_is_estimated_within_the_budget():
    """Intervals at 1 − 1e-7 for eight players: a false alarm in fewer than one run of a million."""
    v = np.indices((3,) * 8).sum(axis=0) ** 2.0 + np.random.default_rng(3).normal(size=(3,) * 8)
    asked = 0

    def worth(votes):
        nonlocal asked
        asked += len(votes)
        return v[tuple(votes.T)]

    truth = roll_calls(ChoiceTable(range(8), v)).credit
    found = roll_calls(ChoiceFunction(range(8), [3] * 8, worth), budget=1500, level=1 - 1e-7)
    assert asked == found.payoffs <= 1500 and not found.exact
    assert found.credit.sum() == pytest.approx(v.flat[-1] - v.flat[0])
    assert (found.interval[:, 0] <= truth).all() and (truth <= found.interval[:, 1]).all()
    with refused("range", "budget"):
        roll_calls(ChoiceFunction(range(8), [3] * 8, worth), budget=31)
    assert roll_calls(ChoiceFunction(range(8), [3] * 8, worth), budget=32).payoffs == 32
