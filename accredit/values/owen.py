"""Owen values: credit when players come in groups, and groups in larger groups.

Orders are drawn as in the Shapley value, but a group always arrives together: siblings are shuffled at every level of the
tree. With one level this is the Owen value (1977), with more the Winter value (1989); with no groups it is Shapley.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Holds,
    InvalidInput,
    Precision,
    TooManyPlayers,
    checked_seed,
    endpoints,
    payoffs,
    player_index,
    shown,
    whole_number,
)
from accredit.core.coalitions import from_index, unique
from accredit.values.every_output import every_output
from accredit.values.semivalues import shapley_weights
from accredit.values.solver import progress

EXACT_COALITIONS = 1 << 20
DEEPEST = 200  # groups within groups
GAINS_BYTES = 1 << 30  # of all orders together

Tree = Any  # a player's name, or a sequence or mapping of trees


@dataclass(frozen=True)
class Node:
    """One group: its members as a coalition, and its parts."""

    members: BoolArray  # (n,)
    parts: tuple[Node, ...] = ()


def tree_of(game: Game, groups: Tree) -> Node:
    """The tree of groups, checked: names are players, nobody is in two groups, players left out are groups of their own."""
    n = len(game.players)
    seen: dict[int, str] = {}

    def build(tree: Tree, path: str, depth: int) -> Node:
        if depth > DEEPEST:
            raise InvalidInput(
                f"groups is nested more than {DEEPEST} deep, or contains itself; name players in fewer levels"
            )
        if not isinstance(tree, str):
            return _together(parts_of(tree, path, depth))
        i = player_index(game.players, tree)
        if i in seen:
            raise InvalidInput(f"groups holds {tree!r} in {seen[i]} and in {path}; groups must not overlap")
        seen[i] = path
        return Node(np.arange(n) == i)

    def parts_of(tree: Tree, path: str, depth: int) -> list[Node]:
        if isinstance(tree, Mapping):
            parts = [build(part, f"{path}[{name!r}]", depth + 1) for name, part in tree.items()]
        elif isinstance(tree, Sequence):
            parts = [build(part, f"{path}[{i}]", depth + 1) for i, part in enumerate(tree)]
        else:
            raise InvalidInput(f"{path} is {shown(tree)}; a group is a player's name or a list of groups")
        if not parts:
            raise InvalidInput(f"{path} is empty; name at least one player")
        return parts

    listed = [build(groups, "groups", 0)] if isinstance(groups, str) else parts_of(groups, "groups", 0)
    return _together(listed + [Node(np.arange(n) == i) for i in range(n) if i not in seen])


def _together(parts: list[Node]) -> Node:
    """The group of some parts; a group of one part is that part."""
    if len(parts) == 1:
        return parts[0]
    return Node(np.logical_or.reduce([part.members for part in parts]), tuple(parts))


def paths(root: Node) -> list[tuple[int, list[tuple[Node, tuple[Node, ...]]]]]:
    """For every player the way down to it: at each level the group taken and its siblings."""
    found = []

    def walk(node: Node, path: list[tuple[Node, tuple[Node, ...]]]) -> None:
        if not node.parts:
            found.append((int(np.argmax(node.members)), path))
        for part in node.parts:
            walk(part, [*path, (part, tuple(s for s in node.parts if s is not part))])

    walk(root, [])
    return sorted(found, key=lambda item: item[0])


def exact_owen(game: Game, root: Node) -> tuple[FloatArray, int, tuple[float, float]]:
    """Owen values, the payoffs they cost, and v(∅) and v(N) among them: a game with random payoffs is asked only once.

    Before player i come, at every level, some of the siblings of the group that holds i; a set of k of them out of s has the
    Shapley weight 1/((s+1)·C(s, k)), and levels are independent.
    """
    n = len(game.players)
    asked, weights, owner = [], [], []
    for player, path in paths(root):
        before, weight = np.zeros((1, n), dtype=bool), np.ones(1)
        for _, siblings in path:
            present, share = _sibling_sets(siblings, n)
            before = (before[:, None] | present).reshape(-1, n)
            weight = (weight[:, None] * share).ravel()
        asked.append(before)
        weights.append(weight)
        owner.append(np.full(len(weight), player))
    without, who = np.concatenate(asked), np.concatenate(owner)
    joined = without.copy()
    joined[np.arange(len(joined)), who] = True
    distinct, index = unique(np.concatenate([without, joined]))
    v = payoffs(game, distinct)
    gains = (v[index[len(without) :]] - v[index[: len(without)]]) * np.concatenate(weights)
    ends = (float(v[~distinct.any(axis=1)][0]), float(v[distinct.all(axis=1)][0]))
    return np.bincount(who, gains, minlength=n).astype(np.float64), len(distinct), ends


def _sibling_sets(siblings: tuple[Node, ...], n: int) -> tuple[BoolArray, FloatArray]:
    """All sets of siblings as coalitions, and the weight of each."""
    picks = from_index(np.arange(1 << len(siblings)), len(siblings))
    members = np.array([sibling.members for sibling in siblings], dtype=bool).reshape(len(siblings), n)
    return picks @ members, shapley_weights(len(siblings) + 1)[picks.sum(axis=1)]


def coalitions_needed(root: Node) -> int:
    """An upper bound on the payoffs that `exact_owen` asks."""
    return 2 * sum(1 << sum(len(siblings) for _, siblings in path) for _, path in paths(root))


def random_order(rng: np.random.Generator, node: Node) -> list[int]:
    """One order in which every group arrives together."""
    if not node.parts:
        return [int(np.argmax(node.members))]
    return [i for part in rng.permutation(len(node.parts)) for i in random_order(rng, node.parts[part])]


def sampled_owen(game: Game, root: Node, orders: int, seed: int, ends: tuple[float, float]) -> FloatArray:
    """What each player adds on arrival along random group-wise orders, from v(∅) to v(N), which are known: (orders, n)."""
    n = len(game.players)
    whole_number(orders, "orders", 2, GAINS_BYTES // (8 * n), example=500)
    rng = np.random.default_rng(seed)
    gains = np.empty((orders, n))
    step = max(1, (1 << 22) // (n * (n + 1)))
    with progress("owen", orders) as bar:
        for start in range(0, orders, step):
            chunk = np.array([random_order(rng, root) for _ in range(min(step, orders - start))])
            arrived = np.zeros((len(chunk), n + 1, n), dtype=bool)
            for place in range(n):
                arrived[:, place + 1] = arrived[:, place]
                arrived[np.arange(len(chunk)), place + 1, chunk[:, place]] = True
            v = np.empty((len(chunk), n + 1))
            v[:, 0], v[:, n] = ends
            v[:, 1:n] = payoffs(game, arrived[:, 1:n].reshape(-1, n)).reshape(len(chunk), n - 1)
            gains[start + np.arange(len(chunk))[:, None], chunk] = np.diff(v, axis=1)
            bar.update(start + len(chunk))
    return gains


@every_output
def owen(game: Game, groups: Tree, *, orders: int | None = None, seed: int = 0) -> Attribution:
    r"""Share the payoff when players act in groups, groups in groups, and so on.

    `groups` is nested lists (or mappings) of player names; players not named are groups of their own. The credits of a
    group's members add up to the Shapley value of that group in the game between groups. Exact when the tree is narrow
    (it needs about n·2^(siblings on the way down) payoffs); give `orders` to estimate from that many random orders.

    >>> from accredit.games import TableGame
    >>> data_sets = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    >>> owen(data_sets, [["A", "B"], "C"]).credit
    array([42.5, 32.5, 25. ])
    """
    root = tree_of(game, groups)
    symmetry = Claim(
        "symmetry", Holds.NO, "equal players in different groups may differ; inside one group they are equal"
    )
    shared = (
        Claim("efficiency", Holds.EXACTLY, "gains along every order telescope to v(N) − v(∅)"),
        symmetry,
        Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
    )
    checked_seed(seed)
    if orders is not None:
        nobody, everybody = endpoints(game)
        gains = sampled_owen(game, root, orders, seed, (nobody, everybody))
        linear = Claim("linearity", Holds.EXACTLY, "for a fixed seed the same orders are used in every game")
        return Attribution(
            game.players,
            gains.mean(axis=0),
            everybody - nobody,
            f"owen/orders={orders}",
            (*shared, linear),
            stderr=gains.std(axis=0, ddof=1) / np.sqrt(orders),
            precision=Precision.unknown("standard errors only, because intervals from few orders cover too little"),
            baseline=nobody,
            payoffs=orders * (len(game.players) - 1) + 2,
            seed=seed,
            stopped=f"{orders} orders drawn",
        )
    needed = coalitions_needed(root)
    if needed > EXACT_COALITIONS:
        raise TooManyPlayers(
            f"exact Owen values of this tree need up to {needed:,} payoffs; the limit is {EXACT_COALITIONS:,}. "
            "Estimate instead: owen(game, groups, orders=500), or nest the groups deeper."
        )
    credit, used, (nobody, everybody) = exact_owen(game, root)
    linear = Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs")
    return Attribution(
        game.players,
        credit,
        everybody - nobody,
        "owen/exact",
        (*shared, linear),
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=used,
        stopped="all group-wise orders counted",
    )
