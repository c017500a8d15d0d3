r"""Interactions of games too large for their table, without bias and with intervals.

All coalitions of interest share one set of payoffs (`spread`): sizes near nobody and everybody are asked in full, the others
are drawn in complementary pairs. A fitted game f of sizes, single players and pairs is taken out first: for every f,
I(v) = I(f) + I(v − f), and I(f) is known. It is fitted to other pairs than those it serves (five folds), so the estimate stays
unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from accredit.checks import check_seed
from accredit.core import Claim, Coalition, FloatArray, Game, Holds, IntArray, Interactions, Precision
from accredit.core.coalitions import members_of_size, unpack
from accredit.errors import TooManyPlayers
from accredit.values.control_variate import FOLDS
from accredit.values.indices import Index
from accredit.values.intervals import Confidence, Moments, student_t, unseen_chance
from accredit.values.pairs import Pairs, Sample
from accredit.values.sampling import FEW_DRAWS, Ledger, Sampled, check, run
from accredit.values.spread import Spread

COALITIONS_AT_MOST = 1 << 20  # coalitions that may get a number
MOST_SCORES = 1 << 28  # of all pairs about all coalitions: about 15 CPU-seconds
MOST_FITTED = 2000  # pairs that a control is fitted to: with more, it would take hours and serve little better
SCORES_AT_ONCE = 1 << 22  # scores kept at once
LEVEL_VARIANCE = 10.0  # variance of the level, where that of all pairs together is 1: it is hardly held back
ALIKE_SIZES = 0.3  # how far apart sizes may be to be alike, of the π from nobody to everybody
RIDGES = 10.0 ** np.arange(-12, 3)  # of the kernel's diagonal


@dataclass(frozen=True, eq=False)
class Pairwise:
    """The game f(S) = g(|S|) + Σ b_i x_i + Σ_{i<j} b_ij x_i x_j with x = 1 for players of S, −1 for the others."""

    even: FloatArray  # (n + 1,): the part of g that a size shares with its complement
    odd: FloatArray  # (n + 1,): the part that changes sign
    slopes: FloatArray  # (n,)
    bends: FloatArray  # (n, n), symmetric with a zero diagonal

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The part that a coalition shares with its complement, and the part that changes sign: (rows, n) -> (rows,) each."""
        sizes = ((x.sum(axis=1) + x.shape[1]) / 2).round().astype(np.int64)
        return self.even[sizes] + np.einsum("ri,ri->r", x @ self.bends, x) / 2, self.odd[sizes] + x @ self.slopes

    def payoff(self, members: FloatArray) -> FloatArray:
        """What coalitions earn in it, given as zeros and ones: (rows, n) -> (rows,)."""
        even, odd = self.parts(2 * members - 1)
        return even + odd

    def index(self, index: Index, order: int, of: IntArray, by_size: FloatArray) -> FloatArray:
        """Its interactions, known without a draw: (coalitions,). `by_size` is what g counts."""
        return np.asarray(by_size @ (self.even + self.odd) + self._pairwise(index, order, of))

    def _pairwise(self, index: Index, order: int, of: IntArray) -> FloatArray:
        dividends = {
            0: np.array([self.bends.sum() / 2 - self.slopes.sum()]),
            1: 2 * self.slopes - 2 * self.bends.sum(axis=1),
            2: 4 * self.bends,
        }
        t = of.shape[1]
        w = {s: float(index.weight(s, t, order)) for s in range(t, 3)}
        if t == 0:
            return np.asarray(w[0] * dividends[0] + w[1] * dividends[1].sum() + w[2] * dividends[2].sum() / 2)
        if t == 1:
            return np.asarray(w[1] * dividends[1][of[:, 0]] + w[2] * dividends[2].sum(axis=1)[of[:, 0]])
        return np.asarray(w[2] * dividends[2][of[:, 0], of[:, 1]] if t == 2 else np.zeros(len(of)))


def fit(sample: Sample, total: float) -> Pairwise:
    """The control of a sample by ridge regression; equal slopes where there is nothing to fit."""
    n = sample.players
    level, slope, flat = total / 2, total / (2 * n), np.zeros(n + 1)
    if len(sample) < FOLDS:
        return Pairwise(flat + level, flat, np.full(n, slope), np.zeros((n, n)))
    x, near = _signs(sample), size_kernel(n)
    products, mine = x @ x.T, np.ix_(sample.sizes, sample.sizes)
    shared, signed = (near + near[:, ::-1]) / 2 + LEVEL_VARIANCE, (near - near[:, ::-1]) / 2
    bent = _ridge((products**2 - n) / (n * (n - 1)) + shared[mine], (sample.left + sample.right) / 2 - level)
    leant = _ridge(products / n + signed[mine], (sample.left - sample.right) / 2 - slope * x.sum(axis=1))
    bends = x.T @ (bent[:, None] * x) / comb(n, 2)
    np.fill_diagonal(bends, 0.0)
    of_size, of_sign = shared[:, sample.sizes] @ bent, signed[:, sample.sizes] @ leant
    return Pairwise(level + of_size, of_sign, slope + x.T @ leant / n, bends)


@cache
def size_kernel(players: int) -> FloatArray:
    """How alike payoffs of two sizes are taken to be, more finely near nobody and everybody: (n + 1, n + 1)."""
    angle = np.arccos(1 - 2 * np.arange(players + 1) / players)
    return np.asarray(np.exp(-(((angle[:, None] - angle) / ALIKE_SIZES) ** 2) / 2))


def fold_controls(sample: Sample, total: float) -> list[Pairwise]:
    """One control per fold, each fitted to pairs of the other folds."""
    others = (np.flatnonzero(np.arange(len(sample)) % FOLDS != fold) for fold in range(min(FOLDS, len(sample))))
    return [fit(_some(sample, rows[:MOST_FITTED]), total) for rows in others]


def _some(sample: Sample, kept: IntArray) -> Sample:
    return Sample(sample.players, sample.bits[kept], sample.sizes[kept], sample.left[kept], sample.right[kept])


def _ridge(kernel: FloatArray, y: FloatArray) -> FloatArray:
    """Dual coefficients, with the penalty that predicts best what is left out one by one."""
    spectrum, basis = np.linalg.eigh(kernel)
    inverse = 1 / (np.maximum(spectrum, 0.0)[:, None] + RIDGES)  # (rows, penalties)
    dual = basis @ (inverse * (basis.T @ y)[:, None])
    missed = dual / (basis**2 @ inverse)  # left out, row by row
    return np.asarray(dual[:, int(np.argmin((missed**2).sum(axis=0)))])


def _signs(sample: Sample) -> FloatArray:
    return np.asarray(2.0 * unpack(sample.bits, sample.players) - 1, dtype=np.float64)


class _Found:
    """Scores of one size of coalitions, with controls fitted to other pairs."""

    def __init__(self, of: IntArray) -> None:
        self.of, self.moments = of, Moments(len(of))

    def add(self, spread: Spread, sample: Sample, earned: tuple[FloatArray, FloatArray], known: FloatArray) -> None:
        """Take in pairs; `earned` is what both halves earn beyond the control, `known` needs no sampling."""
        step = max(1, SCORES_AT_ONCE // len(self.of))
        for start in range(0, len(sample), step):
            part, rows = sample[start : start + step], slice(start, start + step)
            members = unpack(part.bits, part.players).astype(np.float64)
            share = 1 / (2 * spread.chance[part.sizes])
            left, right = (half[rows] for half in earned)
            self.moments.add(known + spread.scores(self.of, members, part.sizes, left, right, share))

    def varies(self, spread: Spread, blur: float) -> bool:
        """Whether scores differ by more than rounding may make of them; those that are asked in full count as they are."""
        return bool(np.sqrt(self.moments.variance.max()) > max(1.0, spread.typical(self.of.shape[1])) * blur)

    @property
    def stderr(self) -> FloatArray | None:
        """Of each coalition: its own or, if that is larger, the one of its size; what decides is often drawn too seldom to
        show in one coalition alone."""
        own = self.moments.stderr
        return None if own is None else np.asarray(np.maximum(own, np.sqrt(np.mean(own**2))), dtype=np.float64)


def sampled_interactions(game: Game, index: Index, order: int, budget: int, seed: int, level: float) -> Interactions:
    """The index of every coalition of the sizes it has, estimated from `budget` payoffs."""
    settings, n = Sampled(level=level), len(game.players)
    check(settings, budget, check_seed(seed))
    _check_cost(n, order, sum(comb(n, t) for t in index.sizes(order)), budget)
    ledger, spread = Ledger(game), Spread.of(index, order, n, budget)
    every = spread.every()
    members = every.astype(np.float64)
    earned = ledger.ask(every) if len(every) else np.zeros(0)
    found = [_Found(members_of_size(n, t)) for t in index.sizes(order)]
    if len(spread.full) == n + 1:
        exact = [_in_full(spread, f.of, members, earned, ledger.total) for f in found]
        return _result(game, index, order, ledger, found, np.concatenate(exact), None, Confidence(level), seed)
    pairs = Pairs(spread, ledger, seed)
    run(settings, budget, ledger, pairs.draw, lambda share: None, cost=2, unit="pair")
    sample = pairs.sample()
    for fold, control in enumerate(fold_controls(sample, ledger.total)):
        mine = sample[fold::FOLDS]
        even, odd = control.parts(_signs(mine))
        halves = mine.left - even - odd, mine.right - even + odd
        rest, ends = earned - control.payoff(members), control.payoff(np.array([[0.0] * n, [1.0] * n]))
        for f in found:
            known = control.index(index, order, f.of, spread.by_size(f.of.shape[1]))
            known = known + _in_full(spread, f.of, members, rest, ledger.total - ends[1], -ends[0])
            f.add(spread, mine, halves, known)
    mean = np.concatenate([f.moments.mean for f in found])
    return _result(game, index, order, ledger, found, mean, spread, Confidence(level), seed)


def _check_cost(players: int, order: int, coalitions: int, budget: int) -> None:
    """Refuse what would take too long, before anything is asked: every payoff says something about every coalition."""
    if coalitions > COALITIONS_AT_MOST:
        raise TooManyPlayers(
            f"order={order} of {players:,} players has {coalitions:,} coalitions; the limit is {COALITIONS_AT_MOST:,}: "
            "lower order",
            argument="order",
            code="too-many",
        )
    if coalitions * (budget // 2) > MOST_SCORES:
        raise TooManyPlayers(
            f"budget={budget} payoffs about {coalitions:,} coalitions of {players:,} players are too many to score; give "
            f"budget={2 * (MOST_SCORES // coalitions)} or less, merge players with grouped(game, groups), or lower order",
            argument="budget",
            code="too-many",
        )


def _in_full(
    spread: Spread, of: IntArray, members: FloatArray, earned: FloatArray, everybody: float, nobody: float = 0.0
) -> FloatArray:
    """What the sizes that were asked in full say about each coalition: (coalitions,)."""
    n, table = spread.players, spread.counts[of.shape[1]]
    sums = np.full(len(of), table[0, 0] * nobody + table[n, -1] * everybody)
    step = max(1, SCORES_AT_ONCE // max(1, len(of)))
    for start in range(0, len(members), step):
        rows = members[start : start + step]
        sizes = rows.sum(axis=1).astype(np.int64)
        share = np.array([1 / comb(n, int(s)) for s in sizes])
        part = earned[start : start + step]
        sums += spread.scores(of, rows, sizes, part, np.zeros(len(part)), share).sum(axis=0)
    return np.asarray(sums)


def _result(
    game: Game,
    index: Index,
    order: int,
    ledger: Ledger,
    found: list[_Found],
    mean: FloatArray,
    spread: Spread | None,
    confidence: Confidence,
    seed: int,
) -> Interactions:
    names: list[Coalition] = [tuple(game.players[i] for i in who) for f in found for who in f.of.tolist()]
    if not names[0]:
        mean = np.concatenate([[mean[0] + ledger.nobody], mean[1:]])
    widths, precision = None, Precision.exact(f"all {ledger.payoffs} coalitions that count were evaluated")
    stderr = None
    if spread is not None:
        errors = [f.stderr for f in found]
        stderr = None if any(e is None for e in errors) else np.concatenate([e for e in errors if e is not None])
        widths, precision = _half_widths(found, spread, stderr, ledger, confidence)

    def known(because: str) -> tuple[Holds, str]:
        if spread is None:
            return Holds.EXACTLY, because
        return (
            Holds.IN_EXPECTATION,
            f"{because}; unbiased: every control was fitted to other pairs than those it serves",
        )

    claims = index.claims(order, len(game.players), known)
    if spread is not None and claims[0].holds is Holds.IN_EXPECTATION:
        add_up = Claim("efficiency", Holds.EXACTLY, "what one payoff says about all coalitions adds up to nothing")
        claims = (add_up, *claims[1:])
    return Interactions(
        game.players,
        index.name,
        index.means,
        dict(zip(names, mean.tolist(), strict=True)),
        claims,
        stderr,
        None if widths is None else np.stack([mean - widths, mean + widths], axis=1),
        None if widths is None else confidence.level,
        precision,
        ledger.total,
        ledger.payoffs,
        seed,
    )


def _half_widths(
    found: list[_Found], spread: Spread, stderr: FloatArray | None, ledger: Ledger, confidence: Confidence
) -> tuple[FloatArray | None, Precision]:
    """How far each number may be off, and what that rests on; or why nobody can tell."""
    pairs, error = found[0].moments.count, confidence.error(1)
    if stderr is None or pairs < FEW_DRAWS:
        return None, Precision.unknown(f"{pairs} pairs are too few for a Student t; {FEW_DRAWS} are needed")
    if ledger.spread <= ledger.blur:
        return None, Precision.unknown("every payoff seen is the same, so there is no scale for what was not seen")
    if any(f.varies(spread, ledger.blur) for f in found):
        because = (
            f"Student t on {pairs} independent pair scores, each with a control fitted to other pairs, widened by the rule of "
            "three for scores that none of them has shown"
        )
        reach = np.concatenate([f.moments.high - f.moments.low for f in found])
        unseen = unseen_chance(pairs, error) * reach
        widths = np.hypot(student_t(stderr, pairs - 1, error), unseen)
        return np.maximum(widths, ledger.blur), Precision.interval(because)
    chance = unseen_chance(pairs, error) * ledger.spread
    typical = [np.full(len(f.of), chance * spread.typical(f.of.shape[1])) for f in found]
    because = f"rule of three: the control fits all {pairs} pairs, so about 3 in as many may be otherwise"
    return np.maximum(np.concatenate(typical), ledger.blur), Precision.interval(because)
