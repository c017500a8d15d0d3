"""Truncated Data Shapley (TMC, Ghorbani and Zou, 2019): cheaper per order, and biased."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accredit.checks import check_seed
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Precision, Procedure, endpoints, payoffs
from accredit.errors import InvalidInput
from accredit.values.every_output import solves_every_output
from accredit.values.orders import random_places
from accredit.values.sampling import check_spread

ABREAST = 32  # orders that advance side by side, so that every call asks a batch


@dataclass(frozen=True)
class Truncated:
    """Shapley by random orders that stop early: once v(S) is within `tolerance`·|v(N) − v(∅)| of v(N), nobody else is paid.

    **Biased**: whoever comes after the stop is taken to add nothing, so late gains are lost, and at an equal budget the error
    was about three times that of whole orders in trials. Opt in for ranking only. Costs at most `budget` payoffs.

    >>> from accredit.games import FunctionGame
    >>> steps = FunctionGame("abcd", lambda coalitions: np.minimum(coalitions.sum(axis=1), 2.0))
    >>> Truncated(budget=300, tolerance=0.01).solve(steps).stopped
    'budget of 300 payoffs'
    """

    budget: int
    tolerance: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.tolerance < 1:
            raise InvalidInput(
                f"tolerance must be between 0 and 1, got {self.tolerance!r}; for none use shapley or Permutations",
                argument="tolerance",
                code="range",
            )
        check_seed(self.seed)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Truncated Shapley values of `game`."""
        rng = np.random.default_rng(self.seed)
        n = len(game.players)
        fewest = max(n + 1, 3)  # one whole order
        if self.budget < fewest:
            raise InvalidInput(
                f"budget must be at least {fewest} payoffs for {n} players, got {self.budget!r}",
                argument="budget",
                code="range",
            )
        nobody, everybody = endpoints(game)
        spent, cut, stopped = 2, 0, f"budget of {self.budget} payoffs"
        gains: list[FloatArray] = []
        while room := (self.budget - spent) // max(n - 1, 1):  # whole orders that fit even if none is cut
            earned, asked, early = self._walk(game, random_places(rng, min(ABREAST, room), n), nobody, everybody)
            gains.append(earned)
            spent, cut = spent + asked, cut + early
            if asked == 0:  # one player, or v(N) = v(∅): no order asks anything, and all are alike
                stopped = "no order had anything to ask"
                break
        scores = np.concatenate(gains)  # (orders, n)
        check_spread(float(np.abs(scores).max()))
        return Attribution(
            game.players,
            scores.mean(axis=0),
            total=everybody - nobody,
            method=Procedure.by("truncated shapley", self),
            claims=(
                Claim("efficiency", Holds.NO, "what is earned after the stop is left over"),
                Claim("symmetry", Holds.IN_EXPECTATION, "orders are uniform and the stop looks at payoffs only"),
                Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order, cut or whole"),
                Claim("linearity", Holds.NO, "where an order stops is not a linear function of the payoffs"),
            ),
            stderr=scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None,
            precision=Precision.unknown("truncation biases the credit; stderr is that of sampling alone"),
            baseline=nobody,
            payoffs=spent,
            seed=self.seed,
            stopped=stopped,
            certificate={"orders": len(scores), "orders cut": cut, "biased": True},
        )

    def _walk(self, game: Game, places: npt.NDArray[np.int32], nobody: float, everybody: float) -> tuple[FloatArray, int, int]:
        """Advance all orders one arrival at a time; those near v(N) stop. Gains (orders, n), payoffs asked, orders cut."""
        orders, n = places.shape
        near = self.tolerance * abs(everybody - nobody)
        gains = np.zeros((orders, n))
        last = np.full(orders, nobody)
        alive = np.arange(orders)
        asked = 0
        for place in range(n):
            alive = alive[np.abs(everybody - last[alive]) > near]
            if len(alive) == 0:
                break
            if place == n - 1:
                now = np.full(len(alive), everybody)
            else:
                now = payoffs(game, places[alive] <= place)
                asked += len(alive)
            who = np.argmax(places[alive] == place, axis=1)
            gains[alive, who] = now - last[alive]
            last[alive] = now
        return gains, asked, orders - len(alive)
