"""Less work in the first and the last block of a BERT-like encoder, the output unchanged.

*First block*: until attention mixes positions, each position of a text has two values: its token, or what stands for it once it
has left. Embeddings, queries, keys and values of both are computed once, and every coalition takes its own from the table. In a
small BERT this is a twelfth of the work.

*Last block*: a classifier reads its first token alone. Keys and values are still those of every token; queries, the output of
attention and the feed-forward layer are computed at one token, which leaves about a sixth of the block's work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from accredit.errors import InvalidInput
from accredit.models.blocks import blocks_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.models.bert.modeling_bert import BertAttention


@contextmanager
def look_up(model: PreTrainedModel, **given: torch.Tensor | None) -> Iterator[None]:
    """Inside, the ids that a BERT-like model is given are places in a table. Whether its output stays the same is for the
    caller to try; a model built otherwise is refused.

    `given` is what its embeddings read of R texts of T tokens; token t of text r has the place r·T + t.
    """
    embeddings, maps = getattr(model.base_model, "embeddings", None), _maps(model)
    if not maps or not isinstance(embeddings, torch.nn.Module) or "forward" in vars(embeddings):
        raise InvalidInput(f"the first block of {type(model).__name__} is not built as BERT's", code="unsupported")
    try:
        vectors = embeddings(**given).flatten(0, 1)  # (R·T, D)
        tables = [part(vectors) for part in maps]
    except (TypeError, RuntimeError) as error:
        raise InvalidInput(
            f"the embeddings of {type(model).__name__} are not read as BERT's: {error!s:.200}", code="unsupported"
        ) from None
    places = [torch.empty(0)]

    def enter(input_ids: torch.Tensor, **_: object) -> torch.Tensor:
        places[0] = input_ids
        return torch.nn.functional.embedding(input_ids, vectors)

    embeddings.forward = enter  # on the instance, which hides the method of its class
    for part, table in zip(maps, tables, strict=True):
        part.forward = lambda _hidden, table=table: torch.nn.functional.embedding(places[0], table)
    try:
        yield
    finally:
        for part in (embeddings, *maps):
            del part.forward


def _maps(model: PreTrainedModel) -> list[torch.nn.Module]:
    """What makes queries, keys and values in the first block, if it is BERT's and as its class made it."""
    blocks = blocks_of(model)
    inner = getattr(getattr(blocks[0], "attention", None), "self", None) if blocks else None
    maps = [getattr(inner, name, None) for name in ("query", "key", "value")]
    own = [part for part in maps if isinstance(part, torch.nn.Module) and "forward" not in vars(part)]
    return own if len(own) == len(maps) else []


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
