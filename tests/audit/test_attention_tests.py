"""Attention tests on models whose answers under any attention are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from accredit.audit.attention import (
    adversary,
    adversary_finding,
    jensen_shannon,
    permutation_finding,
    permute,
    rank_agreement,
    rank_finding,
    total_variation,
)
from accredit.errors import InvalidInput


def votes(values):
    """Probability of class 1 is Σ α_t v_t: an answer that is linear in attention. (N, T) values."""
    v = torch.tensor(values, dtype=torch.float32)

    def answer(attention):  # (K, N, H, T)
        p = (attention.mean(dim=2) * v).sum(dim=-1)
        return torch.stack([1 - p, p], dim=-1)

    return answer


def test_divergences_by_hand():
    a, b = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])
    # m = (3/4, 1/4): ½[½ log(2/3) + ½ log 2] + ½ log(4/3)
    expected = 0.5 * (0.5 * np.log(2 / 3) + 0.5 * np.log(2)) + 0.5 * np.log(4 / 3)
    assert float(jensen_shannon(a, b)) == pytest.approx(expected, abs=1e-6)
    assert float(jensen_shannon(a, a)) == 0
    assert float(total_variation(torch.tensor([0.9, 0.1]), torch.tensor([0.6, 0.4]))) == pytest.approx(0.3)


def test_divergence_has_a_gradient_where_tokens_are_absent():
    logits = torch.tensor([[[0.3, -0.2, -torch.inf]]], requires_grad=True)
    own = torch.tensor([[[0.9, 0.1, 0.0]]])
    torch.autograd.backward(jensen_shannon(logits.softmax(dim=-1), own).sum())
    assert torch.isfinite(logits.grad[..., :2]).all()
    assert (logits.grad[..., :2] != 0).all()


def test_shuffles_of_one_hot_attention():
    """One of four tokens counts and holds all attention: three of four shuffles move the answer from 1 to 0."""
    attention, there = torch.tensor([[[1.0, 0, 0, 0]]]), torch.ones(1, 4, dtype=torch.bool)
    assert permute(votes([[1.0, 0, 0, 0]]), attention, there, 101)[0] == 1
    assert permute(votes([[1.0, 1, 1, 1]]), attention, there, 101)[0] == 0


def test_shuffles_stay_among_tokens_that_are_there():
    """All present tokens vote alike, padding would not: a shuffle that used it would move the answer."""
    attention = torch.tensor([[[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]]])
    there = torch.tensor([[True, True, False]])
    assert permute(votes([[1.0, 1.0, 0.0]]), attention, there, 50)[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_the_adversary_finds_the_twin_and_only_the_twin():
    """Row 0: tokens 0 and 1 vote alike, so attention can move to the twin. Row 1: only token 0 votes 1, the rest 0, so
    the same answer needs the same attention on it: JSD is bounded by what 5 % of the mass can do."""
    own = torch.tensor([[[0.98, 0.01, 0.01]], [[0.98, 0.01, 0.01]]])
    there = torch.ones(2, 3, dtype=torch.bool)
    result = adversary(votes([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), own, there, steps=300, rate=0.05)
    assert result.found.tolist() == [True, True]
    assert result.divergence[0] > 0.55
    assert result.divergence[1] < 0.05
    assert (result.moved <= 0.05).all()
    assert result.attention[0, 0, 1] > 0.8
    np.testing.assert_allclose(result.attention.sum(axis=-1), 1, atol=1e-5)


def test_the_adversary_gives_padding_nothing():
    own, there = torch.tensor([[[0.5, 0.5, 0.0]]]), torch.tensor([[True, True, False]])
    result = adversary(votes([[0.5, 0.5, 0.5]]), own, there, steps=100, rate=0.05)
    assert result.attention[0, 0, 2] == 0
    assert result.divergence[0] > 0.1


def test_rank_agreement_leaves_padding_out():
    attention = np.array([[0.6, 0.3, 0.1, 0.0], [1.0, 0.0, 0.0, 0.0]])
    other = np.array([[3.0, 2.0, 1.0, 9.0], [1.0, 0.0, 0.0, 0.0]])
    there = np.array([[True, True, True, False], [True, False, False, False]])
    tau = rank_agreement(attention, other, there)
    assert tau[0] == 1
    assert np.isnan(tau[1])
    assert rank_finding("gradients", "gradients", tau).value == 1
    with pytest.raises(InvalidInput, match="two tokens"):
        rank_finding("gradients", "gradients", tau[1:])


def test_equal_scores_rank_nothing():
    """Deleting one of five equal words changes nothing: that is no evidence against attention."""
    first, same = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 0.5, 0.5]])
    assert np.isnan(rank_agreement(first, same, np.ones((1, 3), dtype=bool))).all()
    assert np.isnan(rank_agreement(same, first, np.ones((1, 3), dtype=bool))).all()


def test_verdicts_point_the_right_way():
    many = np.ones(100)
    assert rank_finding("gradients", "gradients", 0.9 * many).verdict == "passes"
    assert rank_finding("gradients", "gradients", 0.1 * many).verdict == "flagged"
    assert permutation_finding(0.4 * many).verdict == "passes"
    assert permutation_finding(0.01 * many).verdict == "flagged"
    assert adversary_finding(0.6 * many, many > 0).verdict == "flagged"
    assert adversary_finding(0.02 * many, many > 0).verdict == "passes"


def test_one_candidate_is_refused():
    with pytest.raises(InvalidInput, match="two candidates"):
        adversary(votes([[1.0, 0.0]]), torch.ones(1, 1, 2) / 2, torch.ones(1, 2, dtype=torch.bool), candidates=1)


def test_attention_that_moves_the_answer_does_not_count():
    """One small step from a random start cannot bring the answer back: nothing is found, and nothing is reported."""
    own, there = torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 2, dtype=torch.bool)
    result = adversary(votes([[1.0, 0.0]]), own, there, steps=1, allowed=0.0)
    assert result.found.tolist() == [False]
    assert result.divergence.tolist() == [0.0]
