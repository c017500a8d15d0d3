from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.evaluate.axioms import check_claims
from accredit.games import grouped
from accredit.valuation import KNNUtility, groups_of, knn_shapley, split
from accredit.values import Exact, shapley
from tests.valuation.valuation_data import blobs


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 5, 9, 20])
def test_the_closed_form_is_the_exact_shapley_value_of_the_game(k: int) -> None:
    data = blobs(9, tests=12, seed=k)
    values = knn_shapley(data, k)
    game = KNNUtility(data, k)
    assert_allclose(values.credit, Exact().solve(game).credit, atol=1e-12)
    assert values.total is not None
    assert values.total == pytest.approx(float(game.payoff(np.ones((1, 9), bool))[0]))
    check_claims(values, game)


def test_identical_rows_are_equal_to_the_last_bit_even_among_ties() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(60, 2)).astype(float)  # many equal rows, many equal distances
    y = rng.integers(0, 2, size=60)
    values = knn_shapley(split(x, y, x[:20] + 0.1, y[:20]), 3)
    rows = np.column_stack([x, y])
    for i in range(60):
        for j in range(i):
            if (rows[i] == rows[j]).all():
                assert values.credit[i] == values.credit[j]


def test_matches_a_plain_loop_over_many_rows() -> None:
    data = blobs(300, tests=17, seed=5)
    credit = np.zeros(300)
    for z, label in zip(data.test_x, data.test_y, strict=True):
        order = np.argsort(((data.x - z) ** 2).sum(axis=1))
        right = (data.y[order] == label).astype(float)
        phi = np.zeros(300)
        phi[299] = right[299] / 300
        for i in range(298, -1, -1):
            phi[i] = phi[i + 1] + (right[i] - right[i + 1]) / 4 * min(4, i + 1) / (i + 1)
        credit[order] += phi
    assert_allclose(knn_shapley(data, 4).credit, credit / 17, atol=1e-12)


def test_far_from_the_origin_nothing_changes() -> None:
    near = blobs(40, tests=8)
    far = split(near.x + 1e7, near.y, near.test_x + 1e7, near.test_y)
    assert_allclose(knn_shapley(far, 3).credit, knn_shapley(near, 3).credit, atol=1e-12)


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs(30, tests=11)
    whole = knn_shapley(data, 3).credit, KNNUtility(data, 3).payoff(np.eye(30, dtype=bool))
    monkeypatch.setattr("accredit.valuation.knn.DISTANCES_HELD", 64)
    assert_allclose(knn_shapley(data, 3).credit, whole[0], atol=1e-15)
    assert_allclose(KNNUtility(data, 3).payoff(np.eye(30, dtype=bool)), whole[1], atol=1e-15)


def test_group_values_are_those_of_the_quotient_game() -> None:
    data = blobs(12, tests=9)
    groups = groups_of(data.names, ["ann", "bob", "cy"] * 4)
    table = shapley(grouped(KNNUtility(data, 2), groups))
    sums = [knn_shapley(data, 2)[groups[name]].credit.sum() for name in table.players]
    assert table.credit.sum() == pytest.approx(sum(sums))
    assert np.abs(table.credit - sums).max() > 1e-3  # adding the members' values is another thing


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_bad_k_is_refused(k: object) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        knn_shapley(blobs(4), k)  # type: ignore[arg-type]


def test_numbers_instead_of_classes_have_a_game_of_their_own_and_no_bound() -> None:
    data = split([[0.0], [1.0]], [0.5, 1.5], [[0.0]], [0.1], regression=True)
    with pytest.raises(InvalidInput, match="KNNRegression"):
        KNNUtility(data)
    with pytest.raises(InvalidInput) as refused:
        knn_shapley(data, within=0.1)
    assert refused.value.argument == "within"


def test_payoffs_do_not_depend_on_the_batch() -> None:
    game = KNNUtility(blobs(20), 3)
    coalitions = np.random.default_rng(1).random((30, 20)) < 0.5
    assert_array_equal(game.payoff(coalitions), [game.payoff(row[None])[0] for row in coalitions])


def _by_enumeration(x: FloatArray, y: FloatArray, tests: FloatArray, labels: FloatArray, k: int) -> FloatArray:
    """Shapley values from the definition: every order of arrival, averaged over every order of rows equally far."""
    n = len(x)
    orders = list(permutations(range(n)))
    credit = np.zeros(n)
    for z, label in zip(tests, labels, strict=True):
        far = ((x - z) ** 2).sum(axis=1)
        rankings = [r for r in orders if all(far[a] <= far[b] for a, b in pairwise(r))]
        for near in rankings:
            for order in orders:
                before = 0.0
                for count in range(1, n + 1):
                    among = [i for i in near if i in order[:count]][:k]
                    now = sum(y[i] == label for i in among) / k
                    credit[order[count - 1]] += (now - before) / len(rankings)
                    before = now
    return credit / len(orders) / len(tests)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_rows_equally_far_share_their_places(seed: int) -> None:
    """Whole numbers: distances are exact, ties are many, and a product of rounded matrices would break them by chance."""
    rng = np.random.default_rng(seed)
    y = np.arange(5) % (2 + seed % 2)
    x, tests = (rng.integers(-1, 2, size=(rows, 2)).astype(float) for rows in (5, 2))
    labels = rng.integers(0, 2, size=2)
    data = split(x, y, tests, labels)
    values = knn_shapley(data, 1 + seed % 3)
    assert_allclose(values.credit, _by_enumeration(x, y, tests, labels, 1 + seed % 3), atol=1e-12)
    assert_allclose(Exact().solve(KNNUtility(data, 1 + seed % 3)).credit, values.credit, atol=1e-12)


def test_the_names_of_classes_and_the_order_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    x, tests = (rng.integers(0, 3, size=(rows, 2)).astype(float) for rows in (40, 10))
    y, labels = rng.integers(0, 3, size=40), rng.integers(0, 3, size=10)
    credit = knn_shapley(split(x, y, tests, labels), 3).credit
    renamed = knn_shapley(split(x, 2 - y, tests, 2 - labels), 3).credit
    shuffled = rng.permutation(40)
    moved = knn_shapley(split(x[shuffled], y[shuffled], tests, labels), 3).credit
    assert_allclose(renamed, credit, atol=1e-14)
    assert_allclose(moved, credit[shuffled], atol=1e-14)
    one = knn_shapley(split([[0.0], [0.0]], ["b", "a"], [[0.0]], ["b"]), k=1)
    assert one.credit.tolist() == [0.75, -0.25]


def test_neighbours_a_hair_apart_in_clusters_far_apart_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    x = np.where(np.arange(12)[:, None] < 6, 0.0, 1e9) + 1e-3 * rng.normal(size=(12, 1))
    tests = x[[0, 3, 8]] + 1e-4
    y, labels = np.arange(12) % 2, np.array([0, 1, 0])
    game = KNNUtility(split(x, y, tests, labels), 1)
    near = np.abs(x[:6, 0] - tests[0, 0])
    both = np.zeros((15, 12), bool)
    pairs = list(combinations(range(6), 2))
    for row, pair in enumerate(pairs):
        both[row, list(pair)] = True
    wanted = [float(y[min(pair, key=lambda i: near[i])] == 0) for pair in pairs]
    assert game.retrain(both)[1][:, 0].tolist() == wanted


@pytest.mark.parametrize("columns", [2, 20], ids=["tree", "partial sort"])
@pytest.mark.parametrize("within", [0.3, 0.1, 0.04])
def test_credit_within_a_bound_is_within_it_and_the_bound_is_the_interval(columns: int, within: float) -> None:
    rng = np.random.default_rng(columns)
    y, labels = rng.integers(0, 3, size=60), rng.integers(0, 3, size=9)
    data = split(rng.normal(size=(60, columns)), y, rng.normal(size=(9, columns)), labels)
    exact, near = knn_shapley(data, 3), knn_shapley(data, 3, within=within)
    off = np.abs(near.credit - exact.credit)
    assert 0 < off.max() <= within
    assert near.interval is not None
    assert ((near.interval[:, 0] <= exact.credit) & (exact.credit <= near.interval[:, 1])).all()
    assert near.total == pytest.approx(exact.total)
    assert "within" in near.method.settings


def test_one_test_row_meets_the_bound_almost() -> None:
    """Every row beyond the nearest is right, and the nearest is wrong: the bound cannot be much lower."""
    data = split(np.arange(50.0)[:, None], [0] * 10 + [1] * 40, [[-1.0]], [1])
    off = np.abs(knn_shapley(data, 1, within=0.1).credit - knn_shapley(data, 1).credit)
    assert 0.5 * 0.1 < off.max() <= 0.1


@pytest.mark.parametrize("columns", [2, 20], ids=["tree", "partial sort"])
def test_equal_rows_stay_equal_within_a_bound_and_ties_are_exact(columns: int) -> None:
    rng = np.random.default_rng(1)
    x, tests = (rng.integers(0, 2, size=(rows, columns)).astype(float) for rows in (40, 12))
    x[20:30] = x[:10]
    x[30:] = tests[0]
    y, labels = rng.integers(0, 2, size=40), rng.integers(0, 2, size=12)
    y[20:30] = y[:10]
    data = split(x, y, tests, labels)
    near, exact = knn_shapley(data, 3, within=0.1), knn_shapley(data, 3)
    assert_allclose(near.credit[20:30], near.credit[:10], atol=1e-15)
    assert np.abs(near.credit - exact.credit).max() <= 0.1 + 1e-12


def test_a_bound_that_reaches_every_row_is_exact() -> None:
    values = knn_shapley(blobs(30), 3, within=0.01)
    assert_allclose(values.interval, knn_shapley(blobs(30), 3).interval)  # nothing but the choice of test rows
    assert "within" not in values.method.settings
    check_claims(values, KNNUtility(blobs(30), 3))


@pytest.mark.parametrize("within", [0, -0.1, 1, True, "0.1", float("nan")])
def test_a_bound_that_is_none_is_refused(within: object) -> None:
    with pytest.raises(InvalidInput, match="within "):
        knn_shapley(blobs(9), 3, within=within)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.processes
def test_test_rows_spread_over_processes_give_the_same_bits() -> None:
    data = blobs(50, tests=40)
    seen: list[int] = []
    spread = knn_shapley(data, 3, executor="processes:2", watch=seen.append)
    assert_array_equal(spread.credit, knn_shapley(data, 3).credit)
    assert seen[-1] == 40


def test_test_rows_spread_over_threads_give_the_same_bits() -> None:
    data = blobs(50, tests=40)
    near = knn_shapley(data, 3, within=0.05)
    assert_array_equal(knn_shapley(data, 3, within=0.05, executor="threads:2").credit, near.credit)
    numbers = split(data.x, data.x[:, 0], data.test_x, data.test_x[:, 0], regression=True)
    spread = knn_shapley(numbers, 3, executor="threads:2").credit
    assert_array_equal(spread, knn_shapley(numbers, 3).credit)
