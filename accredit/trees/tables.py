"""Exact values of trees from tables: every row looks its entry up, whatever the number of background rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.blocks import Blocks, Entries, Group
from accredit.trees.forest import Forest
from accredit.trees.leaf_tables import coin_weights, leaf_credits, leaf_pairs
from accredit.trees.paths import Levels, Paths, decide
from accredit.values.semivalue_rules import Semivalue

ROWS_PER_LOOKUP = 1024  # rows looked up at once
CELLS_PER_STEP = 1 << 17  # numbers of one step of the arithmetic, to stay in the cache
GATHER = 1 << 19  # lookups at once
ROWS_ONE_BY_ONE = 32  # up to which rows are looked up one after another in kept tables


@dataclass(frozen=True, eq=False)
class Lookup:
    """Tables of one group: what each target earns for each entry of its block."""

    block: IntArray  # (tables,)
    target: IntArray  # (tables,) where the numbers are added
    table: FloatArray  # (tables, 2ᴷ)


@dataclass(frozen=True, eq=False)
class Background:
    """Rows to compare with, as the model compares them, and how much each counts."""

    matrix: FloatArray  # (m, features)
    weight: FloatArray  # (m,), sums to 1


def spans(total: int, step: int) -> Iterator[slice]:
    """Slices of at most `step`, and of at least one, that cover `total`.

    >>> list(spans(3, 2)), list(spans(2, 0))
    ([slice(0, 2, None), slice(2, 3, None)], [slice(0, 1, None), slice(1, 2, None)])
    """
    step = max(1, step)
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


class Tables:
    """The tables of some leaves, made once; rows look up what they hold, as often as needed."""

    def __init__(
        self,
        forest: Forest,
        paths: Paths,
        leaves: BoolArray,  # (nodes,) those wanted
        background: Background | None,
        rule: Semivalue,
        pairs: bool,
        players: int,
    ) -> None:
        self.forest, self.paths, self.blocks = forest, paths, Blocks(paths, leaves)
        weights = _coins(forest, self.blocks) if background is None else _counts(forest, self.blocks, background)
        self.lookups = [
            _lookup(forest, self.blocks, group, partial(weights, number), rule, pairs, players)
            for number, group in enumerate(self.blocks.groups)
        ]

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        """Add the credit (or pair interactions i < j) of these leaves to earned (players or players², outputs, rows)."""
        flat = earned.reshape(-1, earned.shape[-1])
        for part in spans(len(matrix), ROWS_PER_LOOKUP):
            for lookup, entry in zip(self.lookups, self.blocks.entries(self.forest, matrix[part]), strict=True):
                _look_up(lookup, entry, flat[:, part])


class KeptTables(Tables):
    """Tables that serve many calls: their numbers lie beside one another, so that a few rows are looked up at once."""

    def __init__(
        self,
        forest: Forest,
        paths: Paths,
        leaves: BoolArray,
        background: Background | None,
        rule: Semivalue,
        pairs: bool,
        players: int,
    ) -> None:
        super().__init__(forest, paths, leaves, background, rule, pairs, players)
        groups, tables = self.blocks.groups, [lookup.table for lookup in self.lookups]
        self.numbers = np.concatenate([table.ravel() for table in tables])
        ends = np.cumsum([table.size for table in tables])
        self.lookups = [  # one copy of the numbers is enough
            replace(lookup, table=part.reshape(lookup.table.shape))
            for lookup, part in zip(self.lookups, np.split(self.numbers, ends[:-1]), strict=True)
        ]
        first = np.cumsum([0, *(len(group.root) for group in groups)])
        sizes = np.repeat([table.shape[1] for table in tables], [len(table) for table in tables])
        self.place = np.cumsum(sizes) - sizes  # (tables,) where each begins among the numbers
        self.block = np.concatenate([lookup.block + f for lookup, f in zip(self.lookups, first[:-1], strict=True)])
        self.target = np.concatenate([lookup.target for lookup in self.lookups])

    def add(self, matrix: FloatArray, earned: FloatArray) -> None:
        if len(matrix) > ROWS_ONE_BY_ONE:
            super().add(matrix, earned)
            return
        flat = earned.reshape(-1, earned.shape[-1])
        left = decide(self.forest, self.blocks.paths, matrix)
        for row in range(len(matrix)):
            found = self.numbers.take(self.blocks.entry(left[:, row])[self.block] + self.place)
            flat[:, row] += np.bincount(self.target, found, len(flat))


Weights = Callable[[int, IntArray, IntArray], FloatArray]  # group, leaves, their blocks -> N[z], (2ᵏ, leaves)


def _coins(forest: Forest, blocks: Blocks) -> Weights:
    """N[z] under cover ratios: every player is a coin."""
    ratio = _ratios(forest, blocks.paths)

    def weights(group: int, leaf: IntArray, block: IntArray) -> FloatArray:
        return coin_weights(ratio[leaf, : blocks.paths.count[leaf[0]]].T)

    return weights


def _counts(forest: Forest, blocks: Blocks, background: Background) -> Weights:
    """N[z] of a background: how many of its rows fail exactly z, from histograms of the blocks."""
    counts = _histograms(forest, blocks, background)

    def weights(group: int, leaf: IntArray, block: IntArray) -> FloatArray:
        k = int(blocks.paths.count[leaf[0]])
        place = blocks.patterns(blocks.groups[group], leaf) + (np.arange(len(leaf)) << k)[:, None]
        found = np.bincount(place.ravel(), counts[group][block].ravel(), len(leaf) << k)
        return np.asarray(found, dtype=np.float64).reshape(len(leaf), -1).T.copy()

    return weights


def _ratios(forest: Forest, paths: Paths) -> FloatArray:
    """The share of training weight that each player's tests let through on the way to each node: (nodes, most)."""
    ratio = np.ones((len(paths.nodes), max(1, paths.most)))
    share = shares(forest, paths)
    for level in paths.levels[1:]:
        above = paths.parent[level]
        ratio[level] = ratio[above]
        ratio[np.arange(level.start, level.stop), paths.slot[above]] *= share[level]
    return ratio


def shares(forest: Forest, by: Levels) -> FloatArray:
    """The share of the training weight of both children that came to each node: (nodes,); 1 at a root, half where none came."""
    share, first = np.ones(len(by.nodes)), by.levels[0].stop
    cover = forest.cover[by.nodes[first:]].reshape(-1, 2)
    both = cover.sum(axis=1, keepdims=True)
    share[first:] = np.divide(cover, both, out=np.full_like(cover, 0.5), where=both > 0).ravel()
    return share


def _histograms(forest: Forest, blocks: Blocks, background: Background) -> list[FloatArray]:
    """Background weight at each entry of each block, one array (blocks, 2ᴷ) per group."""
    counts = [np.zeros(len(group.root) << group.bits) for group in blocks.groups]
    for part in spans(len(background.matrix), ROWS_PER_LOOKUP):
        weight = background.weight[part]
        for group, count, entry in zip(blocks.groups, counts, blocks.entries(forest, background.matrix[part]), strict=True):
            place = entry + (np.arange(len(entry)) << group.bits)[:, None]
            every = np.broadcast_to(weight, place.shape)
            count += np.bincount(place.ravel(), every.ravel(), len(count))
    return [c.reshape(len(g.root), -1) for g, c in zip(blocks.groups, counts, strict=True)]


def _lookup(
    forest: Forest,
    blocks: Blocks,
    group: Group,
    weights: Callable[[IntArray, IntArray], FloatArray],
    rule: Semivalue,
    pairs: bool,
    players: int,
) -> Lookup:
    """Sum the tables of all leaves of each block of a group."""
    who, number = _targets(blocks.players(group), pairs, players)
    values = forest.value.shape[1]
    table = np.zeros((*who.shape, values, 1 << group.bits))
    used = np.zeros(who.shape, dtype=bool)
    for leaf, block in _batches(blocks, group):
        k = int(blocks.paths.count[leaf[0]])
        if k < 1 + pairs:
            continue
        earned = (leaf_pairs if pairs else leaf_credits)(weights(leaf, block), rule)
        place = blocks.places(group, leaf)
        if pairs:
            i, j = np.triu_indices(k, 1)
            place = number[place[:, i], place[:, j]]
        used[block[:, None], place] = True
        passed = ((1 << k) - 1 - blocks.patterns(group, leaf)) + (np.arange(len(leaf)) << k)[:, None]
        value = forest.value[blocks.paths.nodes[leaf]]
        for target, by_pattern in zip(place.T, earned, strict=True):
            by_entry = by_pattern.T.ravel().take(passed)
            for v in range(values):
                table[block, target, v] += by_entry * value[:, v, None]
    own, target = np.nonzero(used)
    output = forest.output[blocks.paths.tree[group.root]]
    goal = (who[own, target] * forest.outputs + output[own])[:, None] + np.arange(values)
    return Lookup(np.repeat(own, values), goal.ravel(), table[own, target].reshape(-1, 1 << group.bits))


def _targets(who: IntArray, pairs: bool, players: int) -> tuple[IntArray, IntArray]:
    """Whom the bits (or pairs of bits) of each block stand for, (blocks, targets), and the number of each pair of bits."""
    bits = who.shape[1]
    number = np.zeros((bits, bits), dtype=np.int64)
    if not pairs:
        return who, number
    i, j = np.triu_indices(bits, 1)
    number[i, j] = number[j, i] = np.arange(len(i))
    return np.minimum(who[:, i], who[:, j]) * players + np.maximum(who[:, i], who[:, j]), number


def _batches(blocks: Blocks, group: Group) -> Iterator[tuple[IntArray, IntArray]]:
    """Leaves with equally many players, each of another block so that they can be added at once, and these blocks."""
    k = blocks.paths.count[group.leaf]
    order = np.argsort(group.block, kind="stable")
    ordered = group.block[order]
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    for players, now in np.unique(np.stack([k, turn], axis=1), axis=0).tolist():
        chosen = np.flatnonzero((k == players) & (turn == now))
        for part in spans(len(chosen), CELLS_PER_STEP // (max(1, (players + 1) // 2) << players)):
            yield group.leaf[chosen[part]], group.block[chosen[part]]


def _look_up(lookup: Lookup, entry: Entries, earned: FloatArray) -> None:
    """Add what every row finds: entry (blocks, rows) -> earned (targets, rows)."""
    from scipy.sparse import csr_array

    width = lookup.table.shape[1]
    for part in spans(len(lookup.block), GATHER // max(1, entry.shape[1])):
        block = lookup.block[part]
        place = entry[block].astype(np.intp)
        place += (np.arange(len(block)) * width)[:, None]
        found = lookup.table[part].ravel().take(place)
        targets, where = np.unique(lookup.target[part], return_inverse=True)
        ones = np.ones(len(block))
        gather = csr_array((ones, (where, np.arange(len(block)))), shape=(len(targets), len(block)))
        earned[targets] += gather @ found
