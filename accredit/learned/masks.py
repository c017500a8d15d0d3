"""Masks over players: which k are chosen, which are drawn blindly, and what may be given as one.

A mask has one column per player: 1 keeps the player, 0 puts the replacement in its place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accredit.checks import real_numbers, whole_number
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput


def check_k(k: object, players: int) -> int:
    """How many players are chosen: a whole number, at most as many as there are."""
    return whole_number(k, "k", 1, players)


def check_mask(mask: npt.ArrayLike, rows: int, players: int) -> FloatArray:
    """The mask as numbers in 0..1, one row per input and one column per player."""
    given = real_numbers(mask, "mask")
    if given.shape != (rows, players):
        raise InvalidInput(
            f"mask must have shape ({rows}, {players}), got {given.shape}: one column per player", argument="mask", code="shape"
        )
    if given.size and not (given.min() >= 0 and given.max() <= 1):
        raise InvalidInput(f"mask must lie in 0..1, got {given.min()}..{given.max()}", argument="mask", code="range")
    return given


def top(scores: npt.ArrayLike, k: int, present: BoolArray | None = None) -> BoolArray:
    """The `k` highest scores of every row, ties to the lowest index, among those `present` (all of them, if fewer than k).

    >>> top([[1.0, 3.0, 3.0, 2.0]], 1)
    array([[False,  True, False, False]])
    """
    given = real_numbers(scores, "scores")
    if given.ndim != 2 or np.isnan(given).any():
        raise InvalidInput(
            f"scores must be (N, n) numbers without NaN, got shape {given.shape}", argument="scores", code="shape"
        )
    k = check_k(k, given.shape[1])
    there = np.ones(given.shape, dtype=bool) if present is None else present
    order = np.argsort(np.where(there, -given, np.inf), axis=1, kind="stable")[:, :k]
    chosen = np.zeros(given.shape, dtype=bool)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & there


def random_masks(masks: FloatArray, present: BoolArray | None, seed: int) -> FloatArray:
    """Each row's mask shuffled among the players that are there: as many and as sharp, but blind. (N, n).

    >>> random_masks(np.eye(3), None, seed=0).sum(axis=1)
    array([1., 1., 1.])
    """
    draws = np.random.default_rng(seed).random(masks.shape)
    there = np.ones(masks.shape, dtype=bool) if present is None else present
    to = np.where(there, draws, 2.0).argsort(axis=1)  # present players first, in random order
    values = np.take_along_axis(masks, np.argsort(~there, axis=1, kind="stable"), axis=1)
    shuffled = np.zeros_like(masks)
    np.put_along_axis(shuffled, to, values, axis=1)
    return shuffled
