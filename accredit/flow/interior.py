r"""The central path of a flow on any graph: the solver behind `barrier` and `l2` where nothing is layered.

For edges with room r = u − l above their lower bounds, x = f − l, and node prices y, the point of the barrier weight μ solves

$$ c + q f - B y = z - w, \qquad x z = \mu, \qquad (r - x) w = \mu, \qquad B^\top f = d; $$

an edge without an upper bound has no w. q = 0 is the log barrier, whose cost is at most μ times the number of bounds above the
least; q > 0 with μ → 0 is the flow of least squares. Eliminating z, w and x from a Newton step leaves one Laplacian system for
y with edge weights θ = 1/(q + z/x + w/(r − x)). Steps are Mehrotra's predictor and corrector until μ is small enough, then
plain centring, as in `central_path`, which does the same for layers.

Least squares are not only approached. Their flow is clip(B·y, l, u) for the right prices, and once μ is small Newton's method
on Bᵀ clip(B·y, l, u) = d, which is piecewise linear, ends there: the flow then fits its prices to the last digit, also where
a bound holds without force, which a central path comes no nearer than √μ.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import NotConverged

MAX_ITERATIONS = 200
DIRECT_FLOPS = 5e7  # of a factorisation: beyond this, conjugate gradients cost less
TRIED_FLOPS = (1e7, 2e9)  # by the profile alone: between these, one factorisation is made to count its entries
CROWDED = 8.0  # neighbours of a node from which a wide profile fills for certain
DENSE_NODES = 3000  # nodes up to which a factorisation is afforded where conjugate gradients fail
SHIFTS = (0.0, 1e-14, 1e-12, 1e-10)  # of the diagonal, tried in turn where rounding makes a factorisation indefinite
GRADIENT_STEPS = 1500  # of conjugate gradients
SOLVED = 1e-12  # residual of a Laplacian system that is aimed at, relative
HEAVY = (1e6, 1.0, 1e-6)  # weights θ of edges that hold clusters together, in units of the widest edge over the largest price
NEARLY_SOLVED = 1e-7  # and one that is good enough not to look for another way
USABLE = 1e-3  # and one that still makes a Newton step: the next one mends the rest
TO_THE_WALL = 0.995  # share of the longest feasible step that is taken
AIM = 1.5  # power of the share of μ that the predictor leaves
SETTLES = (1e-7, 1e-2)  # μ from which on least squares are tried by Newton's method, over q·width²; and over that, the next
NEWTON_STEPS = 7
HELD = 1e-6  # weight of an edge that a bound holds, beside that of an edge inside: no node is left without any
CENTRING = 3.0  # times the wanted μ: from here on plain Newton steps do best
ROUNDED = 1e-4  # off-centre share that rounding may leave
BALANCED = (
    1e-11  # imbalance of a node that counts as none, in units of the widest edge; the grounded node collects that of others
)
BALANCED_PER_NODE = 1e-14
DUAL_FEASIBLE = 1e-8  # error of c + q·f − B·y = z − w that counts as none, in the metric √θ
TOO_FAR_APART = "capacities or costs are too far apart; rescale them, or ask for a larger epsilon"


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """A point of the central path."""

    edges: FloatArray  # (m,): x + l
    prices: FloatArray  # (n,)
    off_centre: float  # largest |x·z/μ − 1|
    iterations: int


class Laplacian:
    """B'ΘB of a graph, for any weights Θ of its edges.

    Where a profile promises little fill it is factored; otherwise conjugate gradients, which need few steps on just those
    graphs that fill. Near an optimum the weights differ by twenty powers of ten: heavy edges hold clusters of nodes together,
    and what moves a cluster as a whole is lost in rounding. So prices are then written as one number for each cluster and
    differences inside, in which heavy edges cancel before they are rounded.

    >>> path = Laplacian(3, np.array([0, 1]), np.array([1, 2]))
    >>> path.weigh(np.array([1.0, 2.0]))
    >>> path.solve(np.array([-1.0, 0.0, 1.0]), np.zeros(2), np.zeros(2)).round(9).tolist()
    [0.0, 1.0, 1.5]
    """

    def __init__(self, nodes: int, tail: IntArray, head: IntArray, unit: float = 1.0) -> None:
        self.nodes, self.tail, self.head, self.unit = nodes, tail, head, unit
        self._whole = self._clusters(np.ones(len(tail), dtype=bool))
        self._plain = self._basis([])
        self._gram = _Gram(self._plain[1])
        ways: tuple[str | float, ...] = SHIFTS
        place = self._order()
        if place is None:
            ways = ("diagonal", "tree", *(SHIFTS if nodes <= DENSE_NODES else ()))
        else:
            prices, drops = self._plain
            self._plain = _renumber(prices, place), _renumber(drops, place)
            self._gram = _Gram(self._plain[1])
        self._ways = [("plain", ways[0]), *(("clusters", way) for way in ways if way != "diagonal")]
        self._way = 0

    def _clusters(self, heavy: BoolArray) -> IntArray:
        """The cluster of each node, if some edges hold nodes together."""
        joined = sparse.coo_array((np.ones(int(heavy.sum())), (self.tail[heavy], self.head[heavy])), shape=(self.nodes,) * 2)
        return np.asarray(csgraph.connected_components(joined.tocsr(), directed=False)[1])

    def _basis(self, clusters: list[IntArray]) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Prices and their drops along edges by numbers for nodes and for ever wider clusters: (n, k) and (m, k)."""
        levels = [np.arange(self.nodes), *clusters, self._whole]
        edges = np.arange(len(self.tail))
        prices, drops, width = [], [], 0
        for fine, coarse in itertools.pairwise(levels):
            one = np.unique(fine, return_index=True)[1]  # a node of each fine cluster
            counts = np.ones(len(one), dtype=bool)
            counts[np.unique(coarse[one], return_index=True)[1]] = False  # one fine cluster of each coarse one stays at 0
            column = np.where(counts, np.cumsum(counts) - 1, -1)[fine]
            at = np.flatnonzero(column >= 0)
            size = int(counts.sum())
            prices.append(sparse.csr_array((np.ones(len(at)), (at, column[at])), shape=(self.nodes, size)))
            apart = fine[self.tail] != fine[self.head]
            rows, columns, signs = [], [], []
            for end, sign in ((self.tail, -1.0), (self.head, 1.0)):
                there = apart & (column[end] >= 0)
                rows.append(edges[there])
                columns.append(column[end[there]])
                signs.append(np.full(int(there.sum()), sign))
            entries = np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))
            drops.append(sparse.csr_array(entries, shape=(len(edges), size)))
            width += size
        return sparse.hstack(prices, format="csr"), sparse.hstack(drops, format="csr")

    def _order(self) -> IntArray | None:
        """Where each unknown comes in an order that leaves a factorisation few entries; None if conjugate gradients cost less
        than any factorisation: by its profile or, if that may mislead, by a trial."""
        pattern = self._gram.weigh(np.ones(len(self.tail)))
        size = pattern.shape[0]
        profile, crowded = _profile(pattern.tocsr()), pattern.nnz > (1 + CROWDED) * size
        if profile > TRIED_FLOPS[crowded]:
            return None
        trial = _factor((pattern + sparse.eye_array(size)).tocsc(), 0.0) if size else None
        if trial is None or (profile > TRIED_FLOPS[0] and trial.nnz**2 / (4 * size) > DIRECT_FLOPS):
            return None
        return np.asarray(trial.perm_c)

    def weigh(self, theta: FloatArray) -> None:
        """Take the weights of the edges, and prepare to solve with them."""
        self._theta = theta
        if self._plain[1].shape[1]:
            self._prepare()

    def _prepare(self) -> None:
        """The matrix, its diagonal scaled to 1, and what the present way of solving needs of it."""
        basis, way = self._ways[self._way]
        if basis == "plain":
            (self._prices, self._drops), matrix = self._plain, self._gram.weigh(self._theta)
        else:
            self._prices, self._drops = self._basis([self._clusters(self._theta >= least * self.unit) for least in HEAVY])
            matrix = (self._drops.T @ (self._drops * self._theta[:, None])).tocsc()
        self._scale = 1 / np.sqrt(matrix.diagonal())
        matrix.data *= self._scale[matrix.indices] * np.repeat(self._scale, np.diff(matrix.indptr))
        self._matrix = matrix
        if way in ("diagonal", "tree"):
            self._near = self._tree() if way == "tree" else None
        else:
            self._near = _factor(matrix, float(way), ordered=basis == "plain")

    def _tree(self) -> sparse.linalg.SuperLU | None:
        """Factors of the matrix in which only the heaviest spanning tree is left, with the diagonal of all edges."""
        order = np.argsort(-self._theta, kind="stable")
        rank = np.empty(len(order))
        rank[order] = np.arange(1.0, len(order) + 1)
        low, high = np.minimum(self.tail, self.head), np.maximum(self.tail, self.head)
        first = np.unique((low * self.nodes + high)[order], return_index=True)[1]  # the heaviest of parallel edges
        kept = order[first]
        graph = sparse.csr_array((rank[kept], (low[kept], high[kept])), shape=(self.nodes,) * 2)
        tree = order[csgraph.minimum_spanning_tree(graph).data.astype(np.int64) - 1]
        drops = self._drops[tree]
        near = (drops.T @ (drops * self._theta[tree, None])).tocsc()
        near.data *= self._scale[near.indices] * np.repeat(self._scale, np.diff(near.indptr))
        near.setdiag(1.0)
        return _factor(near.tocsc(), 0.0)

    def solve(self, demand: FloatArray, flow: FloatArray, pull: FloatArray) -> FloatArray:
        """Prices y with B'ΘB·y = demand − B'·flow − B'·pull, (n,)."""
        if not self._plain[1].shape[1]:  # every edge is a loop
            return np.zeros(self.nodes)
        y, off = self._solve(demand, flow, pull)
        while off > NEARLY_SOLVED and self._way + 1 < len(self._ways):
            self._way += 1
            self._prepare()
            another, further = self._solve(demand, flow, pull)
            y, off = (another, further) if further < off else (y, off)
        if not off <= USABLE:
            raise NotConverged(f"the graph's Laplacian is singular to working precision: {TOO_FAR_APART}")
        return y

    def _solve(self, demand: FloatArray, flow: FloatArray, pull: FloatArray) -> tuple[FloatArray, float]:
        right = self._prices.T @ demand - self._drops.T @ flow - self._drops.T @ pull
        x, off = _conjugate_gradients(self._matrix, self._scale * right, self._near)
        return self._prices @ (self._scale * x), off


def _profile(pattern: sparse.csr_array) -> float:
    """Multiplications that a factorisation needs at most, in the order of Cuthill and McKee."""
    size = pattern.shape[0]
    if not size:
        return 0.0
    at = np.empty(size, dtype=np.int64)
    at[csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True)] = np.arange(size)
    first, entries = np.arange(size), pattern.tocoo()
    np.minimum.at(first, at[entries.row], at[entries.col])
    return float(((np.arange(size) - first).astype(float) ** 2).sum())


class _Gram:
    """BᵀΘB for weights Θ that change and a B that does not, with one or two entries of 1 or −1 in a row: where in the product
    each weight counts is found once."""

    def __init__(self, drops: sparse.csr_array) -> None:
        many, size = np.diff(drops.indptr), drops.shape[1]
        two = np.flatnonzero(many == 2)
        first = drops.indptr[two]
        one, other = drops.indices[first].astype(np.int64), drops.indices[first + 1].astype(np.int64)
        self._edges = np.concatenate([np.repeat(np.arange(len(many)), many), two, two])
        self._signs = np.concatenate([np.ones(len(drops.indices)), np.tile(drops.data[first] * drops.data[first + 1], 2)])
        columns, rows = np.concatenate([drops.indices, one, other]), np.concatenate([drops.indices, other, one])
        at, self._place = np.unique(columns * np.int64(size) + rows, return_inverse=True)
        self._indices = at % max(size, 1)
        self._indptr = np.concatenate([[0], np.cumsum(np.bincount(at // max(size, 1), minlength=size))])
        self._shape = (size, size)

    def weigh(self, theta: FloatArray) -> sparse.csc_array:
        """The product for these weights of the rows."""
        data = np.bincount(self._place, weights=self._signs * theta[self._edges], minlength=len(self._indices))
        return sparse.csc_array((data, self._indices, self._indptr), shape=self._shape)


def _renumber(matrix: sparse.csr_array, place: IntArray) -> sparse.csr_array:
    """The matrix with each column at its place."""
    return sparse.csr_array((matrix.data, place[matrix.indices], matrix.indptr), shape=matrix.shape)


def _factor(matrix: sparse.csc_array, shift: float, ordered: bool = False) -> sparse.linalg.SuperLU | None:
    """Factors of a matrix whose diagonal is 1, with a little more on it; None where it is singular nevertheless. An order of
    its unknowns is looked for unless they are `ordered`."""
    from scipy.sparse.linalg import splu

    if shift:
        matrix = (matrix + shift * sparse.eye_array(matrix.shape[0])).tocsc()
    try:
        return splu(
            matrix,
            permc_spec="NATURAL" if ordered else "MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            relax=10,
            panel_size=1,
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return None


def _conjugate_gradients(
    matrix: sparse.csc_array, right: FloatArray, factor: sparse.linalg.SuperLU | None
) -> tuple[FloatArray, float]:
    """The best x found with matrix·x = right, and how far it is off, relative."""
    size = float(np.linalg.norm(right))
    best, x, residual = np.zeros_like(right), np.zeros_like(right), right.copy()
    least = norm = size
    direction, before = np.zeros_like(right), 1.0
    since = 0
    for _ in range(GRADIENT_STEPS):
        if norm <= SOLVED * size or since > GRADIENT_STEPS // 4:
            break
        near = residual if factor is None else factor.solve(residual)
        now = float(residual @ near)
        if not now > 0:
            break
        direction = near + (now / before) * direction if before != 1.0 or direction.any() else near
        image = matrix @ direction
        stiffness = float(direction @ image)
        if not stiffness > 0:  # the matrix is singular along it, to working precision
            break
        length = now / stiffness
        x = x + length * direction
        residual = residual - length * image
        before, norm = now, float(np.linalg.norm(residual))
        since += 1
        if norm < least:
            best, least, since = x, norm, 0
    return best, least / size if size else 0.0


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a point that is not finite is not feasible, and refused
def interior_point(
    ends: tuple[IntArray, IntArray],
    bounds: tuple[FloatArray, FloatArray],
    cost: FloatArray,
    demand: FloatArray,
    *,
    mu: float,
    quadratic: float = 0.0,
    centred: float = 1e-8,
) -> InteriorPoint:
    """Follow the central path down to the barrier weight `mu`. There must be a flow strictly between the bounds.

    >>> two_ways = (np.array([0, 0, 1]), np.array([1, 1, 0]))  # twice there, once back
    >>> bounds = np.zeros(3), np.array([1.0, 1.0, 1.0])
    >>> interior_point(two_ways, bounds, np.array([0.0, 0.0, -1.0]), np.zeros(2), mu=1e-7).edges.round(4).tolist()
    [0.5, 0.5, 1.0]
    """
    path = _Path(ends, bounds, cost, demand, quadratic)
    settles = SETTLES[0] * quadratic * path.widest**2
    for iteration in range(MAX_ITERATIONS + 1):
        before = path.off_centre
        path.measure(mu)
        stalled = before / 2 < path.off_centre <= ROUNDED  # by rounding: no step brings it nearer
        if (path.off_centre <= centred or stalled) and path.is_feasible():
            return InteriorPoint(path.x + path.low, path.y, path.off_centre, iteration)
        if not np.isfinite(path.mu):
            break
        if path.mu <= settles:
            settled = path.settle()
            if settled is not None:
                return InteriorPoint(*settled, 0.0, iteration)
            settles = SETTLES[1] * path.mu
        path.step(mu)
    raise NotConverged(
        f"the flow did not converge in {iteration} iterations: μ is {path.mu:.1e} instead of {mu:.1e}, "
        f"conservation {path.unbalanced:.1e}; {TOO_FAR_APART}"
    )


class _Path:
    """The state of one solve."""

    def __init__(
        self,
        ends: tuple[IntArray, IntArray],
        bounds: tuple[FloatArray, FloatArray],
        cost: FloatArray,
        demand: FloatArray,
        quadratic: float,
    ) -> None:
        self.tail, self.head = ends
        self.low, self.high = bounds
        self.cost, self.demand, self.q = cost, demand, quadratic
        room = self.high - self.low
        self.closed: BoolArray = np.isfinite(room)  # edges with an upper bound
        widest = float(room[self.closed].max(initial=0.0)) or 1.0
        self.x = np.where(self.closed, room / 2, widest)
        self.s = np.where(self.closed, room / 2, np.inf)
        price = float(np.abs(cost).max(initial=0.0)) + quadratic * widest or 1.0
        start = 0.1 * float(self.x.mean()) * price
        self.z = start / self.x
        self.w = start / self.s
        self.y = np.zeros(len(demand))
        self.bounds = len(room) + int(self.closed.sum())
        self.widest, self.price = widest, price
        self.laplacian = Laplacian(len(demand), *ends, self.widest / price)
        self.mu = self.off_centre = self.unbalanced = np.inf

    def balance(self, x: FloatArray) -> FloatArray:
        """What enters each node minus what leaves it."""
        n = len(self.demand)
        return np.asarray(
            np.bincount(self.head, weights=x, minlength=n) - np.bincount(self.tail, weights=x, minlength=n), dtype=np.float64
        )

    def drops(self, y: FloatArray) -> FloatArray:
        """B·y."""
        return np.asarray(y[self.head] - y[self.tail])

    def measure(self, mu: float) -> None:
        """Weigh the edges, and see how far this point is from the wanted one."""
        products = np.concatenate([self.x * self.z, (self.s * self.w)[self.closed]])
        self.mu = float(products.mean())
        self.off_centre = float(np.abs(products / mu - 1).max())
        self.theta = 1 / (self.q + self.z / self.x + self.w / self.s)
        self.slope = self.drops(self.y) - self.cost - self.q * (self.x + self.low)  # −(c + q·f − B·y)
        self.lacking = self.demand - self.balance(self.x + self.low)
        self.unbalanced = float(np.abs(self.lacking).max())

    def is_feasible(self) -> bool:
        """Whether this is a flow, and its multipliers fit its prices."""
        dual = np.abs((self.slope + self.z - self.w) * np.sqrt(self.theta)).max()
        scale = np.sqrt(self.widest * self.price)
        return bool(
            self.unbalanced <= max(BALANCED, BALANCED_PER_NODE * len(self.y)) * self.widest and dual <= DUAL_FEASIBLE * scale
        )

    def settle(self) -> tuple[FloatArray, FloatArray] | None:
        """The flow of least squares and its prices, if Newton's method finds them from here."""
        y, slack = self.y, np.sqrt(self.mu / self.q)
        for _ in range(NEWTON_STEPS):
            drops = (self.drops(y) - self.cost) / self.q
            flow = np.clip(drops, self.low, self.high)
            if np.abs(self.demand - self.balance(flow)).max() <= BALANCED * self.widest:
                return flow, y
            inside = (drops > self.low - slack) & (drops < self.high + slack)
            self.laplacian.weigh(np.where(inside, 1.0, HELD) / self.q)
            y = y + self.laplacian.solve(self.demand, np.where(inside, drops, flow), np.zeros_like(flow))
            slack = 0.0
        return None

    def step(self, mu: float) -> None:
        """One predictor–corrector step towards the barrier weight `mu`."""
        self.laplacian.weigh(self.theta)
        if self.mu < CENTRING * mu:
            self._move(*self._direction(mu / self.x, mu / self.s))
            return
        _, dx, dz, dw = self._direction(np.zeros_like(self.x), np.zeros_like(self.x))
        primal, dual = (min(1.0, length) for length in self._lengths(dx, dz, dw))
        target = max(mu, self.mu * ((1 - primal) * (1 - dual)) ** AIM)
        for_z, for_w = (target - dx * dz) / self.x, (target + dx * dw) / self.s  # Mehrotra's second-order terms
        self._move(*self._direction(for_z, for_w))

    def _direction(self, for_z: FloatArray, for_w: FloatArray) -> tuple[FloatArray, ...]:
        """The Newton step dy, dx, dz, dw, where a flow that stands still would get the multipliers `for_z` and `for_w`."""
        pull = self.theta * (self.slope + for_z - for_w)
        dy = self.laplacian.solve(self.demand, self.x + self.low, pull)
        dx = pull + self.theta * self.drops(dy)
        dz = for_z - self.z * (1 + dx / self.x)
        dw = np.where(self.closed, for_w - self.w * (1 - dx / self.s), 0.0)
        return dy, dx, dz, dw

    def _lengths(self, dx: FloatArray, dz: FloatArray, dw: FloatArray) -> tuple[float, float]:
        """How many such steps flow and multipliers may go before one of them is 0."""
        primal = max(float((-dx / self.x).max()), float((dx / self.s).max()))
        shut = self.closed
        dual = max(float((-dz / self.z).max()), float((-dw[shut] / self.w[shut]).max(initial=0.0)))
        return 1 / max(primal, 1e-30), 1 / max(dual, 1e-30)

    def _move(self, dy: FloatArray, dx: FloatArray, dz: FloatArray, dw: FloatArray) -> None:
        primal, dual = (min(1.0, length * TO_THE_WALL) for length in self._lengths(dx, dz, dw))
        self.x = self.x + primal * dx
        self.s = self.s - primal * dx
        self.z, self.w, self.y = self.z + dual * dz, self.w + dual * dw, self.y + dual * dy
