"""Synergy: what players earn together beyond what they earn apart.

n credits cannot hold 2ⁿ payoffs, so what a value averages away is shown here instead of being blamed on an axiom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from accredit.core import FloatArray, Game, InvalidInput, coalition_of, named, payoffs, tabulate
from accredit.values.every_output import every_output

Coalition = tuple[str, ...]


def mobius_from_table(v: FloatArray) -> FloatArray:
    """Harsanyi dividends m(S) = Σ_{T ⊆ S} (−1)^{|S|−|T|} v(T) by the fast transform, O(n·2ⁿ).

    >>> mobius_from_table(np.array([0.0, 5, 3, 10]))
    array([0., 5., 3., 2.])
    """
    m = np.array(v, dtype=np.float64)
    for i in range(m.size.bit_length() - 1):
        pairs = m.reshape(-1, 2, 1 << i)
        pairs[:, 1] -= pairs[:, 0]
    return m


def sums_over_supersets(m: FloatArray) -> FloatArray:
    """Σ_{S ⊇ T} m(S) for every T, O(n·2ⁿ)."""
    total = np.array(m, dtype=np.float64)
    for i in range(total.size.bit_length() - 1):
        pairs = total.reshape(-1, 2, 1 << i)
        pairs[:, 0] += pairs[:, 1]
    return total


@dataclass(frozen=True)
class Interactions:
    """A number for every coalition of the sizes asked for, and what that number means.

    >>> from accredit.games import TableGame
    >>> pairs = shapley_interactions(TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100]))
    >>> pairs["B", "C"]
    20.0
    """

    players: tuple[str, ...]
    index: str  # which interaction index
    means: str  # how to read one number
    values: dict[Coalition, float]

    def __getitem__(self, coalition: Iterable[str]) -> float:
        who = coalition_of(self.players, [coalition] if isinstance(coalition, str) else coalition)
        key = tuple(p for p, plays in zip(self.players, who, strict=True) if plays)
        if key not in self.values:
            sizes = sorted({len(c) for c in self.values})
            raise InvalidInput(f"no interaction of {named(self.players, who)} here; the sizes computed are {sizes}")
        return self.values[key]

    def __iter__(self) -> Iterator[tuple[Coalition, float]]:
        return iter(self.values.items())

    def __len__(self) -> int:
        return len(self.values)

    def strongest(self, count: int = 10) -> list[tuple[Coalition, float]]:
        """The coalitions of largest interaction by magnitude."""
        return sorted(self.values.items(), key=lambda item: -abs(item[1]))[:count]

    def matrix(self) -> FloatArray:
        """Pairwise interactions as a symmetric n × n matrix with a zero diagonal."""
        n = len(self.players)
        square = np.zeros((n, n))
        where = {p: i for i, p in enumerate(self.players)}
        for (a, b), value in ((c, x) for c, x in self.values.items() if len(c) == 2):
            square[where[a], where[b]] = square[where[b], where[a]] = value
        return square


@every_output
def mobius(game: Game, order: int | None = None) -> Interactions:
    r"""Harsanyi dividends: what a coalition earns that no smaller one explains.

    $$m(S) = \sum_{T \subseteq S} (-1)^{|S|-|T|}\, v(T), \qquad v(S) = \sum_{T \subseteq S} m(T)$$

    `order` keeps coalitions up to that size; None keeps all. Costs 2ⁿ payoffs. The Shapley value splits each dividend evenly
    among its members.

    >>> from accredit.games import TableGame
    >>> mobius(TableGame(("alice", "bob"), [0, 5, 3, 10]))["alice", "bob"]
    2.0
    """
    n = len(game.players)
    largest = n if order is None else _order(order, n)
    m = mobius_from_table(tabulate(game))
    means = "what the coalition earns beyond all its parts"
    return Interactions(game.players, "mobius", means, _collect(game.players, range(largest + 1), m.__getitem__))


@every_output
def shapley_interactions(game: Game, order: int = 2) -> Interactions:
    r"""Shapley interaction index of every coalition of `order` players (Grabisch and Roubens, 1999).

    $$I(T) = \sum_{S \supseteq T} \frac{m(S)}{|S| - |T| + 1}$$

    For pairs: how much more i adds when j is there, averaged as in the Shapley value. Positive: they complement each other;
    negative: they replace each other. Costs 2ⁿ payoffs. Order 1 is the Shapley value itself.
    """
    m = mobius_from_table(tabulate(game))
    size = np.bitwise_count(np.arange(m.size))
    k = _order(order, len(game.players))
    shared = sums_over_supersets(np.where(size >= k, m / np.maximum(size - k + 1.0, 1.0), 0.0))
    means = "how much more one adds when the others of the coalition are there, averaged over coalitions"
    return Interactions(game.players, "shapley", means, _collect(game.players, [k], shared.__getitem__))


@every_output
def banzhaf_interactions(game: Game, order: int = 2) -> Interactions:
    r"""Banzhaf interaction index: the same derivative, every coalition of the others counted alike.

    $$I_B(T) = \sum_{S \supseteq T} 2^{|T|-|S|}\, m(S)$$
    """
    m = mobius_from_table(tabulate(game))
    k = _order(order, len(game.players))
    halved = sums_over_supersets(m * 0.5 ** (np.bitwise_count(np.arange(m.size)).astype(float) - k))
    means = "how much more one adds when the others of the coalition are there, all coalitions alike"
    return Interactions(game.players, "banzhaf", means, _collect(game.players, [k], halved.__getitem__))


def _order(order: int, n: int) -> int:
    if not isinstance(order, int | np.integer) or not 1 <= order <= n:
        raise InvalidInput(f"order must be a whole number from 1 to {n} (the number of players), got {order!r}")
    return int(order)


def _collect(players: tuple[str, ...], sizes: Iterable[int], value: Callable[[int], float]) -> dict[Coalition, float]:
    found = {}
    for size in sizes:
        for who in combinations(range(len(players)), size):
            found[tuple(players[i] for i in who)] = float(value(sum(1 << i for i in who)))
    return found


@every_output
def value_given(game: Game, player: str, given: Iterable[str] = ()) -> float:
    """What `player` adds when exactly the players in `given` are there: v(T ∪ i) − v(T).

    >>> from accredit.games import TableGame
    >>> data_sets = TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100])
    >>> value_given(data_sets, "C", ["A"]), value_given(data_sets, "C", ["B"])
    (30.0, 70.0)
    """
    others = coalition_of(game.players, given)
    joined = others | coalition_of(game.players, [player])
    if (others == joined).all():
        raise InvalidInput(f"player {player!r} is also in given; ask for its value given the others")
    before, after = payoffs(game, np.stack([others, joined]))
    return float(after - before)


@every_output
def best_subsets(game: Game) -> dict[int, tuple[Coalition, float]]:
    """The coalition of highest payoff for every size; ties go to the players listed first. Costs 2ⁿ payoffs.

    >>> from accredit.games import TableGame
    >>> best_subsets(TableGame(("A", "B", "C"), [0, 50, 20, 75, 25, 80, 90, 100]))[2]
    (('B', 'C'), 90.0)
    """
    v = tabulate(game)
    size = np.bitwise_count(np.arange(v.size))
    best: dict[int, tuple[Coalition, float]] = {}
    for k in range(len(game.players) + 1):
        rows = np.flatnonzero(size == k)
        row = int(rows[np.argmax(v[rows])])
        best[k] = (tuple(p for i, p in enumerate(game.players) if row >> i & 1), float(v[row]))
    return best


@every_output
def payoff_of(game: Game, coalition: Iterable[str]) -> float:
    """What one named coalition earns."""
    return float(payoffs(game, coalition_of(game.players, coalition)[None])[0])
