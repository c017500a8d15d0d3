"""Keys and values that a causal model leaves behind, kept for the rows that go on from them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer


@dataclass(frozen=True, eq=False)
class States:
    """Keys and values of a block of rows, and the position of each: what later tokens need."""

    layers: list[tuple[torch.Tensor, torch.Tensor]]  # each (B, heads, L, width)
    positions: torch.Tensor  # (B, L), HOLE where there is padding


class Room(DynamicLayer):  # type: ignore[misc]
    """Keys and values of chosen rows with room behind them, so that what is new is written and nothing is copied twice."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, rows: torch.Tensor, new: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys, self.values = (self._with_room(states, rows, new) for states in (keys, values))
        self._filled = keys.shape[2]

    def _with_room(self, states: torch.Tensor, rows: torch.Tensor, new: int) -> torch.Tensor:
        _, heads, length, width = states.shape
        room = states.new_empty(len(rows), heads, length + new, width)
        torch.index_select(states, 0, rows, out=room[:, :, :length])
        return room

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: object, **__: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new states behind the others: each (B, heads, new, width)."""
        stop = self._filled + keys.shape[2]
        self.keys[:, :, self._filled : stop], self.values[:, :, self._filled : stop] = keys, values
        self._filled = stop
        return self.keys[:, :, :stop], self.values[:, :, :stop]

    def get_seq_length(self) -> int:
        return self._filled


class Enough(BaseException):
    """Every layer has made its keys and values, and nothing else of a pass is wanted. Not an error, so that no model
    catches it."""


class PrefixCache(DynamicCache):  # type: ignore[misc]
    """Keys and values of every layer of a model with so many `layers`; 0: not known, and no pass ends early."""

    def __init__(self, rooms: list[Room], layers: int) -> None:
        super().__init__()
        self.layers = [*rooms]
        self._all, self._wanted, self._made = layers, 0, 0

    def begin(self, states_only: bool) -> None:
        """Before a pass: whether it ends once every layer has made its keys and values."""
        self._wanted, self._made = self._all if states_only else 0, 0

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        found: tuple[torch.Tensor, torch.Tensor] = super().update(keys, values, layer_idx, *args, **kwargs)
        self._made += 1
        if self._made == self._wanted:
            raise Enough
        return found
