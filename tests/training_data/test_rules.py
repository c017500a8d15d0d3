"""Rows and data sets valued by retraining real classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.evaluate.axioms import check_claims
from accredit.games import FunctionGame, TableGame, counted, grouped
from accredit.store import Journal, durable
from accredit.training_data import data_banzhaf, data_beta, data_shapley
from accredit.valuation import Retraining, RidgeUtility, groups_of, split
from accredit.values import Truncated, best_subsets, shapley, shapley_interactions, value_given, value_of
from tests.valuation.valuation_data import blobs
from tests.wording import refused

svm = pytest.importorskip("sklearn.svm")
linear_model = pytest.importorskip("sklearn.linear_model")


def test_a_matched_pair_is_worth_much_together_and_little_apart() -> None:
    """Chapter 10.5.1: a linear SVM, easy points far from the line y = x and two critical ones beside it."""
    along = np.linspace(-6, 6, 7)
    easy = np.array([(t, t + 10) for t in along] + [(t, t - 4) for t in along])
    x = np.vstack([easy, [(1.0, 1.1), (1.1, 1.0)]])
    y = ["above"] * 7 + ["below"] * 7 + ["above", "below"]
    rng = np.random.default_rng(0)
    test = rng.uniform(-5, 5, size=(2000, 2))
    test_y = np.where(test[:, 1] > test[:, 0], "above", "below")
    data = split(x, y, test, test_y, names=[f"easy {i}" for i in range(14)] + ["dA", "dB"])
    rows = Retraining(data, svm.SVC(kernel="linear", C=1e4))
    game = grouped(rows, {"easy": data.names[:14]})
    alone_a, alone_b = value_given(game, "dA", ["easy"]), value_given(game, "dB", ["easy"])
    paired_a, paired_b = value_given(game, "dA", ["easy", "dB"]), value_given(game, "dB", ["easy", "dA"])
    assert alone_b < 0  # alone, it drags the boundary away
    assert paired_a > alone_a + 0.2
    assert paired_b > alone_b + 0.2
    values = shapley(game)
    assert alone_a < values["dA"] < paired_a  # the average hides both stories
    assert alone_b < values["dB"] < paired_b
    assert shapley_interactions(game)["dA", "dB"] > 0.1


def test_the_two_best_priced_data_sets_are_not_the_best_pair() -> None:
    """Chapter 10.5.2 with a real classifier: A is noisy but whole; B and C are clean halves that need each other."""
    rng = np.random.default_rng(1)
    centres = {0: np.array([-1.0, 0.0]), 1: np.array([1.0, 0.0])}

    def drawn(label: int, rows: int) -> np.ndarray:
        return centres[label] + 0.5 * rng.normal(size=(rows, 2))

    web_x, web_y = np.vstack([drawn(0, 30), drawn(1, 30)]), np.repeat([0, 1], 30)
    web_x = web_x + np.array([0.9, 0.0])  # the web is biased: everything is shifted towards class 1
    x = np.vstack([web_x, drawn(0, 30), drawn(1, 30)])
    y = np.concatenate([web_y, np.zeros(30, int), np.ones(30, int)])
    test_y = np.repeat([0, 1], 300)
    test = np.vstack([drawn(0, 300), drawn(1, 300)])
    data = split(x, y, test, test_y)
    source = ["A"] * 60 + ["B"] * 30 + ["C"] * 30
    game = grouped(Retraining(data, linear_model.LogisticRegression()), groups_of(data.names, source))
    values = shapley(game).ranked()
    assert values.players[0] == "A"
    assert best_subsets(game)[2][0] == ("B", "C")
    assert shapley_interactions(game)["B", "C"] > 0
    assert value_given(game, "C", ["B"]) > value_given(game, "C", ["A"])


def test_identical_rows_get_equal_value_and_group_values_are_the_quotient_games() -> None:
    data = blobs(9, tests=30)
    x, y = data.x.copy(), data.y.copy()
    x[5], y[5] = x[2], y[2]
    game = RidgeUtility(split(x, y, data.test_x, data.test_y), l2=0.5)
    values = data_shapley(game, budget=512)
    assert values["row 2"] == pytest.approx(values["row 5"], abs=1e-12)
    check_claims(values, game, lambda g: data_shapley(g, budget=512))
    groups = groups_of(data.names, ["s", "t", "u"] * 3)
    by_groups = data_shapley(grouped(game, groups), budget=8)
    table = {frozenset(s): game.payoff(np.array([[n in m for n in game.players]])) for s, m in _unions(groups)}
    assert by_groups.total == pytest.approx(values.total)
    for name in groups:  # by the definition, over the three groups
        others = [o for o in groups if o != name]
        gain = [
            (table[frozenset([name, *s])] - table[frozenset(s)]).item() * w
            for s, w in (([], 1 / 3), (others[:1], 1 / 6), (others[1:], 1 / 6), (others, 1 / 3))
        ]
        assert by_groups[name] == pytest.approx(sum(gain))


def _unions(groups: dict[str, list[str]]) -> list[tuple[list[str], list[str]]]:
    names = list(groups)
    chosen = [[names[i] for i in range(3) if mask >> i & 1] for mask in range(8)]
    return [(some, [member for name in some for member in groups[name]]) for some in chosen]


def test_a_null_row_gets_zero_within_its_interval() -> None:
    """The learner is deaf to row 4. The interval misses its zero in 5 % of seeds; this seed is fixed."""
    data = blobs(30, tests=60)

    class OneIgnored:
        players = data.names

        def payoff(self, coalitions: np.ndarray) -> np.ndarray:
            seen = coalitions.copy()
            seen[:, 4] = False
            return RidgeUtility(data, l2=0.5).payoff(seen)

    values = data_shapley(OneIgnored(), budget=600, seed=2)
    assert values.interval is not None
    low, high = values.interval[4]
    assert low <= 0 <= high
    assert high - low < np.ptp(values.credit)


def test_every_rule_reads_the_same_journal(tmp_path) -> None:
    data = blobs(8, tests=20)
    game = RidgeUtility(data, l2=0.5)
    with Journal(tmp_path / "run.db") as journal, durable(game, journal, "serial") as kept:
        data_shapley(kept, budget=256)
        paid = kept.evaluated
        assert paid == 256
        assert_allclose(data_banzhaf(kept, budget=256).credit, data_banzhaf(game, budget=256).credit)
        assert_allclose(data_beta(kept, 16, 1, budget=256).credit, data_beta(game, 16, 1, budget=256).credit)
        value_of(kept, "loo", budget=10)
        assert kept.evaluated == paid  # not one more training


@pytest.mark.parametrize("rule", ["shapley", "banzhaf", "beta:4,1", "tmc:0.05", "loo"])
def test_rules_by_name_estimate_where_the_table_does_not_fit(rule: str) -> None:
    game = counted(RidgeUtility(blobs(25), l2=0.5))
    values = value_of(game, rule, budget=300, seed=1)
    assert len(values) == 25
    assert values.payoffs is not None
    assert values.payoffs <= 300
    assert game.payoffs <= 300 + 2


def test_truncation_is_biased_and_says_so() -> None:
    """v jumps to its end early and dips once later: whole orders see the dip, truncated ones never do."""
    from accredit.games import FunctionGame

    def payoff(coalitions: np.ndarray) -> np.ndarray:
        size = coalitions.sum(axis=1)
        return np.where(size == 0, 0.0, np.where(coalitions[:, 0] & (size < 6), 0.5, 1.0))

    game = FunctionGame("abcdef", payoff)
    truth = shapley(game)
    cut = Truncated(budget=6000, tolerance=0.05, seed=0).solve(game)
    assert cut.certificate["biased"]
    assert cut.interval is None
    assert "bias" in cut.interval_because
    assert cut.stderr is not None
    assert abs(cut["a"] - truth["a"]) > 10 * cut.stderr[0]
    slow = FunctionGame("abcdef", lambda c: np.minimum(c.sum(axis=1), 2) + 0.01 * c.sum(axis=1))
    assert Truncated(budget=600, tolerance=0.05).solve(slow).unshared == pytest.approx(0.04)  # efficiency is not claimed
    assert data_shapley(slow, budget=64).unshared == pytest.approx(0, abs=1e-12)
    with pytest.raises(InvalidInput):
        Truncated(budget=100, tolerance=0.0)


def test_truncation_keeps_the_claims_it_makes() -> None:
    """Equal players in expectation: 4,000 orders; |difference| beyond 6 standard errors has a chance below 1e-8."""
    from accredit.games import FunctionGame

    game = FunctionGame("abcd", lambda c: np.minimum(c[:, 0] + c[:, 1], 1) + 0.3 * c[:, 2])  # d is null
    cut = Truncated(budget=12000, tolerance=0.25, seed=3).solve(game)
    assert cut.stderr is not None
    assert abs(cut["a"] - cut["b"]) < 6 * np.hypot(*cut.stderr[:2])
    assert cut["d"] == 0.0


@pytest.mark.parametrize("table", [[0.0, 3.0], [1.0, 2.0, 5.0, 1.0]])
def test_truncation_ends_where_no_order_has_anything_to_ask(table: list[float]) -> None:
    """One player, or v(N) = v(∅): every order is cut before it begins, so none would ever spend the budget."""
    game = TableGame("ab"[: len(table) // 2], table)
    values = Truncated(budget=50).solve(game)
    assert values.credit.tolist() == ([3.0] if len(table) == 2 else [0.0, 0.0])
    assert values.payoffs == 2
    assert "nothing" in values.stopped or "anything" in values.stopped


@pytest.mark.parametrize("budget", [31, 40, 75, 200])
def test_truncation_never_asks_more_than_its_budget(budget: int) -> None:
    game = counted(FunctionGame([f"p{i}" for i in range(30)], lambda coalitions: coalitions.sum(axis=1) ** 1.5))
    values = Truncated(budget=budget, tolerance=0.001).solve(game)
    assert values.payoffs == game.payoffs <= budget


def test_truncation_refuses_less_than_one_order() -> None:
    game = FunctionGame([f"p{i}" for i in range(30)], lambda coalitions: coalitions.sum(axis=1))
    with refused("range", "budget"):
        Truncated(budget=30).solve(game)
    with pytest.raises(InvalidInput, match="seed"):
        Truncated(budget=100, seed=-1)
