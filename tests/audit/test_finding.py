"""Intervals and verdicts from one number per row."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.audit.finding import find_checks, interval_of, interval_of_pairs, judge_finding
from accredit.audit.value_swaps import others
from accredit.core import Known
from tests.wording import refused

READINGS = {"flagged": "bad", "passes": "good", "unclear": "more rows would tell"}


def verdict(values: np.ndarray) -> str:
    return judge_finding("check", values, 0.0, asks="?", readings=READINGS, blind="", margin=0.05).verdict


def test_the_interval_by_hand():
    found = interval_of(np.array([0.0, 1.0, 2.0]))  # mean 1, s = 1, t with two degrees of freedom 4.3027
    assert found.low == pytest.approx(1 - 4.302653 / np.sqrt(3))
    assert found.high == pytest.approx(1 + 4.302653 / np.sqrt(3))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 10, 40])
def test_at_the_margin_no_more_false_alarms_than_the_interval_says(rows):
    """1000 audits whose true excess is the margin: 2.5 % may be flagged. Six standard errors above: false alarms < 1e-8."""
    rng = np.random.default_rng(rows)
    flagged = sum(verdict(rng.normal(0.05, 0.4, size=rows)) == "flagged" for _ in range(1000))
    shares = sum(verdict((rng.random(rows) < 0.55) - 0.5) == "flagged" for _ in range(1000))
    assert max(flagged, shares) < 1000 * (0.025 + 6 * np.sqrt(0.025 * 0.975 / 1000))


def test_rows_that_all_agree_prove_little_when_they_are_few():
    assert verdict(np.zeros(20)) == "unclear"
    assert verdict(np.zeros(100)) == "passes"
    assert verdict(np.full(20, 0.5)) == "flagged"
    low = interval_of(np.ones(10)).low
    assert low**10 == pytest.approx(0.025)  # a row unlike these ten, of that chance, is missed this often


def test_one_row_stands_for_itself():
    assert verdict(np.array([0.3])) == "flagged" and verdict(np.array([0.0])) == "passes"
    assert interval_of(np.array([0.3])).precision.known is Known.EXACT


def test_no_name_is_no_test():
    with refused("empty", "tests"):
        find_checks([], ["probe"])


def test_pairs_do_not_count_as_rows():
    """40 rows in 16 pairs each: intervals of the mean over pairs hold as often as they say, where both rows of a pair matter;
    if pairs were rows they would hold in half of the trials. False alarm below 1e-6 (5 standard errors)."""
    rng = np.random.default_rng(0)
    held, naive, trials = 0, 0, 600
    for _ in range(trials):
        ours, theirs = rng.normal(size=(2, 40))
        first = np.tile(np.arange(40), 16)
        second = np.concatenate([others(40, rng) for _ in range(16)])
        seen = ours[first] + theirs[second] + rng.normal(size=len(first))
        low, high = interval_of_pairs(seen, first, second, 40).ends
        held += low <= 0 <= high
        low, high = interval_of(seen).ends
        naive += low <= 0 <= high
    assert held / trials > 0.95 - 5 * np.sqrt(0.95 * 0.05 / trials) - 0.02  # 40 rows: a little less than 0.95
    assert naive / trials < 0.6


def test_one_pair_per_row_is_a_row():
    rng = np.random.default_rng(1)
    seen = rng.normal(size=50)
    one = interval_of_pairs(seen, np.arange(50), others(50, rng), 50)
    assert np.allclose(one.ends, interval_of(seen).ends)
