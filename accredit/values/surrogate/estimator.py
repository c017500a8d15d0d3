"""The default Shapley estimator: pairs, two Gaussian-process surrogates, and an interval from the same payoffs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Claim, Game, Holds, Precision, Procedure, payoffs
from accredit.core.rounding import blur_of
from accredit.core.threads import one_blas_thread
from accredit.errors import InvalidInput
from accredit.values.every_output import solves_every_output
from accredit.values.exact import SHAPLEY_CLAIMS, Exact
from accredit.values.intervals import look_error
from accredit.values.sampling import Sampled, check
from accredit.values.solver import progress
from accredit.values.surrogate.clock import REGRESSION_CELLS, best_split, fit_seconds
from accredit.values.surrogate.design import empty_design, grow, strata
from accredit.values.surrogate.estimate import FEW_PAIRS, MOST_PAIRS, PairedPayoffs, SurrogateEstimate, estimate, exact

LARGEST_BUDGET = 1 << 20  # payoffs asked at most when only seconds or a half-width is given
LOOKS_WITHOUT_INTERVAL = 4  # a game without visible variation is not asked for ever
FIRST_BATCH = 8  # pairs of the first batch when seconds are limited: payoffs may be slow

_LIMIT = "exact once the budget reaches 2ⁿ payoffs; before that the surrogates are fitted to the payoffs that were asked"
CLAIMS = (
    Claim("efficiency", Holds.EXACTLY, "equal shares of v(N) − v(∅) plus uneven shares shifted to sum to zero"),
    Claim("symmetry", Holds.IN_THE_LIMIT, _LIMIT),
    Claim("null player", Holds.IN_THE_LIMIT, _LIMIT),
    Claim("linearity", Holds.IN_THE_LIMIT, _LIMIT),
)


@dataclass(frozen=True)
class Surrogate:
    """Shapley values from few payoffs, with intervals.

    Asks v(∅), v(N) and complementary pairs of coalitions (small sizes whole, the rest drawn without replacement),
    models the odd part of the game by two Gaussian processes, weighs them by their estimated Shapley error and reads
    the values off in closed form. With 2ⁿ ≤ `budget` every coalition is asked and the values are exact.

    `budget` counts payoffs, `seconds` is wall time, `half_width` the widest interval wanted at `level`; whichever
    comes first stops the run. Within `seconds` the first payoffs show what one costs: all are asked if time allows, otherwise
    as many as leave the least error beside the arithmetic; numbers then depend on the machine, and `stopped` says so.
    Growing towards a half-width looks at 64, 128, 256, … pairs and gives look t the error δ/(t(t+1)), so that stopping early
    does not spoil the interval. `centre="debiased"` adds the estimated bias of the surrogate: less biased, usually less
    accurate. Cost beside the payoffs: O(M³) for M = min(budget/2, 2000), about a tenth of a CPU-second at 1,000 payoffs.

    >>> from accredit.games import FunctionGame
    >>> market = FunctionGame([f"seller {i}" for i in range(20)], lambda s: np.minimum(s.sum(axis=1), 8.0))
    >>> values = Surrogate(budget=200).solve(market)  # all sellers are alike: 0.4 each
    >>> values.payoffs, bool(np.abs(values.credit - 0.4).max() < 0.03)
    (200, True)
    """

    budget: int | None = None
    seed: int = 0
    level: float = defaults.LEVEL
    seconds: float | None = None
    half_width: float | None = None
    centre: Literal["stacked", "debiased"] = "stacked"

    def __post_init__(self) -> None:
        check_fields(self)
        check(Sampled(seconds=self.seconds, half_width=self.half_width, level=self.level), self.budget, self.seed)
        if self.budget is not None and self.budget < 2:
            raise InvalidInput(
                f"budget must be at least 2, for v(∅) and v(N), got {self.budget!r}; write budget=1000",
                argument="budget",
                code="range",
            )

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Estimate the Shapley values of `game`."""
        n = len(game.players)
        if n == 1 or (self.budget is not None and n < 63 and 2**n <= self.budget):
            return replace(Exact(limit=n).solve(game), method=Procedure.by("shapley", self), seed=self.seed)
        rng = np.random.default_rng(self.seed)
        if self.half_width is not None:
            asked, found, stopped = self._until_narrow(game, rng)
        elif self.seconds is not None:
            asked, fitted, stopped = self._until_late(game, rng)
            found = self._estimate(asked, 1 - self.level, rng, fitted)
        else:
            assert self.budget is not None  # `checked` insists on one limit
            asked = ask_pairs(game, None, (self.budget - 2) // 2, rng)
            found, stopped = self._estimate(asked, 1 - self.level, rng), f"the budget of {self.budget} payoffs"
        return self._attribution(game, asked, found, stopped)

    def _estimate(
        self, asked: PairedPayoffs, error: float, rng: np.random.Generator, fitted: int = MOST_PAIRS
    ) -> SurrogateEstimate:
        if asked.design.complete:
            return SurrogateEstimate(exact(asked), None, 0.0, "every coalition was asked")
        with one_blas_thread():
            return estimate(asked, error, self.centre == "debiased", fitted, rng)

    @property
    def _most_pairs(self) -> int:
        return ((self.budget or LARGEST_BUDGET) - 2) // 2

    def _until_late(self, game: Game, rng: np.random.Generator) -> tuple[PairedPayoffs, int, str]:
        """Ask in growing batches while time remains for payoffs and arithmetic; all payoffs if time allows, which need none.

        The clock decides, not the payoffs, so one estimate at the end will do. Also says how many pairs it is to fit.
        """
        assert self.seconds is not None
        n, ends, slowness = len(game.players), time.monotonic() + self.seconds, 0.0
        pairs = strata(n).pairs
        most = int(pairs if pairs <= self._most_pairs else min(self._most_pairs, max(REGRESSION_CELLS // n, MOST_PAIRS)))
        asked, asking, wanted = None, 0.0, min(FIRST_BATCH, most)
        with progress("asking payoffs", self.seconds) as bar:
            while True:
                before = time.monotonic()
                asked = ask_pairs(game, asked, wanted, rng)
                asking += time.monotonic() - before
                m = len(asked.design)
                if m >= FEW_PAIRS and not slowness:
                    slowness = self._slowness(asked)
                left, rate = ends - time.monotonic(), m / max(asking, 1e-9)
                bar.update(self.seconds - left)
                split = best_split(m, most, rate, left, max(slowness, 1.0))
                if m >= most:
                    return asked, split.fitted, self._all_asked(asked) + self._short_of_time(asked, split.fitted)
                if most == pairs <= m + rate * left:
                    wanted = most
                elif split.asked <= m:
                    return asked, split.fitted, f"{self.seconds:g} seconds"
                else:
                    wanted = min(2 * m, split.asked)

    def _short_of_time(self, asked: PairedPayoffs, fitted: int) -> str:
        """Said where the clock has left fewer pairs to fit than a run without it would fit."""
        if asked.design.complete or fitted >= min(len(asked.design), MOST_PAIRS):
            return ""
        return f", {fitted} pairs of them fitted for want of time in {self.seconds:g} seconds"

    def _slowness(self, asked: PairedPayoffs) -> float:
        """How many times longer an estimate takes here and now than `fit_seconds` says; at least 1."""
        began = time.monotonic()
        self._estimate(asked, 1 - self.level, np.random.default_rng(0))
        return max(1.0, (time.monotonic() - began) / fit_seconds(len(asked.design)))

    def _until_narrow(self, game: Game, rng: np.random.Generator) -> tuple[PairedPayoffs, SurrogateEstimate, str]:
        """Look at 64, 128, 256, … pairs until every interval is narrow enough."""
        assert self.half_width is not None
        began, look, asked = time.monotonic(), 0, None
        most = int(min(self._most_pairs, strata(len(game.players)).pairs))
        with progress("asking payoffs", self._most_pairs) as bar:
            while True:
                look += 1
                before = time.monotonic()
                asked = ask_pairs(game, asked, min(most, (FEW_PAIRS + 4) << (look - 1)), rng)
                found = self._estimate(asked, look_error(1 - self.level, look), rng)
                bar.update(len(asked.design))
                now = time.monotonic()
                if found.half_width is not None and found.half_width.max() <= self.half_width:
                    return asked, found, f"every half-width is at most {self.half_width:g} at look {look}"
                if len(asked.design) >= most:
                    return asked, found, self._all_asked(asked)
                if found.half_width is None and look >= LOOKS_WITHOUT_INTERVAL:
                    return asked, found, f"no interval could be given at {look} looks, so no half-width can be reached"
                if self.seconds is not None and now - began + 2 * (now - before) > self.seconds:
                    return asked, found, f"{self.seconds:g} seconds, before the half-width was reached"

    def _all_asked(self, asked: PairedPayoffs) -> str:
        if asked.design.complete:
            return "every coalition was asked"
        reached = "" if self.half_width is None else ", before the half-width was reached"
        return f"the budget of {self.budget or LARGEST_BUDGET} payoffs{reached}"

    def _attribution(self, game: Game, asked: PairedPayoffs, found: SurrogateEstimate, stopped: str) -> Attribution:
        width = found.half_width
        return Attribution(
            game.players,
            found.credit,
            total=asked.total,
            method=Procedure.by("shapley", self),
            claims=SHAPLEY_CLAIMS if asked.design.complete else CLAIMS,
            stderr=found.stderr,
            interval=None if width is None else np.stack([found.credit - width, found.credit + width], axis=1),
            level=None if width is None else self.level,
            precision=_precision(asked, found),
            baseline=asked.nobody,
            payoffs=2 + 2 * len(asked.design),
            seed=self.seed,
            stopped=stopped,
            certificate=found.certificate,
        )


def _precision(asked: PairedPayoffs, found: SurrogateEstimate) -> Precision:
    if asked.design.complete:
        return Precision.exact(found.because)
    return Precision.unknown(found.because) if found.stderr is None else Precision.interval(found.because)


def ask_pairs(game: Game, asked: PairedPayoffs | None, pairs: int, rng: np.random.Generator) -> PairedPayoffs:
    """Ask, in one batch, the pairs that a design of `pairs` lacks (at first also v(∅) and v(N))."""
    n = len(game.players)
    design = grow(empty_design(n) if asked is None else asked.design, pairs, rng)
    new = design.pairs[0 if asked is None else len(asked.design) :]
    if asked is None:
        ends = np.array([[False] * n, [True] * n])
        earned = payoffs(game, np.concatenate([ends, new, ~new]))
        nobody, everybody, halves = float(earned[0]), float(earned[1]), earned[2:].reshape(2, -1)
        return PairedPayoffs(nobody, everybody, design, halves[0], halves[1], blur_of(game))
    halves = payoffs(game, np.concatenate([new, ~new])).reshape(2, -1)
    chosen, rest = np.append(asked.chosen, halves[0]), np.append(asked.rest, halves[1])
    return PairedPayoffs(asked.nobody, asked.everybody, design, chosen, rest, blur_of(game))
