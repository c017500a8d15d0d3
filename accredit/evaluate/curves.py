"""Deletion and insertion: the payoff as players leave or arrive one by one, and the area under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, FloatArray, Game, Procedure
from accredit.evaluate.chains import best_chain, tops, trapezoid
from accredit.evaluate.erasure import rank
from accredit.evaluate.metric import Better, Ends, Result, order_of, scores_of


@dataclass(frozen=True)
class Deletion:
    r"""Area under the payoff as players are removed, most credited first; the sooner it falls, the lower.

    $$\int_0^1 v(N \setminus \mathrm{top}_{x n})\,dx \quad\text{by the trapezoid rule at } x = 0, 1/n, \dots, 1$$

    Petsiuk, Das and Saenko (2018). Players are removed one at a time; what removal means is the game's choice. n + 1 payoffs.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(Deletion(), cookies, shapley(cookies))  # along 10, 3 and 0
    4.0
    """

    name: str = "deletion"
    better: Better = "lower"
    paper: str = "Petsiuk, Das and Saenko (2018)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)

    def plan(self, result: Result) -> BoolArray:
        order = order_of(result, scores_of(result, self.name))
        return ~tops(order, np.arange(len(order) + 1))

    def score(self, result: Result, earned: FloatArray) -> float:
        return float(trapezoid(len(earned) - 1) @ earned)

    def oracle(self, game: Game) -> Attribution:
        joins = best_chain(game, trapezoid(len(game.players)), grow=False)
        return rank(game, joins[::-1], Procedure("oracle", "least left"))


@dataclass(frozen=True)
class Insertion:
    r"""Area under the payoff as players arrive, most credited first; the sooner it rises, the higher.

    $$\int_0^1 v(\mathrm{top}_{x n})\,dx \quad\text{by the trapezoid rule at } x = 0, 1/n, \dots, 1$$

    Petsiuk, Das and Saenko (2018). n + 1 payoffs.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(Insertion(), cookies, shapley(cookies))  # along 0, 5 and 10
    5.0
    """

    name: str = "insertion"
    better: Better = "higher"
    paper: str = "Petsiuk, Das and Saenko (2018)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)

    def plan(self, result: Result) -> BoolArray:
        order = order_of(result, scores_of(result, self.name))
        return tops(order, np.arange(len(order) + 1))

    def score(self, result: Result, earned: FloatArray) -> float:
        return float(trapezoid(len(earned) - 1) @ earned)

    def oracle(self, game: Game) -> Attribution:
        joins = best_chain(game, -trapezoid(len(game.players)), grow=True)
        return rank(game, joins, Procedure("oracle", "most kept"))


def on_grid(curve: FloatArray, points: int = 21) -> FloatArray:
    """A curve over 0..n players, read off at equal fractions of the players, so that inputs of all lengths can be averaged.

    >>> on_grid(np.array([1.0, 0.0]), 3)
    array([1. , 0.5, 0. ])
    """
    return np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(curve)), curve)
