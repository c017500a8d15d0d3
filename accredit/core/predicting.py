"""Games that train a model for every coalition: besides the payoff they yield a number for each thing predicted."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from accredit.core.coalitions import BoolArray, FloatArray
from accredit.core.game import Game


@runtime_checkable
class Predicting(Game, Protocol):
    """A game whose every coalition trains a model: besides its payoff it yields one number for each target."""

    @property
    def targets(self) -> tuple[str, ...]: ...

    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and outputs (batch, targets) from the same trainings."""
        ...
