"""Attention read layer by layer, the heads of each combined at once: all heads of all layers are never held together.

`af` is the attention α itself. `norm` is ‖α·v‖ = α·‖v‖: each weight times the length of the value vector that it carries, of
its own head and before the output projection (after Kobayashi et al., 2020). `gf` and `agf` are the positive parts of the
payoff's slope in each weight, and of weight times slope; they need a backward pass, so all heads of all layers are held then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard, overload

import numpy as np
import torch

from accredit.checks import real_numbers
from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.models.attention import (
    FIELDS,
    ROW_SUM_TOLERANCE,
    Forward,
    attention_kernel,
    check_has_attention,
    check_rows,
    check_same,
)
from accredit.models.state import still

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.utils import ModelOutput


TENSORS = ("af", "norm", "gf", "agf")
READING_BYTES = 4 << 30  # bytes that reading may need at its peak
EAGER = 4  # copies of one layer's weights that the eager kernel makes
VALUED = "accredit_valued"  # the name of the kernel that weighs attention by value vectors


@dataclass(frozen=True)
class Heads:
    """How the heads of a layer become one matrix: their mean, their maximum, one of them, or a weighted mean.

    >>> str(Heads.of("max")), str(Heads.of(3)), str(Heads.of([1, 3]))
    ('maximum of heads', 'head 3', 'heads weighted 0.25, 0.75')
    """

    rule: str  # mean, max, one or weighted
    weights: tuple[float, ...] = ()  # of the heads; of one, its number

    @classmethod
    def of(cls, heads: object) -> Heads:
        """The heads that somebody asked for: "mean", "max", a number, or one weight for each head."""
        if isinstance(heads, Heads):
            return heads
        if isinstance(heads, str) and heads in ("mean", "max"):
            return cls(heads)
        if isinstance(heads, int | np.integer) and not isinstance(heads, bool) and heads >= 0:
            return cls("one", (float(heads),))
        try:
            weights = None if isinstance(heads, str) else real_numbers(heads, "heads")
        except InvalidInput:
            weights = None
        if weights is None or weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise InvalidInput(
                f"heads is {heads!r:.60}; write 'mean', 'max', the number of one head (0 is the first), or one weight for each "
                "head that is not negative",
                argument="heads",
                code="type",
            )
        return cls("weighted", tuple((weights / weights.sum()).tolist()))

    def __str__(self) -> str:
        if self.rule in ("mean", "max"):
            return "mean of heads" if self.rule == "mean" else "maximum of heads"
        if self.rule == "one":
            return f"head {int(self.weights[0])}"
        return f"heads weighted {', '.join(f'{w:.3g}' for w in self.weights)}"

    def combine(self, heads: Sequence[torch.Tensor]) -> torch.Tensor:
        """Heads (T, S) of one layer as one matrix in double precision, added one by one."""
        if self.rule == "one":
            if not self.weights[0] < len(heads):
                raise InvalidInput(
                    f"heads is {int(self.weights[0])}; these layers have heads 0 … {len(heads) - 1}",
                    argument="heads",
                    code="range",
                )
            return heads[int(self.weights[0])].double()
        if self.rule == "weighted" and len(self.weights) != len(heads):
            raise InvalidInput(
                f"heads gives {len(self.weights)} weights, and these layers have {len(heads)} heads",
                argument="heads",
                code="shape",
            )
        shares = self.weights or (1 / len(heads),) * len(heads)
        found = torch.zeros_like(heads[0], dtype=torch.float64)
        for head, share in zip(heads, shares, strict=True):
            found = torch.maximum(found, head) if self.rule == "max" else found.add_(head, alpha=share)
        return found


@dataclass(frozen=True, eq=False)
class Read:
    """Attention of one pass by part ("self", or "encoder", "decoder" and "cross"), heads combined: (L, queries, keys) each."""

    parts: dict[str, FloatArray]


class _Combining:
    """Combines heads while a model runs, and remembers which tensors it has made."""

    def __init__(self, heads: Heads) -> None:
        self.heads, self.made = heads, list[torch.Tensor]()

    def weights(self, weights: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        """(1, H, T, S) -> (1, 1, T, S), each head times `lengths` (H, S) of what it reads."""
        heads = list(weights[0]) if lengths is None else _Scaled(weights[0], lengths)
        self.made.append(self.heads.combine(heads)[None, None])
        return self.made[-1]

    def knows(self, weights: torch.Tensor) -> bool:
        return any(weights is made for made in self.made)

    def hook(self, _module: torch.nn.Module, _given: object, output: object) -> tuple[object, ...] | None:
        """In a module's output, attention of many heads gives way to one matrix before anybody keeps it."""
        if not isinstance(output, tuple):
            return None
        parts = tuple(self.weights(x) if not self.knows(x) and _is_attention(x) else x for x in output)
        return parts if any(a is not b for a, b in zip(parts, output, strict=True)) else None


class _Scaled(Sequence[torch.Tensor]):
    """Heads times the lengths of the value vectors that they read, made one at a time."""

    def __init__(self, heads: torch.Tensor, lengths: torch.Tensor) -> None:
        self.heads, self.lengths = heads, lengths

    def __len__(self) -> int:
        return len(self.heads)

    @overload
    def __getitem__(self, k: int) -> torch.Tensor: ...
    @overload
    def __getitem__(self, k: slice) -> list[torch.Tensor]: ...
    def __getitem__(self, k: int | slice) -> torch.Tensor | list[torch.Tensor]:
        scaled = self.heads[k] * self.lengths[k]
        return list(scaled) if isinstance(k, slice) else scaled


def _is_attention(x: object) -> TypeGuard[torch.Tensor]:
    """Weights of one text, whose rows sum to 1. (T5 hands on its position biases beside them.)"""
    if not isinstance(x, torch.Tensor) or x.ndim != 4 or len(x) != 1 or not x.is_floating_point():
        return False
    off = (x.sum(dim=-1, dtype=torch.float64) - 1).abs().max()
    return bool(off <= ROW_SUM_TOLERANCE.get(x.dtype, 2e-2)) and bool(x.min() >= 0)


def read_attention(
    model: PreTrainedModel,
    forward: Forward,
    tensor: str,
    heads: Heads,
    payoff: Callable[[ModelOutput], torch.Tensor],
    tokens: int,
    memory: float = READING_BYTES,
) -> Read:
    """One tensor of TENSORS in one pass over up to `tokens` tokens. `forward` runs the model and takes `output_attentions`;
    `payoff` reads its output, for gradients. What would need more than `memory` bytes is refused before it begins."""
    if tensor not in TENSORS:
        raise InvalidInput(f"tensor is {tensor!r}; write one of {', '.join(TENSORS)}", argument="tensor", code="unknown")
    check_has_attention(model)
    _check_memory(model, tensor, tokens, memory)
    with still(model), torch.no_grad():
        said = forward()
    if tensor in ("gf", "agf"):
        return _by_slopes(model, forward, tensor, heads, payoff, said)
    combining = _Combining(heads)
    kernel = _hook(model, combining) if tensor == "af" else _value(model, combining)
    with still(model), torch.no_grad(), kernel:
        output = forward(output_attentions=True)
    check_same(model, said.logits, output.logits)
    found = {
        part: [w if combining.knows(w) else _late(w, tensor, combining, model) for w in weights]
        for part, weights in _parts(model, output).items()
    }
    del output
    combining.made.clear()
    return Read({part: _stack(weights, rows=tensor == "af") for part, weights in found.items()})


def _late(weights: torch.Tensor, tensor: str, combining: _Combining, model: PreTrainedModel) -> torch.Tensor:
    """Weights that no module handed out as they were made: of plain attention the heads are combined now."""
    if tensor == "norm":
        raise InvalidInput(
            f"{type(model).__name__} does not show the values that its attention reads, which the tensor 'norm' needs; use "
            "'af', 'gf' or 'agf'",
            code="unsupported",
        )
    check_rows((weights,))
    return combining.weights(weights)


def _by_slopes(
    model: PreTrainedModel,
    forward: Forward,
    tensor: str,
    heads: Heads,
    payoff: Callable[[ModelOutput], torch.Tensor],
    said: ModelOutput,
) -> Read:
    with still(model), attention_kernel(model, "eager"), torch.enable_grad():
        output = forward(output_attentions=True)
        parts = _parts(model, output)
        check_same(model, said.logits, output.logits.detach())
        every = [w for weights in parts.values() for w in weights]
        check_rows(tuple(every))
        if not all(w.requires_grad for w in every):
            raise InvalidInput(
                f"{type(model).__name__} detaches its attentions, so they have no gradient; use 'af'", code="unsupported"
            )
        slopes = torch.autograd.grad(payoff(output).sum(), every, allow_unused=True, materialize_grads=True)
    combined = iter(
        heads.combine([_positive(h, g, tensor) for h, g in zip(w[0].detach(), slope[0], strict=True)])[None, None]
        for w, slope in zip(every, slopes, strict=True)
    )
    return Read({part: _stack([next(combined) for _ in weights], rows=False) for part, weights in parts.items()})


def _positive(head: torch.Tensor, slope: torch.Tensor, tensor: str) -> torch.Tensor:
    return (slope if tensor == "gf" else head * slope).clamp(min=0)


def _parts(model: PreTrainedModel, output: ModelOutput) -> dict[str, list[torch.Tensor]]:
    """The attentions of an output by part, L tensors (1, H, T, S) each; encoder–decoders have three."""
    found = {part: list(getattr(output, field, None) or ()) for part, field in FIELDS.items()}
    wanted = ("encoder", "decoder", "cross") if found["cross"] and found["encoder"] else ("self",)
    if wanted == ("self",) and not found["self"]:
        wanted = ("encoder",)
    parts = {part: found[part] for part in wanted}
    if any(not weights or any(w is None for w in weights) for weights in parts.values()):
        raise InvalidInput(
            f"{type(model).__name__} returned no attentions (kernel {model.config._attn_implementation!r}); load it "
            "with from_pretrained(..., attn_implementation='eager'), or explain it by a game or by gradients",
            code="unsupported",
        )
    for weights in parts.values():
        shapes = sorted({tuple(w.shape[-2:]) for w in weights})
        if len(shapes) > 1 or any(w.ndim != 4 for w in weights):
            raise InvalidInput(
                f"attentions of {type(model).__name__} differ in shape between layers, {shapes}, so they cannot form one graph",
                code="unsupported",
            )
    return parts


def _stack(weights: list[torch.Tensor], rows: bool) -> FloatArray:
    """L matrices as one array (L, T, S), each let go as it is copied; with `rows`, every row is divided by its sum."""
    found: FloatArray = np.empty((len(weights), *weights[0].shape[-2:]))
    for layer in range(len(weights)):
        one = weights[layer][0, 0].detach().double().cpu().numpy()
        weights[layer] = torch.empty(0)
        np.divide(one, one.sum(axis=1, keepdims=True) if rows else 1.0, out=found[layer])
    return found


# Memory


def _check_memory(model: PreTrainedModel, tensor: str, tokens: int, memory: float) -> None:
    """Refuse what will not fit, from the model's configuration."""
    config = model.config.get_text_config()
    heads, layers = (  # some models of pictures have a list, one number for each stage
        int(np.max(getattr(config, name, None) or 1)) for name in ("num_attention_heads", "num_hidden_layers")
    )
    layers *= 3 if getattr(config, "is_encoder_decoder", False) else 1  # encoder, decoder and cross-attention
    needed = reading_bytes(layers, heads, tokens, tensor)
    if needed <= memory:
        return
    slopes = tensor in ("gf", "agf")
    raise InvalidInput(
        f"the attention of {tokens:,} tokens in {layers} layers of {heads} heads needs about {needed / 2**30:.1f} GiB"
        f"{' with its gradients' * slopes}, and {memory / 2**30:.1f} GiB are allowed; "
        + ("use flow or flow:norm, which keep one layer at a time, or shorten the text" if slopes else "shorten the text"),
        code="too-many",
    )


def reading_bytes(layers: int, heads: int, tokens: int, tensor: str = "af") -> float:
    """Bytes at the peak of reading: one layer at a time, or for gradients all of them with their slopes.

    >>> round(reading_bytes(32, 32, 2000) / 2**30, 1), round(reading_bytes(32, 32, 2000, "gf") / 2**30)
    (2.9, 47)
    """
    one, kept = 4.0 * heads * tokens**2, 8.0 * layers * tokens**2
    return kept + (3 * layers * one if tensor in ("gf", "agf") else EAGER * one)


# Kernels


@contextmanager
def _hook(model: PreTrainedModel, combining: _Combining) -> Iterator[None]:
    """The eager kernel, every module's attention combined as it comes out."""
    hooks = [part.register_forward_hook(combining.hook, prepend=True) for part in model.modules()]
    try:
        with attention_kernel(model, "eager"):
            yield
    finally:
        for hook in hooks:
            hook.remove()


_COMBINING: ContextVar[_Combining] = ContextVar("combining")


def _weigh(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    **settings: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A model's own eager kernel; its weights come out times the lengths of the value vectors, heads combined."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise InvalidInput(
            f"{type(module).__name__} does not show the values that its attention reads, which the tensor 'norm' needs; use "
            "'af', 'gf' or 'agf'",
            code="unsupported",
        )
    output, weights = eager(module, query, key, value, mask, **settings)
    lengths = value[0].float().norm(dim=-1)  # (key–value heads, S)
    each = weights.shape[1] // len(lengths)  # query heads that share one under grouped queries
    return output, _COMBINING.get().weights(weights, lengths.repeat_interleave(each, dim=0)[:, None])


@contextmanager
def _value(model: PreTrainedModel, combining: _Combining) -> Iterator[None]:
    """The kernel of `_weigh`, which transformers takes by its name."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(VALUED, _weigh)
    AttentionMaskInterface.register(VALUED, eager_mask)
    token = _COMBINING.set(combining)
    try:
        with attention_kernel(model, VALUED):
            yield
    finally:
        _COMBINING.reset(token)
