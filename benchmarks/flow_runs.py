"""One flow problem by one solver, in a process of its own: prints a JSON line.

`python -m benchmarks.flow_runs accredit-barrier 64` solves here, `barrier 64` with CVXPY and Clarabel, `pairs 64` with
networkx, `prompt-causal 1000 4` here from the last token of a long prompt, and `baseline 1000 4` what stands beside that;
`graph-random-l2 10000` the maximum flow of a graph of so many edges here, and `clarabel-graph-random-l2 10000` there. CVXPY
loads HiGHS, which clashes with OR-tools inside one process; and a peak of memory can only be read from the process that had
it. Times are CPU seconds.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

from accredit.core import FloatArray
from accredit.flow import LayeredNetwork, continued_credit, unique_flow
from accredit.flow.graph import Graph, graph_flow

LAYERS, SPREAD, SEED = 12, 2.0, 0
QUADRATIC, EPSILON = 1e-2, 1e-6


def attention(tokens: int, layers: int = LAYERS, seed: int = SEED, spread: float = SPREAD) -> FloatArray:
    """Softmax of Gaussian logits: attention without structure, (L, T, T)."""
    logits = np.random.default_rng(seed).normal(0.0, spread, (layers, tokens, tokens))
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


def prompt(tokens: int, layers: int, kind: str) -> LayeredNetwork:
    """Causal attention from the last token: "causal" as a model's, "uniform" as the mask alone, "shuffled" with the tokens
    in random order, so that a solver cannot see the triangle."""
    weights = np.tril(attention(tokens, layers) if kind != "uniform" else np.ones((layers, tokens, tokens)))
    network = LayeredNetwork.from_attention(weights / weights.sum(axis=2, keepdims=True), outputs=-1)
    if kind != "shuffled":
        return network
    return network.renumber(np.random.default_rng(SEED).permutation(tokens))


def clarabel(network: LayeredNetwork, rule: str, epsilon: float) -> dict[str, Any]:
    """The unique flow by CVXPY and Clarabel, as its user would write it: edges in one vector, an incidence matrix."""
    import cvxpy
    from scipy import sparse

    layers, tokens = network.layers, network.tokens
    nodes = np.arange((layers + 1) * tokens).reshape(layers + 1, tokens)
    tails = np.concatenate([np.repeat(nodes[1:], tokens, axis=1).ravel(), np.full(tokens, -1), nodes[0]])
    heads = np.concatenate([np.tile(nodes[:-1], (1, tokens)).ravel(), nodes[-1], np.full(tokens, -1)])
    capacity = np.concatenate([network.capacity.ravel(), network.supply, network.demand])
    live = capacity > 0
    tails, heads, capacity = tails[live], heads[live], capacity[live]
    edges = np.arange(len(capacity))
    signs = [(heads, 1.0), (tails, -1.0)]
    rows = np.concatenate([ends[ends >= 0] for ends, _ in signs])
    columns = np.concatenate([edges[ends >= 0] for ends, _ in signs])
    values = np.concatenate([np.full(int((ends >= 0).sum()), sign) for ends, sign in signs])
    incidence = sparse.csr_array((values, (rows, columns)), shape=(nodes.size, len(capacity)))
    flow = cvxpy.Variable(len(capacity))
    value = cvxpy.sum(flow[np.flatnonzero(tails < 0)])
    if rule == "barrier":
        mu = epsilon / (2 * len(capacity))
        goal = value + mu * (cvxpy.sum(cvxpy.log(flow)) + cvxpy.sum(cvxpy.log(capacity - flow)))
        problem = cvxpy.Problem(cvxpy.Maximize(goal), [incidence @ flow == 0])
    else:
        goal = value - QUADRATIC / 2 * cvxpy.sum_squares(flow)
        problem = cvxpy.Problem(cvxpy.Maximize(goal), [incidence @ flow == 0, flow >= 0, flow <= capacity])
    began = time.process_time()
    data, chain, inverse = problem.get_problem_data("CLARABEL", solver_opts={})
    modelled = time.process_time()
    answer = chain.solve_via_data(problem, data, solver_opts={})
    solved = time.process_time()
    problem.unpack_results(answer, chain, inverse)
    credit = np.zeros(nodes.size)
    solution = np.asarray(flow.value)
    np.add.at(credit, tails[heads < 0], solution[heads < 0])
    return {
        "seconds": solved - modelled,
        "seconds_modelling": modelled - began,
        "iterations": problem.solver_stats.num_iters,
        "status": problem.status,
        "value": float(value.value),
        "credit": credit[:tokens].tolist(),
    }


def drawn_graph(kind: str, edges: int) -> Graph:
    """A graph of about so many edges: "random" pairs of a tenth as many nodes, or a square "grid" of streets, each one way."""
    rng = np.random.default_rng(SEED)
    if kind == "random":
        tail, head = rng.integers(edges // 10, size=(2, edges))
    else:
        side = int(np.sqrt(edges / 2)) + 1
        nodes = np.arange(side * side).reshape(side, side)
        tail = np.concatenate([nodes[:, :-1].ravel(), nodes[:-1].ravel()])
        head = np.concatenate([nodes[:, 1:].ravel(), nodes[1:].ravel()])
        turned = rng.random(len(tail)) < 0.3
        tail, head = np.where(turned, head, tail), np.where(turned, tail, head)
    rows = zip(tail.tolist(), head.tolist(), rng.random(len(tail)).tolist(), strict=True)
    return Graph.of([(a, b, u) for a, b, u in rows if a != b])


def ends_of(graph: Graph) -> tuple[str, str]:
    """Where a flow begins and ends: the first node, and the last that it reaches."""
    return "0", str(max(int(name) for name in graph.nodes))


def graph_here(graph: Graph, rule: str, epsilon: float) -> dict[str, Any]:
    """The unique flow of a graph by this library, with the exact optimum, its proof and the verdict on uniqueness."""
    from ortools.graph.python import max_flow  # noqa: F401 - in this process, where its time counts

    graph_flow(Graph.of([("s", "a", 1), ("s", "t", 1), ("a", "t", 2)]), "s", "t", rule=rule)  # imports are not the solve
    began = time.process_time()
    flow = graph_flow(graph, *ends_of(graph), rule=rule, epsilon=epsilon if rule == "barrier" else None)
    free = int(flow.free.sum())
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "edges": len(flow.edges),
        "value": flow.value,
        "free": free,
        "iterations": flow.chosen.iterations,
        "squares": float(flow.edges @ flow.edges),
        **flow.certificate,
    }


def graph_by_clarabel(graph: Graph, rule: str, epsilon: float) -> dict[str, Any]:
    """The same flow by CVXPY and Clarabel.

    `seconds` is Clarabel's own solve, which for l2 is given the value of the maximum flow; `seconds_asked` is what whoever asks
    CVXPY pays: modelling too, and for l2 the maximum flow first.
    """
    import cvxpy

    source, sink = (graph.node(name) for name in ends_of(graph))
    inner = np.ones(len(graph.nodes), dtype=bool)
    inner[[source, sink]] = False
    balance = graph.incidence.T.tocsr()
    flow = cvxpy.Variable(len(graph.tail))
    value = -balance[[source]] @ flow
    held = [balance[np.flatnonzero(inner)] @ flow == 0]
    first = 0.0
    if rule == "barrier":
        live = graph_flow(graph, *ends_of(graph), rule="barrier", epsilon=epsilon)
        keep = np.flatnonzero(~live.held)  # edges on no path have no logarithm; which they are is given, too
        mu = epsilon * min(1.0, live.value) / (2 * len(keep))
        room = graph.capacity[keep]
        goal = cvxpy.sum(value) + mu * (cvxpy.sum(cvxpy.log(flow[keep])) + cvxpy.sum(cvxpy.log(room - flow[keep])))
        problem = cvxpy.Problem(cvxpy.Maximize(goal), [*held, flow[np.flatnonzero(live.held)] == 0])
    else:
        most = graph_flow(graph, *ends_of(graph)).value
        held += [flow >= 0, flow <= graph.capacity]
        began = time.process_time()
        cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(value)), held).solve(solver="CLARABEL")
        first = time.process_time() - began
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(flow)), [*held, value == most])
    modelled = time.process_time()
    data, chain, inverse = problem.get_problem_data("CLARABEL", solver_opts={})
    began = time.process_time()
    answer = chain.solve_via_data(problem, data, solver_opts={})
    seconds = time.process_time() - began
    problem.unpack_results(answer, chain, inverse)
    found = np.asarray(flow.value)
    return {
        "seconds": seconds,
        "seconds_asked": first + began - modelled + seconds,
        "edges": len(found),
        "value": float(value.value[0]),
        "iterations": problem.solver_stats.num_iters,
        "squares": float(found @ found),
        "status": problem.status,
    }


def warm_up(rule: str) -> None:
    """Imports and first calls are not the solve. OR-tools is loaded into this process, where its time and memory count."""
    from ortools.graph.python import max_flow  # noqa: F401

    unique_flow(LayeredNetwork.from_attention(attention(4, 2)), rule)


def accredit(network: LayeredNetwork, rule: str, epsilon: float, repeats: int) -> dict[str, Any]:
    """The unique flow by this library: best of some repeats, the exact max flow of its certificate included."""
    warm_up(rule)
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        flow = unique_flow(network, rule, epsilon=epsilon if rule == "barrier" else None)
        seconds.append(time.process_time() - began)
    return {"seconds": min(seconds), "credit": flow.demand.tolist(), **flow.certificate.as_dict()}


def baseline(tokens: int, layers: int) -> dict[str, Any]:
    """The credit of uniform causal attention from the last token, as `explain` puts it beside a flow."""
    warm_up("barrier")
    began = time.process_time()
    carried = continued_credit(layers, tokens, (tokens - 1,))
    credit = unique_flow(prompt(tokens, layers, "uniform")).demand if carried is None else carried.credit
    seconds = time.process_time() - began
    return {"seconds": seconds, "error": carried.error if carried else 0.0, "credit": credit.tolist()}


def edmonds_karp(network: LayeredNetwork, pairs: int) -> dict[str, Any]:
    """Pairwise flow from output 0 to the first `pairs` inputs by networkx, as in the reference implementation of the method."""
    import networkx
    from networkx.algorithms.flow import edmonds_karp as solver

    graph = networkx.DiGraph()
    for layer, i, j in np.ndindex(network.capacity.shape):
        graph.add_edge((layer + 1, i), (layer, j), capacity=float(network.capacity[layer, i, j]))
    flows = []
    began = time.process_time()
    for j in range(pairs):
        flows.append(networkx.maximum_flow_value(graph, (network.layers, 0), (0, j), flow_func=solver))
    return {"seconds_per_pair": (time.process_time() - began) / pairs, "flows": flows}


def main() -> None:
    """Solve what the command line asks for."""
    problem, tokens = sys.argv[1], int(sys.argv[2])
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else LAYERS
    epsilon = float(sys.argv[4]) if len(sys.argv) > 4 else EPSILON
    if problem == "baseline":
        print(json.dumps(baseline(tokens, layers)))
        return
    if "graph-" in problem:
        *_, kind, rule = problem.split("-")
        solve = graph_by_clarabel if problem.startswith("clarabel-") else graph_here
        print(json.dumps(solve(drawn_graph(kind, tokens), rule, epsilon)))
        return
    kind = problem.removeprefix("prompt-") if problem.startswith("prompt-") else ""
    network = prompt(tokens, layers, kind) if kind else LayeredNetwork.from_attention(attention(tokens, layers))
    if kind:
        found = accredit(network, "barrier", epsilon, repeats=1)
    elif problem == "pairs":
        found = edmonds_karp(network, pairs=min(tokens, 2))
    elif problem.startswith("accredit-"):
        found = accredit(network, problem.removeprefix("accredit-"), epsilon, repeats=3 if tokens <= 128 else 1)
    else:
        found = clarabel(network, problem, epsilon)
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


if __name__ == "__main__":
    main()
