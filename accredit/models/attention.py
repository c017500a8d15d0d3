"""Attention weights of Hugging Face models, whatever kernel they were loaded with.

The fast kernels (SDPA, flash) never form the attention matrix, and transformers then returns an empty tuple without an
error. Here the model is switched to its eager kernel for the call and back, and an empty answer is refused.

What the numbers mean: `attention[l, h, i, j]` is the weight with which query position i reads key position j in head h
of layer l, after softmax and mask, so every row sums to 1. Under grouped-query attention h counts *query* heads;
several share one key–value head. A causal model has zeros above the diagonal. Padding never occurs: texts are captured
one by one. Special tokens are kept, since real weight flows through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.models.state import quiet, still

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.utils import ModelOutput


Forward = Callable[..., "ModelOutput"]  # one pass; takes `output_attentions`
ROW_SUM_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}  # half precision: 2e-2
FIELDS = {
    "self": "attentions",
    "encoder": "encoder_attentions",
    "decoder": "decoder_attentions",
    "cross": "cross_attentions",
}


def check_has_attention(model: object) -> None:
    """Refuse a network of another library, which has neither kernels to choose nor a configuration to read."""
    if not hasattr(model, "set_attn_implementation"):
        raise InvalidInput(
            f"{type(model).__name__} cannot give attentions: only transformers models do; use a game or gradients",
            code="unsupported",
        )


@contextmanager
def attention_kernel(model: PreTrainedModel, kernel: str) -> Iterator[None]:
    """The model with this attention kernel ("eager" is the one that forms the weights); its own is put back."""
    parts = [m for m in model.modules() if hasattr(getattr(m, "config", None), "_attn_implementation")]
    before = [(part.config, part.config._attn_implementation) for part in parts]
    check_has_attention(model)
    try:
        with quiet():
            model.set_attn_implementation(kernel)  # refuses some models (Falcon), whose layers read it from the config
        for config, implementation in before:
            if kernel == "eager" and config._attn_implementation == implementation:
                config._attn_implementation = kernel
        yield
    finally:
        for config, implementation in before:  # outer parts first, so that inner ones keep their own
            config._attn_implementation = implementation


def capture(model: PreTrainedModel, forward: Forward, part: str) -> tuple[ModelOutput, tuple[torch.Tensor, ...]]:
    """The output of `forward` when it is asked for attentions, and L tensors (batch, heads, queries, keys)."""
    output = forward(output_attentions=True)
    weights = getattr(output, FIELDS[part], None)
    given = [name for name, attribute in FIELDS.items() if getattr(output, attribute, None)]
    if not weights and given:
        raise InvalidInput(
            f"part is {part!r}; {type(model).__name__} has the attentions {', '.join(given)}", argument="part", code="unknown"
        )
    if not weights or any(w is None for w in weights):
        raise InvalidInput(
            f"{type(model).__name__} returned no attentions (kernel {model.config._attn_implementation!r}); load it "
            "with from_pretrained(..., attn_implementation='eager'), or explain it by a game or by gradients",
            code="unsupported",
        )
    if any(w.ndim != 4 or w.shape != weights[0].shape for w in weights):
        shapes = sorted({tuple(w.shape) for w in weights})
        raise InvalidInput(
            f"attentions of {type(model).__name__} differ in shape between layers, {shapes}, so they cannot form one graph",
            code="unsupported",
        )
    check_rows(weights)
    return output, tuple(weights)


def check_rows(weights: tuple[torch.Tensor, ...]) -> None:
    tolerance = ROW_SUM_TOLERANCE.get(weights[0].dtype, 2e-2)
    for layer, w in enumerate(weights):
        off = float((w.detach().double().sum(dim=-1) - 1).abs().max())
        if not off <= tolerance:  # also catches NaN
            raise InvalidInput(
                f"attention rows of layer {layer} do not sum to 1 (off by {off:.3g}); each must be a distribution", code="range"
            )


def stack(weights: tuple[torch.Tensor, ...]) -> FloatArray:
    """Layers of one text as one array: L tensors (1, H, T, S) -> (L, H, T, S)."""
    return np.stack([w[0].detach().double().cpu().numpy() for w in weights])


def attention_weights(model: PreTrainedModel, forward: Forward, part: str) -> FloatArray:
    """Attention of one text: (L, H, T, S). `forward` runs the model and takes `output_attentions`."""
    with still(model), torch.no_grad():
        said = forward()
        with attention_kernel(model, "eager"):
            output, weights = capture(model, forward, part)
        check_same(model, said.logits, output.logits)
        return stack(weights)


def check_same(model: object, said: torch.Tensor, now: torch.Tensor) -> None:
    """Weights count only if the forward pass that gave them gives the model's own output."""
    tolerance = 10 * ROW_SUM_TOLERANCE.get(said.dtype, 2e-2) * max(1.0, float(said.abs().max()))
    off = float((said - now).abs().max())
    if not off <= tolerance:
        raise InvalidInput(
            f"{type(model).__name__} gives a different output (by {off:.3g}) when asked for attentions; load it with "
            "from_pretrained(..., attn_implementation='eager'), or explain it by a game or by gradients",
            code="unsupported",
        )


def attention_gradients(
    model: PreTrainedModel,
    forward: Forward,
    payoff: Callable[[ModelOutput], torch.Tensor],
    part: str,
) -> tuple[FloatArray, FloatArray]:
    """Attention of one text, and the slope of the payoff in every weight: two arrays (L, H, T, S).

    The slope treats each weight as free: later layers react to a change, the softmax that made the weight does not. The
    parameters are frozen, so the input must carry gradients: see `tracked`.
    """
    with still(model), torch.no_grad():
        said = forward()
    with still(model), attention_kernel(model, "eager"), torch.enable_grad():
        output, weights = capture(model, forward, part)
        check_same(model, said.logits, output.logits.detach())
        if not all(w.requires_grad for w in weights):
            raise InvalidInput(
                f"{type(model).__name__} detaches its attentions, so they have no gradient; use information='attention'",
                code="unsupported",
            )
        slopes = torch.autograd.grad(payoff(output).sum(), weights, allow_unused=True, materialize_grads=True)
        return stack(weights), stack(slopes)
