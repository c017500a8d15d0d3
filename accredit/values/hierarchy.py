"""Values of players in nested groups, with the payoffs spent where the credit is: documents, their paragraphs, their sentences.

Groups are *opened* one after the other, the one of largest credit first. Of an opened group the parts that earn most alone
stay (or those without which most is lost, where parts alone earn too little), and the others are one block, which can be
opened, too; what stands beside the opened group becomes one block as well. So every level asks few payoffs, however many
players there are, and the blocks are the leaves of a narrow tree whose Owen–Winter value is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from accredit import defaults
from accredit.checks import optional_whole
from accredit.core import (
    Attribution,
    Attributions,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Games,
    Holds,
    Precision,
    Procedure,
    check_game,
    endpoints,
    payoffs,
)
from accredit.core.games import Record
from accredit.core.rounding import blur_of
from accredit.games.wrappers import Cached, cached
from accredit.values.owen import Node, Tree, coalitions_of, exact_owen, tree_of

TOGETHER = 3  # parts of a group that are told apart at a time
ALONE = 0.5  # of a group's credit, that its parts must earn alone for these gains to choose among them
SETTLED = 0.05  # of the largest credit of a block: groups with less are not opened

CLAIMS = (
    Claim("efficiency", Holds.EXACTLY, "credits of blocks are Owen values of v, and inside a block they are shared evenly"),
    Claim("symmetry", Holds.NO, "equal players in different blocks may differ"),
    Claim("null player", Holds.NO, "inside a block that was not opened credit is shared evenly"),
    Claim("linearity", Holds.NO, "which groups are opened depends on the game"),
)


@dataclass(eq=False)
class GroupBlock:
    """A group that is credited as one, or the blocks that it was opened into."""

    source: Node
    parts: list[GroupBlock] = field(default_factory=list)

    @property
    def leaves(self) -> list[GroupBlock]:
        return [leaf for part in self.parts for leaf in part.leaves] if self.parts else [self]


@dataclass(frozen=True, eq=False)
class BlockGame:
    """The game of some blocks: each plays or stays out as one."""

    game: Game
    members: BoolArray  # (blocks, n)

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(f"block {k}" for k in range(len(self.members)))

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        return self.game.payoff(coalitions @ self.members)


def hierarchy(game: Game, groups: Tree, *, budget: int | None = None) -> Attribution | Attributions:
    r"""Share the payoff among groups, and go into those that earn it: documents, then paragraphs, then sentences.

    `groups` is nested as for `owen`. At most `budget` payoffs are asked (128 where none is stated). The blocks in which it ends
    have the Owen–Winter values of the tree that was opened, exactly: at every level a group's credit is divided among its
    parts, while what stands beside it is there or not as a whole. The sum is v(N) − v(∅). Players of a block that was not
    opened share its credit evenly; `provenance["blocks"]` lists the blocks. Of several outputs the first decides which groups
    are opened.

    >>> from accredit.games import FunctionGame
    >>> names = [f"document {d}, sentence {s}" for d in range(30) for s in range(6)]
    >>> game = FunctionGame(names, lambda coalitions: 5.0 * coalitions[:, 100] + 1.0 * coalitions[:, 7])
    >>> found = hierarchy(game, [names[k : k + 6] for k in range(0, 180, 6)])
    >>> found.top(2).players, round(float(found.credit.max()), 6), found.payoffs
    (('document 16, sentence 4', 'document 1, sentence 1'), 5.0, 80)
    """
    check_game(game)
    most = optional_whole(budget, "budget", 2, example=128) or defaults.OPENING_BUDGET
    root = tree_of(game, groups)
    if not isinstance(game, Games):
        kept = cached(game)
        return _credit(kept, _open_blocks(kept, root, most), kept.remembered, blur_of(game))
    record = Record(game)
    first = cached(record[record.outputs[0]])
    opened = _open_blocks(first, root, most)
    each = {name: first if name == record.outputs[0] else record[name] for name in record.outputs}
    answers = {name: _credit(one, opened, first.remembered, blur_of(record[name])) for name, one in each.items()}
    return Attributions(answers, first.remembered)


def _open_blocks(game: Cached, root: Node, most: int) -> GroupBlock:
    """Groups opened as long as the payoffs last, the one of largest credit first."""
    whole = GroupBlock(root)
    closed: set[int] = set()  # blocks that cannot be opened within the budget
    while True:
        leaves = whole.leaves
        credit = np.abs(_values(game, whole))
        open_next = [
            k
            for k in np.argsort(-credit, kind="stable")
            if leaves[k].source.parts and id(leaves[k]) not in closed and credit[k] > SETTLED * credit.max()
        ]
        if not open_next:
            return whole
        block = leaves[open_next[0]]
        if not _open(game, whole, block, float(credit[open_next[0]]), most):
            closed.add(id(block))


def _open(game: Cached, whole: GroupBlock, block: GroupBlock, credit: float, most: int) -> bool:
    """Open one block of so much credit, unless that would ask more payoffs than there are; whether it is open."""
    parts = block.source.parts
    if len(parts) > TOGETHER:
        gains = _gains(game, np.stack([part.members for part in parts]), credit, most)
        if gains is None:
            return False
        order = np.argsort(-gains, kind="stable").tolist()
        kept, rest = sorted(order[: TOGETHER - 1]), [parts[k] for k in sorted(order[TOGETHER - 1 :])]
        beside = Node(np.logical_or.reduce([part.members for part in rest]), tuple(rest)) if len(rest) > 1 else rest[0]
        parts = (*(parts[k] for k in kept), beside)
    holder = _holder_of(whole, block)
    before = None if holder is None else holder.parts
    block.parts = [GroupBlock(part) for part in parts]
    if holder is not None and len(holder.parts) > 2:  # what stands beside it is there or not as a whole
        others = [part for part in holder.parts if part is not block]
        holder.parts = [block, GroupBlock(holder.source, others)]
    asked = coalitions_of(_tree(whole)) @ np.stack([leaf.source.members for leaf in whole.leaves])
    if game.remembered + game.count_new(asked) > most:
        block.parts = []
        if holder is not None and before is not None:
            holder.parts = before
        return False
    return True


def _gains(game: Cached, parts: BoolArray, credit: float, most: int) -> FloatArray | None:
    """What each part earns alone, and where that is little, what is lost without it, too; None where payoffs do not last."""
    nobody, everybody = endpoints(game)
    if game.remembered + game.count_new(parts) > most:
        return None
    gains: FloatArray = np.abs(payoffs(game, parts) - nobody)
    if gains.sum() >= ALONE * credit or game.remembered + game.count_new(~parts) > most:
        return gains
    gains += np.abs(everybody - payoffs(game, ~parts))
    return gains


def _holder_of(within: GroupBlock, block: GroupBlock) -> GroupBlock | None:
    """The block that a block is a part of."""
    for part in within.parts:
        if part is block:
            return within
        if found := _holder_of(part, block):
            return found
    return None


def _tree(whole: GroupBlock) -> Node:
    """The blocks as a tree of players: the leaves, numbered from left to right."""
    count, number = len(whole.leaves), iter(range(len(whole.leaves)))

    def build(block: GroupBlock) -> Node:
        if not block.parts:
            return Node(np.arange(count) == next(number))
        parts = tuple(build(part) for part in block.parts)
        return Node(np.logical_or.reduce([part.members for part in parts]), parts)

    return build(whole)


def _values(game: Game, whole: GroupBlock) -> FloatArray:
    """The Owen–Winter values of the blocks: (leaves,)."""
    members = np.stack([leaf.source.members for leaf in whole.leaves])
    return exact_owen(BlockGame(game, members), _tree(whole))[0]


def _credit(game: Game, whole: GroupBlock, asked: int, blur: float) -> Attribution:
    """The credit of every player, from that of the block it is in."""
    leaves, values = whole.leaves, _values(game, whole)
    credit = np.zeros(len(game.players))
    blocks = []
    for leaf, value in zip(leaves, values.tolist(), strict=True):
        members = np.flatnonzero(leaf.source.members)
        credit[members] = value / len(members)
        blocks.append({"players": len(members), "first": game.players[members[0]], "credit": value})
    nobody, everybody = endpoints(game)
    singles = sum(block["players"] == 1 for block in blocks)
    return Attribution(
        game.players,
        credit,
        everybody - nobody,
        Procedure("hierarchy"),
        CLAIMS,
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=asked,
        stopped=f"{len(blocks)} blocks told apart, {singles} of them single players; the others share evenly inside",
        provenance={"blocks": blocks},
        blur=blur,
    )
