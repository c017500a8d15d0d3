"""One training, judged by parts of the test rows: what each part alone would say a player is worth, without training again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from accredit.core import Attribution, Attributions, BoolArray, FloatArray
from accredit.core.coalitions import keys, unpack
from accredit.core.rounding import blur_of
from accredit.errors import InvalidInput
from accredit.valuation.certainty import FEWEST_TESTS, over_test_rows, uncovered
from accredit.valuation.utility import Utility

PARTS, PARTS_OF_EXACT = 20, 200  # at most so many parts of the test rows; exact values of each are quickly had
TRAININGS_PER_PLAYER = 2  # at least, for a linear fit of who plays


class RetrainingGame(Protocol):
    """A game that also tells what each coalition's model answers at the test rows."""

    @property
    def players(self) -> tuple[str, ...]: ...
    def payoff(self, coalitions: BoolArray) -> FloatArray: ...
    def retrain(self, coalitions: BoolArray) -> tuple[FloatArray, FloatArray]: ...


class Remembered:
    """The game of a utility, which remembers what each part of the test rows paid for every coalition.

    >>> from accredit.valuation import KNNUtility, split
    >>> data = split([[0.0], [1.0]], [0, 1], [[0.1], [0.9]], [0, 1])
    >>> game = Remembered(KNNUtility(data, k=1), KNNUtility(data, k=1), parts=2)
    >>> everybody = np.array([[True, True]])
    >>> game.payoff(everybody), game.by_part.payoff(everybody)
    (array([1.]), array([[1., 1.]]))
    """

    def __init__(self, game: RetrainingGame, utility: Utility, parts: int) -> None:
        self._game, self._utility, self.tests = game, utility, len(utility.targets)
        self._starts = np.linspace(0, self.tests, min(parts, self.tests) + 1).astype(np.int64)[:-1]
        self.is_mean = True  # whether a payoff is a mean over test rows
        self.by_part = PaidByPart(game.players, len(self._starts))

    @property
    def players(self) -> tuple[str, ...]:
        return self._game.players

    @property
    def blur(self) -> float:
        return blur_of(self._game)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        payoffs, outputs = self._game.retrain(coalitions)
        scores = self._utility.score_tests(payoffs, outputs)
        if scores is None:
            self.is_mean = False
        else:
            sizes = np.diff(np.append(self._starts, self.tests))
            self.by_part.known |= zip(keys(coalitions), np.add.reduceat(scores, self._starts, axis=1) / sizes, strict=True)
        return payoffs


class PaidByPart:
    """Several games: what each part of the test rows paid, for coalitions that were trained."""

    def __init__(self, players: tuple[str, ...], parts: int) -> None:
        self.players, self.outputs = players, tuple(f"part {i + 1} of the test rows" for i in range(parts))
        self.known: dict[bytes, FloatArray] = {}  # packed coalition -> (parts,)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        try:
            return np.stack([self.known[key] for key in keys(coalitions)])
        except KeyError:
            raise InvalidInput("a part of the test rows asks for a coalition that was not trained", code="missing") from None


def parts_for(values_are_exact: bool) -> int:
    """How many parts of the test rows to judge by."""
    return PARTS_OF_EXACT if values_are_exact else PARTS


def cover_tests(
    values: Attribution, asked: Remembered, row_of: Sequence[int], solve: Callable[[PaidByPart], Attributions]
) -> Attribution:
    """`values`, with an interval that covers the choice of the test rows.

    Exact values of each part of them are found by `solve`. Of sampled ones, a linear model of who plays is fitted to what each
    part paid: what it takes for an effect of the test rows is in part an effect of sampling, so that the error is rather too
    large. `row_of` holds the number of one row of each player (n,).
    """
    if asked.tests < FEWEST_TESTS:
        return over_test_rows(values, np.zeros(len(values)), asked.tests, 1)
    if not asked.is_mean:
        return uncovered(values, "what each test row paid is not known of this payoff, so neither is what others would say")
    if values.exact:
        found = solve(asked.by_part)
        by_part = np.stack([found[name].credit for name in found.outputs])
    elif len(asked.by_part.known) < TRAININGS_PER_PLAYER * len(values):
        few = f"{len(asked.by_part.known):,} trainings are too few to tell what others would say"
        return uncovered(values, f"{few}, {TRAININGS_PER_PLAYER * len(values):,} are needed")
    else:
        by_part = _linear_effects(asked.by_part, row_of)
    return over_test_rows(values, by_part.std(axis=0, ddof=1) / np.sqrt(len(by_part)), asked.tests, len(by_part))


def _linear_effects(paid: PaidByPart, row_of: Sequence[int]) -> FloatArray:
    """What each player adds, in a linear fit to what each part of the test rows paid: (parts, n)."""
    packed = np.frombuffer(b"".join(paid.known), dtype=np.uint8).reshape(len(paid.known), -1)
    plays = unpack(packed, len(paid.players))[:, list(row_of)].astype(np.float64)
    earned = np.stack(list(paid.known.values()))
    effects = np.linalg.lstsq(plays - plays.mean(axis=0), earned - earned.mean(axis=0), rcond=None)[0]
    return np.asarray(effects.T)
