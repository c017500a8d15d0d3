"""Where the edges of a layered network sit in one long vector.

Only tokens on some source–sink path have a place. Tokens of a causal layer read nothing to their right, so its rows are
kept in a staircase of tiles, each as wide as its widest row: little more than half of the square. The network is turned
round where few tokens are explained: the elimination of `LayeredLaplacian` starts for free at the wider end.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.flow.network import LayeredNetwork

TILES_PER_LAYER = 16  # tiles of a causal layer: more waste less of the square, and cost more calls
ROWS_PER_TILE = 32  # rows of a tile, at least
WORTHWHILE = 0.8  # of the square: a wider staircase is kept as one tile


@dataclass(frozen=True)
class Tile:
    """Some rows of a layer's edges: from `rows` above to the first `width` tokens below, at `where` in the vector."""

    rows: slice
    width: int
    where: slice

    def of(self, x: FloatArray) -> FloatArray:
        """Its numbers, (rows, width), as a view."""
        return x[self.where].reshape(-1, self.width)


class Layout:
    """The places of a pruned network's edges: tiles of layer 0 … L-1, then source edges, then sink edges.

    >>> causal = np.tril(np.full((2, 64, 64), 1 / 64))
    >>> network = LayeredNetwork.from_attention(causal, normalise=False).prune()
    >>> Layout(network).edges < network.capacity.size
    True
    """

    def __init__(self, network: LayeredNetwork) -> None:
        self.layers, self.tokens = network.layers, network.tokens
        alive = network.alive()
        self.turned = int(alive[-1].sum()) < int(alive[0].sum())
        if self.turned:
            alive = alive[::-1, ::-1]
        self.nodes: list[IntArray] = [np.flatnonzero(row) for row in alive]  # live tokens, layer by layer
        self.counts = [len(nodes) for nodes in self.nodes]
        ends = np.concatenate([[0], np.cumsum(self.counts)]).tolist()
        self.levels = [slice(a, b) for a, b in itertools.pairwise(ends)]  # layers in a vector of live nodes
        self.tiles: list[list[Tile]] = []
        end = 0
        for layer, capacity in enumerate(self._facing(network.capacity)):
            self.tiles.append(_staircase(self._live(capacity, layer) > 0, end))
            end = self.tiles[-1][-1].where.stop
        self.supply = slice(end, end + self.counts[-1])
        self.demand = slice(self.supply.stop, self.supply.stop + self.counts[0])

    @property
    def edges(self) -> int:
        """Numbers in the vector."""
        return self.demand.stop

    def _facing(self, edges: FloatArray) -> FloatArray:
        """Edges (L, T, T) as the solver sees them; turning round also reverses the tokens, so that a causal layer stays one."""
        return edges[::-1].transpose(0, 2, 1)[:, ::-1, ::-1] if self.turned else edges

    def _live(self, layer_edges: FloatArray, layer: int) -> FloatArray:
        above, below = self.nodes[layer + 1], self.nodes[layer]
        if len(above) == len(below) == self.tokens:
            return layer_edges
        return np.asarray(layer_edges[np.ix_(above, below)])

    def pack(self, network: LayeredNetwork) -> FloatArray:
        """All capacities in one vector."""
        room = np.zeros(self.edges)
        for layer, capacity in enumerate(self._facing(network.capacity)):
            live = self._live(capacity, layer)
            for tile in self.tiles[layer]:
                tile.of(room)[:] = live[tile.rows, : tile.width]
        first, last = (network.demand, network.supply) if self.turned else (network.supply, network.demand)
        step = -1 if self.turned else 1
        room[self.supply], room[self.demand] = first[::step][self.nodes[-1]], last[::step][self.nodes[0]]
        return room

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Edges (L, T, T), source edges (T,) and sink edges (T,) of a vector."""
        edges = np.zeros((self.layers, self.tokens, self.tokens))
        for layer, facing in enumerate(self._facing(edges)):
            for tile in self.tiles[layer]:
                facing[np.ix_(self.nodes[layer + 1][tile.rows], self.nodes[layer][: tile.width])] = tile.of(x)
        ends = np.zeros((2, self.tokens))
        step = -1 if self.turned else 1
        ends[0][::step][self.nodes[-1]], ends[1][::step][self.nodes[0]] = x[self.supply], x[self.demand]
        return (edges, ends[1], ends[0]) if self.turned else (edges, ends[0], ends[1])

    def potentials(self, p: FloatArray) -> FloatArray:
        """Node potentials (L+1, T), source 1 and sink 0, from those of the live nodes; dead ones get 0."""
        every = np.zeros((self.layers + 1, self.tokens))
        facing = every[::-1, ::-1] if self.turned else every
        for layer, level in enumerate(self.levels):
            facing[layer, self.nodes[layer]] = 1 - p[level] if self.turned else p[level]
        return every


def _staircase(support: BoolArray, start: int) -> list[Tile]:
    """Tiles over the True entries of (rows, columns), each as wide as all rows up to its last."""
    rows, columns = support.shape
    reach = np.maximum.accumulate(columns - support[:, ::-1].argmax(axis=1))  # columns that rows up to this one need
    height = max(ROWS_PER_TILE, -(-rows // TILES_PER_LAYER))
    cuts = [*range(0, rows, height), rows]
    if sum((b - a) * int(reach[b - 1]) for a, b in itertools.pairwise(cuts)) > WORTHWHILE * rows * columns:
        cuts = [0, rows]
    tiles = []
    for a, b in itertools.pairwise(cuts):
        width = int(reach[b - 1])
        tiles.append(Tile(slice(a, b), width, slice(start, start + (b - a) * width)))
        start += (b - a) * width
    return tiles
