"""Every line of docs/errata.md that is not tested elsewhere: the statement as printed fails here, the corrected one holds."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.attention import rollout
from accredit.core.coalitions import from_index
from accredit.evaluate import axioms_kept
from accredit.flow.commodities import multi_commodity
from accredit.flow.graph import Graph, graph_flow, least_cost
from accredit.flow.network import LayeredNetwork
from accredit.games import FunctionGame, TableGame
from accredit.shortcuts.world import Choices, World
from accredit.values import (
    DifferencesHint,
    KernelShap,
    Permutations,
    banzhaf,
    leave_one_out,
    shapley,
)
from tests.random_games import random_games
from tests.real_data import real_data

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
DIAMOND = Graph.of([("s", "a", 1), ("s", "b", 1), ("a", "t", 2), ("b", "t", 2), ("s", "t", 0)])


def additive(values):
    """The game that pays each member its own number."""
    n = len(values)
    return TableGame(range(n), from_index(np.arange(1 << n), n) @ values)


def test_any_numbers_are_the_shapley_values_of_some_game():
    """Proposition 1 and the remark on rollout, as stated: no game has attention, or rollout, for its Shapley values."""
    attention = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 4))
    for paid in (attention[-1].sum(axis=0), rollout(attention).sum(axis=0)):
        assert_allclose(shapley(additive(paid)).credit, paid)


def test_proposition_2_needs_players_at_an_end_of_the_network():
    """Players of an inner layer: the Shapley value of the re-solved game is not what any max flow sends through them."""
    pytest.importorskip("ortools")
    from accredit.flow.game import FlowGame

    capacity = np.array([[[0, 2, 1], [1, 1, 0], [2, 0, 0]], [[2, 2, 2], [2, 1, 2], [0, 0, 2]]], dtype=float)
    supply, demand = np.array([2.0, 0, 3]), np.array([1.0, 3, 2])
    network = LayeredNetwork(capacity, supply, demand)

    def most_through(credit, layer):
        """The max flow when each token of a layer passes at most its credit."""
        caps = np.full((3, 3), np.inf)
        caps[layer] = credit
        rows = [("s", f"in 2 {i}", supply[i]) for i in range(3)] + [(f"out 0 {j}", "t", demand[j]) for j in range(3)]
        rows += [(f"in {k} {i}", f"out {k} {i}", caps[k, i]) for k in range(3) for i in range(3)]
        rows += [(f"out {k + 1} {i}", f"in {k} {j}", capacity[k, i, j]) for k in range(2) for i in range(3) for j in range(3)]
        return graph_flow(Graph.of(rows), "s", "t").value

    for layer, realised in ((0, True), (1, False), (2, True)):
        phi = shapley(FlowGame(network, layer=layer))
        assert (most_through(phi.credit, layer) == pytest.approx(phi.total)) is realised


def test_null_player_symmetry_and_additivity_do_not_single_out_shapley():
    game = next(random_games(4, count=1, seed=1))
    kept = {found.axiom for found in axioms_kept(banzhaf, game) if found.verdict != "broken"}
    assert kept == {"null player", "symmetry", "linearity"}
    assert np.abs(banzhaf(game).credit - shapley(game).credit).max() > 0.01


def test_in_the_degenerate_case_shapley_is_leave_one_out_divided_by_n():
    game = TableGame("abcd", [0.0] * 15 + [1.0])
    assert_allclose(shapley(game).credit, leave_one_out(game).credit / 4)


def test_values_add_up_to_what_everybody_earns_beyond_nobody():
    """A model that has seen nothing is right half the time: the definition shares 0.4, not the 0.9 of the axiom as printed."""
    accuracy = TableGame("ab", [0.5, 0.6, 0.7, 0.9])
    by_definition = [(0.6 - 0.5 + 0.9 - 0.7) / 2, (0.7 - 0.5 + 0.9 - 0.6) / 2]  # over both orders
    assert_allclose(shapley(accuracy).credit, by_definition)
    assert shapley(accuracy).credit.sum() == pytest.approx(0.4) == pytest.approx(shapley(accuracy).total)


def test_zero_credit_is_not_a_null_player():
    game = TableGame("ab", [0, 1, 0, -1])
    assert shapley(game)["a"] == 0 and game.table[1] != game.table[0]


def test_shap_does_not_assume_that_contributions_are_linear():
    game = next(random_games(5, count=1, seed=2))
    assert_allclose(KernelShap(budget=32).solve(game).credit, shapley(game).credit, atol=1e-8)


def test_the_truncated_series_has_r_terms():
    """After r terms the error is (1 − λ)^r/λ, for every λ in (0, 1]: for A = 0.5 one term leaves 1."""
    for a in (0.1, 0.5, 1.0):
        for r in (1, 2, 5):
            left = 1 / a - sum((1 - a) ** i for i in range(r))
            assert left == pytest.approx((1 - a) ** r / a, abs=1e-12)
    assert 1 / 0.5 - 1 == 1.0
    assert 1 / 0.1 - sum(0.9**i for i in range(6)) > (1 - 0.9) ** 6 / 0.9  # λ_max does not bound it: A = diag(0.1, 0.9)


@pytest.mark.slow
def test_the_differences_hint_saves_payoffs_where_differences_vary_less():
    """At equal payoffs its error is below that of random orders in a smooth game; one payoff still buys one difference."""
    smooth = FunctionGame(range(8), lambda c: np.tanh(c @ np.linspace(0.2, 1.0, 8)))
    truth = shapley(smooth).credit

    def error(solver):
        return np.sqrt(np.mean([(solver(seed).solve(smooth).credit - truth) ** 2 for seed in range(30)]))

    hint, orders = (
        error(lambda s: DifferencesHint(budget=160, seed=s)),
        error(lambda s: Permutations(budget=160, seed=s)),
    )
    assert hint < orders


def test_super_nodes_are_not_several_commodities():
    crossed = [("s1", "t2", 1), ("s2", "t1", 1)]
    joined = Graph.of([*crossed, ("s", "s1", 1), ("s", "s2", 1), ("t1", "t", 1), ("t2", "t", 1)])
    assert graph_flow(joined, "s", "t").value == pytest.approx(2)
    assert multi_commodity(Graph.of(crossed), [("s1", "t1"), ("s2", "t2")]).value == pytest.approx(0)


def test_integer_capacities_as_printed_vanish_or_overflow():
    """Algorithm 1 scales by 10^⌊log₁₀ min⌋ and truncates everything to zero; Algorithm 2 turns the sign, and has no bound."""
    attention = np.random.default_rng(0).dirichlet(np.ones(4), size=4)
    first = 10.0 ** np.floor(np.log10(attention.min()))
    assert (first * attention).astype(int).max() == 0
    second = 10.0 ** -np.floor(np.log10(1e-20))
    assert second * 4 > np.iinfo(np.int64).max


def test_the_barrier_expands_with_a_minus():
    f, low, high = 0.3, 0.1, 1.0
    barrier = -np.log(-(f - low) * (f - high))
    assert barrier == pytest.approx(-(np.log(f - low) + np.log(high - f)))
    assert barrier != pytest.approx(np.log(f - low) + np.log(high - f))


def test_the_value_of_a_flow_leaves_the_source():
    flow = graph_flow(DIAMOND, "s", "t")
    assert flow.edges[DIAMOND.head == DIAMOND.node("s")].sum() == 0  # as printed: what enters the source
    assert flow.value == pytest.approx(2)


def test_l1_leaves_ways_of_equal_length_tied():
    """5: with l1 the objective *is transformed into a strictly convex function*. It is linear on f ≥ 0: here every maximum flow
    has the same Σ f, and each is optimal for every weight of l1."""
    square = Graph.of([("s", "a", 1), ("s", "b", 1), ("a", "t", 1), ("b", "t", 1), ("t", "u", 1)])
    found = graph_flow(square, "s", "u", rule="l1")
    assert not found.singled_out and found.another is not None
    assert found.another.sum() == pytest.approx(found.edges.sum()) and np.abs(found.another - found.edges).max() > 0.1
    assert graph_flow(square, "s", "u", rule="l2").singled_out


def test_a_newton_step_of_the_barrier_leaves_the_capacities():
    """5.1: from a feasible start *any solution we find using an iterative scheme remains feasible*. A full step from the middle
    of one edge of cost −1 goes far beyond both bounds: the step has to be cut short."""
    f, mu = 0.5, 1e-3
    slope, curvature = -1 - mu / f + mu / (1 - f), mu / f**2 + mu / (1 - f) ** 2
    assert f - slope / curvature > 100  # the capacity is 1
    cut_short = least_cost(Graph.of([("a", "b", 1, 0, -1), ("b", "a", 2)]), rule="barrier", epsilon=4 * mu)
    assert 0.9 < cut_short.edges[0] < 1


def test_a_maximum_flow_algorithm_gives_a_flow_not_the_flow():
    """Renumbered nodes are the same graph; the flow that an algorithm ends in moves, the value does not."""
    rows = [("s", "a", 1), ("s", "b", 1), ("a", "t", 1), ("b", "t", 1), ("t", "u", 1)]
    one, other = (graph_flow(Graph.of(order), "s", "u") for order in (rows, [rows[k] for k in (1, 0, 3, 2, 4)]))
    assert one.value == other.value == 1 and not one.unique
    assert one.ranges().bounds[0].tolist() == [0, 1]  # what passes a may be nothing or everything


def test_with_players_of_several_layers_it_is_the_outflow_that_does_not_add_up():
    """*The Shapley value would not be efficient*: two tokens in line earn half of the flow each; each passes all of it."""
    in_line = TableGame(["upper", "lower"], [0.0, 0.0, 0.0, 1.0])  # the flow passes only where both are open
    assert_allclose(shapley(in_line).credit, [0.5, 0.5])
    path = graph_flow(Graph.of([("s", "upper", 1), ("upper", "lower", 1), ("lower", "t", 1)]), "s", "t")
    assert path.edges[1:].sum() == 2 * path.value  # the outflows


def test_synergy_disappears_in_averages_not_in_linearity():
    """Interactions are linear in the game, too, and show what n numbers cannot: two games of equal values, one with synergy."""
    alone, together = TableGame("ab", [0.0, 1.0, 1.0, 2.0]), TableGame("ab", [0.0, 0.0, 0.0, 2.0])
    assert_allclose(shapley(alone).credit, shapley(together).credit)
    both = TableGame("ab", [0.0, 1.0, 1.0, 4.0])

    def pair(game):
        return game.table[3] - game.table[1] - game.table[2] + game.table[0]

    assert [pair(game) for game in (alone, together, both)] == [0, 2, 2]
    assert pair(both) == pair(alone) + pair(together)


def test_the_lagrangian_of_the_appendix_has_the_wrong_signs():
    """Its gradient is c + By − s_u + s_l; at an optimum, where c − By + s_u − s_l = 0, that is 2c and not 0."""
    graph = Graph.of([("a", "b", 4, 1, -3), ("b", "a", 9, 2, 1)])
    found = least_cost(graph)
    reduced = graph.cost - graph.incidence @ found.prices
    upper, lower = np.maximum(-reduced, 0), np.maximum(reduced, 0)
    assert_allclose(graph.cost - graph.incidence @ found.prices + upper - lower, 0, atol=1e-12)
    assert_allclose(graph.cost + graph.incidence @ found.prices - upper + lower, 2 * graph.cost, atol=1e-12)


def test_two_optimal_flows_give_others_only_with_weights_that_are_not_negative():
    """A sum of one is not enough (2 and −1 give a negative flow), and feasible is not enough (half a flow is not maximal)."""
    square = Graph.of([("s", "a", 1), ("s", "b", 1), ("a", "t", 1), ("b", "t", 1), ("m", "t", 1), ("a", "m", 1), ("b", "m", 1)])
    one = np.array([1, 1, 0, 1, 1, 1, 0.0])
    two = np.array([1, 1, 1, 0, 1, 0, 1.0])
    assert graph_flow(square, "s", "t").value == pytest.approx(2)
    for flow in (one, two, (one + two) / 2):
        net = square.incidence.T @ flow
        assert_allclose(net[[square.node("a"), square.node("b"), square.node("m")]], 0, atol=1e-12)
        assert (flow >= 0).all() and (flow <= square.capacity).all()
    assert (2 * one - two).min() < 0
    nothing = np.zeros(7)
    assert ((one + nothing) / 2)[:2].sum() == 1  # of 2: feasible flows mix to feasible ones, not to optimal ones


def test_equation_8_has_no_strictly_feasible_point_with_an_edge_on_no_path():
    """A dead end carries 0 in every circulation, so log(f − l) is never finite there: such edges are held, and reported."""
    dead_end = Graph.of([("s", "a", 1), ("a", "t", 1), ("a", "x", 1), ("t", "s", 1, 0, -1)])
    flows = [graph_flow(dead_end, "s", "t", rule=rule).edges[2] for rule in ("none", "l2", "l1")]
    assert flows == [0, 0, 0]
    cycles = np.linalg.svd(dead_end.incidence.T.toarray())[2][3:]  # all circulations, whatever the bounds
    assert_allclose(cycles[:, 2], 0, atol=1e-12)
    assert least_cost(dead_end, rule="barrier").held.tolist() == [False, False, True, False]


def test_super_sink_edges_as_printed_carry_nothing():
    """3.1.2 and both algorithms: an edge from the super-sink *to* each sink. Nothing ever reaches the super-sink."""
    inner = [("super-source", "s1", 1), ("super-source", "s2", 1), ("s1", "t1", 1), ("s2", "t2", 1)]
    printed = Graph.of([*inner, ("super-sink", "t1", 1), ("super-sink", "t2", 1)])
    turned = Graph.of([*inner, ("t1", "super-sink", 1), ("t2", "super-sink", 1)])
    assert graph_flow(printed, "super-source", "super-sink").value == 0
    assert graph_flow(turned, "super-source", "super-sink").value == pytest.approx(2)


def test_the_minimum_of_a_comparison_is_a_truth_value():
    """min(A > 0) is 0 or 1, not the smallest positive weight: its logarithm is −∞ with a zero anywhere, and 0 otherwise."""
    attention = np.array([[0.25, 0.75], [0.5, 0.5]])
    assert np.min(attention > 0) == 1 and attention[attention > 0].min() == 0.25
    assert (10.0 ** np.floor(np.log10(float(np.min(attention > 0)))) * attention).astype(int).max() == 0  # all is cut off
    with np.errstate(divide="ignore"):
        assert np.log10(float(np.min(np.tril(attention) > 0))) == -np.inf


def test_neither_algorithm_computes_a_flow():
    """4.1 credits two maximum flows to Algorithms 1 and 2: they return capacities, which are not conserved."""
    pytest.importorskip("ortools")
    from accredit.flow.network import flow_matrix

    network = LayeredNetwork.from_attention(np.random.default_rng(5).dirichlet(np.ones(3), size=(2, 3)))
    matrix = flow_matrix(network)[0]
    inner = slice(1, -1)
    assert np.abs(matrix.sum(axis=0) - matrix.sum(axis=1))[inner].max() > 0.1


def test_a_strictly_convex_objective_has_one_optimal_point_not_one_feasible_point():
    """5.1: *therefore have a unique feasible solution*. Two flows are feasible here, one is optimal for the barrier."""
    square = Graph.of([("s", "a", 1), ("s", "b", 1), ("a", "t", 1), ("b", "t", 1), ("t", "u", 1)])
    centre = graph_flow(square, "s", "u", rule="barrier")
    assert centre.singled_out and not centre.unique and centre.another is not None
    both = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 1.0]])
    assert_allclose(square.incidence[:, [1, 2, 3]].T @ both.T, 0)  # a, b and t conserve either
    assert_allclose(centre.edges, [0.5, 0.5, 0.5, 0.5, 1], atol=1e-5)


def test_the_proof_by_unanimity_games_needs_an_empty_coalition_that_earns_nothing():
    """10.2.5 writes U as a sum over T including ∅; what the empty coalition earns belongs to no player."""
    game = TableGame("ab", [3.0, 4.0, 5.0, 7.0])
    assert shapley(game).credit.sum() == pytest.approx(7 - 3)  # not U(N): the term of T = ∅ is shared with nobody


def test_a_mask_that_sees_the_label_is_itself_a_code():
    """S4 3.1: the best mask is chosen with y at hand. Two features that are right three times in four: the one that agrees
    with the label is shown, and the choice tells more than the value that it shows."""
    agrees = np.array([[9, 3, 3, 1], [1, 3, 3, 9]]).T / 32  # P(x, y): features are right independently
    world = World(agrees)
    best = world.given[[1, 2]]  # (masks, cases, classes): what an honest reader of one feature believes
    law = np.zeros((4, 2, 4))  # P(x, y, m): for every case and label the mask of smallest loss
    for case in range(4):
        for label in range(2):
            law[case, label, [1, 2][best[:, case, label].argmax()]] = agrees[case, label]
    chosen = Choices(world, law)
    assert chosen.encoding > 0.05
    assert world.choose(np.array([True, False])).encoding == pytest.approx(0)  # one mask for all is not a code


def test_pretraining_does_not_guarantee_an_interpretation():
    """S4 4.1: a reader that learned from random masks is unbiased, P(y | x_S). A selector that has seen the answer and is
    trained against that very reader still encodes: of two words that disagree it shows the one that agrees with the answer."""
    world = World(np.array([[9, 3, 3, 1], [1, 3, 3, 9]]).T / 32).decide()  # the answer ŷ; where the words disagree, class 0
    reader = world.given  # perfectly pretrained
    answer = world.joint.argmax(axis=1)
    pick = np.array([[1, 2][reader[[1, 2], case, answer[case]].argmax()] for case in range(4)])
    chosen = world.choose(world.masks[pick])
    shown = reader[pick, np.arange(4)]
    assert (shown.argmax(axis=1) == answer).all()  # the unbiased reader always finds the answer
    assert chosen.encoding > 0.1  # because the choice speaks, too


def test_the_cures_do_not_outperform_most_benchmarks_of_their_own_table():
    from accredit_papers.selection_report import BENCHMARKS, CURES, published

    ahead = {
        (name, cure): sum(published(name, cure) > published(name, other) for other in BENCHMARKS)
        for name in ("imdb", "yelp", "mnist", "fashion")
        for cure in CURES
    }
    assert [case for case, count in ahead.items() if count <= len(BENCHMARKS) / 2] == [
        ("yelp", "l2x+answer+weighting"),
        ("mnist", "l2x+answer+pretraining"),
    ]
    assert (ahead["yelp", "l2x+answer+weighting"], ahead["mnist", "l2x+answer+pretraining"]) == (3, 0)


def test_a_concept_that_raises_a_logit_may_lower_the_probability():
    """Two classes whose logits rise by 1 and by 2 along the concept: the first class's S(x) is positive, its chances fall."""
    slopes = np.array([1.0, 2.0])

    def probability(along):
        raised = np.exp(slopes * along)
        return raised[0] / raised.sum()

    assert slopes[0] > 0 and probability(0.01) < probability(0.0)


def test_digits_are_not_placed_randomly():
    """The centre of mass of MNIST's 3 and 8 has a spread of 0.29 pixels, that of clothes 0.40 sideways and 0.83 upright."""
    spreads = {}
    for name in ("mnist_3v8.npz", "fashion_mnist_pullover_v_shirt.npz"):
        data = np.load(real_data(name), allow_pickle=False)
        pictures = np.concatenate([data[k].reshape(-1, 28, 28) for k in data.files if k.startswith("x")]).astype(float)
        weight = pictures.sum(axis=(1, 2))
        rows = (pictures.sum(axis=2) @ np.arange(28)) / weight
        columns = (pictures.sum(axis=1) @ np.arange(28)) / weight
        spreads[name] = (rows.std(), columns.std())
    digits, clothes = spreads.values()
    assert_allclose(digits, 0.29, atol=0.005)
    assert_allclose(clothes, (0.83, 0.40), atol=0.005)


def test_every_line_names_what_shows_it():
    """The last column of the page holds a test that exists."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) == 36
    for row in rows:
        shown = row.rsplit("|", 2)[1]
        files = re.findall(r"`(tests/[\w/]+\.py)", shown)
        assert all((PAGE.parents[1] / file).exists() for file in files)
        assert files, row
