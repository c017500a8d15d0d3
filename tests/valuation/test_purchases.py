"""What to buy: looked up among all sets, surely only beyond the test rows, and copies are found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from accredit.valuation.purchases import best_purchases, copied_rows
from tests.wording import refused

NAMES = ("A", "B", "C")
TABLE = [0, 50, 20, 75, 25, 80, 90, 100]


def test_every_amount_of_money_gets_the_best_set_it_buys() -> None:
    rng = np.random.default_rng(0)
    names = tuple("abcde")
    worth = rng.random(32)
    prices = dict(zip(names, rng.integers(1, 20, 5).tolist(), strict=True))
    found = best_purchases(names, worth, prices)
    sets = [set(some) for size in range(6) for some in combinations(names, size)]
    for money in range(0, 100, 3):
        bought = [s for s in sets if sum(prices[name] for name in s) <= money]
        best = max(float(worth[sum(1 << names.index(name) for name in s)]) for s in bought)
        assert found.within(money).payoff.value == pytest.approx(best)


@pytest.mark.parametrize(
    ("prices", "code"),
    [
        ({"A": 1, "B": 2}, "missing"),
        ({"A": 1, "B": 2, "C": -3}, "range"),
        ({"A": 1, "B": 2, "C": float("nan")}, "range"),
        ({"A": 1, "B": 2, "C": "3 EUR"}, "type"),
        ({"A": 1, "B": 2, "C": 3, "D": 4}, "unknown"),
        ({"A": 0, "B": 0.0, "C": 0}, "undefined"),
    ],
)
def test_bad_prices_are_refused_by_name(prices: dict[str, float], code: str) -> None:
    with refused(code, "prices"):
        best_purchases(NAMES, TABLE, prices)


def test_without_test_rows_nobody_can_tell() -> None:
    found = best_purchases(NAMES, TABLE, dict.fromkeys(NAMES, 1))
    assert {one.surely for one in found.best} == {None} and found.redundant == ()


def test_sets_that_differ_by_chance_are_not_surely_the_best() -> None:
    """All sets pay the same but for noise. One is called the best with a chance of at most 5 %; of 40 draws, 12 and more would
    be with a chance below one in a million (binomial)."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(40):
        by_part = rng.normal(size=(8, 50))
        found = best_purchases(NAMES, by_part.mean(axis=1), dict.fromkeys(NAMES, 1), by_part=by_part)
        wrong += any(one.surely for one in found.best[1:])
    assert wrong < 12


def test_a_copy_is_redundant_and_the_dearer_of_the_two() -> None:
    """B is A again; C adds to both."""
    rng = np.random.default_rng(2)
    has = np.array([[row >> i & 1 for i in range(3)] for row in range(8)])
    worth = 0.3 * np.maximum(has[:, 0], has[:, 1]) + 0.2 * has[:, 2]
    by_part = worth[:, None] + 0.01 * rng.normal(size=(8, 60))
    copied = copied_rows(np.arange(4.0)[:, None][[0, 1, 0, 1, 3]], np.zeros(5), {"A": [0, 1], "B": [2, 3], "C": [4]})
    assert copied == {("A", "B"): 1.0, ("B", "A"): 1.0}
    found = best_purchases(NAMES, by_part.mean(axis=1), {"A": 5, "B": 7, "C": 5}, by_part=by_part, copied=copied)
    assert [(one.source, one.beside, one.copied) for one in found.redundant] == [("B", "A", 1.0)]
    assert found.within(100).sources == ("A", "C") or found.within(100).instead == ("A", "C")
    assert found.within(10).sources == ("A", "C") and found.within(10).surely


def test_a_copy_is_named_although_counting_its_rows_twice_pays() -> None:
    """Neighbours vote twice where both are bought, so B adds to A; it holds nothing that A does not."""
    has = np.array([[row >> i & 1 for i in range(3)] for row in range(8)])
    worth = 0.3 * np.maximum(has[:, 0], has[:, 1]) + 0.1 * (has[:, 0] & has[:, 1]) + 0.2 * has[:, 2]
    by_part = worth[:, None] + 0.001 * np.random.default_rng(2).normal(size=(8, 60))
    found = best_purchases(
        NAMES, worth, {"A": 5, "B": 7, "C": 5}, by_part=by_part, copied={("A", "B"): 1.0, ("B", "A"): 0.95, ("C", "A"): 0.5}
    )
    assert [(one.source, one.beside, one.is_copy) for one in found.redundant] == [("B", "A", True)]
    assert found.redundant[0].adds_beside.above(0.0)
    assert found.within(100).sources == ("A", "C")  # B's rows are A's: nobody need buy them twice
    some = best_purchases(NAMES, worth, {"A": 5, "B": 7, "C": 5}, copied={("A", "B"): 0.5, ("B", "A"): 0.5})
    assert some.within(100).sources == NAMES  # half of each is its own
