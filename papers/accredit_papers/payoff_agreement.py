"""What the choice of a payoff changes: the same players, credited for several payoffs of the same model and input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from accredit.core import Attribution, Attributions, FloatArray, Game
from accredit.core.statistics import falling
from accredit.errors import InvalidInput
from accredit.evaluate.agreement import spearman
from accredit.values import shapley

CARRIES_OVER = {  # from v to f(v), f strictly increasing and f(0) = 0
    "null player": "yes: a player who never changes v never changes f(v)",
    "symmetry": "yes: equal payoffs stay equal",
    "order of marginal contributions": "yes, in sign: f(v(S ∪ i)) − f(v(S)) has the sign of v(S ∪ i) − v(S)",
    "efficiency": "of f(v): what is shared is f(v(N)) − f(v(∅)), another amount",
    "linearity": "no: f(v + w) is not f(v) + f(w) unless f is linear, so credits are not a transform of each other",
}


@dataclass(frozen=True, eq=False)
class PayoffMoves:
    """The credit for every payoff, and how far two payoffs agree."""

    credit: Attributions  # one output per payoff
    ranks: FloatArray  # (k, k): Spearman correlation of the credits
    signs: FloatArray  # (k, k): share of players whose credit has the same sign
    first: tuple[str, ...]  # the player of largest credit for each payoff

    @property
    def payoffs(self) -> tuple[str, ...]:
        return self.credit.outputs


def payoff_moves(games: Mapping[str, Game], *, budget: int | None = None, seed: int = 0) -> PayoffMoves:
    """Shapley values of games that differ in their payoff only, side by side.

    >>> import numpy as np
    >>> from accredit.games import FunctionGame
    >>> def logit(c): return c @ [2.0, 1.0, -0.5]
    >>> both = {"logit": FunctionGame("abc", logit), "step": FunctionGame("abc", lambda c: logit(c) > 0.9)}
    >>> moved = payoff_moves(both)
    >>> moved.first, round(float(moved.ranks[0, 1]), 2), float(moved.signs[0, 1])
    (('a', 'a'), 1.0, 1.0)
    """
    if len({game.players for game in games.values()}) != 1:
        raise InvalidInput(
            "games must share their players and differ in their payoff; give at least one", argument="games", code="conflict"
        )
    credits: dict[str, Attribution] = {name: shapley(game, budget=budget, seed=seed) for name, game in games.items()}
    every = Attributions(credits, payoffs=sum(one.payoffs or 0 for one in credits.values()))
    pairs = [[(a, b) for b in credits.values()] for a in credits.values()]
    return PayoffMoves(
        every,
        np.array([[spearman(a, b) for a, b in row] for row in pairs]),
        np.array([[float(np.mean(_sign(a) == _sign(b))) for a, b in row] for row in pairs]),
        tuple(one.players[falling(one.credit, one.rounding)[0]] for one in credits.values()),
    )


def _sign(one: Attribution) -> FloatArray:
    """−1, 0 or 1 per player; 0 for credit that is rounding."""
    return np.sign(np.where(np.abs(one.credit) <= one.rounding, 0.0, one.credit))
