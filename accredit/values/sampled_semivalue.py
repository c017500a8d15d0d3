r"""Banzhaf, Beta and any other semivalue of games too large for their table, with intervals.

$$\phi_i = \sum_{S \not\ni i} p(|S|)\,[v(S \cup i) - v(S)]$$

Every payoff is used for every player (`pairs`), and an additive part of the game is taken out first (`control`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.checks.numbers import finite_numbers
from accredit.core import Attribution, Claim, FloatArray, Game, Holds
from accredit.values.control_variate import semivalue_of_pairs
from accredit.values.every_output import solves_every_output
from accredit.values.sampling import Sampled, check, in_expectation, linearity
from accredit.values.semivalues import beta_law, check_weights, law_of, log_binomial


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
