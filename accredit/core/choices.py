"""Games in which a player has more than two states: levels of effort in order, or alternatives without one."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Protocol, runtime_checkable

import numpy as np

from accredit.checks.numbers import FloatArray, IntArray, real_numbers
from accredit.core.coalitions import CHUNK_BYTES
from accredit.core.game import check_finite, check_names, check_players
from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers

MOST_CELLS = 1 << 22  # joint choices of one table


@runtime_checkable
class ChoiceGame(Protocol):
    """Who plays, what each of them may choose, and what every joint choice earns.

    The choices of a player are numbered from 0, in the order of `levels`; 0 is "does not take part" where choices are ordered.
    Joint choices are rows of these numbers.
    """

    @property
    def players(self) -> tuple[str, ...]: ...

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The names of each player's choices."""
        ...

    def worth(self, choices: IntArray) -> FloatArray:
        """What each joint choice earns: (batch, n) -> (batch,)."""
        ...


class Choosing:
    """Who plays, and what each of them may choose: what games of several choices have in common."""

    def __init__(self, players: tuple[str, ...], levels: tuple[tuple[str, ...], ...]) -> None:
        self._players, self._levels = players, levels

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        return self._levels


def worths(game: ChoiceGame, choices: IntArray) -> FloatArray:
    """What joint choices earn, checked: one finite number each. The only door through which values ask such a game."""
    earned = real_numbers(game.worth(choices.copy()), "worth", BadPayoff, copy=True)
    if earned.shape != (len(choices),):
        raise BadPayoff(
            f"worth of {len(choices)} joint choices returned shape {earned.shape}; it must be one number each", code="shape"
        )
    check_finite(earned, lambda row: choose(game, choices[row]))
    return earned


def check_choices(game: ChoiceGame, choices: object) -> IntArray:
    """Joint choices as (batch, n) whole numbers that the players have, or an error that says which is not one."""
    given = real_numbers(choices, "choices")
    shape = np.array(shape_of(game))
    if given.shape[1:] != shape.shape:
        raise InvalidInput(
            f"choices has shape {given.shape}; give one row per joint choice and one column per player, (batch, {len(shape)})",
            argument="choices",
            code="shape",
        )
    wrong = ~((given >= 0) & (given < shape) & (given == np.floor(given)))
    if wrong.any():
        row, player = np.argwhere(wrong)[0].tolist()
        raise InvalidInput(
            f"choices[{row}] of {game.players[player]!r} is {given[row, player]:g}; write a whole number from 0 to "
            f"{shape[player] - 1}",
            argument="choices",
            code="range",
        )
    return given.astype(np.int64)


def choose(game: ChoiceGame, choice: IntArray) -> str:
    """A joint choice in words.

    >>> from accredit.games import ChoiceTable
    >>> choose(ChoiceTable(("a", "b"), [[0, 1, 2], [0, 3, 5]]), np.array([1, 2]))
    '{a: 1, b: 2}'
    """
    named = zip(game.players, game.levels, choice.tolist(), strict=True)
    return "{" + ", ".join(f"{player}: {levels[at]}" for player, levels, at in named) + "}"


def shape_of(game: ChoiceGame) -> tuple[int, ...]:
    """How many choices each player has."""
    return tuple(len(levels) for levels in game.levels)


def tabulate_choices(game: ChoiceGame) -> FloatArray:
    """What every joint choice earns, one axis per player; a game that knows its table is not asked again."""
    shape = shape_of(game)
    if prod(shape) > MOST_CELLS:
        raise TooManyPlayers(
            f"{len(shape)} players with {min(shape)} to {max(shape)} choices have {prod(shape):,} joint choices; the limit is "
            f"{MOST_CELLS:,}. Estimate instead, with budget=2000, or give players fewer choices",
            code="too-many",
        )
    known = getattr(game, "table", None)
    if isinstance(known, np.ndarray):
        return known
    step = max(1, CHUNK_BYTES // (8 * len(shape)))
    rows = (np.arange(start, min(start + step, prod(shape))) for start in range(0, prod(shape), step))
    asked = [worths(game, np.stack(np.unravel_index(part, shape), axis=1).astype(np.int64)) for part in rows]
    return np.concatenate(asked).reshape(shape)


def check_levels(players: Iterable[str | int], levels: object) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Players and the names of their choices; a number k stands for the choices 0 … k − 1."""
    names = check_players(players)
    if not isinstance(levels, list | tuple) or len(levels) != len(names):
        raise InvalidInput(
            f"levels is {levels!r:.60}; give the choices of each of the {len(names)} players", argument="levels", code="type"
        )
    listed = []
    for player, choices in zip(names, levels, strict=True):
        given = range(choices) if isinstance(choices, int | np.integer) and not isinstance(choices, bool) else choices
        if isinstance(given, str):
            raise InvalidInput(
                f"levels of {player!r} is the string {given!r:.40}; write a list of names", argument="levels", code="type"
            )
        listed.append(check_names(given, f"levels of {player!r}"))
        if len(listed[-1]) < 2:
            raise InvalidInput(
                f"levels of {player!r} has {len(listed[-1])}; a player needs at least two choices",
                argument="levels",
                code="shape",
            )
    return names, tuple(listed)
