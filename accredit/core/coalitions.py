"""Coalitions: boolean rows outside, packed bits inside.

A batch of coalitions is a boolean array of shape (batch, n): row b, column i says whether player i plays in coalition b.
Wherever coalitions are remembered or compared they are packed to ⌈n/8⌉ bytes per row, so 10 players and 10,000 both fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import BoolArray, IntArray
from accredit.errors import InvalidInput

CHUNK_BYTES = 1 << 24  # rows of one enumeration chunk stay below 16 MB


def pack(coalitions: BoolArray) -> npt.NDArray[np.uint8]:
    """Bits of every coalition, eight players per byte: (batch, n) -> (batch, ⌈n/8⌉)."""
    return np.packbits(coalitions, axis=1, bitorder="little")


def unpack(bits: npt.NDArray[np.uint8], players: int) -> BoolArray:
    """Inverse of `pack`."""
    return np.unpackbits(bits, axis=1, count=players, bitorder="little").astype(bool)


def keys(coalitions: BoolArray) -> list[bytes]:
    """One hashable key per coalition.

    >>> keys(np.array([[True, False, True]]))
    [b'\\x05']
    """
    bits = np.ascontiguousarray(pack(coalitions))
    width = bits.shape[1]
    blob = bits.tobytes()
    return [blob[i * width : (i + 1) * width] for i in range(bits.shape[0])]


def unique(coalitions: BoolArray) -> tuple[BoolArray, IntArray]:
    """The distinct coalitions in order of first appearance, and for each row the index of its coalition among them."""
    first: dict[bytes, int] = {}
    index = np.array([first.setdefault(key, len(first)) for key in keys(coalitions)], dtype=np.int64)
    rows = np.zeros(len(first), dtype=np.int64)
    rows[index[::-1]] = np.arange(len(index))[::-1]
    return coalitions[rows], index


def from_index(index: IntArray, players: int) -> BoolArray:
    """Coalitions from table indices, where bit i of an index says whether player i plays.

    >>> from_index(np.array([0, 1, 6]), 3).astype(int)
    array([[0, 0, 0],
           [1, 0, 0],
           [0, 1, 1]])
    """
    return (index[:, None] >> np.arange(players) & 1).astype(bool)


def to_index(coalitions: BoolArray) -> IntArray:
    """Inverse of `from_index`, for at most 62 players."""
    if coalitions.dtype != bool:
        raise InvalidInput(
            f"coalitions are of {coalitions.dtype}; a coalition is a row of booleans: write rows.astype(bool)",
            argument="coalitions",
            code="type",
        )
    return coalitions @ (np.int64(1) << np.arange(coalitions.shape[1]))


def by_size(players: int) -> IntArray:
    """Table indices of all coalitions in the order that textbooks list them: by size, then by members.

    >>> by_size(3).tolist()  # nobody, 1, 2, 3, 12, 13, 23, 123
    [0, 1, 2, 4, 3, 5, 6, 7]
    """
    index = np.arange(1 << players)
    first_members = sum(((index >> i & 1) << (players - 1 - i) for i in range(players)), np.zeros_like(index))
    return np.lexsort((-first_members, np.bitwise_count(index))).astype(np.int64)


def members_of_size(players: int, size: int) -> IntArray:
    """Who plays in each coalition of one size, members in rising order: (coalitions, size).

    >>> members_of_size(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    listed = list(combinations(range(players), size))
    return np.array(listed, dtype=np.int64).reshape(len(listed), size)


def as_rows(members: IntArray, players: int) -> BoolArray:
    """Coalitions given by their members as boolean rows: (coalitions, size) -> (coalitions, n)."""
    rows = np.zeros((len(members), players), dtype=bool)
    np.put_along_axis(rows, members, True, axis=1)
    return rows


def all_coalitions(players: int) -> Iterator[BoolArray]:
    """Every coalition in table order, in chunks that fit in memory."""
    rows = max(1, CHUNK_BYTES // max(players * 8, 1))
    for start in range(0, 1 << players, rows):
        yield from_index(np.arange(start, min(start + rows, 1 << players)), players)
