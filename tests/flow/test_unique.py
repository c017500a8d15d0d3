"""Unique flows, checked by certificate: feasible, within ε, dual gap, and independent of numbering and direction."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import accredit.flow.central_path as central_path
from accredit.errors import InvalidInput, NotConverged
from accredit.flow import FlowGame, LayeredNetwork, circulation, credit_intervals, kkt_of, maximum_flow, unique_flow
from accredit.flow.central_path import LayeredLaplacian, central_point
from accredit.flow.certificate import conservation, over_capacity
from accredit.flow.layout import Layout
from tests.flow.attention_samples import awkward, causal, soft
from tests.wording import refused

RULES = ("barrier", "l2")
SHAPES = ((1, 1), (1, 5), (3, 1), (2, 6), (12, 16))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", awkward(2, 6))
def test_every_flow_carries_a_certificate_that_checks(rule, shape, name):
    attention, settings = awkward(*shape)[name]
    network = LayeredNetwork.from_attention(attention, **settings)
    flow = unique_flow(network, rule)
    said = flow.certificate
    assert conservation(network, flow.edges, flow.supply, flow.demand) <= 1e-9
    assert over_capacity(network, flow.edges, flow.supply, flow.demand) <= 1e-15
    exact = maximum_flow(network)
    assert said.max_flow == pytest.approx(exact.value, abs=1e-11)
    assert exact.value - 1e-6 - exact.error <= flow.value <= exact.value + 1e-9
    if rule == "l2":
        assert flow.value >= exact.value * (1 - 1e-9) - exact.error
    assert 0 <= said.gap <= (1e-6 if rule == "barrier" else 1e-9) * (1 + 1e-6)
    assert_allclose(flow.through.sum(axis=1), flow.value, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("make", [soft, lambda *shape: causal(soft(*shape))], ids=["full", "causal"])
def test_same_flow_after_renumbering_and_after_turning_every_edge_round(rule, make):
    network = LayeredNetwork.from_attention(make(8, 20))
    flow = unique_flow(network, rule)
    order = np.random.default_rng(3).permutation(20)
    other = unique_flow(network.renumber(order), rule)
    assert_allclose(other.edges, flow.edges[:, order][:, :, order], atol=1e-8)
    turned = unique_flow(network.reverse(), rule)
    assert_allclose(turned.edges, flow.edges[::-1].transpose(0, 2, 1), atol=1e-8)


def test_plain_solvers_depend_on_the_numbering():
    network = LayeredNetwork.from_attention(soft(8, 20))
    order = np.random.default_rng(3).permutation(20)
    here, there = maximum_flow(network), maximum_flow(network.renumber(order))
    assert here.value == pytest.approx(there.value, abs=1e-11)
    assert np.abs(there.demand - here.demand[order]).max() > 0.1


@pytest.mark.parametrize("rule", RULES)
def test_equal_tokens_get_equal_credit(rule):
    attention = soft(6, 10)
    swap = np.array([1, 0, *range(2, 10)])
    alike = (attention + attention[:, swap][:, :, swap]) / 2
    flow = unique_flow(LayeredNetwork.from_attention(alike), rule)
    assert_allclose(flow.through[:, 0], flow.through[:, 1], atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_credit_lies_inside_the_intervals_over_all_max_flows(rule):
    network = LayeredNetwork.from_attention(soft(5, 9))
    low, high = credit_intervals(FlowGame(network)).T
    credit = unique_flow(network, rule).demand
    assert (low - 1e-6 <= credit).all() and (credit <= high + 1e-9).all()
    assert (high - low > 0.05).any()  # otherwise this network says nothing about uniqueness


def test_barrier_is_centred_and_the_kkt_residuals_are_its_mu():
    network = LayeredNetwork.from_attention(soft(4, 8)).prune()
    point = central_point(network, mu=1e-8)
    residuals = kkt_of(network, point)
    assert residuals.stationarity < 1e-12 and residuals.negative_multiplier == 0 and residuals.conservation < 1e-12
    assert residuals.complementarity == pytest.approx(1e-8, rel=0.1)
    assert 0 <= residuals.gap <= 1e-8 * 2 * network.edges
    assert point.off_centre <= 1e-8


def test_the_circulation_of_least_cost_is_a_maximum_flow():
    network = LayeredNetwork.from_attention(soft(3, 5))
    problem = circulation(network)
    assert_allclose(problem.incidence.sum(axis=1), 0)  # every edge leaves one node and enters another
    bounds = np.stack([np.zeros_like(problem.upper), problem.upper], axis=1)
    solved = linprog(problem.cost, A_eq=problem.incidence.T, b_eq=np.zeros(problem.incidence.shape[1]), bounds=bounds)
    assert solved.fun == pytest.approx(-maximum_flow(network).value, abs=1e-6)


def test_barrier_maximises_its_own_objective():
    network = LayeredNetwork.from_attention(soft(3, 5)).prune()
    mu = 1e-3
    point = central_point(network, mu=mu)

    def objective(edges, supply, demand):
        pairs = ((edges, network.capacity), (supply, network.supply), (demand, network.demand))
        return supply.sum() + mu * sum((np.log(f) + np.log(u - f)).sum() for f, u in pairs)

    best = objective(point.edges, point.supply, point.demand)
    rng = np.random.default_rng(0)
    other = maximum_flow(network)
    for _ in range(20):  # towards other flows, and around random cycles
        share = rng.uniform(1e-6, 1e-4)
        mix = [
            (1 - share) * a + share * b
            for a, b in zip((point.edges, point.supply, point.demand), (other.edges, other.supply, other.demand), strict=True)
        ]
        assert objective(*mix) < best + 1e-12
        cycle = np.zeros_like(point.edges)
        (i, k), (j, m) = rng.choice(5, 2, replace=False), rng.choice(5, 2, replace=False)
        cycle[1, i, j] = cycle[1, k, m] = 1e-5
        cycle[1, i, m] = cycle[1, k, j] = -1e-5
        assert objective(point.edges + cycle, point.supply, point.demand) < best


def test_l2_has_the_least_squares_of_all_max_flows():
    network = LayeredNetwork.from_attention(soft(4, 8))
    flow = unique_flow(network, "l2")
    squares = (flow.edges**2).sum() + (flow.supply**2).sum() + (flow.demand**2).sum()
    for other in (maximum_flow(network), unique_flow(network, "barrier", epsilon=1e-9)):
        inner = sum(
            (a * b).sum() for a, b in ((flow.edges, other.edges), (flow.supply, other.supply), (flow.demand, other.demand))
        )
        assert inner >= squares - 1e-6  # the least-norm point of a convex set: ⟨f, g - f⟩ ≥ 0 for every other max flow g


def test_l2_is_the_same_beside_an_edge_that_is_wider_than_any_flow():
    rng = np.random.default_rng(4)
    capacity = rng.random((5, 4, 4))
    flows = []
    for width in (1e2, 1e12):
        capacity[2, 0] = width
        flows.append(unique_flow(LayeredNetwork(capacity, np.full(4, 0.3), capacity[0].sum(axis=0)), "l2"))
    assert_allclose(flows[1].edges, flows[0].edges, atol=1e-7)
    assert flows[1].certificate.epsilon_reached == pytest.approx(0.0, abs=1e-9)
    assert flows[1].certificate.conservation < 1e-10


@pytest.mark.parametrize("seed", [12, 102, 171])
def test_barrier_ends_where_rounding_keeps_it_from_the_very_centre(seed):
    """Capacities over ten powers of ten, a max flow of 1e5: the last digits of the central path are rounding."""
    rng = np.random.default_rng(seed)
    tokens, layers = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    attention = np.exp(rng.uniform(1, 8) * rng.normal(size=(layers, tokens, tokens)))
    network = LayeredNetwork.from_attention(attention, normalise=False, residual=rng.choice([0, 0.5]))
    flow = unique_flow(network)
    assert flow.certificate.epsilon_reached <= 1e-6 + 1e-15 * flow.value
    assert flow.certificate.conservation <= 1e-9 * flow.value
    assert flow.certificate.iterations < 50


def test_l1_cannot_choose_because_all_paths_are_equally_long():
    network = LayeredNetwork.from_attention(soft(5, 7))
    sums = []
    for seed in range(6):
        flow = maximum_flow(network.renumber(np.random.default_rng(seed).permutation(7)))
        sums.append(flow.edges.sum() + flow.supply.sum() + flow.demand.sum())
    assert_allclose(sums, (5 + 2) * maximum_flow(network).value, atol=1e-10)
    with refused("unsupported", "rule"):
        unique_flow(network, "l1")


def test_smaller_epsilon_loses_less_and_stays_within_its_promise():
    network = LayeredNetwork.from_attention(soft(6, 12))
    lost = [unique_flow(network, epsilon=e).certificate.epsilon_reached for e in (1e-1, 1e-3, 1e-5, 1e-7)]
    assert all(deficit <= e for deficit, e in zip(lost, (1e-1, 1e-3, 1e-5, 1e-7), strict=True))
    assert lost == sorted(lost, reverse=True)


def test_the_flow_scales_with_the_capacities():
    attention = soft(4, 6)
    whole = unique_flow(LayeredNetwork.from_attention(attention, residual=0.0)).demand
    small = unique_flow(LayeredNetwork.from_attention(attention * 1e-7, residual=0.0, normalise=False)).demand
    assert_allclose(small * 1e7, whole, atol=1e-5)  # both within 1e-6 of the same analytic centre


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf, 1e-20])
def test_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        unique_flow(LayeredNetwork.from_attention(soft(2, 3)), epsilon=epsilon)


def test_unknown_rule_is_refused():
    with pytest.raises(InvalidInput, match="barrier"):
        unique_flow(LayeredNetwork.from_attention(soft(2, 3)), "entropy")


def test_a_solve_that_does_not_converge_raises(monkeypatch):
    monkeypatch.setattr(central_path, "MAX_ITERATIONS", 3)
    with pytest.raises(NotConverged, match="iterations"):
        unique_flow(LayeredNetwork.from_attention(soft(3, 6)))


@pytest.mark.parametrize("kind", ["full", "causal", "causal, two outputs"])
def test_laplacian_solves_the_grounded_system(kind):
    rng = np.random.default_rng(0)
    layers, tokens = 3, 150  # more than one tile, and more than one block of rows
    weights = rng.uniform(0.1, 2, (layers, tokens, tokens))
    supply, demand = rng.uniform(0.1, 1, tokens), rng.uniform(0.1, 1, tokens)
    if kind != "full":
        weights = np.tril(weights)
    if kind.endswith("outputs"):
        supply[:-2] = 0
    network = LayeredNetwork(weights, supply, demand).prune()
    live = network.alive().ravel()
    dense = np.zeros((live.size,) * 2)
    for layer in range(layers):
        low, high = slice(layer * tokens, (layer + 1) * tokens), slice((layer + 1) * tokens, (layer + 2) * tokens)
        dense[high, low] -= network.capacity[layer]
        dense[low, high] -= network.capacity[layer].T
    dense -= np.diag(dense.sum(axis=1))
    dense[range(-tokens, 0), range(-tokens, 0)] += network.supply
    dense[range(tokens), range(tokens)] += network.demand
    right = np.where(live, rng.normal(size=live.size), 0.0)
    layout = Layout(network)
    laplacian = LayeredLaplacian(layout)
    laplacian.factor(layout.pack(network))
    facing = right.reshape(layers + 1, tokens)[:: -1 if layout.turned else 1, :: -1 if layout.turned else 1]
    found = layout.potentials(laplacian.solve(np.concatenate([facing[k, n] for k, n in enumerate(layout.nodes)])))
    found = 1 - found if layout.turned else found  # `potentials` also exchanges source and sink
    assert layout.turned == kind.endswith("outputs")
    assert layout.edges < network.capacity.size * (0.7 if kind != "full" else 1.1)
    assert_allclose(found.ravel()[live], np.linalg.solve(dense[live][:, live], right[live]), atol=1e-10)


def test_a_layout_packs_every_live_edge_once():
    network = LayeredNetwork.from_attention(causal(soft(3, 80)), outputs=[70, 75]).prune()
    layout = Layout(network)
    packed = layout.pack(network)
    for part, whole in zip(layout.unpack(packed), (network.capacity, network.supply, network.demand), strict=True):
        assert_allclose(part, whole, atol=0)
    assert np.count_nonzero(packed) == network.edges
