"""Games that train a model for every coalition: besides the payoff they yield a number for each thing predicted."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.core.game import Game
from accredit.core.rounding import blur_of
from accredit.errors import InvalidInput


@runtime_checkable
class Predicting(Game, Protocol):
    """A game whose every coalition trains a model: besides its payoff it yields one number for each target."""

    @property
    def targets(self) -> tuple[str, ...]: ...

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and outputs (batch, targets) from the same trainings."""
        ...


def retrain(game: Predicting, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Payoffs and outputs of a batch. A game may change what it is given, and use what it returns again: both are copied."""
    values, outputs = game.retrain(coalitions.copy())
    return np.array(values), np.array(outputs)


class Predictions:
    """The games of all targets of a predicting game: what a coalition earns in an output is the number it yields for that
    target. `shapley(Predictions(game))` is one Shapley value per target, from the trainings of one."""

    def __init__(self, game: Predicting) -> None:
        if not isinstance(game, Predicting) or not game.targets:
            raise InvalidInput(
                f"{type(game).__name__} yields nothing but payoffs; give a game that has targets", argument="game", code="type"
            )
        self._game = game

    @property
    def players(self) -> tuple[str, ...]:
        return self._game.players

    @property
    def blur(self) -> float:
        return blur_of(self._game)

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._game.targets

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """What each coalition yields for each target: (batch, n) -> (batch, k)."""
        return retrain(self._game, coalitions)[1]
