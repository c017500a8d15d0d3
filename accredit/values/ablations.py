r"""A sparse line through random ablations: lasso of the payoff on who plays, every player kept by a coin.

$$\min_{w, c}\ \frac{1}{2m} \sum_S \Big(v(S) - c - \sum_i w_i \frac{1[i \in S] - \bar x_i}{s_i}\Big)^2 + \alpha \sum_i |w_i|,
  \qquad S \sim \text{Bernoulli}(\text{keep})^n$$

with x̄ and s the means and spreads of the columns; the credit of i is w_i/s_i. With 64 ablations, keep = ½ and α = 0.01 on
the logit of an answer's probability, divided by its tokens, this is the recipe of ContextCite (Cohen-Wang et al., 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, whole_number
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Claim, Game, Holds, Precision, Procedure, payoffs
from accredit.errors import InvalidInput
from accredit.values.every_output import solves_every_output
from accredit.values.lasso import gram, lasso
from accredit.values.lime import fit_of

GAP = 1e-10  # of the spread of the payoffs: where the descent stops
NO_INTERVAL = "a lasso chooses players by the payoffs it saw, and its spread over other draws is not estimated"
CLAIMS = (
    Claim("efficiency", Holds.NO, "shrunken slopes of a line do not add up to v(N) − v(∅)"),
    Claim("symmetry", Holds.IN_EXPECTATION, "the coins treat all players alike, and so does the fit"),
    Claim("null player", Holds.NO, "a line fitted to synergies leans on players that add nothing"),
    Claim("linearity", Holds.NO, "which players are kept depends on the payoffs"),
)


@dataclass(frozen=True)
class Lasso:
    """Credit by a lasso over `budget` random coalitions; `alpha` is in units of the payoff.

    In the limit of many ablations and α → 0 the slopes at keep = ½ are Banzhaf values; α silences small ones. Cost: `budget`
    payoffs and O(budget·n²) arithmetic.

    >>> from accredit.games import FunctionGame
    >>> one_fact = FunctionGame("abcd", lambda coalitions: 3.0 * coalitions[:, 2])
    >>> Lasso(budget=64).solve(one_fact).credit.round(1)
    array([0., 0., 3., 0.])
    """

    budget: int = defaults.BUDGET
    alpha: float = 0.01
    keep: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        whole_number(self.budget, "budget", 2, example=64)
        if not self.alpha > 0 or not np.isfinite(self.alpha):
            raise InvalidInput(f"alpha must be positive, got {self.alpha!r}; write alpha=0.01", argument="alpha", code="range")
        if not 0 < self.keep < 1:
            raise InvalidInput(
                f"keep must lie between 0 and 1, got {self.keep!r}; write keep=0.5", argument="keep", code="range"
            )
        check_seed(self.seed)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Slopes of the sparse line of `game`."""
        n = len(game.players)
        coalitions = np.random.default_rng(self.seed).random((self.budget, n)) < self.keep
        earned = payoffs(game, coalitions)
        x = coalitions.astype(np.float64)
        spread = x.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)  # a player who always or never played has no slope
        level = float(earned.mean())
        fit = gram((x - x.mean(axis=0)) / scale, (earned - level)[:, None])
        credit = lasso(fit, np.array([self.alpha]), tolerance=GAP)[:, 0] / scale
        intercept = level - float(x.mean(axis=0) @ credit)
        return Attribution(
            game.players,
            credit,
            None,
            Procedure.by("lasso", self),
            CLAIMS,
            precision=Precision.unknown(NO_INTERVAL),
            payoffs=self.budget,
            seed=self.seed,
            stopped=f"the budget of {self.budget} payoffs is spent",
            certificate={
                "fit": fit_of(earned, x @ credit + intercept, np.ones(self.budget)),
                "intercept": intercept,
                "players kept": int((credit != 0).sum()),
            },
        )
