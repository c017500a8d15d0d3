"""Joint attention flow: one max flow from the output tokens to the input tokens, its credit shared among the tokens of a layer.

A max flow is seldom unique, so "the" credit exists only after a rule has picked one flow, or one point among the
credits of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accredit import defaults
from accredit.attention.shapley import FlowShapley, flow_shapley
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.flow.certificate import Flow, conservation
from accredit.flow.game import FlowGame, FrozenFlowGame, Groups, members
from accredit.flow.maximum import check_layer
from accredit.flow.network import LayeredNetwork, Outputs
from accredit.flow.rules import allowed_loss
from accredit.flow.unique import FlowRule, unique_flow

JointRule = Literal["barrier", "l2", "shapley"]
RANGE = "credit_intervals gives the range over all max flows"
ZERO_SHARE = 1e-9  # credit below this share of the total reads as none
ORDERS = 200  # random orders of `shapley` with more than 12 players


@check_arguments
def joint_flow(
    attention: object,
    *,
    outputs: Outputs = None,
    layer: int = 0,
    rule: JointRule | str = "barrier",
    epsilon: float | None = None,
    residual: float = 0.5,
    groups: Groups = None,
    seed: int = 0,
    normalise: bool = True,
    players: Iterable[str] | None = None,
    orders: int | None = None,
    super_edges: float | None = None,
) -> Attribution:
    r"""Credit of the tokens of one layer (0: input … L: output) for the flow from the outputs to the inputs.

    `barrier` takes the flow at the analytic centre of all max flows, to within `epsilon` (a millionth) of it; `l2` the
    max flow of least Σ f²; `shapley` the Shapley value of the re-solved game v(S) = max flow through S, exactly for
    up to 12 players and else from `orders` (200) random orders (`seed`) with 95 % intervals. All three are unique and do
    not depend on the numbering of tokens. `outputs` are the tokens the source feeds: all, one index, a list, or a
    vector of weights in [0, 1]. `groups` merges tokens into players: {"name": [indices or names]}; `players` names
    the tokens. `normalise=False` admits capacities that are not attention, such as gradients. `super_edges` gives source and
    sink edges that capacity (the number of tokens, in the text that proposed it) instead of what their token can pass on.

    Cost: `barrier` 10–40 Newton steps of O(L·T³), `shapley` up to n max flows per order. Needs the `[flow]` extra.

    >>> a = [[[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.1, 0.4, 0.5]]] * 2
    >>> credit = joint_flow(a, outputs=0, players=["the", "cat", "sat"], rule="l2")
    >>> credit.as_dict() == {'the': credit['the'], 'cat': credit['cat'], 'sat': 0.0}
    True
    >>> round(credit.total, 6)
    1.0
    """
    _check_unused(rule, epsilon, orders)
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    if super_edges is not None:
        network = network.with_super_edges(super_edges)
    place = check_layer(layer, network.layers)
    if rule == "shapley":
        return _shapley_credit(network, place, groups, players, ORDERS if orders is None else orders, seed)
    names, belongs = members(network.tokens, groups, players)
    return _flow_credit(unique_flow(network, rule, epsilon=epsilon), place, names, belongs)


def _check_unused(rule: str, epsilon: float | None, orders: int | None = None) -> None:
    """Refuse a setting of another rule."""
    allowed_loss(rule, epsilon)
    if orders is not None and rule != "shapley":
        raise InvalidInput(
            f"orders is {orders!r}, and rule {rule!r} has no use for it; leave it out, or write rule='shapley'",
            argument="orders",
            code="misplaced",
        )


@check_arguments
def solve_joint(
    attention: object,
    *,
    outputs: Outputs = None,
    rule: FlowRule | str = "barrier",
    epsilon: float | None = None,
    residual: float = 0.5,
    normalise: bool = True,
) -> Flow:
    """The flow behind `joint_flow`, edge by edge: `.edges` (L, T, T), `.through` (L+1, T), `.certificate`.

    >>> solve_joint(np.full((3, 2, 2), 0.5)).through.round(4).shape
    (4, 2)
    """
    _check_unused(rule, epsilon)
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    return unique_flow(network, rule, epsilon=epsilon)


@check_arguments
def flow_credit(flow: Flow, *, layer: int = 0, groups: Groups = None, players: Iterable[str] | None = None) -> Attribution:
    """The credit of a flow that is already solved, as `joint_flow` gives it for the same rule.

    >>> flow_credit(solve_joint(np.eye(2)[None])).credit.round(4).tolist()
    [1.0, 1.0]
    """
    layers, tokens = flow.through.shape[0] - 1, flow.through.shape[1]
    names, belongs = members(tokens, groups, players)
    return _flow_credit(flow, check_layer(layer, layers), names, belongs)


@check_arguments
def layerwise_flow(
    attention: object,
    *,
    outputs: Outputs = None,
    rule: JointRule | str = "barrier",
    epsilon: float | None = None,
    residual: float = 0.5,
    groups: Groups = None,
    seed: int = 0,
    normalise: bool = True,
    players: Iterable[str] | None = None,
    orders: int | None = None,
) -> tuple[Attribution, ...]:
    """`joint_flow` for the tokens of every layer: L+1 attributions, input first. `barrier` and `l2` solve once for all.

    >>> [round(float(a.credit.sum()), 6) for a in layerwise_flow(np.full((2, 3, 3), 1 / 3), rule="l2")]
    [3.0, 3.0, 3.0]
    """
    _check_unused(rule, epsilon, orders)
    network = LayeredNetwork.from_attention(attention, outputs=outputs, residual=residual, normalise=normalise)
    named = tuple(players) if players is not None else None
    places = range(network.layers + 1)
    if rule == "shapley":
        return tuple(
            _shapley_credit(network, place, groups, named, ORDERS if orders is None else orders, seed) for place in places
        )
    names, belongs = members(network.tokens, groups, named)
    flow = unique_flow(network, rule, epsilon=epsilon)
    return tuple(_flow_credit(flow, place, names, belongs) for place in places)


@check_arguments
def frozen_flow(
    attention: object,
    *,
    outputs: Outputs = None,
    layer: int = 0,
    rule: FlowRule | str = "barrier",
    epsilon: float | None = None,
    residual: float = 0.5,
    groups: Groups = None,
    normalise: bool = True,
    players: Iterable[str] | None = None,
) -> tuple[Attribution, FrozenFlowGame]:
    """Proposition 2 of Ethayarajh & Jurafsky (2021), read as it stands: one flow is frozen and its additive game is shared out.

    The Shapley value of that game is the flow itself, whichever flow was frozen. So all four axioms hold, and say
    nothing about the choice of the flow. Returns the credit and the game it belongs to; for the game in which
    coalitions may re-route, use `joint_flow(rule="shapley")`.

    >>> credit, game = frozen_flow(np.full((2, 2, 2), 0.5), outputs=0, rule="l2")
    >>> credit.credit.round(3), game.payoff(np.array([[True, True]])).round(3)
    (array([0.563, 0.437]), array([1.]))
    """
    flow = solve_joint(attention, outputs=outputs, rule=rule, epsilon=epsilon, residual=residual, normalise=normalise)
    game = FrozenFlowGame(flow, layer=layer, groups=groups, players=players)
    why = "the frozen game is additive: each player adds its own flow to every coalition"
    claims = tuple(Claim(axiom, Holds.EXACTLY, why) for axiom in ("efficiency", "symmetry", "null player", "linearity"))
    freedom = Claim("uniqueness", Holds.NO, "every max flow is the Shapley value of its own frozen game")
    attribution = Attribution(
        game.players,
        game.through,
        total=float(game.through.sum()),
        method=Procedure("frozen-flow", settings={"layer": game.layer, "rule": rule}),
        claims=(*claims, freedom),
        precision=Precision.exact("the flow is frozen, and its game additive"),
        baseline=0.0,
        certificate=flow.certificate.as_dict(),
    )
    return attribution, game


@dataclass(frozen=True)
class SpentToken:
    """A player that carries flow just below a layer and none at it.

    >>> print(SpentToken("the", 2))
    'the' is a null player at layer 2 but not at layer 1: everything the flow takes from it is used below layer 2
    """

    player: str
    layer: int

    def __str__(self) -> str:
        return (
            f"{self.player!r} is a null player at layer {self.layer} but not at layer {self.layer - 1}: "
            f"everything the flow takes from it is used below layer {self.layer}"
        )


@check_arguments
def spent_tokens(layerwise: Sequence[Attribution]) -> tuple[SpentToken, ...]:
    """The null-player reading: where a token's credit is zero at layer k but not at layer k-1, from `layerwise_flow`.

    For `shapley` a zero credit makes the token a null player of the flow game, because the game is monotone. For the
    other rules it says that the chosen flow passes the token by.

    >>> chain = layerwise_flow(np.eye(2)[None].repeat(2, 0), outputs=0, residual=0.0)
    >>> spent_tokens(chain)
    ()
    """
    found = []
    for layer in range(1, len(layerwise)):
        here, below = layerwise[layer], layerwise[layer - 1]
        if here.players != below.players:
            raise InvalidInput(
                "layerwise holds attributions of different players; pass the result of layerwise_flow",
                argument="layerwise",
                code="conflict",
            )
        limit = ZERO_SHARE * max(below.total or 0.0, here.total or 0.0)
        gone = (here.credit <= limit) & (below.credit > limit)
        found += [SpentToken(here.players[k], layer) for k in np.flatnonzero(gone)]
    return tuple(found)


def _flow_credit(flow: Flow, layer: int, names: tuple[str, ...], belongs: object) -> Attribution:
    """Credit = what the chosen flow sends through each player."""
    certificate = flow.certificate
    if certificate.epsilon is None:
        efficient = Claim("efficiency", Holds.EXACTLY, "the flow is a max flow, and all of it passes the players' layer")
    else:
        efficient = Claim("efficiency", Holds.IN_THE_LIMIT, "credit sums to the max flow less a deficit of at most epsilon")
    claims = (
        efficient,
        Claim(
            "symmetry",
            Holds.NO,
            "tokens the network cannot tell apart get equal credit, but equal payoffs alone do not suffice",
        ),
        Claim(
            "null player",
            Holds.EXACTLY,
            "a player that adds nothing lies on no path with room, and edges off all paths are empty",
        ),
        Claim("linearity", Holds.NO, "the chosen flow is not additive in the capacities"),
        Claim("uniqueness", Holds.EXACTLY, "the rule maximises a strictly concave function over flows"),
    )
    rough = {} if certificate.epsilon is None else {"epsilon": certificate.epsilon}
    return Attribution(
        names,
        belongs @ flow.through[layer],
        total=certificate.max_flow,
        method=Procedure("joint-flow", settings={"rule": certificate.rule, "layer": layer} | rough),
        claims=claims,
        precision=Precision.exact(f"there is no sampling error; {RANGE}")
        if certificate.epsilon is None
        else Precision.unknown(f"the flow may miss the maximum by epsilon; {RANGE}"),
        baseline=0.0,
        certificate=certificate.as_dict(),
    )


def _shapley_credit(
    network: LayeredNetwork, layer: int, groups: Groups, players: Iterable[str] | None, orders: int, seed: int
) -> Attribution:
    game = FlowGame(network, layer=layer, groups=groups, players=players)
    found = flow_shapley(game, orders=orders, seed=seed)
    exact = found.orders is None
    random = Holds.EXACTLY if exact else Holds.IN_EXPECTATION
    why = "Shapley value from all coalitions" if exact else "unbiased over random orders"
    claims = (
        Claim("efficiency", Holds.EXACTLY, "gains along an order telescope to the max flow"),
        Claim("symmetry", random, why),
        Claim(
            "null player",
            Holds.EXACTLY,
            "a null player carries nothing alone, so it is pruned and adds nothing in any order",
        ),
        Claim("linearity", random, why),
        Claim("uniqueness", random, why),
    )
    certificate = _shapley_certificate(game, found)
    drawn = {} if exact else {"orders": orders, "seed": seed}
    return Attribution(
        game.players,
        found.credit,
        total=found.total,
        method=Procedure("joint-flow", settings={"rule": "shapley", "layer": layer} | drawn),
        claims=claims,
        stderr=found.stderr,
        interval=found.interval,
        level=None if exact else defaults.LEVEL,
        precision=Precision.exact()
        if exact
        else Precision.interval("Student t over random orders, with the minimum over known cuts as control variate"),
        baseline=0.0,
        payoffs=found.solves,
        seed=None if exact else seed,
        stopped="" if exact else f"{orders} orders",
        certificate=certificate,
    )


def _shapley_certificate(game: FlowGame, found: FlowShapley) -> dict[str, object]:
    """The exact max flow, and, for single tokens of the input layer, whether a max flow realises the credit."""
    whole = game.flows.solve()
    numbers: dict[str, object] = {
        "rule": "shapley",
        "value": float(found.credit.sum()),
        "max_flow": whole.value,
        "max_flow_error": whole.error,
        "gap": whole.error,
        "conservation": conservation(game.network, whole.edges, whole.supply, whole.demand),
        "iterations": found.solves,
        "epsilon": None,
        "epsilon_reached": whole.value - float(found.credit.sum()),
        "binding_layer": whole.layer,
        "cuts": found.cuts,
        "realised": None,
    }
    if game.layer == 0 and len(game.players) == game.network.tokens:
        held = game.flows.solve(demand=np.clip(found.credit, 0.0, game.network.demand))
        numbers["realised"] = held.reached  # with each token held to its credit: all, if a max flow realises them
        numbers["conservation"] = conservation(game.network, held.edges, held.supply, held.demand)
        game.flows.value()
    return numbers
