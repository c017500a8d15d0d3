r"""Value zeroing (Mohebbi et al., 2023): what a block makes of token i when it cannot read the value of token j.

In each layer the value vector of token j is set to 0, the attention weights stay, and the block is run again. With $x_i$ what
it gave for token i and $x_i^{\neg j}$ what it gives now, $C_{ij} = 1 - \cos(x_i, x_i^{\neg j})$; rows are divided by their sum.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch

from accredit.core import FloatArray, InvalidInput
from accredit.models.attention import attention_kernel, check_same
from accredit.models.blocks import blocks_of
from accredit.models.state import still

KERNEL = "accredit_value_zeroing"
ROWS = 2048  # tokens of one pass through a block
Call = tuple[tuple[Any, ...], dict[str, Any], torch.Tensor]  # what a block was given, and what it made of it
_kept: ContextVar[tuple[torch.Tensor, list[None]] | None] = ContextVar("values that are not zeroed", default=None)


def context_mixing(model: Any, forward: Callable[[], torch.Tensor]) -> FloatArray:
    """How much token i of each block's output changes without the value of token j: (L, T, T), rows summing to 1.

    `forward` runs the model on one input and gives its outputs. One pass, and T passes through each block.
    """
    if getattr(model.config, "is_encoder_decoder", False):
        raise InvalidInput(
            f"{type(model).__name__} has an encoder and a decoder, and value zeroing compares the blocks of one stack; use "
            "integrated-gradients or a game such as shapley"
        )
    blocks = blocks_of(model)
    if not blocks:
        raise InvalidInput(f"the blocks of {type(model).__name__} cannot be told; use integrated-gradients or a game")
    with still(model), torch.no_grad():
        said = forward()
        with _zeroing_kernel(model):
            calls, now = _calls(blocks, forward)
            check_same(model, said, now)
            return np.stack([_mixing(block, *call) for block, call in zip(blocks, calls, strict=True)])


@contextmanager
def _zeroing_kernel(model: Any) -> Iterator[None]:
    """The model's eager attention, with values zeroed as `_kept` says."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(KERNEL, _attended)
    AttentionMaskInterface.register(KERNEL, eager_mask)
    with attention_kernel(model, KERNEL):
        yield


def _attended(module: Any, query: Any, key: Any, value: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    own = sys.modules[type(module).__module__].eager_attention_forward
    kept = _kept.get()
    if kept is not None:
        value = value * kept[0][:, None, :, None].to(value)
        kept[1].append(None)
    return own(module, query, key, value, *args, **kwargs)


def _calls(blocks: list[torch.nn.Module], forward: Callable[[], torch.Tensor]) -> tuple[list[Call], torch.Tensor]:
    """What every block was given and gave, in one pass; and the outputs of the pass."""
    found: dict[torch.nn.Module, Call] = {}

    def keep(block: torch.nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        found[block] = args, kwargs, _hidden(output)

    with ExitStack() as stack:
        for block in blocks:
            stack.callback(block.register_forward_hook(keep, with_kwargs=True).remove)
        outputs = forward()
    if len(found) != len(blocks):
        raise InvalidInput("some blocks of this model take no part in its pass, so value zeroing cannot follow it")
    return [found[block] for block in blocks], outputs


def _hidden(output: Any) -> torch.Tensor:
    hidden: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


def _mixing(block: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], plain: torch.Tensor) -> FloatArray:
    hidden = args[0] if args else kwargs["hidden_states"]
    tokens = hidden.shape[1]
    args, kwargs = tuple(map(_uncached, args[1:])), {name: _uncached(value) for name, value in kwargs.items()}
    kwargs.pop("hidden_states", None)
    block_output(
        block, hidden, torch.ones(hidden.shape[:2], device=hidden.device), args, kwargs
    )  # refuses what it cannot do
    moved = []
    for rows in torch.split(torch.eye(tokens, device=hidden.device), max(1, ROWS // tokens)):
        zeroed = block_output(block, hidden.expand(len(rows), -1, -1), 1 - rows, args, kwargs)
        moved.append(1 - torch.cosine_similarity(zeroed.double(), plain.double(), dim=-1))
    distance = torch.cat(moved).T.cpu().numpy()  # (i, j)
    distance[distance <= max(64 * torch.finfo(plain.dtype).eps ** 2, 1e-15)] = 0  # rounding: 1 − cos is quadratic in it
    sums = distance.sum(axis=1, keepdims=True)
    return np.where(sums > 0, distance / np.where(sums > 0, sums, 1.0), np.eye(tokens))


def block_output(
    block: torch.nn.Module, hidden: torch.Tensor, kept: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> torch.Tensor:
    """What a block makes of rows (B, T, D) when it reads only the values that are `kept`, (B, T)."""
    read: list[None] = []
    token = _kept.set((kept, read))
    try:
        output = _hidden(block(hidden, *args, **kwargs))
    finally:
        _kept.reset(token)
    if not read:
        raise InvalidInput(
            f"{type(block).__name__} reads its values in a way of its own, so they cannot be zeroed; use integrated-gradients "
            "or a game such as shapley"
        )
    return output


def _uncached(value: Any) -> Any:
    """No cache: a block that is run again must not read what it wrote before."""
    from transformers.cache_utils import Cache

    return None if isinstance(value, Cache) else value
