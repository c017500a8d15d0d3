r"""The linear program of a flow on any graph, an optimum of it, and the prices that prove it.

An edge from tail to head carries f with l ≤ f ≤ u, at a cost of c per unit; what enters a node less what leaves it is d. With B
(edges × nodes, −1 at the tail, +1 at the head) the problem and its dual are

$$ \min\, c^\top f : B^\top f = d,\ l \le f \le u, \qquad
   \max\, d^\top y + l^\top s_l - u^\top s_u : B y + s_l - s_u = c,\ s_l, s_u \ge 0, $$

from the Lagrangian $c^\top f - y^\top (B^\top f - d) + s_u^\top (f - u) - s_l^\top (f - l)$. For given prices y the best
multipliers are the two sides of the reduced cost c − By, so prices alone prove an optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput, NotConverged
from accredit.flow.circulation import KKT

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

TIGHT = 1e-9  # reduced costs below this count as none, in units of the largest cost; so does room, of the largest flow
PROVEN = 1e-8  # how far a proof may be from what it proves, relative
COST_ROUNDING = 1e-13  # of the largest cost: a reduced cost below it is none
REFINEMENTS = 4  # of an optimum, each in units of what the one before leaves
REFINED = 1e-10  # of the largest flow: no refinement is needed below it
TOLERANCE_LOST = 1e-7  # of the widest edge: what is left beyond it is no rounding but a wrong answer
TOLERANCE = 1e-10  # the least that HiGHS takes
STRICT = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
DEMAND_ROUNDING = 1e-14  # of the largest flow: demands do not add up to zero more exactly
UNBOUNDED = "the flow is unbounded: a path or a cycle of negative cost has no limit; give it a capacity"
NAMED = 8  # nodes that a message names


@dataclass(frozen=True, eq=False)
class FlowProgram:
    """min c·f : Bᵀf = d, l ≤ f ≤ u.

    >>> zero, ends = np.zeros(2), np.array([0, 1])
    >>> there_and_back = FlowProgram(ends, ends[::-1], zero, np.ones(2), np.array([-1, 0.5]), zero)
    >>> edges, prices = there_and_back.optimum()
    >>> edges.tolist(), there_and_back.residuals(edges, prices).gap
    ([1.0, 1.0], 0.0)
    """

    tail: IntArray  # (m,)
    head: IntArray  # (m,)
    lower: FloatArray  # (m,)
    upper: FloatArray  # (m,), may be infinite
    cost: FloatArray  # (m,)
    demand: FloatArray  # (n,): enters the node less what leaves it

    def balance(self, flow: FloatArray) -> FloatArray:
        """What enters each node less what leaves it, (n,)."""
        n = len(self.demand)
        enters, leaves = (np.bincount(ends, weights=flow, minlength=n) for ends in (self.head, self.tail))
        return np.asarray(enters - leaves, dtype=np.float64)

    def reduced(self, prices: FloatArray) -> FloatArray:
        """c − By, (m,)."""
        return np.asarray(self.cost - (prices[self.head] - prices[self.tail]))

    def width(self) -> float:
        """The largest finite bound or demand."""
        sizes = np.abs(np.concatenate([self.upper, self.lower, self.demand]))
        return float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0

    def price(self) -> float:
        """The largest cost."""
        return float(np.abs(self.cost).max(initial=0.0)) or 1.0

    def optimum(
        self, what: str = "a circulation", name: Callable[[int], str] = str, unit: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """A flow of least cost, a vertex of all of them, and prices that prove it; refused where they do not, in words that
        count in what the caller measures by, `unit` of which is 1 here."""
        width, price = self.width(), self.price()
        even = self.scaled(width, price)
        found = _least(even)
        if found.status == 2:
            raise InvalidInput(f"there is not {what}: {even.contradiction(width * unit, name)}", code="conflict")
        check_solved(found)
        edges, prices = self._refined(np.asarray(found.x) * width + 0.0, np.asarray(found.eqlin.marginals) * price)
        self.prove(edges, prices)
        return edges, prices

    def scaled(self, width: float, price: float) -> FlowProgram:
        """The same in other units of flow and of cost."""
        return FlowProgram(self.tail, self.head, self.lower / width, self.upper / width, self.cost / price, self.demand / width)

    def _refined(self, edges: FloatArray, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The optimum where all that flows is lost in the rounding of the widest edge: what a solution leaves to be done is a
        program of its own, solved in its own units (Gleixner, Steffy and Wolter, 2016)."""
        for _ in range(REFINEMENTS):
            left, size = self._left(edges, prices), float(np.abs(edges).max(initial=0.0))
            if not REFINED * size < left <= TOLERANCE_LOST * self.width():
                break
            rest = replace(
                self,
                lower=self.lower - edges,
                upper=self.upper - edges,
                cost=self.reduced(prices),
                demand=self.demand - self.balance(edges),
            )
            found = _least(rest.scaled(left, self.price()), max(TOLERANCE, DEMAND_ROUNDING * size / left))
            if found.status != 0:
                break
            edges = np.clip(edges + np.asarray(found.x) * left, self.lower, self.upper) + 0.0
            prices = prices + np.asarray(found.eqlin.marginals) * self.price()
        return edges, prices

    def _left(self, edges: FloatArray, prices: FloatArray) -> float:
        """How far a flow is from one that these prices prove: the largest imbalance, excess, or distance from a bound where its
        reduced cost wants it."""
        reduced, none = self.reduced(prices), TIGHT * self.price()
        kkt = self.residuals(edges, prices)
        up = np.where((reduced < -none) & np.isfinite(self.upper), self.upper - edges, 0.0)
        down = np.where(reduced > none, edges - self.lower, 0.0)
        return max(kkt.conservation, kkt.over_capacity, float(up.max(initial=0.0)), float(down.max(initial=0.0)))

    def prove(self, edges: FloatArray, prices: FloatArray) -> KKT:
        """The residuals of an optimum; NotConverged where they are not about zero, as seen from the largest flow."""
        kkt = self.residuals(edges, prices)
        if not self.is_proven(kkt, edges, 0.0):
            raise NotConverged("a circulation was found and no prices that prove it: capacities or costs are too far apart")
        return kkt

    def is_proven(self, kkt: KKT, edges: FloatArray, epsilon: float) -> bool:
        """Whether residuals are no more than `epsilon` and rounding, as seen from the largest flow."""
        size = float(np.abs(edges).max(initial=0.0))
        spent = float(np.abs(self.cost) @ np.abs(edges))
        paid = epsilon * (1 + PROVEN) + PROVEN * spent + COST_ROUNDING * size * self.price()
        return kkt.gap <= paid and max(kkt.conservation, kkt.over_capacity) <= PROVEN * size

    def residuals(self, f: FloatArray, y: FloatArray) -> KKT:
        """How far a flow (m,) and prices (n,) are from optimal, each the largest of its kind."""
        reduced = self.reduced(y)
        reduced[np.abs(reduced) <= COST_ROUNDING * self.price()] = 0.0
        low, high = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
        bounded = np.isfinite(self.upper)
        paid = np.where(bounded, high, 0.0)
        most = np.where(bounded, self.upper, 0.0)
        room = most - np.where(bounded, f, 0.0)
        return KKT(
            stationarity=float(np.where(bounded, 0.0, high).max(initial=0.0)),
            complementarity=float(max(np.abs(paid * room).max(initial=0.0), np.abs(low * (f - self.lower)).max(initial=0.0))),
            conservation=float(np.abs(self.balance(f) - self.demand).max(initial=0.0)),
            over_capacity=float(max(0.0, (f - self.upper).max(initial=0.0), (self.lower - f).max(initial=0.0))),
            negative_multiplier=0.0,
            gap=abs(float(self.cost @ f - self.demand @ y - self.lower @ low + most @ paid)),
        )

    def on_face(self, edges: FloatArray, tight: BoolArray, cost: FloatArray) -> FlowProgram:
        """The same flows at another cost, all edges that are not tight held where an optimum has them."""
        return replace(
            self,
            lower=np.where(tight, self.lower, edges),
            upper=np.where(tight, self.upper, edges),
            cost=cost,
            demand=self.balance(edges),
        )

    def contradiction(self, unit: float, name: Callable[[int], str]) -> str:
        """In words, a set of nodes that must receive more than can enter it: by Hoffman there is one if there is no flow."""
        n = len(self.demand)
        nodes = np.arange(n)
        everywhere = np.full(n, n)
        slack = FlowProgram(  # what is lacking comes from outside, at a price; what is too much goes there
            np.concatenate([self.tail, everywhere, nodes]),
            np.concatenate([self.head, nodes, everywhere]),
            np.concatenate([self.lower, np.zeros(2 * n)]),
            np.concatenate([self.upper, np.full(2 * n, np.inf)]),
            np.concatenate([np.zeros(len(self.tail)), np.ones(2 * n)]),
            np.append(self.demand, -self.demand.sum()),
        )
        found = _least(slack)
        check_solved(found)
        prices = np.asarray(found.eqlin.marginals)[:n]
        lacking, inside = max(
            ((self._lacking(prices > level), prices > level) for level in np.unique(prices.round(6))[:NAMED] - 1e-6),
            key=lambda each: each[0][0] - each[0][1],
        )
        if lacking[0] <= lacking[1]:
            return "lower bounds and capacities contradict each other"
        inside &= np.bincount(np.append(self.tail, self.head), minlength=n) > 0
        members = [name(int(v)) for v in np.flatnonzero(inside)]
        named = ", ".join(members[:NAMED]) + (f" and {len(members) - NAMED} more" if len(members) > NAMED else "")
        return (
            f"lower bounds and capacities contradict each other. Around {named}, {lacking[0] * unit:g} must enter and "
            f"at most {lacking[1] * unit:g} can"
        )

    def _lacking(self, inside: BoolArray) -> tuple[float, float]:
        """What must enter a set of nodes, and what can."""
        enters, leaves = inside[self.head] & ~inside[self.tail], inside[self.tail] & ~inside[self.head]
        return float(self.demand[inside].sum() + self.lower[leaves].sum()), float(self.upper[enters].sum())


def incidence(tail: IntArray, head: IntArray, nodes: int) -> sparse.csr_array:
    """B: −1 at the tail, +1 at the head, (m, n); a loop has nothing."""
    edges = np.arange(len(tail))
    both, signs = np.concatenate([tail, head]), np.repeat([-1.0, 1.0], len(edges))
    return sparse.csr_array((signs, (np.tile(edges, 2), both)), shape=(len(edges), nodes))


def _least(program: FlowProgram, tolerance: float = TOLERANCE) -> OptimizeResult:
    from scipy.optimize import linprog

    return linprog(
        program.cost,
        A_eq=incidence(program.tail, program.head, len(program.demand)).T,
        b_eq=program.demand,
        bounds=np.stack([program.lower, program.upper], axis=1),
        method="highs",
        options=STRICT | {"primal_feasibility_tolerance": tolerance},
    )


def check_solved(found: OptimizeResult) -> None:
    """Raise what a solver found instead of an optimum."""
    if found.status == 3:
        raise InvalidInput(UNBOUNDED, code="undefined")
    if found.status != 0:
        raise NotConverged(f"HiGHS ended with {found.message!r:.80}; rescale the capacities")
