r"""Cheap payoffs: a regression on pairs that are asked, summed and forgotten, with an interval from groups of pairs.

Where a payoff takes microseconds, a surrogate costs more than the pairs it saves. The solution of KernelSHAP under efficiency,
weighted least squares of y(T) - D(|T|/n - ½) on z(T) (`values.regression`), needs an n × n matrix and a vector, whatever the
number of pairs. Sizes with few pairs are asked whole; of the others a pair is drawn with repeats, its size k with chance
q_k ∝ 1/√(k(n-k)), so that its weight is n/(k(n-k) q_k m); of two halves of equal size both are one pair, which has half of
that (`Strata.mass`).

Pairs go in turn to 32 groups. Leaving out one group after the other gives 32 solutions, whose spread is the standard error
(delete-a-group jackknife, 31 degrees of freedom); what may sit in pairs that were not drawn is added, by the rule of three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.core import Game, payoffs
from accredit.core.rounding import blur_of
from accredit.core.threads import one_blas_thread
from accredit.values.intervals import blur_between
from accredit.values.surrogate.design import all_of_size, strata
from accredit.values.surrogate.intervals import FLOOR, UNSEEN

GROUPS = 32
CHUNK_CELLS = 1 << 17  # memberships asked at once: they stay in the cache of a processor
LEAST_CHUNKS = 16  # of the pairs that time seems to allow the first chunk has no more than one in so many
WHOLE_SHARE = 0.25  # of the pairs that time allows: sizes are asked whole while they take no more than this
BY_GROUPS = (
    "Student t on a regression that leaves out one group of pairs after the other, widened by the rule of three; asymptotic, "
    "and blind to payoffs unlike any that were asked"
)
LIMIT = "the regression tends to the Shapley value as pairs are added; time has left it with those that were asked"


@dataclass
class PairStream:
    """A game asked pair by pair, and the sums kept of it: Σ w z zᵀ and Σ w z y of every group."""

    game: Game
    rng: np.random.Generator
    expected: int  # pairs that time allows, about: how many sizes are asked whole depends on it
    pairs: int = 0
    drawn: int = 0
    payoffs: int = 2
    largest: float = 0.0  # departure of a drawn pair from the regression on the pairs so far

    def __post_init__(self) -> None:
        n = len(self.game.players)
        self.nobody, self.everybody = payoffs(self.game, np.array([[False] * n, [True] * n])).tolist()
        self._low, self._high = sorted((self.nobody, self.everybody))
        self._normal, self._right, self._slopes = np.zeros((GROUPS, n, n)), np.zeros((GROUPS, n)), np.zeros(n)
        self._whole_normal, self._whole_right = np.zeros((n, n)), np.zeros(n)
        space = strata(n)
        taken = int(np.searchsorted(np.cumsum(space.counts), WHOLE_SHARE * self.expected, side="right"))
        self._sizes, share = space.sizes[taken:], space.shares[taken:]
        self._chance = share / max(share.sum(), 1e-300)
        self._mass = space.mass[taken:]
        for size, mass in zip(space.sizes[:taken].tolist(), space.mass[:taken].tolist(), strict=True):
            z, y = self._ask(all_of_size(n, size))
            weighted = z.T * (mass / len(y))
            self._whole_normal += weighted @ z
            self._whole_right += weighted @ y

    @property
    def players(self) -> int:
        """n."""
        return len(self.game.players)

    @property
    def total(self) -> float:
        """D = v(N) - v(∅)."""
        return float(self.everybody - self.nobody)

    def next_count(self, affordable: float) -> int:
        """Pairs to ask at once: few at first, then as many as there are, within what time affords and a processor's cache."""
        grown = max(self.drawn, self.expected // LEAST_CHUNKS)
        return GROUPS * max(1, int(min(CHUNK_CELLS // self.players, grown, affordable)) // GROUPS)

    def _ask(self, pairs: BoolArray) -> tuple[FloatArray, FloatArray]:
        """z(T) and y(T) - D(|T|/n - ½) of pairs."""
        earned = payoffs(self.game, np.concatenate([pairs, ~pairs]))
        self.payoffs += len(earned)
        self.pairs += len(pairs)
        self._low, self._high = min(self._low, float(earned.min())), max(self._high, float(earned.max()))
        chosen, rest = earned.reshape(2, -1)
        share = pairs.sum(axis=1) / self.players
        return pairs - share[:, None], (chosen - rest) / 2 - self.total * (share - 0.5)

    def draw(self, count: int) -> None:
        """Ask for so many more pairs, a whole number per group."""
        n = self.players
        size = self.rng.choice(len(self._sizes), count, p=self._chance)
        places = self.rng.random((count, n))
        z, y = self._ask(places <= np.sort(places, axis=1)[np.arange(count), self._sizes[size] - 1][:, None])
        with one_blas_thread():
            self._add(z, y, z * (self._mass / self._chance)[size][:, None])

    def _add(self, z: FloatArray, y: FloatArray, weighted: FloatArray) -> None:
        """Take in a chunk of pairs."""
        n = self.players
        by_group = weighted.reshape(GROUPS, -1, n).transpose(0, 2, 1)
        self._normal += by_group @ z.reshape(GROUPS, -1, n)
        self._right += (by_group @ y.reshape(GROUPS, -1, 1))[:, :, 0]
        self.drawn += len(y)
        self._last = weighted
        self._slopes = self._solutions(self._normal.sum(axis=0) / self.drawn, self._right.sum(axis=0) / self.drawn)
        self.largest = max(self.largest, float(np.abs(y - z @ self._slopes).max()))

    def _solutions(self, normal: FloatArray, right: FloatArray) -> FloatArray:
        """Least squares on the sizes taken whole and drawn pairs: (…, n, n), (…, n) -> (…, n).

        z sums to zero over the players, so adding 11ᵀ makes the matrix invertible and changes no solution.
        """
        normal, right = self._whole_normal + normal, self._whole_right + right
        lift = np.trace(normal, axis1=-2, axis2=-1)[..., None, None] / self.players**2
        found = np.linalg.solve(normal + lift, right[..., None])[..., 0]
        return np.asarray(found - found.mean(axis=-1, keepdims=True))

    def found(self, error: float) -> tuple[FloatArray, FloatArray | None, float, str]:
        """Credit, its standard errors, the t multiple for a chance `error` of missing, and what that rests on."""
        credit = self.total / self.players + self._slopes
        if self.largest <= blur_between(self._low, self._high, blur_of(self.game)):
            explained = f"an additive game explains the {self.pairs} pairs asked to rounding"
            return credit, None, 0.0, f"{explained}, which is what was seen, not what is certain"
        with one_blas_thread():
            stderr = np.maximum(np.sqrt(self._variance()), FLOOR * np.abs(credit).max())
        return credit, stderr, float(stdtrit(GROUPS - 1, 1 - error / 2)), BY_GROUPS

    def _variance(self) -> FloatArray:
        """Of the credit: (n,). The jackknife's, and the share of residuals as large as the largest that may sit elsewhere."""
        rest = self.drawn * (GROUPS - 1) / GROUPS
        normal, right = self._normal.sum(axis=0), self._right.sum(axis=0)
        left = self._solutions((normal - self._normal) / rest, (right - self._right) / rest)
        variance = (GROUPS - 1) / GROUPS * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
        reach = np.linalg.pinv(self._whole_normal + normal / self.drawn, rcond=1e-12, hermitian=True) @ self._last.T
        missed = UNSEEN * (self.largest / self.drawn) ** 2 * (reach**2).mean(axis=1)
        return np.asarray(variance + missed)
