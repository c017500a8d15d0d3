"""Who owns what: players over the tokens of a text, the pixels of an image or the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accredit.checks.numbers import shown
from accredit.core import BoolArray, FloatArray, IntArray, distinct_names
from accredit.core.game import check_groups
from accredit.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Partition:
    """Places (tokens, pixels, columns) dealt out to players. A place owned by −1 belongs to nobody and always stays.

    >>> halves = Partition(("left", "right"), np.array([-1, 0, 0, 1, -1]))
    >>> halves.kept(np.array([[True, False]]))
    array([[ True,  True,  True, False,  True]])
    >>> halves.shares(np.array([9.0, 1.0, 2.0, 3.0, 9.0]))
    array([3., 3.])
    """

    players: tuple[str, ...]
    owner: IntArray  # (places,), index of the owning player, or −1

    def kept(self, coalitions: BoolArray) -> BoolArray:
        """The places that stay when only a coalition plays: (batch, n) -> (batch, places)."""
        always = np.ones((len(coalitions), 1), dtype=bool)  # column −1, the places of nobody
        return np.concatenate([coalitions, always], axis=1)[:, self.owner]

    def shares(self, values: FloatArray) -> FloatArray:
        """Values of places summed over each player's own: (..., places) -> (..., n)."""
        owned = self.owner >= 0
        shares = np.zeros((len(self.players), *values.shape[:-1]))
        np.add.at(shares, self.owner[owned], np.moveaxis(values[..., owned], -1, 0))
        return np.moveaxis(shares, 0, -1)

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The places of each player, in order."""
        found: list[list[int]] = [[] for _ in self.players]
        for place, owner in enumerate(self.owner.tolist()):
            if owner >= 0:
                found[owner].append(place)
        return tuple(map(tuple, found))

    @property
    def owned(self) -> BoolArray:
        """The places that belong to some player: (places,)."""
        return self.owner >= 0


def partition_by(labels: IntArray, names: Iterable[str]) -> Partition:
    """The partition in which places of equal label have one owner; label −1 is nobody's. Names come in label order."""
    present = np.unique(labels[labels >= 0])
    owner = np.where(labels >= 0, np.searchsorted(present, labels), -1)
    return Partition(distinct_names(names), owner.astype(np.int64))


def _position(given: object, group: str, example: list[int]) -> int:
    if isinstance(given, bool | np.bool_) or not isinstance(given, int | np.integer) or given < 0:
        raise InvalidInput(
            f"players[{group!r}] holds {shown(given)}; write the positions of words, tokens or patches, counted from 0: "
            f"players={{{group!r}: {example}}}",
            argument="players",
            code="type",
        )
    return int(given)


def partition_of(groups: Mapping[str, Iterable[int]], places: int, free: BoolArray, names: tuple[str, ...]) -> Partition:
    """Named groups of places as players; a place in no group plays for itself, under its own name.

    `free` marks the places that may belong to a player: (places,).
    """
    owner = np.full(places, -1, dtype=np.int64)
    for g, (group, members) in enumerate(check_groups(groups, "players").items()):
        where = [_position(m, group, np.flatnonzero(free)[:2].tolist()) for m in members]
        if not where:
            raise InvalidInput(f"players[{group!r}] is empty; give at least one position", argument="players", code="empty")
        for i in where:
            if not 0 <= i < places or not free[i]:
                allowed = np.flatnonzero(free)
                raise InvalidInput(
                    f"players[{group!r}] holds position {i}, which cannot play; positions that can are "
                    f"{allowed[0] if len(allowed) else '-'}…{allowed[-1] if len(allowed) else '-'}",
                    argument="players",
                    code="range",
                )
            if owner[i] >= 0:
                raise InvalidInput(
                    f"players[{group!r}] holds position {i}, which is already in another group",
                    argument="players",
                    code="duplicate",
                )
            owner[i] = g
    singles = np.flatnonzero(free & (owner < 0))
    owner[singles] = len(groups) + np.arange(len(singles))
    first = np.array([np.flatnonzero(owner == k)[0] for k in range(len(groups) + len(singles))])
    order = np.argsort(first, kind="stable")  # players in the order in which they first appear
    rank = np.argsort(order, kind="stable")
    labels = [*groups, *(names[i] for i in singles)]
    return Partition(distinct_names(labels[k] for k in order), np.where(owner >= 0, rank[owner], -1))


def with_special(players: tuple[str, ...], owner: IntArray, shown: tuple[str, ...]) -> tuple[tuple[str, ...], IntArray]:
    """Players, then the tokens that belong to no player, each under its own name; and for each token its owner among them."""
    nobody = np.flatnonzero(owner < 0)
    names = distinct_names([*players, *(shown[i] for i in nobody)])
    everyone = owner.copy()
    everyone[nobody] = len(players) + np.arange(len(nobody))
    return names, everyone
