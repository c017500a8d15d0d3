"""Credit of columns in the output of a tree ensemble, exactly: the one door to the tables, the walk and the masks.

>>> from accredit.trees import Forest, Tree, tree_credit
>>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
>>> shared = tree_credit(Forest.of([stump], features=2), [[0.2, 7.0]], background=[[0.9, 1.0], [0.1, 1.0]])
>>> shared.base, shared.credit[0, :, 0]
(array([2.]), array([-1.,  0.]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, TypedDict

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import as_array, real_numbers, shown
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.trees.blocks import Blocks
from accredit.trees.forest import Forest
from accredit.trees.masks import Comparison, stage_credit
from accredit.trees.paths import Levels, Paths, levels_of, paths_of
from accredit.trees.tables import Background, KeptTables, Tables, shares
from accredit.trees.walk import Walk
from accredit.values.precedence import Stages
from accredit.values.semivalue_rules import SHAPLEY, Semivalue, semivalue_of

MOST_BITS = 14  # distinct players on a path for which a table is ever built
PORTION = 1 << 23  # numbers kept at once for some trees
COMPARED = 250  # numbers that a leaf and its tests take when it is compared beside its table
TABLE_NANOSECONDS = 4500  # nanoseconds that a leaf's table costs whatever its size
KEPT_BYTES = 64 << 20  # bytes of tables, and of what is known about their trees, that serve later rows
NODE_BYTES = 300  # of a node's path and place among the blocks
WALK_NODES = 100_000  # nodes of trees that are walked together
ROWS_BY_KEPT_WAY = 100  # up to which rows are served by what is kept of trees without tables


@dataclass(frozen=True, eq=False)
class TreeCredit:
    """What each player earned in each output of each row; with the base it adds up to the output for Shapley.

    >>> from accredit.trees import Tree
    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    >>> found = tree_credit(Forest.of([stump], features=2), [[0.2, 7.0]])  # no background: by the training weight
    >>> found.base, found.credit[0, :, 0], found.means
    (array([2.5]), array([-1.5,  0. ]), 'cover ratios')
    """

    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,): what nobody earns
    pairs: FloatArray | None  # (rows, players, players, outputs), symmetric with a zero diagonal; None: not asked for
    means: str  # what playing and not playing mean
    half_width: FloatArray | None = None  # (rows, players, outputs) of intervals at the usual level; None: exact


class TreeOptions(TypedDict, total=False):
    """Settings of `tree_credit`."""

    value: object
    interactions: bool
    players: object
    count: int | None
    weight: object


@check_arguments
def tree_credit(
    forest: Forest,
    rows: object,  # (rows, features)
    background: object = None,  # (m, features)
    *,
    value: object = "shapley",
    interactions: bool = False,
    players: object = None,  # (features,) the player of each column
    count: int | None = None,  # how many players there are, where some have no column
    weight: object = None,  # (m,)
) -> TreeCredit:
    """Exact credit of every column in every output of every row.

    With a `background`, columns that do not play take their values from its rows, all of them, each counted by `weight`
    (equally by default): what the model does. Without one, a column that does not play sends the row down both sides of its
    tests in the proportion of the training weight (cover ratios): a rough guess of what the data say.

    `value` is "shapley", "banzhaf", ("beta", α, β), one weight per coalition size, or the `Stages` in which players come (their
    asymmetric values, with a background). `players` merges columns: the columns of
    one player come and go together. Memory does not grow with the number of rows beyond the result itself.

    >>> from accredit.trees import Tree
    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    >>> tree_credit(Forest.of([stump], features=2), [[0.2, 7.0]], background=[[0.9, 1.0], [0.1, 1.0]]).credit[0, :, 0]
    array([-1.,  0.])
    """
    shares = TreeShares(forest, background, value=value, interactions=interactions, players=players, count=count, weight=weight)
    return shares.credit(rows)


class TreeShares:
    """A forest, a rule of sharing and rows to compare with: checked and prepared once, asked about rows as often as needed.

    What is known about as many trees as fit into `KEPT_BYTES` bytes serves the first rows. Once so many were asked about that
    tables would have cost less, those of as many trees as fit into the same again are made and kept, and a row is one lookup.

    >>> from accredit.trees import Tree
    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    >>> shares = TreeShares(Forest.of([stump], features=2), background=[[0.9, 1.0], [0.1, 1.0]])
    >>> [shares.credit([[x, 7.0]]).credit[0, 0, 0].item() for x in (0.2, 0.8)]
    [-1.0, 1.0]
    """

    def __init__(
        self,
        forest: Forest,
        background: object = None,
        *,
        value: object = "shapley",
        interactions: bool = False,
        players: object = None,
        count: int | None = None,
        weight: object = None,
    ) -> None:
        if forest.slopes is not None:
            raise InvalidInput(
                f"{forest.source} has linear models in its leaves; closed_form shares them by a background",
                code="unsupported",
            )
        self.forest, self.interactions = forest, interactions
        self._of = check_owners(players, forest.features)
        self._count = max(int(self._of.max()) + 1, count or 0)
        self._stages = np.array(value.of) if isinstance(value, Stages) else None
        self._rule = SHAPLEY if isinstance(value, Stages) else semivalue_of(value, self._count)
        self._background = None if background is None else background_of(forest, background, weight)
        if self._background is None and not (forest.cover[forest.roots] > 0).all():
            raise InvalidInput(
                f"{forest.source} does not say how much training weight came to its nodes; give a background",
                argument="background",
                code="missing",
            )
        if self._background is None and weight is not None:
            raise InvalidInput(
                "weight is given without a background; weights count its rows", argument="weight", code="conflict"
            )
        if self._stages is not None and (self._background is None or interactions or len(self._stages) != self._count):
            raise InvalidInput(
                f"value gives the stages of {len(self._stages)} players; {self._count} play, they need a background, and there "
                "are no interactions",
                argument="value",
                code="unsupported",
            )
        trees = np.arange(forest.trees)
        self._levels = levels_of(forest, trees)
        self.base = base_value(forest, self._background, self._levels)  # (outputs,): what nobody earns
        self._lock, self._rows = Lock(), 0  # asked about so far
        self._kept = KeptWays([], [], trees, trees) if self._stages is not None else self._keep([], trees)
        self._enough = np.inf if self._stages is not None else self._rows_for_tables()

    def credit(self, rows: object) -> TreeCredit:
        """Exact credit of every player in every output of these rows."""
        matrix, forest, count = self.forest.matrix(rows), self.forest, self._count
        credit = np.zeros((count, forest.outputs, len(matrix)))
        pairs = np.zeros((count * count, forest.outputs, len(matrix))) if self.interactions else None
        kept, few = self._after(len(matrix)), len(matrix) <= ROWS_BY_KEPT_WAY
        for made, of_pairs in (*kept.tables, *(kept.ways if few else ())):
            earned = pairs if of_pairs else credit
            assert earned is not None
            made.add(matrix, earned)
        others = kept.nothing if few else kept.no_tables
        for paths in _portions(forest, others, self._of, len(matrix), self._background, self.interactions):
            if self._stages is not None and self._background is not None:
                if paths.most and len(matrix):
                    stage_credit(forest, paths, matrix, self._background, self._stages, credit)
                continue
            for asked, earned in ((False, credit), (True, pairs)):
                if earned is not None:
                    _add(forest, paths, matrix, self._of, self._background, self._rule, asked, count, earned)
        return TreeCredit(
            np.ascontiguousarray(np.moveaxis(credit, -1, 0)),
            self.base,
            None if pairs is None else _square(pairs, count),
            means_of(self._background),
        )

    def _after(self, rows: int) -> KeptWays:
        """What serves these rows, with tables once they pay."""
        with self._lock:
            self._rows += rows
            if self._rows >= self._enough:
                self._enough = np.inf
                by_table = _keep_trees(self.forest, self._of, self._kinds)
                others = np.setdiff1d(np.arange(self.forest.trees), by_table)
                self._kept = self._keep(self._prepare(by_table, self._tables), others)
            return self._kept

    def _keep(self, tables: list[tuple[PreparedLeaves, bool]], no_tables: IntArray) -> KeptWays:
        """These tables, and what is known about the leaves of as many other trees as fit."""
        size, nodes = _way_bytes(self._levels, self.forest.trees, self._background)
        steady = self._background is not None or self._rule.is_steady(min(self.forest.depth, self._count))
        by_way = _within(no_tables, size, KEPT_BYTES if steady else 0)
        parts = _fill(by_way, nodes[by_way], WALK_NODES) if self._background is None else [by_way]
        ways = [way for trees in parts for way in self._prepare(trees, self._way)]
        return KeptWays(tables, ways, no_tables, np.setdiff1d(no_tables, by_way))

    def _rows_for_tables(self) -> float:
        """How many rows it takes until tables of the trees of which something is kept have cost less."""
        costs = [_costs(self.forest, way.paths, self._background, pairs) for way, pairs in self._kept.ways]
        table, way = (np.concatenate([np.zeros((0, 2)), *each]) for each in ([c[0] for c in costs], [c[1] for c in costs]))
        can = np.isfinite(table[:, 0])
        (more, _), (_, less) = (table - way)[can].sum(axis=0), (way - table)[can].sum(axis=0)
        return float(max(more, 0.0) / less) if less > 0 else np.inf

    @property
    def _kinds(self) -> tuple[bool, ...]:
        """Credits, and pairs if they are asked for."""
        return (False, True) if self.interactions else (False,)

    def _prepare(self, trees: IntArray, make: Callable[[Paths, bool], PreparedLeaves]) -> list[tuple[PreparedLeaves, bool]]:
        levels = self._levels if len(trees) == self.forest.trees else None
        paths = paths_of(self.forest, trees, self._of, levels) if len(trees) else None
        if paths is None or not paths.most:  # trees without a test share nothing
            return []
        return [(make(paths, pairs), pairs) for pairs in self._kinds]

    def _tables(self, paths: Paths, pairs: bool) -> KeptTables:
        return KeptTables(self.forest, paths, ~paths.inner, self._background, self._rule, pairs, self._count)

    def _way(self, paths: Paths, pairs: bool) -> Walk | Comparison:
        return _other_way(self.forest, paths, ~paths.inner, self._background, self._rule, pairs, self._count)


class PreparedLeaves(Protocol):
    """Some leaves, prepared for any rows."""

    paths: Paths

    def add(self, matrix: FloatArray, earned: FloatArray) -> None: ...


@dataclass(frozen=True, eq=False)
class KeptWays:
    """What serves later rows, each for credits or for pairs."""

    tables: list[tuple[PreparedLeaves, bool]]
    ways: list[tuple[PreparedLeaves, bool]]  # of other trees: for a few rows, which are not worth tables
    no_tables: IntArray  # trees
    nothing: IntArray  # trees that neither is kept of


def _other_way(
    forest: Forest,
    paths: Paths,
    leaves: BoolArray,
    background: Background | None,
    rule: Semivalue,
    pairs: bool,
    players: int,
) -> Walk | Comparison:
    """Leaves without tables: compared with a background; under cover ratios whole trees are walked."""
    if background is None:
        _check_steady(rule, paths.most)
        return Walk(forest, paths, rule, pairs, players)
    return Comparison(forest, paths, np.flatnonzero(leaves), background, rule, pairs, players)


def _way_bytes(by: Levels, trees: int, background: Background | None) -> tuple[FloatArray, IntArray]:
    """Bytes of what is known about the leaves of each tree without tables, and its nodes: (trees,) each."""
    nodes: IntArray = np.bincount(by.tree, minlength=trees).astype(np.int64)
    more = 8 * len(by.levels) if background is None else 4 * len(background.matrix)
    return (NODE_BYTES + more) * nodes.astype(np.float64), nodes


def _keep_trees(forest: Forest, of: IntArray, kinds: tuple[bool, ...]) -> IntArray:
    """The trees whose tables fit together into `KEPT_BYTES` bytes, the smallest first."""
    nodes = np.bincount(levels_of(forest, np.arange(forest.trees)).tree, minlength=forest.trees) * NODE_BYTES
    trees = _within(np.arange(forest.trees), nodes, KEPT_BYTES)
    if not len(trees):
        return trees
    paths = paths_of(forest, trees, of)
    size = nodes.astype(np.float64)
    for group in Blocks(paths, ~paths.inner).groups:
        targets = sum(group.bits * (group.bits - 1) / 2 if pairs else group.bits for pairs in kinds)
        np.add.at(size, paths.tree[group.root], 8 * targets * forest.value.shape[1] * 2.0**group.bits)
    deep = np.bincount(paths.tree, paths.count > MOST_BITS, forest.trees) > 0
    size[deep] = np.inf
    return _within(trees, size, KEPT_BYTES)


def _within(trees: IntArray, size: FloatArray | IntArray, most: float) -> IntArray:
    """As many of these trees, the smallest first, as stay within a size together."""
    order = trees[np.argsort(size[trees], kind="stable")]
    return np.sort(order[np.cumsum(size[order]) <= most])


def _add(
    forest: Forest,
    paths: Paths,
    matrix: FloatArray,
    of: IntArray,
    background: Background | None,
    rule: Semivalue,
    pairs: bool,
    players: int,
    earned: FloatArray,
) -> None:
    """Add the credit of some trees, each leaf by the way that costs least."""
    if paths.most == 0 or not len(matrix):
        return  # trees without a test share nothing
    by_table = _by_table(forest, paths, len(matrix), background, pairs)
    rest = ~by_table & ~paths.inner
    if by_table.any():
        Tables(forest, paths, by_table, background, rule, pairs, players).add(matrix, earned)
        if background is None and rest.any():
            paths = paths_of(forest, np.unique(paths.tree[rest]), of)
    if rest.any():
        _other_way(forest, paths, rest, background, rule, pairs, players).add(matrix, earned)


def _by_table(forest: Forest, paths: Paths, rows: int, background: Background | None, pairs: bool) -> BoolArray:
    """Which leaves are cheaper by table than by comparing rows, or than walking their tree: (nodes,)."""
    leaf = np.flatnonzero(~paths.inner)
    table, way = (cost @ (1, rows) for cost in _costs(forest, paths, background, pairs))
    cheaper = table < way
    if background is None:  # a tree is walked as a whole
        tree = paths.tree[leaf]
        cheaper = np.bincount(tree, table - way)[tree] < 0
    chosen = np.zeros(len(paths.nodes), dtype=bool)
    chosen[leaf[cheaper]] = True
    return chosen


def _costs(forest: Forest, paths: Paths, background: Background | None, pairs: bool) -> tuple[FloatArray, FloatArray]:
    """Nanoseconds of each leaf by table, and walked or compared: once and for each row, (leaves, 2) each.

    Measured on 100 trees of depth 4 to 10, whose leaves have 2 to 10 players k.
    """
    k, values = paths.count[~paths.inner].astype(np.float64), forest.value.shape[1]
    targets = k * (k - 1) / 2 if pairs else k
    made = TABLE_NANOSECONDS + 2.0 ** np.minimum(k, 60) * (0.3 * k * k + 6 * targets * values)
    made[k > MOST_BITS] = np.inf
    if background is not None:
        share = 0.75**k  # of pairs of rows that leave a cube, if each fails half of the tests
        once, each = np.full(len(k), 1000.0), len(background.matrix) * (1 + 8 * share) * (1 + pairs * k)
    else:
        once, each = np.full(len(k), 150.0), np.full(len(k), 4.0 * (paths.most + 1) * values)
        each *= 2 * np.count_nonzero(np.bincount(paths.player[paths.inner])) if pairs else 1
    return np.stack([made, 1 + targets * values], axis=1), np.stack([once, each], axis=1)


def _check_steady(rule: Semivalue, most: int) -> None:
    if not rule.is_steady(most):
        raise InvalidInput(
            f"value {rule.name:.60} cannot be computed to nine digits on paths of {most} columns (its weights grow to "
            f'{rule.size(most):.1g}); use "shapley", "banzhaf" or ("beta", α, β), or give a background',
            code="unsupported",
        )


def check_owners(players: object, features: int) -> IntArray:
    """The number of each column's player, (features,); by default every column plays for itself."""
    if players is None:
        return np.arange(features)
    of = as_array(players, "players")
    if of.shape != (features,) or of.dtype.kind not in "iu" or of.min(initial=0) < 0:
        raise InvalidInput(
            f"players has shape {of.shape} of {of.dtype}; give one number from 0 for each of {features} columns",
            argument="players",
            code="shape",
        )
    return of.astype(np.int64)


def means_of(background: Background | None) -> str:
    """What it means that a player does not play."""
    return "cover ratios" if background is None else f"background of {len(background.matrix)} rows"


def background_of(forest: Forest, rows: object, weight: object = None) -> Background:
    """Rows to compare with, checked, each counted by its weight; None: equally."""
    matrix = forest.matrix(rows, "background")
    if not len(matrix):
        raise InvalidInput(
            "background has no rows; give at least one, or leave it out for cover ratios", argument="background", code="missing"
        )
    counts = np.ones(len(matrix)) if weight is None else check_weight(weight, len(matrix))
    return Background(matrix, counts / counts.sum())


def check_weight(weight: object, rows: int) -> FloatArray:
    """How much each background row counts, (rows,)."""
    counts = real_numbers(weight, "weight")
    if counts.shape != (rows,) or not (counts >= 0).all() or not 0 < counts.sum() < np.inf:
        raise InvalidInput(
            f"weight is {shown(weight)}; give {rows} non-negative numbers, one per background row, not all zero",
            argument="weight",
            code="shape",
        )
    return counts


def base_value(forest: Forest, background: Background | None, by: Levels) -> FloatArray:
    """What nobody earns in each output: (outputs,)."""
    if background is not None:
        return np.asarray(background.weight @ forest.margin(background.matrix))
    reach = shares(forest, by)
    for level in by.levels[1:]:
        reach[level] *= reach[by.parent[level]]
    base = forest.base.copy()
    for v in range(forest.value.shape[1]):
        base += np.bincount(forest.output[by.tree] + v, reach * forest.value[by.nodes, v], len(base))
    return base


def _portions(
    forest: Forest, wanted: IntArray, of: IntArray, rows: int, background: Background | None, pairs: bool
) -> Iterator[Paths]:
    """Trees that are worked on together, so that their paths, tables and comparisons fit in memory."""
    if not len(wanted):
        return
    by = levels_of(forest, wanted)
    depth = np.zeros(forest.trees)
    for d, level in enumerate(by.levels):
        depth[by.tree[level]] = d
    order = wanted[np.argsort(depth[wanted], kind="stable")]  # of like depth: none is walked with more nodes than it needs
    each = COMPARED + (4 * len(by.levels) if background is None else len(background.matrix))
    for trees in _fill(order, (np.bincount(by.tree) / 2 * each)[order]):
        paths = paths_of(forest, trees, of)
        by_table = _by_table(forest, paths, rows, background, False)
        if pairs:
            by_table |= _by_table(forest, paths, rows, background, True)
        k = np.where(by_table, paths.count, 0)
        targets = np.maximum(k + 1, k * (k - 1) / 2 * pairs)
        table = np.where(by_table, 2.0**k * targets * forest.value.shape[1], 0)
        parts = _fill(trees, np.bincount(paths.tree, table, forest.trees)[trees].astype(np.float64))
        yield from (paths,) if len(parts) == 1 else (paths_of(forest, part, of) for part in parts)


def _fill(trees: IntArray, cells: FloatArray | IntArray, most: int = PORTION) -> list[IntArray]:
    """Trees in their order, as many together as make about one portion of cells; `cells` is in the order of `trees`."""
    turn = np.cumsum(cells) // most
    return np.split(trees, np.flatnonzero(np.diff(turn)) + 1)


def _square(pairs: FloatArray, players: int) -> FloatArray:
    """Pairs i < j as symmetric matrices: (players², outputs, rows) -> (rows, players, players, outputs)."""
    upper = np.moveaxis(pairs, -1, 0).reshape(pairs.shape[-1], players, players, pairs.shape[1])
    return upper + upper.transpose(0, 2, 1, 3)
