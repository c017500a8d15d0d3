r"""Credit in a function of sums of trees: a probability, a loss, an entropy of boosted trees.

$$v(S) = \sum_b w_b\, g\bigl(m(x_S, b_{N \setminus S})\bigr)$$

The raw outputs m of one row x beside one background row b are a sum of cubes, one for each leaf that a mixture of the two can
reach: it pays when all of A (the players that b fails) play and none of B (those that x fails). Trees in which both go the
same way are constant, equal cubes of several trees are one, and only the players in which x and b differ play at all.

Where these are few, m is tabulated for all their coalitions and v is exact, for every semivalue. Elsewhere Shapley values are
estimated from random orders, each with its reverse, which is exact for games of pairs. Along an order a cube pays from the
arrival of the last of A to that of the first of B, so that one order needs one addition and one subtraction per cube instead
of n passes through the model. Every background row has orders of its own; they are drawn once, so that a row gets the same
answer in whatever company it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accredit import defaults
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import BadPayoff, InvalidInput
from accredit.trees.credit import NODE_BYTES, TreeCredit, means_of
from accredit.trees.forest import Forest
from accredit.trees.leaf_tables import subset_sums
from accredit.trees.masks import WORD, FailMasks, Words
from accredit.trees.paths import paths_of
from accredit.trees.tables import Background, spans
from accredit.values.orders import random_places
from accredit.values.semivalue_rules import SHAPLEY, Semivalue

Cells = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Worth = Callable[[FloatArray], FloatArray]  # raw outputs (m, outputs) -> payoffs (m, payoffs)
TABLE_PLAYERS = 12  # in which a row and any background row differ, up to which all coalitions are tabulated
FEW_PLAYERS = 9  # the same of one background row where orders are drawn for others: up to here a table costs less
ORDER_PAIRS = 1000  # orders with their reverses, over all background rows
LEAST_ORDERS = 8  # of each background row: an interval rests on that many draws
VISITS_AT_ONCE = 1 << 23  # leaves × background rows × orders
CELLS_AT_ONCE = 1 << 21  # numbers in the tables of some background rows
PREPARED_BYTES = 256 << 20  # of masks of leaves and background rows, and of orders
MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))  # odd, of mixed bits
RULE_OF_THREE = 3.0  # what was seen in none of m draws may have a chance of about 3/m


class TooManyCubes(InvalidInput):
    """The trees are too large or too deep for credit in a function of their sums.

    >>> raise TooManyCubes("paths test 70 columns")
    Traceback (most recent call last):
        ...
    accredit.trees.linked.TooManyCubes: paths test 70 columns
    """

    usual = "unsupported"


def orders_for(background: int, players: int = 1, budget: int | None = None) -> int:
    """How many orders each background row gets, each with its reverse; a `budget` is the payoffs that one of them may ask.

    >>> orders_for(100), orders_for(5000), orders_for(100, players=30, budget=5800)
    (10, 8, 100)
    """
    if budget is None:
        return max(LEAST_ORDERS, -(-ORDER_PAIRS // background))
    return max(LEAST_ORDERS, budget // (2 * max(1, players - 1)))


@dataclass(frozen=True, eq=False)
class RowCubes:
    """What one row and some background rows leave of a forest: cubes with at least one player, equal ones merged."""

    pair: IntArray  # (cubes,) the background row
    present: BoolArray  # (cubes, slots) is the player of this slot in A?
    absent: BoolArray  # (cubes, slots) … in B?
    player: IntArray  # (cubes, slots)
    value: FloatArray  # (cubes, outputs)

    def take(self, which: BoolArray, number: IntArray) -> RowCubes:
        """Some of the cubes, with another number for each background row."""
        parts = self.present[which], self.absent[which], self.player[which], self.value[which]
        return RowCubes(number[self.pair[which]], *parts)


class LinkedShares:
    """A forest, a function of its outputs and background rows: prepared once, asked about rows as often as needed.

    >>> from accredit.trees import Tree
    >>> stump = Tree([0, -1, -1], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 3], [4, 1, 3])
    >>> shares = LinkedShares(Forest.of([stump], 2), Background(np.array([[0.9, 1.0]]), np.ones(1)), np.square, np.arange(2), 2)
    >>> found = shares.credit(np.array([[0.2, 7.0]]))
    >>> found.base, found.credit[0, :, 0], found.half_width is None
    (array([9.]), array([-8.,  0.]), True)
    """

    def __init__(
        self,
        forest: Forest,
        background: Background,
        worth: Worth,
        players: IntArray,  # (features,) the player of each column
        count: int,  # how many players there are
        *,
        rule: Semivalue = SHAPLEY,
        orders: int | None = None,  # of each background row, each with its reverse; None: see `orders_for`
        seed: int = 0,
        opposite: bool = False,  # of two payoffs the first earns the opposite of the second, and only that is computed
    ) -> None:
        self.forest, self.background, self.worth, self.count, self.rule = forest, background, worth, count, rule
        size, leaves = len(background.matrix), int((forest.feature < 0).sum())
        self._orders, self._seed, self._opposite = orders or orders_for(size), seed, opposite
        if 8 * size * max(leaves, count * 2 * self._orders) > PREPARED_BYTES or leaves * NODE_BYTES > PREPARED_BYTES:
            raise TooManyCubes(f"{leaves:,} leaves and {count} players are too many beside {size:,} background rows")
        self._paths = paths_of(forest, np.arange(forest.trees), players)
        self._leaf = np.flatnonzero(~self._paths.inner)
        tested = len(np.unique(self._paths.player[self._paths.inner]))
        if self._paths.most > WORD:
            raise TooManyCubes(f"paths of {self._paths.most} columns are too deep; up to {WORD} can be told apart")
        if rule is not SHAPLEY and tested > TABLE_PLAYERS:
            raise TooManyCubes(f"{rule.name:.60} needs all coalitions, and those of {tested} columns are too many")
        self._weights: dict[int, FloatArray] = {}  # by the number of players that differ
        self._fails = FailMasks(forest, self._paths, self._leaf)
        self._theirs = self._fail(background.matrix)
        self._margin = forest.margin(background.matrix)  # (m, outputs)
        self.base = np.asarray(background.weight @ _finite(worth(self._margin)))
        self._player = np.maximum(self._paths.path[self._leaf], 0).astype(np.int64)  # (leaves, slots)
        self._value = np.zeros((len(self._leaf), forest.outputs))
        first = forest.output[self._paths.tree[self._leaf]]
        for v in range(forest.value.shape[1]):
            self._value[np.arange(len(first)), first + v] = forest.value[self._paths.nodes[self._leaf], v]

    def _fail(self, matrix: FloatArray) -> Words:
        """The players that each row fails on the way to each leaf, as bits: (leaves, rows)."""
        if not self._paths.most:
            return np.zeros((len(self._leaf), len(matrix)), dtype=np.uint8)
        (words,) = self._fails.of(matrix)
        return words

    @cached_property
    def _places(self) -> IntArray:
        """The place 1 … n at which each player arrives, in each order and then in its reverse: (m, players, 2 × orders)."""
        size, n = len(self.background.matrix), self.count
        drawn = random_places(np.random.default_rng(self._seed), size * self._orders, n) + 1
        forth = drawn.reshape(size, self._orders, n).transpose(0, 2, 1)
        return np.concatenate([forth, n + 1 - forth], axis=2).astype(np.int64)

    @cached_property
    def _cells(self) -> Cells:
        """Place and order as one number: place × 2 · orders + order, (m, players, 2 × orders)."""
        orders = 2 * self._orders
        cells = self._places * orders + np.arange(orders)
        return cells.astype(np.uint16) if (self.count + 2) * orders <= np.iinfo(np.uint16).max else cells.astype(np.uint32)

    def credit(self, rows: FloatArray) -> TreeCredit:
        """Credit of every player in every payoff of these rows, with intervals where it is not exact."""
        found = [self._credit_row(self.forest.matrix(rows[r : r + 1])) for r in range(len(rows))]
        credit, half_width = np.stack([one for one, _ in found]), None
        if any(width is not None for _, width in found):
            half_width = np.stack([np.zeros_like(credit[0]) if width is None else width for _, width in found])
        if self._opposite:
            credit = np.concatenate([-credit, credit], axis=2)
            half_width = None if half_width is None else np.repeat(half_width, 2, axis=2)
        return TreeCredit(credit, self.base, None, means_of(self.background), half_width)

    def _credit_row(self, row: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Credit of one row, (players, payoffs), and the half-widths of its intervals; None: it is exact."""
        own, size = self._fail(row), len(self.background.matrix)
        shape = self.count, len(self.base) - self._opposite
        draws, exact = np.zeros((self._orders, *shape)), True
        seen = SeenGains(np.zeros(shape), np.zeros(self.count, dtype=bool))
        visited = VISITS_AT_ONCE // (len(self._leaf) * 2 * self._orders)
        tabulated = (CELLS_AT_ONCE >> TABLE_PLAYERS) // self.forest.outputs
        for part in spans(size, min(visited, tabulated)):
            cubes = self._cubes(own, part)
            pairs = part.stop - part.start
            plays = np.zeros((pairs, self.count), dtype=bool)
            for side in (cubes.present, cubes.absent):
                cube, slot = np.nonzero(side)
                plays[cubes.pair[cube], cubes.player[cube, slot]] = True
            differ = plays.sum(axis=1)
            weight, margin = self.background.weight[part], self._margin[part]
            few_enough = TABLE_PLAYERS if differ.max() <= TABLE_PLAYERS else FEW_PLAYERS
            for d in np.unique(differ[(differ > 0) & (differ <= few_enough)]).tolist():
                some = differ == d
                few = cubes.take(some[cubes.pair], np.cumsum(some) - 1)
                draws += self._tabulate(few, plays[some], margin[some], weight[some], d)
            many = differ > few_enough
            if many.any():
                exact = False
                rest = cubes.take(many[cubes.pair], np.cumsum(many) - 1)
                gains = self._gains(rest, np.arange(part.start, part.stop)[many], margin[many])
                seen.look(gains, plays[many])
                both = np.tensordot(weight[many], gains, axes=1)  # (players, 2 × orders, payoffs)
                draws += (both[:, : self._orders] + both[:, self._orders :]).transpose(1, 0, 2) / 2
        if exact:
            return draws[0], None
        return draws.mean(axis=0), _half_widths(draws, seen, size * self._orders)

    def _pay(self, raw: FloatArray) -> FloatArray:
        """Payoffs that are computed: (…, outputs) -> (…, payoffs)."""
        paid = _finite(self.worth(raw.reshape(-1, raw.shape[-1]))).reshape(*raw.shape[:-1], -1)
        return np.ascontiguousarray(paid[..., 1:]) if self._opposite else paid

    def _cubes(self, own: Words, part: slice) -> RowCubes:
        theirs = self._theirs[:, part]
        fails = (own | theirs) != 0
        leaf, pair = np.nonzero(((own & theirs) == 0) & fails)
        absent, present = own[leaf, 0], theirs[leaf, pair]
        value = self._value[leaf]
        if self.count <= WORD:
            first, of = self._merge(pair, leaf, present, absent)
            value = np.stack([np.bincount(of, value[:, k], len(first)) for k in range(value.shape[1])], axis=1)
            pair, leaf, present, absent = pair[first], leaf[first], present[first], absent[first]
        slots = self._player.shape[1]
        return RowCubes(pair, _bits(present, slots), _bits(absent, slots), self._player[leaf], value)

    def _merge(self, pair: IntArray, leaf: IntArray, present: Words, absent: Words) -> tuple[IntArray, IntArray]:
        """One of each set of equal cubes, and the set of each cube."""
        slots = self._player.shape[1]
        bit = np.uint64(1) << self._player.astype(np.uint64)  # (leaves, slots)
        sides = [
            (np.where(_bits(side, slots), bit[leaf], np.uint64(0))).sum(axis=1, dtype=np.uint64) for side in (present, absent)
        ]
        key = sides[0] * MIX[0] + sides[1] * MIX[1] + pair.astype(np.uint64) * MIX[2]
        order = np.argsort(key)  # equal cubes lie together; unequal ones that share a key are compared below
        a, b, p = sides[0][order], sides[1][order], pair[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (p[1:] != p[:-1])
        of = np.empty(len(order), dtype=np.int64)
        of[order] = np.cumsum(new) - 1
        return order[new], of

    # All coalitions of few players

    def _tabulate(self, cubes: RowCubes, plays: BoolArray, margin: FloatArray, weight: FloatArray, d: int) -> FloatArray:
        """Credit of pairs of rows that differ in d players, summed: (players, payoffs)."""
        pairs, outputs = margin.shape
        place = np.cumsum(plays, axis=1) - 1  # of each player among those of its pair
        bit = 1 << place[cubes.pair[:, None], cubes.player]
        start, rest = (np.where(side, bit, 0).sum(axis=1) for side in (cubes.present, cubes.absent))
        pair, value = cubes.pair, cubes.value
        while len(more := np.flatnonzero(rest)):  # "j does not play" is one minus "j plays"
            low = rest[more] & -rest[more]
            rest[more] ^= low
            start, rest = np.concatenate([start, start[more] | low]), np.concatenate([rest, rest[more]])
            pair, value = np.concatenate([pair, pair[more]]), np.concatenate([value, -value[more]])
        where, cells = start * pairs + pair, pairs << d
        placed = np.stack([np.bincount(where, value[:, k], cells).astype(np.float64) for k in range(outputs)], axis=1)
        raw = subset_sums(placed.reshape(1 << d, pairs, outputs))
        raw += margin - raw[0]
        paid = self._pay(raw)
        shared = np.tensordot(self._weights_of_table(d), paid, axes=1) * weight[:, None]  # (d, pairs, payoffs)
        owner = np.nonzero(plays)[1].reshape(pairs, d).T.ravel()
        credit = [np.bincount(owner, shared[..., k].ravel(), self.count) for k in range(paid.shape[2])]
        return np.stack(credit, axis=1)

    def _weights_of_table(self, d: int) -> FloatArray:
        """What the payoff of each coalition of d players counts in the credit of each: (d, 2ᵈ)."""
        if d not in self._weights:
            place = np.arange(1 << d)
            plays = place >> np.arange(d)[:, None] & 1 == 1
            size = np.bitwise_count(place)
            by_size = np.concatenate([[0.0], self.rule.weights(d), [0.0]])
            self._weights[d] = np.where(plays, by_size[size], -by_size[size + 1])
        return self._weights[d]

    # Random orders of many

    def _gains(self, cubes: RowCubes, rows: IntArray, margin: FloatArray) -> FloatArray:
        """What each player adds on arrival beside each of these background rows: (pairs, players, 2 × orders, payoffs)."""
        raw = self._raw_along(cubes, self._cells[rows])
        raw += (margin - raw[:, 0, 0])[:, None, None]
        return np.take_along_axis(np.diff(self._pay(raw), axis=1), self._places[rows][..., None] - 1, axis=1)

    def _raw_along(self, cubes: RowCubes, cells: Cells) -> FloatArray:
        """Raw outputs after 0, 1, … n arrivals, but for a constant of each pair: (pairs, n + 1, 2 × orders, outputs)."""
        pairs, n, orders = cells.shape
        begin = _last_of(cubes, cubes.present, cells, np.maximum, 0)  # when the last of A has come
        end = _last_of(cubes, cubes.absent, cells, np.minimum, n + 1)  # when the first of B comes
        pays = begin < end
        first = (cubes.pair * ((n + 2) * orders))[:, None]
        places = [(first + when).ravel() for when in (begin, end)]
        raw = np.empty((pairs, n + 1, orders, cubes.value.shape[1]))
        for k in range(raw.shape[3]):
            value = (cubes.value[:, k, None] * pays).ravel()
            begun, ended = (np.bincount(place, value, pairs * (n + 2) * orders) for place in places)
            changes = (begun - ended).reshape(pairs, n + 2, orders)
            np.cumsum(changes[:, : n + 1], axis=1, out=raw[..., k])
        return raw


def _last_of(cubes: RowCubes, side: BoolArray, cells: Cells, later: np.ufunc, none: int) -> Cells:
    """The last cell, in the sense of `later`, of the players on one side of each cube; place `none` without any: (cubes, 2 ×
    orders)."""
    _, n, orders = cells.shape
    found = np.empty((len(side), orders), dtype=cells.dtype)
    found[:] = none * orders + np.arange(orders)
    flat = cells.reshape(-1, orders)
    cube, slot = np.nonzero(side)
    turn = np.cumsum(side, axis=1)[side] - 1  # the first, second … player of its cube
    for now in range(int(turn.max(initial=-1)) + 1):
        mine = np.flatnonzero(turn == now)
        to = cube[mine]
        arrive = flat[cubes.pair[to] * n + cubes.player[to, slot[mine]]]
        found[to] = later(found[to], arrive) if now else arrive
    return found


@dataclass(frozen=True, eq=False)
class SeenGains:
    """The largest gains in orders of one row, by which one that was never seen is judged."""

    size: FloatArray  # (players, payoffs) the largest of each player's gains
    plays: BoolArray  # (players,) has it gains at all, for any background row?

    def look(self, gains: FloatArray, plays: BoolArray) -> None:
        """Gains (pairs, players, orders, payoffs) of players that play there (pairs, players)."""
        np.maximum(self.size, np.abs(gains).max(axis=(0, 2)), out=self.size)
        np.logical_or(self.plays, plays.any(axis=0), out=self.plays)


def _half_widths(draws: FloatArray, seen: SeenGains, orders: int) -> FloatArray:
    """Student t on the draws, (orders, players, payoffs) -> (players, payoffs). A player that plays but was never seen to gain
    may gain as much as anybody, with the chance that the rule of three leaves."""
    from scipy.special import stdtrit

    count = len(draws)
    width = stdtrit(count - 1, (1 + defaults.LEVEL) / 2) * draws.std(axis=0, ddof=1) / np.sqrt(count)
    unseen = seen.plays[:, None] & (seen.size == 0)
    return np.asarray(np.where(unseen, RULE_OF_THREE / orders * seen.size.max(axis=0), width))


def _finite(paid: FloatArray) -> FloatArray:
    """The payoffs, or an error where one of them is not a finite number."""
    if not np.isfinite(paid).all():
        raise BadPayoff("the payoff of a mixture of rows is not finite; use payoff='probability'", code="not-finite")
    return paid


def _bits(words: Words, slots: int) -> BoolArray:
    """Words (m,) -> (m, slots)."""
    return (words[:, None] >> np.arange(slots, dtype=words.dtype) & words.dtype.type(1)).astype(bool)
