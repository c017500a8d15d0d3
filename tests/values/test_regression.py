import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.games import FunctionGame, TableGame
from accredit.values.orders import Permutations
from accredit.values.regression import KernelShap, Leverage
from accredit.values.semivalues import shapley_from_table
from tests.values.sampling_games import KINDS, members, names, unanimity
from tests.wording import reads

BOTH = pytest.mark.parametrize("solver", [KernelShap, Leverage])


@BOTH
@pytest.mark.parametrize("n", [3, 4, 7, 8])
def test_all_pairs_give_the_shapley_value_and_exact_claims(solver, n):
    game = TableGame(names(n), np.random.default_rng(n).normal(size=1 << n))
    found = solver(budget=1 << n).solve(game)
    assert_allclose(found.credit, shapley_from_table(game.table), atol=1e-10)
    assert {claim.holds for claim in found.claims} == {Holds.EXACTLY}
    assert found.payoffs == 1 << n
    assert reads(found.stopped)


@BOTH
def test_solves_the_constrained_problem_it_states(solver):
    """The gradient of the weighted squares, over pairs drawn whole, is the same for all players: a Lagrange multiplier."""
    n, game = 5, TableGame(names(5), np.random.default_rng(1).normal(size=32))
    credit = solver(budget=32).solve(game).credit
    x, v = members(n)[1:-1].astype(float), game.table[1:-1] - game.table[0]
    k = x.sum(axis=1)
    count = np.array([1, 5, 10, 10, 5, 1])[k.astype(int)]
    gradient = x.T @ ((v - x @ credit) / (count * k * (n - k)))
    assert_allclose(gradient, gradient.mean(), atol=1e-12)


@BOTH
def test_gives_no_interval_and_says_why(solver):
    found = solver(budget=200).solve(unanimity())
    assert found.interval is None
    assert found.stderr is None
    assert "least-squares standard errors" in found.interval_because
    assert "Differences" in found.interval_because


@BOTH
def test_exact_where_the_odd_part_is_additive(solver):
    """Squares of the size have an additive odd part: n·(k − n/2)."""
    squares = FunctionGame(names(9), lambda coalitions: coalitions.sum(axis=1) ** 2.0)
    assert_allclose(solver(budget=60).solve(squares).credit, 9, atol=1e-9)


@pytest.mark.slow
@BOTH
def test_is_more_accurate_than_random_orders_at_equal_payoffs(solver):
    for kind in KINDS.values():
        game = kind()
        exact = shapley_from_table(game.table)
        errors = [
            np.mean([(kind(budget=400, seed=seed).solve(game).credit - exact) ** 2 for seed in range(20)])
            for kind in (solver, Permutations)
        ]
        assert errors[0] < errors[1]


@BOTH
@pytest.mark.parametrize("budget", [24, 25])
def test_too_few_pairs_are_refused_before_any_is_asked(solver, budget):
    with pytest.raises(InvalidInput, match="budget=") as refused:
        solver(budget=budget).solve(FunctionGame(names(12), lambda coalitions: coalitions.sum(axis=1)))
    assert "26" in str(refused.value)


@BOTH
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"budget": 0}, "budget must be"),
        ({"budget": "many"}, "budget must be a whole number"),
        ({"budget": 100, "seconds": 0}, "seconds must be positive"),
        ({"budget": 100, "seed": 0.5}, "seed must be"),
    ],
)
def test_bad_regression_settings_are_refused(solver, limits, message):
    with pytest.raises(InvalidInput, match=message):
        solver(**limits)
