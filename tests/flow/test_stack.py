"""One graph of encoder, cross-attention and decoder, against an explicit graph solved by scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import lil_array
from scipy.sparse.csgraph import maximum_flow

from accredit.attention import joint_flow, pairwise_flow, rollout
from accredit.errors import InvalidInput
from accredit.flow import (
    AttentionStack,
    FlowGame,
    LayeredNetwork,
    credit_intervals,
    encoder_decoder,
    is_causal,
    some_layers,
    uniform_attention,
    unique_flow,
)
from tests.flow.attention_samples import causal, soft
from tests.wording import refused

UNITS = 10**6  # of scipy's integer capacities, for one


def parts(seed=0, source=4, said=3, layers=(2, 2)):
    """Random encoder, decoder and cross-attention."""
    cross = soft(layers[1], max(source, said), seed + 2)[:, :said, :source]
    return {
        "encoder": soft(layers[0], source, seed),
        "decoder": causal(soft(layers[1], said, seed + 1)),
        "cross": cross / cross.sum(axis=2, keepdims=True),
    }


def explicit(encoder, decoder, cross, outputs, sinks=None, residual=0.5):
    """The max flow of the graph as it is drawn: decoder layers read one and the same last layer of the encoder."""
    source, said = encoder.shape[1], decoder.shape[1]
    below = lambda layer, j: 2 + layer * source + j  # noqa: E731
    first = 2 + (len(encoder) + 1) * source
    own = lambda layer, i: first + layer * said + i  # noqa: E731
    graph = lil_array((first + (len(decoder) + 1) * said,) * 2, dtype=np.int32)

    def edge(a, b, capacity):
        graph[a, b] = round(capacity * UNITS)

    for layer in range(len(encoder)):
        for i, j in np.ndindex(source, source):
            edge(below(layer + 1, i), below(layer, j), (1 - residual) * encoder[layer, i, j] + residual * (i == j))
    for layer in range(len(decoder)):
        for i in range(said):
            for j in range(said):
                half = (1 - residual) / 2 * decoder[layer, i, j]
                edge(own(layer + 1, i), own(layer, j), half + residual * (i == j))
            for j in range(source):
                edge(own(layer + 1, i), below(len(encoder), j), (1 - residual) / 2 * cross[layer, i, j])
    for i in outputs:
        edge(0, own(len(decoder), i), 1.0)
    for k in range(source + said) if sinks is None else sinks:
        edge(below(0, k) if k < source else own(0, k - source), 1, 500.0)
    return maximum_flow(graph.tocsr(), 0, 1).flow_value / UNITS


@pytest.mark.parametrize("outputs", [[2], [0, 1, 2]])
@pytest.mark.parametrize("seed", range(3))
def test_the_joint_flow_is_that_of_the_explicit_graph(outputs, seed):
    tensors = parts(seed)
    stack = encoder_decoder(**tensors)
    network = LayeredNetwork.from_attention(stack, outputs=[4 + i for i in outputs])
    flow = unique_flow(network)
    assert flow.certificate.max_flow == pytest.approx(explicit(**tensors, outputs=outputs), abs=1e-4)
    assert flow.value == pytest.approx(flow.certificate.max_flow, abs=1e-6)
    most = [explicit(**tensors, outputs=outputs, sinks=[k]) for k in range(7)]
    rest = [explicit(**tensors, outputs=outputs, sinks=set(range(7)) - {k}) for k in range(7)]
    assert_allclose(credit_intervals(FlowGame(network)), np.column_stack([flow.value - np.array(rest), most]), atol=1e-4)


def test_pairwise_flows_are_those_of_the_explicit_graph():
    tensors = parts(5)
    found = pairwise_flow(encoder_decoder(**tensors), outputs=6)
    assert_allclose(found[0], [explicit(**tensors, outputs=[2], sinks=[k]) for k in range(7)], atol=1e-4)
    assert pairwise_flow(encoder_decoder(**tensors)).shape == (3, 7)  # only decoder tokens are outputs


def test_a_walk_from_the_decoder_ends_in_source_and_prefix():
    tensors = parts(1, layers=(1, 1))
    walked = rollout(encoder_decoder(**tensors))[4:]
    encoder = 0.5 * tensors["encoder"][0] + 0.5 * np.eye(4)
    assert_allclose(walked[:, :4], 0.25 * tensors["cross"][0] @ encoder, atol=1e-12)
    assert_allclose(walked[:, 4:], 0.25 * tensors["decoder"][0] + 0.5 * np.eye(3), atol=1e-12)


def test_a_carried_token_narrows_nothing():
    """All of three outputs may end in one prefix token, though a row of attention sums to 1."""
    decoder = np.zeros((1, 3, 3))
    decoder[0, :, 0] = 1.0
    stack = encoder_decoder(np.full((2, 2, 2), 0.5), decoder, np.full((1, 3, 2), 0.5))
    network = LayeredNetwork.from_attention(stack, residual=0.0)
    assert credit_intervals(FlowGame(network))[2] == pytest.approx([1.5, 1.5])
    assert network.supply.tolist() == [0, 0, 1, 1, 1]


def test_cross_attention_and_prefix_decide():
    tensors = parts(2)
    before = joint_flow(encoder_decoder(**tensors), outputs=6).credit
    for changed in ("cross", "decoder"):
        other = parts(9)[changed]
        after = joint_flow(encoder_decoder(**(tensors | {changed: other})), outputs=6).credit
        assert np.abs(after - before).max() > 1e-2


def test_some_layers():
    stack = encoder_decoder(**parts())
    assert isinstance(some_layers(stack, [1, -1]), AttentionStack)
    assert_allclose(some_layers(stack, [1, -1]).weights, stack.weights[[1, 3]])
    assert some_layers(stack, None) is stack
    for bad in (4, -5, [0, 0], [0, 4], [], 1.5, "last", [[0]]):
        with pytest.raises(InvalidInput, match="layers is"):
            some_layers(stack, bad)
    with refused("conflict", "outputs"):
        joint_flow(some_layers(stack, [0, 1]), outputs=6)


def test_uniform_attention_knows_the_mask_alone():
    even = uniform_attention(causal(soft(2, 5)))
    assert_allclose(even[0], np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None])
    stack = uniform_attention(encoder_decoder(**parts()))
    assert_allclose(stack.weights[0, :4, :4], 0.25)
    assert_allclose(stack.weights[3, 5], [0.125] * 4 + [0.25, 0.25, 0])
    assert is_causal(stack) and is_causal(even) and not is_causal(soft(2, 5)) and not is_causal(np.ones((1, 1, 1)))


def test_shapes_that_do_not_fit_are_refused():
    tensors = parts()
    with pytest.raises(InvalidInput, match="heads already combined"):
        encoder_decoder(tensors["encoder"], tensors["decoder"], tensors["cross"][:, :, :2])
    with pytest.raises(InvalidInput, match="carried"):
        AttentionStack(np.ones((2, 3, 3)), np.zeros((2, 2), bool))


def test_a_flow_that_will_not_fit_into_memory_is_refused_before_it_is_solved(monkeypatch):
    monkeypatch.setattr("accredit.flow.unique.SOLVE_BYTES", 10_000)
    with pytest.raises(InvalidInput, match=r"follow fewer layers"):
        unique_flow(LayeredNetwork.from_attention(soft(3, 20)))
