"""What all utilities share: training rows play, and every coalition of them teaches a model that test rows judge."""

from __future__ import annotations

from abc import ABC, abstractmethod

from accredit.core import BoolArray, FloatArray
from accredit.valuation.split import Split


class Utility(ABC):
    """A game whose players are the training rows of `data`. What a coalition teaches is left to `retrain`."""

    data: Split

    @property
    def players(self) -> tuple[str, ...]:
        return self.data.names

    @property
    def targets(self) -> tuple[str, ...]:
        """The test rows, each of which gets an output."""
        return self.data.targets

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.retrain(coalitions)[0]

    @abstractmethod
    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Payoffs (batch,) and outputs (batch, M), one training per coalition."""

    def score_tests(self, payoffs: FloatArray, outputs: FloatArray) -> FloatArray | None:
        """What each test row pays (batch, M), whose mean is the payoff; None: the payoff is not such a mean."""
        return None

    @abstractmethod
    def fingerprint_parts(self) -> dict[str, object]:
        """Everything that decides a payoff except the seed, which is part of the key."""
