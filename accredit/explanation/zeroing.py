"""Value zeroing as a method of `explain`."""

from __future__ import annotations

import time
from typing import Any

import torch

from accredit.attention import rollout
from accredit.core import Attribution, Attributions, Procedure
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.attention import for_each, score
from accredit.explanation.forecast import LONGEST_SECONDS, announce
from accredit.explanation.graph import graph_of_parts
from accredit.explanation.subject import Subject
from accredit.flow.stack import encoder_decoder
from accredit.models.state import device_of
from accredit.models.zeroing import context_mixing


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
