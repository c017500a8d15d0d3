"""Joint flow: what is claimed, what is certified, and the readings built on it."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.attention import frozen_flow, joint_flow, layerwise_flow, solve_joint, spent_tokens
from accredit.core import Attribution, Holds
from accredit.errors import InvalidInput
from accredit.evaluate.axioms import check_claims
from accredit.flow import FlowGame, LayeredNetwork
from tests.flow.attention_samples import awkward, causal, soft
from tests.wording import refused, says

RULES = ("barrier", "l2", "shapley")
CARRIED = {
    "rule",
    "value",
    "max_flow",
    "gap",
    "conservation",
    "iterations",
    "epsilon",
    "epsilon_reached",
    "binding_layer",
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", awkward(2, 6))
def test_credit_is_efficient_and_certified_on_awkward_input(rule, name):
    attention, settings = awkward(3, 6)[name]
    found = joint_flow(attention, rule=rule, **settings)
    assert found.certificate.keys() >= CARRIED
    assert found.certificate["gap"] >= 0 and found.certificate["conservation"] <= 1e-9
    assert abs(found.unshared) <= (1e-6 if rule == "barrier" else 1e-9)
    assert (found.credit >= 0).all()
    assert Attribution.from_json(found.to_json()) == found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layer", [0, 1, 3])
def test_claims_hold_in_the_re_solved_game(rule, layer):
    attention = causal(soft(3, 5, seed=1))
    found = joint_flow(attention, rule=rule, layer=layer, outputs=3)
    game = FlowGame(LayeredNetwork.from_attention(attention, outputs=3), layer=layer)
    check_claims(found, game)


def test_flow_rules_are_not_symmetric_in_the_game_and_say_so():
    # input 0 is reached by one path, input 1 by two; both could take the whole unit, so v cannot tell them apart
    capacity = np.zeros((2, 3, 3))
    capacity[1, 0] = 1.0
    capacity[0] = [[1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 0]]
    settings = {"outputs": np.array([1 / 3, 0, 0]), "residual": 0.0, "normalise": False}
    assert joint_flow(capacity, rule="shapley", **settings).credit == pytest.approx([0.5, 0.5, 0.0])
    for rule in ("barrier", "l2"):
        found = joint_flow(capacity, rule=rule, **settings)
        assert found.credit[1] - found.credit[0] > 0.05
        assert found.claim("symmetry").holds == Holds.NO


@pytest.mark.parametrize("rule", RULES)
def test_null_players_get_exactly_nothing(rule):
    found = joint_flow(causal(soft(4, 6)), outputs=2, rule=rule)
    assert (found.credit[3:] == 0).all()
    assert (found.credit[:3] > 0).all()


def test_null_players_get_exactly_nothing_from_sampled_orders():
    found = joint_flow(causal(soft(3, 14)), outputs=5, rule="shapley", orders=60)
    assert found.stderr is not None
    assert (found.credit[6:] == 0).all() and (found.interval[6:] == 0).all()
    assert (found.credit[:6] > 0).all()


def test_names_groups_and_layers():
    attention = soft(4, 6)
    names = ["a", "b", "c", "d", "e", "f"]
    single = joint_flow(attention, layer=2, players=names)
    merged = joint_flow(attention, layer=2, players=names, groups={"ends": ["a", 5]})
    assert single.players == tuple(names)
    assert merged["ends"] == pytest.approx(single["a"] + single["f"], abs=1e-12)
    with pytest.raises(InvalidInput, match="overlap"):
        joint_flow(attention, groups={"x": [0], "y": [0]})
    with refused("shape", "players"):
        joint_flow(attention, players=["a"])


def test_bad_rules_are_refused_with_the_reason():
    with refused("unsupported", "rule"):
        joint_flow(soft(2, 3), rule="l1")
    with pytest.raises(InvalidInput, match="rule"):
        joint_flow(soft(2, 3), rule="max")
    with pytest.raises(InvalidInput, match="epsilon"):
        joint_flow(soft(2, 3), epsilon=0)
    with pytest.raises(InvalidInput, match="layer"):
        joint_flow(soft(2, 3), layer=3)
    with pytest.raises(InvalidInput, match="out of range"):
        joint_flow(soft(2, 3), outputs=7)


@pytest.mark.parametrize("rule", ["barrier", "l2", "shapley"])
def test_layerwise_is_joint_flow_layer_by_layer(rule):
    attention = soft(3, 4)
    every = layerwise_flow(attention, rule=rule, outputs=1)
    assert len(every) == 4
    for layer, found in enumerate(every):
        assert_allclose(found.credit, joint_flow(attention, rule=rule, outputs=1, layer=layer).credit, atol=1e-12)


def test_spent_tokens_are_those_above_which_no_flow_passes():
    # token 1 passes its content to token 0 in layer 1; above it carries nothing
    attention = np.array([[[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [1.0, 0.0]]])
    every = layerwise_flow(attention, outputs=0, residual=0.0)
    assert [(t.player, t.layer) for t in spent_tokens(every)] == [("1", 1)]
    assert says(str(spent_tokens(every)[0]), "below layer 1")
    shapley = layerwise_flow(attention, outputs=0, residual=0.0, rule="shapley")
    assert spent_tokens(shapley) == spent_tokens(every)
    with pytest.raises(InvalidInput, match="layerwise_flow"):
        spent_tokens([every[0], joint_flow(attention, groups={"g": [0]})])


def test_frozen_reading_calls_any_flow_a_shapley_value():
    attention = soft(3, 5)
    for rule in ("barrier", "l2"):
        credit, game = frozen_flow(attention, rule=rule)
        check_claims(credit, game)
        assert credit.claim("uniqueness").holds == Holds.NO
        assert credit.method.name == "frozen-flow"
    a, b = (frozen_flow(attention, rule=rule)[0].credit for rule in ("barrier", "l2"))
    assert np.abs(a - b).max() > 0.01  # two flows, both "their own Shapley value"


def test_solve_joint_shows_the_flow_behind_the_credit():
    attention = soft(4, 6)
    flow = solve_joint(attention, rule="l2")
    assert flow.edges.shape == (4, 6, 6) and flow.through.shape == (5, 6)
    for layer in range(5):
        assert_allclose(flow.through[layer], joint_flow(attention, rule="l2", layer=layer).credit, atol=1e-12)
    assert_allclose(flow.edges.sum(axis=1), flow.through[:-1], atol=1e-9)  # what arrives is what passes
    json.dumps(flow.certificate.as_dict())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": "small"}, "epsilon must be one number, got 'small'"),
        ({"rule": "shapley", "seed": -1}, "seed must be"),
        ({"groups": [[0, 1]]}, "write a mapping"),
        ({"groups": {"g": 2}}, r"groups\['g'\] is the int 2"),
    ],
)
def test_wrong_types_are_named(settings, words):
    with pytest.raises(InvalidInput, match=words):
        joint_flow(soft(2, 3), **settings)
