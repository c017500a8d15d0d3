"""Networks: the rule for super edges, both directions, pruning, integer scaling, and refused input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from accredit.errors import InvalidInput
from accredit.flow import LayeredNetwork, flow_matrix, maximum_flow
from accredit.flow.network import INTEGER_BITS, integer_shift, output_weights, with_residual
from tests.flow.attention_samples import causal, soft


def test_super_edges_carry_what_their_token_can_pass_on():
    network = LayeredNetwork.from_attention(soft(3, 5))
    assert_allclose(network.supply, network.capacity[-1].sum(axis=1))
    assert_allclose(network.demand, network.capacity[0].sum(axis=0))


def test_super_edges_never_narrow_the_network():
    network = LayeredNetwork.from_attention(soft(4, 6))
    wide = LayeredNetwork(network.capacity, np.full(6, 6.0), np.full(6, 6.0))
    assert maximum_flow(wide).value == pytest.approx(maximum_flow(network).value, abs=1e-12)


def test_output_weight_opens_its_source_edge_by_that_share():
    half = LayeredNetwork.from_attention(soft(3, 4), outputs=np.array([0.5, 0, 0, 0]))
    assert_allclose(half.supply, [0.5, 0, 0, 0])
    assert maximum_flow(half).value == pytest.approx(0.5)


def test_residual_mixes_with_the_identity():
    assert_allclose(with_residual(np.ones((1, 2, 2)), 0.25), [[[1.0, 0.75], [0.75, 1.0]]])


def test_the_two_directions_are_transposes_with_the_same_max_flow():
    network = LayeredNetwork.from_attention(soft(3, 4))
    backward, units, scale = flow_matrix(network, "backward")
    forward, _, _ = flow_matrix(network, "forward")
    assert_array_equal(forward, backward.T)
    assert_allclose(backward[4 + 1 : 8 + 1, 1 : 4 + 1], network.capacity[0])
    assert_allclose(units / scale, backward, atol=1 / scale)
    assert (units[backward > 0] > 0).all()  # a scale below 1 would truncate every capacity to zero
    assert maximum_flow(network.reverse()).value == pytest.approx(maximum_flow(network).value, abs=1e-12)


def test_integer_scale_is_bounded_by_the_total_not_by_the_smallest_weight():
    tiny = soft(2, 4)
    tiny[0, 0, 0] = 1e-30
    _, units, scale = flow_matrix(LayeredNetwork.from_attention(tiny, normalise=False))
    assert units.sum() < 2 ** (INTEGER_BITS + 1)
    assert scale == 2.0 ** integer_shift(1.0) / 2 ** np.ceil(np.log2(units.sum() / scale))


def test_pruning_empties_only_what_lies_on_no_path():
    network = LayeredNetwork.from_attention(causal(soft(4, 6)), outputs=2)
    pruned = network.prune()
    assert pruned.edges < network.edges
    assert maximum_flow(pruned).value == pytest.approx(maximum_flow(network).value, abs=1e-12)
    alive = pruned.alive()
    assert not alive[:, 3:].any()  # a causal output sees no later token
    assert not alive[-1, :2].any()
    useful = alive[1:, :, None] & alive[:-1, None, :]
    assert (pruned.capacity[~useful] == 0).all()
    assert_array_equal(pruned.capacity[useful], network.capacity[useful])


def test_reversing_twice_and_renumbering_back_give_the_network_back():
    network = LayeredNetwork.from_attention(soft(3, 5), outputs=1)
    twice = network.reverse().reverse()
    order = np.random.default_rng(0).permutation(5)
    back = network.renumber(order).renumber(np.argsort(order))
    for other in (twice, back):
        assert_array_equal(other.capacity, network.capacity)
        assert_array_equal(other.supply, network.supply)
        assert_array_equal(other.demand, network.demand)


BAD = {
    "rank": (np.ones((2, 2)), {}, "shape"),
    "not square": (np.ones((1, 2, 3)), {}, "shape"),
    "empty": (np.ones((0, 2, 2)), {}, "empty"),
    "negative": (-np.eye(2)[None], {}, "negative"),
    "not finite": (np.full((1, 2, 2), np.nan), {}, "finite"),
    "words": ([["a"]], {}, "numbers"),
    "complex": (soft(1, 3) + 0j, {}, "real numbers"),
    "too large": (
        np.full((1, 2, 2), 1e308),
        {"normalise": False},
        r"is 1e\+308; a capacity must be a finite",
    ),
    "row sums": (np.full((1, 2, 2), 0.4), {}, "sums to 0.8"),
    "zero row": (np.array([[[1.0, 0.0], [0.0, 0.0]]]), {}, "normalise=False"),
    "output beyond": (soft(1, 3), {"outputs": 3}, "out of range"),
    "output below": (soft(1, 3), {"outputs": -4}, "out of range"),
    "output twice": (soft(1, 3), {"outputs": [1, -2]}, "twice"),
    "output word": (soft(1, 3), {"outputs": "cls"}, "outputs"),
    "no output": (soft(1, 3), {"outputs": []}, "outputs"),
    "weights too long": (soft(1, 3), {"outputs": np.ones(4)}, "shape"),
    "weights above one": (soft(1, 3), {"outputs": np.array([2.0, 1, 1])}, "divide by the largest"),
    "weights all zero": (soft(1, 3), {"outputs": np.zeros(3)}, "weight 0"),
    "residual": (soft(1, 3), {"residual": 1.5}, "residual"),
    "residual word": (soft(1, 3), {"residual": "half"}, "residual must be one number, got 'half'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_name(name):
    attention, settings, words = BAD[name]
    with pytest.raises(InvalidInput, match=words):
        LayeredNetwork.from_attention(attention, **settings)


def test_half_precision_rows_are_accepted_and_made_exact():
    rough = soft(2, 8).astype(np.float16)
    assert_allclose(LayeredNetwork.from_attention(rough).capacity.sum(axis=2), 1, atol=1e-15)


def test_weights_from_none_index_and_list():
    assert_array_equal(output_weights(None, 2), [1, 1])
    assert_array_equal(output_weights(-1, 3), [0, 0, 1])
