"""Value zeroing as a method of `explain`."""

from __future__ import annotations

from typing import Any, cast

import torch

from accredit.attention import rollout
from accredit.core import Attribution, InvalidInput
from accredit.explanation.answers import AnswerSubject
from accredit.explanation.attention import scored
from accredit.explanation.subject import Subject
from accredit.models.state import device_of
from accredit.models.zeroing import context_mixing


def zeroed(subject: Subject | AnswerSubject) -> Attribution:
    """How far the output positions move when a token's value is not read, multiplied through the layers."""
    model: Any = subject.model
    with model.held():
        mixing = context_mixing(model.model, lambda: _outputs(subject, model))
    if mixing.shape[1] != len(subject.owner):
        raise InvalidInput(
            f"the blocks read {mixing.shape[1]} tokens and {len(subject.owner)} are explained; use players that are the "
            "model's own tokens or patches"
        )
    return scored(
        cast("Any", subject), rollout(mixing, residual=0.0)[subject.outputs].mean(axis=0), "value zeroing/rollout"
    )


def _outputs(subject: Subject | AnswerSubject, model: Any) -> torch.Tensor:
    """One pass over what the model reads."""
    if isinstance(subject, AnswerSubject):
        ids = torch.from_numpy(subject.ids)[None].to(device_of(model.model))
        logits: torch.Tensor = model.model(input_ids=ids, use_cache=False).logits
        return logits
    outputs: torch.Tensor = model.outputs(model.batch(subject.seen))
    return outputs
