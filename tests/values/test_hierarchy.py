"""Values that go into the groups of largest credit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.core import Attribution, FloatArray
from accredit.games import FunctionGame, FunctionGames, counted
from accredit.values import hierarchy, owen

NAMES = tuple(f"d{d} p{p} s{s}" for d in range(12) for p in range(4) for s in range(5))
DOCUMENTS = [[list(NAMES[20 * d + 5 * p : 20 * d + 5 * p + 5]) for p in range(4)] for d in range(12)]


def additive(worth: dict[str, float]) -> FunctionGame:
    weights = np.array([worth.get(name, 0.0) for name in NAMES])
    return FunctionGame(NAMES, lambda coalitions: coalitions @ weights)


def random_weights(seed: int) -> FloatArray:
    return np.random.default_rng(seed).normal(size=len(NAMES))


def blocks_of(found: Attribution) -> list[dict[str, object]]:
    return list(found.provenance["blocks"])  # type: ignore[call-overload]


def test_in_a_tree_of_pairs_it_is_the_owen_value():
    pairs = [[["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]]
    for seed in range(5):
        weights = np.random.default_rng(seed).uniform(1, 2, 8)  # so that nothing is too small to be opened
        game = FunctionGame(tuple("abcdefgh"), lambda coalitions, w=weights: (coalitions @ w) ** 1.5 + 3 * coalitions[:, 0])
        found, wanted = hierarchy(game, pairs, budget=256), owen(game, pairs, budget=10_000)
        assert_allclose(found.credit, wanted.credit, atol=1e-12)


def test_few_sentences_are_found_among_many_and_the_credit_adds_up():
    worth = {"d7 p2 s3": 5.0, "d1 p0 s4": -2.0}
    game = counted(additive(worth))
    found = hierarchy(game, DOCUMENTS, budget=200)
    assert game.payoffs == found.payoffs <= 200
    assert {name: found[name] for name in worth} == pytest.approx(worth)
    assert found.unshared == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("budget", [2, 10, 30, 64, 300])
def test_the_budget_is_kept_and_blocks_share_all_there_is(budget):
    rng = np.random.default_rng(budget)
    weights, pair = rng.normal(size=len(NAMES)), rng.integers(len(NAMES), size=2)
    game = counted(FunctionGame(NAMES, lambda s: s @ weights + 9.0 * (s[:, pair[0]] & s[:, pair[1]])))
    found = hierarchy(game, DOCUMENTS, budget=budget)
    assert game.payoffs == found.payoffs <= budget
    assert found.total is not None and found.credit.sum() == pytest.approx(found.total)
    blocks = blocks_of(found)
    assert sum(block["players"] for block in blocks) == len(NAMES)  # type: ignore[misc]
    assert sum(block["credit"] for block in blocks) == pytest.approx(found.total)  # type: ignore[misc]


def test_facts_that_are_needed_together_are_found_behind_the_rest():
    both = [NAMES.index("d7 p2 s3"), NAMES.index("d1 p0 s4")]
    game = FunctionGame(NAMES, lambda coalitions: 4.0 * coalitions[:, both].all(axis=1))
    found = hierarchy(game, DOCUMENTS, budget=256)
    assert {*found.top(2).players} == {NAMES[k] for k in both}


def test_of_several_outputs_the_first_decides_and_all_share_the_payoffs():
    weights = np.stack([random_weights(0), random_weights(1)], axis=1)
    game = counted(FunctionGames(NAMES, ("one", "two"), lambda coalitions: coalitions @ weights))
    found = hierarchy(game, DOCUMENTS, budget=100)
    assert game.payoffs <= 100
    same = [[block["first"] for block in blocks_of(found[name])] for name in ("one", "two")]
    assert same[0] == same[1]
    for name in ("one", "two"):
        assert found[name].unshared == pytest.approx(0, abs=1e-9)
