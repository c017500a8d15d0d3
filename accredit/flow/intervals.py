r"""How far each player's credit can move over all max flows.

Through player j of one layer a max flow carries at least F* - v(N∖j), because the others cannot carry more than v(N∖j),
and at most v({j}). At the input and output layers both ends are reached by some max flow, because there the credits
of all max flows form the base polytope of the polymatroid v. Cost: two max flows per player.
"""

from __future__ import annotations

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray
from accredit.flow.game import FlowGame


@check_arguments
def credit_intervals(game: FlowGame) -> FloatArray:
    """[least, most] that any max flow can send through each player, (n, 2).

    >>> from accredit.flow.network import LayeredNetwork
    >>> one_source = LayeredNetwork.from_attention(np.full((2, 2, 2), 0.5), outputs=0)
    >>> credit_intervals(FlowGame(one_source))
    array([[0.5, 1. ],
           [0. , 0.5]])
    """
    alone = np.eye(len(game.players), dtype=bool)
    most = game.payoff(alone)
    least = game.flows.value() - game.payoff(~alone)
    return np.column_stack([np.clip(least, 0.0, most), most])
