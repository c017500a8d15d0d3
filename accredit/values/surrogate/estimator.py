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
from accredit.values.surrogate.design import empty_design, grow, strata
from accredit.values.surrogate.estimate import FEW_PAIRS, MOST_PAIRS, PairedPayoffs, SurrogateEstimate, estimate, exact
from accredit.values.surrogate.streamed import LIMIT, PairStream

# What a second buys: how many pairs to ask, and how many of them to fit, when time is the limit.
#
# Pairs that are not fitted still correct the fit, and cost a hundredth of one that is. Over six games of 30 to 60 players the
# squared error fell like 1/(m·f^0.3) with m pairs asked and f of them fitted: where payoffs are cheap, many pairs and a small
# fit are the better use of time; where they are dear, all pairs are fitted anyway. Where payoffs are so cheap that a fit loses
# to the pairs which a plain regression asks in the same time, none is fitted (`streamed`). By how much a fit shrinks the error
# of a regression differs from game to game, so it is measured on the first pairs; before that it is taken to be as usual.

FITTED = (100, 250, 500, 1000, MOST_PAIRS)  # pairs that a fit may take
MORE_FITTED = 0.3  # power of the pairs fitted that the error falls with
USUAL_GAIN = 46.0  # pairs fitted, or twice the players, beyond which a fit beats a regression on the same pairs as a rule
REGRESSION_CELLS = 1 << 23  # pairs times players: the regression on all pairs holds a few matrices of so many numbers
MOST_STREAMED, STREAMED_PAIRS = 400, 20  # players of a streamed regression at most, and pairs per player that it should have
FEWEST_STREAMED = 8  # pairs per player that it does have, even if payoffs turn out dearer than at first
TIME_TO_DRAW = 0.9  # of the time left: the rest goes into the interval
TRIAL_SHARE = 0.1  # of the time left that may go into a trial fit


@dataclass(frozen=True)
class PairCounts:
    """Pairs to ask in all, and how many of them to fit."""

    asked: int
    fitted: int


def fit_seconds(fitted: int, beyond: int = 0) -> float:
    """What an estimate costs with so many pairs fitted and others beyond: rather more than was measured on one core."""
    return 0.01 + 0.8 * float((fitted / 2000) ** 3) + beyond * (8e-6 + 4e-8 * fitted)


def stream_seconds(players: int) -> float:
    """What a pair costs a regression beside its payoffs."""
    return 3e-7 + 1e-8 * players + 1.2e-10 * players**2


def best_split(have: int, most: int, rate: float, left: float, slowness: float) -> PairCounts:
    """The split of least expected error within `left` seconds.

    `have` pairs are there and `most` may be asked, `rate` of them per second. An estimate takes `slowness` times what
    `fit_seconds` says. Where no fit ends in time, the smallest does.

    >>> best_split(have=64, most=10**5, rate=1e5, left=1.0, slowness=1.0)  # cheap payoffs: ask many, fit few
    PairCounts(asked=35365, fitted=250)
    >>> best_split(have=64, most=10**5, rate=100, left=10.0, slowness=1.0)  # a payoff takes 5 ms: fit nearly all
    PairCounts(asked=1048, fitted=1000)
    """
    best, worth = PairCounts(have, FITTED[0]), 0.0
    for fitted in FITTED:
        spare = left - slowness * fit_seconds(fitted, max(have - fitted, 0))
        each = 1 / rate + slowness * (fit_seconds(fitted, 1) - fit_seconds(fitted))
        asked = min(most, have + int(spare / each))
        if spare >= 0 and asked * min(fitted, asked) ** MORE_FITTED > worth:
            best, worth = PairCounts(asked, fitted), asked * min(fitted, asked) ** MORE_FITTED
    return best


@dataclass(frozen=True)
class Trial:
    """What a fit of the first pairs showed."""

    pairs: int = 0  # none: not tried
    slowness: float = 1.0  # how many times longer it takes here and now than `fit_seconds` says
    gain: float = 1.0  # by how much it shrinks the squared error of a regression on the same pairs

    def gain_of(self, fitted: int, players: int) -> float:
        """The same for so many pairs."""
        if not self.pairs:
            return float(max(1.0, fitted / max(USUAL_GAIN, 2 * players)) ** 0.9)
        return float(max(1.0, self.gain) * (fitted / self.pairs) ** MORE_FITTED)


# glibc hands every freed matrix of a megabyte back to the system and asks for it again, which costs more than what is computed
# in it. Once a block of this size was freed it keeps that much (mallopt(3), M_MMAP_THRESHOLD); elsewhere this does nothing.
HEAP = 31 << 20

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
STREAMED_CLAIMS = (CLAIMS[0], *(Claim(claim.axiom, Holds.IN_THE_LIMIT, LIMIT) for claim in CLAIMS[1:]))


@dataclass(frozen=True)
class SurrogateRun:
    """What was found, from how many payoffs, and why it ended there."""

    found: SurrogateEstimate
    total: float  # v(N) - v(∅)
    nobody: float  # v(∅)
    payoffs: int
    stopped: str
    claims: tuple[Claim, ...]


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
    does not spoil the interval. The estimated bias of the surrogate is added as far as it stands out of its noise, and whole
    with `centre="debiased"`: less biased, usually less accurate. Cost beside the payoffs: O(M³) for M = min(budget/2, 2000),
    about a fiftieth of a CPU-second at 1,000 payoffs.

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
        return self._attribution(game, self._run(game, np.random.default_rng(self.seed)))

    def _run(self, game: Game, rng: np.random.Generator) -> SurrogateRun:
        if self.half_width is not None:
            return _run_of_pairs(*self._until_narrow(game, rng))
        if self.seconds is not None:
            return self._until_late(game, rng)
        assert self.budget is not None  # `checked` insists on one limit
        asked = ask_pairs(game, None, (self.budget - 2) // 2, rng)
        return _run_of_pairs(asked, self._estimate(asked, 1 - self.level, rng), f"the budget of {self.budget} payoffs")

    def _estimate(
        self, asked: PairedPayoffs, error: float, rng: np.random.Generator, fitted: int = MOST_PAIRS
    ) -> SurrogateEstimate:
        if asked.design.complete:
            return SurrogateEstimate(exact(asked), None, 0.0, "every coalition was asked")
        np.empty(HEAP, dtype=np.uint8)  # freed at once, and never touched
        with one_blas_thread():
            return estimate(asked, error, self.centre == "debiased", fitted, rng)

    @property
    def _most_pairs(self) -> int:
        return ((self.budget or LARGEST_BUDGET) - 2) // 2

    def _until_late(self, game: Game, rng: np.random.Generator) -> SurrogateRun:
        """Ask in growing batches while time remains for payoffs and arithmetic; all payoffs if time allows, which need none.

        The clock decides, not the payoffs, so one estimate at the end will do. Where a regression on the pairs that the time
        left affords promises less error than an estimate, it is made instead.
        """
        assert self.seconds is not None
        n, ends, trial = len(game.players), time.monotonic() + self.seconds, Trial()
        pairs = strata(n).pairs
        most = int(pairs if pairs <= self._most_pairs else min(self._most_pairs, max(REGRESSION_CELLS // n, MOST_PAIRS)))
        asked, asking, wanted = None, 0.0, min(FIRST_BATCH, most)

        def fit(asked: PairedPayoffs, fitted: int, stopped: str) -> SurrogateRun:
            return _run_of_pairs(asked, self._estimate(asked, 1 - self.level, rng, fitted), stopped)

        with progress("asking payoffs", self.seconds) as bar:
            while True:
                before = time.monotonic()
                had = 0 if asked is None else len(asked.design)
                asked = ask_pairs(game, asked, wanted, rng)
                took, m = max(time.monotonic() - before, 1e-9), len(asked.design)
                asking += took
                if m >= max(FEW_PAIRS, 2 * trial.pairs) and trial.slowness * fit_seconds(m) < TRIAL_SHARE * (
                    ends - time.monotonic()
                ):
                    trial = self._trial(asked)
                left, rate = ends - time.monotonic(), max(m / asking, (m - had) / took)  # small batches cost more per pair
                bar.update(self.seconds - left)
                split = best_split(m, most, rate, left, trial.slowness)
                if m >= most:
                    return fit(asked, split.fitted, self._all_asked(asked) + self._short_of_time(asked, split.fitted))
                if most == pairs <= m + rate * left:
                    wanted = most
                    continue
                cheap = int(left / (1 / rate + stream_seconds(n)))
                if self._streams(n, cheap) and cheap > split.asked * trial.gain_of(min(split.fitted, split.asked), n):
                    return self._stream(game, rng, cheap, ends, 2 + 2 * m)
                if split.asked <= m:
                    return fit(asked, split.fitted, f"{self.seconds:g} seconds")
                wanted = min(2 * m, split.asked)

    def _short_of_time(self, asked: PairedPayoffs, fitted: int) -> str:
        """Said where the clock has left fewer pairs to fit than a run without it would fit."""
        if asked.design.complete or fitted >= min(len(asked.design), MOST_PAIRS):
            return ""
        return f", {fitted} pairs of them fitted for want of time in {self.seconds:g} seconds"

    def _trial(self, asked: PairedPayoffs) -> Trial:
        """Fit the pairs so far, to see how long that takes and what it brings."""
        began, m = time.monotonic(), len(asked.design)
        found = self._estimate(asked, 1 - self.level, np.random.default_rng(0))
        return Trial(m, max(1.0, (time.monotonic() - began) / fit_seconds(m)), found.gain)

    def _streams(self, players: int, pairs: int) -> bool:
        """Whether so many pairs may be drawn with repeats and not kept: few of those there are, and enough for the players."""
        enough = STREAMED_PAIRS * players <= pairs <= strata(players).pairs / 4
        return self.budget is None and players <= MOST_STREAMED and enough

    def _stream(self, game: Game, rng: np.random.Generator, expected: int, ends: float, spent: int) -> SurrogateRun:
        """A regression on as many pairs as time allows."""
        assert self.seconds is not None
        stream, began, fewest = PairStream(game, rng, expected), time.monotonic(), FEWEST_STREAMED * len(game.players)
        with progress("asking payoffs", self.seconds) as bar:
            affordable = float(expected)
            while stream.drawn < fewest or affordable > fewest:
                stream.draw(stream.next_count(max(affordable, fewest)))
                now = time.monotonic()
                affordable = TIME_TO_DRAW * (ends - now) * stream.drawn / max(now - began, 1e-9)
                bar.update(self.seconds - (ends - now))
        credit, stderr, multiple, because = stream.found(1 - self.level)
        certificate = {"pairs": stream.pairs, "pairs fitted": 0, "pairs enumerated": stream.pairs - stream.drawn}
        found = SurrogateEstimate(credit, stderr, multiple, because, certificate=certificate)
        stopped = f"{self.seconds:g} seconds; payoffs are cheap, so all went into a regression without a surrogate"
        return SurrogateRun(found, stream.total, stream.nobody, spent + stream.payoffs, stopped, STREAMED_CLAIMS)

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

    def _attribution(self, game: Game, run: SurrogateRun) -> Attribution:
        found, width = run.found, run.found.half_width
        unknown = Precision.unknown(found.because) if found.stderr is None else Precision.interval(found.because)
        return Attribution(
            game.players,
            found.credit,
            total=run.total,
            method=Procedure.by("shapley", self),
            claims=run.claims,
            stderr=found.stderr,
            interval=None if width is None else np.stack([found.credit - width, found.credit + width], axis=1),
            level=None if width is None else self.level,
            precision=Precision.exact(found.because) if run.claims is SHAPLEY_CLAIMS else unknown,
            baseline=run.nobody,
            payoffs=run.payoffs,
            seed=self.seed,
            stopped=run.stopped,
            certificate=found.certificate,
        )


def _run_of_pairs(asked: PairedPayoffs, found: SurrogateEstimate, stopped: str) -> SurrogateRun:
    claims = SHAPLEY_CLAIMS if asked.design.complete else CLAIMS
    return SurrogateRun(found, asked.total, asked.nobody, 2 + 2 * len(asked.design), stopped, claims)


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
