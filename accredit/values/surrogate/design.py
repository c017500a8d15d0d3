r"""Which coalitions are asked: complementary pairs {T, Tᶜ}, drawn without replacement, small sizes taken whole.

A Shapley value depends on a game only through its odd part y(T) = (v(T) - v(Tᶜ))/2, so payoffs are asked two by two.
Pairs are sorted into strata by size k = min(|T|, |Tᶜ|); stratum k holds C(n, k) of them (half as many at k = n/2),
and its share of the pairs is proportional to 1/√(k(n-k)), the optimal law for a payoff that spreads equally at every
size. A stratum whose share would exceed its pairs is taken whole; within the others every pair is equally likely.
Growing a design adds pairs that were not there: the union of successive uniform draws without replacement is again a
uniform draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from accredit.checks.numbers import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import keys

COUNTABLE = 1 << 53  # strata with more pairs than a float counts exactly are never taken whole
DRAW_CELLS = 1 << 23  # random numbers drawn at once


@dataclass(frozen=True)
class Strata:
    """The sizes of pairs of n players: how many pairs each has, and its share of a sample."""

    players: int
    sizes: IntArray  # (s,) 1 … ⌊n/2⌋
    counts: FloatArray  # (s,) pairs of that size; inf when more than `COUNTABLE`
    log_counts: FloatArray  # (s,)
    shares: FloatArray  # (s,) (k(n-k))^-power, halved for k = n/2

    @property
    def pairs(self) -> float:
        """All pairs but {∅, N}: 2ⁿ⁻¹ - 1, or inf."""
        return float(self.counts.sum())

    @property
    def mass(self) -> FloatArray:
        """What the pairs of a size weigh together in the Shapley value, the sum of a_k (`Design.mass`): (s,).

        >>> strata(4).mass  # of sizes 1 and 3, and of size 2 alone
        array([1.33333333, 0.5       ])
        """
        both = self.players / (self.sizes * (self.players - self.sizes))
        return np.asarray(np.where(2 * self.sizes == self.players, both / 2, both))


@lru_cache(maxsize=64)
def strata(players: int, power: float = 0.5) -> Strata:
    """Strata of n players, with shares proportional to (k(n-k))^-power.

    >>> strata(4).counts, strata(4).pairs
    (array([4., 3.]), 7.0)
    """
    n = players
    sizes = np.arange(1, n // 2 + 1)
    counts = np.full(len(sizes), np.inf)
    count = 1
    for row, k in enumerate(sizes.tolist()):
        count = count * (n - k + 1) // k
        if count > COUNTABLE:
            break
        counts[row] = count
    log_counts = _log_binomial(n, sizes)
    shares = np.asarray((sizes * (n - sizes)) ** -power, dtype=np.float64)
    if n % 2 == 0:
        counts[-1] /= 2
        log_counts[-1] -= np.log(2)
        shares[-1] /= 2
    for array in (sizes, counts, log_counts, shares):
        array.setflags(write=False)
    return Strata(n, sizes, counts, log_counts, shares)


def _log_binomial(n: int, k: IntArray) -> FloatArray:
    out: FloatArray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return out


@dataclass(frozen=True)
class Design:
    """Pairs to ask, each by one of its halves, and the chance that each had of being asked."""

    players: int
    pairs: BoolArray  # (m, n): T, the half that stands for {T, Tᶜ}
    log_inclusion: FloatArray  # (m,): log π_T

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def sizes(self) -> IntArray:
        """|T|: (m,)."""
        return np.asarray(self.pairs.sum(axis=1), dtype=np.int64)

    @cached_property
    def centred(self) -> FloatArray:
        """z_i(T) = 1[i ∈ T] - |T|/n: (m, n)."""
        return np.asarray(self.pairs - (self.sizes / self.players)[:, None])

    @cached_property
    def inclusion(self) -> FloatArray:
        """π_T: (m,)."""
        return np.exp(self.log_inclusion)

    @cached_property
    def complete(self) -> bool:
        """Whether every pair is there, so that nothing is left to estimate."""
        return len(self.pairs) == strata(self.players).pairs

    @cached_property
    def mass(self) -> FloatArray:
        r"""Horvitz–Thompson weight h_T = a_k/π_T of a pair, a_k = n/(k(n-k) C(n,k)): (m,).

        Over all pairs $\phi_i = D/n + \sum_T 2 a_k z_i(T)\,y(T)$, with $z_i(T) = 1[i \in T] - k/n$. The sum over the sampled
        pairs with h_T in place of a_k estimates it without bias. Taken in logs: a_k and π_T underflow together.
        """
        n, k = self.players, self.sizes
        return np.asarray(np.exp(np.log(n) - np.log(k * (n - k)) - _log_binomial(n, k) - self.log_inclusion))

    @cached_property
    def weights(self) -> FloatArray:
        """w_T, the regression weight of a pair in KernelSHAP (proportional to `mass`), scaled to mean 1: (m,)."""
        mass = self.mass
        return np.asarray(mass / mass.mean())


def empty_design(players: int) -> Design:
    """No pairs yet."""
    return Design(players, np.zeros((0, players), dtype=bool), np.zeros(0))


def expected_allocation(space: Strata, pairs: int) -> FloatArray:
    """Expected number of pairs of each size among `pairs`: (s,); strata smaller than their share are taken whole.

    >>> expected_allocation(strata(6), 15).round(2)
    array([6.  , 6.12, 2.88])
    """
    expected = np.zeros(len(space.sizes))
    open_ = np.ones(len(space.sizes), dtype=bool)
    left = float(pairs)
    while open_.any():
        share = np.where(open_, left * space.shares / space.shares[open_].sum(), 0.0)
        full = np.flatnonzero(open_ & (share >= space.counts))
        if len(full) == 0:
            return np.where(open_, share, expected)
        expected[full[0]] = space.counts[full[0]]
        left -= space.counts[full[0]]
        open_[full[0]] = False
    return expected


def grow(design: Design, pairs: int, rng: np.random.Generator, power: float = 0.5) -> Design:
    """`design` with new pairs added up to `pairs` in all (or all there are); earlier pairs keep their places.

    Inclusion probabilities are those of a design of that size drawn at once. They are exact for the first growth of
    an empty design; later ones keep every stratum within one pair of its expected number.
    """
    space = strata(design.players, power)
    pairs = int(min(pairs, space.pairs))
    expected = expected_allocation(space, pairs)
    have = np.bincount(_strata_of(design), minlength=len(space.sizes))
    wanted = _new_counts(expected, have, space.counts, pairs - len(design), rng)
    known = set(keys(design.pairs))
    fresh = [
        _fresh(design.players, int(space.sizes[s]), int(wanted[s]), space.counts[s], known, rng) for s in np.flatnonzero(wanted)
    ]
    whole = np.concatenate([design.pairs, *fresh])
    log_inclusion = np.minimum(0.0, np.log(np.maximum(expected, 1e-300)) - space.log_counts)
    log_inclusion[expected >= space.counts] = 0.0
    drawn = Design(design.players, whole, np.zeros(len(whole)))
    return Design(design.players, whole, log_inclusion[_strata_of(drawn)])


def _strata_of(design: Design) -> IntArray:
    """Row of `strata` each pair belongs to; the half that stands for a pair is never the larger one."""
    return design.sizes - 1


def _new_counts(expected: FloatArray, have: IntArray, counts: FloatArray, new: int, rng: np.random.Generator) -> IntArray:
    """How many pairs to add per stratum: whole strata are completed, the rest is shared by systematic rounding."""
    uniform = rng.random()
    whole = expected >= counts
    lacking = np.where(whole, counts - have, 0.0)
    short = np.where(whole, 0.0, np.maximum(expected - have, 0.0))
    left = new - lacking.sum()
    if left < 0:  # earlier rounding left pairs elsewhere; complete the small sizes first
        lacking = np.diff(np.minimum(np.cumsum(lacking), new), prepend=0.0)
    elif short.sum() > 0:
        short *= left / short.sum()
        base = np.floor(short + 1e-9)
        steps = np.cumsum(np.maximum(short - base, 0.0)) + uniform
        lacking += base + np.diff(np.floor(steps + 1e-9), prepend=0.0)
    return _fit(lacking.astype(np.int64), counts - have, new)


def _fit(wanted: IntArray, room: FloatArray, new: int) -> IntArray:
    """`wanted` within the room of each stratum and summing to `new`: a rounding surplus moves to the largest stratum."""
    wanted = np.minimum(wanted, room).astype(np.int64)
    while (gap := new - int(wanted.sum())) != 0:
        spare = np.where(gap > 0, room - wanted, wanted)
        most = int(np.argmax(spare))
        wanted[most] += int(np.sign(gap) * min(abs(gap), spare[most]))
    return wanted


def _fresh(n: int, k: int, wanted: int, count: float, known: set[bytes], rng: np.random.Generator) -> BoolArray:
    """`wanted` pairs of size k, uniformly among those not in `known`; they are added to it: (wanted, n)."""
    if count <= 4 * (wanted + len(known)):
        every = all_of_size(n, k)
        new = every[[key not in known for key in keys(every)]]
        rows = new if wanted == len(new) else new[np.sort(rng.choice(len(new), wanted, replace=False))]
        known.update(keys(rows))
        return rows
    found: list[BoolArray] = []
    missing = wanted
    while missing:
        tries = _random_of_size(n, k, missing, rng)
        news = []
        for row, key in enumerate(keys(tries)):
            if key not in known:
                known.add(key)
                news.append(row)
        found.append(tries[news])
        missing -= len(news)
    return np.concatenate(found)


def all_of_size(n: int, k: int) -> BoolArray:
    """Every pair of size k; of two equal halves the one with player 0 stands for the pair."""
    if 2 * k == n:
        chosen = [(0, *rest) for rest in combinations(range(1, n), k - 1)]
    else:
        chosen = list(combinations(range(n), k))
    return _rows(np.array(chosen, dtype=np.int64), n)


def _random_of_size(n: int, k: int, wanted: int, rng: np.random.Generator) -> BoolArray:
    """Uniform pairs of size k, repeats possible: (wanted, n)."""
    step = max(1, DRAW_CELLS // n)
    chosen = [np.argpartition(rng.random((min(step, wanted - at), n)), k - 1, axis=1)[:, :k] for at in range(0, wanted, step)]
    rows = _rows(np.concatenate(chosen), n)
    if 2 * k == n:
        rows[~rows[:, 0]] ^= True
    return rows


def _rows(chosen: IntArray, n: int) -> BoolArray:
    rows = np.zeros((len(chosen), n), dtype=bool)
    np.put_along_axis(rows, chosen, True, axis=1)
    return rows
