"""Where players are in a picture: their outlines as paths of a drawing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accredit.core import IntArray

Corner = tuple[int, int]


def outlines(owner: IntArray) -> list[str]:
    """The outline of every player as the path of an SVG, in pixels: (H, W) -> one string per player.

    >>> outlines(np.array([[0, 0, 1], [0, 1, 1]]))
    ['M0 0h2v1h-1v1h-1z', 'M2 0h1v2h-2v-1h1z']
    """
    steps: list[dict[Corner, list[Corner]]] = [{} for _ in range(int(owner.max()) + 1)]
    for player, start, end in _edges(owner):
        steps[player].setdefault(start, []).append(end)
    return ["".join(_loops(edges)) for edges in steps]


def _edges(owner: IntArray) -> Iterator[tuple[int, Corner, Corner]]:
    """The sides of pixels at which owners change, for each owner with itself on the right: (player, from, to)."""
    around = np.pad(owner, 1, constant_values=-1)
    above, below = around[:-1, 1:-1], around[1:, 1:-1]
    for y, x in np.argwhere(above != below).tolist():
        if below[y, x] >= 0:
            yield int(below[y, x]), (x, y), (x + 1, y)
        if above[y, x] >= 0:
            yield int(above[y, x]), (x + 1, y), (x, y)
    left, right = around[1:-1, :-1], around[1:-1, 1:]
    for y, x in np.argwhere(left != right).tolist():
        if right[y, x] >= 0:
            yield int(right[y, x]), (x, y + 1), (x, y)
        if left[y, x] >= 0:
            yield int(left[y, x]), (x, y), (x, y + 1)


def _loops(edges: dict[Corner, list[Corner]]) -> Iterator[str]:
    """Closed loops through all edges, each edge once."""
    while edges:
        start = at = min(edges, key=lambda corner: (corner[1], corner[0]))
        path = [f"M{start[0]} {start[1]}"]
        letter, length = "", 0
        while at in edges:
            to = edges[at].pop()
            if not edges[at]:
                del edges[at]
            across, down = to[0] - at[0], to[1] - at[1]
            turn = "h" if across else "v"
            if turn != letter or length * (across + down) < 0:
                path += [f"{letter}{length}"] if letter else []
                letter, length = turn, 0
            length += across + down
            at = to
        yield "".join(path) + "z"  # the last side closes by itself
