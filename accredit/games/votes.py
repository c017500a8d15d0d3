"""Weighted votes: a coalition wins when its votes reach the quota."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from accredit.checks.numbers import finite_numbers, whole_number
from accredit.core import BoolArray, FloatArray, IntArray, check_players
from accredit.core.game import check_coalitions
from accredit.errors import InvalidInput

MOST_VOTES = 1 << 53  # beyond it a float64 is not every whole number


@final
class WeightedVote:
    """v(S) = 1 if the votes of S reach the quota, else 0. Votes and quota are whole numbers.

    Shapley, Banzhaf and Beta values of a vote are exact for any number of players: sums of votes are counted, not coalitions.

    >>> council = WeightedVote(["big", "mid", "small"], [50, 49, 1], quota=51)
    >>> council.payoff(np.array([[True, False, True], [False, True, True]]))
    array([1., 0.])
    >>> from accredit import shapley
    >>> shapley(council).credit.round(4)
    array([0.6667, 0.1667, 0.1667])
    """

    def __init__(self, players: Iterable[str | int], weights: object, quota: int) -> None:
        self._players = check_players(players)
        self.weights = _whole(weights, "weights")
        if self.weights.shape != (len(self._players),) or (self.weights < 0).any() or not self.weights.any():
            raise InvalidInput(
                f"weights is {weights!r:.60}; {len(self._players)} players need one vote count each, none negative, some not 0",
                argument="weights",
                code="type",
            )
        if sum(self.weights.tolist()) > MOST_VOTES:
            raise InvalidInput(
                f"weights add up to {sum(self.weights.tolist()):.3g} votes, more than are counted exactly ({MOST_VOTES:.3g}); "
                "divide weights and quota by a common number",
                argument="weights",
                code="too-many",
            )
        self.quota = whole_number(quota, "quota", 1, int(self.weights.sum()))

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        plays = check_coalitions(coalitions, len(self._players))
        return (plays @ self.weights >= self.quota).astype(np.float64)

    def __repr__(self) -> str:
        return f"WeightedVote({len(self._players)} players, quota {self.quota} of {self.weights.sum()})"


def _whole(given: object, name: str) -> IntArray:
    """Whole numbers, or an error that says how to get some."""
    numbers = finite_numbers(given, name)
    whole = numbers.astype(np.int64)
    if (whole != numbers).any():
        raise InvalidInput(
            f"{name} is {given!r:.60}; votes are counted in whole numbers: multiply weights and quota by the same number, "
            "or give the rule as FunctionGame(players, lambda coalitions: coalitions @ weights >= quota)",
            argument=name,
            code="type",
        )
    return whole
