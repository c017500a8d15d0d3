"""The upper part of a transformer as a module of its own: its last blocks, and a head on the mean of the hidden states.

Imports torch, so it is imported where it is used.
"""

from __future__ import annotations

from typing import Any

import torch


class HandOn(torch.nn.Module):
    """Stands where embeddings were, and hands on the hidden states that it is given."""

    def forward(self, *_: Any, inputs_embeds: torch.Tensor, **__: Any) -> torch.Tensor:
        return inputs_embeds


class Tail(torch.nn.Module):
    """Blocks and head; a row is the hidden states of one sentence, place by place, and then which places are tokens."""

    def __init__(self, body: torch.nn.Module | None, width: int, classes: int) -> None:
        super().__init__()
        self.body, self.width = body, width  # None: the rows hold the last hidden states already
        self.head = torch.nn.Linear(width, classes)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)

    def pooled(self, rows: torch.Tensor) -> torch.Tensor:
        """The mean of the last hidden states over the tokens of each sentence: (rows, width)."""
        places = rows.shape[1] // (self.width + 1)
        used = int(rows[:, -places:].sum(dim=1).max())
        states = rows[:, :-places].reshape(len(rows), places, self.width)[:, :used]
        mask = rows[:, -places:][:, :used]
        if self.body is not None:
            states = self.body(inputs_embeds=states, attention_mask=mask.long()).last_hidden_state
        return torch.as_tensor((states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        pooled = self.pooled(rows)
        return torch.as_tensor(self.head(torch.nn.functional.layer_norm(pooled, pooled.shape[1:])))
