"""The one protocol every value rests on: who plays, and what every group of them earns together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping, Set
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from accredit.checks.arguments import CHECKS
from accredit.checks.numbers import (
    BoolArray,
    FloatArray,
    IntArray,
    a_type,
    check_text,
    real_numbers,
    shown,
    truths,
    whole_number,
)
from accredit.core.coalitions import all_coalitions
from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers

TABLE_LIMIT = 24  # players; a table of 2^24 payoffs is 128 MB
LARGEST = 1e150  # the squares of larger payoffs would overflow
Member = TypeVar("Member")


@runtime_checkable
class Game(Protocol):
    """Who plays, and what every group of them earns together.

    >>> class Team:
    ...     players = ("ann", "bob")
    ...     def payoff(self, coalitions):
    ...         return coalitions.sum(axis=1) ** 2.0
    >>> isinstance(Team(), Game), payoffs(Team(), np.array([[True, False], [True, True]]))
    (True, array([1., 4.]))
    """

    @property
    def players(self) -> tuple[str, ...]: ...

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """What each coalition earns: (batch, n) -> (batch,)."""
        ...


@runtime_checkable
class Tabulated(Game, Protocol):
    """A game that already knows all 2ⁿ payoffs; bit i of the index says whether player i plays.

    >>> from accredit.games import FunctionGame, TableGame
    >>> isinstance(TableGame("ab", [0, 5, 3, 10]), Tabulated), isinstance(FunctionGame("ab", len), Tabulated)
    (True, False)
    """

    @property
    def table(self) -> FloatArray: ...


def check_game(game: object) -> Game:
    """A game, or an error that shows how to make one.

    >>> check_game([0, 5, 3, 10])
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: game is [0, 5, 3, 10], a list; give a game, for example TableGame(players, ...
    """
    if isinstance(game, type) or not isinstance(game, Game):
        raise InvalidInput(
            f"game is {shown(game)}, {a_type(game)}; give a game, for example TableGame(players, payoffs) or "
            "FunctionGame(players, function)",
            argument="game",
            code="type",
        )
    if not callable(game.payoff):
        raise InvalidInput(
            f"payoff of game is {shown(game.payoff)}; write a method that takes coalitions and returns payoffs",
            argument="game",
            code="type",
        )
    names = check_players(game.players)
    return game if names == game.players else _Named(game, names)


CHECKS[Game] = lambda given, name: check_game(given)


class _Named:
    """Somebody's game whose players are numbers, or a list: the same game with their names."""

    def __init__(self, game: Game, names: tuple[str, ...]) -> None:
        self._game, self.players = game, names

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._game.payoff(coalitions)

    def __getattr__(self, name: str) -> object:
        return getattr(self._game, name)


def payoffs(game: Game, coalitions: BoolArray) -> FloatArray:
    """Payoffs of a batch, checked: one finite number per coalition. The only door through which values ask a game.

    A game may change the coalitions that it is given, and use the array that it returns again: both are copied here.

    >>> from accredit.games import FunctionGame
    >>> payoffs(FunctionGame("ab", lambda coalitions: coalitions @ [5, 3]), np.array([[True, False], [True, True]]))
    array([5., 8.])
    >>> payoffs(FunctionGame("ab", lambda coalitions: [float("nan")]), np.array([[True, False]]))
    Traceback (most recent call last):
        ...
    accredit.errors.BadPayoff: payoff of coalition {a} is nan; every payoff must be a finite number
    """
    earned = real_numbers(game.payoff(coalitions.copy()), "payoff", BadPayoff, copy=True)
    if earned.shape != (len(coalitions),):
        raise BadPayoff(
            f"payoff of {len(coalitions)} coalitions returned shape {earned.shape}; it must return one number each: "
            f"it is asked for several at once, one per row of True and False{_of_several(game)}",
            code="shape",
        )
    check_finite(earned, lambda row: write_coalition(game.players, coalitions[row]))
    return earned


def _of_several(game: Game) -> str:
    """What to do with a game that pays several numbers where one is asked for."""
    if not hasattr(game, "outputs"):
        return ". A game that pays several numbers names them in `outputs`"
    return f". This game pays {len(game.outputs)}: pick one with output(game, {game.outputs[0]!r})"


def check_finite(earned: FloatArray, who: Callable[[int], str]) -> None:
    """Refuse payoffs (rows,) that are not finite, or too large to compute with; `who` names the coalition of a row."""
    if earned.size == 0 or (earned.min() >= -LARGEST and earned.max() <= LARGEST):
        return
    row = int(np.argmax(~(np.abs(earned) <= LARGEST)))
    finite = bool(np.isfinite(earned[row]))
    wanted = f"within ±{LARGEST:g}" if finite else "a finite number"
    raise BadPayoff(
        f"payoff of coalition {who(row)} is {earned[row]}; every payoff must be {wanted}",
        code="range" if finite else "not-finite",
    )


def check_coalitions(coalitions: object, players: int) -> BoolArray:
    """Coalitions as (batch, players) of true and false, or an error that says what is wrong with them. Games that anybody may
    ask look at what they are asked."""
    if type(coalitions) is np.ndarray and coalitions.dtype == bool and coalitions.shape[1:] == (players,):
        return coalitions
    rows = truths(coalitions, "coalitions")
    if rows.shape[1:] != (players,):
        raise InvalidInput(
            f"coalitions has shape {rows.shape}; give one row per coalition and one column per player, (batch, {players})",
            argument="coalitions",
            code="shape",
        )
    return rows


def endpoints(game: Game) -> tuple[float, float]:
    """v(∅) and v(N).

    >>> from accredit.games import TableGame
    >>> endpoints(TableGame(("alice", "bob"), [1, 5, 3, 10]))
    (1.0, 10.0)
    """
    n = len(check_game(game).players)
    nobody, everybody = payoffs(game, np.array([[False] * n, [True] * n]).reshape(2, n))
    return float(nobody), float(everybody)


def tabulate(game: Game, limit: int = TABLE_LIMIT, instead: str = "") -> FloatArray:
    """All 2ⁿ payoffs in table order.

    Asks the game in chunks that fit in memory; a game that already has its table is not asked again. `instead` is a call
    that answers the same question for more players than `limit`.

    >>> from accredit.games import FunctionGame
    >>> tabulate(FunctionGame("ab", lambda coalitions: coalitions @ [5.0, 3.0]))
    array([0., 5., 3., 8.])
    """
    n, limit = len(check_game(game).players), whole_number(limit, "limit", 0, example=TABLE_LIMIT)
    check_text(instead, "instead")
    if isinstance(game, Tabulated):
        return _check_table(game, n)
    if n > limit:
        raise TooManyPlayers(
            f"a full table of {n} players needs 2^{n} payoffs; the limit is {limit} players. "
            f"{f'Write {instead}, or merge' if instead else 'Merge'} players with grouped(game, groups).",
            code="too-many",
        )
    return np.concatenate([payoffs(game, chunk) for chunk in all_coalitions(n)])


def _check_table(game: Tabulated, n: int) -> FloatArray:
    table = np.asarray(game.table)
    if table.dtype.kind not in "biuf" or table.shape != (1 << n,):
        raise BadPayoff(
            f"table of {type(game).__name__} has shape {table.shape} of {table.dtype}; a game's table holds its {1 << n} "
            f"payoffs: give it another name if it is something else{_of_several(game)}",
            code="shape",
        )
    table = table.astype(np.float64, copy=False)
    check_finite(table, lambda row: write_coalition(game.players, row >> np.arange(n) & 1))
    return table


def write_coalition(players: Iterable[str], coalition: BoolArray | IntArray) -> str:
    """A coalition in words.

    >>> write_coalition(("a", "b", "c"), np.array([True, False, True]))
    '{a, c}'
    """
    return "{" + ", ".join(p for p, plays in zip(players, coalition, strict=True) if plays) + "}"


def as_name(name: object) -> Any:
    """A whole number as the text that it is written with; anything else as it is.

    This is the one rule for numbered players: 1, 2, 3 are accepted wherever a name is, and every result calls them '1', '2',
    '3'.

    >>> as_name(3), as_name("alice")
    ('3', 'alice')
    """
    return str(name) if isinstance(name, int | np.integer) and not isinstance(name, bool) else name


def check_players(players: Iterable[str | int]) -> tuple[str, ...]:
    """Player names as a tuple of distinct strings, or an error that names the offender; whole numbers are written as text.

    >>> check_players(["alice", 7])
    ('alice', '7')
    """
    return check_names(players, "players")


def check_names(given: Iterable[str | int], what: str) -> tuple[str, ...]:
    """Names of players or outputs as a tuple of distinct strings, or an error that names the offender.

    >>> check_names(["maths", "music"], "outputs")
    ('maths', 'music')
    """
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InvalidInput(f"{what} is {shown(given)}; write a tuple of names", code="type", argument=what)
    if isinstance(given, Set) and not isinstance(given, KeysView):
        raise InvalidInput(
            f"{what} is {shown(given)}, and a set has no order; write a tuple of names", code="type", argument=what
        )
    if isinstance(given, Mapping):
        raise InvalidInput(
            f"{what} is {shown(given)}, and only names are read; write tuple({what}), and say elsewhere what belongs to each",
            code="type",
            argument=what,
        )
    names = tuple(as_name(name) for name in given)
    if not names:
        raise InvalidInput(f"{what} is empty; a game needs at least one {what.removesuffix('s')}", code="empty", argument=what)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise InvalidInput(
                f"{what} must be strings, got {shown(name)} of type {type(name).__name__}; write str({shown(name)})",
                argument=what,
                code="type",
            )
        check_text(name, what)
        if name in seen:
            raise InvalidInput(
                f"{what} holds {name!r} twice; names must differ, for example {name!r} and {name + ' (2)'!r}",
                code="duplicate",
                argument=what,
            )
        seen.add(name)
    return names


def check_groups(groups: Mapping[str, Iterable[Member]], argument: str = "groups") -> dict[str, list[Member]]:
    """Groups as name -> list of members, or an error that shows how to write them.

    >>> check_groups({"pair": ("a", "b")})
    {'pair': ['a', 'b']}
    >>> check_groups({"pair": "ab"})
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: groups['pair'] is the string 'ab'; write ['ab']
    """
    if not isinstance(groups, Mapping):
        raise InvalidInput(
            f"{argument} is {groups!r:.60}; write a mapping from name to members, as in {{'pair': ['a', 'b']}}",
            argument=argument,
            code="type",
        )
    for name, members in groups.items():
        check_text(name, "the name of a group")
        if isinstance(members, str) or not isinstance(members, Iterable):
            kind = "string" if isinstance(members, str) else type(members).__name__
            raise InvalidInput(
                f"{argument}[{name!r}] is the {kind} {members!r:.60}; write [{members!r:.60}]", argument=argument, code="type"
            )
    return {name: list(members) for name, members in groups.items()}


def player_index(players: tuple[str, ...], name: str | int, argument: str = "") -> int:
    """Position of a player, or an error that lists who plays and names the `argument` that held it.

    >>> player_index(("alice", "bob"), "bob")
    1
    """
    try:
        return players.index(as_name(name))
    except (AttributeError, TypeError):
        raise InvalidInput(
            f"players is {shown(players)}; give the players of a game, as in ('a', 'b')", argument="players", code="type"
        ) from None
    except ValueError:
        some = ", ".join(players[:8]) + (", …" if len(players) > 8 else "")
        raise InvalidInput(f"unknown player {shown(name)}; the players are {some}", argument=argument, code="unknown") from None


def coalition_of(players: tuple[str, ...], names: Iterable[str | int], argument: str = "") -> BoolArray:
    """The coalition of the named players as one boolean row.

    >>> coalition_of(("a", "b", "c"), ["c"])
    array([False, False,  True])
    """
    if not isinstance(names, Iterable):
        raise InvalidInput(
            f"a coalition is a list of players, got {shown(names)}; write for example [{players[0]!r}]", code="type"
        )
    players = check_players(players)
    row = np.zeros(len(players), dtype=bool)
    for name in names:
        row[player_index(players, name, argument)] = True
    return row


def distinct_names(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels made into distinct player names by numbering repeats.

    >>> distinct_names(["the", "cat", "the"])
    ('the', 'cat', 'the (2)')
    """
    if not isinstance(labels, Iterable) or isinstance(labels, bytes | Set):
        raise InvalidInput(f"labels is {shown(labels)}; write a list of names", argument="labels", code="type")
    used: set[str] = set()
    names = []
    for label in [check_text(label, "labels") for label in labels]:
        name, copy = label, 1
        while name in used:
            copy += 1
            name = f"{label} ({copy})"
        used.add(name)
        names.append(name)
    return tuple(names)
