"""Owen values: credit when players come in groups, and groups in larger groups.

Orders are drawn as in the Shapley value, but a group always arrives together: siblings are shuffled at every level of the
tree. With one level this is the Owen value (1977), with more the Winter value (1989); with no groups it is Shapley.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, optional_whole, shown, whole_number
from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Holds,
    IntArray,
    Precision,
    Procedure,
    Tabulated,
    endpoints,
    payoffs,
    player_index,
)
from accredit.core.coalitions import from_index, unique
from accredit.core.game import as_name
from accredit.errors import InvalidInput, TooManyPlayers
from accredit.values.every_output import every_output
from accredit.values.sampling import check_spread
from accredit.values.semivalues import banzhaf_weights, shapley_weights
from accredit.values.solver import progress

EXACT_COALITIONS = 1 << 20
DEEPEST = 200  # groups within groups
GAINS_BYTES = 1 << 30  # of all orders together

Tree: TypeAlias = "str | int | Sequence[Tree] | Mapping[str, Tree]"  # a player's name, or a sequence or mapping of trees
Weights = Callable[[int], FloatArray]  # players -> p(0..players − 1)


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
                f"groups is nested more than {DEEPEST} deep, or contains itself; name players in fewer levels",
                argument="groups",
                code="unreadable",
            )
        tree = as_name(tree)
        if not isinstance(tree, str):
            return _together(parts_of(tree, path, depth))
        i = player_index(game.players, tree, "groups")
        if i in seen:
            raise InvalidInput(
                f"groups holds {tree!r} in {seen[i]} and in {path}; groups must not overlap",
                argument="groups",
                code="duplicate",
            )
        seen[i] = path
        return Node(np.arange(n) == i)

    def parts_of(tree: Tree, path: str, depth: int) -> list[Node]:
        if isinstance(tree, Mapping):
            parts = [build(part, f"{path}[{name!r}]", depth + 1) for name, part in tree.items()]
        elif isinstance(tree, Sequence):
            parts = [build(part, f"{path}[{i}]", depth + 1) for i, part in enumerate(tree)]
        else:
            raise InvalidInput(
                f"{path} is {shown(tree)}; a group is a player's name or a list of groups", argument="groups", code="type"
            )
        if not parts:
            raise InvalidInput(f"{path} is empty; name at least one player", argument="groups", code="empty")
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


def exact_owen(game: Game, root: Node, law: Weights = shapley_weights) -> tuple[FloatArray, int, tuple[float, float]]:
    """Owen values, the payoffs they cost, and v(∅) and v(N) among them: a game with random payoffs is asked only once.

    Before player i come, at every level, some of the siblings of the group that holds i; a set of k of them out of s has the
    Shapley weight 1/((s+1)·C(s, k)), or another weight by `law`, and levels are independent.
    """
    n = len(game.players)
    without, joined, who, weights = _before_and_after(root, law)
    distinct, index = unique(np.concatenate([without, joined]))
    v = payoffs(game, distinct)
    gains = (v[index[len(without) :]] - v[index[: len(without)]]) * weights
    ends = (float(v[~distinct.any(axis=1)][0]), float(v[distinct.all(axis=1)][0]))
    return np.bincount(who, gains, minlength=n).astype(np.float64), len(distinct), ends


def coalitions_of(root: Node) -> BoolArray:
    """The payoffs that `exact_owen` asks, each once: (k, n)."""
    without, joined, _, _ = _before_and_after(root, shapley_weights)
    return unique(np.concatenate([without, joined]))[0]


def _before_and_after(root: Node, law: Weights) -> tuple[BoolArray, BoolArray, IntArray, FloatArray]:
    """Who is there before each player arrives, and after; the player, and the weight of this."""
    n = len(root.members)
    asked, weights, owner = [], [], []
    for player, path in paths(root):
        before, weight = np.zeros((1, n), dtype=bool), np.ones(1)
        for _, siblings in path:
            present, share = _sibling_sets(siblings, n, law)
            before = (before[:, None] | present).reshape(-1, n)
            weight = (weight[:, None] * share).ravel()
        asked.append(before)
        weights.append(weight)
        owner.append(np.full(len(weight), player))
    without, who = np.concatenate(asked), np.concatenate(owner)
    joined = without.copy()
    joined[np.arange(len(joined)), who] = True
    return without, joined, who, np.concatenate(weights)


def _sibling_sets(siblings: tuple[Node, ...], n: int, law: Weights) -> tuple[BoolArray, FloatArray]:
    """All sets of siblings as coalitions, and the weight of each."""
    picks = from_index(np.arange(1 << len(siblings)), len(siblings))
    members = np.array([sibling.members for sibling in siblings], dtype=bool).reshape(len(siblings), n)
    return picks @ members, law(len(siblings) + 1)[picks.sum(axis=1)]


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
    check_spread(float(np.abs(gains).max()))
    return gains


INSIDE = Claim("symmetry", Holds.NO, "equal players in different groups may differ; inside one group they are equal")


def _orders(game: Game, needed: int, budget: int | None, orders: int | None) -> int | None:
    """How many random orders to draw; None: the value is computed exactly."""
    if orders is not None:
        if budget is not None:
            raise InvalidInput(
                f"budget={shown(budget)} and orders={shown(orders)} are both given; give one of them",
                argument="budget",
                code="conflict",
            )
        return orders
    spend = optional_whole(budget, "budget", example=1000)
    free = 1 << defaults.AUTO_EXACT if spend is None else min(spend, EXACT_COALITIONS)
    if needed <= (EXACT_COALITIONS if isinstance(game, Tabulated) else free):
        return None
    return max(2, ((defaults.BUDGET if spend is None else spend) - 2) // max(1, len(game.players) - 1))


@every_output
def banzhaf_owen(game: Game, groups: Tree, *, budget: int | None = None) -> Attribution:
    r"""Banzhaf values when players act in groups: every set of other groups, and of others inside, counts the same.

    $$\psi_i = \sum_{R \subseteq M \setminus k} \sum_{T \subseteq P_k \setminus i} 2^{1-|M|}\, 2^{1-|P_k|}\,
    [v(Q_R \cup T \cup i) - v(Q_R \cup T)]$$

    for i in group P_k and Q_R the players of the groups in R (Owen, 1981); deeper trees go on in the same way. With groups of
    one it is the Banzhaf value. Not efficient. Exact only: a tree that needs more payoffs than the `budget`, or a million, is
    refused.

    >>> from accredit.games import TableGame
    >>> data_sets = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    >>> banzhaf_owen(data_sets, [["A", "B"], "C"]).credit
    array([42.5, 32.5, 25. ])
    """
    root = tree_of(game, groups)
    spend = optional_whole(budget, "budget", example=1000)
    needed, most = coalitions_needed(root), min(spend or EXACT_COALITIONS, EXACT_COALITIONS)
    if needed > (EXACT_COALITIONS if isinstance(game, Tabulated) else most):
        raise TooManyPlayers(
            f"Banzhaf–Owen values of this tree need up to {needed:,} payoffs; the limit is {most:,}. Nest the groups "
            "deeper, or raise the budget",
            argument="budget" if spend else "groups",
            code="too-many",
        )
    credit, used, (nobody, everybody) = exact_owen(game, root, banzhaf_weights)
    return Attribution(
        game.players,
        credit,
        everybody - nobody,
        Procedure("banzhaf-owen", "exact"),
        (
            Claim("efficiency", Holds.NO, "only Shapley's weights share exactly v(N) − v(∅) in every game"),
            INSIDE,
            Claim("null player", Holds.EXACTLY, "a weighted sum of marginal contributions"),
            Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs"),
        ),
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=used,
        stopped="all sets of groups counted",
    )


@every_output
def owen(game: Game, groups: Tree, *, budget: int | None = None, orders: int | None = None, seed: int = 0) -> Attribution:
    r"""Share the payoff when players act in groups, groups in groups, and so on.

    `groups` is nested lists (or mappings) of player names; players not named are groups of their own. The credits of a
    group's members add up to the Shapley value of that group in the game between groups.

    Exact where the tree is narrow: its n·2^(siblings on the way down) payoffs fit the `budget` or, where none is stated, are at
    most 4,096 (a million for a game that knows its table). Otherwise estimated from random orders: as many as the budget pays
    for (2,000 payoffs where none is stated), or from `orders` of them.

    >>> from accredit.games import TableGame
    >>> data_sets = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    >>> owen(data_sets, [["A", "B"], "C"]).credit
    array([42.5, 32.5, 25. ])
    """
    root = tree_of(game, groups)
    shared = (
        Claim("efficiency", Holds.EXACTLY, "gains along every order telescope to v(N) − v(∅)"),
        INSIDE,
        Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
    )
    check_seed(seed)
    orders = _orders(game, coalitions_needed(root), budget, orders)
    if orders is not None:
        nobody, everybody = endpoints(game)
        gains = sampled_owen(game, root, orders, seed, (nobody, everybody))
        linear = Claim("linearity", Holds.EXACTLY, "for a fixed seed the same orders are used in every game")
        return Attribution(
            game.players,
            gains.mean(axis=0),
            everybody - nobody,
            Procedure("owen", settings={"orders": orders}),
            (*shared, linear),
            stderr=gains.std(axis=0, ddof=1) / np.sqrt(orders),
            precision=Precision.unknown("standard errors only, because intervals from few orders cover too little"),
            baseline=nobody,
            payoffs=(asked := orders * (len(game.players) - 1) + 2),
            seed=seed,
            stopped=f"{orders} orders drawn"
            + (
                f", the fewest that show an error: {asked} payoffs for a budget of {budget}"
                if asked > (budget or asked)
                else ""
            ),
        )
    credit, used, (nobody, everybody) = exact_owen(game, root)
    linear = Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs")
    return Attribution(
        game.players,
        credit,
        everybody - nobody,
        Procedure("owen", "exact"),
        (*shared, linear),
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=used,
        stopped="all group-wise orders counted",
    )
