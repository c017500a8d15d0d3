import math

import numpy as np
import pytest
from scipy.stats import binom

from accredit.errors import InvalidInput
from accredit.games import TableGame
from accredit.values.orders import Permutations
from accredit.values.plan import permutations_needed


def test_the_formula_by_hand():
    """2·R²·n·ln(2n/δ)/ε² with n = 4, R = 3, ε = 1.5, δ = 8/e⁵: 2·9·4·5/2.25 = 160."""
    plan = permutations_needed(players=4, largest_gain=3, epsilon=1.5, delta=8 / math.e**5 * (1 + 1e-12))
    assert (plan.permutations, plan.payoffs) == (160, 2 + 160 * 3)
    plan = permutations_needed(players=4, largest_gain=3, epsilon=1.5, delta=8 / math.e**5 * (1 + 1e-12), norm="max")
    assert plan.permutations == 40


def failure_chance(orders, epsilon):
    """Two players, one wins what the other loses: gains are (1, −1) or (−1, 1), the value is (0, 0)."""
    heads = np.arange(orders + 1)
    error = math.sqrt(2) * np.abs(2 * heads / orders - 1)
    return binom.pmf(heads, orders, 0.5)[error > epsilon].sum()


@pytest.mark.parametrize("epsilon", [0.1, 0.3])
@pytest.mark.parametrize("delta", [0.2, 0.05, 0.001])
def test_is_sufficient_where_the_error_is_known_and_not_absurd(epsilon, delta):
    orders = permutations_needed(players=2, largest_gain=1, epsilon=epsilon, delta=delta).permutations
    assert failure_chance(orders, epsilon) <= delta
    assert failure_chance(orders // 6, epsilon) > delta


def test_is_sufficient_in_runs():
    """Planned for δ = 1e-7 and 20 runs: false alarms below 2e-6 by Hoeffding, far below in fact."""
    game = TableGame(("a", "b"), [0, 1, 1, 0])
    plan = permutations_needed(players=2, largest_gain=1, epsilon=0.2, delta=1e-7)
    for seed in range(20):
        found = Permutations(orders=plan.permutations, seed=seed).solve(game)
        assert np.linalg.norm(found.credit) <= 0.2
        assert found.payoffs == plan.payoffs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"players": 0}, "players must be"),
        ({"players": 2.5}, "players must be"),
        ({"largest_gain": 0}, "largest_gain must be positive"),
        ({"largest_gain": "one"}, "largest_gain must be one number, got 'one'"),
        ({"epsilon": float("inf")}, "epsilon is inf; it must be a finite number"),
        ({"epsilon": float("nan")}, "epsilon is nan; it must be a finite number"),
        ({"delta": 1}, "delta must lie"),
        ({"delta": None}, "delta must be real numbers, got None"),
        ({"norm": "l1"}, "norm is 'l1'; write 'l2' or 'max'"),
    ],
)
def test_bad_plans_are_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        permutations_needed(**({"players": 5, "largest_gain": 1, "epsilon": 0.1, "delta": 0.05} | change))
