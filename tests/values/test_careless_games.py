"""Games that write into the coalitions they are given, or return the same array every time: every value is that of a game that
does not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from accredit.core import tabulate
from accredit.core.choices import tabulate_choices
from accredit.core.multi_target import Predictions
from accredit.games import cached, counted, grouped, restricted
from accredit.games.wrappers import watch
from accredit.store import durable
from accredit.store.executors import evaluate
from accredit.valuation import datamodels
from accredit.valuation.harmonics import harmonics
from accredit.values import (
    Antithetic,
    Differences,
    DifferencesHint,
    Exact,
    KernelShap,
    Lasso,
    Leverage,
    Lime,
    Permutations,
    SampledBanzhaf,
    SampledBeta,
    SampledSemivalue,
    Surrogate,
    Truncated,
    asymmetric,
    banzhaf,
    banzhaf_owen,
    best_subsets,
    beta,
    bolger,
    hierarchy,
    interactions,
    least_core,
    leave_one_out,
    leaving_out,
    mobius,
    multichoice,
    normalised_banzhaf,
    nucleolus,
    owen,
    roll_calls,
    semivalue,
    shapley,
    value_given,
)
from accredit.values.semivalues import shapley_weights

N = 6
NAMES = tuple("abcdef")
WEIGHTS = np.array([3.0, 1, 4, 1, 5, 9])


def earned(coalitions):
    return coalitions @ WEIGHTS + 7 * (coalitions[:, 0] & coalitions[:, 3]) + 2.0


class Careful:
    players = NAMES

    def payoff(self, coalitions):
        return earned(coalitions)


class Careless:
    """The same game, which empties every coalition and fills one array again and again."""

    players = NAMES

    def __init__(self):
        self._paid = np.zeros(1 << 16)

    def payoff(self, coalitions):
        paid = self._paid[: len(coalitions)]
        paid[:] = earned(coalitions)
        coalitions[:] = False
        return paid


GROUPS = [["a", "b"], ["c", "d"], "e"]
SOLVERS = [
    Exact(), Permutations(orders=30), Antithetic(orders=30), Differences(budget=60), DifferencesHint(budget=200),
    KernelShap(budget=40), Leverage(budget=40), SampledBanzhaf(budget=60), SampledBeta(4, 1, budget=60),
    SampledSemivalue(tuple(shapley_weights(N)), budget=60), Surrogate(budget=40), Truncated(budget=60), Lime(budget=60),
    Lasso(budget=60),
]  # fmt: skip
RULES = {
    "asymmetric": lambda game: asymmetric(game, "a < b"),
    "asymmetric, sampled": lambda game: asymmetric(game, "a < b", budget=12),
    "banzhaf": banzhaf,
    "banzhaf-owen": lambda game: banzhaf_owen(game, GROUPS),
    "beta": lambda game: beta(game, 2, 1),
    "leave-one-out": leave_one_out,
    "normalised banzhaf": normalised_banzhaf,
    "nucleolus": nucleolus,
    "owen": lambda game: owen(game, GROUPS),
    "hierarchy": lambda game: hierarchy(game, GROUPS),
    "owen, sampled": lambda game: owen(game, GROUPS, orders=20),
    "semivalue": lambda game: semivalue(game, shapley_weights(N)),
    "interactions": interactions,
    "interactions, sampled": lambda game: interactions(game, budget=50),
    "mobius": lambda game: mobius(game, 2),
    "cached": lambda game: shapley(cached(game)),
    "counted": lambda game: shapley(counted(game)),
    "watched": lambda game: shapley(watch(game, lambda count: None)),
    "grouped": lambda game: shapley(grouped(game, {"ab": ["a", "b"]})),
    "restricted": lambda game: shapley(restricted(game, ["a", "b", "d"], given=["c"])),
    "datamodels": lambda game: datamodels(game, subsets=80).attribution(),
}


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_solvers_do_not_mind_what_a_game_does_to_its_coalitions(solver):
    assert solver.solve(Careless()) == solver.solve(Careful())


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_rules_and_wrappers_do_not_mind_either(rule):
    assert RULES[rule](Careless()) == RULES[rule](Careful())


@pytest.mark.slow
def test_tables_and_readings_do_not_mind_either():
    assert_array_equal(tabulate(Careless()), tabulate(Careful()))
    assert value_given(Careless(), "a", ["d"]) == 10
    assert best_subsets(Careless())[1] == (("f",), 11.0)
    assert least_core(Careless()).epsilon == least_core(Careful()).epsilon
    assert_array_equal(leaving_out(Careless()).error, leaving_out(Careful()).error)
    assert harmonics(Careless(), 60).linear == harmonics(Careful(), 60).linear


def test_a_table_of_several_chunks_is_not_that_of_the_last(monkeypatch):
    monkeypatch.setattr("accredit.core.coalitions.CHUNK_BYTES", 8 * N)
    assert_array_equal(tabulate(Careless()), tabulate(Careful()))


def test_a_journal_keeps_the_coalitions_that_were_asked():
    with durable(Careless(), executor="serial") as game:
        assert_array_equal(shapley(game).credit, shapley(Careful()).credit)
        assert game.evaluated == 1 << N


def test_a_batch_that_fails_half_way_is_asked_again_as_it_was():
    """The game empties its coalitions and then refuses batches: one by one, every coalition is still itself."""

    class Failing(Careless):
        def payoff(self, coalitions):
            paid = super().payoff(coalitions)
            if len(coalitions) > 1:
                raise MemoryError("too many at once")
            return paid

    every = np.eye(N, dtype=bool)
    assert_array_equal(evaluate(Failing(), every).values, earned(np.eye(N, dtype=bool)))


class Several:
    players, outputs = NAMES, ("once", "twice")

    def __init__(self, careless):
        self._careless, self._paid = careless, np.zeros((1 << 12, 2))

    def payoff(self, coalitions):
        paid = self._paid[: len(coalitions)] if self._careless else np.zeros((len(coalitions), 2))
        paid[:] = earned(coalitions)[:, None] * [1, 2]
        if self._careless:
            coalitions[:] = False
        return paid


@pytest.mark.parametrize("rule", [shapley, lambda game: owen(game, GROUPS), Permutations(orders=20).solve])
def test_several_outputs_do_not_mind_either(rule):
    assert rule(Several(True)) == rule(Several(False))


class Choices:
    players, levels = ("a", "b", "c"), ((("no", "maybe", "yes"),) * 3)

    def __init__(self, careless):
        self._careless = careless

    def worth(self, choices):
        paid = choices @ [1.0, 2.0, 4.0] + (choices > 1).all(axis=1)
        if self._careless:
            choices[:] = 0
        return paid


@pytest.mark.parametrize(
    "rule",
    [
        multichoice,
        lambda game: multichoice(game, budget=26),
        roll_calls,
        lambda game: roll_calls(game, budget=26),
        bolger,
    ],
)
def test_choices_do_not_mind_either(rule):
    assert rule(Choices(True)) == rule(Choices(False))


def test_tables_of_choices_do_not_mind_either():
    assert_array_equal(tabulate_choices(Choices(True)), tabulate_choices(Choices(False)))


class Training(Careful):
    targets = ("first", "second")

    def __init__(self, careless):
        self._careless = careless

    def retrain(self, coalitions):
        outputs = earned(coalitions)[:, None] * [1.0, 3.0]
        if self._careless:
            coalitions[:] = False
        return outputs[:, 0], outputs


def test_games_that_train_do_not_mind_either():
    assert_array_equal(datamodels(Training(True), 80).weights, datamodels(Training(False), 80).weights)
    assert harmonics(Training(True), 60).linear == harmonics(Training(False), 60).linear
    assert shapley(Predictions(Training(True))) == shapley(Predictions(Training(False)))
