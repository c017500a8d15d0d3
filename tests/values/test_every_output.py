"""Every rule answers all outputs from the evaluations of one, and each answer is that of the output alone."""

import numpy as np
import pytest

from accredit.core import Attribution, Attributions, Game, Games, Holds, output
from accredit.core import games as core_games
from accredit.core.claims import Claim
from accredit.core.coalitions import keys
from accredit.core.games import Record
from accredit.errors import BadPayoff, TooManyOutputs
from accredit.evaluate import ClaimRefuted, check_claims
from accredit.games import FunctionGame, FunctionGames, TableGames, cached, counted, grouped, restricted
from accredit.values import (
    Exact,
    Lime,
    Permutations,
    Surrogate,
    asymmetric,
    banzhaf,
    banzhaf_interactions,
    best_subsets,
    beta,
    leave_one_out,
    mobius,
    owen,
    payoff_of,
    semivalue,
    shapley,
    shapley_interactions,
    value_given,
)
from accredit.values.truncated import Truncated
from tests.values.sampling_games import names
from tests.values.test_sampling import ESTIMATORS, estimator, game_with_equal_and_null_players, lopsided_weights
from tests.wording import reads, refused

N = 6
GROUPS = [["p0", "p1"], "p2", ["p3", "p4"]]
ORDER = "p0, p3 < p1"
OUTPUTS = ("votes", "additive", "constant", "noise")


def table(n=N):
    """Four currencies of different kinds, with different null and equal players."""
    rng, members = np.random.default_rng(7), np.arange(1 << n)[:, None] >> np.arange(n) & 1
    votes = (members @ np.arange(1, n + 1) > 8).astype(float)
    additive = members @ rng.normal(size=n) + 3
    noise = rng.normal(size=1 << n)
    return np.column_stack([votes, additive, np.full(1 << n, 0.25), noise])


def several(n=N):
    """The games as a function, so that every payoff must be asked for."""
    v = table(n)
    return FunctionGames(names(n), OUTPUTS, lambda coalitions: v[coalitions @ (1 << np.arange(n))])


def alone(k, n=N):
    v = table(n)[:, k].copy()
    return FunctionGame(names(n), lambda coalitions: v[coalitions @ (1 << np.arange(n))])


ATTRIBUTED = {
    **{name: lambda game, name=name: estimator(name, N, budget=50, seed=3).solve(game) for name in ESTIMATORS},
    "Exact": lambda game: Exact().solve(game),
    "Lime": lambda game: Lime(budget=40, seed=1).solve(game),
    "Lime, features": lambda game: Lime(budget=40, seed=1, features=2).solve(game),
    "Surrogate": lambda game: Surrogate(budget=40, seed=2).solve(game),
    "Surrogate, all": lambda game: Surrogate(budget=64, seed=2).solve(game),
    "shapley": shapley,
    "shapley, budget": lambda game: shapley(game, budget=40, seed=5),
    "shapley, solver": lambda game: shapley(game, Permutations(orders=9)),
    "banzhaf": banzhaf,
    "beta": lambda game: beta(game, 4, 1),
    "semivalue": lambda game: semivalue(game, lopsided_weights(N)),
    "leave_one_out": leave_one_out,
    "asymmetric": lambda game: asymmetric(game, ORDER),
    "owen": lambda game: owen(game, GROUPS),
    "owen, orders": lambda game: owen(game, GROUPS, orders=30),
}
MAPPED = {
    "mobius": mobius,
    "shapley_interactions": shapley_interactions,
    "banzhaf_interactions": lambda game: banzhaf_interactions(game, order=3),
    "best_subsets": best_subsets,
    "value_given": lambda game: value_given(game, "p1", ["p0", "p3"]),
    "payoff_of": lambda game: payoff_of(game, ["p2", "p4"]),
}
ADAPTIVE = {
    "half-width": lambda game: Permutations(half_width=0.2, budget=3000, seed=2).solve(game),
    "half-width of Surrogate": lambda game: Surrogate(half_width=0.12, budget=300, seed=2).solve(game),
    "Truncated": lambda game: Truncated(budget=200, seed=1, tolerance=0.3).solve(game),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTRIBUTED)
def test_every_output_is_that_of_its_own_game_and_all_cost_one(name):
    rule, games, single = ATTRIBUTED[name], counted(several()), counted(alone(0))
    found = rule(games)
    rule(single)
    assert isinstance(found, Attributions)
    assert found.players == games.players
    assert found.outputs == OUTPUTS
    for k, output_name in enumerate(OUTPUTS):
        assert found[output_name] == rule(alone(k))  # to the last bit, with claims, intervals and certificates
    assert games.payoffs == single.payoffs == found.payoffs
    assert games.calls == single.calls


@pytest.mark.parametrize("name", MAPPED)
def test_answers_that_are_not_credit_come_by_output(name):
    games, single = counted(several()), counted(alone(0))
    found = MAPPED[name](games)
    MAPPED[name](single)
    assert found == {output_name: MAPPED[name](alone(k)) for k, output_name in enumerate(OUTPUTS)}
    assert games.payoffs == single.payoffs


class Watched:
    """A game that remembers which coalitions it was asked, repeats included."""

    def __init__(self, game):
        self.game, self.players, self.seen = game, game.players, []
        if isinstance(game, Games):
            self.outputs = game.outputs

    def payoff(self, coalitions):
        self.seen += keys(coalitions)
        return self.game.payoff(coalitions)


@pytest.mark.slow
@pytest.mark.parametrize("name", ADAPTIVE)
def test_rules_that_look_at_payoffs_stop_for_each_output_and_evaluate_the_union(name):
    rule, games, singles = ADAPTIVE[name], Watched(several(11)), [Watched(alone(k, 11)) for k in range(len(OUTPUTS))]
    found, lone = rule(games), [rule(single) for single in singles]
    assert [found[output_name] for output_name in OUTPUTS] == lone
    assert len({one.payoffs for one in lone}) > 1  # they do stop at different places
    union = set().union(*(single.seen for single in singles))
    assert set(games.seen) == union
    assert found.payoffs == len(games.seen) <= len(singles[0].seen) + len(union - set(singles[0].seen))


@pytest.mark.parametrize("name", [*ATTRIBUTED, "Truncated"])
def test_claims_are_kept_in_every_output(name):
    rule = (ATTRIBUTED | ADAPTIVE)[name]
    tables = [game_with_equal_and_null_players(N, seed).table for seed in (0, 1)]
    games = TableGames(names(N), ("first", "second"), np.column_stack(tables))
    found = rule(games)
    assert set(check_claims(found, games, rule)) == {"first", "second"}


def test_a_refuted_claim_of_one_output_is_named():
    games = several()
    wrong = dict(shapley(games).items())
    efficient = Claim("efficiency", Holds.EXACTLY, "by assertion")
    wrong["noise"] = Attribution(games.players, np.arange(N), 1.0, "guess", (efficient,))
    with pytest.raises(ClaimRefuted, match="guess claims efficiency"):
        check_claims(Attributions(wrong), games)
    with refused("conflict"):
        check_claims(Attributions(wrong), alone(0))


def test_tables_are_not_asked():
    games = counted(TableGames(names(N), OUTPUTS, table()))
    assert shapley(games).payoffs == games.payoffs == 64  # the counter hides the table
    found = shapley(TableGames(names(16), OUTPUTS, table(16)))
    assert found.payoffs == 1 << 16
    assert found["noise"].exact


def test_wrappers_keep_outputs():
    groups, held = {"pair": ["p0", "p1"]}, ["p0", "p2", "p5"]
    wrapped = [
        (grouped, (groups,)),
        (restricted, (held, ["p1"])),
        (cached, ()),
        (counted, ()),
    ]
    for wrap, arguments in wrapped:
        games = wrap(several(), *arguments)
        assert games.outputs == OUTPUTS
        found = shapley(games)
        for k, name in enumerate(OUTPUTS):
            assert found[name] == shapley(wrap(alone(k), *arguments))


def test_a_payoff_that_depends_on_its_batch_is_still_that_of_the_output_alone():
    """Forward passes round differently in batches of other sizes; the record hands on whole batches, so nothing shifts."""
    v = table()

    def rounded_by_batch(columns):
        return lambda coalitions: v[coalitions @ (1 << np.arange(N))][:, columns] * (1 + 1e-7 * len(coalitions))

    games = FunctionGames(names(N), OUTPUTS, rounded_by_batch(slice(None)))
    for name in ("Permutations", "Differences", "KernelShap", "DifferencesHint"):
        found = estimator(name, N, budget=300, seed=3).solve(games)
        for k, output_name in enumerate(OUTPUTS):
            assert found[output_name] == estimator(name, N, budget=300, seed=3).solve(
                FunctionGame(names(N), rounded_by_batch(k))
            )


def test_one_output_of_several():
    game = output(several(), "noise")
    assert isinstance(game, Game)
    assert shapley(game) == shapley(alone(3))
    with refused("unknown"):
        output(several(), "nois")
    with refused("unsupported", "games"):
        output(alone(0), "noise")


def test_the_record_keeps_what_a_game_overwrites():
    buffer = np.empty((64, 2))

    def pay(coalitions):
        buffer[: len(coalitions), 0], buffer[: len(coalitions), 1] = coalitions.sum(axis=1), coalitions[:, 0]
        return buffer[: len(coalitions)]

    found = leave_one_out(FunctionGames("abc", ("sum", "first"), pay))
    assert found.credit.tolist() == [[1, 1], [1, 0], [1, 0]]
    record = Record(FunctionGames("abc", ("sum", "first"), pay))
    first = record["sum"].payoff(np.ones((1, 3), bool))
    record["sum"].payoff(np.zeros((1, 3), bool))
    assert record["sum"].payoff(np.ones((1, 3), bool)) == first == 3


@pytest.mark.parametrize(
    ("pay", "words"),
    [
        (lambda s: np.zeros(len(s)), r"in 2 outputs returned shape \(5,\)"),
        (lambda s: np.zeros((len(s), 3)), r"in 2 outputs returned shape \(5, 3\)"),
        (lambda s: np.where(s.sum(axis=1, keepdims=True) == 2, [0, np.nan], 0), r"\{b, c\} in output 'y' is nan"),
        (lambda s: np.where(s.sum(axis=1, keepdims=True) == 2, [np.inf, 0], 0), r"\{b, c\} in output 'x' is inf"),
        (lambda s: [["no", "number"]] * len(s), "payoff must be real numbers"),
    ],
)
def test_bad_payoffs_name_the_coalition_and_the_output(pay, words):
    with pytest.raises(BadPayoff, match=words):
        leave_one_out(FunctionGames("abc", ("x", "y"), pay))


def test_a_game_that_pays_several_without_names_is_told_how():
    with refused("shape", kind=BadPayoff):
        leave_one_out(FunctionGame("abc", lambda s: np.zeros((len(s), 2))))


def test_outputs_that_are_not_names_are_refused():
    class Confused:
        players = ("a", "b")

        def outputs(self):
            return 3

        def payoff(self, coalitions):
            return np.zeros(len(coalitions))

    with refused("type", "outputs"):
        leave_one_out(Confused())


def test_what_a_solver_does_to_its_payoffs_stays_with_it():
    record = Record(FunctionGames("ab", ("",), lambda s: s.sum(axis=1, keepdims=True)))
    everybody = np.ones((1, 2), bool)
    record[""].payoff(everybody)[:] = -1
    assert record[""].payoff(everybody) == 2


def test_errors_of_one_output_say_which():
    with pytest.raises(BadPayoff, match="outside the declared") as refused:
        Permutations(orders=5, payoff_range=(0, 1)).solve(several())
    assert reads(refused.value.__notes__)


def test_absurd_sizes_are_refused_before_anything_is_asked(monkeypatch):
    asked = []
    huge = FunctionGames(names(20), [f"word {i}" for i in range(50_000)], asked.append)
    with refused("too-many", kind=TooManyOutputs):
        Exact().solve(huge)
    assert not asked
    with pytest.raises(TooManyOutputs, match=r"390\.6 GB"):
        TableGames(names(20), [f"word {i}" for i in range(50_000)], [])
    monkeypatch.setattr(core_games, "RECORD_BYTES", 8 * 4 * 40)  # 40 coalitions, met batch by batch
    with pytest.raises(TooManyOutputs):
        Permutations(orders=8).solve(several())
