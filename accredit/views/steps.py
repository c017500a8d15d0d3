"""From a base value to an output, one player after another: who is a step, where it starts and ends, how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from accredit.core import FloatArray, IntArray
from accredit.views.parts import Bar, hue

WIDTH, HEIGHT = 260, 18  # of a step, in the units of the drawing


class Step(NamedTuple):
    """One player, what it shows beside its name, what it adds, and from where to where it moves the output."""

    name: str
    value: str
    credit: float
    start: float
    end: float


def largest(credit: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """At most `most` steps: the players who are one of their own, largest credit first, and those who are one together.

    >>> [part.tolist() for part in largest(np.array([1.0, -3.0, 2.0, 0.0]), 3)]
    [[1, 2], [0, 3]]
    """
    order = np.argsort(-np.abs(credit), kind="stable")
    return (order, order[:0]) if len(order) <= most else (order[: most - 1], order[most - 1 :])


def climb(base: float, moves: Sequence[tuple[str, str, float]]) -> list[Step]:
    """Names, values and credits as steps, each of which starts where the one before it ended.

    >>> [(step.start, step.end) for step in climb(1.0, [("a", "", 2.0), ("b", "", -0.5)])]
    [(1.0, 3.0), (3.0, 2.5)]
    """
    ends = accumulate((credit for _, _, credit in moves), initial=base)
    return [Step(*move, start, end) for move, (start, end) in zip(moves, pairwise(ends), strict=True)]


def step_bar(step: Step, reach: tuple[float, float]) -> Bar:
    """From where to where a player moves the output, on the scale of `reach`; the thin line is where it started."""
    left, right = sorted(across(x, reach) for x in (step.start, step.end))
    fill = f"M{left:.1f} 3h{max(right - left, 0.5):.1f}v{HEIGHT - 6}H{left:.1f}z"
    return Bar(WIDTH, HEIGHT, hue(step.credit, True), fill, f"M{across(step.start, reach):.1f} 0v{HEIGHT}", "")


def mark(x: float, reach: tuple[float, float]) -> Bar:
    """A place on the scale of the steps."""
    at = across(x, reach)
    return Bar(WIDTH, HEIGHT, "size", f"M{at - 1.5:.1f} 1h3v{HEIGHT - 2}h-3z", f"M{at:.1f} 0v{HEIGHT}", "")


def across(x: float, reach: tuple[float, float]) -> float:
    """A number as a place between the edges of the drawing."""
    return 2 + (x - reach[0]) * (WIDTH - 4) / ((reach[1] - reach[0]) or 1.0)
