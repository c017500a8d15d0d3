r"""Independent complementary pairs of coalitions, and what a pair says about every player.

A semivalue is fixed by the law s(k) of how many others a player meets when it joins: uniform on 0 … n−1 for Shapley,
binomial for Banzhaf. Sorted by coalition instead of by marginal contribution, with 𝔼_k the mean over coalitions T of size k,

$$\phi_i = \sum_{k=0}^{n} \mathbb{E}_k\big[(\alpha_k 1[i \in T] - \beta_k 1[i \notin T])\, v(T)\big],
  \qquad \alpha_k = \tfrac{n}{k}\,s(k-1), \quad \beta_k = \tfrac{n}{n-k}\,s(k),$$

so every v(T) says something about every player. Sizes 0 and n are known; the others are drawn with chance q(k). If payoffs
spread equally at all sizes, the variance summed over players is least for q(k) ∝ √w(k), w(k) = k α_k² + (n−k) β_k². For
Shapley w = n/(k(n−k)); for Banzhaf q is binomial, so that all coalitions are equally likely (maximum sample reuse; Wang &
Jia, 2023). Each T is asked together with its complement, so q is made symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import pack, unpack
from accredit.values.orders import random_places
from accredit.values.sampling import Ledger

CHUNK_CELLS = 1 << 21  # memberships unpacked at once


@dataclass(frozen=True)
class SizeLaw:
    """Coefficients of a semivalue by coalition size 0 … n, and the chance with which each size is drawn."""

    meets: FloatArray  # (n,): s(k), how likely a player is to meet k others
    inside: FloatArray  # (n+1,): α_k
    outside: FloatArray  # (n+1,): β_k
    chance: FloatArray  # (n+1,): q(k) = q(n−k), zero at 0 and n

    @classmethod
    def of(cls, meets: FloatArray) -> SizeLaw:
        """From s(0 … n−1), for two players or more.

        >>> SizeLaw.of(np.full(4, 0.25)).chance.round(3)
        array([0.   , 0.349, 0.302, 0.349, 0.   ])
        """
        n = len(meets)
        k = np.arange(n + 1)
        inside, outside = np.zeros(n + 1), np.zeros(n + 1)
        inside[1:] = n / k[1:] * meets
        outside[:n] = n / (n - k[:n]) * meets
        spread = k * inside**2 + (n - k) * outside**2
        chance = np.sqrt(spread + spread[::-1])
        chance[[0, n]] = 0.0
        return cls(meets, inside, outside, chance / chance.sum())

    @property
    def players(self) -> int:
        """n."""
        return len(self.meets)

    @property
    def typical(self) -> float:
        """What a pair typically counts for a player, per payoff of one: the root of its mean square."""
        k, n = np.arange(self.players + 1), self.players
        square = k / n * (self.inside**2 + self.outside[::-1] ** 2) + (1 - k / n) * (self.inside[::-1] ** 2 + self.outside**2)
        drawn = self.chance > 0
        return float(np.sqrt((square[drawn] / (4 * self.chance[drawn])).sum()))

    def pair_scores(self, sizes: IntArray, left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What a pair says about a player in T and about one outside; T earns `left`, its complement `right`."""
        k, rest, q = sizes, self.players - sizes, 2 * self.chance[sizes]
        within = (self.inside[k] * left - self.outside[rest] * right) / q
        without = (self.inside[rest] * right - self.outside[k] * left) / q
        return within, without


@dataclass(frozen=True)
class Sample:
    """Pairs {T, Tᶜ} and what both halves earn beyond v(∅)."""

    players: int
    bits: npt.NDArray[np.uint8]  # (m, ⌈n/8⌉): T, packed
    sizes: IntArray  # (m,): |T|
    left: FloatArray  # (m,): v(T) − v(∅)
    right: FloatArray  # (m,): v(Tᶜ) − v(∅)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: slice) -> Sample:
        return Sample(self.players, self.bits[rows], self.sizes[rows], self.left[rows], self.right[rows])

    def chunks(self) -> Iterator[tuple[Sample, FloatArray]]:
        """Parts that fit in memory unpacked, each with T as zeros and ones: (rows, n)."""
        step = max(1, CHUNK_CELLS // self.players)
        for start in range(0, len(self), step):
            part = self[start : start + step]
            yield part, unpack(part.bits, self.players).astype(np.float64)


class Sizes(Protocol):
    """The chance with which each coalition size is drawn."""

    @property
    def players(self) -> int: ...
    @property
    def chance(self) -> FloatArray: ...  # (n+1,): q(k) = q(n−k)


class Pairs:
    """Draws pairs and keeps them. Sizes and members have generators of their own, so batches may be cut anywhere."""

    def __init__(self, law: Sizes, ledger: Ledger, seed: int) -> None:
        self._law, self._ledger = law, ledger
        self._of_sizes, self._of_members = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
        self._batches: list[Sample] = []

    def draw(self, count: int) -> None:
        """Ask for `count` more pairs."""
        steps = np.cumsum(self._law.chance)
        sizes = np.searchsorted(steps / steps[-1], self._of_sizes.random(count), side="right")
        members: BoolArray = random_places(self._of_members, count, self._law.players) < sizes[:, None]
        earned = self._ledger.ask(np.concatenate([members, ~members]))
        self._batches.append(Sample(self._law.players, pack(members), sizes, earned[:count], earned[count:]))

    def sample(self) -> Sample:
        """All pairs so far."""
        if len(self._batches) > 1:
            columns = zip(*((b.bits, b.sizes, b.left, b.right) for b in self._batches), strict=True)
            bits, sizes, left, right = (np.concatenate(column) for column in columns)
            self._batches = [Sample(self._law.players, bits, sizes, left, right)]
        return self._batches[0]
