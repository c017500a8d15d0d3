r"""Flow as a cooperative game: the players are the tokens of one layer, the payoff is what they can carry together.

Two games share that description. In the *re-solved* game, v(S) is the max flow of the network in which only the
tokens of S may carry flow in their layer. For the input layer (and, turned round, the output layer) it is a
polymatroid rank function: monotone, submodular, v(∅) = 0; the credits of all max flows are its base polytope, and the
Shapley value is one of them. In an inner layer v is still monotone and the minimum over cuts of sums over players,
but it need not be submodular.

In the *frozen* game (Ethayarajh & Jurafsky 2021, Proposition 2) one max flow is computed once and v(S) adds up what
it sends through S. That game is additive, so every flow is "its own Shapley value": the proposition does not single one
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import numpy as np

from accredit.checks.arguments import OWN_CHECK, check_arguments
from accredit.checks.numbers import whole_number
from accredit.core import BoolArray, FloatArray, check_groups, check_players, player_index
from accredit.core.coalitions import unique
from accredit.core.game import check_coalitions
from accredit.errors import InvalidInput
from accredit.flow.certificate import Flow
from accredit.flow.maximum import MaximumFlows, check_layer
from accredit.flow.network import LayeredNetwork

Groups = Annotated[Mapping[str, Iterable[int | str]], OWN_CHECK] | None


def members(tokens: int, groups: Groups, players: Iterable[str] | None = None) -> tuple[tuple[str, ...], BoolArray]:
    """Player names, and which tokens each player stands for, (n, T). Tokens in no group stay single players.

    >>> members(3, {"pair": [0, 2]})[0]
    ('pair', '1')
    """
    names = check_players(players) if players is not None else tuple(str(k) for k in range(tokens))
    if len(names) != tokens:
        raise InvalidInput(
            f"players has {len(names)} names for {tokens} tokens; give one name per token", argument="players", code="shape"
        )
    if groups is None:
        return names, np.eye(tokens, dtype=bool)
    owner: dict[int, str] = {}
    for group, tokens_of in check_groups(groups).items():
        for token in tokens_of:
            k = _token(names, token)
            if k in owner:
                raise InvalidInput(
                    f"groups puts token {token!r} into {owner[k]!r} and {group!r}; groups must not overlap",
                    argument="groups",
                    code="duplicate",
                )
            owner[k] = group
    empty = [group for group in groups if group not in owner.values()]
    if empty:
        raise InvalidInput(f"groups[{empty[0]!r}] is empty; name at least one token", argument="groups", code="empty")
    clash = [name for k, name in enumerate(names) if k not in owner and name in groups]
    if clash:
        raise InvalidInput(
            f"groups has a group with the same name as the single token {clash[0]!r}; choose another name",
            argument="groups",
            code="duplicate",
        )
    whole = tuple(dict.fromkeys(owner.get(k, names[k]) for k in range(tokens)))
    belongs = np.zeros((len(whole), tokens), dtype=bool)
    for k in range(tokens):
        belongs[whole.index(owner.get(k, names[k])), k] = True
    return check_players(whole), belongs


def _token(names: tuple[str, ...], token: object) -> int:
    if isinstance(token, str):
        return player_index(names, token)
    if isinstance(token, bool) or not isinstance(token, int | np.integer) or not -len(names) <= token < len(names):
        raise InvalidInput(
            f"groups holds token {token!r}; use a name or an index 0 … {len(names) - 1}", argument="groups", code="unknown"
        )
    return int(token) % len(names)


class FlowGame:
    """The re-solved game: v(S) = max flow when only the players in S may carry flow in their layer.

    >>> net = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5))
    >>> FlowGame(net).payoff(np.array([[True, False], [True, True]]))
    array([1., 2.])
    """

    @check_arguments
    def __init__(
        self, network: LayeredNetwork, *, layer: int = 0, groups: Groups = None, players: Iterable[str] | None = None
    ) -> None:
        self.network = network.prune()
        self.layer = check_layer(layer, network.layers)
        self._players, self.members = members(network.tokens, groups, players)
        self.flows = MaximumFlows(network)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def submodular(self) -> bool:
        """Whether v is certain to be submodular: players at either end of the network."""
        return self.layer in (0, self.network.layers)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        distinct, index = unique(check_coalitions(coalitions, len(self._players)) @ self.members)
        return self.flows.values(distinct, self.layer)[index]


class MixedFlowGame:
    """Players of any layers: v(S) = max flow when, of the nodes that belong to players, only those of S may carry flow.

    `places` says which nodes each player stands for, as (layer, token); a node of nobody stays open. Its Shapley value shares
    the whole flow, as every Shapley value does. What flows through the players does not add up to it: a drop that passes two
    layers is counted twice.

    >>> net = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5))
    >>> game = MixedFlowGame(net, {"below": [(0, 0), (0, 1)], "middle": [(1, 0), (1, 1)]})
    >>> game.payoff(np.array([[True, True], [True, False]]))
    array([2., 0.])
    """

    @check_arguments
    def __init__(self, network: LayeredNetwork, places: Mapping[str, Iterable[tuple[int, int]]]) -> None:
        self.network = network.prune()
        if not places:
            raise InvalidInput("places is empty; name a player, as in {'first': [(0, 0)]}", argument="places", code="empty")
        self._players = check_players(list(places))
        self._places = [self._nodes(name, listed) for name, listed in places.items()]
        every = [place for listed in self._places for place in listed]
        if len(set(every)) != len(every) or not all(self._places):
            raise InvalidInput(
                "places must give every player at least one node, and no node to two players",
                argument="places",
                code="conflict",
            )

    def _nodes(self, player: str, listed: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The nodes of one player as (layer, token)."""
        try:
            pairs = [(layer, token) for layer, token in listed]
        except (TypeError, ValueError):
            raise InvalidInput(
                f"places[{player!r}] is {listed!r:.60}; give nodes as [(layer, token), …]", argument="places", code="type"
            ) from None
        last = self.network.tokens - 1
        return [
            (check_layer(layer, self.network.layers), whole_number(token, f"a token of places[{player!r}]", 0, last))
            for layer, token in pairs
        ]

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        distinct, index = unique(check_coalitions(coalitions, len(self._players)))
        return np.array([self._flow(row) for row in distinct])[index]

    def _flow(self, plays: BoolArray) -> float:
        capacity, supply = self.network.capacity.copy(), self.network.supply.copy()
        for listed, here in zip(self._places, plays.tolist(), strict=True):
            for layer, token in listed if not here else ():
                if layer == self.network.layers:
                    supply[token] = 0.0
                else:
                    capacity[layer, :, token] = 0.0
        closed = LayeredNetwork(capacity, supply, self.network.demand).prune()
        return MaximumFlows(closed).value() if closed.supply.any() else 0.0


class FrozenFlowGame:
    """The additive game of one frozen flow: v(S) = what this flow sends through S. Its Shapley value is that flow itself.

    >>> from accredit.flow import unique_flow
    >>> game = FrozenFlowGame(unique_flow(LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5)), "l2"))
    >>> game.payoff(np.array([[True, False], [True, True]])).round(6)
    array([1., 2.])
    """

    @check_arguments
    def __init__(self, flow: Flow, *, layer: int = 0, groups: Groups = None, players: Iterable[str] | None = None) -> None:
        self.layer = check_layer(layer, len(flow.edges))
        self._players, belongs = members(flow.edges.shape[1], groups, players)
        self.through = belongs @ flow.through[self.layer]  # (n,)

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return np.asarray(check_coalitions(coalitions, len(self._players)) @ self.through)


@check_arguments
def credit_intervals(game: FlowGame) -> FloatArray:
    """[least, most] that any max flow can send through each player, (n, 2): two max flows for each.

    It carries at least F* - v(N∖j), because the others cannot carry more than v(N∖j), and at most v({j}). At the input and
    output layers some max flow reaches either end, because there the credits of all max flows form the base polytope of v.

    >>> one_source = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5), outputs=0)
    >>> credit_intervals(FlowGame(one_source))
    array([[0.5, 1. ],
           [0. , 0.5]])
    """
    alone = np.eye(len(game.players), dtype=bool)
    most = game.payoff(alone)
    least = game.flows.value() - game.payoff(~alone)
    return np.column_stack([np.clip(least, 0.0, most), most])
