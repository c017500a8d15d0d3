"""Joint flows of a subject, each solved once, and the drawing that is made from one afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import BoolArray, FloatArray, distinct_names
from accredit.explanation.result import FlowPicture
from accredit.explanation.subject import Subject
from accredit.methods import Chosen

if TYPE_CHECKING:
    from accredit.flow import Flow, LayeredNetwork
    from accredit.flow.unique import FlowRule

COLUMNS = 33  # of a drawing; more tokens than that are drawn as players, and beyond that the smallest together
OTHERS = "(others)"
REPORTED = 96  # tokens up to which every token's range over all max flows is computed, two max flows each
PAIRS = 64  # pairs that are looked at for the collapse share
DRAWN: dict[str, FlowRule] = {"flow": "barrier", "flow-l2": "l2", "flow-shapley": "barrier"}  # method -> the rule drawn


def flow_options(tensor: str) -> dict[str, Any]:
    """Attention has a residual of one half and rows that sum to 1. Gradients have no residual of their own: the identity
    would drown them, and capacities of any size are allowed."""
    return {} if tensor == "af" else {"residual": 0.0, "normalise": False}


def network_of(subject: Subject, tensor: str) -> LayeredNetwork:
    """The attention graph, from the positions that the output is read from down to the input."""
    from accredit.flow import LayeredNetwork

    return LayeredNetwork.from_attention(subject.information(tensor), outputs=subject.outputs, **flow_options(tensor))


def solved_flow(subject: Subject, tensor: str, rule: FlowRule) -> Flow:
    """The flow that a rule picks, edge by edge; solved once, whoever asks."""
    from accredit.flow import unique_flow

    return subject.memo.get(("flow", tensor, rule), lambda: unique_flow(network_of(subject, tensor), rule))


def drawn_flow(subject: Subject, chosen: Chosen) -> FlowPicture | None:
    """The flow of a method edge by edge and a minimum cut; None where nothing flows.

    The Shapley rule shares without choosing edges: its drawing is the barrier's.
    """
    return subject.memo.get(("drawing", chosen.name), lambda: _drawn(subject, chosen))


def _drawn(subject: Subject, chosen: Chosen) -> FlowPicture | None:
    from accredit.attention import flow_report

    tensor = chosen.parameters["tensor"]
    flow = solved_flow(subject, tensor, DRAWN[chosen.method.name])
    if not flow.value > 0:
        return None
    network = network_of(subject, tensor)
    settings = flow_options(tensor) | {"outputs": subject.outputs, "intervals": network.tokens <= REPORTED}
    report = flow_report(subject.information(tensor), pairs=PAIRS, trials=0, flow=flow, **settings)
    notes = report.summary.splitlines()
    if chosen.method.name == "flow-shapley":
        notes.append("The drawing shows the barrier's flow: the Shapley rule shares without choosing edges.")
    names, members = columns(subject, flow.demand)
    return picture(network, flow, chosen.name, names, members, tuple(notes))


def columns(subject: Subject, arriving: FloatArray) -> tuple[tuple[str, ...], BoolArray]:
    """Names of the columns of a drawing, and which tokens each holds: (C, T)."""
    count = len(subject.owner)
    if count <= COLUMNS:
        shown = getattr(subject.seen, "tokens", None) or [subject.everyone[k] for k in subject.owner.tolist()]
        return distinct_names(shown), np.eye(count, dtype=bool)
    owners = subject.owner
    if len(subject.everyone) > COLUMNS:
        reached = subject.by_player(arriving)
        reached[subject.owner[subject.outputs]] = np.inf  # where the flow starts must stay visible
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
