"""What games over the parts of one input share: players from a partition, and every distinct coalition asked once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from accredit.core import BoolArray, FloatArray
from accredit.core.coalitions import unique
from accredit.games.batches import Cost, estimate
from accredit.models.partition import Partition


class PartsGame(ABC):
    """v(S) = payoff of an input in which only the parts of S are left; how the others leave is the subclass's."""

    partition: Partition
    rows: int  # inputs in one call of the model

    @property
    def players(self) -> tuple[str, ...]:
        return self.partition.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """One input a distinct coalition, in batches that fit into memory."""
        distinct, index = unique(coalitions)
        return self._earned(self.partition.kept(distinct))[index]

    def estimate(self, budget: int) -> Cost:
        """Payoffs and seconds that `budget` coalitions will cost, from timed batches."""
        return estimate(self, budget)

    @abstractmethod
    def _earned(self, kept: BoolArray) -> FloatArray:
        """Payoffs of inputs of which these parts are left: (batch, T) -> (batch,)."""
