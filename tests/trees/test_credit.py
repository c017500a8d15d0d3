"""Exact credit of larger forests: additive at any depth, and what shap gives where shap is right."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import comb

import numpy as np
import pytest
import shap
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from accredit.errors import InvalidInput
from accredit.trees import Forest, Tree, credit, forest_of, masks, tree_credit, walk
from accredit.values import CubeGame, shapley, shapley_interactions
from tests.trees.families import numbers


def chain(depth: int, seed: int) -> Tree:
    """A tree that tests a new column at every level: one long path, leaves beside it."""
    rng = np.random.default_rng(seed)
    feature, left, right = np.full(2 * depth + 1, -1), np.zeros(2 * depth + 1, int), np.zeros(2 * depth + 1, int)
    cover = np.zeros(2 * depth + 1)
    cover[0] = 1.0
    for level in range(depth):
        node = 2 * level
        feature[node], left[node], right[node] = level, node + 2, node + 1
        share = rng.uniform(0.3, 0.99)
        cover[node + 2], cover[node + 1] = cover[node] * share, cover[node] * (1 - share)
    return Tree(feature, np.zeros(2 * depth + 1), left, right, rng.normal(size=2 * depth + 1), cover)


@pytest.mark.parametrize("background", [None, 30])
def test_credit_adds_up_at_depth_150(background):
    """Beyond the bits of two machine words, with and without a background."""
    depth = 150
    forest = Forest.of([chain(depth, seed) for seed in range(3)], depth, base=0.5)
    rows = -np.abs(np.random.default_rng(1).normal(size=(6, depth)))
    rows[np.arange(5), [0, 3, 70, 100, 149]] *= -1  # each leaves the long path at another level; one never does
    compared = None if background is None else np.repeat(rows[5:], background, axis=0)
    if compared is not None:
        compared[np.arange(background), np.arange(background) * 5] *= -1
    got = tree_credit(forest, rows, compared)
    assert_allclose(got.credit.sum(axis=1) + got.base, forest.margin(forest.matrix(rows)), atol=1e-9)
    assert np.abs(got.credit).max() < 10


def test_unpruned_forests_on_sparse_rows_add_up_beyond_depth_60():
    rng = np.random.default_rng(0)
    x = (rng.random((400, 120)) < 0.04).astype(float)
    y = x @ rng.normal(size=120) + rng.normal(size=400)
    model = RandomForestRegressor(3, random_state=0).fit(x, y)
    assert max(tree.get_depth() for tree in model.estimators_) > 60
    forest = forest_of(model)
    for compared in (None, x[100:130]):
        got = tree_credit(forest, x[:8], compared)
        assert_allclose(got.credit.sum(axis=1)[:, 0] + got.base[0], model.predict(x[:8]), atol=1e-9)


@pytest.mark.parametrize("background", [None, 40])
def test_forests_too_large_for_one_step_are_not_left_out(monkeypatch, background):
    """The work on one leaf beside many background rows, or on one row in a large tree, may exceed a step; it is done all the
    same."""
    x, y = numbers(0, missing=False, rows=200, columns=20)
    forest = forest_of(RandomForestRegressor(2, random_state=0).fit(x, y))
    compared = None if background is None else x[:background]
    usual = tree_credit(forest, x[:9], compared)
    monkeypatch.setattr(masks, "CELLS_AT_ONCE", 100)
    monkeypatch.setattr(walk, "CELLS_PER_WALK", 100)
    monkeypatch.setattr(credit, "MOST_BITS", 0)  # nothing by table
    got = tree_credit(forest, x[:9], compared)
    assert_allclose(got.credit, usual.credit, atol=1e-12)
    assert_allclose(got.credit.sum(axis=1) + got.base, forest.margin(forest.matrix(x[:9])), atol=1e-12)


@pytest.mark.parametrize("kept", [0, 20_000, 1 << 20])
@pytest.mark.parametrize("background", [None, 40])
def test_what_is_kept_gives_what_a_fresh_call_gives(monkeypatch, background, kept):
    """Nothing, some trees or all of them are kept, as tables or otherwise; few rows and many."""
    x, y = numbers(0, missing=False, rows=200, columns=8)
    forest = forest_of(RandomForestRegressor(6, max_depth=6, random_state=0).fit(x, y))
    compared = None if background is None else x[:background]
    monkeypatch.setattr(credit, "KEPT_BYTES", kept)
    shares = credit.TreeShares(forest, compared, interactions=True)
    for rows in (x[:1], x[1:2], x[:40], x[:150], x[2:3]):
        fresh, served = tree_credit(forest, rows, compared, interactions=True), shares.credit(rows)
        assert_allclose(served.credit, fresh.credit, atol=1e-12)
        assert_allclose(served.pairs, fresh.pairs, atol=1e-12)


@pytest.mark.parametrize("background", [None, 40])
def test_one_explainer_serves_many_threads_at_once(background):
    """What is kept is made by whoever asks first, while others ask."""
    x, y = numbers(0, missing=False, rows=200, columns=8)
    forest = forest_of(RandomForestRegressor(6, max_depth=6, random_state=0).fit(x, y))
    compared = None if background is None else x[:background]
    alone, together = tree_credit(forest, x[:60], compared).credit, credit.TreeShares(forest, compared)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda r: together.credit(x[r : r + 3]).credit, range(0, 60, 3), chunksize=1))
    assert_allclose(np.concatenate(found), alone, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 6, None])
def test_cover_ratios_are_those_of_shap(depth):
    x, y = numbers(0, missing=False, rows=300, columns=8)
    model = RandomForestRegressor(8, max_depth=depth, random_state=0).fit(x, y)
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    got = tree_credit(forest_of(model), x[:12], interactions=True)
    assert got.pairs is not None
    assert_allclose(got.credit[..., 0], explainer.shap_values(x[:12]), atol=1e-10)
    pairs = explainer.shap_interaction_values(x[:12]) * 2  # shap gives half of each pair to either side
    pairs[:, np.arange(8), np.arange(8)] = 0.0
    assert_allclose(got.pairs[..., 0], pairs, atol=1e-10)
    assert_allclose(got.base, explainer.expected_value)


def test_many_rows_and_a_large_background_are_the_mean_over_small_ones():
    """Rows and background are cut into portions; the answer is that of each part, and shap's where it does not thin."""
    x = np.random.default_rng(3).normal(size=(2600, 5)).astype(np.float32).astype(float)  # shap compares without rounding
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + x[:, 3] * (x[:, 4] > 0)
    model = GradientBoostingRegressor(n_estimators=6, max_depth=4, random_state=0).fit(x, y)
    forest = forest_of(model)
    whole = tree_credit(forest, x[:1500], x[1500:])
    parts = [tree_credit(forest, x[:1500], x[start : start + 100]) for start in range(1500, 2600, 100)]
    assert_allclose(whole.credit, np.mean([part.credit for part in parts], axis=0), atol=1e-12)
    explainer = shap.TreeExplainer(model, x[1500:1600], feature_perturbation="interventional")
    assert_allclose(parts[0].credit[:20, :, 0], explainer.shap_values(x[:20]), atol=1e-6)  # shap adds in single precision


def test_weights_of_background_rows_count_like_copies():
    x, y = numbers(4, missing=False)
    forest = forest_of(RandomForestRegressor(3, max_depth=4, random_state=0).fit(x, y))
    weighted = tree_credit(forest, x[:5], x[10:13], weight=[1, 2, 3])
    copied = tree_credit(forest, x[:5], x[[10, 11, 11, 12, 12, 12]])
    assert_allclose(weighted.credit, copied.credit, atol=1e-12)
    assert_allclose(weighted.base, copied.base)


@pytest.mark.parametrize("background", [None, np.zeros((2, 3))])
def test_trees_without_a_test_and_no_rows_share_nothing(background):
    constant = Forest.of([Tree([-1], [0], [0], [0], [2.5], [1.0])], 3, base=1.0)
    got = tree_credit(constant, np.zeros((2, 3)), background, interactions=True)
    assert not got.credit.any() and got.base.tolist() == [3.5]
    assert tree_credit(constant, np.zeros((0, 3)), background).credit.shape == (0, 3, 1)


def test_a_leaf_with_one_background_row_is_one_cube():
    forest = Forest.of([chain(3, 0)], 3)
    row, other = np.array([[-1.0, 1.0, -1.0]]), np.array([[1.0, -1.0, -1.0]])
    value = forest.value[:, 0]
    cubes = CubeGame(
        "abc", [value[1], value[3], value[6]], [[0, 0, 0], [1, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    )
    assert_allclose(tree_credit(forest, row, other).credit[0, :, 0], shapley(cubes).credit, atol=1e-12)


def cubes_of(forest: Forest, row: np.ndarray, other: np.ndarray) -> CubeGame:
    """Every way that a mixture of two rows can take, as a cube: who must play, who must not."""
    found = []

    def walk(node: int, must: frozenset[int], never: frozenset[int]) -> None:
        if forest.feature[node] < 0:
            found.append((forest.value[node, 0], must, never))
            return
        column = int(forest.feature[node])
        own, theirs = forest.decisions(np.array([node]), np.stack([row, other]))[0]
        for left, child in ((True, forest.left[node]), (False, forest.right[node])):
            if own == left == theirs:
                walk(child, must, never)
            elif own == left and column not in never:
                walk(child, must | {column}, never)
            elif theirs == left and column not in must:
                walk(child, must, never | {column})

    for root in forest.roots:
        walk(root, frozenset(), frozenset())
    names = [f"x{i}" for i in range(forest.features)]
    plays = np.array([[[i in who for i in range(len(names))] for who in sides] for _, *sides in found])
    return CubeGame(names, [worth for worth, *_ in found], plays[:, 0], plays[:, 1])


@pytest.mark.slow
def test_unpruned_forests_with_a_background_are_sums_of_cubes():
    """Paths of more columns than a machine word has bits, found by walking pairs of rows; weights count."""
    rng = np.random.default_rng(1)
    x = (rng.random((300, 90)) < 0.05).astype(float)
    y = x @ rng.normal(size=90) + rng.normal(size=300)
    forest = forest_of(RandomForestRegressor(2, random_state=0).fit(x, y))
    weight = np.array([0.5, 0.3, 0.2])
    got = tree_credit(forest, x[:2], x[100:103], weight=weight, interactions=True)
    assert got.pairs is not None
    for r in range(2):
        games = [cubes_of(forest, x[r], other) for other in x[100:103]]
        credit = sum(w * shapley(game).credit for w, game in zip(weight, games, strict=True))
        pairs = sum(w * shapley_interactions(game).matrix() for w, game in zip(weight, games, strict=True))
        assert_allclose(got.credit[r, :, 0], credit, atol=1e-12)
        assert_allclose(got.pairs[r, ..., 0], pairs, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"background": np.zeros((0, 5))}, "no rows"),
        ({"weight": [1.0]}, "without a background"),
        ({"background": np.zeros((2, 5)), "weight": [1.0, -1.0]}, "non-negative"),
        ({"background": np.zeros((2, 4))}, "reads"),
        ({"players": [0, 1]}, "columns"),
        ({"value": "owen"}, "value is 'owen'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, says):
    x, y = numbers(0, missing=False)
    forest = forest_of(RandomForestRegressor(2, max_depth=2, random_state=0).fit(x, y))
    with pytest.raises(InvalidInput, match=says):
        tree_credit(forest, x[:2], **arguments)


def test_weights_that_no_stable_rule_serves_are_refused_on_deep_trees():
    """Only coalitions of middle size count: interpolation on 40 nodes would lose all digits."""
    forest = Forest.of([chain(40, 0)], 40)
    law = np.zeros(40)
    law[20] = 1 / comb(39, 20)
    with pytest.raises(InvalidInput, match="nine digits"):
        tree_credit(forest, np.zeros((1, 40)), value=law)


@pytest.mark.parametrize("outputs", [1, 3])
def test_tables_serve_what_the_walk_gives(outputs):
    """Few rows are walked; once tables would have cost less they are made, and the numbers stay."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)).round(1)
    y = np.stack([np.sin(2 * x[:, 0]) + x[:, 1] * x[:, k] for k in range(outputs)], axis=1)
    model = RandomForestRegressor(6, max_depth=9, random_state=0).fit(x, y if outputs > 1 else y[:, 0])
    shares = credit.TreeShares(forest_of(model))
    walked = shares.credit(x[:40])
    assert not shares._kept.tables and all(isinstance(way, walk.Walk) for way, _ in shares._kept.ways)
    shares.credit(np.tile(x, (30, 1)))
    looked_up = shares.credit(x[:40])
    assert shares._kept.tables and not len(shares._kept.nothing)
    assert_allclose(looked_up.credit, walked.credit, atol=1e-12)
    assert_allclose(walked.credit.sum(axis=1) + walked.base, model.predict(x[:40]).reshape(40, -1), atol=1e-10)


def test_a_walk_of_large_forests_takes_some_trees_at_a_time(monkeypatch):
    x, y = numbers(0, missing=False, rows=200, columns=8)
    forest = forest_of(RandomForestRegressor(6, random_state=0).fit(x, y))
    usual = tree_credit(forest, x[:9]).credit
    monkeypatch.setattr(credit, "WALK_NODES", 300)
    shares = credit.TreeShares(forest)
    assert len(shares._kept.ways) > 1
    assert_allclose(shares.credit(x[:9]).credit, usual, atol=1e-12)
