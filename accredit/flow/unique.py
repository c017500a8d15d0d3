r"""Rules that pick one max flow out of many.

`barrier(ε)` maximises value + μ Σ [log f + log(u - f)] over all edges, super edges included, with μ = ε / (number of
bounds), so that the value is within ε of the max flow (within that share of it, if it is below 1). As ε → 0 it tends
to the analytic centre of all max flows. (A barrier is subtracted from a cost: -μ Σ log(-h) of h = f·(f - u) is -μ Σ
[log f + log(u - f)].)

`l2` is the max flow of least Σ f². It solves max value - (q/2) Σ f²: below some weight q the value is the max flow
exactly and the flow no longer depends on q, so q is lowered until the value meets the exact max flow.

`l1` is not a rule: every source–sink path of a layered network has L + 2 edges, so Σ f = (L + 2)·value for every flow.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput, NotConverged
from accredit.flow.central_path import INSTEAD, CentralPoint, central_point
from accredit.flow.certificate import Certificate, Flow, conservation, over_capacity
from accredit.flow.circulation import duality_gap
from accredit.flow.maximum import MaximumFlow, maximum_flow
from accredit.flow.network import LayeredNetwork
from accredit.flow.rules import allowed_loss

FlowRule = Literal["barrier", "l2"]
QUADRATIC = (3e-2, 3e-3, 3e-4, 3e-5, 3e-6)  # weights q of Σ f² that l2 tries, for capacities of at most 1
SHARP = 1e-15  # barrier weight of l2 as a share of q: flows are then within about 1e-8 of the least-squares flow
EXACT = 1e-9  # value deficit of l2 that counts as none, as a share of the max flow
BALANCE_TOLERANCE = 1e-9  # as a share of the largest capacity or of the flow, whichever is less
SOLVE_BYTES = 8 << 30  # bytes that a solve may need
VECTORS, DENSE = 16, 6  # numbers held for each edge, and copies of all layers as squares
FINEST_EPSILON = 1e-12  # smallest ε as a share of the max flow: below it, the deficit is lost in rounding


@check_arguments
def unique_flow(network: LayeredNetwork, rule: FlowRule | str = "barrier", *, epsilon: float | None = None) -> Flow:
    """The one flow that a rule picks, with its certificate. O(L·T³) flops per iteration, 10–40 of them (`l2`: 20–80).

    >>> equal = LayeredNetwork.from_attention(np.full((2, 3, 3), 1 / 3))
    >>> unique_flow(equal, "l2").demand.round(6)
    array([1., 1., 1.])
    """
    if rule == "l1":
        raise InvalidInput(
            "rule='l1' cannot select a flow: every source–sink path of a layered network has the same number of edges, "
            "so Σ f is the same for every max flow; use rule='l2', 'barrier' or 'shapley'",
            argument="rule",
            code="unsupported",
        )
    if rule not in ("barrier", "l2"):
        raise InvalidInput(
            f"rule is {rule!r}; write 'barrier' or 'l2' (or 'shapley' in joint_flow)", argument="rule", code="unknown"
        )
    epsilon = allowed_loss(rule, epsilon)
    _check_memory(network)
    exact = maximum_flow(network)
    pruned = network.prune()
    if not pruned.supply.any():
        return _no_flow(network, exact, rule, epsilon)
    if rule == "l2":
        return _least_squares(pruned.tighten(), exact)  # Σ f² does not see capacity that no flow can use
    if epsilon < FINEST_EPSILON * max(1.0, exact.value):
        raise InvalidInput(
            f"epsilon {epsilon:.1e} is below the rounding of a max flow of {exact.value:.6g}; "
            f"use {FINEST_EPSILON * max(1.0, exact.value):.1e} or more",
            argument="epsilon",
            code="range",
        )
    narrowed = epsilon * min(1.0, exact.value)  # small capacities, such as gradients, get the same relative accuracy
    point = central_point(pruned, mu=narrowed / (2 * pruned.edges))
    flow = _certify(pruned, exact, point, 0.0, "barrier", epsilon)
    if flow.certificate.epsilon_reached > epsilon + exact.error:
        raise NotConverged(
            f"the flow is {flow.certificate.epsilon_reached:.2e} below the max flow, more than epsilon {epsilon:.1e}"
        )
    return flow


def flow_bytes(network: LayeredNetwork) -> float:
    """Bytes at the peak of a solve: 14 numbers for each edge, OR-tools' arcs, and some copies of all layers.

    >>> causal = LayeredNetwork.from_attention(np.tril(np.ones((4, 100, 100))), normalise=False)
    >>> flow_bytes(causal) < flow_bytes(LayeredNetwork.from_attention(np.full((4, 100, 100), 0.01)))
    True
    """
    return 8.0 * (VECTORS * network.edges + DENSE * network.capacity.size)


def _check_memory(network: LayeredNetwork) -> None:
    needed = flow_bytes(network)
    if needed > SOLVE_BYTES:
        raise InvalidInput(
            f"a flow through {network.layers} layers of {network.tokens:,} tokens has {network.edges:,} edges and needs about "
            f"{needed / 2**30:.1f} GiB, more than {SOLVE_BYTES / 2**30:.0f}; follow fewer layers "
            "(layers=[-4, -3, -2, -1]), or shorten the text",
            code="too-many",
        )


def _least_squares(pruned: LayeredNetwork, exact: MaximumFlow) -> Flow:
    scale = float(max(pruned.capacity.max(), pruned.supply.max(), pruned.demand.max()))
    for weight in QUADRATIC:
        q = weight / scale
        point = central_point(pruned, mu=SHARP * weight * scale, quadratic=q, centred=10.0)
        flow = _certify(pruned, exact, point, q, "l2", None)
        if flow.certificate.epsilon_reached <= EXACT * exact.value + exact.error:
            return flow
    raise NotConverged(
        f"l2 loses {flow.certificate.epsilon_reached:.2e} of the max flow {exact.value:.6g} even at the smallest weight; "
        "use rule='barrier'"
    )


def _certify(
    network: LayeredNetwork, exact: MaximumFlow, point: CentralPoint, q: float, rule: str, epsilon: float | None
) -> Flow:
    edges, supply, demand = point.edges, point.supply, point.demand
    value = float(supply.sum())
    scale = float(max(network.capacity.max(), network.supply.max(), network.demand.max()))
    certificate = Certificate(
        rule=rule,
        value=value,
        max_flow=exact.value,
        max_flow_error=exact.error,
        gap=duality_gap(network, point, q),
        conservation=conservation(network, edges, supply, demand),
        over_capacity=over_capacity(network, edges, supply, demand),
        iterations=point.iterations,
        epsilon=epsilon,
        epsilon_reached=exact.value - value,
        binding_layer=exact.layer,
    )
    if certificate.conservation > BALANCE_TOLERANCE * min(scale, exact.value):
        raise NotConverged(f"conservation is off by {certificate.conservation:.1e}; {INSTEAD}")
    return Flow(edges, supply, demand, exact.source_side, certificate)


def _no_flow(network: LayeredNetwork, exact: MaximumFlow, rule: str, epsilon: float) -> Flow:
    """The only flow of a network without a source–sink path."""
    layers, tokens = network.layers, network.tokens
    nothing = np.zeros(tokens)
    certificate = Certificate(rule, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, None if rule == "l2" else epsilon, 0.0, layers + 1)
    return Flow(np.zeros((layers, tokens, tokens)), nothing, nothing, exact.source_side, certificate)
