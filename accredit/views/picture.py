"""Where players are in a picture: their outlines for drawings, and a small map for terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from accredit.core import IntArray
from accredit.explanation.result import Explanation
from accredit.views.palette import strength

WIDE = 48  # cells of a map on a terminal
LITTLE, MUCH = 0.15, 0.5  # shares of the largest credit from which a cell has a light, and a heavy, sign
Corner = tuple[int, int]
Paint = Callable[[str, float, float, bool], str]  # a sign, its value, the largest, whether values have a direction


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


def picture_map(explanation: Explanation, paint: Paint | None) -> list[str]:
    """The picture in signs, as the first method credits its parts; with `paint`, in colours."""
    method, result = next(iter(explanation))
    assert explanation.picture is not None
    owner, signed = explanation.picture.owner, method not in explanation.unsigned
    height, width = owner.shape
    columns = min(width, WIDE)
    rows = max(1, round(columns * height / width / 2))  # a cell is about twice as high as wide
    down, across = (np.arange(rows) + 0.5) * height / rows, (np.arange(columns) + 0.5) * width / columns
    cells = owner[down.astype(np.int64)[:, None], across.astype(np.int64)]
    credit = [result[player] for player in explanation.players]
    largest = max(map(abs, credit), default=0.0)

    def shown(player: int) -> str:
        if player < 0:
            return " "
        if paint is not None:
            return paint(" ", credit[player], largest, signed)
        return _sign(credit[player], largest, signed)

    lines = ["".join(shown(player) for player in row) for row in cells.tolist()]
    legend = f"{method}: # and + {'raise it, = and - lower it' if signed else 'much and some'}, · little"
    return lines if paint is not None else [*lines, legend]


def _sign(value: float, largest: float, signed: bool) -> str:
    share = strength(value, largest)
    if share < LITTLE:
        return "·"
    light, heavy = "-=" if signed and value < 0 else "+#"
    return heavy if share >= MUCH else light
