r"""How plausible a covariance makes the payoffs: the restricted likelihood, and how it changes with the covariance.

The odd part, centred and scaled, is modelled as ỹ = b·s̄ + f + ε: an unpenalised slope in size (s̄ = the mean sign),
a Gaussian process f ~ GP(0, K), and noise of variance ν_T = 1/w_T, the inverse regression weight. The noise has a
fixed level; amplitudes are relative to it. As K → 0 beyond its linear term the fit becomes ridge KernelSHAP.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import dsymm, dsyr, dtrmm, dtrmv
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.rows import CoalitionRows, Kernel, Meeting
from accredit.values.surrogate.size_local import SizeLocal
from accredit.values.surrogate.walsh import Walsh

SMALL_TRIANGLE_ROWS = 64  # rows of a triangle that is inverted as it is


@dataclass(frozen=True)
class Mixture:
    """A sum of kernels, each with its amplitude: itself a kernel."""

    kernels: tuple[Kernel, ...]
    amplitudes: tuple[float, ...]

    def between(self, meeting: Meeting) -> FloatArray:
        """Σ_j a_j K_j(S, T): (M, M')."""
        parts = list(zip(self.kernels, self.amplitudes, strict=True))
        alike = [(kernel.law, amplitude) for kernel, amplitude in parts if isinstance(kernel, Walsh | SizeLocal)]
        whole = meeting.spread(lambda *sizes: np.asarray(sum(amplitude * law(*sizes) for law, amplitude in alike)))
        for kernel, amplitude in parts:
            if not isinstance(kernel, Walsh | SizeLocal):
                whole += amplitude * kernel.between(meeting)
        return whole

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        """Shapley values of the game Σ_T load_T K(·, T): (n,)."""
        parts = [a * kernel.credit(rows, load) for kernel, a in zip(self.kernels, self.amplitudes, strict=True)]
        return np.asarray(np.sum(parts, axis=0))


@dataclass(frozen=True)
class Observations:
    """What a model is fitted to. The last row is the end pair (S = N)."""

    rows: CoalitionRows  # M coalitions
    target: FloatArray  # (M,): ỹ
    noise: FloatArray  # (M,): ν

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def meeting(self) -> Meeting:
        """The rows among themselves."""
        return Meeting(self.rows, self.rows)

    @cached_property
    def trend(self) -> FloatArray:
        """s̄(S) = 1 - 2|S|/n: (M,)."""
        return 1 - 2 * self.rows.sizes / self.rows.players

    def thin(self, most: int, rng: np.random.Generator) -> Observations:
        """At most `most` rows, drawn uniformly; the end pair stays."""
        if len(self) <= most:
            return self
        kept = np.append(np.sort(rng.choice(len(self) - 1, most - 1, replace=False)), len(self) - 1)
        return Observations(self.rows.at(kept), self.target[kept], self.noise[kept])


@dataclass(frozen=True)
class Solved:
    """A covariance C = LLᵀ, solved for a sample.

    P = C⁻¹ - C⁻¹F(FᵀC⁻¹F)⁻¹FᵀC⁻¹ is the precision left after the slope is fitted, and α = Pỹ. What takes the inverse of C,
    two thirds of the O(M³), is computed when it is first asked for.
    """

    factor: FloatArray  # (M, M): L
    bent: FloatArray  # (M,): C⁻¹F
    information: float  # FᵀC⁻¹F
    load: FloatArray  # (M,): α
    misfit: float  # ỹᵀPỹ

    @property
    def unlikelihood(self) -> float:
        """Negative log restricted likelihood, its scale profiled out: ½[(M-1)·log ỹᵀPỹ + log|C| + log FᵀC⁻¹F]."""
        logdet = 2 * float(np.log(np.diagonal(self.factor)).sum())
        return 0.5 * float((len(self.load) - 1) * np.log(self.misfit) + logdet + np.log(self.information))

    @property
    def rate(self) -> float:
        """(M-1)/ỹᵀPỹ, one over the profiled scale."""
        return (len(self.load) - 1) / self.misfit

    @cached_property
    def half(self) -> FloatArray:
        """P, as its lower triangle over zeros: (M, M)."""
        inverse, _ = dlauum(inverse_of_lower(self.factor), lower=1, overwrite_c=1)  # C⁻¹ = L⁻ᵀL⁻¹
        return np.asarray(dsyr(-1 / self.information, self.bent, a=inverse, lower=1, overwrite_a=1))

    @property
    def diagonal(self) -> FloatArray:
        """P_TT: (M,). Half the cost of `half`."""
        root = inverse_of_lower(self.factor)
        return np.asarray(np.einsum("at,at->t", root, root) - self.bent**2 / self.information)

    def times(self, load: FloatArray) -> FloatArray:
        """C·load, from its factor: (M,)."""
        return np.asarray(dtrmv(self.factor, dtrmv(self.factor, load, lower=1, trans=1), lower=1))

    def trace(self, grams: FloatArray) -> FloatArray:
        """⟨P, K_j⟩ for symmetric K_j: (J, M, M) -> (J,)."""
        diagonals = np.diagonal(grams, axis1=1, axis2=2)
        inner = grams.reshape(len(grams), -1) @ self.half.T.ravel()
        return np.asarray(2 * inner - diagonals @ np.diagonal(self.half))

    def slope(self, traces: FloatArray, moved: FloatArray) -> FloatArray:
        """Derivatives ½(⟨P, C_j⟩ - rate·αᵀC_jα), given ⟨P, C_j⟩ and the rows C_jα: (J,), (J, M) -> (J,)."""
        return np.asarray(0.5 * (traces - self.rate * (moved @ self.load)))

    def curvature(self, moved: FloatArray) -> FloatArray:
        r"""The average of observed and expected second derivatives: (J, M) -> (J, J), positive semidefinite.

        $\tfrac12\,\text{rate}\,[\alpha^\top C_i P C_j \alpha - (\alpha^\top C_i \alpha)(\alpha^\top C_j \alpha)/\tilde y^\top P
        \tilde y]$: in the mean of the two the traces of four matrices cancel (Gilmour, Thompson & Cullis, 1995).
        """
        along = moved @ self.load
        bent = dsymm(1.0, self.half, moved.T, lower=1)  # (M, J)
        return np.asarray(0.5 * self.rate * (moved @ bent - np.outer(along, along / self.misfit)))


def solve(covariance: FloatArray, sample: Observations) -> Solved | None:
    """A sample's covariance, solved in its place; None when it is not positive definite. Cost M³/3."""
    factor, info = dpotrf(covariance.T, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        return None
    bent, load = dpotrs(factor, np.stack([sample.trend, sample.target], axis=1), lower=1)[0].T
    information = float(sample.trend @ bent)
    if not information > 0:
        return None
    load = load - bent * (float(sample.trend @ load) / information)
    misfit = float(sample.target @ load)
    return Solved(factor, bent, information, load, misfit) if 0 < misfit < np.inf else None


def inverse_of_lower(factor: FloatArray) -> FloatArray:
    """L⁻¹ of a lower triangular matrix by halves: (M, M). Twice as fast as LAPACK's routine at hundreds of rows."""
    rows = len(factor)
    if rows <= SMALL_TRIANGLE_ROWS:
        return np.asarray(dtrtri(factor, lower=1)[0])
    half = rows // 2
    inverse = np.zeros((rows, rows), order="F")
    upper = inverse[:half, :half] = inverse_of_lower(factor[:half, :half])
    lower = inverse[half:, half:] = inverse_of_lower(factor[half:, half:])
    inverse[half:, :half] = dtrmm(-1.0, lower, dtrmm(1.0, upper, factor[half:, :half], side=1, lower=1), lower=1)
    return inverse
