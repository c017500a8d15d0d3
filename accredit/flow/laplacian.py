"""Linear systems with the graph Laplacian of a layered network, solved layer by layer.

Edges join neighbouring layers only, so the Laplacian is block tridiagonal: its diagonal blocks are diagonal, the
block between layers ℓ+1 and ℓ is -Θ_ℓ (dense, T × T). Block Cholesky from the output layer down, with C_ℓC_ℓᵀ = S_ℓ,
reads

    S_L = diag(D_L),    V_ℓ = Θ_ℓᵀ C_{ℓ+1}⁻ᵀ,    S_ℓ = diag(D_ℓ) - V_ℓV_ℓᵀ.

A factorisation costs 7/3·L·T³ flops, a solve 6·L·T², the memory is 2·L·T² numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from accredit.core import FloatArray, NotConverged

SHIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # of the diagonal, tried in turn when rounding makes a block indefinite
COLUMNS = 64  # solved at once by dtrsm; the rest is dgemm, which is several times faster per flop


class LayeredLaplacian:
    """Factors of the Laplacian of edge weights Θ, grounded at source and sink. Buffers are kept between factorisations."""

    def __init__(self, layers: int, tokens: int) -> None:
        self._between = np.empty((layers, tokens, tokens))  # V_ℓᵀ in C order, which is V_ℓ to LAPACK
        self._within = [np.empty((tokens, tokens), order="F") for _ in range(layers)]  # C_0 … C_{L-1}, lower triangles
        self._top = np.empty(tokens)  # C_L, a diagonal

    def factor(self, weights: FloatArray, supply: FloatArray, demand: FloatArray) -> None:
        """Factor for edge weights (L, T, T) and super-edge weights (T,), (T,)."""
        ones = np.ones(weights.shape[1])
        degree = np.zeros((len(weights) + 1, weights.shape[1]))
        degree[:-1] += ones @ weights
        degree[1:] += weights @ ones
        degree[-1] += supply
        degree[0] += demand
        for shift in SHIFTS:
            if self._factored(weights, degree * (1 + shift)):
                return
        raise NotConverged(
            "the Laplacian of the flow network is singular to working precision; ask for a larger epsilon"
        )

    def _factored(self, weights: FloatArray, degree: FloatArray) -> bool:
        """Whether every block was positive definite."""
        tokens, top = degree.shape[1], len(weights) - 1
        np.sqrt(degree[-1], out=self._top)
        for layer in range(top, -1, -1):
            between, within = self._between[layer], self._within[layer]
            if layer == top:
                np.divide(weights[layer], self._top[:, None], out=between)
            else:
                np.copyto(between, weights[layer])
                _divide_right(between.T, self._within[layer + 1])
            within.fill(0.0)
            within.T.reshape(-1)[:: tokens + 1] = degree[layer]
            blas.dsyrk(-1.0, between.T, beta=1.0, c=within, lower=1, overwrite_c=1)
            if lapack.dpotrf(within, lower=1, overwrite_a=1, clean=0)[1] != 0:
                return False
        return True

    def solve(self, right: FloatArray) -> FloatArray:
        """Potentials p with Laplacian·p = right; both (L+1, T)."""
        x = np.empty_like(right)
        np.divide(right[-1], self._top, out=x[-1])
        for layer in range(len(self._within) - 1, -1, -1):
            known = right[layer] + x[layer + 1] @ self._between[layer]
            x[layer] = blas.dtrsv(self._within[layer], known, lower=1, overwrite_x=1)
        x[0] = blas.dtrsv(self._within[0], x[0], lower=1, trans=1)
        for layer in range(1, len(self._within)):
            known = x[layer] + self._between[layer - 1] @ x[layer - 1]
            x[layer] = blas.dtrsv(self._within[layer], known, lower=1, trans=1, overwrite_x=1)
        x[-1] += self._between[-1] @ x[-2]
        x[-1] /= self._top
        return x


def _divide_right(block: FloatArray, lower: FloatArray) -> None:
    """block ← block·C⁻ᵀ in place, for a Fortran-ordered block and a lower triangle C."""
    for k in range(0, len(lower), COLUMNS):
        here, columns = slice(k, k + COLUMNS), block[:, k : k + COLUMNS]
        if k:
            blas.dgemm(-1.0, block[:, :k], lower[here, :k], beta=1.0, c=columns, trans_b=1, overwrite_c=1)
        blas.dtrsm(1.0, lower[here, here], columns, side=1, lower=1, trans_a=1, overwrite_b=1)
