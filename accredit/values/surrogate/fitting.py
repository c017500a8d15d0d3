r"""The two models and their hyper-parameters: kernels, penalties, and the search for the highest restricted likelihood.

Steps are those of average information: the gradient over the mean of observed and expected second derivatives, which costs
a few matrix-vector products on top of the gradient. Ten evaluations of O(M³) do what forty do without second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.linalg.lapack import dposv

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.likelihood import Mixture, Observations, Solved, solve
from accredit.values.surrogate.rows import CoalitionRows, Exchangeable, Meeting
from accredit.values.surrogate.size_local import SizeLocal
from accredit.values.surrogate.walsh import Walsh

# The product kernel: every player has its own relevance r_i, so that players who do nothing can be screened out.
#
# $A_r = \tfrac12(E_+ - E_-)$ with $E_\pm = \prod_i (1 \pm r_i s_i(S) s_i(T))/\prod_i (1 + r_i)$, 0 < r_i < 1: the odd part of
# a
# game in which an interaction of the players A has variance proportional to $\prod_{i \in A} r_i$. With a_i = artanh r_i it is
# $e^{-\sum a_i} \sinh \sum_i a_i s_i(S) s_i(T)$, one matrix product.

MOST_NODES = 24  # Gauss–Legendre nodes: exact up to 48 players


def even_and_odd(meeting: Meeting, relevance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """½(E₊ + E₋) and ½(E₊ - E₋): (M, M') twice."""
    a = np.arctanh(relevance)
    plus = (meeting.left.signs * a) @ meeting.right.signs.T
    minus = -plus
    for part in (plus, minus):  # in place: new matrices of this size cost more than what is computed in them
        part -= a.sum()
        np.exp(part, out=part)
        part *= 0.5
    even = plus + minus
    plus -= minus
    return even, plus


@cache
def _moments(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss–Legendre quadrature on (-1, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


@dataclass(frozen=True)
class RelevanceProduct:
    """Interactions among players of high relevance are likelier."""

    relevance: tuple[float, ...]  # r_i in (0, 1), one per player

    def between(self, meeting: Meeting) -> FloatArray:
        """A_r(S, T): (M, M')."""
        return even_and_odd(meeting, np.array(self.relevance))[1]

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        r"""Shapley values of Σ_T load_T A_r(·, T): (n,).

        $-2 r_i s_i(T) \int_0^1 \prod_{j \ne i} (1 + r_j s_j(T)(1-2x))\,dx / \prod_j (1 + r_j)$: the average over a
        moment of arrival x (Owen, 1972). The integrand is a polynomial of degree n-1.
        """
        r = np.array(self.relevance)
        nodes, weights = _moments(min(MOST_NODES, rows.players // 2 + 2))
        credit = np.zeros(rows.players)
        for u, weight in zip(nodes.tolist(), weights.tolist(), strict=True):  # u = 1-2x in (-1, 1), dx = du/2
            inside, outside = np.log1p(-r * u), np.log1p(r * u)
            whole = load * np.exp(rows.members @ (inside - outside) + outside.sum() - np.log1p(r).sum())
            from_inside = rows.members.T @ whole
            credit += weight * r * (from_inside * np.exp(-inside) - (whole.sum() - from_inside) * np.exp(-outside))
        return credit


COARSE, FINE = (128, 12), (400, 5)  # rows of a sample and evaluations of the likelihood on them, at most
FINEST_STAGE = (1001, 2)  # the same where one number per player is fitted: one more step on more rows
LEAST_GAIN = 0.02  # a step that gains less in log likelihood ends the search: residuals correct the surrogate
LIFT = 0.2  # curvature added in every direction: flat ones, along which an idle kernel drifts, would shorten all the others
LONGEST_STEP = 3.0  # no coordinate moves further in one step: the curvature is local


@dataclass(frozen=True)
class PenalisedLikelihood:
    """A penalised likelihood at one place. Its derivatives cost twice its value, and a place that is left needs none."""

    value: float
    derivatives: Callable[[], tuple[FloatArray, FloatArray]]  # gradient (p,), positive semidefinite curvature (p, p)


Objective = Callable[[FloatArray], PenalisedLikelihood | None]  # None: the covariance has no Cholesky factor


def _walsh(players: int, highest: int) -> tuple[Exchangeable, ...]:
    return tuple(Walsh(order) for order in range(1, min(players, highest) + 1, 2))


def isotropic_kernels(players: int) -> tuple[Exchangeable, ...]:
    """Model I treats players alike: interactions of orders 1, 3, 5, 7 and two size-local kernels."""
    return (*_walsh(players, 7), SizeLocal(0.5, 0.0), SizeLocal(1.0, 1.0))


def screened_kernels(players: int) -> tuple[Exchangeable, ...]:
    """What model II adds to its product kernel."""
    return (*_walsh(players, 5), SizeLocal(1.0, 1.0))


def isotropic_objective(sample: Observations, kernels: tuple[Exchangeable, ...]) -> Objective:
    """Penalised likelihood of model I, as a function of the log amplitudes."""
    grams = np.stack([sample.meeting.gram(kernel) for kernel in kernels])  # (J, M, M)

    def objective(log_amplitude: FloatArray) -> PenalisedLikelihood | None:
        amplitude = np.exp(log_amplitude)
        found = solve(_noisy(amplitude, grams, sample), sample)
        if found is None:
            return None

        def derivatives() -> tuple[FloatArray, FloatArray]:
            moved = amplitude[:, None] * (grams @ found.load)
            gradient = found.slope(amplitude * found.trace(grams), moved) + 2e-3 * log_amplitude
            return gradient, found.curvature(moved) + 2e-3 * np.eye(len(amplitude))

        return PenalisedLikelihood(found.unlikelihood + 1e-3 * float(log_amplitude @ log_amplitude), derivatives)

    return objective


def _noisy(amplitude: FloatArray, grams: FloatArray, sample: Observations) -> FloatArray:
    """Σ_j a_j K_j + diag ν: (M, M)."""
    covariance = (amplitude @ grams.reshape(len(grams), -1)).reshape(grams.shape[1:])
    covariance[np.diag_indices_from(covariance)] += sample.noise
    return np.asarray(covariance)


def stages(sample: Observations, rng: np.random.Generator) -> list[tuple[Observations, int]]:
    """Samples to fit hyper-parameters on, one after the other, with the evaluations spent on each.

    The search begins on few rows, and few evaluations on more rows end it: O(M³) is paid five times, not fifteen.
    """
    (few, first), (most, last) = COARSE, FINE
    if len(sample) <= 1.4 * few:
        return [(sample, first)]
    fine = sample.thin(most, rng)
    return [(fine.thin(few, rng), first), (fine, last)]


def more_rows(
    samples: list[tuple[Observations, int]], whole: Observations, rng: np.random.Generator
) -> list[tuple[Observations, int]]:
    """`samples`, and for the last step as many rows as may be: relevances, one per player, want more of them than amplitudes.

    One step on 1,000 rows took 5 to 20 % off the squared error of games of 32 to 64 tokens.
    """
    most, evaluations = FINEST_STAGE
    rows = len(samples[-1][0])
    return samples if min(len(whole), most) <= rows else [*samples, (whole.thin(most, rng), evaluations)]


def fit_isotropic(samples: list[tuple[Observations, int]]) -> Mixture:
    """Model I with the amplitudes of highest restricted likelihood."""
    kernels = isotropic_kernels(samples[0][0].rows.players)
    # From a start at 0 the linear amplitude does not reach its optimum on games that are nearly noiseless.
    start = np.array([8.0 - {1: 0, 3: 4, 5: 6, 7: 8}[k.order] if isinstance(k, Walsh) else 2.0 for k in kernels])
    box = np.array([(-14.0, 14.0)] * len(kernels))
    best = start
    for sample, evaluations in samples:
        best = minimise(isotropic_objective(sample, kernels), best, box, evaluations)
    return Mixture(kernels, tuple(np.exp(best).tolist()))


def _likely_logit(players: int) -> float:
    """Where relevances start and are drawn to: about 1.5 players of relevance 1 in all."""
    r = min(0.3, 1.5 / players)
    return float(np.log(r / (1 - r)))


def screened_objective(sample: Observations, kernels: tuple[Exchangeable, ...]) -> Objective:
    """Penalised likelihood of model II, by (logit relevances, log amplitude of A_r, other log amplitudes).

    The penalty on logit relevances is heavy tailed: it lets null players leave, and otherwise draws all to one value.
    """
    grams = np.stack([sample.meeting.gram(kernel) for kernel in kernels])
    n, prior = sample.rows.players, _likely_logit(sample.rows.players)

    def objective(place: FloatArray) -> PenalisedLikelihood | None:
        logit, amplitude, others = place[:n], float(np.exp(place[n])), np.exp(place[n + 1 :])
        relevance = 1 / (1 + np.exp(-logit))
        even, odd = even_and_odd(sample.meeting, relevance)
        covariance = _noisy(others, grams, sample)
        covariance += amplitude * odd
        found = solve(covariance, sample)
        if found is None:
            return None
        penalty, by_penalty, bend = _relevance_penalty(logit, prior)

        def derivatives() -> tuple[FloatArray, FloatArray]:
            traces, moved = _by_relevance(found, even, odd, sample.rows.signs, amplitude * relevance / (1 + relevance))
            traces = np.concatenate([traces, amplitude * found.trace(odd[None]), others * found.trace(grams)])
            by_others = others[:, None] * (grams @ found.load)
            moved = np.concatenate([moved, [amplitude * (odd @ found.load)], by_others])
            gradient, curvature = found.slope(traces, moved), found.curvature(moved)
            gradient[:n] += by_penalty
            curvature[:n, :n] += bend
            return gradient, curvature

        return PenalisedLikelihood(found.unlikelihood + penalty, derivatives)

    return objective


def _by_relevance(
    found: Solved, even: FloatArray, odd: FloatArray, signs: FloatArray, pull: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """⟨P, C_i⟩ and C_iα for the derivatives C_i = pull_i·(s_i s_iᵀ ∘ even - odd) by the logit of each relevance: (n,), (n, M).

    With pull_i = a·r_i/(1+r_i) this is a·∂A_r/∂θ_i. One matrix product serves all players.
    """
    weighed = found.half.T * even
    agreement = 2 * np.einsum("ai,ai->i", signs, weighed @ signs) - np.trace(weighed)
    moved = signs.T * (even @ (signs * found.load[:, None])).T - odd @ found.load
    return pull * (agreement - found.trace(odd[None])), pull[:, None] * moved


def _relevance_penalty(logit: FloatArray, prior: float) -> tuple[float, FloatArray, FloatArray]:
    """0.4·Σ log(1 + δ_i²/4) + 0.02·(mean - prior)², δ_i = θ_i - mean, its gradient, and the curvature of the quadratic above
    it that touches it here."""
    n, mean = len(logit), logit.mean()
    off = logit - mean
    stiff = 0.8 / (4 + off**2)
    pull = stiff * off
    penalty = 0.4 * np.log1p(off**2 / 4).sum() + 0.02 * (mean - prior) ** 2
    bend = np.diag(stiff) - (stiff[:, None] + stiff) / n + (stiff.sum() + 0.04) / n**2
    return float(penalty), pull - pull.mean() + 0.04 * (mean - prior) / n, bend


def fit_screened(samples: list[tuple[Observations, int]]) -> Mixture:
    """Model II with the relevances and amplitudes of highest penalised likelihood."""
    n = samples[0][0].rows.players
    kernels = screened_kernels(n)
    start = np.concatenate([np.full(n, _likely_logit(n)), [5.0], [8.0 if k == Walsh(1) else 2.0 for k in kernels]])
    box = np.array([(-10.0, 3.5)] * n + [(-10.0, 18.0)] + [(-14.0, 14.0)] * len(kernels))
    best = start
    for sample, evaluations in samples:
        best = minimise(screened_objective(sample, kernels), best, box, evaluations)
    relevance = 1 / (1 + np.exp(-best[:n]))
    return Mixture((RelevanceProduct(tuple(relevance.tolist())), *kernels), tuple(np.exp(best[n:]).tolist()))


def minimise(objective: Objective, start: FloatArray, box: FloatArray, evaluations: int) -> FloatArray:
    """Damped steps within a box (p, 2), until one gains little: where a step fails, the next is shorter."""
    here, now, damping = start, objective(start), 0.01
    if now is None:
        return start
    gradient, curvature = now.derivatives()
    for left in reversed(range(evaluations - 1)):
        there = np.clip(here + _step(here, gradient, curvature, box, damping), *box.T)
        then = objective(there)
        if then is None or then.value > now.value:
            damping *= 10
            continue
        gain = now.value - then.value
        here, now, damping = there, then, damping / 4
        if gain < LEAST_GAIN or left == 0:
            break
        gradient, curvature = now.derivatives()
    return here


def _step(here: FloatArray, gradient: FloatArray, curvature: FloatArray, box: FloatArray, damping: float) -> FloatArray:
    """Gradient over damped curvature, among the coordinates that do not press against the box: (p,)."""
    low, high = box.T
    free = ~(((here <= low) & (gradient > 0)) | ((here >= high) & (gradient < 0)))
    within, scale = curvature[np.ix_(free, free)], np.diagonal(curvature)[free]
    _, found, info = dposv(within + np.diag(damping * scale + LIFT), -gradient[free], lower=1)
    step = np.zeros(len(here))
    step[free] = found if info == 0 else -gradient[free] / (scale + 1)
    longest = float(np.abs(step).max(initial=0.0))
    return step * min(1.0, LONGEST_STEP / longest) if longest > 0 else step
