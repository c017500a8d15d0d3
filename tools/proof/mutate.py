"""Damage done to good input: to the values inside it, to its text, to its bytes."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

NASTY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**63,
    10**400,
    -0.0,
    0.5,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    "",
    "x",
    "exactly",
    "\ud800",
    "\0",
    "nan",
    "1",
    "<script>",
    "x" * 300,
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    [1, 2, 3],
    [0.5, "a"],
    ["a", "a"],
    [[0.0, 1.0]],
)
LETTERS = "ab ,;:\"'{}[]()\n\r\t\\/<>&%=+-_.0123456789eE\0é\u2028\ud83d\ude00"


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every value inside JSON data."""
    found = [path] if path else []
    if isinstance(data, dict):
        for key, item in data.items():
            found += places(item, (*path, key))
    elif isinstance(data, list):
        for k, item in enumerate(data[:50]):
            found += places(item, (*path, k))
    return found


def damaged_json(rng: random.Random, text: str) -> str:
    """Good JSON with a value replaced, dropped, moved or doubled, or with its text torn."""
    if rng.random() < 0.2:
        return torn(rng, text)
    data = json.loads(text)
    for _ in range(1 if rng.random() < 0.8 else 3):
        path = rng.choice(places(data) or [()])
        if path:
            _damage(rng, data, path)
    dumped = json.dumps(data)
    if rng.random() < 0.03:  # a key twice
        dumped = (
            dumped[:-1] + "," + json.dumps(rng.choice(list(json.loads(text)))) + ":" + json.dumps(rng.choice(NASTY[:8])) + "}"
        )
    return dumped


def _damage(rng: random.Random, data: Any, path: tuple[Any, ...]) -> None:
    holder = data
    for step in path[:-1]:
        holder = holder[step]
    key, how = path[-1], rng.random()
    if how < 0.7:
        holder[key] = deepcopy(rng.choice(NASTY))
    elif how < 0.8:
        del holder[key]
    elif how < 0.9 and isinstance(holder, dict):
        holder[f"{key}{rng.choice('xs _')}"] = holder.pop(key)
    elif isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), deepcopy(rng.choice([holder[key], rng.choice(NASTY)])))
    else:
        holder[key] = [holder[key]]


def torn(rng: random.Random, text: str) -> str:
    """Text with pieces cut out, doubled or put in."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + int(rng.expovariate(0.2)))
        how = rng.random()
        middle = "" if how < 0.3 else text[a:b] * 2 if how < 0.5 else "".join(rng.choices(LETTERS, k=rng.randrange(1, 5)))
        text = text[:a] + middle + text[b:]
    return text


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    """A file with bits flipped, pages zeroed, or its end missing."""
    found, how = bytearray(content), rng.random()
    if how < 0.2 and found:
        del found[rng.randrange(len(found)) :]
    elif how < 0.3 and found:
        a = rng.randrange(len(found))
        b = min(len(found), a + rng.choice((1, 16, 512, 4096)))
        found[a:b] = bytes(b - a)
    elif how < 0.4:
        a = rng.randrange(len(found) + 1)
        found[a:a] = rng.randbytes(rng.choice((1, 4, 100)))
    else:
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            if found:
                found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def any_text(rng: random.Random, longest: int = 60) -> str:
    """Text of any characters."""
    size = rng.randrange(longest)
    if rng.random() < 0.3:
        return "".join(
            chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)))) for _ in range(size)
        )
    return "".join(rng.choices(LETTERS, k=size))
