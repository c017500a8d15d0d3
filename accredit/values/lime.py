r"""LIME: a ridge regression of the payoff on who plays, close to the whole input (Ribeiro, Singh & Guestrin, 2016).

$$\beta = \arg\min_{\beta, c} \sum_S \pi(S)\,\bigl(v(S) - c - \textstyle\sum_{i \in S} \beta_i\bigr)^2 + \lambda |\beta|^2,
  \qquad \pi(S) = e^{-d(S)^2 / 2\sigma^2}, \quad d(S) = 1 - \sqrt{|S| / n}$$

d is the cosine distance of a coalition from the whole. Coalitions lose a number of players drawn uniformly from 1 … n
(the law for texts) or every player by a fair coin (the law for pictures). β divides nothing: its entries are slopes of
one local line, and how well the line fits is reported with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, optional_whole, whole_number
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Game, Holds, Precision, Procedure, payoffs
from accredit.core.rounding import blur_of
from accredit.core.statistics import falling
from accredit.errors import InvalidInput
from accredit.values.every_output import solves_every_output
from accredit.values.intervals import blur_between

LAWS = {"sizes": "a uniform number of players removed", "coins": "every player removed with chance ½"}
SCREEN = 0.01  # ridge of the first fit, which only chooses the features
NO_INTERVAL = "the spread of the slopes over other draws of coalitions is not estimated; run another seed to see it"


def draw(n: int, count: int, law: str, rng: np.random.Generator) -> BoolArray:
    """Coalitions to ask, the whole input first: (count, n)."""
    if law == "coins":
        kept = rng.random((count, n)) < 0.5
    else:
        removed = rng.integers(1, n + 1, size=count)
        kept = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1) >= removed[:, None]
    kept[0] = True
    return kept


def proximity(coalitions: BoolArray, width: float) -> FloatArray:
    """The kernel π: one weight per coalition, 1 for the whole.

    >>> proximity(np.array([[True, True], [False, False]]), width=1.0).round(4)
    array([1.    , 0.6065])
    """
    distance = 1 - np.sqrt(coalitions.mean(axis=1))
    return np.asarray(np.exp(-0.5 * (distance / width) ** 2))


def ridge_readout(coalitions: BoolArray, weights: FloatArray, ridge: float) -> FloatArray:
    """The matrix that turns payoffs into slopes and, in its last row, the intercept: (n + 1, count).

    The intercept is not shrunk, so the fit is that of centred data. The smaller of the two normal equations is solved:
    O(count·n·min(count, n)).

    >>> whole_and_parts = np.array([[True, True], [True, False], [False, True], [False, False]])
    >>> ridge_readout(whole_and_parts, np.ones(4), ridge=0.0) @ np.array([9.0, 4.0, 6.0, 1.0])
    array([3., 5., 1.])
    """
    share = weights / weights.sum()
    z = coalitions - share @ coalitions
    root = np.sqrt(weights)
    scaled = root[:, None] * z
    count, n = z.shape
    if n <= count:
        slopes = np.linalg.solve(scaled.T @ scaled + ridge * np.eye(n), scaled.T)
    else:
        slopes = np.linalg.solve(scaled @ scaled.T + ridge * np.eye(count), scaled).T
    slopes = slopes * root  # reads payoffs as they are: z is centred, so a constant payoff has no slopes
    intercept = share - (share @ coalitions) @ slopes
    return np.concatenate([slopes, intercept[None]])


@dataclass(frozen=True)
class Lime:
    """LIME of any game. `features` keeps only that many players, refitted; None keeps all.

    The players kept are those of largest |β| in a nearly unshrunk fit (ridge 0.01), then the line is fitted again to them
    with `ridge`. Cost: `budget` payoffs and O(budget·n·min(budget, n)) arithmetic.

    >>> from accredit.games import FunctionGame
    >>> additive = FunctionGame("abc", lambda coalitions: coalitions @ np.array([3.0, -1.0, 0.0]))
    >>> Lime(budget=200, ridge=1e-9).solve(additive).credit.round(6) + 0.0
    array([ 3., -1.,  0.])
    """

    budget: int = defaults.BUDGET
    features: int | None = None
    law: str = "sizes"
    width: float = 0.25
    ridge: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        whole_number(self.budget, "budget", example=500)
        optional_whole(self.features, "features", example=5)
        check_seed(self.seed)
        if self.law not in LAWS:
            raise InvalidInput(f"law must be one of {', '.join(LAWS)}, got {self.law!r}", argument="law", code="unknown")
        if not self.width > 0 or not self.ridge > 0:
            wrong = "ridge" if self.width > 0 else "width"
            raise InvalidInput(
                f"width and ridge must be positive, got {self.width!r} and {self.ridge!r}", argument=wrong, code="range"
            )

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Slopes of the local line of `game`."""
        n = len(game.players)
        if self.features is not None and self.features > n:
            raise InvalidInput(
                f"features={self.features} is more than the {n} players; leave it out to keep all",
                argument="features",
                code="range",
            )
        coalitions = draw(n, self.budget, self.law, np.random.default_rng(self.seed))
        earned, near = payoffs(game, coalitions), proximity(coalitions, self.width)
        kept = np.ones(n, dtype=bool)
        if self.features is not None and self.features < n:
            screen = ridge_readout(coalitions, near, SCREEN)[:-1] @ earned
            kept = np.zeros(n, dtype=bool)
            kept[
                falling(np.abs(screen), blur_between(float(earned.min()), float(earned.max()), blur_of(game)))[: self.features]
            ] = True
        fit = ridge_readout(coalitions[:, kept], near, self.ridge) @ earned
        credit = np.zeros(n)
        credit[kept] = fit[:-1]
        line = coalitions @ credit + fit[-1]
        return Attribution(
            game.players,
            credit,
            None,
            Procedure.by("lime", self),
            _claims(self.features is None or self.features >= n),
            precision=Precision.unknown(NO_INTERVAL),
            payoffs=self.budget,
            seed=self.seed,
            stopped=f"the budget of {self.budget} payoffs is spent",
            certificate={
                "fit": fit_of(earned, line, near, blur_of(game)),
                "intercept": float(fit[-1]),
                "error at the input": float(line[0] - earned[0]),
            },
        )


def fit_of(earned: FloatArray, line: FloatArray, near: FloatArray, moved: float = 0.0) -> float:
    """Weighted R² of the line: 1 is perfect, 0 no better than a constant; 1 where payoffs differ by rounding alone, which may
    have moved each of them by `moved`."""
    low, high = float(earned.min()), float(earned.max())
    if high - low <= blur_between(low, high, moved):
        return 1.0
    spread = float(near @ (earned - np.average(earned, weights=near)) ** 2)
    if not spread > 0:  # squares of the smallest payoffs are 0
        return 1.0
    return 1.0 - float(near @ (earned - line) ** 2) / spread


def _claims(all_kept: bool) -> tuple[Claim, ...]:
    chosen = "which players are kept depends on the payoffs"
    return (
        Claim("efficiency", Holds.NO, "slopes of a local line do not add up to v(N) − v(∅)"),
        Claim("symmetry", Holds.IN_EXPECTATION, "the draw treats all players alike, and so does the fit")
        if all_kept
        else Claim("symmetry", Holds.NO, "of two equal players the line may keep one and drop the other"),
        Claim("null player", Holds.NO, "a line fitted to synergies leans on players that add nothing"),
        Claim(
            "linearity",
            Holds.EXACTLY,
            "a fixed linear function of the payoffs: the same seed draws the same coalitions",
        )
        if all_kept
        else Claim("linearity", Holds.NO, chosen),
    )
