"""Hits on known truth, what is lost with the first players, and rank correlation on fresh coalitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution
from accredit.core.statistics import tied
from accredit.errors import InvalidInput
from accredit.evaluate import DropAt, HitAt, LinearDatamodelingScore, NotApplicable, measure, oracle
from accredit.games import FunctionGame, TableGame
from accredit.values import leave_one_out, shapley
from tests.wording import refused

EITHER = TableGame(("a", "b", "c"), [0, 1, 1, 1, 0, 1, 1, 1])  # a or b is enough
BOTH = TableGame(("a", "b", "c"), [0, 0, 0, 1, 0, 0, 0, 1])  # a and b are needed


def scores(*credit: float, total: float | None = None) -> Attribution:
    return Attribution(tuple("abcdef"[: len(credit)]), np.array(credit), total, "by hand")


@pytest.mark.parametrize(
    ("k", "truth", "credit", "expected"),
    [
        (1, (0,), (3.0, 2.0, 1.0), 1.0),
        (1, (1,), (3.0, 2.0, 1.0), 0.0),
        (2, (1,), (3.0, 2.0, 1.0), 1.0),
        (2, (0, 2), (3.0, 2.0, 1.0), 0.5),
        (1, (0, 1), (0.0, 0.0, 0.0), 2 / 3),  # a blind guess
        (2, (0, 1), (0.0, 0.0, 0.0), 2 / 3),
        (2, (0,), (1.0, 1.0 + 1e-9, 0.5), 1.0),
        (1, (0,), (1.0, 1.0 + 1e-9, 0.5), 0.5),  # rounding is not an order
        (5, (2,), (3.0, 2.0, 1.0), 1.0),  # more than there are
    ],
)
def test_hits_worked_by_hand(k, truth, credit, expected):
    game = FunctionGame("abc", lambda c: c.sum(axis=1).astype(float))
    assert_allclose(measure(HitAt(k, truth), game, scores(*credit)), expected)


def test_rounding_is_measured_in_units_of_what_is_divided():
    assert HitAt(1, (0,)).score(scores(1e-9, 0.0, 0.0, total=2.0), np.ones(1)) == pytest.approx(1 / 3)
    assert HitAt(1, (0,)).score(scores(1e-9, 0.0, 0.0), np.ones(1)) == 1.0  # scores have no unit but their own
    assert tied(np.array([1e-9, 0.0]), rounding=1e-8).tolist() == [0, 0]


def test_standing_in_for_each_other_is_seen_by_the_second_drop():
    for game, first, second in ((EITHER, 0.0, 1.0), (BOTH, 1.0, 1.0)):
        credit = shapley(game)
        assert (measure(DropAt(1), game, credit), measure(DropAt(2), game, credit)) == (first, second)
        for k in (1, 2):
            assert measure(DropAt(k), game, oracle(DropAt(k), game)) == (first, second)[k - 1]


def test_losses_that_are_rounding_count_as_none():
    noisy = FunctionGame("ab", lambda c: np.where(c.any(axis=1), 0.0, -2.5) + 1e-8 * c[:, 0])
    assert measure(DropAt(1), noisy, scores(2.0, 1.0)) == 0.0


def test_an_additive_game_is_predicted_and_its_oracle_is_right():
    weights = np.array([3.0, -1.0, 0.5, 2.0, 0.0])
    game = FunctionGame("abcde", lambda c: c @ weights)
    assert measure(LinearDatamodelingScore(), game, shapley(game)) == 1.0
    assert measure(LinearDatamodelingScore(), game, oracle(LinearDatamodelingScore(), game)) > 0.95
    assert measure(LinearDatamodelingScore(), game, scores(*-weights)) == -1.0


def test_rounding_breaks_no_tie_in_the_rank_correlation():
    rng = np.random.default_rng(0)
    credit = scores(1.0, *(1e-9 * rng.normal(size=5)), total=1.0)
    noisy = FunctionGame("abcdef", lambda c: c[:, 0] + 1e-9 * np.sin(c @ np.arange(6.0)))
    assert measure(LinearDatamodelingScore(), noisy, credit) == 1.0
    assert measure(LinearDatamodelingScore(), noisy, scores(*np.zeros(6))) == 0.0


def test_what_cannot_be_measured_says_why():
    flat = FunctionGame("ab", lambda c: np.ones(len(c)))
    with refused("unsupported", kind=NotApplicable):
        measure(LinearDatamodelingScore(), flat, scores(1.0, 0.0))
    with pytest.raises(NotApplicable, match="who earned"):
        measure(HitAt(1), EITHER, shapley(EITHER))
    with refused("range", "truth"):
        measure(HitAt(1, (7,)), EITHER, leave_one_out(EITHER))
    for wrong in (lambda: HitAt(0), lambda: DropAt(True), lambda: LinearDatamodelingScore(keep=1.0)):
        with pytest.raises(InvalidInput, match="must"):
            wrong()
