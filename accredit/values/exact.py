"""Exact values: closed forms for games that know their cubes, all 2ⁿ payoffs for others, n + 2 for leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Precision, TooManyPlayers, payoffs, tabulate
from accredit.methods import EXACT_LIMIT
from accredit.values.cubes import Cubed, cube_credit, cube_ends
from accredit.values.every_output import every_output, solves_every_output
from accredit.values.semivalues import (
    banzhaf_weights,
    beta_weights,
    check_weights,
    leave_one_out_weights,
    semivalue_from_table,
    shapley_from_table,
    shapley_weights,
)
from accredit.values.weighing import BANZHAF, SHAPLEY, Semivalue, beta_semivalue, weighed

__all__ = ["Exact", "banzhaf", "beta", "leave_one_out", "semivalue", "shapley_from_table"]

_ALL = "computed from all 2ⁿ payoffs"
_CUBES = "computed in closed form from the game's cubes"


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


def in_closed_form(game: Cubed, rule: Semivalue) -> Attribution:
    """A semivalue of a game that knows its cubes, whatever the number of players; no payoff is asked."""
    nobody, everybody = cube_ends(game.cubes)
    return Attribution(
        game.players,
        cube_credit(game.cubes, rule),
        total=everybody - nobody,
        method=f"{rule.name}/cubes",
        claims=_claims(rule.efficient, _CUBES),
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=0,
        stopped="solved in closed form",
    )


@dataclass(frozen=True)
class Exact:
    """All 2ⁿ payoffs, O(2ⁿ) arithmetic; n is at most `limit`."""

    limit: int = EXACT_LIMIT

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """The Shapley value."""
        if isinstance(game, Cubed):
            return in_closed_form(game, SHAPLEY)
        weights = shapley_weights(len(game.players))
        return self.semivalue(game, weights, "shapley/Exact()", "shapley(game, budget=1000)")

    def semivalue(self, game: Game, weights: FloatArray, method: str, instead: str) -> Attribution:
        """The semivalue with weights p(0..n−1); `instead` is the call that estimates it."""
        n = len(game.players)
        if n > self.limit:
            raise TooManyPlayers(
                f"exact values of {n} players need 2^{n} payoffs; the limit is {self.limit} players. Estimate instead: "
                f"{instead}, or merge players with grouped(game, groups)."
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
def semivalue(game: Game, weights: FloatArray, *, limit: int = EXACT_LIMIT) -> Attribution:
    r"""Credit by any weighting of marginal contributions, exactly.

    $$\phi_i = \sum_{S \not\ni i} p(|S|)\,[v(S \cup i) - v(S)], \qquad \sum_k \tbinom{n-1}{k} p(k) = 1$$

    Symmetric, linear, and zero for null players whatever the weights (Dubey, Neyman and Weber, 1981). Costs 2ⁿ payoffs, none
    for a game that knows its cubes.

    >>> from accredit.games import TableGame
    >>> semivalue(TableGame(("a", "b"), [0, 5, 3, 10]), [0.25, 0.75]).credit
    array([6.5, 4.5])
    """
    if isinstance(game, Cubed):
        return in_closed_form(game, weighed(weights, len(game.players)))
    p = check_weights(weights, len(game.players))
    estimated = "SampledSemivalue(weights, budget=1000).solve(game)"
    return Exact(limit).semivalue(game, p, f"semivalue/{[float(x) for x in p]}", estimated)


@every_output
def banzhaf(game: Game, *, limit: int = EXACT_LIMIT) -> Attribution:
    r"""Average what a player adds over all coalitions of the others, each counted the same.

    $$\beta_i = 2^{1-n} \sum_{S \not\ni i} [v(S \cup i) - v(S)]$$

    The semivalue most robust to noise in the payoffs (Wang and Jia, 2023). Not efficient. Costs 2ⁿ payoffs; for more players
    use `SampledBanzhaf`.

    >>> from accredit.games import TableGame
    >>> banzhaf(TableGame(("a", "b", "c"), [0, 0, 0, 1, 0, 1, 1, 1])).credit  # majority of three
    array([0.5, 0.5, 0.5])
    """
    if isinstance(game, Cubed):
        return in_closed_form(game, BANZHAF)
    weights = banzhaf_weights(len(game.players))
    return Exact(limit).semivalue(game, weights, "banzhaf/Exact()", "SampledBanzhaf(budget=1000).solve(game)")


@every_output
def beta(game: Game, alpha: float, beta: float, *, limit: int = EXACT_LIMIT) -> Attribution:
    r"""The Beta(α, β) semivalue: Beta(1, 1) is Shapley, Beta(16, 1) listens to small coalitions. Costs 2ⁿ payoffs.

    >>> from accredit.games import TableGame
    >>> beta(TableGame(("alice", "bob"), [0, 5, 3, 10]), 1, 1).credit
    array([6., 4.])
    """
    if isinstance(game, Cubed):
        return in_closed_form(game, beta_semivalue(alpha, beta))
    weights = beta_weights(len(game.players), alpha, beta)
    estimated = f"SampledBeta({alpha:g}, {beta:g}, budget=1000).solve(game)"
    return Exact(limit).semivalue(game, weights, f"beta({alpha:g}, {beta:g})/Exact()", estimated)


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
        method="leave-one-out",
        claims=claims,
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=n + 2,
        stopped="every player left out once",
    )
