"""The network behind a shared budget: it learns smooth functions, and pays coalitions what asking it row by row would give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accredit
from accredit.models.partition import Partition
from accredit.rows.pooled import Pool, TableSurrogate, network_credit, network_pairs
from accredit.rows.surrogate_network import SurrogateNetwork


def waves(points):
    return np.sin(2 * points[:, 0]) * points[:, 1] + points[:, 2] ** 2


@pytest.fixture(scope="module")
def learned():
    points = np.random.default_rng(0).normal(size=(3000, 4))
    return points, SurrogateNetwork(points, waves(points), seed=0)


@pytest.mark.slow
def test_it_learns_what_bends_and_ignores_a_constant_column(learned):
    fresh = np.random.default_rng(1).normal(size=(1000, 4))
    assert ((learned[1].predict(fresh) - waves(fresh)) ** 2).mean() < 0.05 * waves(fresh).var()
    flat = np.column_stack([learned[0][:500, :2], np.full(500, 7.0)])
    assert np.isfinite(SurrogateNetwork(flat, flat[:, 0] ** 2, seed=0).predict(flat)).all()


@pytest.mark.slow
def test_coalitions_are_paid_what_asking_it_row_by_row_gives(learned):
    points, network = learned
    rng = np.random.default_rng(2)
    rows, background, weights = points[:3], points[10:17], rng.dirichlet(np.ones(7))
    kept = rng.random((6, 4)) < 0.5
    mixed = np.where(kept[None, :, None, :], rows[:, None, None, :], background[None, None])
    asked = network.predict(mixed.reshape(-1, 4)).reshape(3, 6, 7) @ weights
    assert_allclose(network.payoffs(rows, background, weights, kept), asked, atol=1e-4)


@pytest.mark.slow
def test_credit_of_a_surrogate_with_a_network_is_its_shapley_value():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(30, 5))
    cells = rng.normal(size=(4000, 5))
    model = TableSurrogate(cells, np.tanh(cells[:, 0] * cells[:, 1]) + cells[:, 2] ** 2 + cells[:, 3], 20, 0, network=True)
    assert model.network is not None
    ends = np.zeros((20, 1)), np.zeros((10, 1))
    pool = Pool(matrix, *ends, np.full(20, 0.05), Partition(tuple("abcde"), np.arange(5)), 0)
    drawn, error = network_credit(pool, [model, model])
    exact = accredit.explain(matrix[20:], model.predict, background=matrix[:20]).credit[..., 0]
    found = model.credit(pool) + drawn
    # 512 pairs hold every coalition of five players many times: what is left is single precision and uneven draws
    assert np.abs(found - exact).max() < 0.02 and (np.abs(found - exact) <= 4 * error + 1e-3).all()
    assert_allclose(found.sum(axis=1), exact.sum(axis=1), atol=1e-4)


def test_there_is_no_network_where_its_credit_would_rest_on_too_few_coalitions():
    assert network_pairs(400, 100, 70) == 512
    assert network_pairs(10_000, 1000, 70) == 0
