from itertools import permutations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata, spearmanr

from accredit.core.statistics import holm, rank_correlation, ranks, tied, top_chances
from tests.wording import refused


def test_ranks_are_those_of_scipy_ties_and_all():
    rng = np.random.default_rng(0)
    for shape in ((1,), (7,), (3, 12), (2, 4, 9)):
        scores = rng.integers(0, 5, size=shape).astype(float)
        assert_array_equal(ranks(scores), rankdata(scores, axis=-1))


def test_rank_correlation_is_spearmans_and_zero_where_there_is_no_order():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 6, size=(2, 20, 15)).astype(float)
    assert_allclose(rank_correlation(a, b), [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)], atol=1e-12)
    assert rank_correlation(a[0], np.ones(15)) == 0


def test_holm_against_hand_work():
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])
    assert_allclose(holm([0.2]), [0.2])
    with refused("range", "p"):
        holm([0.2, np.nan])


def test_many_close_numbers_are_not_one_tie():
    """Each is within rounding of the next, and the last is a thousand roundings from the first: no place is wider."""
    values = np.random.default_rng(0).permutation(np.linspace(0, 1, 3000))
    places = tied(values, rounding=1e-3)
    assert max(np.ptp(values[places == k]) for k in range(int(places.max()) + 1)) <= 1e-3
    assert places.max() > 700 and (np.diff(places[np.argsort(values)]) >= 0).all()
    assert np.array_equal(tied(values, 0.0), np.argsort(np.argsort(values)))


def test_the_top_among_ties_is_what_random_orders_give():
    """By brute force: the numbers of 1 … n in each of the n! orders, ties broken by it."""
    scores, count = np.array([2.0, 1.0, 1.0 + 1e-12, 0.0]), 2
    orders = np.array(list(permutations(range(4))))
    found = np.zeros(4)
    for order in orders:
        found[order[np.argsort(-np.round(scores[order], 9), kind="stable")][:count]] += 1 / len(orders)
    assert_allclose(top_chances(scores, count, 1e-9), found)
