"""Raw attention, rollout and pairwise flow as scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.attention import pairwise_flow, raw_attention, rollout
from accredit.errors import InvalidInput
from tests.flow.attention_samples import causal, soft


def test_rollout_is_a_random_walk_down_the_layers():
    attention = soft(3, 4)
    walk = np.eye(4)
    for layer in attention:
        walk = (0.7 * layer + 0.3 * np.eye(4)) @ walk
    assert_allclose(rollout(attention, residual=0.3), walk)
    assert_allclose(rollout(attention).sum(axis=1), 1)


def test_rollout_of_pure_residual_is_the_identity():
    assert_allclose(rollout(soft(3, 4), residual=1.0), np.eye(4))


def test_rollout_of_causal_attention_looks_back_only():
    assert (np.triu(rollout(causal(soft(4, 5))), 1) == 0).all()


def test_raw_attention_picks_a_layer():
    attention = soft(3, 4)
    assert_allclose(raw_attention(attention), attention[-1])
    assert_allclose(raw_attention(attention, layer=0), attention[0])
    with pytest.raises(InvalidInput, match="layer"):
        raw_attention(attention, layer=3)


def test_pairwise_flow_of_one_layer_is_its_capacity():
    attention = soft(1, 4)
    assert_allclose(pairwise_flow(attention, residual=0.0), attention[0])


def test_pairwise_rows_follow_the_outputs_asked_for():
    attention = soft(3, 5)
    every = pairwise_flow(attention)
    assert every.shape == (5, 5)
    assert_allclose(pairwise_flow(attention, outputs=[4, 0]), every[[4, 0]])
    assert_allclose(pairwise_flow(attention, outputs=-1), every[[4]])


def test_pairwise_flow_is_no_division():
    attention = soft(12, 16)
    row = pairwise_flow(attention, outputs=0)[0]
    assert row.sum() > 5  # the output token can emit 1


def test_pairwise_flow_bounds_rollout():
    attention = soft(4, 6)  # the walk's mass is a flow of value R[i, j] from i to j
    assert (pairwise_flow(attention) >= rollout(attention) - 1e-12).all()


@pytest.mark.parametrize("function", [rollout, pairwise_flow, raw_attention])
def test_bad_attention_is_refused(function):
    with pytest.raises(InvalidInput, match="shape"):
        function(np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="sums to"):
        function(np.ones((1, 2, 2)))
    with pytest.raises(InvalidInput, match="negative"):
        function(-np.ones((1, 2, 2)))


def test_bad_outputs_are_refused():
    for outputs in (5, [0, 0], [], 0.5):
        with pytest.raises(InvalidInput, match="outputs"):
            pairwise_flow(soft(2, 3), outputs=outputs)
