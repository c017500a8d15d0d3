r"""How far the estimate may be off, from the same payoffs: a regression of left-out residuals on membership.

The error of a surrogate's Shapley values is the Shapley value of its residual game. That value is estimated from the
sampled pairs by a linear operator G (regression with KernelSHAP weights, or the all-pairs identity when pairs are
few), so

* the correction c = G·(honest residual) removes the surrogate's bias: all of it in the *debiased* estimate, and otherwise as
  far as it stands out of its noise;
* $SE_i^2 = \sum_T G_{iT}^2 (1-\pi_T) e_T^2$ is its sampling variance, e_T the left-out residual.

It stands for the error of the estimate without the correction as well, which is smaller as a rule. Left-out residuals share
hyper-parameters with the fit, so the interval is asymptotic, not a certificate.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import stdtrit

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.design import Design
from accredit.values.surrogate.stack import centred_sum, spread_of_pair

UNSEEN = 3.0  # what none of m pairs has shown may still be found in about 3 of m
FLOOR = 5e-7  # of the largest credit: no standard error is smaller, because nothing was verified below this


class Operator(Protocol):
    """A linear map from one number per pair to one per player, rows summing to zero over players."""

    def apply(self, load: FloatArray) -> FloatArray:
        """Σ_T G_iT load_T: (m,) -> (n,)."""
        ...

    def apply_squared(self, load: FloatArray) -> FloatArray:
        """Σ_T G_iT² load_T: (m,) -> (n,)."""
        ...

    @property
    def reach(self) -> FloatArray:
        """Σ_i G_iT², how far a pair moves all credits together: (m,)."""
        ...


class AllPairs:
    """H_iT = 2 h_T z_i(T): the all-pairs identity with Horvitz–Thompson weights. Unbiased, needs no inverse."""

    def __init__(self, design: Design) -> None:
        self._design, self._weight = design, 2 * design.mass

    def apply(self, load: FloatArray) -> FloatArray:
        return centred_sum(self._design, self._weight * load)

    def apply_squared(self, load: FloatArray) -> FloatArray:
        share = self._design.sizes / self._design.players  # z² = 1[i ∈ T](1 - 2k/n) + (k/n)²
        load = self._weight**2 * load
        return self._design.pairs.T @ (load * (1 - 2 * share)) + float(load @ share**2)

    @property
    def reach(self) -> FloatArray:
        return self._weight**2 * spread_of_pair(self._design)


class Regression:
    """G = (ZᵀWZ)⁺ZᵀW: weighted least squares on z(T), the solution of KernelSHAP under efficiency. Cost O(mn²)."""

    def __init__(self, design: Design) -> None:
        weighted = design.centred.T * design.weights  # (n, m)
        normal = weighted @ design.centred
        # z sums to zero over the players, so adding 11ᵀ makes the matrix invertible and changes no solution.
        lifted = normal + np.trace(normal) / design.players**2
        try:
            self._matrix: FloatArray = cho_solve(cho_factor(lifted, lower=True), weighted)
        except LinAlgError:
            self._matrix = np.linalg.pinv(normal, rcond=1e-12, hermitian=True) @ weighted
        self._matrix -= self._matrix.mean(axis=0)
        self._centred = design.centred

    def left_out(self, residual: FloatArray) -> FloatArray:
        """What each pair departs from the fit to the others, from what it departs from the fit to all: (m,) -> (m,)."""
        hat = np.einsum("it,ti->t", self._matrix, self._centred)
        return np.asarray(residual / np.maximum(1 - hat, 1e-9))

    def apply(self, load: FloatArray) -> FloatArray:
        return self._matrix @ load

    def apply_squared(self, load: FloatArray) -> FloatArray:
        return self._matrix**2 @ load

    @property
    def reach(self) -> FloatArray:
        return np.asarray(np.einsum("it,it->t", self._matrix, self._matrix))


def trust(operator: Operator, design: Design, correction: FloatArray, left_out: FloatArray) -> float:
    """The share of a correction that its size bears out: what its square exceeds its variance by (James & Stein, 1961).

    Surrogates are biased where few pairs show what they model, as in products that grow with every player. There the
    correction stands far out of its noise; elsewhere it is mostly noise, and left out.
    """
    variance = operator.reach @ ((1 - design.inclusion) * left_out**2)
    square = correction @ correction
    return float(1 - variance / square) if square > variance else 0.0


def standard_error(
    operator: Operator, design: Design, left_out: FloatArray, event: float = 0.0, corrected: float = 0.0
) -> FloatArray:
    """SE_i: (n,). Where the estimate is `corrected`, n coefficients share the pairs: up to 4 times the variance allows for it,
    and for as large a share of it as there is of the correction.

    Residuals as large as the largest, or as an `event` that the payoffs are known to be capable of, may sit in pairs that were
    not asked: about 3 in m of them, by the rule of three. Without that share, kinks and thresholds were covered 79 to 92 % of
    the time, because the few pairs that show them carry all of the error.
    """
    m, n = len(design), design.players
    missed = UNSEEN * max(float(np.max(left_out**2)), event**2) / m
    variance = operator.apply_squared((1 - design.inclusion) * (left_out**2 + missed))
    inflation = 1 + corrected * (min(4.0, (m + n) / max(m - n, 1)) - 1)
    return np.sqrt(inflation * np.maximum(variance, 0.0))


def t_multiple(operator: Operator, design: Design, left_out: FloatArray, error: float) -> float:
    r"""Student t quantile for a two-sided interval that may miss with chance `error`.

    Degrees of freedom are $3 (\sum_T a_T)^2 / \sum_T a_T^2$ over the terms $a_T = \sum_i G_{iT}^2 (1-\pi_T) e_T^2$ of the
    variance: m for normal residuals of equal reach, fewer where a few pairs carry the error; at most m - n, at least 5.
    """
    terms = operator.reach * (1 - design.inclusion) * left_out**2
    largest = float(terms.max())
    terms = terms / largest if largest > 0 else np.ones(len(terms))
    freedom = min(3 * float(terms.sum() ** 2 / (terms @ terms)), len(design) - design.players)
    return float(stdtrit(max(freedom, 5.0), 1 - error / 2))
