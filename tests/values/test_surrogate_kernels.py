import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import from_index
from accredit.values.semivalues import shapley_from_table
from accredit.values.surrogate import size_local
from accredit.values.surrogate.fitting import RelevanceProduct
from accredit.values.surrogate.likelihood import Mixture
from accredit.values.surrogate.rows import CoalitionRows, Meeting
from accredit.values.surrogate.size_local import SizeLocal
from accredit.values.surrogate.walsh import Walsh, krawtchouk

RELEVANCE = (0.9, 0.5, 0.01, 0.3, 0.7, 0.2)
KERNELS = [
    Walsh(1),
    Walsh(3),
    Walsh(5),
    SizeLocal(0.5, 0.0),
    SizeLocal(1.0, 1.0),
    SizeLocal(0.3, 2.5),
    RelevanceProduct(RELEVANCE),
    Mixture((Walsh(3), SizeLocal(1.0, 1.0), RelevanceProduct(RELEVANCE)), (2.0, 0.5, 7.0)),
]
EVERY = CoalitionRows.of(from_index(np.arange(64), 6))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_read_out_is_the_shapley_value_of_every_kernel_function(kernel):
    gram = kernel.between(Meeting(EVERY, EVERY))
    for t in range(64):
        credit = kernel.credit(EVERY.at(slice(t, t + 1)), np.ones(1))
        assert_allclose(credit, shapley_from_table(np.ascontiguousarray(gram[:, t])), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_are_positive_semidefinite_symmetric_and_odd(kernel):
    gram = kernel.between(Meeting(EVERY, EVERY))
    assert_allclose(gram, gram.T, atol=1e-14)
    assert np.linalg.eigvalsh(gram).min() > -1e-10
    assert_allclose(gram[::-1], -gram, atol=1e-14)  # the complement of row t is row 63 - t


@pytest.mark.parametrize("kernel", KERNELS[:6], ids=repr)
def test_read_out_is_linear_in_the_load(kernel):
    load = np.random.default_rng(0).normal(size=64)
    one_by_one = sum(load[t] * kernel.credit(EVERY.at(slice(t, t + 1)), np.ones(1)) for t in range(64))
    assert_allclose(kernel.credit(EVERY, load), one_by_one, atol=1e-12)


def test_walsh_kernel_is_the_average_of_its_characters():
    from itertools import combinations

    signs = EVERY.signs
    characters = np.stack([signs[:, list(a)].prod(axis=1) for a in combinations(range(6), 3)])
    assert_allclose(Walsh(3).between(Meeting(EVERY, EVERY)), characters.T @ characters / 20, atol=1e-14)


@pytest.mark.parametrize("kernel", [*KERNELS[:6], KERNELS[-1]], ids=repr)
def test_kernels_looked_up_by_size_and_overlap_are_those_computed_pair_by_pair(kernel):
    few = EVERY.at(np.array([0, 3, 11, 40, 63]))  # too few rows for a table
    assert Meeting(EVERY, EVERY)._places is not None and Meeting(few, few)._places is None
    assert_allclose(
        kernel.between(Meeting(few, few)),
        kernel.between(Meeting(EVERY, EVERY))[:, [0, 3, 11, 40, 63]][[0, 3, 11, 40, 63]],
        atol=1e-15,
    )


def test_krawtchouk_is_exact_for_ten_thousand_players():
    table = krawtchouk(7, 10_000)
    assert table[0] == 1 and table[-1] == -1 and table[5000] == 0
    assert_allclose(table, -table[::-1], atol=0)


def test_cumulants_agree_with_the_sum_over_overlaps(monkeypatch):
    approximate = size_local.gain.__wrapped__(1000, 400, 1.0, 1.0)
    monkeypatch.setattr(size_local, "EXACT_SUPPORT", 1000)
    assert_allclose(approximate, size_local.gain.__wrapped__(1000, 400, 1.0, 1.0), rtol=1e-6)


def test_quadrature_of_the_product_kernel_is_exact_at_forty_players():
    rng = np.random.default_rng(4)
    relevance = np.zeros(40) + 1e-12
    relevance[[3, 17, 29]] = (0.6, 0.4, 0.8)  # a game among three players, the others as good as null
    row = rng.random((1, 40)) < 0.5
    credit = RelevanceProduct(tuple(relevance)).credit(CoalitionRows.of(row), np.ones(1))
    few = RelevanceProduct((0.6, 0.4, 0.8)).credit(CoalitionRows.of(row[:, [3, 17, 29]]), np.ones(1))
    assert_allclose(credit[[3, 17, 29]], few, rtol=1e-9)
    assert_allclose(np.delete(credit, [3, 17, 29]), 0, atol=1e-11)
