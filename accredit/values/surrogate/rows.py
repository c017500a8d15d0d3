"""Coalitions as a kernel sees them: memberships, sizes, and how many players two coalitions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class CoalitionRows:
    """A batch of coalitions, ready for matrix products."""

    members: FloatArray  # (M, n): 1 where the player is in

    @classmethod
    def of(cls, coalitions: BoolArray) -> CoalitionRows:
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

    def at(self, index: IntArray | slice) -> CoalitionRows:
        """Some of the rows."""
        return CoalitionRows(self.members[index])


Law = Callable[[int, IntArray, IntArray, FloatArray], FloatArray]  # (n, |S|, |T|, |S ∩ T|), arrays that broadcast


@dataclass(frozen=True)
class Meeting:
    """Two batches of coalitions that meet in a kernel matrix."""

    left: CoalitionRows  # M coalitions S
    right: CoalitionRows  # M' coalitions T

    @cached_property
    def common(self) -> FloatArray:
        """|S ∩ T|: (M, M')."""
        return self.left.members @ self.right.members.T

    def spread(self, law: Law) -> FloatArray:
        """`law` of the sizes and the overlap of every two coalitions: (M, M').

        Where few distinct sizes meet, it is computed once for each (|S|, |T|, |S ∩ T|) and looked up.
        """
        n, k, t = self.left.players, self.left.sizes, self.right.sizes
        if self._places is None:
            return law(n, k[:, None], t, self.common)
        sizes_k, sizes_t, overlaps, place = self._places
        return law(n, sizes_k[:, None, None], sizes_t[:, None], overlaps).ravel().take(place, mode="clip")

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, FloatArray, IntArray] | None:
        """The distinct |S|, |T| and |S ∩ T|, and where every two rows stand in their table: (M, M'). None if it were larger."""
        k, row = np.unique(self.left.sizes, return_inverse=True)
        t, column = np.unique(self.right.sizes, return_inverse=True)
        overlaps = np.arange(min(k.max(initial=0), t.max(initial=0)) + 1.0)
        if len(k) * len(t) * len(overlaps) > len(row) * len(column):
            return None
        ones = np.ones(len(row)), np.ones(len(column))  # overlap and place of the corner in one product
        left = np.column_stack([self.left.members, row * (len(t) * len(overlaps)), ones[0]])
        right = np.column_stack([self.right.members, ones[1], column * len(overlaps)])
        return k, t, overlaps, (left @ right.T).astype(np.int64)

    def grams(self, kernels: tuple[Exchangeable, ...]) -> FloatArray:
        """K_j(S, T), kept for whoever asks again: (J, M, M')."""
        if kernels not in self._grams:
            made = self._grams[kernels] = np.empty((len(kernels), *self.common.shape))
            for kernel, gram in zip(kernels, made, strict=True):
                gram[:] = self.spread(kernel.law)
        return self._grams[kernels]

    @cached_property
    def _grams(self) -> dict[tuple[Exchangeable, ...], FloatArray]:
        return {}


class Kernel(Protocol):
    """A covariance K(S, T), odd under S → Sᶜ, whose functions K(·, T) have Shapley values in closed form."""

    def between(self, meeting: Meeting) -> FloatArray:
        """K(S, T): (M, M')."""
        ...

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        """Shapley values of the game Σ_T load_T K(·, T): (n,)."""
        ...


class Exchangeable(Kernel, Protocol):
    """A kernel that treats all players alike: it knows two coalitions by their sizes and by how many players they share."""

    def law(self, n: int, k: IntArray, t: IntArray, common: FloatArray) -> FloatArray:
        """K for |S| = k, |T| = t and |S ∩ T| = common; of numbers that no two coalitions have, anything."""
        ...


def two_valued_credit(rows: CoalitionRows, inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Σ_T inside_T 1[i ∈ T] + outside_T 1[i ∉ T], for read-outs that know a player only by membership: (n,)."""
    return np.asarray(rows.members.T @ (inside - outside) + outside.sum())
