"""Joint flows of a subject, each solved once, and the drawing that is made from one afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit.core import Attribution, BoolArray, FloatArray
from accredit.core.notes import Note, NoteKind, check_notes
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import rank_correlation, tied
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.graph import GRADIENTS, AttentionGraph, graph_of, uniform_of
from accredit.explanation.result import FlowPicture
from accredit.explanation.subject import Subject
from accredit.flow.stack import AttentionStack
from accredit.flow.uniform import continued_credit
from accredit.methods import ChosenMethod

if TYPE_CHECKING:
    from accredit.flow import Flow, LayeredNetwork
    from accredit.flow.unique import FlowRule

COLUMNS = 33  # of a drawing; more tokens than that are drawn as players, and beyond that the smallest together
OTHERS = "(others)"
REPORTED = 96  # tokens up to which every token's range over all max flows is computed, two max flows each
SAME_CREDIT, SAME_ORDER = 0.1, 0.95  # distance and rank correlation from which a credit is that of the mask
UNIFORM = "uniform attention under the same causal mask"
Explained = Subject | AnswerSubject
PAIRS = 64  # pairs that are looked at for the collapse share, of up to PAIRED tokens; fewer of more, each costs a max flow
PAIRED = 256
DRAWN: dict[str, FlowRule] = {"flow": "barrier", "flow-l2": "l2", "flow-shapley": "barrier"}  # method -> the rule drawn


def flow_options(tensor: str) -> dict[str, Any]:
    """Attention has a residual of one half and rows that sum to 1. Gradients have no residual of their own: the identity
    would drown them, and capacities of any size are allowed."""
    return {"residual": 0.0, "normalise": False} if tensor in GRADIENTS else {}


def network_of(subject: Explained, tensor: str, outputs: list[int] | None = None) -> LayeredNetwork:
    """The attention graph, from the positions that the output is read from, or some of them, down to the input. The tensor
    "uniform" is attention that knows the mask alone."""
    from accredit.flow import LayeredNetwork

    attention = uniform_of(subject) if tensor == "uniform" else graph_of(subject, tensor).attention
    starts = graph_of(subject).outputs if outputs is None else outputs
    return LayeredNetwork.from_attention(attention, outputs=starts, **flow_options(tensor))


def solve_flow(subject: Explained, tensor: str, rule: FlowRule, outputs: list[int] | None = None) -> Flow:
    """The flow that a rule picks, edge by edge; solved once, whoever asks."""
    from accredit.flow import unique_flow

    starts = tuple(graph_of(subject, "af" if tensor == "uniform" else tensor).outputs if outputs is None else outputs)
    return subject.memo.get(
        ("flow", tensor, rule, starts), lambda: unique_flow(network_of(subject, tensor, list(starts)), rule)
    )


def uniform_flow(subject: Explained, rule: FlowRule, outputs: list[int]) -> tuple[FloatArray, float]:
    """What arrives at each token, (T,), when attention knows the mask alone, and the share of it that may lie elsewhere: 0
    where the flow is solved; that of a long text is carried over from short ones where that loses little."""
    even = uniform_of(subject)
    if rule == "barrier" and not isinstance(even, AttentionStack) and even[:, np.tri(even.shape[1], dtype=bool)].all():
        carried = continued_credit(len(even), even.shape[1], tuple(outputs))
        if carried is not None:
            return carried.credit, carried.error
    return solve_flow(subject, "uniform", rule, outputs).demand, 0.0


def beside_uniform(credit: Attribution, even: FloatArray, error: float = 0.0) -> Attribution:
    """The credit, with that of uniform attention under the same mask, (n,), and how far apart the two are.

    `uniform_distance` is the share of the credit that lies elsewhere (total variation), `uniform_rank_correlation`
    Spearman's; it is left out where one of the two has no order. `uniform_error` is the share that the baseline itself may
    be off, where it was not solved.
    """
    if not (credit.credit.sum() > 0 and even.sum() > 0):
        return credit
    mine, mask = credit.credit / credit.credit.sum(), even / even.sum()
    found: dict[str, object] = {"uniform": even, "uniform_distance": float(np.abs(mine - mask).sum() / 2)}
    places = [tied(shares, blur(float(shares.max()), SINGLE)) for shares in (mine, mask)]
    if places[0].any() and places[1].any():
        found["uniform_rank_correlation"] = float(rank_correlation(*places))
    if error:
        found["uniform_error"] = error
    return replace(credit, certificate={**credit.certificate, **found})


def on_the_mask(attributions: Mapping[str, Attribution]) -> Iterator[Note]:
    """How far readings of causal attention are from what the mask alone gives, a warning where that is not far; and where
    nothing flows."""
    apart: list[str] = []
    error = max((credit.certificate.get("uniform_error", 0.0) for credit in attributions.values()), default=0.0)
    for name, credit in attributions.items():
        if credit.total == 0 and "max_flow" in credit.certificate:
            nothing = f"{name}: nothing flows, because no path of positive weights leads from the output to the input."
            yield Note(NoteKind.REMARK, nothing)
        distance = credit.certificate.get("uniform_distance")
        if distance is None:
            continue
        order = credit.certificate.get("uniform_rank_correlation")
        measured = f"{distance:.0%} of its credit lies elsewhere" + ("" if order is None else f", rank correlation {order:.2f}")
        if distance <= SAME_CREDIT or (order is not None and order >= SAME_ORDER):
            close = f"{name} is close to {UNIFORM} ({measured}): it shows the mask more than the model."
            yield Note(NoteKind.WARNING, close)
        else:
            apart.append(f"{name} ({measured})")
    if apart:
        yield Note(NoteKind.REMARK, f"Compared with {UNIFORM}: {', '.join(apart)}.")
    if error:
        yield Note(
            NoteKind.REMARK,
            f"The flow of uniform attention was carried over from shorter texts: about {error:.1%} of its credit may lie "
            "elsewhere.",
        )


def draw_flow(subject: Explained, chosen: ChosenMethod) -> FlowPicture | None:
    """The flow of a method edge by edge and a minimum cut; None where nothing flows.

    The Shapley rule shares without choosing edges: its drawing is the barrier's.
    """
    return subject.memo.get(("drawing", chosen.name), lambda: _draw(subject, chosen))


def _draw(subject: Explained, chosen: ChosenMethod) -> FlowPicture | None:
    from accredit.attention import flow_report

    tensor = chosen.parameters["tensor"]
    graph, flow = graph_of(subject, tensor), solve_flow(subject, tensor, DRAWN[chosen.method.name])
    if not flow.value > 0:
        return None
    network = network_of(subject, tensor)
    settings = flow_options(tensor) | {"outputs": graph.outputs, "intervals": network.tokens <= REPORTED}
    pairs = max(1, int(PAIRS * min(1.0, PAIRED / network.tokens) ** 2))
    report = flow_report(graph.attention, pairs=pairs, trials=0, flow=flow, **settings)
    notes: list[Note | str] = [*report.notes]
    if chosen.method.name == "flow-shapley":
        notes.append("The drawing shows the barrier's flow: the Shapley rule shares without choosing edges.")
    if isinstance(graph.attention, AttentionStack):
        source = int((~graph.attention.carried[0]).sum())
        notes.append(
            f"One graph: layers 1–{int((~graph.attention.carried[:, 0]).sum())} are the encoder's, the others the decoder's; "
            f"the first {source} tokens are the source, and a token passes the layers of the other part as it is."
        )
    names, members = columns(graph, flow.demand)
    return picture(network, flow, chosen.name, names, members, check_notes(notes))


def columns(graph: AttentionGraph, arriving: FloatArray) -> tuple[tuple[str, ...], BoolArray]:
    """Names of the columns of a drawing, and which tokens each holds: (C, T)."""
    count = len(graph.owner)
    if count <= COLUMNS:
        return graph.shown, np.eye(count, dtype=bool)
    owners = graph.owner
    if len(graph.everyone) > COLUMNS:
        reached = graph.by_player(arriving)
        reached[graph.owner[graph.outputs]] = np.inf  # where the flow starts must stay visible
        kept = np.sort(np.argsort(-reached, kind="stable")[: COLUMNS - 1])
    else:
        kept = np.arange(len(graph.everyone))
    members = owners[None, :] == kept[:, None]
    names = [graph.everyone[k] for k in kept.tolist()]
    if len(kept) < len(graph.everyone):
        members = np.vstack([members, ~members.any(axis=0)])
        names.append(OTHERS)
    order = np.argsort([np.flatnonzero(row)[0] for row in members[: len(kept)]], kind="stable").tolist()
    order += list(range(len(kept), len(names)))
    return tuple(names[k] for k in order), members[order]


def picture(
    network: LayeredNetwork, flow: Flow, method: str, names: tuple[str, ...], members: BoolArray, notes: tuple[Note, ...]
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
