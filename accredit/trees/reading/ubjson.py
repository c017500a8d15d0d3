"""Universal Binary JSON as xgboost writes it: every length has eight bytes, and a list of numbers of one kind is one array."""

from __future__ import annotations

from struct import Struct, error
from typing import Any

import numpy as np

from accredit.trees.reading.ensemble import NotTrees

NUMBERS = {
    ord(kind): (np.dtype(code), np.dtype(code).itemsize)
    for kind, code in {"i": "i1", "U": "u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}.items()
}
WORDS = {ord("Z"): None, ord("T"): True, ord("F"): False}
OBJECT, END, LIST, KIND, COUNT, TEXT = b"{}[$#S"
_length = Struct(">xQ").unpack_from  # after the byte that says of what kind it is


def from_ubjson(written: bytes) -> Any:
    """What was written: objects as dictionaries, lists of one kind of number as arrays, other lists as lists.

    >>> length = b"L" + bytes(7)
    >>> from_ubjson(b"{" + length + b"\\x01a[$U#" + length + b"\\x02\\x03\\x04}")
    {'a': array([3, 4], dtype=uint8)}
    """
    try:
        return _value(written, 0)[0]
    except (IndexError, KeyError, ValueError, error) as why:
        raise NotTrees(f"what xgboost wrote is not the UBJSON that it writes: {why}", code="unreadable") from why


def _value(written: bytes, at: int) -> tuple[Any, int]:
    """The value that begins here, and where it ends."""
    kind = written[at]
    at += 1
    if kind == LIST and written[at] == KIND:
        number, size = NUMBERS[written[at + 1]]
        (count,) = _length(written, at + 3)
        at += 12
        return np.frombuffer(written, number, count, at) if count else np.empty(0, number), at + count * size
    if kind == LIST:
        if written[at] != COUNT:
            raise ValueError(f"a list without a length at byte {at}")
        (count,) = _length(written, at + 1)
        at += 10
        values: list[Any] = []
        for _ in range(count):
            one, at = _value(written, at)
            values.append(one)
        return values, at
    if kind == OBJECT:
        found = {}
        while written[at] != END:
            (count,) = _length(written, at)
            end = at + 9 + count
            found[written[at + 9 : end].decode()], at = _value(written, end)
        return found, at + 1
    if kind == TEXT:
        (count,) = _length(written, at)
        end = at + 9 + count
        return written[at + 9 : end].decode(), end
    if kind in WORDS:
        return WORDS[kind], at
    number, size = NUMBERS[kind]
    return np.frombuffer(written, number, 1, at)[0].item(), at + size
