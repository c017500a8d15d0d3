"""The largest of many, which is what a view shows: players as steps from a base value to an output, pairs, edges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from accredit.core import FloatArray, IntArray

FLOW_DRAWN = 0.98  # share of each layer's flow that is in the drawing; hair-thin edges are left out
MOST_EDGES = 1600  # in all layers together


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


def strongest_players(square: FloatArray, most: int) -> list[int]:
    """The players whose largest pair is largest, in the order in which they play."""
    order = np.argsort(-np.abs(square).max(axis=1), kind="stable")[:most]
    return sorted(order.tolist())


def strongest_edges(weights: FloatArray, most: int = MOST_EDGES, share: float = FLOW_DRAWN) -> list[tuple[int, int]]:
    """The largest entries of a matrix that make up a share of its sum, smallest first: they are painted over one another."""
    flat = weights.ravel()
    order = np.argsort(-flat, kind="stable")[: min(most, int((flat > 0).sum()))]
    enough = np.searchsorted(np.cumsum(flat[order]), share * flat.sum()) + 1
    return [(int(k) // weights.shape[1], int(k) % weights.shape[1]) for k in order[:enough][::-1]]
