"""What a budget of trainings will tell, predicted from the first few of them: before the run, not after it.

Half-widths fall about with the square root of the number of trainings. A pilot of some trainings measures one; the trainings
that a wanted half-width takes follow, and what a smaller budget could tell: fewer, larger players, or only the rows that stand
out. Pilots see little of what a solver learns from many payoffs, so they rather ask for too much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accredit.core import Attribution, Game
from accredit.errors import InvalidInput, NotConverged, TooManyPlayers
from accredit.values.shapley import shapley

PILOT_TRAININGS = 130  # trainings: nobody, everybody and 64 pairs of coalitions

Estimate = Callable[[int], Attribution]  # budget -> values with intervals


@dataclass(frozen=True)
class Forecast:
    """Half of all intervals are narrower than `half` after `pilot` trainings, and `total` is shared among the players."""

    players: int
    pilot: int
    half: float
    total: float  # v(N) − v(∅)

    @property
    def even_share(self) -> float:
        return abs(self.total) / self.players

    def half_width(self, budget: int) -> float:
        """What to expect of so many trainings: half of the intervals are narrower."""
        return self.half * float(np.sqrt(self.pilot / budget))

    def budget(self, half_width: float) -> int:
        """The least number of trainings for that half-width, in two digits: more would pretend to know.

        >>> Forecast(players=300, pilot=130, half=0.05, total=0.4).budget(0.01)
        3300
        """
        return round_up(max(self.pilot, self.pilot * (self.half / half_width) ** 2))

    def groups(self, budget: int) -> int:
        """How many players so many trainings could tell apart: of g instead of n, intervals are √(g/n) as wide, while an even
        share is n/g as large.

        >>> Forecast(players=300, pilot=130, half=0.05, total=0.4).groups(2000)
        66
        """
        return int((abs(self.total) * np.sqrt(self.players) / self.half_width(budget)) ** (2 / 3))

    def says(self, budget: int) -> str:
        """What that budget will tell, in words; empty where it tells rows apart.

        >>> print(Forecast(players=300, pilot=130, half=0.05, total=0.4).says(2000))
        2,000 trainings will leave most rows at about ±0.013, and an even share is 0.0013: only rows worth more than 10 times \
that will stand out. ±0.0013 takes about 190,000; 2,000 might tell 66 groups apart (players=COLUMN)
        """
        half, share = self.half_width(budget), self.even_share
        if half <= share:
            return ""
        times = f"only rows worth more than {half / share:,.0f} times that will stand out" if share else "nothing is shared"
        takes = f" ±{share:.2g} takes about {self.budget(share):,};" if share else ""
        groups = self.groups(budget)
        instead = f" {budget:,} might tell {groups} groups apart (players=COLUMN)" if 2 <= groups < self.players else ""
        return (
            f"{budget:,} trainings will leave most rows at about ±{half:.2g}, and an even share is {share:.2g}: {times}."
            f"{takes}{instead}"
        ).rstrip(";")


def forecast(game: Game, estimate: Estimate | None = None, *, seed: int = 0) -> Forecast:
    """Predict what trainings will tell, from a pilot of 130, by Data Shapley or by another estimate.

    A durable game keeps the pilot's payoffs: what the run asks again is not paid for twice.

    >>> from accredit.games import FunctionGame
    >>> game = FunctionGame([f"row {i}" for i in range(40)], lambda s: np.sqrt(s.sum(axis=1)))
    >>> forecast(game).budget(0.01) < forecast(game).budget(0.001)
    True
    """
    found = estimate(PILOT_TRAININGS) if estimate else shapley(game, budget=PILOT_TRAININGS, seed=seed)
    if found.interval is None or found.total is None or not found.payoffs:
        why = found.precision.because if found.precision else "it has no intervals"
        raise InvalidInput(
            f"no half-width of {found.method} can be predicted: {why}; leave "
            "half_width=… out, or write method='shapley' or method='banzhaf'",
            argument="half_width",
            code="unsupported",
        )
    return Forecast(len(found), found.payoffs, float(np.median(np.diff(found.interval, axis=1))) / 2, found.total)


def settle_budget(
    plan: Callable[[], Forecast], players: int, budget: int | None, half_width: float | None, usual: int, kept: int = 0
) -> tuple[int, str]:
    """The trainings to spend on values and what they will tell, in words. A pilot is part of the budget, and so are
    the trainings that are `kept` for something else.

    Refused where they cannot reach the half-width that is wanted. Without one, pilots that are more than a tenth of the budget
    are left out, and so is the forecast of one that a solver cannot do.
    """
    if half_width is None:
        spent = (budget or usual) - kept
        if spent < 10 * PILOT_TRAININGS:
            return spent, ""
        try:
            return spent - PILOT_TRAININGS, plan().says(spent - PILOT_TRAININGS)
        except (InvalidInput, NotConverged):
            return spent - PILOT_TRAININGS, ""
    if not half_width > 0:
        raise InvalidInput(
            f"half_width must be positive, got {half_width!r}; write for example half_width=0.01",
            argument="half_width",
            code="range",
        )
    expected = plan()
    needed = expected.budget(half_width)
    whole = kept + needed + (PILOT_TRAININGS if needed > PILOT_TRAININGS else 0)
    if budget is not None and budget < whole:
        raise TooManyPlayers(
            f"±{half_width:g} for most of {players:,} players takes about {whole:,} trainings, and the budget is {budget:,}; "
            f"write budget={whole}, or a wider half_width=…. {expected.says(budget)}".rstrip()
        )
    return needed, f"±{half_width:g} for most of {players:,} players takes about {whole:,} trainings"


def round_up(count: float) -> int:
    """Two digits."""
    size = 10 ** max(int(np.floor(np.log10(count))) - 1, 0)
    return int(np.ceil(count / size) * size)
