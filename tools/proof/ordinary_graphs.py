"""Ordinary graphs of every kind, and what general solvers say of all their optimal flows.

The reference writes each problem down anew, as one dense linear program with a return edge, and asks HiGHS for the optimum and
for the least and the most of every edge among the optima. A flow f has the least squares of a
polytope exactly if no point g of it has f·g < f·f, and is a barrier's centre exactly if the barrier's slope is a difference of
node prices: one linear program and one least-squares fit, in which nothing of accredit takes part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import FloatArray
from accredit.errors import AccreditError, InvalidInput
from accredit.flow.graph import Graph, GraphFlow, graph_flow, least_cost

KINDS = (
    "sparse", "dense", "acyclic", "grid", "tree", "parallel", "both ways", "loops", "zero capacity", "dead ends", "isolated",
    "endless", "lower bounds", "negative lower", "whole", "equal", "wide range", "several ends", "limited ends", "cheapest",
    "circulation", "whole circulation", "free circulation", "supplies", "whole supplies", "equal supplies",
)  # fmt: skip
NEAR = 1e-6  # of the largest flow
EPSILON = 1e-5


@dataclass(frozen=True)
class Problem:
    """A graph and what is asked of it."""

    kind: str
    nodes: int
    rows: list[tuple[int, int, float, float, float]]  # tail, head, capacity, lower bound, cost
    sources: dict[int, float]
    sinks: dict[int, float]
    supplies: dict[int, float] | None  # None: the greatest flow is asked for
    cheapest: bool = False

    @property
    def graph(self) -> Graph:
        """The graph as accredit reads it. An edge of no width names every node."""
        return Graph.of(self.rows)

    def solve(self, rule: str) -> GraphFlow:
        """What accredit says."""
        epsilon = EPSILON if rule == "barrier" else None
        if self.supplies is not None:
            return least_cost(self.graph, supplies=self.supplies, rule=rule, epsilon=epsilon)
        source: Any = self.sources if any(np.isfinite(list(self.sources.values()))) else list(self.sources)
        sink: Any = self.sinks if any(np.isfinite(list(self.sinks.values()))) else list(self.sinks)
        source, sink = (ends[0] if isinstance(ends, list) and len(ends) == 1 else ends for ends in (source, sink))
        return graph_flow(self.graph, source, sink, rule=rule, epsilon=epsilon, cheapest=self.cheapest)


def drawn_problem(k: int) -> Problem:
    """Problem number k."""
    rng = np.random.default_rng([29, k])
    kind = KINDS[k % len(KINDS)]
    n = int(rng.integers(3, 9))
    pairs = [(int(a), int(b)) for a in range(n) for b in range(n) if a != b and rng.random() < 1.8 / n + 0.15]
    if kind == "dense":
        pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    elif kind == "acyclic":
        pairs = [(min(p), max(p)) for p in pairs]
    elif kind == "grid":
        n = 9
        pairs = [(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)]
        pairs = [p if rng.random() < 0.8 else p[::-1] for p in pairs]
    elif kind == "tree":
        pairs = [(int(rng.integers(v)), v) for v in range(1, n)]
    elif kind == "parallel":
        pairs = pairs + pairs[: max(1, len(pairs) // 2)]
    elif kind == "both ways":
        pairs = pairs + [p[::-1] for p in pairs]
    elif kind == "loops":
        pairs += [(v, v) for v in range(n) if rng.random() < 0.5]
    elif kind == "dead ends":
        pairs += [(0, n), (n + 1, n - 1)]
        n += 2
    pairs = pairs or [(0, n - 1)]
    whole = kind.startswith("whole")
    capacity = rng.integers(1, 5, len(pairs)).astype(float) if whole else rng.exponential(size=len(pairs)) + 0.05
    lower, cost = np.zeros(len(pairs)), np.zeros(len(pairs))
    if kind.startswith("equal"):
        capacity[:] = 1.0
    elif kind == "zero capacity":
        capacity *= rng.random(len(pairs)) < 0.6
    elif kind == "endless":
        capacity[rng.random(len(pairs)) < 0.3] = np.inf
    elif kind == "wide range":
        capacity = 10.0 ** rng.uniform(-3, 3, len(pairs))
    elif kind == "lower bounds":
        lower = capacity * 0.3 * (rng.random(len(pairs)) < 0.3)
    elif kind == "negative lower":
        lower = -capacity * (rng.random(len(pairs)) < 0.5)
    sources, sinks, supplies = {0: np.inf}, {n - 1: np.inf}, None
    if kind in ("several ends", "limited ends"):
        limit = rng.exponential(size=4) if kind == "limited ends" else np.full(4, np.inf)
        sources, sinks = {0: limit[0], 1: limit[1]}, {n - 1: limit[2]} | ({n - 2: limit[3]} if n > 3 else {})
    if kind == "cheapest":
        cost = rng.integers(0, 4, len(pairs)).astype(float)
    if "circulation" in kind or "supplies" in kind:
        cost = rng.normal(size=len(pairs)) if not whole else rng.integers(-2, 4, len(pairs)).astype(float)
        cost = cost * 0 if kind == "free circulation" else np.abs(cost).round() if kind == "equal supplies" else cost
        supplies = {}
        if "supplies" in kind:
            sent = rng.integers(0, 3) if whole or kind.startswith("equal") else float(capacity.mean()) * rng.random()
            supplies = {0: float(sent), n - 1: -float(sent)}
    rows = [(a, b, float(u), float(min(x, u)), float(c)) for (a, b), u, x, c in zip(pairs, capacity, lower, cost, strict=True)]
    rows += [(v, v, 0.0, 0.0, 0.0) for v in range(n)]  # names every node, the isolated ones too
    return Problem(kind, n, rows, sources, sinks, supplies, kind == "cheapest")


class Reference:
    """All optimal flows of a problem, by dense linear programs."""

    def __init__(self, problem: Problem) -> None:
        rows = list(problem.rows)
        s, t, n = next(iter(problem.sources)), next(iter(problem.sinks)), problem.nodes
        capacity = np.array([row[2] for row in rows])
        if problem.supplies is None:
            for ends, outward in ((problem.sources, True), (problem.sinks, False)):
                if len(ends) == 1 and np.isinf(next(iter(ends.values()))):
                    continue
                for v, limit in ends.items():
                    own = sum(u for (a, b, *_), u in zip(problem.rows, capacity, strict=True) if (a if outward else b) == v)
                    rows.append(
                        ((n, v) if outward else (v, n)) + (float(min(limit, own) if np.isinf(limit) else limit), 0.0, 0.0)
                    )
                s, t = (n, t) if outward else (s, n)
                n += 1
            rows.append((t, s, np.inf, -np.inf, 0.0))
        self.m, self.n = len(problem.rows), n
        self.balance = np.zeros((n, len(rows)))
        for e, (a, b, *_) in enumerate(rows):
            self.balance[a, e] -= 1
            self.balance[b, e] += 1
        self.demand = np.zeros(n)
        for v, amount in (problem.supplies or {}).items():
            self.demand[v] -= amount
        self.bounds = [(low, high) for _, _, high, low, _ in rows]
        cost = np.array([row[4] for row in rows])
        value = np.zeros(len(rows))
        value[-1] = -1.0
        self.goals = [value] if problem.supplies is None else [cost]
        self.goals += [cost] if problem.cheapest else []
        self.status, self.best = 0, []
        for goal in self.goals:
            found = self.least(goal)
            self.status = found.status
            if found.status:
                return
            self.best.append(float(found.fun))

    def least(self, goal: FloatArray) -> Any:
        """The least of a goal among flows that are as good as is known."""
        from scipy.optimize import linprog

        held = np.vstack([self.balance, *self.goals[: len(self.best)]]) if self.best else self.balance
        fixed = np.append(self.demand, self.best)
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        return linprog(goal, A_eq=held, b_eq=fixed, bounds=self.bounds, method="highs", options=tight)

    def range_of(self, edge: int) -> tuple[float, float]:
        """The least and the most of one edge over all optima."""
        goal = np.zeros(self.balance.shape[1])
        goal[edge] = 1.0
        low, high = self.least(goal), self.least(-goal)
        return float(low.fun), np.inf if high.status == 3 else -float(high.fun)


def faults_of(k: int, rules: tuple[str, ...] = ("none", "barrier", "l2", "l1")) -> tuple[str, str, list[str]]:
    """The kind of problem k, how it ended, and what is wrong with the answers."""
    problem = drawn_problem(k)
    reference = Reference(problem)
    ended, faults = "solved", []
    for rule in rules:
        try:
            found = problem.solve(rule)
        except InvalidInput as error:
            if (reference.status == 2 and error.code == "conflict") or (reference.status == 3 and error.code == "undefined"):
                return problem.kind, "refused", faults
            if rule == "barrier" and error.code == "undefined" and "endless" in problem.kind:
                ended = "no centre"
                continue
            return problem.kind, "fault", [f"{rule}: refused by {error}"]
        except AccreditError as error:
            return problem.kind, "fault", [f"{rule}: {type(error).__name__}: {error}"]
        if reference.status:
            return problem.kind, "fault", [f"{rule}: answered what HiGHS ends with status {reference.status}"]
        faults += [f"{rule}: {text}" for text in _faults(problem, reference, found)]
    return problem.kind, "fault" if faults else ended, faults


def _faults(problem: Problem, reference: Reference, found: GraphFlow) -> list[str]:
    f, graph = found.edges, problem.graph
    scale = max(1.0, float(np.abs(f).max()))
    allowed = EPSILON if found.rule == "barrier" else 0.0
    reached = -found.value if problem.supplies is None else found.cost
    faults = []
    if not reference.best[0] - NEAR * scale <= reached <= reference.best[0] + allowed + NEAR * scale:
        faults.append(f"reaches {reached}, the best is {reference.best[0]}")
    if problem.cheapest and not found.cost <= reference.best[1] + allowed + NEAR * scale:
        faults.append(f"costs {found.cost}, the least is {reference.best[1]}")
    if (f < graph.lower - 1e-9 * scale).any() or (f > graph.capacity + 1e-9 * scale).any():
        faults.append("leaves its bounds")
    ends = {*problem.sources, *problem.sinks} if problem.supplies is None else set()
    net = reference.balance[: problem.nodes, : reference.m] @ f - reference.demand[: problem.nodes]
    if any(abs(net[v]) > 1e-9 * scale for v in range(problem.nodes) if v not in ends):
        faults.append("is not conserved")
    if found.rule == "none":
        return faults + _ranges(reference, found, scale) + _witness(problem, reference, found, scale)
    return faults + {"barrier": _centre, "l2": _squares, "l1": _sum}[found.rule](problem, reference, found, scale)


def _ranges(reference: Reference, found: GraphFlow, scale: float) -> list[str]:
    ours, faults = found.ranges(), []
    theirs = np.array([reference.range_of(e) for e in range(reference.m)])
    if not ours.exact.all():
        faults.append("did not finish its ranges")
    same = ours.bounds == theirs  # both may be endless
    apart = np.abs(np.where(same, 0.0, ours.bounds) - np.where(same, 0.0, theirs)).max()
    if not apart <= NEAR * scale:
        faults.append(f"ranges differ by {apart}: {ours.bounds.tolist()} and {theirs.tolist()}")
    wide = theirs[:, 1] - theirs[:, 0] > NEAR * scale
    if (wide != found.free).any():
        faults.append(f"says free {found.free.tolist()}, but {wide.tolist()}")
    return faults


def _witness(problem: Problem, reference: Reference, found: GraphFlow, scale: float) -> list[str]:
    other = found.another
    if (other is None) != found.unique and not found.optima.free[reference.m :].any():
        return ["a verdict and its witness disagree"]
    if other is None:
        return []
    faults = (
        []
        if np.abs(other - found.edges).max() > 1e-7 * scale or found.optima.free[reference.m :].any()
        else ["a witness is the same flow"]
    )
    if (other < problem.graph.lower - 1e-9 * scale).any() or (other > problem.graph.capacity + 1e-9 * scale).any():
        faults.append("a witness leaves its bounds")
    cost = float(problem.graph.cost @ other)
    if problem.supplies is not None and abs(cost - reference.best[0]) > NEAR * scale:
        faults.append(f"a witness costs {cost}")
    return faults


def _full(reference: Reference, found: GraphFlow) -> FloatArray:
    """The flow on all edges of the reference: super edges follow those of the graph, and the return edge comes last."""
    flow = np.concatenate([found.chosen.edges, [found.value]])
    return flow[: reference.balance.shape[1]]


def _squares(problem: Problem, reference: Reference, found: GraphFlow, scale: float) -> list[str]:
    flow = _full(reference, found)
    if problem.supplies is None:
        flow[-1] = 0.0  # the return edge is not part of the flow
    least = float(reference.least(flow).fun)
    off = float(flow @ flow) - least
    return [] if off <= NEAR * scale**2 else [f"f·f is {off} more than some f·g"]


def _sum(problem: Problem, reference: Reference, found: GraphFlow, scale: float) -> list[str]:
    """The least Σ |f| by a second formulation: f = p − q with p, q ≥ 0."""
    from scipy.optimize import linprog

    held = np.vstack([reference.balance, *reference.goals])
    m = held.shape[1]
    cost = np.ones(2 * m)
    if problem.supplies is None:
        cost[[m - 1, 2 * m - 1]] = 0.0
    low, high = np.array(reference.bounds, dtype=float).T
    box = np.hstack([np.eye(m), -np.eye(m)])
    finite = np.isfinite(high)
    above = np.isfinite(low)
    least = linprog(
        cost,
        A_eq=np.hstack([held, -held]),
        b_eq=np.append(reference.demand, reference.best),
        A_ub=np.vstack([box[finite], -box[above]]),
        b_ub=np.append(high[finite], -low[above]),
        bounds=(0, None),
        method="highs",
    )
    ours = float(np.abs(found.chosen.edges).sum())
    return [] if abs(ours - float(least.fun)) <= NEAR * scale * m else [f"Σ|f| is {ours}, the least is {least.fun}"]


def _centre(problem: Problem, reference: Reference, found: GraphFlow, scale: float) -> list[str]:
    """The slope of cost plus barrier is a difference of prices on every edge that can move at all."""
    program, f, held = found.optima.program, found.chosen.edges, found.chosen.held
    best, known = reference.best, len(reference.best)
    reference.best = best[: known - 1] if problem.cheapest else []
    wide = []
    for e in range(len(f)):
        low, high = reference.range_of(e)
        wide.append(low + NEAR * scale < reference.bounds[e][1] and high - NEAR * scale > reference.bounds[e][0])
    reference.best = best
    moves = np.array(wide)
    if (moves & held).any():
        return [f"holds edges {np.flatnonzero(moves & held).tolist()}, which can move"]
    moves = ~held
    if not moves.any():
        return []
    bounds = int(moves.sum() + np.isfinite(program.upper[moves]).sum())
    best_of = abs(reference.best[-1] if problem.supplies is not None else reference.best[0])
    mu = EPSILON * (1.0 if problem.cheapest else min(1.0, best_of or 1.0)) / bounds
    x, s = (f - program.lower)[moves], (program.upper - f)[moves]
    if not (x > 0).all() or not (s > 0).all():
        return ["touches a bound"]
    slope = program.cost[moves] - mu / x + mu / s
    weight = 1 / (mu * np.sqrt(1 / x**2 + 1 / s**2))
    incidence = np.zeros((int(moves.sum()), len(program.demand)))
    at = np.arange(len(incidence))
    np.add.at(incidence, (at, program.tail[moves]), -1.0)
    np.add.at(incidence, (at, program.head[moves]), 1.0)
    fit = np.linalg.lstsq(incidence * weight[:, None], slope * weight, rcond=1e-15)[0]
    off = float(np.abs((incidence @ fit - slope) * weight).max())
    return [] if off <= 1e-3 else [f"is {off} from the centre"]
