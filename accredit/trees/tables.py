"""Exact values of trees from tables: every row looks its entry up, whatever the number of background rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.trees.blocks import Blocks, Group
from accredit.trees.forest import Forest
from accredit.trees.leaf_tables import coin_weights, leaf_credits, leaf_pairs
from accredit.trees.paths import Paths
from accredit.values.weighing import Semivalue

ROWS = 1024  # rows looked up at once
CELLS = 1 << 17  # numbers of one step of the arithmetic, to stay in the cache
GATHER = 1 << 19  # lookups at once


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
    """Slices of at most `step` that cover `total`."""
    return (slice(start, min(start + step, total)) for start in range(0, total, max(1, step)))


def table_credit(
    forest: Forest,
    paths: Paths,
    leaves: BoolArray,  # (nodes,) those wanted
    matrix: FloatArray,
    background: Background | None,
    rule: Semivalue,
    pairs: bool,
    players: int,
    earned: FloatArray,  # (players or players², outputs, rows): added to in place
) -> None:
    """Add the credit (or pair interactions i < j) of these leaves."""
    blocks = Blocks(paths, leaves)
    counts = None if background is None else _histograms(forest, blocks, background)
    ratio = _ratios(forest, paths) if counts is None else None
    lookups = []
    for number, group in enumerate(blocks.groups):

        def weights(leaves: IntArray, of: IntArray, group: Group = group, number: int = number) -> FloatArray:
            if counts is None:
                assert ratio is not None
                return coin_weights(ratio[leaves, : paths.count[leaves[0]]].T)
            return _leaf_weights(blocks, group, leaves, counts[number][of])

        lookups.append(_lookup(forest, blocks, group, weights, rule, pairs, players))
    flat = earned.reshape(-1, earned.shape[-1])
    for part in spans(len(matrix), ROWS):
        for lookup, entry in zip(lookups, blocks.entries(forest, matrix[part]), strict=True):
            _look_up(lookup, entry, flat[:, part])


def _ratios(forest: Forest, paths: Paths) -> FloatArray:
    """The share of training weight that each player's tests let through on the way to each node: (nodes, most)."""
    ratio = np.ones((len(paths.nodes), max(1, paths.most)))
    share = shares(forest, paths)
    for level in paths.levels[1:]:
        above = paths.parent[level]
        ratio[level] = ratio[above]
        ratio[np.arange(level.start, level.stop), paths.slot[above]] *= share[level]
    return ratio


def shares(forest: Forest, paths: Paths) -> FloatArray:
    """The share of its parent's training weight that came to each node: (nodes,); 1 at a root, half where none came."""
    cover = forest.cover[paths.nodes]
    above = np.where(paths.parent < 0, cover, cover[paths.parent])
    return np.divide(cover, above, out=np.full_like(cover, 0.5), where=above > 0)


def _histograms(forest: Forest, blocks: Blocks, background: Background) -> list[FloatArray]:
    """Background weight at each entry of each block, one array (blocks, 2ᴷ) per group."""
    counts = [np.zeros(len(group.root) << group.bits) for group in blocks.groups]
    for part in spans(len(background.matrix), ROWS):
        weight = background.weight[part]
        for group, count, entry in zip(
            blocks.groups, counts, blocks.entries(forest, background.matrix[part]), strict=True
        ):
            place = entry + (np.arange(len(entry)) << group.bits)[:, None]
            every = np.broadcast_to(weight, place.shape)
            count += np.bincount(place.ravel(), every.ravel(), len(count))
    return [c.reshape(len(g.root), -1) for g, c in zip(blocks.groups, counts, strict=True)]


def _leaf_weights(blocks: Blocks, group: Group, leaves: IntArray, counts: FloatArray) -> FloatArray:
    """N[z] of leaves from the histograms (leaves, 2ᴷ) of their blocks: (2ᵏ, leaves)."""
    k = int(blocks.paths.count[leaves[0]])
    place = blocks.patterns(group, leaves) + (np.arange(len(leaves)) << k)[:, None]
    return np.bincount(place.ravel(), counts.ravel(), len(leaves) << k).reshape(len(leaves), -1).T.copy()


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
    bits, values = group.bits, forest.value.shape[1]
    who = blocks.players(group)
    if pairs:
        number = np.zeros((bits, bits), dtype=np.int64)
        both = np.array(list(combinations(range(bits), 2)), dtype=np.int64).reshape(-1, 2)
        number[both[:, 0], both[:, 1]] = number[both[:, 1], both[:, 0]] = np.arange(len(both))
        low, high = np.sort(np.stack([who[:, both[:, 0]], who[:, both[:, 1]]]), axis=0)
        who = low * players + high
    table = np.zeros((len(group.root), who.shape[1], values, 1 << bits))
    used = np.zeros(table.shape[:2], dtype=bool)
    k = blocks.paths.count[group.leaf]
    ordinal = np.arange(len(group.block)) - np.searchsorted(np.sort(group.block), np.sort(group.block))
    order = np.argsort(group.block, kind="stable")
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = ordinal  # leaves of one turn are of different blocks, so that they can be added at once
    for players_here, now in np.unique(np.stack([k, turn], axis=1), axis=0).tolist():
        chosen = np.flatnonzero((k == players_here) & (turn == now))
        nodes = max(1, (players_here + 1) // 2)
        for part in spans(len(chosen), max(1, CELLS // (nodes << players_here))):
            leaf, block = group.leaf[chosen[part]], group.block[chosen[part]]
            if players_here < 1 + pairs:
                continue
            earned = (leaf_pairs if pairs else leaf_credits)(weights(leaf, block), rule)
            place = blocks.places(group, leaf)
            if pairs:
                ij = np.array(list(combinations(range(players_here), 2)), dtype=np.int64)
                place = number[place[:, ij[:, 0]], place[:, ij[:, 1]]]
            used[block[:, None], place] = True
            failed = blocks.patterns(group, leaf)
            entry = ((1 << players_here) - 1 - failed) + (np.arange(len(leaf)) << players_here)[:, None]
            value = forest.value[blocks.paths.nodes[leaf]]
            for i in range(place.shape[1]):
                by_leaf = earned[i].T.ravel().take(entry)
                for v in range(values):
                    table[block, place[:, i], v] += by_leaf * value[:, v, None]
    own, target = np.nonzero(used)
    output = forest.output[blocks.paths.tree[group.root]]
    goal = (who[own, target] * forest.outputs + output[own])[:, None] + np.arange(values)
    return Lookup(np.repeat(own, values), goal.ravel(), table[own, target].reshape(-1, 1 << bits))


def _look_up(lookup: Lookup, entry: IntArray, earned: FloatArray) -> None:
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
