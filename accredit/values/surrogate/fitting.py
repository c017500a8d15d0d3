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

LARGEST_EXPONENT = 300.0  # below it neither exponential underflows, and the second is one over the first
MOST_NODES = 24  # Gauss–Legendre nodes: exact up to 48 players


def even_and_odd(meeting: Meeting, relevance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """½(E₊ + E₋) and ½(E₊ - E₋): (M, M') twice."""
    a = np.arctanh(relevance)
    most = float(a.sum())
    plus = (meeting.left.signs * a) @ meeting.right.signs.T  # in [-most, most]
    minus = None if most < LARGEST_EXPONENT else 0.5 * np.exp(-plus - most)
    plus -= most  # in place: new matrices of this size cost more than what is computed in them
    np.exp(plus, out=plus)
    plus *= 0.5
    if minus is None:
        minus = 0.25 * np.exp(-2 * most) / plus
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


# Evaluations of the likelihood, at most: on few rows, because one costs O(M³), and then on more of them. Amplitudes are as good
# from few rows; a relevance per player is not.
AMPLITUDE_STEPS, RELEVANCE_STEPS = (5, 0), (5, 3)
COARSE, FINE, FINEST = 128, 192, 1001  # rows of the first search, and the least and most of the second
FINE_SHARE = 0.4  # of the rows, for the second search
LEAST_GAIN = 0.1  # a step that gains less in log likelihood ends the search: residuals correct the surrogate
SETTLED = 1.0  # the same on the larger sample, whose steps are dear
LIFT = 0.2  # curvature added in every direction: flat ones, along which an idle kernel drifts, would shorten all the others
LONGEST_STEP = 3.0  # no coordinate moves further in one step: the curvature is local


@dataclass(frozen=True)
class PenalisedLikelihood:
    """A penalised likelihood at one place. Its derivatives cost twice its value, and a place that is left needs none."""

    found: Solved
    value: float
    derivatives: Callable[[], tuple[FloatArray, FloatArray]]  # gradient (p,), positive semidefinite curvature (p, p)


Objective = Callable[[FloatArray], PenalisedLikelihood | None]  # None: the covariance has no Cholesky factor


def screened_kernels(players: int) -> tuple[Exchangeable, ...]:
    """What model II adds to its product kernel: interactions of orders 1, 3, 5 and a size-local kernel."""
    return (SizeLocal(1.0, 1.0), *(Walsh(order) for order in (1, 3, 5) if order <= players))


def isotropic_kernels(players: int) -> tuple[Exchangeable, ...]:
    """Model I treats players alike: those kernels, interactions of order 7 and another size-local kernel."""
    return (*screened_kernels(players), *(Walsh(order) for order in (7,) if order <= players), SizeLocal(0.5, 0.0))


def isotropic_objective(sample: Observations, kernels: tuple[Exchangeable, ...]) -> Objective:
    """Penalised likelihood of model I, as a function of the log amplitudes."""
    grams = sample.meeting.grams(kernels)  # (J, M, M)

    def objective(log_amplitude: FloatArray) -> PenalisedLikelihood | None:
        amplitude = np.exp(log_amplitude)
        found = solve(_noisy(amplitude, grams, sample), sample)
        if found is None:
            return None

        def derivatives() -> tuple[FloatArray, FloatArray]:
            moved = amplitude[:, None] * (grams @ found.load)
            gradient = found.slope(amplitude * found.trace(grams), moved) + 2e-3 * log_amplitude
            return gradient, found.curvature(moved) + 2e-3 * np.eye(len(amplitude))

        return PenalisedLikelihood(found, found.unlikelihood + 1e-3 * float(log_amplitude @ log_amplitude), derivatives)

    return objective


def _noisy(amplitude: FloatArray, grams: FloatArray, sample: Observations) -> FloatArray:
    """Σ_j a_j K_j + diag ν: (M, M)."""
    covariance = (amplitude @ grams.reshape(len(grams), -1)).reshape(grams.shape[1:])
    covariance[np.diag_indices_from(covariance)] += sample.noise
    return np.asarray(covariance)


@dataclass(frozen=True)
class Fitted:
    """A model with its hyper-parameters, and the last sample that these were searched on, solved."""

    mixture: Mixture
    sample: Observations
    solved: Solved | None  # None: its covariance has no Cholesky factor


def search_samples(sample: Observations, rng: np.random.Generator) -> tuple[Observations, ...]:
    """What hyper-parameters are searched on: a few rows and then more of them, or a small sample as it is."""
    if len(sample) <= 1.4 * COARSE:
        return (sample,)
    return sample.thin(COARSE, rng), sample.thin(min(max(FINE, int(FINE_SHARE * len(sample))), FINEST), rng)


def climb(
    objective: Callable[[Observations], Objective],
    samples: tuple[Observations, ...],
    steps: tuple[int, int],
    start: FloatArray,
    box: FloatArray,
) -> tuple[FloatArray, Solved | None]:
    """Minimise on a small sample, then on a larger one; where there is one sample it gets all evaluations."""
    if len(samples) == 1:
        return minimise(objective(samples[0]), start, box, sum(steps), LEAST_GAIN)
    near, _ = minimise(objective(samples[0]), start, box, steps[0], LEAST_GAIN)
    return minimise(objective(samples[1]), near, box, steps[1], SETTLED) if steps[1] else (near, None)


def fit_isotropic(samples: tuple[Observations, ...]) -> Fitted:
    """Model I with the amplitudes of highest restricted likelihood."""
    kernels = isotropic_kernels(samples[-1].rows.players)
    # From a start at 0 the linear amplitude does not reach its optimum on games that are nearly noiseless.
    start = np.array([8.0 - {1: 0, 3: 4, 5: 6, 7: 8}[k.order] if isinstance(k, Walsh) else 2.0 for k in kernels])
    box = np.array([(-14.0, 14.0)] * len(kernels))
    best, solved = climb(lambda part: isotropic_objective(part, kernels), samples, AMPLITUDE_STEPS, start, box)
    return Fitted(Mixture(kernels, tuple(np.exp(best).tolist())), samples[-1], solved)


def _likely_logit(players: int) -> float:
    """Where relevances start and are drawn to: about 1.5 players of relevance 1 in all."""
    r = min(0.3, 1.5 / players)
    return float(np.log(r / (1 - r)))


def screened_objective(sample: Observations, kernels: tuple[Exchangeable, ...]) -> Objective:
    """Penalised likelihood of model II, by (logit relevances, log amplitude of A_r, other log amplitudes).

    The penalty on logit relevances is heavy tailed: it lets null players leave, and otherwise draws all to one value.
    """
    grams = sample.meeting.grams(isotropic_kernels(sample.rows.players))[: len(kernels)]  # begins with those
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
            of_odd, by_odd = found.trace(odd[None]), odd @ found.load
            pull = amplitude * relevance / (1 + relevance)
            agreement, moved = _by_relevance(found, even, sample.rows.signs)
            traces = np.concatenate([pull * (agreement - of_odd), amplitude * of_odd, others * found.trace(grams)])
            moved = np.concatenate(
                [pull[:, None] * (moved - by_odd), amplitude * by_odd[None], others[:, None] * (grams @ found.load)]
            )
            gradient, curvature = found.slope(traces, moved), found.curvature(moved)
            gradient[:n] += by_penalty
            curvature[:n, :n] += bend
            return gradient, curvature

        return PenalisedLikelihood(found, found.unlikelihood + penalty, derivatives)

    return objective


def _by_relevance(found: Solved, even: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """⟨P, E_i⟩ and E_iα for E_i = s_i s_iᵀ ∘ even: (n,), (n, M). One matrix product serves all players.

    With pull_i = a·r_i/(1+r_i) the derivative of a·A_r by the logit of a relevance is pull_i·(E_i - odd).
    """
    weighed = found.half.T * even
    agreement = 2 * np.einsum("ai,ai->i", signs, weighed @ signs) - np.trace(weighed)
    return agreement, signs.T * (even @ (signs * found.load[:, None])).T


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


def fit_screened(samples: tuple[Observations, ...]) -> Fitted:
    """Model II with the relevances and amplitudes of highest penalised likelihood."""
    n = samples[-1].rows.players
    kernels = screened_kernels(n)
    start = np.concatenate([np.full(n, _likely_logit(n)), [8.0], [8.0 if k == Walsh(1) else 2.0 for k in kernels]])
    box = np.array([(-10.0, 3.5)] * n + [(-10.0, 18.0)] + [(-14.0, 14.0)] * len(kernels))
    best, solved = climb(lambda part: screened_objective(part, kernels), samples, RELEVANCE_STEPS, start, box)
    relevance = 1 / (1 + np.exp(-best[:n]))
    mixture = Mixture((RelevanceProduct(tuple(relevance.tolist())), *kernels), tuple(np.exp(best[n:]).tolist()))
    return Fitted(mixture, samples[-1], solved)


def minimise(
    objective: Objective, start: FloatArray, box: FloatArray, evaluations: int, least_gain: float
) -> tuple[FloatArray, Solved | None]:
    """Damped steps within a box (p, 2), until one gains little: where a step fails, the next is shorter."""
    here, now, damping = start, objective(start), 0.01
    if now is None:
        return start, None
    gradient, curvature = now.derivatives()
    for left in reversed(range(evaluations - 1)):
        there = np.clip(here + _step(here, gradient, curvature, box, damping), *box.T)
        then = objective(there)
        if then is None or then.value > now.value:
            damping *= 10
            continue
        gain = now.value - then.value
        here, now, damping = there, then, damping / 4
        if gain < least_gain or left == 0:
            break
        gradient, curvature = now.derivatives()
    return here, now.found


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
