r"""The central path of a max flow: the solver behind `barrier` and `l2`.

Maximise the value of the flow less (q/2) Σ f². With potentials p on the nodes (source 1, sink 0), d = p_head -
p_tail, room s = u - f, and multipliers z of f ≥ 0 and w of f ≤ u, the optimum for the barrier weight μ solves

$$ d + q f = z - w, \qquad f z = \mu, \qquad s w = \mu, \qquad \text{inflow} = \text{outflow}. $$

q = 0 is the log barrier, where the value misses the max flow by at most μ times the number of bounds; q > 0 with μ →
0 is the flow of least squares. Eliminating z, w and f from a Newton step leaves one Laplacian system for p with edge
weights θ = 1/(q + z/f + w/s); see `LayeredLaplacian`. Steps are Mehrotra's predictor and corrector until μ is small
enough, then plain centring. An iteration costs O(L·T³) in BLAS and about fifty passes over the edges, done in pieces
that stay in cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from accredit.core import FloatArray
from accredit.errors import NotConverged
from accredit.flow.layout import Layout, Tile
from accredit.flow.network import LayeredNetwork

# Linear systems with the graph Laplacian of a layered network, solved layer by layer.
#
# Edges join neighbouring layers only, so the Laplacian is block tridiagonal: its diagonal blocks are diagonal, the block
# between layers ℓ+1 and ℓ is -Θ_ℓ. Block Cholesky from the output layer down, with C_ℓC_ℓᵀ = S_ℓ, reads
#
# S_L = diag(D_L),    W_ℓ = C_{ℓ+1}⁻¹ Θ_ℓ,    S_ℓ = diag(D_ℓ) - W_ℓᵀW_ℓ.
#
# C⁻¹ is lower triangular, so W_ℓ keeps the staircase of a causal Θ_ℓ. A factorisation costs 7/3·L·T³ flops, of which a
# causal layer needs half; a solve costs 6·L·T², the memory is 2·L·T² numbers.

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


MAX_ITERATIONS = 200
INSTEAD = "ask for a larger epsilon or, where capacities differ by many powers of ten, use rule='shapley'"
NUMBERS_PER_PIECE = 1 << 14  # numbers handled at once: seven such arrays stay in a 1 MB cache
TO_THE_WALL = 0.995  # share of the longest feasible step that is taken
AIM = 1.5  # power of the share of μ that the predictor leaves: the corrector aims at that much of it
NEAR_MU = 100.0  # times the wanted μ: from here on it is measured how well the point is centred
CENTRING = 3.0  # times the wanted μ: from here on only centring is left, and plain Newton steps do best
NO_DECREASE = 1e-30  # largest relative decrease of a step that shrinks nothing
ROUNDED = 1e-5  # off-centre share that rounding may leave where capacities differ by many powers of ten
CLOSED_ROOM = 1e-30  # room of a dead edge, in units of the largest capacity
ZERO_BALANCE = 1e-11  # node balance that counts as zero, in units of the largest capacity
DUAL_FEASIBLE = 1e-8  # error of d + q·f = z - w that counts as zero, in units of √(flow)


@dataclass(frozen=True, eq=False)
class CentralPoint:
    """A point of the central path: a flow, its potentials, and how well both fit."""

    edges: FloatArray  # (L, T, T)
    supply: FloatArray  # (T,)
    demand: FloatArray  # (T,)
    potentials: FloatArray  # (L+1, T), source 1 and sink 0
    mu: float
    off_centre: float  # largest |f·z/μ - 1| over all bounds
    iterations: int


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a point that is not finite is not feasible, and refused
def central_point(network: LayeredNetwork, *, mu: float, quadratic: float = 0.0, centred: float = 1e-8) -> CentralPoint:
    """Follow the central path of a pruned network with positive max flow down to the barrier weight `mu`.

    `quadratic` is q, and `centred` how near every product f·z must come to μ, as a share of it. Both weights are in
    the units of the network; inside, capacities are divided by the largest.
    """
    scale = float(max(network.capacity.max(), network.supply.max(), network.demand.max()))
    if not mu / scale > 0:
        raise NotConverged(f"the widest edge carries {scale:.3g}, and the barrier's weight is lost below it; scale capacities")
    path = _LayeredPath(network, scale, quadratic * scale)
    for iteration in range(MAX_ITERATIONS + 1):
        before = path.off_centre
        path.measure(mu / scale)
        stalled = before / 2 < path.off_centre <= ROUNDED  # by rounding: no step brings it nearer
        if (path.off_centre <= centred or stalled) and path.feasible():
            return CentralPoint(*path.flow(network, scale), path.potentials(), mu, path.off_centre, iteration)
        path.step(mu / scale)
    raise NotConverged(
        f"the flow did not converge in {MAX_ITERATIONS} iterations: μ is {path.mu * scale:.1e} instead of {mu:.1e}, "
        f"conservation {path.unbalanced * scale:.1e}; {INSTEAD}"
    )


class _LayeredPath:
    """The state of one solve. Edges are one long vector, in the order of the network's layout; so are the live nodes."""

    def __init__(self, network: LayeredNetwork, scale: float, quadratic: float) -> None:
        self.layout, self.q = Layout(network), quadratic
        room = self.layout.pack(network)
        room /= scale
        start = 0.1 * float(room.sum()) / int(np.count_nonzero(room))
        room[room == 0] = CLOSED_ROOM  # dead edges inside a tile are too narrow to matter; `flow` empties them
        room /= 2
        self.f = room
        self.s = self.f.copy()
        self.z = start / self.f
        self.w = self.z.copy()
        self.p = np.repeat(np.arange(1.0, network.layers + 2) / (network.layers + 2), self.layout.counts)
        arrays = (np.empty_like(room) for _ in range(8))
        self.d, self.theta, self.per_f, self.per_s, self.pull, *within_a_step = arrays
        self.move, self.for_z, self.for_w = within_a_step  # df, dz and dw at its end; the methods say what before
        self.pieces = [slice(k, k + NUMBERS_PER_PIECE) for k in range(0, room.size, NUMBERS_PER_PIECE)]
        self.scratch = np.empty(NUMBERS_PER_PIECE)
        self.laplacian = LayeredLaplacian(self.layout)
        self.mu = self.off_centre = self.unbalanced = np.inf
        self._drops(self.p, 1.0, self.d)

    def _of(self, piece: slice, *arrays: FloatArray) -> list[FloatArray]:
        return [x[piece] for x in arrays]

    def _balance(self, x: FloatArray) -> FloatArray:
        """What enters each live node minus what leaves it."""
        layout = self.layout
        net = np.zeros_like(self.p)
        for layer, tiles in enumerate(layout.tiles):
            below, above = net[layout.levels[layer]], net[layout.levels[layer + 1]]
            for tile in tiles:
                block = tile.of(x)
                below[: tile.width] += np.ones(len(block)) @ block
                above[tile.rows] -= block @ np.ones(tile.width)
        net[layout.levels[-1]] += x[layout.supply]
        net[layout.levels[0]] -= x[layout.demand]
        return net

    def _drops(self, p: FloatArray, source: float, out: FloatArray) -> None:
        """p_head - p_tail on every edge."""
        layout = self.layout
        for layer, tiles in enumerate(layout.tiles):
            below, above = p[layout.levels[layer]], p[layout.levels[layer + 1]]
            for tile in tiles:
                np.subtract(below[None, : tile.width], above[tile.rows, None], out=tile.of(out))
        np.subtract(p[layout.levels[-1]], source, out=out[layout.supply])
        np.negative(p[layout.levels[0]], out=out[layout.demand])

    def flow(self, network: LayeredNetwork, scale: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The flow in the units of the network, dead edges empty and capacities kept to the last bit."""
        parts = self.layout.unpack(self.f)
        for part, room in zip(parts, (network.capacity, network.supply, network.demand), strict=True):
            part *= scale
            np.minimum(part, room, out=part)
        return parts

    def potentials(self) -> FloatArray:
        """One per node, (L+1, T)."""
        return self.layout.potentials(self.p)

    def measure(self, mu: float) -> None:
        """Weigh the edges, and see how far this point is from the wanted one."""
        total, low, high = 0.0, 0.0, np.inf
        near = self.mu < NEAR_MU * mu
        if near:
            low, high = np.inf, 0.0
        for piece in self.pieces:
            f, s, z, w, d = self._of(piece, self.f, self.s, self.z, self.w, self.d)
            theta, pull, per_f, per_s = self._of(piece, self.theta, self.pull, self.per_f, self.per_s)
            scratch = self.scratch[: f.size]
            for flow, multiplier in ((f, z), (s, w)):
                product = np.multiply(flow, multiplier, out=scratch)
                total += float(product.sum())
                if near:
                    low, high = min(low, float(product.min())), max(high, float(product.max()))
            np.reciprocal(f, out=per_f)
            np.reciprocal(s, out=per_s)
            stiffness = np.multiply(w, per_s, out=theta)  # 1/θ = q + z/f + w/s
            stiffness += np.multiply(z, per_f, out=scratch)
            if self.q:
                stiffness += self.q
            np.reciprocal(stiffness, out=theta)
            if self.q:  # the pull of a step to μ = 0
                np.multiply(f, -self.q, out=pull)
                pull -= d
            else:
                np.negative(d, out=pull)
            pull *= theta
        self.mu, self.off_centre = total / (2 * self.f.size), max(high / mu - 1, 1 - low / mu)
        self.net = self._balance(self.f)
        self.unbalanced = float(np.abs(self.net).max())

    def feasible(self) -> bool:
        """Whether this is a flow, and its multipliers fit its potentials."""
        return self.unbalanced <= ZERO_BALANCE and self._dual_residual() <= DUAL_FEASIBLE

    def _dual_residual(self) -> float:
        """Largest |d + q·f - z + w|, in the metric √θ of a Newton step: the huge multipliers of narrow edges round coarsely."""
        largest = 0.0
        for piece in self.pieces:
            f, z, w, d, theta = self._of(piece, self.f, self.z, self.w, self.d, self.theta)
            largest = max(largest, float(np.abs((d + self.q * f - z + w) * np.sqrt(theta)).max()))
        return largest

    def step(self, mu: float) -> None:
        """One predictor–corrector step towards the barrier weight `mu`."""
        self.laplacian.factor(self.theta)
        if self.mu < CENTRING * mu:
            self._correct(mu, second_order=False)
        else:
            primal, dual = self._predict()
            self._correct(max(mu, self.mu * ((1 - primal) * (1 - dual)) ** AIM), second_order=True)

    def _towards(self) -> FloatArray:
        """The potential step that the pull θ·g asks for; its drops dd are left in `move`, for `_flow_step`."""
        dp = self.laplacian.solve(self._balance(self.pull) + self.net)
        self._drops(dp, 0.0, self.move)
        return dp

    def _flow_step(self, piece: slice) -> FloatArray:
        """The flow step df = θ·g - θ·dd of one piece, in place of the drops dd in `move`."""
        drops = self.move[piece]
        drops *= self.theta[piece]
        return np.subtract(self.pull[piece], drops, out=drops)

    def _predict(self) -> tuple[float, float]:
        """The step lengths that the Newton direction for μ = 0 allows. Leaves df/f in `for_z` and df/s in `for_w`."""
        self._towards()
        flow = multiplier = NO_DECREASE
        for piece in self.pieces:
            df = self._flow_step(piece)
            by_f = np.multiply(df, self.per_f[piece], out=self.for_z[piece])
            by_s = np.multiply(df, self.per_s[piece], out=self.for_w[piece])
            flow = max(flow, -float(by_f.min()), float(by_s.max()))
            multiplier = max(multiplier, 1 + float(by_f.max()), 1 - float(by_s.min()))
        return min(1.0, 1 / flow), min(1.0, 1 / multiplier)

    def _correct(self, target: float, second_order: bool) -> None:
        """Step to the barrier weight `target`, where asked with Mehrotra's second-order terms from what `_predict` left."""
        for piece in self.pieces:
            z_at_rest = self._at_rest(self.for_z[piece], self.z[piece], self.per_f[piece], 1, target, second_order)
            w_at_rest = self._at_rest(self.for_w[piece], self.w[piece], self.per_s[piece], -1, target, second_order)
            pull = np.subtract(z_at_rest, w_at_rest, out=self.pull[piece])
            pull -= self.d[piece]
            if self.q:
                pull -= np.multiply(self.f[piece], self.q, out=self.scratch[: pull.size])
            pull *= self.theta[piece]
        dp = self._towards()
        flow = multiplier = NO_DECREASE
        for piece in self.pieces:
            z, w, z_at_rest, w_at_rest = self._of(piece, self.z, self.w, self.for_z, self.for_w)
            df, scratch = self._flow_step(piece), self.scratch[: z.size]
            by_f = np.multiply(df, self.per_f[piece], out=scratch)
            flow = max(flow, -float(by_f.min()))
            by_f += 1
            by_f *= z
            dz = np.subtract(z_at_rest, by_f, out=z_at_rest)  # - z·(1 + df/f)
            multiplier = max(multiplier, -float(np.divide(dz, z, out=scratch).min()))
            by_s = np.multiply(df, self.per_s[piece], out=scratch)
            flow = max(flow, float(by_s.max()))
            by_s -= 1
            by_s *= w
            dw = np.add(w_at_rest, by_s, out=w_at_rest)  # + w·(df/s - 1)
            multiplier = max(multiplier, -float(np.divide(dw, w, out=scratch).min()))
        self._move(min(1.0, TO_THE_WALL / flow), min(1.0, TO_THE_WALL / multiplier), dp)

    def _at_rest(
        self, relative: FloatArray, dual: FloatArray, per: FloatArray, sign: int, target: float, second_order: bool
    ) -> FloatArray:
        """The multiplier that a flow standing still would get: `target`/f, and to second order z·(df/f)·(df/f ± 1) more.

        It takes the place of the predicted `relative` step df/f or df/s; `sign` is + for z and - for w.
        """
        if not second_order:
            return np.multiply(per, target, out=relative)
        scratch = self.scratch[: relative.size]
        relative *= np.add(relative, sign, out=scratch)
        relative *= dual
        relative += np.multiply(per, target, out=scratch)
        return relative

    def _move(self, primal: float, dual: float, dp: FloatArray) -> None:
        """Take the steps. With q > 0 unequal lengths leave a dual residual of q·df, which the next step removes."""
        for piece in self.pieces:
            df, dz, dw = self._of(piece, self.move, self.for_z, self.for_w)
            df *= primal
            self.f[piece] += df
            self.s[piece] -= df
            dz *= dual
            self.z[piece] += dz
            dw *= dual
            self.w[piece] += dw
        self.p += dual * dp
        self._drops(self.p, 1.0, self.d)
