"""Rows of tokens that begin alike, as a tree: what several rows share is read once, and its keys and values are kept for the
rows that go on from it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from accredit.core import IntArray

WORTH_KEEPING = 24  # tokens that sharing must save before a stop of its own pays for the states that it copies


@dataclass(eq=False)
class PrefixNode:
    """The tokens `start` to `stop` of some rows, after what its parent has read. A node without children ends one row."""

    row: int  # one of the rows that pass through
    start: int
    stop: int
    children: list[PrefixNode] = field(default_factory=list)

    def __len__(self) -> int:
        return self.stop - self.start

    def walk(self) -> Iterator[PrefixNode]:
        """This node and all below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children

    @property
    def depth(self) -> int:
        """Most nodes on a way from here to the end of a row."""
        level, deep = [self], 0
        while level:
            level, deep = [child for node in level for child in node.children], deep + 1
        return deep


def prefix_tree(rows: Sequence[IntArray], own: Sequence[int], worth: int = WORTH_KEEPING) -> PrefixNode:
    """The tree of the rows' common beginnings; its root is empty. The last `own[i]` tokens of row i are never shared.

    A beginning is read on its own only if that saves at least `worth` tokens; otherwise each row reads it again.

    >>> tree = prefix_tree([np.array([5, 6, 7]), np.array([5, 6, 8]), np.array([9, 9])], own=[1, 1, 1], worth=1)
    >>> sorted((node.start, node.stop, node.row) for node in tree.walk())[1:]
    [(0, 2, 0), (0, 2, 2), (2, 3, 0), (2, 3, 1)]
    """
    order = sorted(range(len(rows)), key=lambda i: rows[i].astype(">i8").tobytes())
    most = np.array([len(rows[i]) - own[i] for i in order])
    alike = np.array([0, *(_common(rows[a], rows[b]) for a, b in itertools.pairwise(order))])
    alike[1:] = np.minimum(alike[1:], np.minimum(most[1:], most[:-1]))
    root = PrefixNode(order[0] if order else 0, 0, 0)
    waiting = [(root, 0, len(order), 0)]  # rows first to last of the order, that agree with the node up to `read`
    while waiting:
        parent, first, last, read = waiting.pop()
        if last - first == 1:
            parent.children.append(PrefixNode(order[first], read, len(rows[order[first]])))
        elif last > first:
            shared = int(alike[first + 1 : last].min())
            edges = [first, *(first + 1 + np.flatnonzero(alike[first + 1 : last] == shared)).tolist(), last]
            if (len(edges) - 2) * (shared - read) >= worth:
                parent.children.append(PrefixNode(order[first], read, shared))
                parent, read = parent.children[-1], shared
            waiting += [(parent, a, b, read) for a, b in itertools.pairwise(edges)]
    return root


def _common(a: IntArray, b: IntArray) -> int:
    """How many tokens two rows share at their beginning."""
    short = min(len(a), len(b))
    differ = np.flatnonzero(a[:short] != b[:short])
    return int(differ[0]) if len(differ) else short


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
