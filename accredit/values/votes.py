r"""Semivalues of weighted votes by counting sums of votes instead of coalitions, for any number of players.

Player i decides a coalition of k others exactly when their votes lie in [quota − w_i, quota − 1]. With P_i(k) the chance of
that for a random coalition of k others, and s(k) = C(n−1, k)·p(k) the law of a semivalue, the credit is Σ_k s(k)·P_i(k).
The chances follow from one table (size, votes) to which players are added one by one (Mann and Shapley, 1962); all numbers in
it are averages of non-negative ones, so nothing cancels. Players are left out in halves, so that d different weights need
about n·log₂ d additions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from accredit.core import FloatArray, Game, IntArray
from accredit.errors import TooManyPlayers

MOST_WORK = 1 << 34  # numbers written in all

Classes = list[tuple[int, int]]  # votes, and how many players have them


@runtime_checkable
class VotingGame(Game, Protocol):
    """A game in which a coalition earns 1 when the votes of its members reach the quota, else 0."""

    weights: IntArray  # (n,)
    quota: int


def decisive(weights: IntArray, quota: int) -> FloatArray:
    """P_i(k): the chance that player i decides a random coalition of k others, (n, n).

    >>> decisive(np.array([2, 1, 1]), 3)  # the first decides with one or with both others
    array([[0. , 1. , 1. ],
           [0. , 0.5, 0. ],
           [0. , 0.5, 0. ]])
    """
    classes = sorted(Counter(np.minimum(weights, quota).tolist()).items())
    n = len(weights)
    work = n * quota * n * (len(classes).bit_length() + 1)
    if work > MOST_WORK:
        raise TooManyPlayers(
            f"a vote of {n} players with quota {quota:,} needs about {work:.1e} steps; divide weights and quota by a common "
            "number, or estimate from its payoffs: shapley(FunctionGame(game.players, game.payoff), budget=2000)",
            code="too-many",
        )
    start = np.zeros((n, quota))
    start[0, 0] = 1.0  # nobody has no votes
    by_weight = {w: table[:, quota - w :].sum(axis=1) for w, table in _without_one(start, 0, classes)}
    return np.array([by_weight[min(int(w), quota)] for w in weights])


def _without_one(table: FloatArray, players: int, classes: Classes) -> Iterator[tuple[int, FloatArray]]:
    """For every class, the table of all players but one of that class; `table` holds those outside `classes`."""
    if len(classes) == 1:
        weight, count = classes[0]
        yield weight, _join(table, players, [(weight, count - 1)])
        return
    halves = classes[: len(classes) // 2], classes[len(classes) // 2 :]
    for kept, others in (halves, halves[::-1]):
        yield from _without_one(_join(table, players, others), players + sum(c for _, c in others), kept)


def _join(table: FloatArray, players: int, classes: Classes) -> FloatArray:
    """The table after the players of these classes joined: row k holds the law of the votes of k random players."""
    sizes = np.arange(len(table))[:, None]
    for weight, count in classes:
        for m in range(players, players + count):
            after = table * np.maximum(m + 1 - sizes, 0) / (m + 1)
            after[1:, weight:] += table[:-1, : table.shape[1] - weight] * sizes[1:] / (m + 1)
            table = after
        players += count
    return table
