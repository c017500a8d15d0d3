r"""Shapley values as the coefficients of a weighted least-squares fit.

$$\phi = \arg\min_{\sum_i \phi_i = D} \; \sum_{1 \le |T| \le n-1} \frac{1}{\binom{n}{k} k (n-k)}
  \Big(v(T) - v(\emptyset) - \sum_{i \in T} \phi_i\Big)^2, \qquad D = v(N) - v(\emptyset), \; k = |T|$$

Over all coalitions the minimiser is the Shapley value (Charnes et al., 1988); a regression estimator fits a sample.
Both below draw complementary pairs {T, Tᶜ} without replacement, take small sizes whole, and weigh each pair by its
kernel weight over its chance of being drawn. With pairs only the odd part y(T) = (v(T) − v(Tᶜ))/2 matters: writing
φ = D/n + ψ with Σψ = 0,

$$y(T) - D\,(k/n - 1/2) \approx \sum_i (1[i \in T] - k/n)\,\psi_i,$$

whose least-squares solution of least norm sums to zero by itself. The two estimators differ in how many pairs of
each size they draw.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.values.every_output import solves_every_output
from accredit.values.exact import SHAPLEY_CLAIMS
from accredit.values.sampling import BATCH_BYTES, Ledger, Sampled, check, known_whole
from accredit.values.solver import progress

if TYPE_CHECKING:
    from accredit.values.surrogate.design import Design

NO_INTERVAL = (
    "least-squares standard errors describe noise around a line, but here the error comes from which coalitions were "
    "drawn, and the estimate is biased; for an interval use Differences(budget=...) or the default estimator"
)


@dataclass(frozen=True)
class PairRegression:
    """Weighted least squares on pairs of complements; the power of the law of their sizes is what tells its kinds apart."""

    power: ClassVar[float]

    budget: int
    seed: int = 0
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check(Sampled(seconds=self.seconds), self.budget, self.seed)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        return _solve(game, self)


@dataclass(frozen=True)
class KernelShap(PairRegression):
    """Weighted least squares with sizes drawn by the Shapley kernel, ∝ 1/(k(n−k)) (Lundberg & Lee, 2017).

    Efficient in every run, consistent, biased by an amount that is small compared with its error; exact for additive
    games, and once the `budget` reaches 2ⁿ. No interval. Cost: `budget` payoffs and O(budget·n²) arithmetic; the
    budget must exceed 2n. `seconds` may stop earlier, but not before n pairs.

    >>> from accredit.games import FunctionGame
    >>> weights = np.arange(12.0)
    >>> additive = FunctionGame([f"player {i}" for i in range(12)], lambda coalitions: coalitions @ weights)
    >>> KernelShap(budget=50).solve(additive).credit.round(6)
    array([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.])
    """

    power = 1.0


@dataclass(frozen=True)
class Leverage(PairRegression):
    """Weighted least squares with pairs drawn by their leverage, ∝ 1/C(n, k): every size equally often (Musco & Witter, 2025).

    Drawing in proportion to how much each row can pull the fit bounds the error of the regression by O(n log n) payoffs for a
    fixed relative accuracy. Otherwise as `KernelShap`.

    >>> from accredit.games import FunctionGame
    >>> squares = FunctionGame("abcdefgh", lambda coalitions: coalitions.sum(axis=1) ** 2.0)
    >>> Leverage(budget=60).solve(squares).credit.round(6)
    array([8., 8., 8., 8., 8., 8., 8., 8.])
    """

    power = 0.0


def constrained_least_squares(design: Design, odd: FloatArray, total: float) -> FloatArray:
    """Credits that sum to `total` and fit the odd parts of the pairs best: (m,) -> (n,)."""
    n, sizes = design.players, design.sizes
    root = np.sqrt(design.weights)
    z = design.pairs - sizes[:, None] / n
    uneven, *_ = np.linalg.lstsq(root[:, None] * z, root * (odd - total * (sizes / n - 0.5)), rcond=1e-12)
    return np.asarray(total / n + uneven - uneven.mean(), dtype=np.float64)


def _solve(game: Game, settings: PairRegression) -> Attribution:
    """Both estimators: stratum k of the pairs has a share ∝ (k(n−k))^-power."""
    from accredit.values.surrogate.design import empty_design, grow

    n, method, ledger = len(game.players), Procedure.by("shapley", settings), Ledger(game)
    if n <= 2:
        return known_whole(game, ledger, np.full(n, 1 / n), method, settings.budget, settings.seed)
    if settings.budget < 2 * n + 2:
        raise InvalidInput(
            f"budget={settings.budget} is too small to fit {n} players; give at least budget={2 * n + 2}",
            argument="budget",
            code="range",
        )
    rng = np.random.default_rng(settings.seed)
    design = grow(empty_design(n), (settings.budget - 2) // 2, rng, settings.power)
    _insist_on_rank(design, settings.budget)
    design, odd, stopped = _ask(design, ledger, settings, rng)
    _insist_on_rank(design, settings.budget)
    credit = constrained_least_squares(design, odd, ledger.total)
    return Attribution(
        game.players,
        credit,
        ledger.total,
        method,
        SHAPLEY_CLAIMS if design.complete else _claims(settings.seconds is None),
        precision=Precision.exact() if design.complete else Precision.unknown(NO_INTERVAL),
        baseline=ledger.nobody,
        payoffs=ledger.payoffs,
        seed=settings.seed,
        stopped=stopped,
        certificate={"pairs": len(design), "all pairs": design.complete},
    )


def _ask(design: Design, ledger: Ledger, settings: PairRegression, rng: np.random.Generator) -> tuple[Design, FloatArray, str]:
    """The pairs that were asked in time, their odd parts, and why asking ended."""
    from accredit.values.surrogate.design import Design

    order, began = rng.permutation(len(design)), time.monotonic()
    most = max(1, BATCH_BYTES // (2 * design.players))
    odd, done, pace = np.zeros(len(design)), 0, most if settings.seconds is None else 1
    with progress("pairs", len(design)) as bar:
        while done < len(design):
            if settings.seconds is not None and time.monotonic() - began >= settings.seconds and done >= design.players:
                break
            pairs = design.pairs[order[done : done + min(pace, most)]]
            left, right = ledger.ask(np.concatenate([pairs, ~pairs])).reshape(2, -1)
            odd[done : done + len(pairs)] = (left - right) / 2
            done, pace = done + len(pairs), 2 * pace
            bar.update(done)
    kept = order[:done]  # a uniform part of the design: every pair's chance of being asked shrinks alike
    part = Design(design.players, design.pairs[kept], design.log_inclusion[kept] + np.log(done / len(design)))
    if part.complete:
        return part, odd, "all coalitions were evaluated"
    late = f"{settings.seconds:g} seconds have passed" if settings.seconds is not None else ""
    return part, odd[:done], late if done < len(design) else f"the budget of {settings.budget} payoffs is spent"


def _insist_on_rank(design: Design, budget: int) -> None:
    """The fit is unique only if the pairs tell all players apart."""
    n = design.players
    z = design.pairs - design.sizes[:, None] / n
    if np.linalg.matrix_rank(z.T @ z, hermitian=True) < n - 1:
        raise InvalidInput(
            f"budget={budget}: the {len(design)} pairs drawn do not tell {n} players apart; give budget={4 * n + 2}",
            argument="budget",
            code="range",
        )


def _claims(fixed: bool) -> tuple[Claim, ...]:
    linear = "a fixed linear function of the payoffs: the same seed and budget draw the same coalitions for every game"
    limit = "how many payoffs are asked depends on the clock"
    return (
        Claim("efficiency", Holds.EXACTLY, "the fit is constrained to sum to v(N) − v(∅)"),
        Claim("symmetry", Holds.IN_EXPECTATION, "the draw treats all players alike, and so does the fit")
        if fixed
        else Claim("symmetry", Holds.IN_THE_LIMIT, limit),
        Claim("null player", Holds.IN_THE_LIMIT, "exact once every pair is drawn; biased before"),
        Claim("linearity", Holds.EXACTLY, linear) if fixed else Claim("linearity", Holds.IN_THE_LIMIT, limit),
    )
