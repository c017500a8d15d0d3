"""A control variate by hand: solve what is left of a game when an additive guess is taken off, and add the guess back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import real_numbers
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Game, Holds, Procedure
from accredit.errors import InvalidInput
from accredit.values.solver import Solver

KEPT = ("efficiency",)


@dataclass(frozen=True, eq=False)
class Around:
    """Another solver, asked about v(S) − Σ_{i∈S} guess_i. The Shapley value of the guess is the guess, so none is lost.

    It is for fewer payoffs than a few per player, and a guess that is good: `attribution_patching` of a model's parts, or
    credit of a similar input. How much it helps was not measured; a solver that finds additive games exactly gains nothing.

    >>> from accredit import TableGame, shapley
    >>> from accredit.values import Exact
    >>> game = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> shapley(game, Around(np.array([5.0, 5.0]), Exact())).credit
    array([6., 4.])
    """

    guess: npt.ArrayLike
    solver: Solver

    def solve(self, game: Game) -> Attribution:
        """Values of the whole game, with the interval of what was left."""
        guess = np.asarray(real_numbers(self.guess, "guess"), dtype=np.float64)
        if guess.shape != (len(game.players),):
            raise InvalidInput(
                f"guess holds {guess.size} numbers, and the game has {len(game.players)} players",
                argument="guess",
                code="shape",
            )
        found = self.solver.solve(_Left(game, guess))
        return replace(
            found,
            credit=found.credit + guess,
            total=None if found.total is None else found.total + float(guess.sum()),
            interval=None if found.interval is None else found.interval + guess[:, None],
            claims=tuple(claim if claim.axiom in KEPT else _unknown(claim) for claim in found.claims),
            method=Procedure("around a guess", of=found.method),
        )


def _unknown(claim: Claim) -> Claim:
    return Claim(claim.axiom, Holds.UNKNOWN, "the guess was made from something else, which need not keep it")


@dataclass(frozen=True, eq=False)
class _Left:
    """What a guess leaves of a game."""

    game: Game
    guess: FloatArray

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return np.asarray(self.game.payoff(coalitions) - coalitions @ self.guess)
