"""The Shapley value of the flow game: brute force, the base polytope, and honest intervals."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import accredit.attention.shapley as flow_values
from accredit.attention import joint_flow
from accredit.attention.shapley import CutGame, flow_shapley, gains_on_arrival
from accredit.core import Holds
from accredit.errors import InvalidInput
from accredit.flow import FlowGame, LayeredNetwork, credit_intervals, maximum_flow
from tests.flow.attention_samples import causal, soft


def by_all_orders(network, layer):
    """Average gain over all n! orders, each v(S) from a network built for S alone."""
    n = network.tokens
    known = {}

    def value(players):
        if players not in known:
            keep = np.isin(np.arange(n), list(players))
            capacity, supply, demand = network.capacity.copy(), network.supply.copy(), network.demand.copy()
            if layer < network.layers:
                capacity[layer][:, ~keep] = 0
            else:
                supply[~keep] = 0
            known[players] = maximum_flow(LayeredNetwork(capacity, supply, demand)).value
        return known[players]

    credit, orders = np.zeros(n), list(permutations(range(n)))
    for order in orders:
        for k, player in enumerate(order):
            credit[player] += value(frozenset(order[: k + 1])) - value(frozenset(order[:k]))
    return credit / len(orders)


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 1, 3])
@pytest.mark.parametrize("make", [soft, lambda *shape: causal(soft(*shape))], ids=["full", "causal"])
def test_is_the_average_over_all_orders(make, layer):
    attention = make(3, 6)
    found = joint_flow(attention, rule="shapley", layer=layer)
    assert_allclose(found.credit, by_all_orders(LayeredNetwork.from_attention(attention), layer), atol=1e-10)
    assert found.stderr is None and found.claim("symmetry").holds == Holds.EXACTLY


@pytest.mark.parametrize("seed", range(3))
def test_lies_inside_the_intervals_sums_to_the_max_flow_and_is_realised_by_a_max_flow(seed):
    attention = soft(4, 8, seed=seed, spread=3.0)
    network = LayeredNetwork.from_attention(attention, residual=0.3)
    found = joint_flow(attention, rule="shapley", residual=0.3)
    whole = maximum_flow(network).value
    low, high = credit_intervals(FlowGame(network)).T
    assert found.credit.sum() == pytest.approx(whole, abs=1e-10)
    assert (low - 1e-10 <= found.credit).all() and (found.credit <= high + 1e-10).all()
    held = maximum_flow(LayeredNetwork(network.capacity, network.supply, found.credit))
    assert held.value == pytest.approx(whole, abs=1e-10)
    assert found.certificate["realised"] == pytest.approx(whole, abs=1e-10)


@pytest.mark.parametrize("layer", [0, 2, 4])
@pytest.mark.parametrize("make", [soft, lambda *shape: causal(soft(*shape))], ids=["full", "causal"])
def test_skipping_max_flows_between_equal_cuts_changes_no_gain(make, layer):
    game = FlowGame(LayeredNetwork.from_attention(make(4, 14), residual=0.3), layer=layer)
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(np.arange(14), (6, 1)), axis=1)
    pool = CutGame(game)
    gains, solves = gains_on_arrival(game, pool, orders, game.flows.value())
    for order, gain in zip(orders, gains, strict=True):
        prefixes = np.array([np.isin(np.arange(14), order[:k]) for k in range(15)])
        assert_allclose(gain[order], np.diff(game.payoff(prefixes)), atol=1e-8)
    if game.submodular:
        assert solves < 6 * 13
    values = np.cumsum(np.take_along_axis(gains, orders, axis=1), axis=1)
    open_ended = values < game.flows.value() - 1e-8
    assert_allclose(pool.along(orders).min(axis=1)[:, 1:][open_ended], values[open_ended], atol=1e-8)  # a cut proves each


@pytest.mark.slow
def test_no_gain_is_skipped_in_an_inner_layer_where_cuts_do_not_interpolate():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        capacity = rng.integers(0, 3, (2, 4, 4)).astype(float)
        game = FlowGame(LayeredNetwork(capacity, np.ones(4), np.ones(4)), layer=1)
        orders = rng.permuted(np.tile(np.arange(4), (4, 1)), axis=1)
        gains, _ = gains_on_arrival(game, CutGame(game), orders, game.flows.value())
        for order, gain in zip(orders, gains, strict=True):
            prefixes = np.array([np.isin(np.arange(4), order[:k]) for k in range(5)])
            assert_allclose(gain[order], np.diff(game.payoff(prefixes)), atol=1e-8)


@pytest.mark.slow
def test_sampled_value_adds_up_exactly_and_repeats_with_its_seed():
    attention = soft(4, 13)
    first, second, third = (joint_flow(attention, rule="shapley", orders=60, seed=s) for s in (1, 1, 2))
    assert first == second
    assert np.abs(first.credit - third.credit).max() > 0
    assert first.unshared == pytest.approx(0, abs=1e-9)
    assert first.level == 0.95 and first.interval is not None and first.seed == 1
    assert first.claim("symmetry").holds == Holds.IN_EXPECTATION


def test_groups_bring_many_tokens_within_exact_reach():
    groups = {f"g{k}": [2 * k, 2 * k + 1] for k in range(6)}
    found = joint_flow(soft(3, 12), rule="shapley", groups=groups)
    assert found.stderr is None and len(found) == 6
    assert found.unshared == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [2, 160], ids=["poor control variate", "good control variate"])
def test_intervals_cover_the_exact_value(monkeypatch, cuts):
    # 20 independent runs, 8 players each, nominal level 0.95. The mean coverage of a run has sd below 0.1, that of 20 runs
    # below 0.023; 0.83 is five of these below 0.95: false alarms below 1e-6 if the intervals are honest.
    game = FlowGame(LayeredNetwork.from_attention(soft(3, 8)))
    truth = flow_shapley(game).credit
    monkeypatch.setattr(flow_values, "EXACT_PLAYERS", 7)
    monkeypatch.setattr(flow_values, "CUTS", cuts)
    covered, error = [], []
    for seed in range(20):
        found = flow_shapley(game, orders=60, seed=seed)
        covered.append((found.interval[:, 0] <= truth) & (truth <= found.interval[:, 1]))
        error.append((found.credit - truth) / np.maximum(found.stderr, 1e-12))
    assert np.mean(covered) > 0.83
    # unbiased: the mean of 20 standardised errors is a t-like variable of sd about 0.23; 1.2 is more than five of them
    assert np.abs(np.mean(error, axis=0)).max() < 1.2


@pytest.mark.parametrize("orders", [0, 59, 80.0, True])
def test_too_few_orders_are_refused(orders):
    with pytest.raises(InvalidInput, match="orders"):
        joint_flow(soft(2, 12), rule="shapley", orders=orders)
