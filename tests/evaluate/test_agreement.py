"""Rank agreement by hand and against scipy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.evaluate import kendall, spearman, top_overlap
from tests.wording import refused


def test_kendall_by_hand():
    one = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall(one, np.array([1.0, 2.0, 4.0, 3.0])) == pytest.approx(4 / 6)  # five pairs agree, one does not
    assert kendall(one, one[::-1]) == -1.0
    assert kendall(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / np.sqrt(6))  # one tie


def test_spearman_by_hand():
    one = np.array([1.0, 2.0, 3.0])
    assert spearman(one, np.array([2.0, 1.0, 3.0])) == pytest.approx(1 - 6 * 2 / (3 * 8))
    assert spearman(one, np.exp(one)) == 1.0
    assert spearman(np.array([1.0, 1.0, 2.0]), one) == pytest.approx(1.5 / np.sqrt(1.5 * 2))


def test_top_overlap_by_hand():
    a, b = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0, 4.0])
    assert [top_overlap(a, b, k) for k in (1, 2, 4)] == [0.0, 0.5, 1.0]


def test_equal_to_scipy_with_ties():
    rng = np.random.default_rng(3)
    for _ in range(50):
        a, b = rng.integers(0, 5, size=(2, 12)).astype(float)
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
        assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


def test_all_ties_agree_with_nothing():
    assert spearman(np.ones(4), np.arange(4.0)) == kendall(np.ones(4), np.arange(4.0)) == 0.0


def test_bad_pairs_are_refused():
    with pytest.raises(InvalidInput, match="shape"):
        kendall(np.ones(3), np.ones(4))
    with pytest.raises(InvalidInput, match="different players"):
        spearman(Attribution(("a",), np.ones(1), None, "x"), Attribution(("b",), np.ones(1), None, "y"))
    with pytest.raises(InvalidInput, match="count"):
        top_overlap(np.ones(3), np.ones(3), 4)


@pytest.mark.parametrize("measure", [kendall, spearman, lambda a, b: top_overlap(a, b, 1)])
def test_what_has_no_rank_is_refused(measure):
    with pytest.raises(InvalidInput, match="a holds nan"):
        measure(np.array([1.0, np.nan]), np.array([1.0, 2.0]))


@pytest.mark.parametrize("measure", [kendall, spearman, lambda a, b: top_overlap(a, b, 2)])
def test_rounding_ranks_nobody(measure):
    """Two players earn 0.3. Which of them one rounding puts first must not matter, whoever is compared with them."""
    first, second = np.array([0.3, 0.1 + 0.2, 0.1, 0.5]), np.array([0.1 + 0.2, 0.3, 0.1, 0.5])
    whole = np.array([3.0, 3.0, 1.0, 5.0])
    for other in (np.array([4.0, 3.0, 2.0, 1.0]), np.array([3.0, 4.0, 1.0, 2.0])):
        assert measure(first, other) == measure(second, other) == measure(whole, other)


def test_an_attribution_says_what_is_rounding_in_it():
    """Credit from payoffs that a model may have moved by 1e-3 ties where it differs by less."""
    credit = np.array([1.0, 1.0005, 2.0])
    sharp, blurred = (Attribution("abc", credit, 4.0005, "by hand", blur=blur) for blur in (0.0, 1e-3))
    other = np.array([2.0, 1.0, 3.0])
    assert kendall(sharp, other) == pytest.approx(1 / 3)
    assert kendall(blurred, other) == pytest.approx(2 / np.sqrt(6))
    assert top_overlap(sharp, np.array([1.0, 2.0, 3.0]), 2) == 1.0
    assert top_overlap(blurred, np.array([1.0, 2.0, 3.0]), 2) == 0.75


def test_top_overlap_of_ties_is_what_random_orders_give():
    """By brute force: every order of the ties on both sides, equally likely."""
    a, b = np.array([2.0, 1.0, 1.0, 1.0, 0.0]), np.array([0.0, 3.0, 3.0, 1.0, 3.0])
    orders = [np.array(order) for order in permutations(range(5))]
    for count in range(1, 6):
        tops = [[set(o[np.argsort(-x[o], kind="stable")][:count].tolist()) for o in orders] for x in (a, b)]
        shares = [len(s & t) / count for s in tops[0] for t in tops[1]]
        assert top_overlap(a, b, count) == pytest.approx(np.mean(shares))


def test_nobody_has_no_rank():
    with refused("empty", "a"):
        spearman(np.array([]), np.array([]))
