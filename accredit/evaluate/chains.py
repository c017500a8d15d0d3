r"""Chains of coalitions: what is left as players are taken away, or what there is as they are put back, in order of credit.

Comprehensiveness, sufficiency, AOPC, log-odds, deletion and insertion all are $\sum_k w_k\,g(v(S_k))$ along one chain
$\emptyset = S_0 \subset S_1 \subset \dots \subset S_n = N$ with $|S_k| = k$; they differ in the weights and in whether the
chain is built from the top of the order or from its bottom. The best chain is therefore a shortest path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from accredit.core import BoolArray, FloatArray, Game, IntArray, payoffs, tabulate
from accredit.errors import InvalidInput

CHAIN_LIMIT = 12  # players; up to here the best chain is found exactly from 2ⁿ payoffs, beyond it greedily from n²/2


def tops(order: IntArray, sizes: Sequence[int] | IntArray) -> BoolArray:
    """The first k players of an order as a coalition, for every k in `sizes`: (len(sizes), n).

    >>> tops(np.array([2, 0, 1]), [1, 2]).astype(int)
    array([[0, 0, 1],
           [1, 0, 1]])
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[None, :] < np.asarray(sizes)[:, None]


def sizes_of(fractions: Sequence[float], players: int) -> IntArray:
    """How many players each fraction means: ⌈q·n⌉, at least one.

    >>> sizes_of([0.01, 0.2, 0.5], 10)
    array([1, 2, 5])
    """
    return np.array([max(1, math.ceil(q * players - 1e-9)) for q in fractions], dtype=np.int64)


def check_fractions(fractions: Sequence[float]) -> None:
    """Fractions of the players lie in (0, 1]."""
    if not fractions or not all(0 < q <= 1 for q in fractions):
        raise InvalidInput(
            f"fractions must be numbers in (0, 1], got {tuple(fractions)!r}; write for example (0.1, 0.2, 0.5)",
            argument="fractions",
            code="range",
        )


def trapezoid(players: int) -> FloatArray:
    """Weights of the trapezoid rule on the axis k/n, k = 0..n; they sum to 1."""
    weights = np.full(players + 1, 1.0 / players)
    weights[[0, -1]] /= 2
    return weights


def best_chain(
    game: Game, weights: FloatArray, *, grow: bool, worth: Callable[[FloatArray], FloatArray] = lambda v: v
) -> IntArray:
    """The order in which players join ∅ so that Σ_k weights[k]·worth(v(S_k)) is least.

    Exact up to 12 players: a shortest path through the lattice of coalitions, O(n·2ⁿ). Beyond, greedy: with `grow` from ∅
    upward, else from N downward, always taking the step that costs least next; n(n+1)/2 payoffs, and not guaranteed to be best.
    """
    n = len(game.players)
    if n <= CHAIN_LIMIT:
        return _shortest(worth(tabulate(game)), weights)
    return _greedy(game, 1.0 if weights.sum() >= 0 else -1.0, grow, worth)


def _shortest(value: FloatArray, weights: FloatArray) -> IntArray:
    """Dynamic programming from ∅ to N over all coalitions, one size at a time."""
    n = value.size.bit_length() - 1
    masks = np.arange(value.size)
    size = np.bitwise_count(masks).astype(np.int64)
    cost = weights[size] * value
    best = np.full(value.size, np.inf)
    best[0] = cost[0]
    last = np.zeros(value.size, dtype=np.int64)
    for k in range(1, n + 1):
        here = masks[size == k]
        before = np.where(here[:, None] >> np.arange(n) & 1, best[here[:, None] & ~(1 << np.arange(n))], np.inf)
        last[here] = before.argmin(axis=1)
        best[here] = before.min(axis=1) + cost[here]
    order = []
    mask = value.size - 1
    while mask:
        order.append(last[mask])
        mask &= ~(1 << int(last[mask]))
    return np.array(order[::-1], dtype=np.int64)


def _greedy(game: Game, sign: float, grow: bool, worth: Callable[[FloatArray], FloatArray]) -> IntArray:
    n = len(game.players)
    inside = np.full(n, not grow)
    joined: list[int] = []
    for _ in range(n):
        movable = np.flatnonzero(inside != grow)
        asked = np.broadcast_to(inside, (len(movable), n)).copy()
        asked[np.arange(len(movable)), movable] = grow
        pick = int(movable[np.argmin(sign * worth(payoffs(game, asked)))])
        inside[pick] = grow
        joined.append(pick)
    return np.array(joined if grow else joined[::-1], dtype=np.int64)
