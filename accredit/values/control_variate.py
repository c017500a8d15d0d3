r"""The control variate: a fitted game takes most of the noise out of pair scores, without bias.

For any game f fixed before T is drawn, φ(v) = φ(f) + φ(v − f), and only φ(v − f) has to be sampled. Here
f(T) = c + Σ_{i∈T} b_i + a·(|T| − n/2)², whose semivalue is known: φ_i(f) = b_i + a·Σ_k s(k)(2k + 1 − n). It is fitted by least
squares to other pairs than those it serves (five folds), so every fold is unbiased; and because f is linear in the payoffs, so
is the estimate. With pairs drawn by q ∝ √w the weights w/q² that minimise the variance of the scores are constant. (The
bend a matters only where s is lopsided: for Shapley and Banzhaf it cancels within a pair.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import Attribution, Claim, FloatArray, Game, IntArray, Procedure
from accredit.values.intervals import (
    Confidence,
    Moments,
    degrees_of_freedom,
    empirical_bernstein,
    student_t,
    unseen_chance,
)
from accredit.values.pairs import Pairs, Sample, SizeLaw
from accredit.values.sampling import FEW_DRAWS, Ledger, Sampled, SampledEstimate, known_whole, report, run

FOLDS = 5
FIT_PAIRS = 2  # pairs per player before a control is fitted; with fewer the fit adds more noise than it removes
LINEAR_PLAYERS = 2000  # with more, the normal equations no longer fit in memory


@dataclass(frozen=True)
class Control:
    """The game f(T) = level + bend·(|T| − n/2)² + Σ_i b_i (1[i ∈ T] − ½)."""

    level: float
    bend: float
    slopes: FloatArray  # (n,)

    def even(self, sizes: IntArray) -> FloatArray:
        """The part that a coalition shares with its complement."""
        return np.asarray(self.level + self.bend * (sizes - len(self.slopes) / 2) ** 2, dtype=np.float64)

    def odd(self, members: FloatArray) -> FloatArray:
        """The part that changes sign from a coalition to its complement: (rows, n) -> (rows,)."""
        return (members - 0.5) @ self.slopes

    def value(self, meets: FloatArray) -> FloatArray:
        """Its semivalue."""
        n = len(meets)
        return self.slopes + self.bend * float(meets @ (2 * np.arange(n) + 1 - n))

    @property
    def ends(self) -> tuple[float, float]:
        """f(∅) and f(N)."""
        middle, half = float(self.even(np.array(0))), float(self.slopes.sum()) / 2
        return middle - half, middle + half


@dataclass(frozen=True)
class NormalEquations:
    """Sums from which a control is fitted; odd and even part are orthogonal over pairs, so each has its own."""

    odd: FloatArray  # (n, n+1): Σ x (xᵀ, y), x = 1[i ∈ T] − ½, y = odd part − what equal slopes explain
    even: FloatArray  # (2, 3): Σ u (uᵀ, e), u = (1, (|T| − n/2)²), e = even part

    @classmethod
    def of(cls, sample: Sample, share: float) -> NormalEquations:
        """Sums over a sample; every slope begins at `share`."""
        n = sample.players
        odd = np.zeros((n, n + 1))
        for part, members in sample.chunks():
            x = members - 0.5
            y = (part.left - part.right) / 2 - share * (part.sizes - n / 2)
            odd += x.T @ np.column_stack([x, y])
        u = np.column_stack([np.ones(len(sample)), (sample.sizes - n / 2) ** 2])
        return cls(odd, u.T @ np.column_stack([u, (sample.left + sample.right) / 2]))

    def but(self, part: NormalEquations) -> NormalEquations:
        """The sums without those of a part."""
        return NormalEquations(self.odd - part.odd, self.even - part.even)

    def control(self, share: float) -> Control:
        """Least squares; among equally good fits, the one nearest to equal slopes."""
        change, level = (np.linalg.lstsq(a[:, :-1], a[:, -1], rcond=1e-10)[0] for a in (self.odd, self.even))
        return Control(float(level[0]), float(level[1]), np.asarray(share + change, dtype=np.float64))


def fit_control(sample: Sample, ledger: Ledger) -> Control:
    """The control of a sample; equal slopes where pairs are too few to fit more."""
    share = ledger.total / sample.players
    if _enough(len(sample), sample.players):
        return NormalEquations.of(sample, share).control(share)
    return Control(ledger.total / 2, 0.0, np.full(sample.players, share))


def fold_controls(sample: Sample, ledger: Ledger) -> list[Control]:
    """One control per fold, each fitted to the other folds."""
    share = ledger.total / sample.players
    if not _enough(len(sample) * (FOLDS - 1) // FOLDS, sample.players):
        return [fit_control(sample[:0], ledger)] * FOLDS
    folds = [NormalEquations.of(sample[fold::FOLDS], share) for fold in range(FOLDS)]
    whole = NormalEquations(np.sum([fold.odd for fold in folds], axis=0), np.sum([fold.even for fold in folds], axis=0))
    return [whole.but(fold).control(share) for fold in folds]


def _enough(pairs: int, players: int) -> bool:
    return pairs >= FIT_PAIRS * players and players <= LINEAR_PLAYERS


class Scores:
    """Scores of pairs whose control was fixed before them: their mean estimates the semivalue without bias."""

    def __init__(self, law: SizeLaw, ledger: Ledger) -> None:
        self._law, self._ledger = law, ledger
        self.moments = Moments(law.players)
        self._fourth = np.zeros(law.players)  # sum of fourth powers of deviations within a fold

    def add(self, sample: Sample, control: Control) -> None:
        """Take in pairs that `control` has not seen."""
        n, m = self._law.players, len(sample)
        sums = np.zeros((n, 4))  # Σ score, score², score³, score⁴ of every player
        for part, members in sample.chunks():
            even, odd = control.even(part.sizes), control.odd(members)
            left, right = part.left - even - odd, part.right - even + odd
            within, without = (_powers(x) for x in self._law.pair_scores(part.sizes, left, right))
            sums += members.T @ (within - without) + without.sum(axis=0)
        first, second, third, fourth = (sums / m).T
        self._fourth += m * np.maximum(fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4, 0.0)
        self.moments.merge(m, self._known(control) + first, m * np.maximum(second - first**2, 0.0))

    def _known(self, control: Control) -> FloatArray:
        """What needs no sampling: the value of the control, and what it leaves at ∅ and N, where the ledger has 0 and D."""
        (nobody, everybody), ledger, meets = control.ends, self._ledger, self._law.meets
        rest = float(meets[-1]) * (ledger.total - everybody) + float(meets[0]) * nobody
        return control.value(meets) + rest

    @property
    def freedom(self) -> float:
        """Degrees of freedom, from the kurtosis of the scores averaged over players."""
        variance = self.moments.variance
        varies = variance > 0
        kurtosis = self._fourth[varies] / self.moments.count / variance[varies] ** 2
        return degrees_of_freedom(self.moments.count, float(kurtosis.mean()) if varies.any() else 3.0)


def _powers(x: FloatArray) -> FloatArray:
    """x, x², x³ and x⁴: (rows,) -> (rows, 4)."""
    return np.column_stack([x, x**2, x**2 * x, x**2 * x**2])


def score_bounds(law: SizeLaw, control: Control, low: float, high: float) -> tuple[float, float]:
    """The least and the largest score that a pair can give any player while payoffs lie in [low, high].

    Scores are linear in v(T), v(Tᶜ) and the odd part of the control, so the extremes sit at the ends of the three.
    """
    sizes = np.flatnonzero(law.chance > 0)
    even, slopes = control.even(sizes), np.sort(control.slopes)
    least = np.concatenate([[0.0], np.cumsum(slopes)])[sizes] - slopes.sum() / 2
    most = np.concatenate([[0.0], np.cumsum(slopes[::-1])])[sizes] - slopes.sum() / 2
    corners = [
        law.pair_scores(sizes, left - even - odd, right - even + odd)
        for left in (low, high)
        for right in (low, high)
        for odd in (least, most)
    ]
    return float(np.min(corners)), float(np.max(corners))


def judge(sample: Sample, law: SizeLaw, ledger: Ledger, confidence: Confidence, share: float) -> SampledEstimate:
    """Estimate and interval from all pairs so far, with `share` of the error granted to this look."""
    error = confidence.error(law.players) * share
    if confidence.certify:
        return _certify(sample, law, ledger, error)
    controls, scores = fold_controls(sample, ledger), Scores(law, ledger)
    for fold, control in enumerate(controls[: len(sample)]):
        scores.add(sample[fold::FOLDS], control)
    credit, within = scores.moments.mean, scores.moments.stderr
    stderr = None if within is None else within * _share(len(sample), law.players)
    if stderr is None or scores.moments.count < FEW_DRAWS:
        return SampledEstimate(credit, stderr, None, f"{len(sample)} pairs are too few for a Student t; {FEW_DRAWS} are needed")
    if ledger.spread <= ledger.blur:
        return SampledEstimate(
            credit, stderr, None, "every payoff seen is the same, so there is no scale for what was not seen"
        )
    if np.sqrt(scores.moments.variance.max()) <= law.typical * ledger.blur:
        event = max(abs(bound) for control in controls for bound in score_bounds(law, control, *ledger.bounds))
        m = len(sample)
        because = f"rule of three: the control fits all {m} pairs, so at most about 3 in {m} others do not fit"
        return SampledEstimate(credit, stderr, np.full(law.players, unseen_chance(len(sample), error) * event), because)
    because = f"Student t on {len(sample)} independent pair scores, each with a control fitted to other pairs (asymptotic)"
    return SampledEstimate(credit, stderr, student_t(stderr, scores.freedom, error), because, scores.freedom)


def _share(pairs: int, players: int) -> float:
    """By how much the standard error grows because the folds' controls, of one slope per player, share most of their pairs.

    A pair's own noise enters the controls of the other folds, and theirs enters its own: the two products go together, which
    the spread within folds does not show. To first order that is players/pairs of the variance.
    """
    fitted = _enough(pairs * (FOLDS - 1) // FOLDS, players)
    return float((1 - players / pairs) ** -0.5) if fitted else 1.0


def _certify(sample: Sample, law: SizeLaw, ledger: Ledger, error: float) -> SampledEstimate:
    """A control from the first fifth of the pairs, empirical Bernstein on the scores of the others."""
    first = len(sample) // FOLDS
    control, scores = fit_control(sample[:first], ledger), Scores(law, ledger)
    scores.add(sample[first:], control)
    moments = scores.moments
    if moments.count < 2:
        return SampledEstimate(moments.mean, None, None, "one score has no spread; give a larger budget")
    low, high = score_bounds(law, control, *ledger.bounds)
    widths = empirical_bernstein(moments.variance, moments.count, high - low, error)
    because = "empirical Bernstein on pair scores within the declared payoff range: holds at every number of pairs"
    return SampledEstimate(moments.mean, moments.stderr, widths, because)


def semivalue_of_pairs(
    game: Game,
    settings: Sampled,
    budget: int | None,
    seed: int,
    value: str,
    meets: FloatArray,
    claims: tuple[Claim, ...],
) -> Attribution:
    """The semivalue with law s(k) = `meets`, estimated from independent pairs."""
    confidence, method = settings.confidence, Procedure.by(value, settings)
    ledger = Ledger(game, confidence.payoff_range)
    if len(game.players) <= 2:
        return known_whole(game, ledger, meets, method, budget, seed)
    law = SizeLaw.of(meets)
    pairs = Pairs(law, ledger, seed)

    def half_widths(share: float) -> FloatArray | None:
        return judge(pairs.sample(), law, ledger, confidence, share).half_widths

    ended = run(settings, budget, ledger, pairs.draw, half_widths, cost=2, unit="pair")
    found = judge(pairs.sample(), law, ledger, confidence, ended.share)
    return report(
        game,
        ledger,
        method,
        claims,
        found,
        confidence,
        ended,
        seed,
        {"draws": ended.units, "degrees of freedom": found.freedom},
    )
