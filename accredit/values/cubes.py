r"""Games that are sums of cubes: every semivalue and pair interaction in closed form, whatever the number of players.

A cube pays w when all of A play and none of B: $w\,1[A \subseteq S,\ B \cap S = \varnothing]$. With a = |A|, c = |B| and
$M_{uv} = \Lambda(t^u (1-t)^v)$ the moments of a semivalue, each member of A earns $w\,M_{a-1,c}$ and each of B
$-w\,M_{a,c-1}$. A pair inside A interacts by $w\,M_{a-2,c}$, inside B by $w\,M_{a,c-2}$, across by $-w\,M_{a-1,c-1}$.
Leaves of decision trees, unanimity games and formulas are such sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from accredit.checks.numbers import finite_numbers, real_number, shown, truths
from accredit.core import BoolArray, FloatArray, Game, check_players, coalition_of, write_coalition
from accredit.core.game import check_finite
from accredit.errors import InvalidInput
from accredit.values.semivalue_rules import Semivalue

CELLS_PER_PRODUCT = 1 << 22  # coalitions × cubes of one product


class Cubes(NamedTuple):
    """A constant and the cubes that are added to it.

    >>> both = CubeGame.unanimity("ab", "ab").cubes  # one cube: it pays 1 where a and b play
    >>> both.constant, both.weight.tolist(), both.present.tolist(), both.absent.tolist()
    (0.0, [1.0], [[True, True]], [[False, False]])
    """

    constant: float
    weight: FloatArray  # (cubes,)
    present: BoolArray  # (cubes, n): A, who must play
    absent: BoolArray  # (cubes, n): B, who must not


@runtime_checkable
class Cubed(Game, Protocol):
    """A game that knows itself as a sum of cubes; values solve it in closed form."""

    @property
    def cubes(self) -> Cubes: ...


@final
class CubeGame:
    """A game given by its cubes.

    >>> game = CubeGame(("a", "b", "c"), [6.0], present=[[1, 1, 0]], absent=[[0, 0, 1]])
    >>> game.payoff(np.array([[True, True, False], [True, True, True]]))
    array([6., 0.])
    >>> from accredit import shapley
    >>> shapley(game).credit
    array([ 1.,  1., -2.])
    """

    def __init__(
        self,
        players: Iterable[str],
        weight: npt.ArrayLike,
        present: npt.ArrayLike,
        absent: npt.ArrayLike,
        constant: float = 0.0,
    ) -> None:
        self._players = check_players(players)
        amounts = finite_numbers(weight, "weight")
        base = real_number(constant, "constant", example=0)
        shape = (amounts.size, len(self._players))
        inside, outside = truths(present, "present"), truths(absent, "absent")
        if inside.size == 0 == outside.size:
            inside, outside = inside.reshape(0, shape[1]), outside.reshape(0, shape[1])
        if amounts.ndim != 1 or inside.shape != shape or outside.shape != shape:
            raise InvalidInput(
                f"weight has shape {amounts.shape}, present {np.shape(present)}, absent {np.shape(absent)}; m cubes of "
                f"{shape[1]} players need (m,), (m, {shape[1]}) and (m, {shape[1]})",
                argument="weight",
                code="shape",
            )
        check_finite(np.append(amounts, base), lambda row: f"cube {row}")
        both = (inside & outside).any(axis=1)
        if both.any():
            cube = int(np.argmax(both))
            torn = write_coalition(self._players, inside[cube] & outside[cube])
            raise InvalidInput(
                f"cube {cube} wants {torn} both present and absent, so it never pays; leave it out", code="conflict"
            )
        self._cubes = Cubes(base, amounts, inside, outside)

    @classmethod
    def unanimity(cls, players: Iterable[str], coalition: Iterable[str], worth: float = 1.0) -> CubeGame:
        """The game that pays `worth` when the whole coalition plays.

        >>> CubeGame.unanimity("abc", "ac").payoff(np.array([[True, True, False], [True, False, True]]))
        array([0., 1.])
        """
        names = check_players(players)
        needed = coalition_of(names, coalition)[None]
        return cls(names, [real_number(worth, "worth", example=1)], needed, np.zeros_like(needed))

    @classmethod
    def formula(cls, players: Iterable[str], terms: Iterable[tuple[Iterable[str], Iterable[str]]]) -> CubeGame:
        """The game that pays 1 when any term holds; a term lists who must play and who must not.

        The terms are cut into cubes that do not overlap, at worst exponentially many.

        >>> either = CubeGame.formula(("a", "b"), [(["a"], []), (["b"], [])])
        >>> either.payoff(np.array([[False, False], [True, False], [True, True]]))
        array([0., 1., 1.])
        """
        names = check_players(players)
        try:
            every = [(coalition_of(names, has), coalition_of(names, lacks)) for has, lacks in terms]
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"terms is {shown(terms)}; write pairs of who must play and who must not, as in [(['a'], ['b'])]",
                argument="terms",
                code="type",
            ) from None
        pieces = [piece for i, term in enumerate(every) for piece in _outside(term, every[:i])]
        sides = np.array(pieces, dtype=bool).reshape(-1, 2, len(names))
        return cls(names, np.ones(len(sides)), sides[:, 0], sides[:, 1])

    @property
    def players(self) -> tuple[str, ...]:
        return self._players

    @property
    def cubes(self) -> Cubes:
        return self._cubes

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        constant, weight, present, absent = self._cubes
        given = truths(coalitions, "coalitions")
        if given.ndim != 2 or given.shape[1] != len(self._players):
            raise InvalidInput(
                f"coalitions has shape {given.shape}; {len(self._players)} players need (batch, {len(self._players)})",
                argument="coalitions",
                code="shape",
            )
        wrong = np.concatenate([present, absent], axis=1).astype(np.float64)  # who is missing or unwelcome counts
        earned = np.empty(len(given))
        step = max(1, CELLS_PER_PRODUCT // max(1, len(weight)))
        for start in range(0, len(given), step):
            plays = given[start : start + step]
            faults = np.concatenate([~plays, plays], axis=1).astype(np.float64) @ wrong.T
            earned[start : start + step] = constant + (faults == 0) @ weight
        return earned

    def __repr__(self) -> str:
        return f"CubeGame({len(self._players)} players, {len(self._cubes.weight)} cubes)"


Term = tuple[BoolArray, BoolArray]


def _outside(term: Term, earlier: list[Term]) -> list[Term]:
    """The part of a term in which no earlier term holds, as cubes that do not overlap."""
    pieces = [] if (term[0] & term[1]).any() else [term]
    for other in earlier:
        pieces = [cut for piece in pieces for cut in _minus(piece, other)]
    return pieces


def _minus(piece: Term, other: Term) -> list[Term]:
    """One cube without another: break the other's conditions one at a time."""
    has, lacks = piece
    if (has & other[1]).any() or (lacks & other[0]).any() or (other[0] & other[1]).any():
        return [piece]
    cuts = []
    for side, done in ((0, has), (1, lacks)):
        for i in np.flatnonzero(other[side] & ~done):
            broken = [has.copy(), lacks.copy()]
            broken[1 - side][i] = True
            cuts.append((broken[0], broken[1]))
            has, lacks = has.copy(), lacks.copy()
            (has, lacks)[side][i] = True
    return cuts


def cube_credit(cubes: Cubes, rule: Semivalue) -> FloatArray:
    """Credit of every player under a semivalue: (n,). Costs as much as reading the cubes."""
    _, weight, present, absent = cubes
    a, c = present.sum(axis=1), absent.sum(axis=1)
    m = rule.moments(int((a + c).max(initial=0)))
    earned = np.where(a > 0, weight * m[a - 1, c], 0.0) @ present
    lost = np.where(c > 0, weight * m[a, c - 1], 0.0) @ absent
    return np.asarray(earned - lost)


def cube_pairs(cubes: Cubes, rule: Semivalue) -> FloatArray:
    """Interaction of every pair under a semivalue: (n, n), symmetric with a zero diagonal."""
    _, weight, present, absent = cubes
    a, c = present.sum(axis=1), absent.sum(axis=1)
    m = rule.moments(int((a + c).max(initial=0)))
    inside, outside = present.astype(np.float64), absent.astype(np.float64)
    both = np.where(a > 1, weight * m[a - 2, c], 0.0)
    neither = np.where(c > 1, weight * m[a, c - 2], 0.0)
    across = np.where((a > 0) & (c > 0), weight * m[a - 1, c - 1], 0.0)
    mixed = inside.T @ (across[:, None] * outside)
    pairs = inside.T @ (both[:, None] * inside) + outside.T @ (neither[:, None] * outside) - mixed - mixed.T
    np.fill_diagonal(pairs, 0.0)
    return np.asarray(pairs)


def cube_ends(cubes: Cubes) -> tuple[float, float]:
    """v(∅) and v(N)."""
    constant, weight, present, absent = cubes
    nobody = constant + weight[~present.any(axis=1)].sum()
    everybody = constant + weight[~absent.any(axis=1)].sum()
    return float(nobody), float(everybody)
