"""Joint attention flow as a method of `explain`, and the drawing that goes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from accredit.core import Attribution, BoolArray, FloatArray, distinct_names
from accredit.explanation.result import FlowPicture
from accredit.explanation.subject import Subject

if TYPE_CHECKING:
    from accredit.flow import Flow, LayeredNetwork

JointRule = Literal["barrier", "l2", "shapley"]
COLUMNS = 33  # of a drawing; more tokens than that are drawn as players, and beyond that the smallest together
OTHERS = "(others)"
REPORTED = 96  # tokens up to which every token's range over all max flows is computed, two max flows each
PAIRS = 64  # pairs that are looked at for the collapse share


def joint(subject: Subject, rule: JointRule, tensor: str, method: str) -> Attribution:
    """One flow from the positions that the output is read from down to the input, shared among everyone.

    Gradients have no residual of their own: the identity would drown them, and capacities of any size are allowed.
    """
    from accredit.attention import joint_flow

    capacities, options = subject.information(tensor), flow_options(tensor)
    groups = subject.groups
    result = joint_flow(capacities, outputs=subject.outputs, rule=rule, groups=groups, seed=subject.seed, **options)
    if not subject.flows:
        name = method if tensor == "af" else f"{method}:{tensor}"
        subject.flows[name] = drawn_flow(subject, capacities, rule, name, options)
    return result


def flow_options(tensor: str) -> dict[str, Any]:
    """Attention has a residual of one half and rows that sum to 1; tensors with gradients have neither."""
    return {} if tensor == "af" else {"residual": 0.0, "normalise": False}


def drawn_flow(
    subject: Subject, capacities: FloatArray, rule: str, method: str, options: dict[str, Any]
) -> FlowPicture | None:
    """The flow edge by edge and a minimum cut. The Shapley rule shares without choosing edges: its drawing is the barrier's."""
    from accredit.attention import flow_report
    from accredit.flow import LayeredNetwork, unique_flow

    network = LayeredNetwork.from_attention(capacities, outputs=subject.outputs, **options)
    flow = unique_flow(network, "l2" if rule == "l2" else "barrier")
    if not flow.value > 0:
        return None
    full = network.tokens <= REPORTED
    report = flow_report(capacities, outputs=subject.outputs, intervals=full, pairs=PAIRS, trials=0, **options)
    notes = report.summary.splitlines()
    if rule == "shapley":
        notes.append("Drawn is the barrier's flow: the Shapley rule shares without choosing edges.")
    names, members = columns(subject, flow.demand)
    return picture(network, flow, method, names, members, tuple(notes))


def columns(subject: Subject, arriving: FloatArray) -> tuple[tuple[str, ...], BoolArray]:
    """Names of the columns of a drawing, and which tokens each holds: (C, T)."""
    count = len(subject.owner)
    if count <= COLUMNS:
        shown = getattr(subject.seen, "tokens", None) or [subject.everyone[k] for k in subject.owner.tolist()]
        return distinct_names(shown), np.eye(count, dtype=bool)
    owners = subject.owner
    if len(subject.everyone) > COLUMNS:
        reached = subject.by_player(arriving)
        reached[subject.owner[subject.outputs]] = np.inf  # where the flow starts must be seen
        kept = np.sort(np.argsort(-reached, kind="stable")[: COLUMNS - 1])
    else:
        kept = np.arange(len(subject.everyone))
    members = owners[None, :] == kept[:, None]
    names = [subject.everyone[k] for k in kept.tolist()]
    if len(kept) < len(subject.everyone):
        members = np.vstack([members, ~members.any(axis=0)])
        names.append(OTHERS)
    order = np.argsort([np.flatnonzero(row)[0] for row in members[: len(kept)]], kind="stable").tolist()
    order += list(range(len(kept), len(names)))
    return tuple(names[k] for k in order), members[order]


def picture(
    network: LayeredNetwork, flow: Flow, method: str, names: tuple[str, ...], members: BoolArray, notes: tuple[str, ...]
) -> FlowPicture:
    """A flow and its cut, tokens gathered into columns."""
    together = members.astype(np.float64)
    side = flow.source_side
    cut = network.capacity * (side[1:, :, None] & ~side[:-1, None, :])
    return FlowPicture(
        method=method,
        columns=names,
        through=flow.through @ together.T,
        edges=together @ flow.edges @ together.T,
        cut=together @ cut @ together.T,
        source_cut=together @ np.where(side[-1], 0.0, network.supply),
        sink_cut=together @ np.where(side[0], network.demand, 0.0),
        value=flow.value,
        notes=notes,
    )
