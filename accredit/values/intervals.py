r"""How far an average may be from the truth: Student t, the empirical Bernstein certificate, and looking more than once.

Every sampled value is a mean of m independent score vectors, one score per player. Three statements can be made about it.

* **Student t** on the scores: asymptotic, narrow, the default. It sees only what was sampled.
* **Empirical Bernstein** (Maurer & Pontil, 2009): holds at every m, but needs a declared payoff range; it is wide until
  m reaches thousands. Opt in with `certify=True`.
* **Rule of three**: something that happened in none of m draws has, with confidence 1 − δ, a chance of at most 1 − δ^(1/m),
  about 3/m at 95 %. It keeps a player whose scores were all alike from being called certain.

Payoffs are rounded, so scores are alike if they differ by no more than rounding may make of them (`blur_between`).

Looking at an interval repeatedly until it is narrow enough makes it too narrow. Stopping at a half-width therefore looks only
at m = 64, 128, 256, … and gives look t the error δ/(t(t+1)); these sum to δ, so by the union bound all looks hold together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit import defaults
from accredit.checks import real_numbers
from accredit.core import FloatArray
from accredit.core.rounding import SINGLE, blur, blur_of
from accredit.errors import InvalidInput

UNSTATED = 8 * SINGLE  # of the spread of payoffs: what rounding may make of them where their game does not say
FIRST_LOOK = 64  # draws before the first look; Student t on fewer is not to be trusted with skewed scores


def blur_between(low: float, high: float, moved: float = 0.0) -> float:
    """How far apart rounding alone may bring gains that are equal, when payoffs lie between `low` and `high`.

    `moved` is what the game says of one payoff (`core.rounding`): two gains differ by four of them. A game that says nothing
    may still have been computed in single precision. Beside a large constant differences lose the digits that it hides, so
    the size of payoffs counts as well.

    >>> blur_between(0.0, 5.0) < 5e-6, blur_between(0.0, 5.0, moved=1e-3) > 4e-3, blur_between(1e12, 1e12 + 5.0) > 0.01
    (True, True, True)
    """
    return max(4 * moved, UNSTATED * (high - low)) + blur(max(abs(low), abs(high)))


class PayoffRange:
    """The lowest and the highest payoff of a game so far."""

    def __init__(self, game: object) -> None:
        self._game, self.low, self.high = game, np.inf, -np.inf

    def look(self, paid: FloatArray) -> FloatArray:
        """The same payoffs, remembered."""
        self.low, self.high = min(self.low, float(paid.min())), max(self.high, float(paid.max()))
        return paid

    @property
    def blur(self) -> float:
        """What rounding may make of gains."""
        return blur_between(self.low, self.high, blur_of(self._game))


@dataclass(frozen=True)
class Confidence:
    """What kind of interval is wanted.

    `level` is per player; `simultaneous` divides the error among the players (Bonferroni), so that all intervals hold at once.

    >>> round(Confidence(level=0.95, simultaneous=True).error(players=10), 6)
    0.005
    """

    level: float = defaults.LEVEL
    simultaneous: bool = False
    certify: bool = False
    payoff_range: tuple[float, float] | None = None  # every payoff is declared to lie in it

    def __post_init__(self) -> None:
        if not isinstance(self.level, int | float | np.number) or not 0 < self.level < 1:
            raise InvalidInput(
                f"level must lie between 0 and 1, got {self.level!r}; write for example level=0.95",
                argument="level",
                code="range",
            )
        if self.payoff_range is not None:
            ends = real_numbers(self.payoff_range, "payoff_range")
            if ends.shape != (2,):
                raise InvalidInput(
                    f"payoff_range must be (low, high), got {self.payoff_range!r}; write (0, 1)",
                    argument="payoff_range",
                    code="shape",
                )
            low, high = ends.tolist()
            if not (np.isfinite([low, high]).all() and low < high):
                raise InvalidInput(
                    f"payoff_range must be finite with low < high, got {self.payoff_range!r}; write (0, 1)",
                    argument="payoff_range",
                    code="range",
                )
        elif self.certify:
            raise InvalidInput(
                "certify=True needs the payoff_range that bounds every payoff; write payoff_range=(0, 1)",
                argument="payoff_range",
                code="missing",
            )

    def error(self, players: int) -> float:
        """The chance that one player's interval may miss."""
        return (1 - self.level) / (players if self.simultaneous else 1)

    @property
    def span(self) -> float | None:
        """High minus low of the declared range."""
        return None if self.payoff_range is None else float(self.payoff_range[1] - self.payoff_range[0])


class Moments:
    """Mean and variance of score vectors that arrive in batches, by the update of Chan, Golub & LeVeque (1979).

    >>> moments = Moments(1)
    >>> moments.add(np.array([[1.0], [2.0]])); moments.add(np.array([[6.0]]))
    >>> moments.mean, moments.variance
    (array([3.]), array([7.]))
    """

    def __init__(self, players: int) -> None:
        self.count = 0
        self.mean: FloatArray = np.zeros(players)
        self._squares: FloatArray = np.zeros(players)  # sum of squared deviations from the mean
        self.low: FloatArray = np.full(players, np.inf)  # of the scores that came through `add`
        self.high: FloatArray = np.full(players, -np.inf)

    def add(self, scores: FloatArray) -> None:
        """Take in a batch: (draws, n)."""
        mean = scores.mean(axis=0)
        self.low, self.high = np.minimum(self.low, scores.min(axis=0)), np.maximum(self.high, scores.max(axis=0))
        self.merge(len(scores), mean, ((scores - mean) ** 2).sum(axis=0))

    def merge(self, count: int, mean: FloatArray, squares: FloatArray) -> None:
        """Take in a batch known by its size, mean and sum of squared deviations."""
        total = self.count + count
        shift = mean - self.mean
        self._squares = self._squares + squares + shift**2 * (self.count * count / total)
        self.mean = self.mean + shift * (count / total)
        self.count = total

    @property
    def variance(self) -> FloatArray:
        """Unbiased sample variance of one score; needs two draws."""
        return self._squares / (self.count - 1)

    @property
    def stderr(self) -> FloatArray | None:
        """Standard error of the mean; none after a single draw."""
        return np.sqrt(self.variance / self.count) if self.count > 1 else None


def student_t(stderr: FloatArray, freedom: float, error: float) -> FloatArray:
    """Half-width of the two-sided t interval with the given degrees of freedom: draws − 1 for normal scores.

    >>> student_t(np.array([1.0]), freedom=1e9, error=0.05).round(3)
    array([1.96])
    """
    from scipy.special import stdtrit  # here, because it takes longer to import than the rest of accredit

    return stderr * float(stdtrit(freedom, 1 - error / 2))


def degrees_of_freedom(draws: int, kurtosis: float) -> float:
    r"""Degrees of freedom of a sample variance when the scores have heavy tails (Satterthwaite's match of two moments).

    Var(s²)/σ⁴ = (κ − (m−3)/(m−1))/m for m scores of kurtosis κ, and 2/ν for χ²_ν/ν. Normal scores (κ = 3) give m − 1.

    >>> degrees_of_freedom(100, 3.0), round(degrees_of_freedom(100, 9.0), 1)
    (99.0, 24.9)
    """
    return float(np.clip(2 * draws / (kurtosis - (draws - 3) / (draws - 1)), min(3, draws - 1), draws - 1))


def empirical_bernstein(variance: FloatArray, draws: int, width: float, error: float) -> FloatArray:
    r"""Half-width that holds at every number of draws, for scores in an interval of length `width`.

    $$\sqrt{\frac{2 V \ln(3/\delta)}{m}} + \frac{7\,\text{width}\,\ln(3/\delta)}{3(m-1)}$$

    with V the unbiased sample variance: Bernstein's inequality on both sides and the bound
    σ ≤ √V + width·√(2 ln(1/δ')/(m−1)) (Maurer & Pontil, 2009, Theorem 10), three events of chance δ' = δ/3 each.

    >>> empirical_bernstein(np.array([0.0]), draws=1001, width=1.0, error=0.05).round(5)
    array([0.00955])
    """
    log = float(np.log(3 / error))
    return np.sqrt(2 * variance * log / draws) + 7 * width * log / (3 * (draws - 1))


def unseen_chance(draws: int, error: float) -> float:
    """The largest chance, at confidence 1 − error, of what happened in none of `draws` independent draws.

    >>> round(unseen_chance(100, 0.05), 4)
    0.0295
    """
    return float(-np.expm1(np.log(error) / draws))


def look_error(error: float, look: int) -> float:
    """Error granted to look 1, 2, 3, …: δ/(t(t+1)), which sums to δ over all looks.

    >>> [round(1 / look_error(1.0, t)) for t in (1, 2, 3)]
    [2, 6, 12]
    """
    return error / (look * (look + 1))
