r"""Cheap payoffs: pairs that are asked, summed and forgotten, a regression as control, an interval from groups of pairs.

Where a payoff takes microseconds, a surrogate costs more than the pairs it saves. For any additive game β the identity of all
pairs (`Design.mass`) is $\phi = D/n + \beta + \sum_T 2 a_T z(T)\,[y(T) - \beta z(T)]$, y without equal shares; β only has to be
fixed before the pairs it serves. Sizes with few pairs are asked whole. Of the others pairs are drawn with repeats; a pair of
size k stands for mass_k/chance_k (`Strata.mass`), and at nearly equal variance of all sizes plain least squares of y on z
is the best β (`values.control_variate`). What y has by size alone earns nobody anything, so a few functions of size take it out
as well.

A draw takes one chance x for all players, of a law near 1/√(x(1-x)), and lets each in with that chance: sizes then have nearly
the law 1/√(k(n-k)) that suits the weights, and a player costs one random byte.

Pairs go in turn to 32 groups. Each is corrected by the β of the 31 others; the mean of the 32 estimates is unbiased for a given
number of pairs, and their spread is the standard error. What may sit in pairs that were not drawn is added, by the rule of
three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy.special import gammaln, stdtrit

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.core import Game, payoffs
from accredit.core.rounding import blur_of
from accredit.core.threads import one_blas_thread
from accredit.values.intervals import blur_between
from accredit.values.surrogate.design import all_of_size, strata
from accredit.values.surrogate.intervals import FLOOR, UNSEEN

GROUPS = 32
LEVELS = 256  # chances x are whole parts of it
CHUNK_CELLS = 1 << 17  # memberships asked at once: they stay in the cache of a processor
LEAST_CHUNKS = 16  # of the pairs that time seems to allow the first chunk has no more than one in so many
WHOLE_SHARE = 0.25  # of the pairs that time allows: sizes are asked whole while they take no more than this
BY_GROUPS = (
    "Student t on groups of pairs, each corrected by a regression on the others, widened by the rule of three; asymptotic, "
    "and blind to payoffs unlike any that were asked"
)
LIMIT = "unbiased for a given number of pairs, and tends to the Shapley value; the clock has left it with those that were asked"


@cache
def chances() -> FloatArray:
    """The law of the levels 1 … 255, ∝ 1/√(x(1-x)): (255,)."""
    level = np.arange(1, LEVELS)
    law = (level * (LEVELS - level)) ** -0.5
    return np.asarray(law / law.sum())


@lru_cache(maxsize=16)
def size_law(players: int) -> FloatArray:
    """The chance of each size 0 … n of a coalition whose players are in with a chance drawn by `chances`: (n + 1,).

    >>> size_law(4).round(3)
    array([0.26 , 0.166, 0.149, 0.166, 0.26 ])
    """
    size, level = np.arange(players + 1)[:, None], np.arange(1, LEVELS) / LEVELS
    ways = gammaln(players + 1) - gammaln(size + 1) - gammaln(players - size + 1)
    of_level = np.exp(ways + size * np.log(level) + (players - size) * np.log1p(-level))
    return np.asarray(of_level @ chances())


@lru_cache(maxsize=16)
def size_trends(players: int) -> FloatArray:
    """Functions of size 0 … n that change sign from a coalition to its complement: (n + 1, 4), none beyond 1."""
    k = np.arange(1, players) / players
    trends = np.stack([k - 0.5, (k - 0.5) ** 3, np.log(k / (1 - k)), 1 / k - 1 / (1 - k)], axis=1)
    return np.pad(trends / np.maximum(np.abs(trends).max(axis=0), 1e-300), [(1, 1), (0, 0)])


@dataclass
class PairStream:
    """A game asked pair by pair, and the sums kept of it: Σ (w z, x) (x, y)ᵀ of every group, x = z and trends of size."""

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
        self._trends = size_trends(n)
        width = n + self._trends.shape[1]
        self._sums, self._slopes = np.zeros((GROUPS, n + width, width + 1)), np.zeros(width)
        self._whole = np.zeros((n, width + 1))  # Σ a z (x, y)ᵀ of the sizes asked whole
        space = strata(n)
        taken = int(np.searchsorted(np.cumsum(space.counts), WHOLE_SHARE * self.expected, side="right"))
        law = size_law(n)
        law = law + law[::-1]
        law[n // 2] /= 2 - n % 2  # two halves of equal size are one pair
        open_ = np.zeros(n + 1, dtype=bool)
        open_[space.sizes[taken:]] = True
        self._share = float(law[open_].sum())  # of the draws that are pairs yet to be drawn
        self._weight = np.zeros(n + 1)  # mass over chance, by size
        self._weight[open_] = space.mass[taken:] / (law[open_] / max(self._share, 1e-300))
        self._weight = np.maximum(self._weight, self._weight[::-1])
        for size, mass in zip(space.sizes[:taken].tolist(), space.mass[:taken].tolist(), strict=True):
            x, y = self._ask(all_of_size(n, size))
            self._whole += (x[:, :n].T * (mass / len(y))) @ np.column_stack([x, y])

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
        """x(T) and y(T) - D(|T|/n - ½) of pairs."""
        earned = payoffs(self.game, np.concatenate([pairs, ~pairs]))
        self.payoffs += len(earned)
        self.pairs += len(pairs)
        self._low, self._high = min(self._low, float(earned.min())), max(self._high, float(earned.max()))
        chosen, rest = earned.reshape(2, -1)
        sizes = pairs.sum(axis=1)
        share = sizes / self.players
        x = np.concatenate([pairs - share[:, None], self._trends[sizes]], axis=1)
        return x, (chosen - rest) / 2 - self.total * (share - 0.5)

    def draw(self, count: int) -> None:
        """Ask for so many more pairs, a whole number per group."""
        found: list[BoolArray] = []
        while (missing := count - sum(map(len, found))) > 0:
            found.append(self._tries(int(missing / self._share * 1.05) + GROUPS)[:missing])
        pairs = np.concatenate(found)
        x, y = self._ask(pairs)
        with one_blas_thread():
            self._add(x, y, x[:, : self.players] * self._weight[pairs.sum(axis=1)][:, None])

    def _tries(self, count: int) -> BoolArray:
        """Pairs of the sizes to be drawn, among so many coalitions."""
        n = self.players
        levels = 1 + np.searchsorted(np.cumsum(chances())[:-1], self.rng.random(count), side="right")
        thrown = np.frombuffer(self.rng.bytes(count * n), dtype=np.uint8).reshape(count, n)
        pairs = thrown < levels.astype(np.uint8)[:, None]
        return np.asarray(pairs[self._weight[pairs.sum(axis=1)] > 0])

    def _add(self, x: FloatArray, y: FloatArray, weighted: FloatArray) -> None:
        """Take in a chunk of pairs."""
        left, right = np.concatenate([weighted, x], axis=1), np.column_stack([x, y])
        self._sums += left.reshape(GROUPS, -1, left.shape[1]).transpose(0, 2, 1) @ right.reshape(GROUPS, -1, right.shape[1])
        self.drawn += len(y)
        self._last = weighted
        self._slopes = self._control(self._sums.sum(axis=0))
        self.largest = max(self.largest, float(np.abs(y - x @ self._slopes).max()))

    def _control(self, sums: FloatArray) -> FloatArray:
        """Least squares on drawn pairs: (…, n + w, w + 1) -> (…, w), slopes of z and then of the trends.

        z sums to zero over the players, so adding 11ᵀ makes their block invertible and changes no solution; trends may be alike
        at the few sizes that are drawn.
        """
        n = self.players
        normal, right = sums[..., n:, :-1].copy(), sums[..., n:, -1:]
        lift = np.trace(normal[..., :n, :n], axis1=-2, axis2=-1)[..., None, None] / n**2
        normal[..., :n, :n] += lift
        normal[..., n:, n:] += 1e-9 * lift * n * np.eye(normal.shape[-1] - n)
        return np.asarray(np.linalg.solve(normal, right)[..., 0])

    def _corrected(self, slopes: FloatArray, mean: FloatArray) -> FloatArray:
        """β + Σ 2a z [y - slopes·x], from sizes asked whole and the mean over drawn pairs: (…, w), (…, n, w + 1) -> (…, n)."""
        sums = self._whole + mean
        found = slopes[..., : self.players] + 2 * (sums[..., -1] - (sums[..., :-1] @ slopes[..., None])[..., 0])
        return np.asarray(found - found.mean(axis=-1, keepdims=True))

    def found(self, error: float) -> tuple[FloatArray, FloatArray | None, float, str]:
        """Credit, its standard errors, the t multiple for a chance `error` of missing, and what that rests on."""
        n, equal = self.players, self.total / self.players
        if self.largest <= blur_between(self._low, self._high, blur_of(self.game)):
            explained = f"an additive game explains the {self.pairs} pairs asked to rounding"
            slopes = self._slopes[:n]
            return equal + slopes - slopes.mean(), None, 0.0, f"{explained}, which is what was seen, not what is certain"
        with one_blas_thread():
            slopes = self._control(self._sums.sum(axis=0) - self._sums)
            each = self._corrected(slopes, self._sums[:, :n] * (GROUPS / self.drawn))
        credit = equal + each.mean(axis=0)
        missed = UNSEEN * (self.largest / self.drawn) ** 2 * ((2 * self._last) ** 2).mean(axis=0)
        stderr = np.sqrt(each.var(axis=0, ddof=1) / GROUPS + missed)
        return credit, np.maximum(stderr, FLOOR * np.abs(credit).max()), float(stdtrit(GROUPS - 1, 1 - error / 2)), BY_GROUPS
