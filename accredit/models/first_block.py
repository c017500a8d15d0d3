"""Embeddings, and the first block's queries, keys and values, looked up where tokens stay in place.

Until attention mixes positions, each position of a text has two values: its token, or what stands for it once it has left. Both
are computed once, and every coalition takes its own from the table. In a small BERT this is a twelfth of the work.
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
