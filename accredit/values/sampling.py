"""What sampled values have in common: settings, a ledger of payoffs, and one loop that draws, looks and stops.

An estimator draws independent units (an order, an order and its reverse, a pair of coalitions). The loop decides how many
to draw next so that the budget is never exceeded, the memory limit is kept, the clock is read often enough, and intervals are
looked at only at the checkpoints of `intervals`. The numbers do not depend on how the draws were cut into batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, optional_whole
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Game, Holds, Precision, Procedure, payoffs
from accredit.core.estimate import Known
from accredit.core.rounding import blur_of
from accredit.errors import BadPayoff, InvalidInput
from accredit.values.exact import semivalue_claims
from accredit.values.intervals import (
    FIRST_LOOK,
    Confidence,
    Moments,
    PayoffRange,
    blur_between,
    empirical_bernstein,
    look_error,
    student_t,
    unseen_chance,
)
from accredit.values.semivalues import semivalue_from_table
from accredit.values.solver import Progress, Stop, progress

FEW_DRAWS = 20  # with fewer scores a Student t is not to be trusted
BATCH_BYTES = 1 << 24  # coalitions of one payoff call stay below 16 MB
LEAST_SPREAD, MOST_SPREAD = 1e-140, 1e70  # of payoffs: standard errors take their squares, tails their fourth powers


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Settings of every sampled value, beside its `budget` and `seed`.

    `seconds` and `half_width` stop a run as `Stop` says. `level` and `simultaneous` choose the interval,
    `payoff_range` declares that all payoffs lie in (low, high), and `certify` asks for the interval that is proved
    from that range (`intervals`).
    """

    seconds: float | None = None
    half_width: float | None = None
    level: float = defaults.LEVEL
    simultaneous: bool = False
    certify: bool = False
    payoff_range: tuple[float, float] | None = None

    @property
    def confidence(self) -> Confidence:
        """The interval wanted, checked."""
        return Confidence(self.level, self.simultaneous, self.certify, self.payoff_range)


def check(settings: Sampled, budget: int | None, seed: int, **counts: int | None) -> None:
    """Refuse settings that cannot be used; `counts` are other limits, such as a number of orders."""
    for name, value in {"budget": budget, **counts}.items():
        optional_whole(value, name, example=1000)
    check_seed(seed)
    Stop(budget or next((count for count in counts.values() if count), None), settings.seconds, settings.half_width)
    _ = settings.confidence


class Ledger:
    """The door to a game: counts every payoff, remembers the lowest and the highest, and holds them to the declared range.

    It returns v(S) − v(∅): a constant earns nobody anything, and subtracting it first keeps the digits it would hide.
    """

    def __init__(self, game: Game, declared: tuple[float, float] | None = None) -> None:
        self._game, self._declared = game, declared
        self.payoffs = 0
        self.nobody = 0.0  # v(∅)
        self.low, self.high = np.inf, -np.inf  # of what was returned
        self.players = len(game.players)
        ends = self.ask(np.array([[False] * self.players, [True] * self.players]))
        self.nobody = float(ends[0])
        self.total = float(ends[1] - ends[0])  # v(N) − v(∅)
        self.low, self.high = min(0.0, self.total), max(0.0, self.total)

    def ask(self, coalitions: BoolArray) -> FloatArray:
        """What each coalition earns beyond v(∅): (batch, n) -> (batch,)."""
        earned = payoffs(self._game, coalitions)
        self.payoffs += len(coalitions)
        low, high = float(earned.min()), float(earned.max())
        if self._declared is not None and not (self._declared[0] <= low and high <= self._declared[1]):
            worst = low if low < self._declared[0] else high
            raise BadPayoff(
                f"a payoff is {worst}, outside the declared payoff_range={self._declared}; declare a wider one", code="range"
            )
        self.low, self.high = min(self.low, low - self.nobody), max(self.high, high - self.nobody)
        if self.payoffs > 2 and self.spread > MOST_SPREAD:
            check_spread(self.spread)
        return earned - self.nobody

    @property
    def bounds(self) -> tuple[float, float]:
        """The range in which all returned numbers must lie: as declared, else as seen so far."""
        if self._declared is None:
            return self.low, self.high
        return self._declared[0] - self.nobody, self._declared[1] - self.nobody

    @property
    def spread(self) -> float:
        """Highest minus lowest payoff seen."""
        return self.high - self.low

    @property
    def blur(self) -> float:
        """What rounding alone may make of gains; those that differ by less are alike."""
        return blur_between(self.low + self.nobody, self.high + self.nobody, blur_of(self._game))


def check_spread(spread: float) -> None:
    """Refuse payoffs whose squares would leave the range of doubles: a standard error of 0 would call an estimate certain."""
    if spread and not LEAST_SPREAD <= spread <= MOST_SPREAD:
        factor = f"{'multiply' if spread < 1 else 'divide'} them by a power of ten, and the credit back"
        raise BadPayoff(
            f"payoffs differ by {spread:.3g} at most; an estimate and its error need differences between {LEAST_SPREAD:g} and "
            f"{MOST_SPREAD:g}: {factor}, or ask for exact values with shapley(game)",
            code="range",
        )


@dataclass(frozen=True)
class Ended:
    """How a run ended: units drawn, why it stopped, and the share of the error that the last look may use."""

    units: int
    stopped: str
    share: float  # of δ: 1 when nobody looked before the end, 1/(t(t+1)) at look t


def run(
    settings: Sampled,
    budget: int | None,
    ledger: Ledger,
    draw: Callable[[int], None],
    half_widths: Callable[[float], FloatArray | None],
    *,
    cost: int,
    unit: str,
    units: int | None = None,
) -> Ended:
    """Draw units until a limit is met.

    `draw(count)` asks for `count` more units, each worth at most `cost` payoffs. `half_widths(share)` is the
    interval so far when `share` of the error is granted to it; None: none can be given yet.
    """
    if budget is not None and budget < ledger.payoffs + cost:
        raise InvalidInput(
            f"budget={budget} is less than one {unit} costs; give at least budget={ledger.payoffs + cost}",
            argument="budget",
            code="range",
        )
    batch = max(1, BATCH_BYTES // (ledger.players * cost))
    pace = 1 if settings.seconds is not None else batch
    drawn, looks, next_look, began = 0, 0, FIRST_LOOK, time.monotonic()

    def end(stopped: str) -> Ended:
        repeated = settings.half_width is not None
        return Ended(drawn, stopped, look_error(1.0, looks + 1) if repeated else 1.0)

    with progress(f"{unit}s", 1.0) as bar:
        while True:
            elapsed = time.monotonic() - began
            if units is not None and drawn >= units:
                return end(f"all {units} {unit}s were drawn")
            if budget is not None and budget - ledger.payoffs < cost:
                return end(f"the budget of {budget} payoffs is spent")
            if settings.seconds is not None and drawn and elapsed >= settings.seconds:
                return end(f"{settings.seconds:g} seconds have passed")
            count = min(batch, pace, *_room(drawn, units, budget, ledger.payoffs, cost))
            if settings.half_width is not None:
                count = min(count, next_look - drawn)
            draw(count)
            drawn += count
            if settings.seconds is not None:
                elapsed = time.monotonic() - began
                fit = max(0.0, settings.seconds - elapsed) * drawn / max(elapsed, 1e-9)  # units left at this rate
                pace = max(1, min(2 * pace, int(fit)))
            if settings.half_width is not None and drawn == next_look:
                widths = half_widths(look_error(1.0, looks + 1))
                if ledger.spread <= ledger.blur:
                    return end("every payoff seen is the same, so there is no scale to measure a half-width by")
                if widths is not None and widths.max() <= settings.half_width:
                    return end(f"every interval is within ±{settings.half_width:g} at look {looks + 1}")
                looks, next_look = looks + 1, 2 * next_look
            _show(bar, settings, units, budget, drawn, ledger.payoffs, elapsed)


def _room(drawn: int, units: int | None, budget: int | None, spent: int, cost: int) -> list[int]:
    """How many more units each limit allows."""
    room = [] if units is None else [units - drawn]
    return room if budget is None else [*room, (budget - spent) // cost]


def _show(
    bar: Progress, settings: Sampled, units: int | None, budget: int | None, drawn: int, spent: int, elapsed: float
) -> None:
    """Draw the bar at the limit that is closest; a half-width alone does not say how far it is."""
    shares = [0.0]
    shares += [drawn / units] if units else []
    shares += [spent / budget] if budget else []
    shares += [elapsed / settings.seconds] if settings.seconds else []
    bar.update(max(shares))


def mean_half_widths(
    moments: Moments, confidence: Confidence, share: float, blur: float, weight: float = 1.0
) -> FloatArray | None:
    r"""Half-widths for a mean of independent gains, or None where none is honest.

    Certified: empirical Bernstein, as gains lie in [−R, R] when payoffs have a declared range R. Otherwise Student t, widened
    for what may have been missed: $\sqrt{(t \cdot SE_i)^2 + (p\,e_i)^2}$, where p is the largest chance of what no draw has
    shown (`unseen_chance`) and e_i the size such an event is taken to have: the range of the player's own gains or, for one
    whose gains were all alike, the largest gain that anybody has shown (with a declared range, R). Gains are alike if they
    differ by no more than `blur`. `weight` is how many times its size a gain may count in a score.
    """
    error, span = confidence.error(len(moments.mean)) * share, confidence.span
    if moments.stderr is None:
        return None
    if confidence.certify and span is not None:
        return empirical_bernstein(moments.variance, moments.count, 2 * span, error)
    if moments.count < FEW_DRAWS or _no_scale(moments, confidence, blur):
        return None
    reach = moments.high - moments.low
    event = np.where(reach > blur, reach, weight * (_largest(moments) if span is None else span))
    return np.hypot(student_t(moments.stderr, moments.count - 1, error), unseen_chance(moments.count, error) * event)


def _largest(moments: Moments) -> float:
    """The largest gain that anybody has shown."""
    return float(np.maximum(np.abs(moments.low), np.abs(moments.high)).max())


def _no_scale(moments: Moments, confidence: Confidence, blur: float) -> bool:
    """Whether nobody has shown a gain that is more than rounding, and no range is declared either."""
    return confidence.span is None and _largest(moments) <= blur


def mean_because(moments: Moments, confidence: Confidence, unit: str, blur: float) -> str:
    """What the interval of `mean_half_widths` rests on, or why there is none."""
    m = moments.count
    if confidence.certify and m > 1:
        return f"empirical Bernstein on {m} {unit}s, gains within the declared payoff range: holds at any number"
    if m < FEW_DRAWS:
        return f"{m} {unit}s are too few for a Student t; {FEW_DRAWS} are needed"
    if _no_scale(moments, confidence, blur):
        return "every gain seen is zero, so there is no scale for what was not seen"
    return f"Student t on {m} {unit}s, widened by the rule of three for gains that none of them has shown"


def mean_of_orders(
    players: tuple[str, ...],
    moments: Moments,
    total: float,
    method: Procedure,
    claims: tuple[Claim, ...],
    *,
    baseline: float,
    seen: PayoffRange,
    payoffs: int,
    seed: int,
    level: float,
    unit: str = "order",
) -> Attribution:
    """Credit as the mean of gains along independent orders, a fixed number of them, with its interval."""
    confidence = Confidence(level)
    widths = mean_half_widths(moments, confidence, 1.0, seen.blur)
    because = mean_because(moments, confidence, unit, seen.blur)
    return Attribution(
        players,
        moments.mean,
        total,
        method,
        claims,
        stderr=moments.stderr,
        interval=None if widths is None else np.stack([moments.mean - widths, moments.mean + widths], axis=1),
        level=None if widths is None else level,
        precision=Precision(Known.UNKNOWN if widths is None else Known.INTERVAL, because),
        baseline=baseline,
        payoffs=payoffs,
        seed=seed,
        stopped=f"{moments.count} {unit}s drawn",
    )


def fixed_number(settings: Sampled) -> bool:
    """Whether the number of draws was set in advance, so that a mean of unbiased draws is itself unbiased."""
    return settings.seconds is None and settings.half_width is None


def in_expectation(settings: Sampled, because: str) -> tuple[Holds, str]:
    """Unbiasedness, as far as the stopping rule preserves it."""
    if fixed_number(settings):
        return Holds.IN_EXPECTATION, because
    return Holds.IN_THE_LIMIT, f"{because}; when to stop was decided during the run, which may leave a small bias"


def linearity(settings: Sampled) -> Claim:
    """The claim of an estimate that is a linear function of the payoffs it asks for."""
    if fixed_number(settings):
        because = "a fixed linear function of the payoffs: the same seed and limits draw the same coalitions for every game"
        return Claim("linearity", Holds.EXACTLY, because)
    return Claim("linearity", Holds.IN_THE_LIMIT, "linear in the payoffs asked, but how many are asked depends on the run")


def known_whole(game: Game, ledger: Ledger, meets: FloatArray, method: Procedure, budget: int | None, seed: int) -> Attribution:
    """One or two players: all coalitions are asked, and nothing is left to sample. `meets` is s(k), here p(k) as well."""
    n = len(game.players)
    if budget is not None and budget < 1 << n:
        raise InvalidInput(
            f"budget={budget} is less than the {1 << n} coalitions of {n} players; give budget={1 << n}",
            argument="budget",
            code="range",
        )
    between = ledger.ask(np.eye(2, dtype=bool)) if n == 2 else np.zeros(0)
    credit = semivalue_from_table(np.array([0.0, *between, ledger.total]), meets)
    exact = f"all {1 << n} coalitions were evaluated"
    return Attribution(
        game.players,
        credit,
        ledger.total,
        method,
        semivalue_claims(meets, exact),
        precision=Precision.exact(exact),
        baseline=ledger.nobody,
        payoffs=ledger.payoffs,
        seed=seed,
        stopped=exact,
    )


@dataclass(frozen=True)
class SampledEstimate:
    """An estimate, how far it may be off, and what that rests on."""

    credit: FloatArray  # (n,)
    stderr: FloatArray | None  # (n,); None after a single score
    half_widths: FloatArray | None
    because: str
    freedom: float | None = None


def report(
    game: Game,
    ledger: Ledger,
    method: Procedure,
    claims: tuple[Claim, ...],
    found: SampledEstimate,
    confidence: Confidence,
    ended: Ended,
    seed: int,
    certificate: Mapping[str, object],
) -> Attribution:
    """The result of a sampled value."""
    check_spread(ledger.spread)
    credit, half_widths, because = found.credit, found.half_widths, found.because
    kept = half_widths is not None
    if kept and confidence.simultaneous:
        because += "; simultaneous: the error is divided among the players, so all intervals hold together at this level"
    if kept and ended.share < 1:
        because += "; valid at every look, because each look had its own share of the error"
    return Attribution(
        game.players,
        credit,
        ledger.total,
        method,
        claims,
        stderr=found.stderr,
        interval=None if half_widths is None else np.stack([credit - half_widths, credit + half_widths], axis=1),
        level=confidence.level if kept else None,
        precision=Precision.interval(because) if kept else Precision.unknown(because),
        baseline=ledger.nobody,
        payoffs=ledger.payoffs,
        seed=seed,
        stopped=ended.stopped,
        certificate=certificate,
    )
