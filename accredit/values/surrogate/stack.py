r"""Two surrogates, one estimate: weights chosen by the estimated squared error of the Shapley values, not of the payoffs.

Plain prediction error prefers the screened model on voting games where its Shapley values are four times worse.
"""

from __future__ import annotations

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.design import Design


def centred_sum(design: Design, load: FloatArray) -> FloatArray:
    """Σ_T load_T z_i(T), z_i(T) = 1[i ∈ T] - |T|/n: (n,)."""
    return design.centred.T @ load


def spread_of_pair(design: Design) -> FloatArray:
    """Σ_i z_i(T)² = k(n-k)/n: (m,)."""
    k = design.sizes
    return k * (design.players - k) / design.players


def honest_residual(inclusion: FloatArray, residual: FloatArray, left_out: FloatArray) -> FloatArray:
    """π·r + (1-π)·e: the known residual for the share of pairs that was asked, the left-out one for the rest."""
    return inclusion * residual + (1 - inclusion) * left_out


def optimism(rows: int, players: int) -> float:
    """q = ((M+n)/(M-n))^1.5: how much n fitted relevances flatter the left-out residuals."""
    return float(((rows + players) / (rows - players)) ** 1.5)


def error_vector(design: Design, residual: FloatArray, left_out: FloatArray) -> FloatArray:
    """A vector whose inner products estimate error covariances of two surrogates' Shapley values: (m + n,).

    Its first part is sampling error, u_T = e_T √((1-π_T) Σ_i H_iT²); the second the bias β = H·(honest residual); H =
    2 h_T z_i(T).
    """
    weight, inclusion = 2 * design.mass, design.inclusion
    noise = left_out * weight * np.sqrt((1 - inclusion) * spread_of_pair(design))
    bias = centred_sum(design, weight * honest_residual(inclusion, residual, left_out))
    return np.concatenate([noise, bias])


def weight_of_second(first: FloatArray, second: FloatArray) -> float:
    """λ in [0, 1] that makes ‖(1-λ)·first + λ·second‖ least.

    >>> weight_of_second(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    0.5
    """
    gap = first - second
    norm = float(gap @ gap)
    return float(np.clip(gap @ first / norm, 0.0, 1.0)) if norm > 0 else 0.0
