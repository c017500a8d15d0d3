"""Exact credit of trees against the definition: all coalitions, by the model's own output on mixed rows.

`ACCREDIT_ENSEMBLES` sets how many ensembles of each family are tried; `make soak-trees` tries 200.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core.coalitions import from_index
from accredit.rows.frames import stack
from accredit.rows.game import mix
from accredit.trees import Ensemble, TreeCredit, ensemble_of, tree_credit
from accredit.trees import credit as ways
from accredit.values.semivalue_rules import semivalue_of
from accredit.values.semivalues import semivalue_from_table
from tests.trees.families import FAMILIES

COUNT = int(os.environ.get("ACCREDIT_ENSEMBLES", "4"))


def values(players: int) -> tuple[Any, ...]:
    """One value of every kind; the last has weights that belong to no density."""
    uneven = np.array([0.3, 0.05, 1 / 60, 0.1, 0.2])[:players]
    uneven = uneven / sum(comb(players - 1, k) * p for k, p in enumerate(uneven))
    return "shapley", "banzhaf", ("beta", 2, 3), uneven.tolist()


def table(read: Ensemble, row: Any, background: Any) -> np.ndarray:
    """v(S) of every coalition and output, by the model where it computes in double precision: (2ⁿ, outputs)."""
    n = row.shape[1]
    every = mix(stack(background, row), len(background), len(background), from_index(np.arange(1 << n), n))
    trees = read.forest.margin(read.forest.matrix(read.encode(every)))
    said = read.raw(every)
    assert_allclose(trees, said, rtol=2e-6, atol=2e-6)
    v = said if np.max(read.tolerance) < 1e-8 else trees
    return v.reshape(1 << n, len(background), -1).mean(axis=1)


def pairs_by_definition(v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ p(|S|)·[v(S ∪ ij) − v(S ∪ i) − v(S ∪ j) + v(S)] over S without i and j: (n, n)."""
    n = len(v).bit_length() - 1
    s, matrix = np.arange(len(v)), np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        t = s[(s >> i & 1 == 0) & (s >> j & 1 == 0)]
        gain = v[t | 1 << i | 1 << j] - v[t | 1 << i] - v[t | 1 << j] + v[t]
        matrix[i, j] = matrix[j, i] = weights[np.bitwise_count(t)] @ gain
    return matrix


def each_way(monkeypatch: Any) -> Iterator[None]:
    """By what is prepared for few rows; then with nothing prepared, by tables, by walking or comparing; by kept tables."""
    yield
    with monkeypatch.context() as patch:
        patch.setattr(ways, "KEPT_BYTES", 0)
        for by_table in (True, False):
            patch.setattr(ways, "_by_table", lambda forest, paths, *_, t=by_table: ~paths.inner & t)
            yield
    monkeypatch.setattr(ways.TreeShares, "_rows_for_tables", lambda shares: 0)
    yield


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("family", FAMILIES)
def test_credit_and_interactions_are_those_of_all_coalitions(family: str, seed: int, monkeypatch: Any) -> None:
    model, rows = FAMILIES[family](seed)
    part = rows.iloc if hasattr(rows, "iloc") else rows
    explained, background = part[40:42], part[:6]
    read = ensemble_of(model)
    matrix, compared = read.matrix(explained), read.matrix(background)
    expected = [table(read, explained[r : r + 1], background) for r in range(2)]
    for _ in each_way(monkeypatch):
        for value in values(5):
            got = tree_credit(read.forest, matrix, compared, value=value, interactions=True)
            for r, v in enumerate(expected):
                agrees(got, r, v, value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("family", FAMILIES)
def test_cover_ratios_are_those_of_all_coalitions(family: str, seed: int, monkeypatch: Any) -> None:
    """v(S) by walking each tree: players of S decide, the others are split by cover. Columns may be merged."""
    model, rows = FAMILIES[family](seed)
    read = ensemble_of(model)
    matrix = read.matrix(rows)[40:41]
    players = np.array([0, 1, 1, 2, 3]) if seed % 2 else np.arange(5)
    n = int(players.max()) + 1
    v = np.array([covered(read.forest, matrix, from_index(np.array([s]), n)[0][players]) for s in range(1 << n)])
    for _ in each_way(monkeypatch):
        for value in values(n):
            agrees(tree_credit(read.forest, matrix, value=value, interactions=True, players=players), 0, v, value)


def agrees(got: TreeCredit, row: int, v: np.ndarray, value: Any) -> None:
    """Credit, pairs and base are those of all coalitions; v is (2ⁿ, outputs)."""
    n = len(v).bit_length() - 1
    rule = semivalue_of(value, n)
    assert got.pairs is not None
    assert_allclose(got.base, v[0], atol=1e-9)
    for output, worth in enumerate(v.T):
        assert_allclose(got.credit[row, :, output], semivalue_from_table(worth, rule.weights(n)), atol=1e-9)
        assert_allclose(got.pairs[row, ..., output], pairs_by_definition(worth, rule.weights(n - 1)), atol=1e-9)


def covered(forest: Any, matrix: np.ndarray, plays: np.ndarray) -> np.ndarray:
    """What columns that play earn when the others are split by the training weight: (outputs,)."""
    total = forest.base.copy()

    def walk(node: int, share: float, first: int) -> None:
        if forest.feature[node] < 0:
            total[first : first + forest.value.shape[1]] += share * forest.value[node]
            return
        sides = forest.left[node], forest.right[node]
        if plays[forest.feature[node]]:
            left = forest.decisions(np.array([node]), matrix)[0, 0]
            walk(sides[0] if left else sides[1], share, first)
        else:
            both = sum(forest.cover[side] for side in sides)  # xgboost rounds it to single precision at the node itself
            for side in sides:
                walk(side, share * (forest.cover[side] / both if both > 0 else 0.5), first)

    for root, first in zip(forest.roots, forest.output, strict=True):
        walk(root, 1.0, first)
    return total
