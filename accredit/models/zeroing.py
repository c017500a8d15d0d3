r"""Value zeroing (Mohebbi et al., 2023): what a block makes of token i when it cannot read the value of token j.

In each layer the value vector of token j is set to 0, the attention weights stay, and the block is run again. With $x_i$ what
it gave for token i and $x_i^{\neg j}$ what it gives now, $C_{ij} = 1 - \cos(x_i, x_i^{\neg j})$; rows are divided by their sum.
A decoder's block that also reads an encoder has two kinds of values, of its own tokens and of source tokens: each is zeroed in
turn, and the row over both is divided by its sum. Blocks are run in float32 at least: 1 − cos is lost in fewer digits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.models.attention import attention_kernel, check_same
from accredit.models.blocks import blocks_of, decoder_blocks_of
from accredit.models.state import still

if TYPE_CHECKING:
    from transformers import PreTrainedModel


KERNEL = "accredit_value_zeroing"
TOKENS_PER_PASS = 2048  # tokens of one pass through a block
Call = tuple[tuple[object, ...], dict[str, object]]  # what a block was given


@dataclass
class _Kept:
    """The values that a block may read, (B, tokens), in the order in which its attentions ask: its own, then an encoder's."""

    masks: tuple[torch.Tensor, ...]
    asked: list[int] = field(default_factory=list)  # how many values there were, each time


_kept: ContextVar[_Kept | None] = ContextVar("values that are not zeroed", default=None)


def context_mixing(model: PreTrainedModel, forward: Callable[[], torch.Tensor]) -> dict[str, FloatArray]:
    """How much token i of each block's output changes without the value of token j, rows summing to 1: {"self": (L, T, T)};
    of an encoder–decoder "encoder" (Lₑ, S, S), "decoder" (L_d, P, P) and "cross" (L_d, P, S), the last two together.

    `forward` runs the model on one input and gives its outputs. One pass, and a pass through each block for each value.
    """
    encodes = bool(getattr(model.config, "is_encoder_decoder", False))
    blocks = blocks_of(model)
    above = decoder_blocks_of(model) if encodes else []
    if not blocks or (encodes and not above):
        raise InvalidInput(
            f"the blocks of {type(model).__name__} cannot be found; use integrated-gradients or a game", code="unsupported"
        )
    with still(model), torch.no_grad():
        said = forward()
        with _zeroing_kernel(model):
            calls, now = _calls([*blocks, *above], forward)
            check_same(model, said, now)
            below = np.stack([_mixing(block, *calls[block])[0] for block in blocks])
            if not encodes:
                return {"self": below}
            own, cross = zip(*(_mixing(block, *calls[block]) for block in above), strict=True)
    return {"encoder": below, "decoder": np.stack(own), "cross": np.stack(cross)}


@contextmanager
def _zeroing_kernel(model: PreTrainedModel) -> Iterator[None]:
    """The model's eager attention, with values zeroed as `_kept` says."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(KERNEL, _attend)
    AttentionMaskInterface.register(KERNEL, eager_mask)
    with attention_kernel(model, KERNEL):
        yield


def _attend(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *args: object, **kwargs: object
) -> tuple[torch.Tensor, torch.Tensor | None]:
    own = sys.modules[type(module).__module__].eager_attention_forward
    kept = _kept.get()
    if kept is not None:
        if len(kept.asked) < len(kept.masks):
            value = value * kept.masks[len(kept.asked)][:, None, :, None].to(value)
        kept.asked.append(value.shape[2])
    attended: tuple[torch.Tensor, torch.Tensor | None] = own(module, query, key, value, *args, **kwargs)
    return attended


def _calls(
    blocks: list[torch.nn.Module], forward: Callable[[], torch.Tensor]
) -> tuple[dict[torch.nn.Module, Call], torch.Tensor]:
    """What every block was given in one pass; and the outputs of the pass."""
    found: dict[torch.nn.Module, Call] = {}

    def keep(block: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        found[block] = args, kwargs

    with ExitStack() as stack:
        for block in blocks:
            stack.callback(block.register_forward_pre_hook(keep, with_kwargs=True).remove)
        outputs = forward()
    if len(found) != len(blocks):
        raise InvalidInput(
            "some blocks of this model take no part in its pass, so value zeroing cannot follow it", code="unsupported"
        )
    return found, outputs


def _mixing(block: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[FloatArray, ...]:
    """What moves token i of a block's output: values of its own tokens, (T, T), then of an encoder, (T, S), if it reads one."""
    hidden = _wide(args[0] if args else kwargs["hidden_states"])
    args, kwargs = tuple(map(_wide, args[1:])), {name: _wide(value) for name, value in kwargs.items()}
    assert isinstance(hidden, torch.Tensor)
    kwargs.pop("hidden_states", None)
    with _in_float32(block):
        plain, counts = _run(block, hidden, (), args, kwargs)
        if not counts or counts[0] != hidden.shape[1] or len(counts) > 2:
            raise InvalidInput(
                f"{type(block).__name__} reads its values in a way of its own, so they cannot be zeroed; use "
                "integrated-gradients or a game such as shapley",
                code="unsupported",
            )
        distance = np.concatenate([_move(block, hidden, plain, counts, k, args, kwargs) for k in range(len(counts))], 1)
    sums = distance.sum(axis=1, keepdims=True)
    itself = np.eye(len(distance), distance.shape[1])
    return tuple(np.split(np.where(sums > 0, distance / np.where(sums > 0, sums, 1.0), itself), counts[:1], axis=1))[
        : len(counts)
    ]


def _move(
    block: torch.nn.Module,
    hidden: torch.Tensor,
    plain: torch.Tensor,
    counts: list[int],
    kind: int,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> FloatArray:
    """Cosine distances by which each token moves, (T, values), when one value of a kind is zeroed."""
    tokens, moved = hidden.shape[1], []
    for rows in torch.split(torch.eye(counts[kind], device=hidden.device), max(1, TOKENS_PER_PASS // max(tokens, *counts))):
        kept = tuple(1 - rows if k == kind else torch.ones((1, count)).to(rows) for k, count in enumerate(counts))
        zeroed, _ = _run(block, hidden.expand(len(rows), -1, -1), kept, args, kwargs)
        moved.append(1 - torch.cosine_similarity(zeroed.double(), plain.double(), dim=-1))
    distance = torch.cat(moved).T.cpu().numpy()  # (i, j)
    distance[distance <= max(64 * torch.finfo(plain.dtype).eps ** 2, 1e-15)] = 0  # rounding: 1 − cos is quadratic in it
    return np.asarray(distance)


def _run(
    block: torch.nn.Module,
    hidden: torch.Tensor,
    kept: tuple[torch.Tensor, ...],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> tuple[torch.Tensor, list[int]]:
    """What a block makes of rows (B, T, D) when it reads only the values that are `kept`, and how many values it asked for."""
    state = _Kept(kept)
    token = _kept.set(state)
    try:
        output = block(hidden, *args, **kwargs)
    finally:
        _kept.reset(token)
    return (output[0] if isinstance(output, tuple) else output), state.asked


@contextmanager
def _in_float32(block: torch.nn.Module) -> Iterator[None]:
    """Inside, weights with fewer digits are float32; afterwards they are what they were, to the last bit."""
    held = [x for x in (*block.parameters(), *block.buffers()) if x.dtype in (torch.float16, torch.bfloat16)]
    before = [x.data for x in held]
    for x in held:
        x.data = x.data.float()
    try:
        yield
    finally:
        for x, data in zip(held, before, strict=True):
            x.data = data


def _wide(value: object) -> object:
    """What a block is given, in float32 at least, and without a cache: run again, it must not read what it wrote before."""
    from transformers.cache_utils import Cache

    if isinstance(value, tuple):
        return tuple(map(_wide, value))
    if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    return None if isinstance(value, Cache) else value
