"""Games that everybody in the field knows, with values that were published: to learn on, and to check a solver against.

`docs/textbook.md` lists the published values and their sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import check_index, finite_numbers, whole_number
from accredit.core import BoolArray, FloatArray, IntArray, check_players, coalition_of
from accredit.core.game import check_coalitions
from accredit.errors import InvalidInput
from accredit.games.table import FunctionGame

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
        check_index(weights, self._players, "weights")
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


PERMANENT = ("China", "France", "Russia", "United Kingdom", "United States")
# Electors of each state for 2024 and 2028, apportioned by the census of 2020; 538 in all
ELECTORS_2024 = {
    "AL": 9, "AK": 3, "AZ": 11, "AR": 6, "CA": 54, "CO": 10, "CT": 7, "DE": 3, "DC": 3, "FL": 30, "GA": 16, "HI": 4, "ID": 4,
    "IL": 19, "IN": 11, "IA": 6, "KS": 6, "KY": 8, "LA": 8, "ME": 4, "MD": 10, "MA": 11, "MI": 15, "MN": 10, "MS": 6, "MO": 10,
    "MT": 4, "NE": 5, "NV": 6, "NH": 4, "NJ": 14, "NM": 5, "NY": 28, "NC": 16, "ND": 3, "OH": 17, "OK": 7, "OR": 8, "PA": 19,
    "RI": 4, "SC": 9, "SD": 3, "TN": 11, "TX": 40, "UT": 6, "VT": 3, "VA": 13, "WA": 12, "WV": 4, "WI": 10, "WY": 3,
}  # fmt: skip
# Electors of each state from 1992 to 2000, apportioned by the census of 1990; 538 in all
ELECTORS_1992 = {
    "AL": 9, "AK": 3, "AZ": 8, "AR": 6, "CA": 54, "CO": 8, "CT": 8, "DE": 3, "DC": 3, "FL": 25, "GA": 13, "HI": 4, "ID": 4,
    "IL": 22, "IN": 12, "IA": 7, "KS": 6, "KY": 8, "LA": 9, "ME": 4, "MD": 10, "MA": 12, "MI": 18, "MN": 10, "MS": 7, "MO": 11,
    "MT": 3, "NE": 5, "NV": 4, "NH": 4, "NJ": 15, "NM": 5, "NY": 33, "NC": 14, "ND": 3, "OH": 21, "OK": 8, "OR": 7, "PA": 23,
    "RI": 4, "SC": 8, "SD": 3, "TN": 11, "TX": 32, "UT": 5, "VT": 3, "VA": 13, "WA": 11, "WV": 5, "WI": 11, "WY": 3,
}  # fmt: skip
ELECTORS = {1992: ELECTORS_1992, 2024: ELECTORS_2024}


def security_council() -> WeightedVote:
    """The UN Security Council: a motion needs nine of fifteen members and no veto of the five permanent ones.

    >>> from accredit import shapley
    >>> round(shapley(security_council())["China"] * 2145)  # 421/2145 each; 4/2145 for the others
    421
    """
    elected = [f"elected {i}" for i in range(1, 11)]
    return WeightedVote([*PERMANENT, *elected], [7] * 5 + [1] * 10, quota=39)


@check_arguments
def electoral_college(year: int = 2024) -> WeightedVote:
    """The electoral college of the United States as a vote of 51 blocs: 270 of 538 electors win. Years: 1992 and 2024.

    Maine and Nebraska divide their electors; here, as in the literature, they vote as one.
    """
    if year not in ELECTORS:
        raise InvalidInput(
            f"year is {year!r}; electors are here for {', '.join(map(str, ELECTORS))}", argument="year", code="unknown"
        )
    electors = ELECTORS[year]
    return WeightedVote(tuple(electors), list(electors.values()), quota=270)


@check_arguments
def bankruptcy(estate: float, claims: Mapping[str, float]) -> FunctionGame:
    """An estate that is smaller than what is claimed: v(S) is what the others' claims leave (O'Neill, 1982).

    >>> bankruptcy(100, {"a": 100, "b": 200, "c": 300}).payoff(np.array([[False, True, True], [True, True, True]]))
    array([  0., 100.])
    """
    owed = _numbers(list(claims.values()), "claims")
    if not 0 <= estate <= owed.sum() * (1 + 1e-12):  # the sum in another order may be one rounding less
        raise InvalidInput(
            f"estate is {estate!r}; it must lie between 0 and the sum of claims, {owed.sum():g}",
            argument="estate",
            code="range",
        )

    def remainder(coalitions: BoolArray) -> FloatArray:
        return np.maximum(0.0, estate - ~coalitions @ owed)

    return FunctionGame(tuple(claims), remainder)


@check_arguments
def airport(costs: Mapping[str, float]) -> FunctionGame:
    """A runway long enough for every aircraft that uses it: v(S) is the largest cost in S (Littlechild and Owen, 1973)."""
    needed = _numbers(list(costs.values()), "costs")
    return FunctionGame(tuple(costs), lambda coalitions: np.where(coalitions, needed, 0.0).max(axis=1))


@check_arguments
def apex(players: int = 5) -> FunctionGame:
    """One strong player who wins with any other, and others who win only all together (von Neumann and Morgenstern, 1944)."""
    if players < 3:
        raise InvalidInput(f"players is {players!r}; an apex game has at least 3", argument="players", code="range")
    names = ["apex", *(f"minor {i}" for i in range(1, players))]
    return FunctionGame(names, lambda c: np.where(c[:, 0], c[:, 1:].any(axis=1), c[:, 1:].all(axis=1)))


@check_arguments
def gloves(left: int = 1, right: int = 2) -> FunctionGame:
    """Each player owns one glove; a pair is worth 1 (Shapley and Shubik, 1969)."""
    whole_number(left, "left", 0), whole_number(right, "right", 0)
    names = [*(f"left {i}" for i in range(1, left + 1)), *(f"right {i}" for i in range(1, right + 1))]
    return FunctionGame(names, lambda c: np.minimum(c[:, :left].sum(axis=1), c[:, left:].sum(axis=1)))


@check_arguments
def unanimity(players: Iterable[str | int], carrier: Iterable[str | int]) -> FunctionGame:
    """v(S) = 1 if all of `carrier` are in S: the games of which every game is a sum (Shapley, 1953)."""
    game = FunctionGame(players, lambda coalitions: (coalitions | ~needed).all(axis=1))
    needed = coalition_of(game.players, carrier)
    if not needed.any():
        raise InvalidInput("carrier is empty; name at least one player", argument="carrier", code="empty")
    return game


def _numbers(given: list[float], name: str) -> FloatArray:
    numbers = finite_numbers(given, name)
    if not numbers.size or numbers.ndim != 1 or (numbers < 0).any():
        raise InvalidInput(f"{name} is {given!r:.60}; give each player a number of at least 0", argument=name, code="type")
    return numbers
