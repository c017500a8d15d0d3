"""Linear systems with the graph Laplacian of a layered network, solved layer by layer.

Edges join neighbouring layers only, so the Laplacian is block tridiagonal: its diagonal blocks are diagonal, the block
between layers ℓ+1 and ℓ is -Θ_ℓ. Block Cholesky from the output layer down, with C_ℓC_ℓᵀ = S_ℓ, reads

    S_L = diag(D_L),    W_ℓ = C_{ℓ+1}⁻¹ Θ_ℓ,    S_ℓ = diag(D_ℓ) - W_ℓᵀW_ℓ.

C⁻¹ is lower triangular, so W_ℓ keeps the staircase of a causal Θ_ℓ. A factorisation costs 7/3·L·T³ flops, of which a
causal layer needs half; a solve costs 6·L·T², the memory is 2·L·T² numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.linalg import blas, lapack

from accredit.core import FloatArray
from accredit.errors import NotConverged
from accredit.flow.layout import Layout, Tile

SHIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # of the diagonal, tried in turn when rounding makes a block indefinite
LEAF = 64  # rows solved at once by dtrsm; the rest is matrix products, which are several times faster per flop
STRIPS = 16  # strips in which W'W is formed: half of the last square of each is wasted
COLUMNS_PER_STRIP = 32  # columns of a strip, at least


class LayeredLaplacian:
    """Factors of the Laplacian of edge weights Θ, grounded at source and sink. Buffers are kept between factorisations."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        counts = layout.counts
        self._between = [np.zeros((above, below)) for below, above in itertools.pairwise(counts)]  # W_ℓ
        self._within = [np.zeros((n, n), order="F") for n in counts[:-1]]  # C_0 … C_{L-1}, lower triangles
        self._top = np.empty(counts[-1])  # C_L, a diagonal
        self._scratch = np.empty(max(counts) * max(counts))

    def factor(self, weights: FloatArray) -> None:
        """Factor for the weights of all edges, in the order of the layout."""
        degree = self._degrees(weights)
        for shift in SHIFTS:
            if self._is_factored(weights, degree * (1 + shift)):
                return
        raise NotConverged(
            "the Laplacian of the flow network is singular to working precision; ask for a larger epsilon or use rule='shapley'"
        )

    def _degrees(self, weights: FloatArray) -> FloatArray:
        """The weight of all edges at each live node."""
        layout = self.layout
        degree = np.zeros(layout.levels[-1].stop)
        for layer, tiles in enumerate(layout.tiles):
            below, above = degree[layout.levels[layer]], degree[layout.levels[layer + 1]]
            for tile in tiles:
                block = tile.of(weights)
                below[: tile.width] += np.ones(len(block)) @ block
                above[tile.rows] += block @ np.ones(tile.width)
        degree[layout.levels[-1]] += weights[layout.supply]
        degree[layout.levels[0]] += weights[layout.demand]
        return degree

    def _is_factored(self, weights: FloatArray, degree: FloatArray) -> bool:
        """Whether every block was positive definite."""
        layout, top = self.layout, self.layout.layers - 1
        np.sqrt(degree[layout.levels[-1]], out=self._top)
        for layer in range(top, -1, -1):
            between, within, tiles = self._between[layer], self._within[layer], layout.tiles[layer]
            for tile in tiles:
                between[tile.rows, : tile.width] = tile.of(weights)
            if layer == top:
                between /= self._top[:, None]
            else:
                self._divide(self._within[layer + 1], between, _widths(tiles), 0, len(between))
            self._subtract_square(within, between, tiles)
            within.T.reshape(-1)[:: len(within) + 1] += degree[layout.levels[layer]]
            if lapack.dpotrf(within, lower=1, overwrite_a=1, clean=0)[1] != 0:
                return False
        return True

    def _divide(self, lower: FloatArray, block: FloatArray, widths: Sequence[int], first: int, last: int) -> None:
        """block ← C⁻¹·block in rows `first` … `last`, in place; row r of the block is zero from column `widths[r]` on."""
        if last - first <= LEAF:
            rows = np.ascontiguousarray(block[first:last, : widths[last - 1]])
            blas.dtrsm(1.0, lower[first:last, first:last], rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
            block[first:last, : widths[last - 1]] = rows
            return
        middle = first + max(LEAF, (last - first) // 2 // LEAF * LEAF)
        self._divide(lower, block, widths, first, middle)
        width = widths[middle - 1]
        done = self._scratch[: (last - middle) * width].reshape(last - middle, width)
        np.matmul(lower[middle:last, first:middle], block[first:middle, :width], out=done)
        block[middle:last, :width] -= done
        self._divide(lower, block, widths, middle, last)

    def _subtract_square(self, within: FloatArray, between: FloatArray, tiles: Sequence[Tile]) -> None:
        """The lower triangle of `within` ← -W'W."""
        columns = len(within)
        step = max(COLUMNS_PER_STRIP, -(-columns // STRIPS))
        for a in range(0, columns, step):
            b = min(a + step, columns)
            first = next((tile.rows.start for tile in tiles if tile.width > a), len(between))  # rows above are zero here
            product = self._scratch[: (b - a) * b].reshape(b - a, b)
            np.matmul(between[first:, a:b].T, between[first:, :b], out=product)
            np.negative(product, out=within[a:b, :b])

    def solve(self, right: FloatArray) -> FloatArray:
        """Potentials p with Laplacian·p = right, over the live nodes."""
        levels, within, between = self.layout.levels, self._within, self._between
        x = np.empty_like(right)
        above = np.divide(right[levels[-1]], self._top, out=x[levels[-1]])
        for layer in range(len(within) - 1, -1, -1):
            known = right[levels[layer]] + above @ between[layer]
            above = x[levels[layer]] = blas.dtrsv(within[layer], known, lower=1, overwrite_x=1)
        below = x[levels[0]] = blas.dtrsv(within[0], x[levels[0]], lower=1, trans=1)
        for layer in range(1, len(within)):
            known = x[levels[layer]] + between[layer - 1] @ below
            below = x[levels[layer]] = blas.dtrsv(within[layer], known, lower=1, trans=1, overwrite_x=1)
        x[levels[-1]] += between[-1] @ below
        x[levels[-1]] /= self._top
        return x


def _widths(tiles: Sequence[Tile]) -> list[int]:
    """How many columns each row may fill."""
    return [tile.width for tile in tiles for _ in range(tile.rows.start, tile.rows.stop)]
