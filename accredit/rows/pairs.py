"""Interactions of the columns, pair by pair, in every row of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit import defaults
from accredit.core import Claim, Coalition, FloatArray, Game, Holds, Interactions, Known, Precision
from accredit.errors import InvalidInput
from accredit.values.indices import INDICES
from accredit.values.interactions import interactions

INDEX_OF = {"shapley": "sii", "banzhaf": "bii"}  # the index that goes with a value


@dataclass(frozen=True, eq=False)
class RowPairs:
    """One number for every row, pair of players and output."""

    index: str
    values: FloatArray  # (rows, players, players, outputs), symmetric with a zero diagonal
    precision: Precision
    interval: FloatArray | None = None  # (rows, players, players, outputs, 2)


def pair_index(rule: object) -> str:
    """The interaction index of a semivalue, given as trees take it."""
    if isinstance(rule, str):
        return INDEX_OF[rule]
    return (
        f"beta({rule[1]:g}, {rule[2]:g}) interactions"
        if isinstance(rule, tuple) and rule[:1] == ("beta",)
        else ("semivalue interactions")
    )


def check_pairs(players: Sequence[str]) -> None:
    """Refuse interactions where there is no pair."""
    if len(players) < 2:
        raise InvalidInput(
            f"interactions are those of two players, and {players[0]!r} plays alone; leave them out, or give columns to "
            "several players",
            argument="interactions",
            code="undefined",
        )


def pairs_of_game(game: Game, method: str, budget: int | None, seed: int) -> Mapping[str, Interactions]:
    """Interactions of every pair, by output: exact where all payoffs are affordable, else estimated."""
    if method not in INDEX_OF:
        raise InvalidInput(
            f"interactions are asked for with the method {method}; where there is no closed form, only shapley and banzhaf "
            "have them: write methods='shapley'",
            argument="interactions",
            code="conflict",
        )
    spend = None if defaults.affordable(len(game.players), budget) else budget or defaults.BUDGET
    found: Mapping[str, Interactions] = interactions(game, INDEX_OF[method], 2, budget=spend, seed=seed)  # type: ignore[assignment]
    return found


def pairs_of_row(found: Mapping[str, Interactions], outputs: Sequence[str]) -> RowPairs:
    """The pairs of one row, by output, as those of a table of one; intervals only where every output has them."""
    every = [found[name] for name in outputs]
    values = np.stack([one.matrix() for one in every], axis=-1)[None]
    ends = join_known([None if one.interval is None else _ends(one) for one in every], np.stack, 2)
    return RowPairs(every[0].index, values, least_known(one.precision for one in every), None if ends is None else ends[None])


def join_pairs(found: Sequence[RowPairs]) -> RowPairs:
    """Pairs of rows below one another; intervals only where every one has them."""
    return RowPairs(
        found[0].index,
        np.concatenate([one.values for one in found]),
        least_known(one.precision for one in found),
        join_known([one.interval for one in found]),
    )


def join_known(
    found: Sequence[FloatArray | None], join: Callable[..., FloatArray] = np.concatenate, axis: int = 0
) -> FloatArray | None:
    """Intervals put together; None where one of them is not known."""
    known = [one for one in found if one is not None]
    return join(known, axis=axis) if len(known) == len(found) else None


def least_known(found: Iterable[Precision | None]) -> Precision:
    """As well known as the least known of them; every result says how well it is."""
    order = (Known.EXACT, Known.INTERVAL, Known.UNKNOWN)
    every = [one for one in found if one is not None]
    mixed = len({one.known for one in every}) > 1
    worst = max(every, key=lambda one: order.index(one.known))
    return Precision.unknown("some rows are exact and some estimated") if mixed and worst.known is Known.INTERVAL else worst


def _ends(one: Interactions) -> FloatArray:
    """Intervals as a square: (players, players, 2)."""
    n, ends = len(one.players), one.interval
    square = np.zeros((n, n, 2))
    first, second = np.triu_indices(n, 1)  # pairs are in this order
    square[first, second] = square[second, first] = ends
    return square


def row_interactions(players: tuple[str, ...], values: FloatArray, ends: FloatArray | None, **known: Any) -> Interactions:
    """The pairs of one row as interactions; `values` (players, players), `ends` (players, players, 2)."""
    first, second = np.triu_indices(len(players), 1)
    named: dict[Coalition, float] = {
        (players[i], players[j]): float(values[i, j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)
    }
    return Interactions(players, values=named, interval=None if ends is None else ends[first, second], **known)


def pair_claims(index: str, players: int, exact: bool) -> tuple[Claim, ...]:
    """What the pairs of one row satisfy."""
    if index not in INDICES:
        return ()

    def say(because: str) -> tuple[Holds, str]:
        return (Holds.EXACTLY if exact else Holds.IN_EXPECTATION), because

    return INDICES[index].claims(2, players, say)


def pair_means(index: str) -> str:
    """How to read one number."""
    return INDICES[index].means if index in INDICES else "how much more one adds when the other is there"
