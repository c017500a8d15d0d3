"""The three propositions: the games they rest on, by hand, and the verdicts on the built-in model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.values import leave_one_out, shapley
from accredit_papers import propositions as p
from accredit_papers.verdicts import Found
from tests.wording import reads

A = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.1, 0.3, 0.6]])
TOKENS = ("x", "y", "z")


def test_in_the_game_of_the_proof_everyone_adds_one():
    game = p.renormalise_game(A, TOKENS)
    # x alone attends to itself, so it plays; the row of x gives z nothing, but x and z together still pay one each.
    assert_allclose(game.table, [0, 1, 1, 2, 1, 2, 2, 3])
    assert_allclose(shapley(game).credit, 1)


def test_attention_within_a_coalition_shares_half_and_half():
    game = p.plain_game(A, TOKENS)
    assert game.table[0b011] == pytest.approx(0.5 + 0.5 + 0.2 + 0.2)
    assert_allclose(shapley(game).credit, (1 + A.sum(axis=0)) / 2)


def test_a_projected_game_is_not_additive_and_both_values_agree():
    game = p.project_game(np.random.default_rng(0), 4)
    assert_allclose(leave_one_out(game).credit, shapley(game).credit, atol=1e-12)
    assert abs(game.table[3] - game.table[1] - game.table[2]) > 0.01
    assert abs(game.table[0]) < 1e-12


def test_flows_solved_anew_by_hand():
    pytest.importorskip("ortools")
    one_layer = np.array([[[0.5, 0.5], [0.0, 1.0]]])
    game = p.resolve_game(one_layer, ("a", "b"))  # residual ½: capacities ¾ ¼ / 0 1; sink edges ¾ and 1¼
    assert_allclose(game.table, [0, 0.75, 1.25, 2.0])
    total, credit = p.inflow(one_layer, np.array([1, 0]))
    assert total == pytest.approx(2.0)
    assert_allclose(credit, [0.75, 1.25])


@pytest.mark.slow
def test_verdicts_on_the_built_in_model():
    pytest.importorskip("torch")
    pytest.importorskip("ortools")
    from accredit.arena.texts import load

    report = p.propositions(load("builtin"), quick=True)
    fallen = [v.statement for v in report.verdicts if v.found is Found.REFUTED]
    assert len(report.verdicts) == 21
    assert report.verdicts[-1].found is Found.OPEN  # eight sentences do not tell whether flow reflects confidence
    assert reads([s[:20] for s in fallen])


def test_flow_that_grows_with_confidence_is_seen_to():
    """Sixty pairs in the same order, and sixty fixed pairs in no order."""
    from accredit_papers.beside_propositions import correlate

    x = np.arange(60.0)
    assert correlate(x, np.sqrt(x), 0).value == pytest.approx(1)
    shuffled = correlate(x, np.random.default_rng(0).permutation(60) * 1.0, 0)
    assert abs(shuffled.value) < 0.6 and 0 in shuffled
