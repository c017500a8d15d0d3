"""Readings of attention as methods of `explain`: what `accredit.methods` names for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from accredit.attention import flow_credit, joint_flow, pairwise_flow, raw_attention, rollout
from accredit.core import Attribution, Attributions, Claim, FloatArray, Holds, Procedure
from accredit.errors import MissingExtra
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.flows import beside_uniform, flow_options, solve_flow, uniform_flow
from accredit.explanation.forecast import LONGEST_SECONDS, PRODUCTS_PER_LAYER, announce, product_seconds
from accredit.explanation.graph import AttentionGraph, graph_of, graph_of_parts, uniform_of
from accredit.explanation.subject import Subject
from accredit.flow.solver import simple_max_flow
from accredit.flow.stack import AttentionStack, encoder_decoder
from accredit.flow.unique import FlowRule
from accredit.models.state import device_of
from accredit.models.zeroing import context_mixing

Explained = Subject | AnswerSubject
SCORE_CLAIMS = (
    Claim("efficiency", Holds.NO, "attention divides nothing: its numbers rank tokens, they do not share the output"),
    Claim("symmetry", Holds.NO, "two tokens with the same effect on the output may be read with different weights"),
    Claim("null player", Holds.NO, "a token that never changes the output may still be attended to"),
    Claim("linearity", Holds.NO, "scores for a sum of payoffs are not the sum of their scores"),
)
ANNOUNCED = 256  # tokens from which a flow takes long enough to be announced
FLOWS = 1_000_000  # (targets × tokens²) up to which every sentence and token of an answer gets a flow of its own


def ready(subject: Explained, tensor: str = "af") -> None:
    """Read the attention that all these methods share, and where the output is read; for a flow, load its solver. None of
    this is a method's own time."""
    graph_of(subject, tensor)
    with suppress(MissingExtra):  # a method that needs it says so itself
        simple_max_flow()


# Scores. An answer's sentences and tokens are read from their own positions, all at once


def last_layer(subject: Explained, tensor: str) -> Attribution | Attributions:
    """Weights with which the last layer's output positions read every token."""
    graph = graph_of(subject, tensor)
    weights = raw_attention(graph.attention)
    return for_each(subject, graph, lambda out: score(graph, weights[out].mean(axis=0), Procedure("attention", "last layer")))


def roll_out(subject: Explained, tensor: str) -> Attribution | Attributions:
    """Weights multiplied through the layers, half of each layer being its residual."""
    graph = graph_of(subject, tensor)
    walked = rollout(graph.attention)
    even = rollout(uniform_of(subject)) if graph.causal else None

    def one(outputs: list[int]) -> Attribution:
        credit = score(graph, walked[outputs].mean(axis=0), Procedure("rollout", settings={"residual": 0.5}))
        return credit if even is None else beside_uniform(credit, graph.by_player(even[outputs].mean(axis=0)))

    return for_each(subject, graph, one)


def pairwise(subject: Explained, tensor: str) -> Attribution | Attributions:
    """A separate max flow from every output position to every token."""
    graph = graph_of(subject, tensor)
    flows = pairwise_flow(graph.attention, outputs=graph.outputs, **flow_options(tensor))
    row = {out: k for k, out in enumerate(graph.outputs)}
    return for_each(
        subject, graph, lambda out: score(graph, flows[[row[k] for k in out]].mean(axis=0), Procedure("pairwise-flow", tensor))
    )


def score(dealt: AttentionGraph | Explained, tokens: FloatArray, method: Procedure) -> Attribution:
    """Scores of the model's tokens, (T,), summed over each player's tokens."""
    return Attribution(dealt.everyone, dealt.by_player(tokens), None, method, SCORE_CLAIMS)


# One flow from the positions that the output is read from down to the input, shared among everyone


def barrier_flow(subject: Explained, tensor: str) -> Attribution | Attributions:
    """The flow at the analytic centre of all max flows."""
    return _credit(subject, tensor, "barrier")


def least_squares_flow(subject: Explained, tensor: str) -> Attribution | Attributions:
    """The max flow of least squares."""
    return _credit(subject, tensor, "l2")


def _credit(subject: Explained, tensor: str, rule: FlowRule) -> Attribution | Attributions:
    graph = graph_of(subject, tensor)
    _announce_flow(subject, graph, rule)

    def one(outputs: list[int]) -> Attribution:
        credit = flow_credit(solve_flow(subject, tensor, rule, outputs), groups=graph.groups)
        return _against_the_mask(subject, graph, credit, rule, outputs)

    return for_each(subject, graph, one, most=FLOWS)


def shapley_flow(subject: Explained, tensor: str) -> Attribution | Attributions:
    """The Shapley value of the game in which coalitions of tokens re-route the flow."""
    graph = graph_of(subject, tensor)
    _announce_flow(subject, graph, "barrier")
    settings = flow_options(tensor) | {"groups": graph.groups, "seed": subject.seed}
    credit = joint_flow(graph.attention, outputs=graph.outputs, rule="shapley", **settings)
    return _tell(_against_the_mask(subject, graph, credit, "barrier", graph.outputs), graph)


def _against_the_mask(
    subject: Explained, graph: AttentionGraph, credit: Attribution, rule: FlowRule, outputs: list[int]
) -> Attribution:
    """The credit, and beside it that of uniform attention under the same causal mask."""
    if not graph.causal:
        return credit
    even, error = uniform_flow(subject, rule, outputs)
    players = dict(zip(graph.everyone, graph.by_player(even).tolist(), strict=True))
    return beside_uniform(credit, np.array([players[name] for name in credit.players]), error)


def _announce_flow(subject: Explained, graph: AttentionGraph, rule: FlowRule) -> None:
    """Say what the flow of an answer, and that of its mask, will take; refuse what takes too long."""
    tokens = len(graph.owner)
    if not isinstance(subject, AnswerSubject) or tokens < ANNOUNCED:
        return
    layers = len(graph.attention.carried) if isinstance(graph.attention, AttentionStack) else len(graph.attention)
    steps = {"barrier": 1, "l2": 2}.get(rule, 2) * PRODUCTS_PER_LAYER
    announce(
        f"flow through {layers} layers of {tokens:,} tokens",
        (1 + graph.causal) * layers * steps * product_seconds(tokens),
        LONGEST_SECONDS,
        "look at some layers (layers=[…]), explain a shorter prompt, or use attn-lrp, which takes one pass",
    )


def for_each(
    subject: Explained, graph: AttentionGraph, one: Callable[[list[int]], Attribution], most: float = float("inf")
) -> Attribution | Attributions:
    """The credit from all output positions together; of an answer also from those of each sentence and token, unless that
    would cost too much."""
    whole = _tell(one(graph.outputs), graph)
    if not isinstance(subject, AnswerSubject) or len(subject.games.outputs) < 2:
        return whole
    if len(subject.games.outputs) * len(graph.owner) ** 2 > most:
        return whole
    targets = zip(subject.games.outputs, subject.games.where, strict=True)
    some: dict[str, Any] = {name: [graph.outputs[k] for k in where.tolist()] for name, where in targets}
    return Attributions({k: whole if v == graph.outputs else _tell(one(v), graph) for k, v in some.items()})


def _tell(credit: Attribution, graph: AttentionGraph) -> Attribution:
    """The credit, with the heads and layers that it rests on."""
    return replace(credit, provenance={**credit.provenance, **graph.chosen})


def zero(subject: Subject | AnswerSubject) -> Attribution | Attributions:
    """How far the output positions move when a token's value is not read, multiplied through the layers."""
    model: Any = subject.model
    with model.hold():
        if isinstance(subject, AnswerSubject):
            _announce(subject)
        parts = context_mixing(model.model, lambda: _outputs(subject, model))
    joined = encoder_decoder(**parts, share=1.0) if "cross" in parts else parts["self"]
    graph = graph_of_parts(subject, parts, joined, {"layers": f"all {len(joined)}"})
    walked = rollout(joined, residual=0.0)
    return for_each(subject, graph, lambda out: score(graph, walked[out].mean(axis=0), Procedure("value zeroing", "rollout")))


def _announce(subject: AnswerSubject) -> None:
    """Say what a pass through every layer for every token will take; refuse what takes too long."""
    began = time.process_time()
    with torch.no_grad():
        _outputs(subject, subject.model)
    each, tokens = time.process_time() - began, len(subject.owner) + len(subject.decoder_ids)
    instead = "use attn-lrp, which takes one pass, or shorten the prompt"
    announce(f"value zeroing of {tokens:,} tokens", each * tokens, LONGEST_SECONDS, instead)


def _outputs(subject: Subject | AnswerSubject, model: Any) -> torch.Tensor:
    """One pass over what the model reads."""
    if not isinstance(subject, AnswerSubject):
        outputs: torch.Tensor = model.outputs(model.batch(subject.seen))
        return outputs
    device = device_of(model.model)
    given = {"input_ids": torch.from_numpy(subject.ids)[None].to(device), "use_cache": False}
    if model.encodes:
        given["decoder_input_ids"] = torch.from_numpy(subject.decoder_ids)[None].to(device)
    logits: torch.Tensor = model.model(**given).logits
    return logits
