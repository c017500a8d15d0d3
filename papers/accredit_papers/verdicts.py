"""Three answers to a statement: it holds, it is refuted, or these runs cannot tell, and then what it would take.

A statement about a figure that varies from run to run is judged by an interval of its mean: inside what the statement allows,
it holds; outside, it is refuted; otherwise nobody can tell yet. One run has no interval and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, inf

import numpy as np

from accredit import defaults
from accredit.core import Estimate, FloatArray

RUNS_NEEDED = 2  # runs that can judge
FEWEST_EQUAL = 6  # runs without a spread: six on one side of an edge are a sign test at 1/32
EQUAL_RUNS = 1e-9  # runs that differ by less, relative to their mean, are equal
MOST_RUNS = 1000  # more are not worth counting


class Found(StrEnum):
    """What became of a statement."""

    HOLDS = "holds"
    REFUTED = "refuted"
    OPEN = "cannot tell"


@dataclass(frozen=True)
class FigureJudgement:
    """What the runs say about one figure."""

    found: Found
    needs: str = ""  # what it would take to tell
    sampled: bool = field(default=False, repr=False, compare=False)  # told by an interval, which may miss
    runs: float = field(default=0, repr=False, compare=False)  # that it would take to tell, where that can be counted

    @classmethod
    def of(cls, holds: bool | np.bool_ | Found | FigureJudgement | None) -> FigureJudgement:
        """A judgement from what a report knows: a fact is true or false, None is open."""
        if isinstance(holds, FigureJudgement):
            return holds
        if isinstance(holds, Found):
            return cls(holds)
        return cls(Found.OPEN if holds is None else Found.HOLDS if holds else Found.REFUTED)


def over_runs(values: FloatArray, low: float = -inf, high: float = inf, unit: str = "seed", family: int = 1) -> FigureJudgement:
    """Is the mean of a figure, one number per run, between `low` and `high`? By the Student t interval at 95 %.

    Where the same is asked of a `family` of figures, the intervals of all of them together hold at 95 % (Bonferroni): the more
    one asks, the more one finds by chance.

    >>> over_runs(np.array([0.62, 0.66, 0.7]), low=0.5).found, over_runs(np.array([0.7]), low=0.5).needs
    (<Found.HOLDS: 'holds'>, 'one seed judges nothing; run at least 2')
    >>> over_runs(np.array([0.4, 0.6, 0.7]), low=0.5)
    FigureJudgement(found=<Found.OPEN: 'cannot tell'>, needs='about 23 seeds at this spread')
    >>> over_runs(np.array([0.7, 0.7]), low=0.5).needs
    '2 equal seeds show no spread; run at least 6'
    """
    from scipy.stats import t

    count = len(values)
    if count < RUNS_NEEDED:
        return FigureJudgement(Found.OPEN, f"one {unit} judges nothing; run at least {RUNS_NEEDED}", runs=RUNS_NEEDED)
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread <= EQUAL_RUNS * abs(mean) and count < FEWEST_EQUAL:
        needs = f"{count} equal {unit}s show no spread; run at least {FEWEST_EQUAL}"
        return FigureJudgement(Found.OPEN, needs, runs=FEWEST_EQUAL)
    tail = (1 - defaults.LEVEL) / 2 / family
    half = float(t.isf(tail, count - 1)) * spread / count**0.5
    room = min(abs(mean - edge) for edge in (low, high))
    more = np.arange(count + 1, MOST_RUNS)
    enough = more[t.isf(tail, more - 1) * spread / np.sqrt(more) < room] if room > 0 and half >= room else more[:0]
    needed = int(enough[0]) if len(enough) else None
    return _judge(mean - half, mean + half, low, high, needed, unit)


def of_estimate(
    figure: Estimate, low: float = -inf, high: float = inf, count: int = 0, unit: str = "example"
) -> FigureJudgement:
    """The same for a figure that comes with its own interval, from `count` examples."""
    if figure.low is None or figure.high is None:
        return FigureJudgement(Found.OPEN, figure.precision.because or f"more {unit}s")
    room = min(abs(figure.value - edge) for edge in (low, high))
    half = (figure.high - figure.low) / 2
    needed = ceil(count * (half / room) ** 2) if room > 0 and count else None
    return _judge(figure.low, figure.high, low, high, needed, unit)


def of_share(yes: int, count: int, low: float = -inf, high: float = inf, unit: str = "example") -> FigureJudgement:
    """Is the chance of what happened in `yes` of `count` cases between `low` and `high`? By Clopper and Pearson's interval.

    >>> of_share(0, 12, low=0.5).found, of_share(2, 4, low=0.4).found
    (<Found.REFUTED: 'refuted'>, <Found.OPEN: 'cannot tell'>)
    """

    def tells(cases: int) -> bool:
        bottom, top = _share_interval(yes * cases / count, cases)
        return (low < bottom and top < high) or top < low or bottom > high

    needed = next((cases for cases in range(count + 1, MOST_RUNS) if tells(cases)), None)
    bottom, top = _share_interval(yes, count)
    return _judge(bottom, top, low, high, needed, unit)


def _share_interval(yes: float, count: int) -> tuple[float, float]:
    """Clopper and Pearson's."""
    from scipy.special import betaincinv

    tail = (1 - defaults.LEVEL) / 2
    bottom = float(betaincinv(yes, count - yes + 1, tail)) if yes else 0.0
    top = float(betaincinv(yes + 1, count - yes, 1 - tail)) if yes < count else 1.0
    return bottom, top


def _judge(bottom: float, top: float, low: float, high: float, needed: int | None, unit: str) -> FigureJudgement:
    if low < bottom and top < high:
        return FigureJudgement(Found.HOLDS, sampled=True)
    if top < low or bottom > high:
        return FigureJudgement(Found.REFUTED, sampled=True)
    if needed is None:
        return FigureJudgement(Found.OPEN, f"many more {unit}s: the mean lies on the edge", runs=inf)
    return FigureJudgement(Found.OPEN, f"about {needed:,} {unit}s at this spread", runs=needed)


def all_of(judgements: Iterable[FigureJudgement]) -> FigureJudgement:
    """A statement of several parts: refuted by any, open if any is, else it holds. What it takes is what the part that wants
    most takes.

    >>> all_of([FigureJudgement(Found.OPEN, "5 seeds", runs=5), FigureJudgement(Found.OPEN, "9 seeds", runs=9)]).needs
    '9 seeds'
    """
    listed = list(judgements)
    for found in (Found.REFUTED, Found.OPEN):
        some = [j for j in listed if j.found is found]
        if some:
            most = max(some, key=lambda j: j.runs)
            return FigureJudgement(found, most.needs, all(j.sampled for j in some), most.runs)
    return FigureJudgement(Found.HOLDS, sampled=any(j.sampled for j in listed))


def standard_errors_from(values: FloatArray, published: float) -> float | None:
    """How far the mean over seeds lies above a published figure, in its standard errors; None where seeds do not differ.

    >>> standard_errors_from(np.array([1.0, 3.0]), 0.0), standard_errors_from(np.array([0.1 + 0.2, 0.3]), 0.1)
    (2.0, None)
    """
    error = float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return (float(values.mean()) - published) / error if error > EQUAL_RUNS * abs(float(values.mean())) else None
