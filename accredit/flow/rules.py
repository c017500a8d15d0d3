r"""Rules that pick one optimal flow of any graph out of many.

`barrier(ε)` minimises c·f − μ Σ [log(f − l) + log(u − f)] with μ = ε / (number of bounds), so that the cost is at most ε above
the least. As ε → 0 it tends to the analytic centre of all optimal flows. Edges that no flow can move off a bound have no
logarithm: they are held there, and reported.

`l2` is the optimal flow of least Σ f². `l1` has the least Σ |f|: on graphs whose paths differ in length that discriminates, but
need not single out one flow. `none` takes the vertex that the simplex method ends in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from accredit import defaults
from accredit.checks import real_number
from accredit.checks.json_data import round_off
from accredit.core import BoolArray, FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.flow.interior import TOO_FAR_APART, InteriorPoint, interior_point
from accredit.flow.optima import Optima, movable, strong_components
from accredit.flow.program import NAMED, FlowProgram

GraphRule = Literal["none", "barrier", "l2", "l1"]
RULES: tuple[str, ...] = get_args(GraphRule)
FINEST_EPSILON = 1e-12  # smallest ε, as a share of the largest cost: below it the deficit is lost in rounding
SHARP = 1e-15  # barrier weight of l2, in units of the widest edge
LEAST = 1e-7  # residual that l2 may have, in units of the widest edge
ROUNDING = 1e-12  # flow that arithmetic cannot tell from none, of the largest


@dataclass(frozen=True, eq=False)
class Chosen:
    """The flow that a rule picks, and how well it fits the rule."""

    edges: FloatArray  # (m,)
    unique: bool  # whether the rule leaves only this one
    held: BoolArray  # (m,): edges that no flow can move off a bound, which the barrier leaves out
    residual: float  # of the rule's own optimality, relative: 0 is exact
    iterations: int = 0


def check_rule(rule: str) -> None:
    if rule not in RULES:
        raise InvalidInput(f"rule is {rule!r}; write one of {', '.join(map(repr, RULES))}", argument="rule", code="unknown")


def allowed_loss(rule: str, epsilon: float | None) -> float:
    """The value that a flow of the barrier may lose; refused beside another rule, which loses none."""
    usual = defaults.FLOW_EPSILON
    if epsilon is None:
        return usual
    if rule != "barrier":
        raise InvalidInput(
            f"epsilon is {epsilon!r}, and rule {rule!r} has no use for it; leave it out, or write rule='barrier'",
            argument="epsilon",
            code="misplaced",
        )
    epsilon = real_number(epsilon, "epsilon", 0, example=usual)
    if not epsilon:
        raise InvalidInput(
            f"epsilon is 0; it is the value that may be lost and must be positive, for example {usual:g}",
            argument="epsilon",
            code="range",
        )
    return epsilon


def choose(optima: Optima, rule: str, epsilon: float, name: Callable[[int], str]) -> Chosen:
    """The optimal flow that a rule picks; `epsilon` is the allowed cost of the barrier."""
    if rule == "barrier":
        return _centre(optima, epsilon, name)
    if rule in ("l2", "l1") and _may_rest(optima):
        return Chosen(np.zeros(len(optima.edges)), True, np.zeros(len(optima.edges), dtype=bool), 0.0)
    if rule == "l2":
        return _least_squares(optima)
    if rule == "l1":
        return _least_sum(optima)
    return Chosen(optima.edges, optima.unique, np.zeros(len(optima.edges), dtype=bool), 0.0)


def _may_rest(optima: Optima) -> bool:
    """Whether no flow at all is optimal: a solver would leave the rounding of its cycles, which no proof can be measured by."""
    program = optima.program
    open_to_none = (program.lower <= 0).all() and (program.upper >= 0).all() and not program.demand.any()
    moved = np.abs(optima.edges[~optima.tight]).max(initial=0.0)
    return bool(open_to_none and moved <= ROUNDING * optima.scale)


def _centre(optima: Optima, epsilon: float, name: Callable[[int], str]) -> Chosen:
    program, edges = optima.program, optima.edges.copy()
    _check_bounded(optima, name)
    moves = movable(program, np.ones(len(edges), dtype=bool), *optima.rooms)
    if not moves.any():
        return Chosen(edges, True, ~moves, 0.0)
    scale = program.price() * optima.scale
    if epsilon < FINEST_EPSILON * scale:
        raise InvalidInput(
            f"epsilon allows to lose {epsilon:.1e}, which is below the rounding of costs of {scale:.3g}; make it "
            f"{round_off(FINEST_EPSILON * scale / epsilon)} times larger",
            argument="epsilon",
            code="range",
        )
    bounds = int(moves.sum() + np.isfinite(program.upper[moves]).sum())
    mu = epsilon / bounds
    point = _interior(program, edges, moves, program.cost[moves], mu=mu)
    edges[moves] = point.edges
    return Chosen(edges, True, ~moves, centring_error(program, moves, edges, point.prices, mu), point.iterations)


def _check_bounded(optima: Optima, name: Callable[[int], str]) -> None:
    """Refuse a cycle of no cost and no limit: the further the flow on it, the better for a barrier."""
    endless = optima.tight & np.isinf(optima.program.upper)
    tail, head = optima.program.tail[endless], optima.program.head[endless]
    component = strong_components(len(optima.program.demand), tail, head)
    turning = component[tail] == component[head]
    if turning.any():
        members = np.flatnonzero(component == component[tail[np.argmax(turning)]])
        named = ", ".join(name(int(v)) for v in members[:NAMED])
        raise InvalidInput(
            f"rule='barrier' has no centre here: any amount can circulate through {named} at no cost; give an edge there a "
            "capacity, or use rule='l2'",
            argument="rule",
            code="undefined",
        )


def _interior(
    program: FlowProgram,
    edges: FloatArray,
    moves: BoolArray,
    cost: FloatArray,
    *,
    mu: float,
    quadratic: float = 0.0,
    centred: float = 1e-8,
) -> InteriorPoint:
    """A point of the central path of the edges that move, the others held; in units of the widest edge and the largest cost."""
    low, high = program.lower[moves], program.upper[moves]
    room = (high - low)[np.isfinite(high)]
    width = float(room.max(initial=0.0)) or float(np.abs(edges).max()) or 1.0
    price = float(np.abs(cost).max()) or quadratic * width or mu / width
    held = program.balance(np.where(moves, 0.0, edges))
    point = interior_point(
        (program.tail[moves], program.head[moves]),
        (low / width, high / width),
        cost / price,
        (program.demand - held) / width,
        mu=mu / (width * price),
        quadratic=quadratic * width / price,
        centred=centred,
    )
    carried = np.clip(point.edges * width, low, high)
    return InteriorPoint(carried, point.prices * price, point.off_centre, point.iterations)


def centring_error(program: FlowProgram, moves: BoolArray, edges: FloatArray, prices: FloatArray, mu: float) -> float:
    """How far a flow is from the centre of a barrier weight: the largest |c − By − μ/x + μ/s|·√(θ/μ), from edges and prices.

    It is the relative distance of an edge from its bounds at which the barrier would put it.
    """
    x, s = (edges - program.lower)[moves], (program.upper - edges)[moves]
    force = program.reduced(prices)[moves] - mu / x + mu / s
    return float((np.abs(force) / (mu * np.sqrt(1 / x**2 + 1 / s**2))).max())


def _least_squares(optima: Optima) -> Chosen:
    edges, moves, nothing = optima.edges, optima.free, np.zeros(len(optima.edges), dtype=bool)
    width = 2 * float(np.sqrt(edges @ edges))  # no edge of the least squares carries half of it
    if not moves.any() or not width:
        return Chosen(edges, True, nothing, 0.0)
    program = optima.program
    program = replace(program, lower=np.maximum(program.lower, -width), upper=np.minimum(program.upper, width))
    point = _interior(program, edges, moves, np.zeros(int(moves.sum())), mu=SHARP * width**2, quadratic=1.0, centred=10.0)
    found = edges.copy()
    found[moves] = point.edges
    residual = squares_error(program, moves, found, point.prices) / width
    if not residual <= LEAST:
        raise NotConverged(f"l2 ends {residual:.1e} from the least squares; {TOO_FAR_APART}")
    return Chosen(found, True, nothing, residual, point.iterations)


def squares_error(program: FlowProgram, moves: BoolArray, edges: FloatArray, prices: FloatArray) -> float:
    """How far a flow is from the least Σ f²: the largest distance to max(l, min(u, drop of the prices)), where it would be."""
    drop = (prices[program.head] - prices[program.tail])[moves]
    wanted = np.clip(drop, program.lower[moves], program.upper[moves])
    return float(np.abs(wanted - edges[moves]).max(initial=0.0))


def _least_sum(optima: Optima) -> Chosen:
    """The vertex of least Σ |f|. An edge that may carry either sign is split into one each way."""
    program, edges = optima.program, optima.edges
    width = 2 * float(np.abs(edges).sum())  # no edge of the least sum carries half of it
    program = replace(program, lower=np.maximum(program.lower, -width), upper=np.minimum(program.upper, width))
    face = program.on_face(edges, optima.tight, np.sign(edges))
    either = (face.lower < 0) & (face.upper > 0)
    cost = np.where(either | (face.lower >= 0), 1.0, -1.0)
    split = FlowProgram(
        np.append(face.tail, face.head[either]),
        np.append(face.head, face.tail[either]),
        np.append(np.where(either, 0.0, face.lower), np.zeros(int(either.sum()))),
        np.append(face.upper, -face.lower[either]),
        np.append(cost, np.ones(int(either.sum()))),
        face.demand,
    )
    least = Optima(split, *split.optimum("a flow of least Σ |f|"))
    found = least.edges[: len(edges)].copy()
    found[either] -= least.edges[len(edges) :]
    return Chosen(
        found,
        least.unique,
        np.zeros(len(edges), dtype=bool),
        split.residuals(least.edges, least.prices).gap / max(1.0, optima.scale),
    )
