"""What games over the parts of one input share: players from a partition, every distinct coalition asked once, and one
evaluation for as many targets as wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Literal, Protocol, final

import numpy as np

from accredit.core import BoolArray, FloatArray, distinct_names
from accredit.core.coalitions import unique
from accredit.core.game import check_coalitions
from accredit.errors import InvalidInput
from accredit.games.batches import RunCost, estimate
from accredit.models.partition import Partition
from accredit.models.payoffs import Law, Outputs, Payoff, payoff_blur, payoffs_of


class Model(Protocol):
    """What a game needs to know of a model's outputs."""

    @property
    def law(self) -> Law: ...
    @property
    def precision(self) -> float | None:
        """The machine epsilon that it computes with; None: to be seen from its outputs."""
        ...

    def predict(self, whole: Any, /) -> FloatArray: ...
    def target(self, target: str | int | None, whole: Any, /) -> int: ...
    def label(self, index: int, /) -> str: ...


class PartsGame(ABC):
    """v(S) = payoff of an input in which only the parts of S are left; the subclass decides how the others leave."""

    model: Model
    partition: Partition
    target: int  # the output that is paid
    rows: int  # inputs in one call of the model
    _payoff: Payoff
    _blur: float | None = None

    @property
    def players(self) -> tuple[str, ...]:
        return self.partition.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """One input per distinct coalition, in batches that fit into memory."""
        return self.worths(coalitions, (self.target,))[:, 0]

    def worths(self, coalitions: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """Payoffs for several targets from the same inputs: (batch, n) -> (batch, targets)."""
        distinct, index = unique(check_coalitions(coalitions, len(self.players)))
        return self._earn(self.partition.kept(distinct), targets)[index]

    def paying(self, targets: Literal["all"] | Iterable[str | int] = "all") -> PartsGames:
        """The same game, paid for several targets at once: all outputs of the model, or those listed by label or index.

        The model is called as often as for one target. Payoff, removal and players are the same for every target.
        """
        if isinstance(targets, str) and targets != "all":
            raise InvalidInput(
                f"targets is {targets!r}; write paying('all'), or a list: paying([{targets!r}])",
                argument="targets",
                code="type",
            )
        if targets == "all":
            return PartsGames(self, tuple(range(len(self.model.predict(self._whole)))))
        chosen = tuple(self.model.target(target, self._whole) for target in targets)
        if not chosen:
            raise InvalidInput("targets is empty; name at least one, or write paying('all')", argument="targets", code="empty")
        twice = next((one for place, one in enumerate(chosen) if one in chosen[:place]), None)
        if twice is not None:
            raise InvalidInput(
                f"targets holds {self.model.label(twice)!r} (output {twice}) twice; name it once",
                argument="targets",
                code="duplicate",
            )
        return PartsGames(self, chosen)

    def estimate(self, budget: int) -> RunCost:
        """Payoffs and seconds that `budget` coalitions will cost, from timed batches."""
        return estimate(self, budget)

    @property
    def blur(self) -> float:
        """How far rounding may move a payoff, by the outputs for the whole input (`accredit.core.rounding`)."""
        if self._blur is None:
            self._blur = self._blur_of(self.model.predict(self._whole)[None])
        return self._blur

    def _pay(self, outputs: Outputs, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """Payoffs of outputs, (batch, outputs) -> (batch, targets); where the whole input is among them, its size is noted."""
        if self._blur is None and (whole := kept.all(axis=1)).any():
            one = outputs[int(whole.argmax())]
            self._blur = self._blur_of(np.asarray(one.double() if hasattr(one, "double") else one)[None])
        return np.asarray(payoffs_of(outputs, targets, self._payoff, self.model.law))

    def _blur_of(self, outputs: FloatArray) -> float:
        return payoff_blur(outputs, self._payoff, self.model.law, self.model.precision)

    @property
    @abstractmethod
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""

    @property
    @abstractmethod
    def _whole(self) -> object:
        """The whole input, as the model reads it."""

    @abstractmethod
    def _earn(self, kept: BoolArray, targets: tuple[int, ...]) -> FloatArray:
        """Payoffs of inputs in which only these parts are left: (batch, T) -> (batch, targets)."""


@final
class PartsGames:
    """The games of several targets over the parts of one input, from the same evaluations. See `PartsGame.paying`.

    >>> import numpy as np
    >>> from accredit.games import string_game
    >>> from accredit.models import as_string_model
    >>> count = as_string_model(lambda texts: [[text.count("good"), text.count("bad")] for text in texts])
    >>> both = string_game(count, "good or bad", target=0).paying([0, 1])
    >>> both.payoff(np.eye(3, dtype=bool)).tolist()  # one row per word, one column per target
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, game: PartsGame, targets: tuple[int, ...]) -> None:
        self.game, self.targets = game, targets
        self.outputs = distinct_names(game.model.label(target) for target in targets)

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    @property
    def rows(self) -> int:
        return self.game.rows

    @property
    def blur(self) -> float:
        return self.game.blur

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """One payoff for each coalition and target: (batch, n) -> (batch, k)."""
        return self.game.worths(coalitions, self.targets)

    def estimate(self, budget: int) -> RunCost:
        """Payoffs and seconds that `budget` coalitions will cost, from timed batches."""
        return estimate(self, budget)

    @property
    def provenance(self) -> dict[str, object]:
        """What the payoffs rest on."""
        return self.game.provenance | {"target": list(self.outputs)}

    def fingerprint_parts(self) -> dict[str, object]:
        """What decides the payoffs, for a journal of them."""
        return {"game": self.game, "targets": self.targets}

    def __repr__(self) -> str:
        return f"{type(self.game).__name__}.paying({list(self.outputs)!r:.60})"
