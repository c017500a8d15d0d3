r"""Divisions by complaint: the least core and the nucleolus, as linear programs with certificates.

A coalition complains about a division x by its excess e(S, x) = v(S) − x(S), with v(∅) taken off. The *least core* holds the
divisions whose largest excess ε is smallest; it lies in the core where ε ≤ 0. The *nucleolus* makes the largest excess
smallest, among those the second largest, and so on (Schmeidler, 1969): it is one point. It is found by a sequence of
programs. Each settles the coalitions whose multiplier is positive, which are tight in all its solutions, and those that
follow from them; the rank of what is settled grows every time, so at most n programs are solved (Maschler, Peleg and Shapley,
1979).

The certificate does not trust that sequence. By Kohlberg (1971) x is the nucleolus exactly when, for every level t, the
coalitions with excess at least t carry positive weights that add up to one for every player, helped by non-negative weights
on players who are held at v({i}). The smallest such weight, over all levels, is in `certificate["balance"]`: above zero, it
proves the point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Precision, Procedure, tabulate
from accredit.core.coalitions import from_index
from accredit.errors import InvalidInput, NotConverged, TooManyPlayers
from accredit.values.every_output import every_output

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

NUCLEOLUS_LIMIT = 15  # players: programs of 2^15 rows
TIGHT = 1e-9  # of the spread of payoffs: excesses that differ by less are equal
PAYOFF_ROUNDING = 1e-15  # of the largest payoff, per player: earned beyond what is earned alone, it is nothing
POSITIVE = 1e-7  # a multiplier above this is not zero; they add up to one over at most n + 1 coalitions


@dataclass(frozen=True, eq=False)
class LeastCore:
    """The divisions whose largest complaint is smallest, as what each player may get in them.

    >>> from accredit.games import TableGame
    >>> core = least_core(TableGame(("a", "b", "c"), [0, 0, 0, 1, 0, 1, 1, 1]))  # any two of three earn all
    >>> round(core.epsilon, 6), core.core_is_empty
    (0.333333, True)
    """

    players: tuple[str, ...]
    epsilon: float  # the largest excess: no coalition can gain more by leaving
    low: FloatArray  # (n,): the least a player gets in any of them
    high: FloatArray  # (n,)
    gap: float  # primal minus dual value of the program, which proves epsilon

    @property
    def core_is_empty(self) -> bool:
        """Whether some coalition would gain by leaving, whatever the division."""
        return self.epsilon > 0


@every_output
def least_core(game: Game) -> LeastCore:
    """The least core: its ε, and the range of every player's share in it. Costs 2ⁿ payoffs and 2n + 1 linear programs.

    >>> from accredit.games import TableGame
    >>> gloves = TableGame(("left", "right", "right 2"), [0, 0, 0, 1, 0, 1, 0, 1])
    >>> found = least_core(gloves)
    >>> found.core_is_empty, found.low.round(6) + 0.0, found.high.round(6) + 0.0
    (False, array([1., 0., 0.]), array([1., 0., 0.]))
    """
    asked = _ask(game)
    n, v, rows, some = len(game.players), asked.beyond, asked.rows, slice(1, -1)
    if n == 1:
        return LeastCore(game.players, 0.0, asked.alone, asked.alone, 0.0)
    first = _solve(np.r_[np.zeros(n), 1.0], rows[some], v[some], rows[-1:], v[-1:])
    epsilon = float(first.fun)
    ends = np.array(
        [
            [
                s * _solve(np.r_[s * np.eye(n)[i], 0.0], rows[some], v[some], rows[-1:], v[-1:], (None, epsilon)).fun
                for s in (1, -1)
            ]
            for i in range(n)
        ]
    )
    low, high = (asked.alone + asked.unit * end + 0.0 for end in ends.T)
    largest = asked.unit * epsilon if abs(epsilon) > TIGHT else 0.0  # rounding makes no core empty
    return LeastCore(game.players, largest, low, high, asked.unit * _gap(first, v[some], v[-1:]))


@every_output
def nucleolus(game: Game, *, imputations: bool = True) -> Attribution:
    """The division whose sorted complaints are smallest, from the largest on. Unique. Costs 2ⁿ payoffs and at most n programs.

    Among the imputations, which give every player at least v({i}); `imputations=False` gives the prenucleolus, among all
    divisions of v(N). In the core wherever that is not empty. Not linear: it looks at the largest complaints only.

    >>> from accredit.games.textbook import bankruptcy
    >>> nucleolus(bankruptcy(200, {"a": 100, "b": 200, "c": 300})).credit.round(6)  # as the Talmud divides
    array([50., 75., 75.])
    """
    asked = _ask(game)
    n, v, rows, alone = len(game.players), asked.beyond, asked.rows, asked.alone
    total = float(asked.payoffs[-1])
    if imputations and v[-1] < -TIGHT:
        raise InvalidInput(
            f"the players earn {alone.sum():.6g} alone and {total:.6g} together, so no division gives everybody v({{i}}); "
            "write nucleolus(game, imputations=False) for the prenucleolus",
            code="undefined",
        )
    x, programs = _by_programs(v, rows, imputations)
    balance, levels = kohlberg(v, x, imputations)
    if not balance > 0:
        raise NotConverged(f"the division found fails Kohlberg's test (balance {balance:.1e}): payoffs are too far apart")
    return Attribution(
        game.players,
        alone + asked.unit * x + 0.0,
        total,
        Procedure("nucleolus" if imputations else "prenucleolus"),
        (
            Claim("efficiency", Holds.EXACTLY, "every division considered adds up to v(N) − v(∅)"),
            Claim("symmetry", Holds.EXACTLY, "unique, and exchanging equal players changes no complaint"),
            Claim("null player", Holds.EXACTLY, "nobody gets more than the most, or less than the least, that they ever add"),
            Claim("linearity", Holds.NO, "the largest complaint of a sum of games is not the sum of their largest"),
        ),
        precision=Precision.exact("linear programs, proved by Kohlberg's test"),
        baseline=asked.nobody,
        payoffs=v.size,
        stopped="every coalition's complaint is settled",
        certificate={
            "balance": balance,
            "levels": levels,
            "programs": programs,
            "largest excess": asked.unit * float((v - rows @ x)[1:-1].max()) if n > 1 else 0.0,
        },
    )


def kohlberg(v: FloatArray, x: FloatArray, imputations: bool = True) -> tuple[float, int]:
    """The smallest balancing weight over all levels of excess, and how many levels were needed; above 0 it proves x.

    Levels beyond those whose coalitions already span all divisions need no test: any coalition may then join.
    """
    n = len(x)
    rows = from_index(np.arange(v.size), n).astype(np.float64)
    if n == 1:
        return 1.0, 0
    excess = (v - rows @ x)[1:-1]
    inside = rows[1:-1]
    room = TIGHT * (float(np.ptp(v)) or 1.0)
    held = np.flatnonzero(x - v[1 << np.arange(n)] <= room) if imputations else np.array([], dtype=int)
    order = np.argsort(-excess, kind="stable")
    balance, levels, at = np.inf, 0, 0
    while at < len(order):
        level = excess[order[at]]
        at = int(np.searchsorted(-excess[order], -(level - room), side="right"))
        family = inside[order[:at]]
        balance, levels = min(balance, _balance(family, np.eye(n)[held])), levels + 1
        if balance <= 0 or np.linalg.matrix_rank(np.vstack([family, np.ones(n)])) == n:
            break
    return float(balance), levels


def _balance(family: FloatArray, held: FloatArray) -> float:
    """The largest d such that weights of at least d on `family`, and any on `held`, give every player one; −1: none."""
    from scipy.optimize import linprog

    m, h, n = len(family), len(held), family.shape[1]
    equal = np.hstack([family.T, held.T, family.sum(axis=0)[:, None]])  # weight = d + extra
    found = linprog(np.r_[np.zeros(m + h), -1.0], A_eq=equal, b_eq=np.ones(n), bounds=(0, None), method="highs")
    return -float(found.fun) if found.status == 0 and -found.fun > POSITIVE / m else -1.0


def _by_programs(v: FloatArray, rows: FloatArray, imputations: bool) -> tuple[FloatArray, int]:
    """The nucleolus, of a game in which nobody earns anything alone, and the number of programs solved."""
    n = rows.shape[1]
    settled, worth = rows[-1:], v[-1:]
    free = np.ones(v.size, dtype=bool)
    free[[0, -1]] = False
    programs = 0
    while free.any():
        found = _solve(np.r_[np.zeros(n), 1.0], rows[free], v[free], settled, worth, least=0.0 if imputations else None)
        programs += 1
        tight = np.flatnonzero(free)[-found.ineqlin.marginals > POSITIVE]
        if not len(tight):
            raise NotConverged("no coalition is tight in a program of the nucleolus: payoffs are too far apart")
        settled = np.vstack([settled, rows[tight]])
        worth = np.append(worth, v[tight] - found.fun)
        basis = _basis(settled)
        free &= np.abs(rows - rows @ basis @ basis.T).max(axis=1) > 1e-6
    x, *_ = np.linalg.lstsq(settled, worth, rcond=None)
    return np.asarray(x, dtype=np.float64), programs


def _basis(rows: FloatArray) -> FloatArray:
    """Orthonormal columns that span the rows."""
    _, size, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[size > 1e-9 * size[0]].T)


def _solve(
    cost: FloatArray,
    rows: FloatArray,
    v: FloatArray,
    settled: FloatArray,
    worth: FloatArray,
    epsilon: tuple[float | None, float | None] = (None, None),
    least: float | None = None,
) -> OptimizeResult:
    """min cost·(x, ε) with x(S) + ε ≥ v(S) for `rows`, x(S) = worth for `settled` and x ≥ least."""
    from scipy.optimize import linprog

    n = rows.shape[1]
    found = linprog(
        cost,
        A_ub=-np.hstack([rows, np.ones((len(rows), 1))]),
        b_ub=-v,
        A_eq=np.hstack([settled, np.zeros((len(settled), 1))]),
        b_eq=worth,
        bounds=[*[(least, None)] * n, epsilon],
        method="highs",
    )
    if found.status != 0:
        raise NotConverged(f"HiGHS ended with {found.message!r:.80}: payoffs are too far apart")
    return found


def _gap(found: OptimizeResult, v: FloatArray, worth: FloatArray) -> float:
    """Primal minus dual value of the first program, whose variables have no bounds."""
    dual = float(-v @ found.ineqlin.marginals + worth @ found.eqlin.marginals)
    return abs(float(found.fun) - dual)


@dataclass(frozen=True, eq=False)
class _Asked:
    """All payoffs, and what coalitions earn beyond what their members earn alone, in units of its spread.

    Adding to every division what players earn alone, and changing the unit, moves least core and nucleolus along; so programs
    and certificate are those of a game whose numbers are about 1, whatever the payoffs are.
    """

    nobody: float  # v(∅)
    payoffs: FloatArray  # (2ⁿ,), beyond v(∅)
    rows: FloatArray  # (2ⁿ, n): coalitions
    alone: FloatArray  # (n,)
    beyond: FloatArray  # (2ⁿ,), in units
    unit: float


def _ask(game: Game) -> _Asked:
    n = len(game.players)
    if n > NUCLEOLUS_LIMIT:
        raise TooManyPlayers(
            f"programs over the 2^{n} coalitions of {n} players are too large; the limit is {NUCLEOLUS_LIMIT}. Merge players "
            "with grouped(game, groups), or use shapley(game, budget=2000)",
            code="too-many",
        )
    paid = tabulate(game, NUCLEOLUS_LIMIT)
    v, rows = paid - paid[0], from_index(np.arange(paid.size), n).astype(np.float64)
    alone = v[1 << np.arange(n)]
    beyond = v - rows @ alone
    beyond[np.abs(beyond) <= PAYOFF_ROUNDING * n * float(np.abs(paid).max())] = 0.0
    unit = float(np.ptp(beyond)) or 1.0
    return _Asked(float(paid[0]), v, rows, alone, beyond / unit, unit)
