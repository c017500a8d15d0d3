"""Layered networks of every shape, and an independent exact max flow for them: augmenting paths in whole numbers.

Every double is a whole number times a power of two, so all capacities of a network have a common unit and Python's integers
hold them without rounding, whatever their scale.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import numpy as np

from accredit.core import BoolArray
from accredit.errors import AccreditError
from accredit.flow import LayeredNetwork, maximum_flow, unique_flow

SHAPES = (
    "dense",
    "sparse",
    "dead ends",
    "whole",
    "equal",
    "wide range",
    "one huge edge",
    "tiny layer",
    "one path",
    "bottleneck",
    "causal",
    "cut off",
    "tiny",
    "huge",
    "narrow ends",
    "attention",
)
RELATIVE = 1e-9  # of the max flow


def drawn_network(k: int) -> tuple[str, LayeredNetwork]:
    """Network number k, and its shape."""
    rng = np.random.default_rng([13, k])
    shape = SHAPES[k % len(SHAPES)]
    layers, tokens = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    c = rng.exponential(size=(layers, tokens, tokens))
    if shape in ("sparse", "dead ends"):
        c *= rng.random(c.shape) < (0.5 if shape == "sparse" else 0.25)
    elif shape == "whole":
        c = rng.integers(0, 10, size=c.shape).astype(np.float64)
    elif shape == "equal":
        c[:] = 1 / tokens
    elif shape == "wide range":
        c = 10.0 ** rng.uniform(-25, 25, size=c.shape)
    elif shape == "one huge edge":
        c.flat[int(rng.integers(c.size))] = 10.0 ** rng.integers(12, 140)
    elif shape == "tiny layer":
        c[int(rng.integers(layers))] *= 10.0 ** -float(rng.integers(12, 140))
    elif shape == "one path":
        c *= np.eye(tokens)[rng.permutation(tokens)] * (np.arange(tokens) == 0)[:, None]
    elif shape == "bottleneck":
        c[int(rng.integers(layers)), :, :] *= np.arange(tokens) == 0
    elif shape == "causal":
        c *= np.tril(np.ones((tokens, tokens)))
    elif shape == "cut off":
        c[int(rng.integers(layers))] = 0.0
    elif shape in ("tiny", "huge"):
        c *= 1e-290 if shape == "tiny" else 1e140
    elif shape == "attention":
        c /= c.sum(axis=2, keepdims=True)
    supply, demand = c[-1].sum(axis=1), c[0].sum(axis=0)
    if shape == "narrow ends":
        supply, demand = supply * rng.random(tokens), demand * rng.random(tokens)
    return shape, LayeredNetwork(c, supply, demand)


def exact_max_flow(network: LayeredNetwork) -> Fraction:
    """The max flow, without rounding (Edmonds and Karp, 1972)."""
    layers, tokens = network.layers, network.tokens
    source, sink = (layers + 1) * tokens, (layers + 1) * tokens + 1
    room: dict[int, dict[int, Fraction]] = {node: {} for node in range(sink + 1)}

    def edge(a: int, b: int, width: float) -> None:
        room[a][b] = room[a].get(b, Fraction(0)) + Fraction(width)
        room[b].setdefault(a, Fraction(0))

    for layer, i, j in np.argwhere(network.capacity > 0):
        edge(int((layer + 1) * tokens + i), int(layer * tokens + j), float(network.capacity[layer, i, j]))
    for i in range(tokens):
        edge(source, layers * tokens + i, float(network.supply[i]))
        edge(i, sink, float(network.demand[i]))
    total = Fraction(0)
    while path := _shortest(room, source, sink):
        width = min(room[a][b] for a, b in path)
        for a, b in path:
            room[a][b] -= width
            room[b][a] += width
        total += width
    return total


def _shortest(room: dict[int, dict[int, Fraction]], source: int, sink: int) -> list[tuple[int, int]]:
    """A shortest path with room left, as edges; empty where there is none."""
    came: dict[int, int] = {source: source}
    queue = deque([source])
    while queue and sink not in came:
        here = queue.popleft()
        for there, left in room[here].items():
            if left > 0 and there not in came:
                came[there] = here
                queue.append(there)
    if sink not in came:
        return []
    path, here = [], sink
    while here != source:
        path.append((came[here], here))
        here = came[here]
    return path[::-1]


def faults_of(k: int) -> tuple[str, str, list[str]]:
    """What is wrong with the max flow and the unique flows of network k: its shape, how it ended, and every fault."""
    shape, network = drawn_network(k)
    truth = exact_max_flow(network)
    try:
        found = maximum_flow(network)
    except AccreditError as error:
        return shape, f"refused: {error}", []
    faults = [f"maximum_flow: {text}" for text in _max_flow_faults(network, found, truth)]
    ended = "certified"
    for rule in ("barrier", "l2"):
        try:
            flow = unique_flow(network, rule)
        except AccreditError as error:
            ended = f"{rule} refused: {error}"
            continue
        faults += [f"{rule}: {text}" for text in _unique_faults(network, flow, truth)]
    return shape, ended, faults


def _max_flow_faults(network: LayeredNetwork, found: object, truth: Fraction) -> list[str]:
    value, reached, side = (getattr(found, name) for name in ("value", "reached", "source_side"))
    slack = Fraction(RELATIVE) * truth
    faults = []
    if not Fraction(reached) - slack <= truth <= Fraction(value) + slack:
        faults.append(f"says {reached} … {value}, truth {float(truth)}")
    if found.error > RELATIVE * float(truth):  # type: ignore[attr-defined]
        faults.append(f"error {found.error:.3g} of a flow of {float(truth):.3g}")  # type: ignore[attr-defined]
    faults += _cut_faults(network, side, truth)
    faults += _flow_faults(network, found, float(truth))
    return faults


def _cut_faults(network: LayeredNetwork, side: BoolArray, truth: Fraction) -> list[str]:
    cut = sum((Fraction(float(part)) for part in network.cut_parts(side)), Fraction(0))
    if abs(cut - truth) > Fraction(RELATIVE) * truth:
        return [f"its cut has capacity {float(cut)}, the max flow is {float(truth)}"]
    return []


def _flow_faults(network: LayeredNetwork, flow: object, truth: float) -> list[str]:
    edges, supply, demand = (np.asarray(getattr(flow, name)) for name in ("edges", "supply", "demand"))
    faults = []
    if np.abs(network.balance(edges, supply, demand)).max() > 1e-8 * truth:
        faults.append("is not conserved")
    for name, carried, room in (
        ("edges", edges, network.capacity),
        ("supply", supply, network.supply),
        ("demand", demand, network.demand),
    ):
        if (carried > room + 1e-8 * truth).any() or (carried < -1e-8 * truth).any():
            faults.append(f"{name} carry more than they may")
    return faults


def _unique_faults(network: LayeredNetwork, flow: object, truth: Fraction) -> list[str]:
    certificate = flow.certificate  # type: ignore[attr-defined]
    low, high = certificate.max_flow - certificate.max_flow_error, certificate.max_flow
    slack = Fraction(RELATIVE) * truth
    faults = []
    if not Fraction(low) - slack <= truth <= Fraction(high) + slack:
        faults.append(f"certifies a max flow of {high} ± {certificate.max_flow_error}, truth {float(truth)}")
    deficit = float(truth) - float(np.asarray(flow.supply).sum())  # type: ignore[attr-defined]
    allowed = (certificate.epsilon or 0.0) * min(1.0, float(truth)) + 1e-8 * float(truth)
    if deficit > allowed or deficit < -1e-8 * float(truth):
        faults.append(f"its value is {deficit:.3g} below the max flow {float(truth):.3g}")
    return faults + _cut_faults(network, flow.source_side, truth) + _flow_faults(network, flow, float(truth))  # type: ignore[attr-defined]
