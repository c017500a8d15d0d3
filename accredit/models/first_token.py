"""The last block of a BERT-like encoder at its first token alone, which is all that a classifier reads of it.

Keys and values are still those of every token. Queries, the output of attention and the feed-forward layer are computed at one
token, which leaves about a sixth of the block's work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from accredit.models.blocks import blocks_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.models.bert.modeling_bert import BertAttention


@contextmanager
def first_token_only(model: PreTrainedModel) -> Iterator[None]:
    """Inside, the last block gives (B, 1, D) instead of (B, T, D); whether the model's output stays the same is for the
    caller to try. Nothing changes where the block is not built as BERT's."""
    attention = _last_attention(model)
    if attention is None:
        yield
        return

    def forward(hidden: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: object) -> tuple[torch.Tensor, None]:
        read, inner = hidden[:, :1], attention.self
        query, key, value = (
            _by_head(vectors, inner.attention_head_size)
            for vectors in (inner.query(read), inner.key(hidden), inner.value(hidden))
        )
        mask = None if attention_mask is None else attention_mask[:, :, :1]
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=inner.scaling)
        return attention.output(mixed.transpose(1, 2).flatten(2), read), None

    attention.forward = forward  # on the instance, which hides the method of its class
    try:
        yield
    finally:
        del attention.forward


def _last_attention(model: PreTrainedModel) -> BertAttention | None:
    """The attention of the last block, if it is BERT's and as its class made it."""
    blocks = blocks_of(model)
    attention = getattr(blocks[-1], "attention", None) if blocks else None
    inner = getattr(attention, "self", None)
    parts = [getattr(inner, name, None) for name in ("query", "key", "value")] + [getattr(attention, "output", None)]
    built = all(isinstance(part, torch.nn.Module) for part in parts) and hasattr(inner, "scaling")
    return attention if built and "forward" not in vars(attention) and "forward" not in vars(inner) else None


def _by_head(vectors: torch.Tensor, size: int) -> torch.Tensor:
    """(B, T, H·size) -> (B, H, T, size)."""
    return vectors.view(*vectors.shape[:2], -1, size).transpose(1, 2)
