"""Games made from games: groups as players, fewer players, remembered, counted and watched payoffs. Outputs stay as they
are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast, overload

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import keys
from accredit.core.game import (
    Game,
    check_groups,
    check_names,
    check_players,
    coalition_of,
    player_index,
    write_coalition,
)
from accredit.core.games import Games, asked
from accredit.core.rounding import blur_of
from accredit.errors import InvalidInput
from accredit.games.batches import reporting


class _Made:
    """A game made from another: its payoffs are as blurred as that one's."""

    _game: Game

    @property
    def players(self) -> tuple[str, ...]:
        return self._game.players

    @property
    def blur(self) -> float:
        return blur_of(self._game)


class _Several(_Made):
    """The outputs of a game made from several games."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return check_names(cast(Games, self._game).outputs, "outputs")  # which a game made from one game does not know


class _Grouped(_Made):
    def __init__(self, game: Game, members: BoolArray, names: tuple[str, ...]) -> None:
        self._game, self._members, self._names = game, members, names

    @property
    def players(self) -> tuple[str, ...]:
        return self._names

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self._game.payoff(coalitions @ self._members)


class _GroupedGames(_Several, _Grouped):
    pass


@overload
def grouped(game: Games, groups: Mapping[str, Iterable[str]]) -> Games: ...
@overload
def grouped(game: Game, groups: Mapping[str, Iterable[str]]) -> Game: ...
@check_arguments
def grouped(game: Game, groups: Mapping[str, Iterable[str]]) -> Game:
    """The quotient game: each group plays or stays out as one player. Players in no group stay single.

    >>> from accredit.games import TableGame
    >>> grouped(TableGame(("a", "b", "c"), range(8)), {"ab": ["a", "b"]}).players
    ('ab', 'c')
    """
    n = len(game.players)
    owner: dict[int, str] = {}
    for name, listed in check_groups(groups).items():
        for member in listed:
            i = player_index(game.players, member, "groups")
            if i in owner:
                raise InvalidInput(
                    f"groups puts {member!r} into {owner[i]!r} and {name!r}; groups must not overlap",
                    argument="groups",
                    code="duplicate",
                )
            owner[i] = name
    empty = set(groups) - set(owner.values())
    if empty:
        raise InvalidInput(f"groups[{sorted(empty)[0]!r}] is empty; name at least one player", argument="groups", code="empty")
    names = check_players(list(dict.fromkeys(owner.get(i, game.players[i]) for i in range(n))))
    clash = [p for i, p in enumerate(game.players) if i not in owner and p in groups]
    if clash:
        raise InvalidInput(
            f"groups has a group with the same name as the single player {clash[0]!r}; choose another name",
            argument="groups",
            code="duplicate",
        )
    members = np.zeros((len(names), n), dtype=bool)
    for i in range(n):
        members[names.index(owner.get(i, game.players[i])), i] = True
    return (_GroupedGames if isinstance(game, Games) else _Grouped)(game, members, names)


class _Restricted(_Made):
    def __init__(self, game: Game, free: IntArray, present: BoolArray) -> None:
        self._game, self._free, self._present = game, free, present

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(self._game.players[i] for i in self._free)

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        whole = np.broadcast_to(self._present, (len(coalitions), len(self._present))).copy()
        whole[:, self._free] = coalitions
        return self._game.payoff(whole)


class _RestrictedGames(_Several, _Restricted):
    pass


@overload
def restricted(game: Games, players: Iterable[str], given: Iterable[str] = ()) -> Games: ...
@overload
def restricted(game: Game, players: Iterable[str], given: Iterable[str] = ()) -> Game: ...
@check_arguments
def restricted(game: Game, players: Iterable[str], given: Iterable[str] = ()) -> Game:
    """The game among some `players` only. Those in `given` always play; everyone else never does.

    >>> from accredit.games import TableGame
    >>> given_b = restricted(TableGame(("a", "b"), [0, 5, 3, 10]), ["a"], given=["b"])
    >>> given_b.payoff(np.array([[False], [True]]))
    array([ 3., 10.])
    """
    free = coalition_of(game.players, players, "players")
    present = coalition_of(game.players, given, "given")
    if (free & present).any():
        raise InvalidInput(
            f"given and players both hold {write_coalition(game.players, free & present)}; a player is free or given",
            argument="given",
            code="conflict",
        )
    if not free.any():
        raise InvalidInput("players is empty; name at least one player to keep", argument="players", code="empty")
    return (_RestrictedGames if isinstance(game, Games) else _Restricted)(game, np.flatnonzero(free), present)


class Cached(_Made):
    """A game that asks for each coalition once; keys are packed bits. See `cached`.

    >>> from accredit.games import TableGame
    >>> game = cached(TableGame(("alice", "bob"), [0, 5, 3, 10]))
    >>> game.payoff(np.array([[True, True], [True, True], [True, False]])), game.remembered
    (array([10., 10.,  5.]), 2)
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self._known: dict[bytes, float | list[float]] = {}  # packed coalition -> payoff, or payoffs (k,)

    @property
    def remembered(self) -> int:
        """How many distinct coalitions were asked."""
        return len(self._known)

    def count_new(self, coalitions: BoolArray) -> int:
        """How many of some coalitions were not asked yet."""
        return len({*keys(coalitions)} - self._known.keys())

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        names = keys(coalitions)
        new = {key: row for row, key in enumerate(names) if key not in self._known}
        if new:
            earned = asked(self._game, coalitions[list(new.values())])
            self._known.update(zip(new, earned.tolist(), strict=True))
        return np.array([self._known[key] for key in names])


class CachedGames(_Several, Cached):
    """Several games that ask for each coalition once. See `cached`.

    >>> from accredit.games import TableGames
    >>> grades = cached(TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]]))
    >>> grades.outputs, grades.payoff(np.array([[True, True], [True, True]])).tolist(), grades.remembered
    (('maths', 'music'), [[10.0, 3.0], [10.0, 3.0]], 1)
    """


@overload
def cached(game: Games) -> CachedGames: ...
@overload
def cached(game: Game) -> Cached: ...
@check_arguments
def cached(game: Game) -> Cached:
    """`game` with every payoff remembered, so that repeated coalitions, also within one batch, cost nothing.

    >>> from accredit.games import TableGame
    >>> game = cached(TableGame(("alice", "bob"), [0, 5, 3, 10]))
    >>> game.payoff(np.array([[True, False]] * 3)), game.remembered
    (array([5., 5., 5.]), 1)
    """
    return (CachedGames if isinstance(game, Games) else Cached)(game)


class Counted(_Made):
    """A game that counts what it is asked. See `counted`.

    >>> from accredit.games import TableGame
    >>> from accredit.values import Permutations
    >>> game = counted(TableGame(("alice", "bob"), [0, 5, 3, 10]))
    >>> _ = Permutations(orders=2, seed=0).solve(game)
    >>> game.payoffs, game.calls
    (4, 2)
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self.payoffs = 0
        self.calls = 0

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        self.payoffs += len(coalitions)
        self.calls += 1
        return self._game.payoff(coalitions)


class CountedGames(_Several, Counted):
    """Several games that count what they are asked, once for all outputs. See `counted`.

    >>> from accredit.games import TableGames
    >>> grades = counted(TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, 2], [10, 3]]))
    >>> grades.payoff(np.array([[True, True], [True, False]])).tolist(), grades.payoffs
    ([[10.0, 3.0], [5.0, 1.0]], 2)
    """


@overload
def counted(game: Games) -> CountedGames: ...
@overload
def counted(game: Game) -> Counted: ...
@check_arguments
def counted(game: Game) -> Counted:
    """`game` with a ledger: `.payoffs` counts coalitions asked, `.calls` the batches.

    >>> from accredit.games import TableGame
    >>> game = counted(TableGame(("alice", "bob"), [0, 5, 3, 10]))
    >>> game.payoff(np.array([[True, False], [True, True]])), game.payoffs, game.calls
    (array([ 5., 10.]), 2, 1)
    """
    return (CountedGames if isinstance(game, Games) else Counted)(game)


class Watched(_Made):
    """A game that reports how much it was asked. See `watch`."""

    def __init__(self, game: Game, report: Callable[[int], None]) -> None:
        self._game, self._report, self._asked = game, report, 0

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        done = self._asked

        def batch(rows: int) -> None:
            nonlocal done
            done += rows
            self._report(done)

        with reporting(batch):
            earned = self._game.payoff(coalitions)
        self._asked += len(coalitions)
        if done < self._asked:
            self._report(self._asked)
        return earned


class WatchedGames(_Several, Watched):
    """Several games that report how much they were asked. See `watch`."""


def watch(game: Game, report: Callable[[int], None]) -> Watched:
    """`game`, which reports how many payoffs were asked so far: after every batch of its model and at the end of every call.

    >>> from accredit.games import TableGame
    >>> asked = []
    >>> watch(TableGame(("a", "b"), [0, 5, 3, 10]), asked.append).payoff(np.array([[True, False], [True, True]]))
    array([ 5., 10.])
    >>> asked
    [2]
    """
    return (WatchedGames if isinstance(game, Games) else Watched)(game, report)
