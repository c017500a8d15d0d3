r"""How many labels are wrong, by likelihood.

An out-of-fold model never saw the label that it judges, so its answer is evidence about the true class. Let q be that answer,
sharpened or softened to fit: $q_c \propto p_c^a$. A label can then come about in three ways:

- it is true, with the chances q;
- it is **doubtful**, with a chance δ: one of the other classes, those that the model finds plausible more often
  ($r_c \propto p_c^{3a/4}$, the likeliest class left out). Rows on the border are of that kind, and what annotators confuse;
- it is **wrong at random**, with a chance π: any other class as often as any other.

$$P(y) = (1-\pi)\,t_y + \pi\,\frac{1-t_y}{C-1}, \qquad t = (1-\delta)\,q + \delta\,r .$$

The likeliest (π, δ, a) are found, with a mild prior; π is the rate. How likely other rates are is asked one by one, each with
the δ and a that fit it best, and without the prior of the rate: an interval must not be narrow because of what was believed
before. Of two classes δ cannot be told from π and is zero. What separates the two is the class that a label has where the
model is sure: errors at random fall on the least plausible class as often as on the others. Data cannot prove that errors are
of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from accredit.core import FloatArray, IntArray

MOST_RATE, MOST_DOUBT = 0.5, 0.3
PRIOR = (3.0, 30.0)  # of the rate: three rows as if seen to be wrong, and thirty to be right
DOUBT_PRIOR = (0.3, 10.0)
SOFTER = 0.75  # by how much less sure doubtful labels follow the model
MOST_NUMBERS = 2_000_000  # rows × classes by which the likelihood is judged
NEGLIGIBLE_LIKELIHOOD = 12.0  # a rate so much less likely, in logarithms, ends the search for others beyond it
ENDS = (0.05, 0.95)  # of an interval of 90 %
RATES = 0.001 + 0.498 * np.linspace(0.0, 1.0, 60) ** 2  # that are asked about, closer together where they are small
LOG_OF_NOTHING = -1e6  # the logarithm of nothing, with which one can still multiply


@dataclass(frozen=True, eq=False)
class ErrorRate:
    """The share of labels that are wrong at random: the likeliest, and how likely the labels make every other."""

    likeliest: float  # with the prior
    rates: FloatArray  # (R,), increasing
    chances: FloatArray  # (R,), which sum to one

    @property
    def interval(self) -> tuple[float, float]:
        """Of 90 %."""
        low, high = np.interp(ENDS, self.chances.cumsum(), self.rates)
        return float(min(low, self.likeliest)), float(max(high, self.likeliest))


def error_rate(logs: FloatArray, y: IntArray) -> ErrorRate:
    """The share of labels that are wrong at random, by out-of-fold `logs` (N, C).

    >>> rng = np.random.default_rng(0)
    >>> sure = rng.normal(size=(5000, 3)) * 4
    >>> chances = np.exp(sure - np.logaddexp.reduce(sure, axis=1, keepdims=True))
    >>> true = (rng.random(5000)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    >>> given = np.where(rng.random(5000) < 0.1, (true + rng.integers(1, 3, size=5000)) % 3, true)
    >>> low, high = error_rate(sure, given).interval
    >>> bool(low < 0.1 < high and high - low < 0.05)
    True
    """
    from scipy.optimize import minimize

    every = 1 + logs.size // MOST_NUMBERS
    judged = _Likelihood(logs[::every], y[::every])
    starts = [np.array([first, 0.5, -2.0][: judged.parameters]) for first in (-3.0, -1.0)]
    ends = [minimize(judged.surprise, start, jac=True, method="L-BFGS-B") for start in starts]
    best = min(ends, key=lambda end: float(end.fun))
    surprises = _profile(judged, best.x)
    weights = np.exp(surprises.min() - surprises) * np.gradient(RATES)
    return ErrorRate(MOST_RATE * float(expit(best.x[0])), RATES, weights / weights.sum())


def _profile(judged: _Likelihood, best: FloatArray) -> FloatArray:
    """Minus the logarithm of the likelihood of every rate (R,), without its prior, with the δ and a that fit it best; each
    search begins where its neighbour's ended, from the likeliest rate outwards."""
    from scipy.optimize import minimize

    places = logit(RATES / MOST_RATE)
    found = np.full(len(places), np.inf)
    middle = int(np.searchsorted(places, best[0]))
    for outwards in (range(middle, len(places)), range(middle - 1, -1, -1)):
        rest = best[1:]
        for i in outwards:

            def surprise(at: FloatArray, first: float = places[i]) -> tuple[float, FloatArray]:
                value, slopes = judged.surprise(np.array([first, *at]))
                return value, slopes[1:]

            ended = minimize(surprise, rest, jac=True, method="L-BFGS-B")
            found[i], rest = ended.fun + _prior(RATES[i]), ended.x
            if found[i] > found.min() + NEGLIGIBLE_LIKELIHOOD:
                break
    return found


class _Likelihood:
    """Minus the logarithm of the likelihood of labels under (π, a, δ), each as a number without bounds."""

    def __init__(self, logs: FloatArray, y: IntArray) -> None:
        rows = np.arange(len(y))
        best = np.sort(logs, axis=1)
        first, second = best[:, -1:], best[:, -2:-1]
        gap = max(float(np.median(first - second)), 1e-12)
        others = SOFTER * (logs - second) / gap
        others[rows, logs.argmax(axis=1)] = LOG_OF_NOTHING
        self._views = [(view, view[rows, y]) for view in ((logs - first) / gap, others)]
        self.classes = logs.shape[1]
        self.parameters = 2 if self.classes == 2 else 3

    def surprise(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log likelihood, and its gradient."""
        (rate, by_rate), sharp = _bound(at[0], MOST_RATE), float(np.exp(at[1]))
        chance, by_sharp = self._chance(0, sharp)
        doubt, by_doubt, prior, doubtful = 0.0, 0.0, np.zeros(len(at)), chance
        if self.parameters == 3:
            doubt, by_doubt = _bound(at[2], MOST_DOUBT)
            doubtful, more = self._chance(1, sharp)
            by_sharp = (1 - doubt) * by_sharp + doubt * more
            prior[2] = (DOUBT_PRIOR[0] / doubt - DOUBT_PRIOR[1] / (1 - doubt)) * by_doubt
        true = (1 - doubt) * chance + doubt * doubtful
        elsewhere = (1 - true) / (self.classes - 1)
        seen = np.maximum((1 - rate) * true + rate * elsewhere, 1e-12)
        through = (1 - rate - rate / (self.classes - 1)) / seen  # how the log likelihood follows `true`
        slopes = [((elsewhere - true) / seen).sum() * by_rate, (through * by_sharp).sum()]
        slopes += [(through * (doubtful - chance)).sum() * by_doubt] if self.parameters == 3 else []
        prior[0] = (PRIOR[0] / rate - PRIOR[1] / (1 - rate)) * by_rate
        believed = _prior(rate)
        believed += DOUBT_PRIOR[0] * np.log(doubt) + DOUBT_PRIOR[1] * np.log(1 - doubt) if doubt else 0.0
        return -float(np.log(seen).sum() + believed), -(np.array(slopes) + prior)

    def _chance(self, view: int, sharp: float) -> tuple[FloatArray, FloatArray]:
        """The chance of the label that each row has, and its slope in log a."""
        logs, own = self._views[view]
        weights = np.exp(sharp * logs)
        total = weights.sum(axis=1)
        chance = np.exp(sharp * own) / total
        return chance, chance * sharp * (own - (weights * logs).sum(axis=1) / total)


def _prior(rate: float) -> float:
    """The logarithm of what is believed of a rate before any label is seen, but for a constant."""
    return float(PRIOR[0] * np.log(rate) + PRIOR[1] * np.log(1 - rate))


def _bound(at: float, most: float) -> tuple[float, float]:
    """A share between 0 and `most`, and its slope in the number that is searched."""
    share = float(np.clip(expit(at), 1e-12, 1 - 1e-12))
    return most * share, most * share * (1 - share)
