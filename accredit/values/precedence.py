"""Who comes before whom: a partial order of players, and random orders of arrival that respect it.

A coalition that can be met on the way is *closed*: with a player it holds everybody who comes before. Closed coalitions (the
ideals of the partial order) are few where the order says much: a chain of n players has n + 1 of them, stages of sizes
n₁, n₂, … have 1 + Σ (2^nₖ − 1). They are the states of a walk from nobody to everybody. Let e(S) be the number of ways in which
the walk can end from S. Leaving S by player i with chance e(S ∪ i) / Σ_j e(S ∪ j) makes every order that respects the partial
order equally likely.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accredit.checks.json_data import read_json
from accredit.checks.numbers import shown
from accredit.core import BoolArray, FloatArray, IntArray, player_index
from accredit.core.coalitions import unique
from accredit.core.game import as_name
from accredit.errors import InvalidInput, TooManyPlayers

MOST_CLOSED = 1 << 17  # closed coalitions that are listed at most
FORMS = "groups in order [['age', 'sex'], 'income'], pairs [('age', 'income')], or the text 'age, sex < income'"
Relations = list[tuple[str, str]]  # (earlier, later)


@dataclass(frozen=True)
class Stages:
    """The stage of every player, from 0: all of one stage come before all of the next."""

    of: tuple[int, ...]


class JoiningStep(NamedTuple):
    """All ways in which one more player may join the closed coalitions of one size."""

    held: BoolArray  # (coalitions, n): the closed coalitions of this size
    source: IntArray  # (ways,): position of the coalition that is joined, ascending
    player: IntArray  # (ways,): who joins
    target: IntArray  # (ways,): position of what comes out among the coalitions of the next size
    chance: FloatArray  # (ways,): of this way, given the coalition


@dataclass(frozen=True, eq=False)
class Precedence:
    """A partial order of players.

    >>> order = precedence_of(("age", "sex", "income", "luck"), "age, sex < income")
    >>> order.pairs, order.stages
    ((('age', 'income'), ('sex', 'income')), None)
    >>> precedence_of("abc", ["a", ["b", "c"]]).stages
    Stages(of=(0, 1, 1))
    """

    players: tuple[str, ...]
    before: BoolArray  # (n, n): must the row's player come before the column's? With all that follows

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Everything that it says, as (earlier, later)."""
        return tuple((self.players[i], self.players[j]) for i, j in np.argwhere(self.before).tolist())

    @cached_property
    def stages(self) -> Stages | None:
        """The stages, if all players stand in stages; else None."""
        earlier = self.before.sum(axis=0)  # in stages this is the size of all stages before one's own
        if not np.array_equal(self.before, earlier[:, None] < earlier):
            return None
        return Stages(tuple(np.unique(earlier, return_inverse=True)[1].tolist()))

    def steps(self, most: int = MOST_CLOSED) -> list[JoiningStep] | None:
        """The walk through all closed coalitions, size by size; None if there are more than `most`."""
        n, held = len(self.players), np.zeros((1, len(self.players)), dtype=bool)
        ways, count = [], 1
        for _ in range(n):
            missing = (~held).astype(np.float64) @ self.before  # (coalitions, n): how many must still come before
            source, player = np.nonzero(~held & (missing == 0))
            joined = held[source]
            joined[np.arange(len(source)), player] = True
            following, target = unique(joined)
            ways.append((held, source, player, target))
            held, count = following, count + len(following)
            if count > most:
                return None
        ends = np.ones(1)  # in how many ways the walk ends, on a scale of its own for every size
        steps = []
        for held, source, player, target in reversed(ways):
            total = np.bincount(source, ends[target], len(held))
            steps.append(JoiningStep(held, source, player, target, ends[target] / total[source]))
            ends = total / total.max()
        return steps[::-1]

    def draw(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int32]:
        """Independent orders, all that respect this one equally likely: the place of each player, (count, n)."""
        return _draw(self.before, rng, count).astype(np.int32)


def precedence_of(players: Sequence[str], order: object) -> Precedence:
    """The partial order that is meant by `order`: groups of players in order, pairs (earlier, later), a mapping from players to
    those that come before them, a text such as "age, sex < income; sex < job", or any of these as JSON.

    Players that are not named may come at any time.

    >>> precedence_of("abc", {"c": ["a", "b"]}).pairs == precedence_of("abc", [("a", "c"), ("b", "c")]).pairs
    True
    >>> precedence_of("abc", "a < b; b < c; c < a")
    Traceback (most recent call last):
        ...
    accredit.errors.InvalidInput: order goes round in a circle: 'a' before 'b' before 'c' before 'a'; leave one of them out
    """
    if isinstance(order, Precedence):
        return order
    names = tuple(players)
    said = _relations(order)
    before = np.zeros((len(names), len(names)), dtype=bool)
    for one, other in said:
        before[_place(names, one), _place(names, other)] = True
    whole = before.copy()
    for k in range(len(names)):  # Warshall's closure
        whole |= whole[:, k, None] & whole[k]
    if whole.diagonal().any():
        circle = " before ".join(repr(names[i]) for i in _circle(before, whole))
        raise InvalidInput(f"order goes round in a circle: {circle}; leave one of them out", argument="order", code="conflict")
    if not whole.any():
        raise InvalidInput(f"order says nothing about who comes before whom; write {FORMS}", argument="order", code="empty")
    return Precedence(names, whole)


# What is written


def _relations(order: object) -> Relations:
    if isinstance(order, str):
        if order.lstrip()[:1] in ("[", "{"):
            return _relations(read_json(order, "order"))
        chains = [[side.split(",") for side in chain.split("<")] for chain in order.split(";") if chain.strip()]
        return [pair for chain in chains for pair in _chain([[name.strip() for name in side] for side in chain])]
    if isinstance(order, Mapping):
        return [(one, _name(later)) for later, earlier in order.items() for one in _group(earlier)]
    if isinstance(order, Iterable):
        parts = list(order)
        if parts and all(isinstance(part, tuple) for part in parts):
            return [_pair(part) for part in parts]
        return _chain([_group(part) for part in parts])
    raise InvalidInput(f"order is {shown(order)}; write {FORMS}", argument="order", code="type")


def _pair(part: tuple[object, ...]) -> tuple[str, str]:
    if len(part) != 2:
        raise InvalidInput(
            f"order holds {shown(part)}; a tuple is a pair (earlier, later), and a group is a list: {list(part)!r:.60}",
            argument="order",
            code="type",
        )
    return _name(part[0]), _name(part[1])


def _group(part: object) -> list[str]:
    named = as_name(part)
    if isinstance(named, str):
        return [named]
    if isinstance(part, Iterable) and not isinstance(part, Mapping):
        return [_name(one) for one in part]
    raise InvalidInput(f"order holds {shown(part)}; a group is a name or a list of names", argument="order", code="type")


def _name(given: object) -> str:
    named = as_name(given)
    if isinstance(named, str) and named:
        return named
    raise InvalidInput(f"order holds {shown(given)} where a name is expected; write {FORMS}", argument="order", code="type")


def _chain(groups: list[list[str]]) -> Relations:
    """All of one group before all of the next; a name may stand in one group only."""
    seen: set[str] = set()
    for name in (name for group in groups for name in group):
        if not name:
            raise InvalidInput(f"order has an empty place beside a comma or <; write {FORMS}", argument="order", code="empty")
        if name in seen:
            raise InvalidInput(
                f"order names {name!r} twice in one line of groups; name it once", argument="order", code="duplicate"
            )
        seen.add(name)
    return [
        (one, other)
        for here, group in enumerate(groups)
        for following in groups[here + 1 : here + 2]
        for one in group
        for other in following
    ]


def _place(players: tuple[str, ...], name: str) -> int:
    try:
        return player_index(players, name)
    except InvalidInput as error:
        raise InvalidInput(f"order names {name!r}: {error}", argument="order", code="unknown") from None


def _circle(before: BoolArray, whole: BoolArray) -> list[int]:
    """Players that each must come before the next, the last one being the first."""
    found = [int(np.argmax(whole.diagonal()))]
    while len(found) == 1 or found[-1] != found[0]:
        following = np.flatnonzero(before[found[-1]] & (whole[:, found[0]] | (np.arange(len(before)) == found[0])))
        unseen = [i for i in following.tolist() if i not in found]
        found.append(found[0] if found[0] in following else unseen[0])
    return found


# Random orders


def _draw(before: BoolArray, rng: np.random.Generator, count: int) -> IntArray:
    """Places in random orders. Parts that say nothing about one another are shuffled together, parts of which one comes wholly
    before the other stand in line, and what is neither is walked through its closed coalitions."""
    n = len(before)
    if n == 1:
        return np.zeros((count, 1), dtype=np.int64)
    either = before | before.T
    places = np.empty((count, n), dtype=np.int64)
    apart = _parts(either)
    if len(apart) > 1:
        label = np.repeat(np.arange(len(apart)), [len(part) for part in apart])
        slots = np.argsort(rng.permuted(np.tile(label, (count, 1)), axis=1), axis=1, kind="stable")
        first = 0
        for part in apart:
            inner = _draw(before[np.ix_(part, part)], rng, count)
            places[:, part] = np.take_along_axis(slots, first + inner, axis=1)
            first += len(part)
        return places
    in_line = sorted(_parts(~either), key=lambda part: int(before[:, part[0]].sum()))
    if len(in_line) > 1:
        first = 0
        for part in in_line:
            places[:, part] = first + _draw(before[np.ix_(part, part)], rng, count)
            first += len(part)
        return places
    return _walk(before, rng, count)


def _parts(linked: BoolArray) -> list[IntArray]:
    """The connected parts of a graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(csr_array(linked), directed=False)
    return [np.flatnonzero(label == k) for k in range(count)]


def _walk(before: BoolArray, rng: np.random.Generator, count: int) -> IntArray:
    names = tuple(map(str, range(len(before))))
    steps = Precedence(names, before).steps()
    if steps is None:
        raise TooManyPlayers(
            f"order ties {len(before)} players together in more than {MOST_CLOSED:,} ways that are neither side by side nor in "
            "line; give groups in order instead: [['age', 'sex'], 'income']",
            argument="order",
            code="too-many",
        )
    at, places = np.zeros(count, dtype=np.int64), np.empty((count, len(before)), dtype=np.int64)
    for place, step in enumerate(steps):
        reached = np.cumsum(step.chance)  # the chances of one coalition add up to 1, so its ways end at its number + 1
        way = np.searchsorted(reached, at + rng.random(count), side="right")
        ends = np.searchsorted(step.source, at, side="right") - 1
        way = np.clip(way, np.searchsorted(step.source, at), ends)  # where rounding has moved an end
        places[np.arange(count), step.player[way]] = place
        at = step.target[way]
    return places


def write_order(order: Precedence) -> str:
    """What it says, as JSON that `precedence_of` reads: everybody with those that come before. The same for every way to write
    the same order.

    >>> write_order(precedence_of("abc", "a < b < c"))
    '{"b": ["a"], "c": ["a", "b"]}'
    """
    earlier: dict[str, list[str]] = {}
    for one, later in order.pairs:
        earlier.setdefault(later, []).append(one)
    return json.dumps({name: earlier[name] for name in order.players if name in earlier}, ensure_ascii=False)
