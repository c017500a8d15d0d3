r"""Banzhaf, Beta and any other semivalue: one function each, exact where that is affordable, estimated where it is not.

`budget` means the same everywhere: how many payoffs may be asked. A game that knows its table, cubes, products or votes is
solved exactly whatever the budget. Otherwise all 2ⁿ payoffs are asked if they fit the budget or, where none is stated, for at
most 12 players; beyond that the value is estimated, with intervals, from the budget or from 2,000 payoffs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_fields
from accredit.checks.numbers import finite_numbers
from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.values.control_variate import semivalue_of_pairs
from accredit.values.every_output import every_output, solves_every_output
from accredit.values.exact import Exact, exactly, in_closed_form
from accredit.values.sampling import Sampled, check, in_expectation, linearity
from accredit.values.semivalue_rules import BANZHAF, beta_semivalue, weigh
from accredit.values.semivalues import banzhaf_weights, beta_law, beta_weights, check_weights, law_of, log_binomial


@every_output
def semivalue(
    game: Game, weights: FloatArray, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL
) -> Attribution:
    r"""Credit by any weighting of marginal contributions.

    $$\phi_i = \sum_{S \not\ni i} p(|S|)\,[v(S \cup i) - v(S)], \qquad \sum_k \tbinom{n-1}{k} p(k) = 1$$

    Symmetric, linear, and zero for null players whatever the weights (Dubey, Neyman and Weber, 1981). Costs 2ⁿ payoffs, or the
    `budget`, which gives estimates with intervals; none for a game that knows its cubes, products or votes.

    >>> from accredit.games import TableGame
    >>> semivalue(TableGame(("a", "b"), [0, 5, 3, 10]), [0.25, 0.75]).credit
    array([6.5, 4.5])
    """
    p = check_weights(weights, len(game.players))
    solved = in_closed_form(game, weigh(p, len(p)))
    if solved is not None:
        return solved
    if _exact(game, budget, seed, level):
        return Exact().semivalue(game, p, Procedure(weigh(p, len(p)).name, "Exact"), "semivalue(game, weights, budget=1000)")
    return SampledSemivalue(tuple(p), budget=budget or defaults.BUDGET, seed=seed, level=level).solve(game)


@every_output
def banzhaf(game: Game, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL) -> Attribution:
    r"""Average what a player adds over all coalitions of the others, each counted the same.

    $$\beta_i = 2^{1-n} \sum_{S \not\ni i} [v(S \cup i) - v(S)]$$

    The semivalue most robust to noise in the payoffs (Wang and Jia, 2023). Not efficient; `normalised_banzhaf` is. Costs 2ⁿ
    payoffs, or the `budget`, which gives estimates with intervals; none for a game that knows its cubes, products or votes.

    >>> from accredit.games import TableGame
    >>> banzhaf(TableGame(("a", "b", "c"), [0, 0, 0, 1, 0, 1, 1, 1])).credit  # majority of three
    array([0.5, 0.5, 0.5])
    """
    solved = in_closed_form(game, BANZHAF)
    if solved is not None:
        return solved
    if _exact(game, budget, seed, level):
        weights = banzhaf_weights(len(game.players))
        return Exact().semivalue(game, weights, Procedure("banzhaf", "Exact"), "banzhaf(game, budget=1000)")
    return SampledBanzhaf(budget=budget or defaults.BUDGET, seed=seed, level=level).solve(game)


@every_output
def beta(
    game: Game, alpha: float, beta: float, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL
) -> Attribution:
    r"""The Beta(α, β) semivalue: Beta(1, 1) is Shapley, Beta(16, 1) listens to small coalitions. Costs as `banzhaf` does.

    >>> from accredit.games import TableGame
    >>> beta(TableGame(("alice", "bob"), [0, 5, 3, 10]), 1, 1).credit
    array([6., 4.])
    """
    beta_law(1, alpha, beta)  # refuses what is not positive
    solved = in_closed_form(game, beta_semivalue(alpha, beta))
    if solved is not None:
        return solved
    if _exact(game, budget, seed, level):
        weights = beta_weights(len(game.players), alpha, beta)
        asked = f"beta(game, {alpha:g}, {beta:g}, budget=1000)"
        return Exact().semivalue(game, weights, Procedure(beta_semivalue(alpha, beta).name, "Exact"), asked)
    return SampledBeta(alpha, beta, budget=budget or defaults.BUDGET, seed=seed, level=level).solve(game)


@every_output
def normalised_banzhaf(game: Game, *, budget: int | None = None, seed: int = 0) -> Attribution:
    r"""Banzhaf values scaled so that they add up to v(N) − v(∅): the Banzhaf power index of a vote.

    $$\bar\beta_i = \beta_i\,\frac{v(N) - v(\varnothing)}{\sum_j \beta_j}$$

    Efficient by force, and no longer linear: the scale depends on the game. Refused where the Banzhaf values add up to zero.

    >>> from accredit.games import WeightedVote
    >>> normalised_banzhaf(WeightedVote("abcd", [5, 4, 3, 2], quota=8)).credit.round(3)
    array([0.417, 0.25 , 0.25 , 0.083])
    """
    plain = banzhaf(game, budget=budget, seed=seed)
    total, added = float(plain.total or 0.0), float(plain.credit.sum())
    if abs(added) <= len(plain) * plain.rounding:
        raise InvalidInput(
            f"the Banzhaf values add up to {added:.3g} and cannot be scaled to {total:.6g}; use banzhaf(game) or shapley(game)",
            code="undefined",
        )
    scaled = {
        "efficiency": (Holds.EXACTLY, "scaled to add up to v(N) − v(∅)"),
        "linearity": (Holds.NO, "the scale depends on the game"),
    }
    unknown = "one scale for all players keeps what holds before"
    claims = tuple(Claim(c.axiom, *scaled.get(c.axiom, (c.holds, f"{c.because}; {unknown}"))) for c in plain.claims)
    precision = plain.precision if plain.exact else Precision.unknown("a ratio of estimates has no interval here")
    return replace(
        plain,
        credit=plain.credit * (total / added),
        method=plain.method.then("normalised"),
        claims=claims if plain.exact else _in_the_limit(claims),
        stderr=None,
        interval=None,
        level=None,
        precision=precision,
        certificate={**plain.certificate, "sum of banzhaf values": added},
    )


def _in_the_limit(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """What an estimate claims in expectation holds for its ratio only with ever more payoffs."""
    limit = {Holds.IN_EXPECTATION: Holds.IN_THE_LIMIT}
    return tuple(Claim(c.axiom, limit.get(c.holds, c.holds), c.because) for c in claims)


def _exact(game: Game, budget: int | None, seed: int, level: float) -> bool:
    """Whether all payoffs are asked; settings that no estimate could use are refused either way."""
    if budget is not None:
        check(Sampled(level=level), budget, seed)
    return exactly(game, budget)


def banzhaf_law(players: int) -> FloatArray:
    """How many others a player meets, all coalitions being equally likely: binomial(n − 1, ½).

    >>> banzhaf_law(3)
    array([0.25, 0.5 , 0.25])
    """
    return law_of(log_binomial(players - 1))


def weights_law(weights: FloatArray) -> FloatArray:
    """How many others a player meets under weights p(k): C(n−1, k)·p(k).

    >>> weights_law(np.array([0.25, 0.25, 0.25]))
    array([0.25, 0.5 , 0.25])
    """
    with np.errstate(divide="ignore"):
        return law_of(log_binomial(len(weights) - 1) + np.log(weights))


@dataclass(frozen=True)
class SampledBanzhaf(Sampled):
    """Banzhaf values by maximum sample reuse: every payoff serves every player (Wang & Jia, 2023). Unbiased, not efficient.

    Coalitions are drawn uniformly, each with its complement; a cross-fitted control makes additive games exact. The
    interval is a Student t on the pair scores, as in `Differences`. Cost: 2 payoffs per pair, v(∅) and v(N).

    >>> from accredit.games import FunctionGame
    >>> majority = FunctionGame([f"voter {i}" for i in range(51)], lambda coalitions: coalitions.sum(axis=1) > 25)
    >>> values = SampledBanzhaf(budget=4000).solve(majority)
    >>> bool(np.all(np.abs(values.credit - 0.1123) < 0.08))  # C(50, 25)/2⁵⁰
    True
    """

    budget: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Banzhaf values of `game`, estimated."""
        law = banzhaf_law(len(game.players))
        return semivalue_of_pairs(game, self, self.budget, self.seed, "banzhaf", law, _claims(self))


@dataclass(frozen=True)
class SampledBeta(Sampled):
    """Beta(α, β) values from independent pairs: Beta(1, 1) is Shapley, α > β listens to small coalitions.

    Sizes are drawn by the law that suits the weights; the rest is as in `Differences`.

    >>> from accredit.games import FunctionGame
    >>> squares = FunctionGame("abcdefgh", lambda coalitions: coalitions.sum(axis=1) ** 2.0)
    >>> SampledBeta(4, 1, budget=1000).solve(squares).credit.round(1)  # 1 + 2 × 7/5, the mean number already there
    array([3.8, 3.8, 3.8, 3.8, 3.8, 3.8, 3.8, 3.8])
    """

    alpha: float = 1.0
    beta: float = 1.0
    budget: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed)
        beta_law(1, self.alpha, self.beta)  # refuses what is not positive

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Beta(α, β) values of `game`, estimated."""
        law = beta_law(len(game.players), self.alpha, self.beta)
        name = f"beta({self.alpha:g}, {self.beta:g})"
        return semivalue_of_pairs(game, self, self.budget, self.seed, name, law, _claims(self))


@dataclass(frozen=True)
class SampledSemivalue(Sampled):
    """Any semivalue from independent pairs, given by its weights p(0 … n−1) with Σ C(n−1, k)·p(k) = 1.

    >>> from accredit.games import FunctionGame
    >>> from accredit.values.semivalues import shapley_weights
    >>> squares = FunctionGame("abcdef", lambda coalitions: coalitions.sum(axis=1) ** 2.0)
    >>> SampledSemivalue(tuple(shapley_weights(6)), budget=500).solve(squares).credit.round(6)
    array([6., 6., 6., 6., 6., 6.])
    """

    weights: tuple[float, ...]
    budget: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed)
        object.__setattr__(self, "weights", tuple(finite_numbers(self.weights, "weights").ravel().tolist()))

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """The semivalue of `game`, estimated."""
        law = weights_law(check_weights(np.array(self.weights), len(game.players)))
        return semivalue_of_pairs(game, self, self.budget, self.seed, "semivalue", law, _claims(self))


def _claims(settings: Sampled) -> tuple[Claim, ...]:
    unbiased = "unbiased: every control was fixed before the pairs it serves"
    return (
        Claim("efficiency", Holds.NO, "only Shapley's weights share exactly v(N) − v(∅) in every game"),
        Claim("symmetry", *in_expectation(settings, unbiased)),
        Claim("null player", *in_expectation(settings, unbiased)),
        linearity(settings),
    )
