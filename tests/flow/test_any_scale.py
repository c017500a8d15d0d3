"""Flows whose capacities are hundreds of powers of ten apart, checked against whole-number arithmetic without any rounding."""

from collections import deque
from fractions import Fraction

import numpy as np
import pytest

from accredit.attention import flow_report, joint_flow, pairwise_flow
from accredit.errors import AccreditError, InvalidInput
from accredit.flow import LayeredNetwork, maximum_flow
from accredit.flow.pairs import PairFlows
from accredit.flow.unique import unique_flow

ROUNDING = Fraction(1, 10**14)


def exact_max_flow(network: LayeredNetwork) -> Fraction:
    """Augmenting paths, shortest first, on capacities as fractions: doubles are fractions."""
    layers, tokens = network.layers, network.tokens
    room: dict[object, dict[object, Fraction]] = {"source": {}, "sink": {}}

    def edge(tail, head, capacity):
        room.setdefault(tail, {})[head] = Fraction(float(capacity))
        room.setdefault(head, {}).setdefault(tail, Fraction(0))

    for i in range(tokens):
        edge("source", (layers, i), network.supply[i])
        edge((0, i), "sink", network.demand[i])
        for layer, j in ((layer, j) for layer in range(layers) for j in range(tokens)):
            edge((layer + 1, i), (layer, j), network.capacity[layer, i, j])
    total = Fraction(0)
    while True:
        came: dict[object, object] = {"source": None}
        waiting = deque(["source"])
        while waiting and "sink" not in came:
            node = waiting.popleft()
            for head, left in room[node].items():
                if left > 0 and head not in came:
                    came[head] = node
                    waiting.append(head)
        if "sink" not in came:
            return total
        path, node = [], "sink"
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        pushed = min(room[a][b] for a, b in path)
        for a, b in path:
            room[a][b] -= pushed
            room[b][a] += pushed
        total += pushed


def networks(count: int, seed: int):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        layers, tokens = (int(k) for k in rng.integers(1, 4, 2))
        span = int(rng.choice([1, 18, 40, 300]))
        low = rng.uniform(-300, 149 - span) if span < 300 else -300

        def draw(*shape, low=low, span=span):
            powers = rng.uniform(0, span, shape) if rng.random() < 0.5 else span * rng.integers(0, 2, shape)
            return np.where(rng.random(shape) < 0.25, 0.0, 10.0 ** np.clip(low + powers, -307, 149.9))

        capacity = draw(layers, tokens, tokens)
        ends = (capacity[-1].sum(axis=1), capacity[0].sum(axis=0)) if rng.random() < 0.5 else (draw(tokens), draw(tokens))
        yield LayeredNetwork(capacity, *ends)


@pytest.mark.slow
def test_flows_cuts_and_certificates_are_right_at_every_scale():
    refused = 0
    for network in networks(120, seed=3):
        truth = exact_max_flow(network)
        flow = maximum_flow(network)
        assert abs(Fraction(flow.value) - truth) <= ROUNDING * truth
        assert abs(Fraction(flow.reached) - truth) <= ROUNDING * truth
        assert abs(Fraction(float(network.cut_parts(flow.source_side).sum())) - truth) <= ROUNDING * truth
        for rule in ("barrier", "l2"):
            try:
                found = unique_flow(network, rule)
            except AccreditError:
                refused += 1
                continue
            assert abs(Fraction(found.certificate.max_flow) - truth) <= ROUNDING * truth
            assert abs(Fraction(float(network.cut_parts(found.source_side).sum())) - truth) <= ROUNDING * truth
            assert truth - Fraction(found.value) <= Fraction(found.certificate.epsilon_reached) + truth / 10**9
    assert refused < 40  # of 240, where capacities are hundreds of powers of ten apart


@pytest.mark.slow
def test_pairs_are_right_at_every_scale():
    for network in networks(25, seed=5):
        flows, one = PairFlows(network.capacity), np.eye(network.tokens)
        for i in range(network.tokens):
            row = flows.row(i)
            for j in range(network.tokens):
                pair = LayeredNetwork(
                    network.capacity,
                    one[i] * network.capacity[-1].sum(axis=1),
                    one[j] * network.capacity[0].sum(axis=0),
                )
                truth = exact_max_flow(pair)
                assert abs(Fraction(float(row[j])) - truth) <= truth / 10**12


@pytest.mark.parametrize("wide", [1e18, 1e30, 1e149])
def test_one_wide_edge_does_not_hide_the_others(wide):
    capacity = np.ones((2, 2, 2))
    capacity[0, 0, 0] = wide
    given = {"normalise": False, "residual": 0}
    assert joint_flow(capacity, rule="l2", **given).total == pytest.approx(4, rel=1e-9)
    assert joint_flow(capacity, rule="shapley", **given).total == pytest.approx(4, rel=1e-9)
    assert flow_report(
        capacity, trials=0, flow=unique_flow(LayeredNetwork(np.ones((2, 2, 2)), [2, 2], [2, 2])), **given
    ).max_flow == pytest.approx(4)
    assert pairwise_flow(capacity, **given).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("factor", [1e-305, 1e-300, 1e-250, 1e-18, 1.0, 1e100])
def test_a_common_factor_changes_nothing_but_the_scale(factor):
    capacity = np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 3))
    one, scaled = (pairwise_flow(capacity * f, normalise=False, residual=0) for f in (1.0, factor))
    np.testing.assert_allclose(scaled / factor, one, rtol=1e-9)
    credit = [joint_flow(capacity * f, normalise=False, residual=0, rule="shapley").credit / f for f in (1.0, factor)]
    np.testing.assert_allclose(credit[1], credit[0], rtol=1e-9)


def test_the_cut_of_a_network_with_dead_ends_is_a_cut_of_that_network():
    capacity = np.zeros((2, 3, 3))
    capacity[1, 0, 0], capacity[0, 0, 0] = 1.0, 1.0  # the one path
    capacity[1, 0, 1] = capacity[1, 0, 2] = 2.5  # nothing leads on from here
    network = LayeredNetwork(capacity, capacity[1].sum(axis=1), capacity[0].sum(axis=0))
    for rule in ("barrier", "l2"):
        flow = unique_flow(network, rule)
        assert network.cut_parts(flow.source_side).sum() == pytest.approx(flow.certificate.max_flow) == 1.0
    nowhere = LayeredNetwork(capacity * [[[1]], [[0]]], [1, 1, 1], [1, 1, 1])
    assert nowhere.cut_parts(unique_flow(nowhere).source_side).sum() == 0


@pytest.mark.parametrize(
    ("capacity", "supply", "demand", "why"),
    [
        (-np.ones((1, 2, 2)), [1, 1], [1, 1], "capacity.*must not be negative"),
        (np.full((1, 2, 2), np.nan), [1, 1], [1, 1], "capacity.*finite number"),
        (np.ones((1, 2, 2)), [1, np.inf], [1, 1], r"supply\[1\] is inf"),
        (np.ones((1, 2, 2)), [1, 1], [1e200, 1], r"demand\[0\] is 1e\+200"),
        (np.ones((1, 2, 3)), [1, 1], [1, 1], "capacity has shape"),
        (np.ones((2, 2)), [1, 1], [1, 1], "capacity has shape"),
        (np.ones((0, 2, 2)), [1, 1], [1, 1], "capacity has shape"),
        (np.ones((1, 2, 2)), [1, 1, 1], [1, 1], "supply has shape"),
        (np.ones((1, 2, 2)), [1, 1], [[1, 1]], "demand has shape"),
        (np.ones((1, 2, 2)), [1, 1j], [1, 1], "supply must be real"),
    ],
)
def test_networks_check_what_they_are_given(capacity, supply, demand, why):
    with pytest.raises(InvalidInput, match=why):
        LayeredNetwork(capacity, supply, demand)
