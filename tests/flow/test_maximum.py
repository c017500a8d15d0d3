"""Exact max flow: weak duality proves it, coalition by coalition and layer by layer."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import MissingExtra
from accredit.flow import LayeredNetwork, MaximumFlows, maximum_flow
from accredit.flow.certificate import conservation, over_capacity
from tests.flow.attention_samples import awkward, soft


@pytest.mark.parametrize("name", awkward(3, 6))
def test_flow_is_feasible_and_its_cut_proves_it_maximal(name):
    attention, settings = awkward(3, 6)[name]
    network = LayeredNetwork.from_attention(attention, **settings)
    flow = maximum_flow(network)
    scale = max(1e-3, float(network.capacity.max()))
    assert conservation(network, flow.edges, flow.supply, flow.demand) < 1e-12 * scale
    assert over_capacity(network, flow.edges, flow.supply, flow.demand) <= 0
    assert flow.value == pytest.approx(flow.supply.sum(), abs=1e-12 * scale)  # cut = flow: both are optimal
    assert flow.error < 1e-12 * scale
    assert flow.cut.sum() == pytest.approx(flow.value, abs=1e-12)


def beside_a_wide_edge(width, seed=0):
    """Random capacities between 0 and 1, some of them `width` instead: they carry no more for it."""
    rng = np.random.default_rng(seed)
    capacity = rng.random((4, 5, 5)) * (rng.random((4, 5, 5)) < 0.7)
    capacity[1:3][rng.random((2, 5, 5)) < 0.3] = width
    return LayeredNetwork(capacity, capacity[-1].sum(axis=1), capacity[0].sum(axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_a_wide_edge_costs_the_flow_no_digits(seed):
    narrow, wide = (maximum_flow(beside_a_wide_edge(width, seed)) for width in (1e3, 1e15))
    assert wide.value == pytest.approx(narrow.value, rel=1e-14)
    assert wide.error < 1e-14 * wide.value
    present = np.random.default_rng(seed).random((8, 5)) < 0.5
    for layer in range(5):
        values = [MaximumFlows(beside_a_wide_edge(width, seed)).values(present, layer) for width in (1e3, 1e15)]
        assert_allclose(values[1], values[0], atol=1e-14 * wide.value)


@pytest.mark.parametrize("seed", range(20))
def test_tightening_leaves_every_max_flow_and_minimum_cut(seed):
    """Capacities over 24 powers of ten; the cut that OR-tools finds must be one of the network itself."""
    rng = np.random.default_rng(seed)
    layers, tokens = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    capacity = 10 ** rng.uniform(-20, 4, (layers, tokens, tokens)) * (rng.random((layers, tokens, tokens)) < 0.8)
    network = LayeredNetwork(capacity, rng.random(tokens), rng.random(tokens) * (rng.random(tokens) < 0.8))
    tight, flow = network.tighten(), maximum_flow(network)
    assert (tight.capacity <= network.capacity).all() and ((tight.capacity > 0) == (network.capacity > 0)).all()
    assert flow.error <= 1e-12 * flow.value
    assert over_capacity(network, flow.edges, flow.supply, flow.demand) <= 0


def test_known_flow_by_hand():
    # two tokens; layer 2 sends 0.3 to token 0 and 0.7 to token 1; layer 1 lets token 0 pass 1.0 and token 1 pass 0.2
    attention = np.array([[[1.0, 0.0], [0.1, 0.1]], [[0.3, 0.7], [0.0, 0.0]]])
    flow = maximum_flow(LayeredNetwork.from_attention(attention, residual=0.0, normalise=False))
    assert flow.value == pytest.approx(0.5)
    assert flow.demand.sum() == pytest.approx(0.5)
    assert_allclose(flow.cut, [0.0, 0.2, 0.3, 0.0], atol=1e-12)


def test_players_of_any_layer_can_be_left_out_and_come_back():
    network = LayeredNetwork.from_attention(soft(3, 5))
    flows = MaximumFlows(network)
    whole = flows.value()
    keep = np.array([True, False, True, True, False])
    for layer in range(4):
        capacity, supply, demand = network.capacity.copy(), network.supply.copy(), network.demand.copy()
        if layer < 3:
            capacity[layer][:, ~keep] = 0
        else:
            supply[~keep] = 0
        expected = maximum_flow(LayeredNetwork(capacity, supply, demand)).value
        assert flows.values(keep[None], layer)[0] == pytest.approx(expected, abs=1e-12)
        assert flows.value() == whole


def test_integers_of_networks_with_large_and_tiny_capacities_stay_exact():
    for factor in (1e-12, 1.0, 1e12):
        network = LayeredNetwork.from_attention(soft(3, 6) * factor, normalise=False, residual=0.0)
        flow = maximum_flow(network)
        assert flow.error <= 1e-12 * flow.value


def test_without_or_tools_the_error_names_the_extra(monkeypatch):
    for name in ("ortools", "ortools.graph", "ortools.graph.python"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"accredit\[flow\]"):
        maximum_flow(LayeredNetwork.from_attention(soft(1, 2)))


def test_the_wider_the_pipes_at_the_end_the_less_is_gained_by_widening_one():
    """Falling returns, in every pair of pipes: what `reproduce choices` says of the halves of a pipe, in every order."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        network = LayeredNetwork.from_attention(rng.dirichlet(np.full(3, 0.4), size=(2, 3)))
        flows = MaximumFlows(network)
        v = np.array([flows.value(demand=network.demand * np.array(s) / 2) for s in np.ndindex(3, 3, 3)]).reshape(3, 3, 3)
        for i in range(3):
            for j in range(3):
                assert np.diff(np.diff(v, axis=i), axis=j).max() < 1e-7
        assert v[-1, -1, -1] > 0
