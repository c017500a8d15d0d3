"""Coalitions as a kernel sees them: memberships, sizes, and how many players two coalitions share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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


@dataclass(frozen=True)
class Meeting:
    """Two batches of coalitions that meet in a kernel matrix."""

    left: Rows  # M coalitions S
    right: Rows  # M' coalitions T

    @cached_property
    def common(self) -> FloatArray:
        """|S ∩ T|: (M, M')."""
        return self.left.members @ self.right.members.T

    @cached_property
    def distance(self) -> IntArray:
        """Hamming distance |S| + |T| - 2|S ∩ T|: (M, M')."""
        sizes = self.left.sizes[:, None] + self.right.sizes
        return sizes - (2 * self.common).astype(np.int64)


class Kernel(Protocol):
    """A covariance K(S, T), odd under S → Sᶜ, whose functions K(·, T) have Shapley values in closed form."""

    def between(self, meeting: Meeting) -> FloatArray:
        """K(S, T): (M, M')."""
        ...

    def credit(self, rows: Rows, load: FloatArray) -> FloatArray:
        """Shapley values of the game Σ_T load_T K(·, T): (n,)."""
        ...


def two_valued_credit(rows: Rows, inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Σ_T inside_T 1[i ∈ T] + outside_T 1[i ∉ T], for read-outs that know a player only by membership: (n,)."""
    return np.asarray(rows.members.T @ (inside - outside) + outside.sum())
