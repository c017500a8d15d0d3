"""Pairwise flow with and without a solver, and the game of the flow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.flow import (
    FlowGame,
    FrozenFlowGame,
    LayeredNetwork,
    PairFlows,
    credit_intervals,
    maximum_flow,
    pair_bounds,
)
from accredit.flow import unique_flow as solve
from accredit.flow.network import with_residual
from tests.flow.attention_samples import awkward, soft


def one_pair(capacity, i, j):
    """The definition: a network with only (L, i) fed and only (0, j) drained."""
    supply, demand = np.zeros(capacity.shape[1]), np.zeros(capacity.shape[1])
    supply[i], demand[j] = capacity[-1, i].sum(), capacity[0, :, j].sum()
    return maximum_flow(LayeredNetwork(capacity, supply, demand)).value


@pytest.mark.parametrize("shape", [(1, 4), (2, 5), (3, 6), (8, 6), (4, 1)], ids=str)
@pytest.mark.parametrize("name", awkward(2, 6))
def test_rows_equal_one_max_flow_a_pair(shape, name):
    attention, settings = awkward(*shape)[name]
    capacity = LayeredNetwork.from_attention(attention, **settings).capacity
    flows = PairFlows(capacity)
    for i in {0, shape[1] - 1}:
        expected = [one_pair(capacity, i, j) for j in range(shape[1])]
        assert_allclose(flows.row(i), expected, atol=1e-11)


def test_deep_attention_needs_no_solver_and_the_flows_written_down_are_right():
    capacity = with_residual(soft(12, 24), 0.5)
    flows = PairFlows(capacity)
    row = flows.row(5)
    assert flows.solves < 24  # the join settles most pairs
    assert_allclose(row, [one_pair(capacity, 5, j) for j in range(24)], atol=1e-11)
    assert_allclose(row, pair_bounds(capacity, 5), atol=1e-11)  # collapse: layers 2 … L-1 leave no trace


@pytest.mark.parametrize("neck", [2, 5, 6, 9])
def test_a_join_is_never_claimed_where_some_inner_layer_is_too_narrow(neck):
    capacity = with_residual(soft(12, 16), 0.5)
    capacity[neck] *= 0.02
    flows = PairFlows(capacity)
    assert_allclose(flows.row(0), [one_pair(capacity, 0, j) for j in range(16)], atol=1e-11)
    assert (flows.row(0) < pair_bounds(capacity, 0) - 0.1).any()


@pytest.mark.filterwarnings("error")
def test_capacities_of_any_size_are_joined_or_solved_in_silence():
    capacity = 10 ** np.random.default_rng(0).uniform(-200, 3, (8, 6, 6))
    assert_allclose(PairFlows(capacity).row(1), [one_pair(capacity, 1, j) for j in range(6)], rtol=1e-9, atol=1e-14)


def all_coalitions(n):
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)


@pytest.mark.parametrize("layer", [0, 3], ids=["input", "output"])
def test_the_game_at_either_end_is_a_polymatroid(layer):
    network = LayeredNetwork.from_attention(soft(3, 5, seed=2), residual=0.2)
    value = FlowGame(network, layer=layer).payoff(all_coalitions(5))
    assert value[0] == 0
    for i in range(5):
        for j in range(i + 1, 5):
            rest = np.array([s for s in range(32) if not s >> i & 1 and not s >> j & 1])
            gain = value[rest | 1 << i] - value[rest]
            assert (gain >= -1e-12).all()
            assert (value[rest | 1 << i | 1 << j] - value[rest | 1 << j] <= gain + 1e-12).all()


def test_the_game_of_an_inner_layer_need_not_be_submodular():
    # two inner tokens, each with half of what the other needs: complements arise when paths must pass both layers' gates
    found = False
    for seed in range(200):
        rng = np.random.default_rng(seed)
        capacity = rng.integers(0, 3, (2, 3, 3)).astype(float)
        network = LayeredNetwork(capacity, np.array([1.0, 1, 1]), np.array([1.0, 1, 1]))
        value = FlowGame(network, layer=1).payoff(all_coalitions(3))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            rest = [s for s in range(8) if not s >> i & 1 and not s >> j & 1]
            for s in rest:
                found |= value[s | 1 << i | 1 << j] + value[s] > value[s | 1 << i] + value[s | 1 << j] + 1e-9
    assert found


def test_intervals_are_reached_by_max_flows():
    network = LayeredNetwork.from_attention(soft(4, 6))
    game = FlowGame(network)
    whole = game.flows.value()
    for j, (low, high) in enumerate(credit_intervals(game)):
        demand = network.demand.copy()
        demand[j] = high
        only = maximum_flow(LayeredNetwork(network.capacity, network.supply, np.eye(6)[j] * network.demand))
        assert only.value == pytest.approx(high, abs=1e-11)
        demand[j] = low
        assert maximum_flow(LayeredNetwork(network.capacity, network.supply, demand)).value == pytest.approx(whole, abs=1e-10)
        demand[j] = max(0.0, low - 1e-3)
        if low > 1e-3:
            shrunk = maximum_flow(LayeredNetwork(network.capacity, network.supply, demand)).value
            assert shrunk == pytest.approx(whole - 1e-3, abs=1e-9)


def test_groups_play_as_one():
    network = LayeredNetwork.from_attention(soft(3, 5))
    game = FlowGame(network, groups={"ends": [0, "4"]})
    assert game.players == ("ends", "1", "2", "3")
    single = FlowGame(network)
    assert_allclose(
        game.payoff(np.array([[True, False, True, False]])), single.payoff(np.array([[True, False, True, False, True]]))
    )


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"a": [0, 1], "b": [1]}, "overlap"),
        ({"a": []}, "empty"),
        ({"a": [9]}, "index"),
        ({"a": ["nobody"]}, "nobody"),
        ({"a": "0"}, "string"),
        ({"1": [0]}, "choose another name"),
    ],
)
def test_bad_groups_are_refused(groups, words):
    with pytest.raises(InvalidInput, match=words):
        FlowGame(LayeredNetwork.from_attention(soft(2, 3)), groups=groups)


@pytest.mark.parametrize("layer", [4, -5, 1.0, True])
def test_bad_layers_are_refused(layer):
    with pytest.raises(InvalidInput, match="layer"):
        FlowGame(LayeredNetwork.from_attention(soft(3, 3)), layer=layer)


def test_a_frozen_flow_is_additive():
    game = FrozenFlowGame(solve(LayeredNetwork.from_attention(soft(3, 4))), layer=2)
    value = game.payoff(all_coalitions(4))
    assert_allclose(value, all_coalitions(4) @ value[[1, 2, 4, 8]])
