r"""How plausible a covariance makes the payoffs: restricted likelihood, and the two models fitted by it.

The odd part, centred and scaled, is modelled as ỹ = b·s̄ + f + ε: an unpenalised slope in size (s̄ = the mean sign),
a Gaussian process f ~ GP(0, K), and noise of variance ν_T = 1/w_T, the inverse regression weight. The noise has a
fixed level; amplitudes are relative to it. As K → 0 beyond its linear term the fit becomes ridge KernelSHAP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from accredit.core.coalitions import FloatArray
from accredit.values.surrogate.product import Product, even_and_odd
from accredit.values.surrogate.rows import Kernel, Meeting, Rows
from accredit.values.surrogate.size_local import SizeLocal
from accredit.values.surrogate.walsh import Walsh

FINE_STEPS = 6  # on the whole sample, after the coarse one
REFUSED = 1e20  # what an evaluation costs whose covariance has no Cholesky factor


@dataclass(frozen=True)
class Mixture:
    """A sum of kernels, each with its amplitude: itself a kernel."""

    kernels: tuple[Kernel, ...]
    amplitudes: tuple[float, ...]

    def between(self, meeting: Meeting) -> FloatArray:
        """Σ_j a_j K_j(S, T): (M, M')."""
        whole = np.zeros((len(meeting.left), len(meeting.right)))
        for kernel, amplitude in zip(self.kernels, self.amplitudes, strict=True):
            whole += amplitude * kernel.between(meeting)
        return whole

    def credit(self, rows: Rows, load: FloatArray) -> FloatArray:
        """Shapley values of the game Σ_T load_T K(·, T): (n,)."""
        parts = [a * kernel.credit(rows, load) for kernel, a in zip(self.kernels, self.amplitudes, strict=True)]
        return np.asarray(np.sum(parts, axis=0))


@dataclass(frozen=True)
class Sample:
    """What a model is fitted to. The last row is the end pair (S = N)."""

    rows: Rows  # M coalitions
    target: FloatArray  # (M,): ỹ
    noise: FloatArray  # (M,): ν

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def trend(self) -> FloatArray:
        """s̄(S) = 1 - 2|S|/n: (M,)."""
        return 1 - 2 * self.rows.sizes / self.rows.players

    def thinned(self, most: int, rng: np.random.Generator) -> Sample:
        """At most `most` rows, drawn uniformly; the end pair stays."""
        if len(self) <= most:
            return self
        kept = np.append(np.sort(rng.choice(len(self) - 1, most - 1, replace=False)), len(self) - 1)
        return Sample(self.rows.at(kept), self.target[kept], self.noise[kept])


def inverse_and_logdet(covariance: FloatArray) -> tuple[FloatArray, float] | None:
    """C⁻¹ and log|C| by Cholesky, or None when C is not positive definite. Cost O(M³)."""
    factor, info = dpotrf(covariance, lower=1, clean=1)
    if info != 0:
        return None
    logdet = 2 * float(np.log(np.diagonal(factor)).sum())
    inverse, info = dpotri(factor, lower=1)
    if info != 0 or not np.isfinite(logdet):
        return None
    inverse += np.tril(inverse, -1).T
    return inverse, logdet


def projection(inverse: FloatArray, trend: FloatArray) -> tuple[FloatArray, float]:
    """P = C⁻¹ - C⁻¹F(FᵀC⁻¹F)⁻¹FᵀC⁻¹ and FᵀC⁻¹F: the precision left after the slope is fitted."""
    bent = inverse @ trend
    information = float(trend @ bent)
    return inverse - np.outer(bent, bent / information), information


def restricted_likelihood(covariance: FloatArray, sample: Sample) -> tuple[float, FloatArray] | None:
    r"""Negative log restricted likelihood, its scale profiled out, and the derivative by the covariance: (), (M, M).

    $\tfrac12[(M-1)\log \tilde y^\top P \tilde y + \log|C| + \log F^\top C^{-1} F]$; derivative
    $G = \tfrac12(P - (M-1)\,\alpha\alpha^\top/\tilde y^\top P \tilde y)$, α = Pỹ. None when C is not positive definite.
    """
    solved = inverse_and_logdet(covariance)
    if solved is None:
        return None
    inverse, logdet = solved
    precision, information = projection(inverse, sample.trend)
    load = precision @ sample.target
    misfit = float(sample.target @ load)
    if not (misfit > 0 and information > 0):
        return None
    free = len(sample) - 1
    value = 0.5 * (free * np.log(misfit) + logdet + np.log(information))
    return value, 0.5 * (precision - np.outer(load, load * (free / misfit)))


def _walsh(players: int, highest: int) -> tuple[Kernel, ...]:
    return tuple(Walsh(order) for order in range(1, min(players, highest) + 1, 2))


def isotropic_kernels(players: int) -> tuple[Kernel, ...]:
    """Model I treats players alike: interactions of orders 1, 3, 5, 7 and two size-local kernels."""
    return (*_walsh(players, 7), SizeLocal(0.5, 0.0), SizeLocal(1.0, 1.0))


def screened_kernels(players: int) -> tuple[Kernel, ...]:
    """What model II adds to its product kernel."""
    return (*_walsh(players, 5), SizeLocal(1.0, 1.0))


Objective = Callable[[FloatArray], tuple[float, FloatArray]]


def isotropic_objective(sample: Sample, kernels: tuple[Kernel, ...]) -> Objective:
    """Penalised likelihood of model I and its gradient, as a function of the log amplitudes."""
    meeting = Meeting(sample.rows, sample.rows)
    grams = np.stack([kernel.between(meeting) for kernel in kernels])  # (J, M, M)

    def objective(log_amplitude: FloatArray) -> tuple[float, FloatArray]:
        amplitude = np.exp(log_amplitude)
        covariance = np.tensordot(amplitude, grams, axes=1)
        covariance[np.diag_indices_from(covariance)] += sample.noise
        solved = restricted_likelihood(covariance, sample)
        if solved is None:
            return REFUSED, np.zeros_like(log_amplitude)
        value, slope = solved
        by_amplitude = grams.reshape(len(grams), -1) @ slope.ravel()
        return value + 1e-3 * float(log_amplitude @ log_amplitude), amplitude * by_amplitude + 2e-3 * log_amplitude

    return objective


def fit_isotropic(sample: Sample, coarse: Sample) -> Mixture:
    """Model I with the amplitudes of highest restricted likelihood."""
    kernels = isotropic_kernels(sample.rows.players)
    # From a start at 0 the linear amplitude does not reach its optimum on games that are nearly noiseless.
    start = np.array([8.0 - {1: 0, 3: 4, 5: 6, 7: 8}[k.order] if isinstance(k, Walsh) else 2.0 for k in kernels])
    box = [(-14.0, 14.0)] * len(kernels)
    best = _refined(lambda part: isotropic_objective(part, kernels), sample, coarse, start, box, 20)
    return Mixture(kernels, tuple(np.exp(best).tolist()))


def _likely_logit(players: int) -> float:
    """Where relevances start and are drawn to: about 1.5 players of relevance 1 in all."""
    r = min(0.3, 1.5 / players)
    return float(np.log(r / (1 - r)))


def screened_objective(sample: Sample, kernels: tuple[Kernel, ...]) -> Objective:
    """Penalised likelihood of model II and its gradient, by (logit relevances, log amplitude of A_r, other log amplitudes).

    The penalty on logit relevances is heavy tailed: it lets null players leave, and otherwise draws all to one value.
    The derivative ∂A_r/∂θ_i = r_i/(1+r_i)·(s_i(S)s_i(T)·½(E₊+E₋) - A_r) needs one matrix product for all players.
    """
    meeting = Meeting(sample.rows, sample.rows)
    grams = np.stack([kernel.between(meeting) for kernel in kernels])
    signs, n, prior = sample.rows.signs, sample.rows.players, _likely_logit(sample.rows.players)

    def objective(place: FloatArray) -> tuple[float, FloatArray]:
        logit, amplitude, others = place[:n], np.exp(place[n]), np.exp(place[n + 1 :])
        relevance = 1 / (1 + np.exp(-logit))
        even, odd = even_and_odd(meeting, relevance)
        covariance = np.tensordot(others, grams, axes=1) + amplitude * odd
        covariance[np.diag_indices_from(covariance)] += sample.noise
        solved = restricted_likelihood(covariance, sample)
        if solved is None:
            return REFUSED, np.zeros_like(place)
        value, slope = solved
        by_odd = float(np.vdot(slope, odd))
        agreement = np.einsum("ai,ai->i", signs, (slope * even) @ signs)
        by_logit = amplitude * relevance / (1 + relevance) * (agreement - by_odd)
        by_others = others * (grams.reshape(len(grams), -1) @ slope.ravel())
        penalty, by_penalty = _relevance_penalty(logit, prior)
        gradient = np.concatenate([by_logit + by_penalty, [amplitude * by_odd], by_others])
        return value + penalty, gradient

    return objective


def _relevance_penalty(logit: FloatArray, prior: float) -> tuple[float, FloatArray]:
    """0.4·Σ log(1 + δ_i²/4) + 0.02·(mean - prior)², δ_i = θ_i - mean, and its gradient."""
    mean = logit.mean()
    off = logit - mean
    pull = 0.8 * off / (4 + off**2)
    penalty = 0.4 * np.log1p(off**2 / 4).sum() + 0.02 * (mean - prior) ** 2
    return float(penalty), pull - pull.mean() + 0.04 * (mean - prior) / len(logit)


def fit_screened(sample: Sample, coarse: Sample) -> Mixture:
    """Model II with the relevances and amplitudes of highest penalised likelihood."""
    n = sample.rows.players
    kernels = screened_kernels(n)
    start = np.concatenate([np.full(n, _likely_logit(n)), [5.0], [8.0 if k == Walsh(1) else 2.0 for k in kernels]])
    box = [(-10.0, 3.5)] * n + [(-10.0, 18.0)] + [(-14.0, 14.0)] * len(kernels)
    best = _refined(lambda part: screened_objective(part, kernels), sample, coarse, start, box, 30)
    relevance = 1 / (1 + np.exp(-best[:n]))
    return Mixture((Product(tuple(relevance.tolist())), *kernels), tuple(np.exp(best[n:]).tolist()))


def _refined(
    objective_of: Callable[[Sample], Objective],
    sample: Sample,
    coarse: Sample,
    start: FloatArray,
    box: list[tuple[float, float]],
    steps: int,
) -> FloatArray:
    """Up to `steps` steps on the coarse sample, then a few on the whole one: O(M³) is paid about ten times, not forty."""
    near = _minimised(objective_of(coarse), start, box, steps)
    return near if coarse is sample else _minimised(objective_of(sample), near, box, FINE_STEPS)


def _minimised(objective: Objective, start: FloatArray, box: list[tuple[float, float]], steps: int) -> FloatArray:
    """Few steps of L-BFGS-B: hyper-parameters need few digits, because residuals correct the surrogate."""
    from scipy.optimize import minimize  # a quarter of a second to import, and only needed here

    limits = {"maxiter": steps, "maxfun": steps + 8}
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box, options=limits).x)
