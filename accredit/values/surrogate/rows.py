"""Coalitions as a kernel sees them: memberships, sizes, and how many players two coalitions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from accredit.core.coalitions import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """A batch of coalitions, ready for matrix products."""

    members: FloatArray  # (M, n): 1 where the player is in

    @classmethod
    def of(cls, coalitions: BoolArray) -> Rows:
        """Rows from boolean coalitions."""
        return cls(coalitions.astype(np.float64))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def players(self) -> int:
        """n."""
        return int(self.members.shape[1])

    @cached_property
    def sizes(self) -> IntArray:
        """|S|: (M,)."""
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    @cached_property
    def signs(self) -> FloatArray:
        """s_i(S) = -1 if i ∈ S else +1: (M, n)."""
        return 1 - 2 * self.members

    def at(self, index: IntArray | slice) -> Rows:
        """Some of the rows."""
        return Rows(self.members[index])


Law = Callable[[int, IntArray, IntArray, FloatArray], FloatArray]  # (n, |S|, |T|, |S ∩ T|), arrays that broadcast


@dataclass(frozen=True)
class Meeting:
    """Two batches of coalitions that meet in a kernel matrix."""

    left: Rows  # M coalitions S
    right: Rows  # M' coalitions T

    @cached_property
    def common(self) -> FloatArray:
        """|S ∩ T|: (M, M')."""
        return self.left.members @ self.right.members.T

    def spread(self, law: Law) -> FloatArray:
        """`law` of the sizes and the overlap of every two coalitions: (M, M').

        Where few distinct sizes meet, it is computed once for each (|S|, |T|, |S ∩ T|) and looked up.
        """
        n, k, t = self.left.players, self.left.sizes, self.right.sizes
        sizes_k, sizes_t, place = self._places
        if place is None:
            return law(n, k[:, None], t, self.common)
        return law(n, sizes_k[:, None, None], sizes_t[:, None], np.arange(n + 1.0)).ravel().take(place)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray | None]:
        """The distinct sizes, and where each two rows stand in a table of them; None if that were no smaller: (M, M')."""
        n = self.left.players
        k, row = np.unique(self.left.sizes, return_inverse=True)
        t, column = np.unique(self.right.sizes, return_inverse=True)
        if len(k) * len(t) * (n + 1) > self.common.size // 2:
            return k, t, None
        corner = (row[:, None] * len(t) + column) * (n + 1)
        return k, t, corner + self.common.astype(np.int64)


class Kernel(Protocol):
    """A covariance K(S, T), odd under S → Sᶜ, whose functions K(·, T) have Shapley values in closed form."""

    def between(self, meeting: Meeting) -> FloatArray:
        """K(S, T): (M, M')."""
        ...

    def credit(self, rows: Rows, load: FloatArray) -> FloatArray:
        """Shapley values of the game Σ_T load_T K(·, T): (n,)."""
        ...


@runtime_checkable
class Exchangeable(Kernel, Protocol):
    """A kernel that treats all players alike: it knows two coalitions by their sizes and by how many players they share."""

    def law(self, n: int, k: IntArray, t: IntArray, common: FloatArray) -> FloatArray:
        """K for |S| = k, |T| = t and |S ∩ T| = common; of numbers that no two coalitions have, anything."""
        ...


def two_valued_credit(rows: Rows, inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Σ_T inside_T 1[i ∈ T] + outside_T 1[i ∉ T], for read-outs that know a player only by membership: (n,)."""
    return np.asarray(rows.members.T @ (inside - outside) + outside.sum())
