"""Exact values: closed forms for cubes, products and votes, all 2ⁿ payoffs for other games, n + 2 for leave-one-out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_fields
from accredit.core import (
    Attribution,
    Claim,
    FloatArray,
    Game,
    Holds,
    IntArray,
    Precision,
    Procedure,
    Tabulated,
    payoffs,
    tabulate,
)
from accredit.core.rounding import blur_of
from accredit.errors import TooManyPlayers
from accredit.values.cubes import Cubed, cube_credit, cube_ends
from accredit.values.every_output import every_output, solves_every_output
from accredit.values.products import Multiplied, product_credit, product_ends, product_rounding, scale_products
from accredit.values.semivalue_rules import SHAPLEY, Semivalue
from accredit.values.semivalues import (
    leave_one_out_weights,
    log_binomial,
    semivalue_from_table,
    shapley_from_table,
    shapley_weights,
)

__all__ = ["Exact", "leave_one_out", "shapley_from_table"]

_ALL = "computed from all 2ⁿ payoffs"
_CUBES = "computed in closed form from the game's cubes"
_PRODUCTS = "computed from the game's products by quadrature that is exact"
_VOTES = "computed from the sums of votes"


def semivalue_claims(weights: FloatArray, because: str = _ALL) -> tuple[Claim, ...]:
    """What a semivalue with these weights satisfies; only Shapley's weights are efficient."""
    return _claims(bool(np.allclose(weights, shapley_weights(len(weights)), rtol=1e-12, atol=0)), because)


def _claims(efficient: bool, because: str) -> tuple[Claim, ...]:
    if efficient:
        all_of_it = "the marginal contributions along every order telescope to v(N) − v(∅)"
        first = Claim("efficiency", Holds.EXACTLY, all_of_it)
    else:
        first = Claim("efficiency", Holds.NO, "only Shapley's weights share exactly v(N) − v(∅) in every game")
    return (
        first,
        Claim("symmetry", Holds.EXACTLY, f"weights depend on coalition size only; {because}"),
        Claim("null player", Holds.EXACTLY, f"a weighted sum of marginal contributions; {because}"),
        Claim("linearity", Holds.EXACTLY, f"a fixed linear function of the payoffs; {because}"),
    )


SHAPLEY_CLAIMS = _claims(True, _ALL)


def in_closed_form(game: Game, rule: Semivalue) -> Attribution | None:
    """A semivalue of a game that knows its cubes or its products, or of a weighted vote, whatever the number of players; no
    payoff is asked. None of other games, and of products under weights that quadrature cannot follow to nine digits."""
    if isinstance(game, VotingGame):
        return _of_votes(game, rule)
    if isinstance(game, Cubed):
        return _of_form(game, rule, "cubes", _CUBES, cube_credit(game.cubes, rule), *cube_ends(game.cubes))
    if isinstance(game, Multiplied) and rule.is_steady(len(game.players)):
        return _of_products(game, rule)
    return None


def _of_form(
    game: Game, rule: Semivalue, form: str, because: str, credit: FloatArray, nobody: float, everybody: float
) -> Attribution:
    return Attribution(
        game.players,
        credit,
        total=everybody - nobody,
        method=Procedure(rule.name, form, closed_form=True),
        claims=_claims(rule.efficient, because),
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=0,
        stopped="solved in closed form",
    )


def _of_products(game: Multiplied, rule: Semivalue) -> Attribution:
    constant, weight, present, absent = game.products
    scaled = scale_products(weight[:, None], present.T, absent.T)
    nobody, everybody = (constant + float(end[0]) for end in product_ends(scaled))
    found = _of_form(game, rule, "products", _PRODUCTS, product_credit(scaled, rule)[:, 0], nobody, everybody)
    return replace(found, blur=blur_of(game) + product_rounding(scaled, rule))


def _of_votes(game: VotingGame, rule: Semivalue) -> Attribution:
    n = len(game.players)
    law = rule.weights(n) * np.exp(log_binomial(n - 1))
    return Attribution(
        game.players,
        decisive(game.weights, game.quota) @ (law / law.sum()),
        total=1.0,
        method=Procedure(rule.name, "votes", closed_form=True),
        claims=_claims(rule.efficient, _VOTES),
        precision=Precision.exact(),
        baseline=0.0,
        payoffs=0,
        stopped="sums of votes counted",
    )


def exactly(game: Game, budget: int | None) -> bool:
    """Whether a value is computed and not estimated: the game knows its table, or all its 2ⁿ payoffs are affordable."""
    n = len(game.players)
    return defaults.affordable(n, budget) or (isinstance(game, Tabulated) and n <= defaults.EXACT_LIMIT)


@dataclass(frozen=True)
class Exact:
    """All 2ⁿ payoffs, O(2ⁿ) arithmetic; n is at most `limit`.

    >>> from accredit.games import TableGame
    >>> Exact().solve(TableGame(("alice", "bob"), [0, 5, 3, 10])).credit
    array([6., 4.])
    """

    limit: int = defaults.EXACT_LIMIT

    def __post_init__(self) -> None:
        check_fields(self)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """The Shapley value."""
        solved = in_closed_form(game, SHAPLEY)
        if solved is not None:
            return solved
        weights = shapley_weights(len(game.players))
        return self.semivalue(game, weights, Procedure("shapley", "Exact"), "shapley(game, budget=1000)")

    def semivalue(self, game: Game, weights: FloatArray, method: Procedure, instead: str) -> Attribution:
        """The semivalue with weights p(0..n−1); `instead` is the call that estimates it."""
        n = len(game.players)
        if n > self.limit:
            raise TooManyPlayers(
                f"exact values of {n} players need 2^{n} payoffs; the limit is {self.limit} players. Estimate instead: "
                f"{instead}, or merge players with grouped(game, groups).",
                code="too-many",
            )
        v = tabulate(game, self.limit)
        return Attribution(
            game.players,
            semivalue_from_table(v, weights),
            total=float(v[-1] - v[0]),
            method=method,
            claims=semivalue_claims(weights),
            precision=Precision.exact(),
            baseline=float(v[0]),
            payoffs=v.size,
            stopped="all coalitions evaluated",
        )


@every_output
def leave_one_out(game: Game) -> Attribution:
    r"""What is lost when one player leaves: v(N) − v(N∖i).

    The semivalue that looks at one coalition only, for n + 2 payoffs. Two players that can replace each other both get zero.
    In an additive game it is the Shapley value; in general it is not, and its sum is not v(N) − v(∅).

    >>> from accredit.games import TableGame
    >>> leave_one_out(TableGame(("alice", "bob"), [0, 5, 3, 10])).credit
    array([7., 5.])
    """
    n = len(game.players)
    asked = np.ones((n + 2, n), dtype=bool)  # nobody, everybody, and everybody but one
    asked[0] = asked[np.arange(2, n + 2), np.arange(n)] = False
    nobody, everybody, *without = payoffs(game, asked).tolist()
    claims = semivalue_claims(leave_one_out_weights(n), "computed from v(N) and every v(N∖i)")
    return Attribution(
        game.players,
        everybody - np.array(without),
        total=everybody - nobody,
        method=Procedure("leave-one-out"),
        claims=claims,
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=n + 2,
        stopped="every player left out once",
    )


MOST_WORK = 1 << 34  # numbers written in all

Classes = list[tuple[int, int]]  # votes, and how many players have them


@runtime_checkable
class VotingGame(Game, Protocol):
    """A game in which a coalition earns 1 when the votes of its members reach the quota, else 0."""

    weights: IntArray  # (n,)
    quota: int


def decisive(weights: IntArray, quota: int) -> FloatArray:
    """P_i(k): the chance that player i decides a random coalition of k others, (n, n).

    >>> decisive(np.array([2, 1, 1]), 3)  # the first decides with one or with both others
    array([[0. , 1. , 1. ],
           [0. , 0.5, 0. ],
           [0. , 0.5, 0. ]])
    """
    classes = sorted(Counter(np.minimum(weights, quota).tolist()).items())
    n = len(weights)
    work = n * quota * n * (len(classes).bit_length() + 1)
    if work > MOST_WORK:
        raise TooManyPlayers(
            f"a vote of {n} players with quota {quota:,} needs about {work:.1e} steps; divide weights and quota by a common "
            "number, or estimate from its payoffs: shapley(FunctionGame(game.players, game.payoff), budget=2000)",
            code="too-many",
        )
    start = np.zeros((n, quota))
    start[0, 0] = 1.0  # nobody has no votes
    by_weight = {w: table[:, quota - w :].sum(axis=1) for w, table in _without_one(start, 0, classes)}
    return np.array([by_weight[min(int(w), quota)] for w in weights])


def _without_one(table: FloatArray, players: int, classes: Classes) -> Iterator[tuple[int, FloatArray]]:
    """For every class, the table of all players but one of that class; `table` holds those outside `classes`."""
    if len(classes) == 1:
        weight, count = classes[0]
        yield weight, _join(table, players, [(weight, count - 1)])
        return
    halves = classes[: len(classes) // 2], classes[len(classes) // 2 :]
    for kept, others in (halves, halves[::-1]):
        yield from _without_one(_join(table, players, others), players + sum(c for _, c in others), kept)


def _join(table: FloatArray, players: int, classes: Classes) -> FloatArray:
    """The table after the players of these classes joined: row k holds the law of the votes of k random players."""
    sizes = np.arange(len(table))[:, None]
    for weight, count in classes:
        for m in range(players, players + count):
            after = table * np.maximum(m + 1 - sizes, 0) / (m + 1)
            after[1:, weight:] += table[:-1, : table.shape[1] - weight] * sizes[1:] / (m + 1)
            table = after
        players += count
    return table
