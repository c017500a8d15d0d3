"""Faithfulness metrics: golden cases worked by hand, batch against loop, and the oracle above chance where truth is known."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution, Selection
from accredit.errors import InvalidInput
from accredit.evaluate import (
    AOPC,
    Comprehensiveness,
    Deletion,
    HitAt,
    Infidelity,
    Insertion,
    LinearDatamodelingScore,
    LogOdds,
    NotApplicable,
    PostHocAccuracy,
    SensitivityN,
    Sufficiency,
    measure,
    measure_all,
    oracle,
    random_scores,
)
from accredit.games import FunctionGame, TableGame, counted
from accredit.values import shapley
from tests.wording import refused

METRICS = [
    Comprehensiveness(),
    Sufficiency(),
    LogOdds(),
    AOPC(),
    Deletion(),
    Insertion(),
    SensitivityN(),
    Infidelity(),
    PostHocAccuracy(),
]


def credited(*credit: float, total: float | None = 1.0) -> Attribution:
    names = tuple("abcdefgh"[: len(credit)])
    return Attribution(names, np.array(credit), total=total, method="by hand")


# Three games with known truth. Index bits: a = 1, b = 2, c = 4.
LINEAR = TableGame(("a", "b", "c"), [0.1, 0.6, 0.3, 0.8, 0.2, 0.7, 0.4, 0.9])  # 0.1 + 0.5a + 0.2b + 0.1c
BOTH = TableGame(("a", "b", "c"), [0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9])  # 0.9 when a and b are there, else 0.1
SINGLE = TableGame(("a", "b", "c"), [0.2, 0.8, 0.2, 0.8, 0.2, 0.8, 0.2, 0.8])  # only a matters
ORDER = credited(3, 2, 1)  # a, then b, then c
REVERSED = credited(1, 2, 3)

GOLDEN = [
    # one bin of a third: remove a. 0.9 − 0.4; 0.9 − 0.1; 0.8 − 0.2
    (Comprehensiveness((1 / 3,)), LINEAR, ORDER, 0.5),
    (Comprehensiveness((1 / 3,)), BOTH, ORDER, 0.8),
    (Comprehensiveness((1 / 3, 2 / 3)), SINGLE, REVERSED, 0.0),  # removes c, then c and b: nothing is lost
    (Comprehensiveness((1 / 3,), empty_bin=True), LINEAR, ORDER, 0.25),  # the printed formula divides by |B| + 1
    # keep a: 0.9 − 0.6; keep a, then a and b: mean of 0.8 and 0; keep c: 0.8 − 0.2
    (Sufficiency((1 / 3,)), LINEAR, ORDER, 0.3),
    (Sufficiency((1 / 3, 2 / 3)), BOTH, ORDER, 0.4),
    (Sufficiency((1 / 3,)), SINGLE, REVERSED, 0.6),
    (LogOdds((1 / 3,)), LINEAR, ORDER, np.log(4 / 9)),
    (LogOdds((1 / 3,)), BOTH, ORDER, np.log(1 / 9)),
    (LogOdds((1 / 3, 1.0)), SINGLE, REVERSED, np.log(1 / 4) / 2),  # nothing lost at the first bin, all at the second
    # losses along the chain: 0, .5, .7, .8 over four; 0, .8, .8, .8; 0, 0, 0, .6
    (AOPC(), LINEAR, ORDER, 0.5),
    (AOPC(), BOTH, ORDER, 0.6),
    (AOPC(), SINGLE, REVERSED, 0.15),
    (AOPC(steps=1), LINEAR, ORDER, 0.25),
    # .9 .4 .2 .1: (.45 + .4 + .2 + .05)/3; .9 .1 .1 .1: (.45 + .1 + .1 + .05)/3; .8 .8 .8 .2: (.4 + .8 + .8 + .1)/3
    (Deletion(), LINEAR, ORDER, 1.1 / 3),
    (Deletion(), BOTH, ORDER, 0.7 / 3),
    (Deletion(), SINGLE, REVERSED, 0.7),
    # .1 .6 .8 .9; .1 .1 .9 .9; .2 .2 .2 .8
    (Insertion(), LINEAR, ORDER, (0.05 + 0.6 + 0.8 + 0.45) / 3),
    (Insertion(), BOTH, ORDER, (0.05 + 0.1 + 0.9 + 0.45) / 3),
    (Insertion(), SINGLE, REVERSED, (0.1 + 0.2 + 0.2 + 0.4) / 3),
    # sizes 1 and 2; credit equal to the coefficients correlates perfectly; its negative not at all
    (SensitivityN(), LINEAR, credited(0.5, 0.2, 0.1), 1.0),
    (SensitivityN(), LINEAR, credited(-5, -2, -1), -1.0),
    # BOTH: one removed loses (.8, .8, 0) for a, b, c; credit (1, 0, 0) correlates 1/2. Two removed always lose .8: left out
    (SensitivityN(), BOTH, credited(1, 0, 0), 0.5),
    # SINGLE at size 2: removing ab or ac loses .6, bc nothing; sums (3, 2, 1) for ab, ac, bc: centred (1, 0, −1)·(1, 1, −2)
    (SensitivityN(at=(2,)), SINGLE, credited(2, 1, 0), 3 / np.sqrt(2 * 6)),
    (Infidelity(), LINEAR, credited(0.5, 0.2, 0.1, total=0.8), 0.0),
    # SINGLE with credit (.3, 0, 0): of 7 removals the 4 with a are off by .3
    (Infidelity(), SINGLE, credited(0.3, 0, 0, total=0.6), 4 / 7 * 0.09),
    # BOTH with (.4, .4, 0): losing a or b alone is off by .4 (a, b, ac, bc), both together exact, c exact
    (Infidelity(), BOTH, credited(0.4, 0.4, 0, total=0.8), 4 / 7 * 0.16),
    # a alone: .6 > .5 as .9 is; a alone earns .1 where everybody earns .9; c alone .2 where everybody earns .8
    (PostHocAccuracy(1 / 3), LINEAR, ORDER, 1.0),
    (PostHocAccuracy(1 / 3), BOTH, ORDER, 0.0),
    (PostHocAccuracy(1 / 3), SINGLE, REVERSED, 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "game", "result", "worked"), GOLDEN)
def test_golden_cases(metric, game, result, worked):
    assert measure(metric, game, result) == pytest.approx(worked, abs=1e-12)


def test_each_metric_has_three_golden_cases():
    counts = {metric.name: sum(row[0].name == metric.name for row in GOLDEN) for metric in METRICS}
    assert min(counts.values()) >= 3, counts


def random_probabilities(players: int, seed: int) -> TableGame:
    table = np.random.default_rng(seed).uniform(0.01, 1, 1 << players)
    return TableGame(tuple(f"p{i}" for i in range(players)), table)


def test_batched_equals_looped_and_asks_once():
    for seed in range(5):
        game = random_probabilities(7, seed)
        results = {"shapley": shapley(game), "random": random_scores(game, seed)}
        ledger = counted(game)
        together = measure_all(ledger, results, METRICS)
        assert ledger.calls == 1
        for name, result in results.items():
            for metric in METRICS:
                plan = metric.plan(result) if together[name][metric.name].value is not None else None
                if plan is None:
                    continue
                one_by_one = np.array([game.payoff(row[None])[0] for row in plan])
                assert_allclose(together[name][metric.name].value, metric.score(result, one_by_one), rtol=0, atol=1e-10)


BOUNDED = [PostHocAccuracy(), SensitivityN(), LinearDatamodelingScore(), HitAt(1, truth=(0, 2))]


@pytest.mark.parametrize("metric", BOUNDED, ids=lambda m: m.name)
def test_no_value_passes_the_ends_that_a_metric_names(metric):
    low, high = metric.within
    for seed in range(20):
        game = random_probabilities(5, seed)
        for result in (shapley(game), random_scores(game, seed)):
            assert low <= measure(metric, game, result) <= high


def linear(n: int) -> TableGame:
    bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
    return TableGame(tuple(f"p{i}" for i in range(n)), 0.05 + 0.9 * bits @ (0.5 ** np.arange(1, n + 1)))


def conjunction(n: int) -> TableGame:
    bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
    return TableGame(tuple(f"p{i}" for i in range(n)), 0.1 + 0.8 * bits[:, [1, n - 1]].all(axis=1))


def single(n: int) -> TableGame:
    bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
    return TableGame(tuple(f"p{i}" for i in range(n)), 0.2 + 0.7 * bits[:, n - 1])


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
@pytest.mark.parametrize("make", [linear, conjunction, single])
def test_the_oracle_beats_random_where_the_truth_is_known(metric, make):
    game = make(8)
    sign = 1 if metric.better == "higher" else -1
    best = sign * measure(metric, game, oracle(metric, game))
    orders = [random_scores(game, seed) for seed in range(20)]
    if metric.name == "infidelity":  # needs credit in payoff units: share the total at random
        orders = [credited_like(game, a) for a in orders]
    chance = np.array([sign * measure(metric, game, a) for a in orders])
    assert (best >= chance - 1e-12).all()
    assert best > chance.mean()


def credited_like(game, scores):
    total = float(game.table[-1] - game.table[0])
    return Attribution(game.players, scores.credit / scores.credit.sum() * total, total=total, method="random share")


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", [Comprehensiveness((0.2, 0.5)), Sufficiency((0.3,)), LogOdds(), AOPC(3), Deletion(), Insertion()]
)
def test_the_oracle_of_an_order_is_the_best_of_all_orders(metric):
    sign = 1 if metric.better == "higher" else -1
    for seed in range(3):
        game = random_probabilities(5, seed)
        every = [
            sign * measure(metric, game, Attribution(game.players, np.array(order, float), None, "an order"))
            for order in permutations(range(5))
        ]
        assert sign * measure(metric, game, oracle(metric, game)) == pytest.approx(max(every), abs=1e-12)


def test_beyond_twelve_players_the_oracle_is_greedy_and_still_finds_an_additive_truth():
    weights = np.random.default_rng(0).normal(size=20)
    game = FunctionGame(tuple(f"p{i}" for i in range(20)), lambda s: s @ weights)
    for metric in (Deletion(), Insertion(), Comprehensiveness(), Sufficiency(), AOPC()):
        exact = Attribution(game.players, weights, float(weights.sum()), "truth")
        assert measure(metric, game, oracle(metric, game)) == pytest.approx(measure(metric, game, exact), abs=1e-12)


def test_what_does_not_apply_is_said_and_the_rest_is_measured():
    chosen = Selection(("a", "b", "c"), np.array([True, False, False]), method="chosen")
    scores = credited(3, 2, 1, total=None)
    table = measure_all(LINEAR, {"selection": chosen, "scores": scores}, METRICS)
    assert "selection" in table["selection"]["deletion"].because
    assert "unit" in table["scores"]["infidelity"].because
    assert table["selection"]["comprehensiveness"].value == pytest.approx(0.5)  # a is removed: 0.9 − 0.4
    assert table["selection"]["post-hoc accuracy"].value == 1.0
    assert table["scores"]["deletion"].value == pytest.approx(1.1 / 3)
    with pytest.raises(NotApplicable, match="without a unit"):
        measure(Infidelity(), LINEAR, scores)


def test_credit_that_divides_something_else_has_no_infidelity():
    with pytest.raises(NotApplicable, match="something other"):
        measure(Infidelity(), LINEAR, credited(0.5, 0.2, 0.1, total=2.0))  # this game pays 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_no_credit_correlates_better_than_the_oracle_of_sensitivity(seed):
    game, metric = random_probabilities(6, seed), SensitivityN(removals=8)
    best = measure(metric, game, oracle(metric, game))
    rng = np.random.default_rng(seed)
    others = [Attribution(game.players, rng.normal(size=6), None, "noise") for _ in range(200)]
    assert best >= max(measure(metric, game, other) for other in [*others, shapley(game)]) - 1e-9


def test_log_odds_refuses_what_is_no_probability():
    margins = TableGame(("a", "b", "c"), np.arange(8.0) - 3)
    with pytest.raises(NotApplicable, match="probabilities"):
        measure(LogOdds(), margins, ORDER)


def test_sensitivity_of_a_constant_game_is_undefined_not_zero():
    flat = TableGame(("a", "b", "c"), np.full(8, 0.5))
    with pytest.raises(NotApplicable, match="undefined"):
        measure(SensitivityN(), flat, ORDER)
    one = TableGame(("a",), [0.0, 1.0])
    with pytest.raises(NotApplicable, match="one player"):
        measure(SensitivityN(), one, credited(1.0))


def test_results_of_another_game_are_refused():
    with pytest.raises(InvalidInput, match="this game"):
        measure(Deletion(), LINEAR, Attribution(("x", "y", "z"), np.ones(3), None, "elsewhere"))


@pytest.mark.parametrize("fractions", [(), (0.0,), (1.5,), (-0.1, 0.5)])
def test_fractions_outside_the_unit_interval_are_refused(fractions):
    with pytest.raises(InvalidInput, match="fractions"):
        Comprehensiveness(fractions)


def test_sensitivity_does_not_depend_on_the_unit_of_the_payoff():
    values = np.random.default_rng(4).normal(size=16)
    for unit in (1e-14, 1e9):
        game = TableGame(("a", "b", "c", "d"), unit * values)
        best = oracle(SensitivityN(), game)  # an oracle wherever there is a score
        plain = measure(
            SensitivityN(), TableGame(game.players, values), oracle(SensitivityN(), TableGame(game.players, values))
        )
        assert measure(SensitivityN(), game, best) == pytest.approx(plain, abs=1e-3)
    with refused("type", "at"):
        SensitivityN(at=(1.5,))
