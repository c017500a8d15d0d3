r"""How many labels are wrong at random, by likelihood: the least that can be said about a rate.

An out-of-fold model never saw the label that it judges, so its answer is evidence about the true class. Let q be that answer,
sharpened or softened to fit: $q_c \propto p_c^a$. A label can then come about in three ways:

- it is true, with the chances q;
- it is **doubtful**, with a chance δ: one of the other classes, those that the model finds plausible more often
  ($r_c \propto p_c^{3a/4}$, the likeliest class left out). Rows on the border are of that kind, and what annotators confuse;
- it is **wrong at random**, with a chance π: any other class as often as any other.

$$P(y) = (1-\pi)\,t_y + \pi\,\frac{1-t_y}{C-1}, \qquad t = (1-\delta)\,q + \delta\,r .$$

The likeliest (π, δ, a) are found, with a mild prior; π is the rate at random. Of two classes δ cannot be told from π: it is 0.
What annotators confuse, and rows that are hard to label, count as doubtful, so π is too low for errors of that kind:
`probability.py` takes it as one end of what may be true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from accredit.core import FloatArray, IntArray

MOST_RATE, MOST_DOUBT = 0.5, 0.3
PRIOR = (3.0, 30.0)  # of the rate: three rows as if seen to be wrong, and thirty to be right
DOUBT_PRIOR = (0.3, 10.0)
SOFTER = 0.75  # by how much less sure doubtful labels follow the model
MOST_NUMBERS = 2_000_000  # rows × classes by which the likelihood is judged
LOG_OF_NOTHING = -1e6  # the logarithm of nothing, with which one can still multiply
PROOF = 2.0  # log likelihood that a rate must gain over none, that of two standard errors
NO_RATE = -12.0  # stands for none among the numbers without bounds


@dataclass(frozen=True)
class RandomRate:
    """The share of labels that are wrong at random, and whether there need be any."""

    rate: float
    gain: float  # in log likelihood, over no label being wrong at random

    @property
    def is_proven(self) -> bool:
        """Whether rows that are hard, but rightly labelled, do not explain the labels nearly as well."""
        return self.gain > PROOF


def random_rate(logs: FloatArray, y: IntArray) -> RandomRate:
    """The share of labels that are wrong at random, by out-of-fold `logs` (N, C), and what it explains.

    >>> rng = np.random.default_rng(0)
    >>> sure = rng.normal(size=(5000, 3)) * 4
    >>> chances = np.exp(sure - np.logaddexp.reduce(sure, axis=1, keepdims=True))
    >>> true = (rng.random(5000)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    >>> given = np.where(rng.random(5000) < 0.1, (true + rng.integers(1, 3, size=5000)) % 3, true)
    >>> found = random_rate(sure, given)
    >>> round(found.rate, 1), found.is_proven, random_rate(sure, true).is_proven
    (0.1, True, False)
    """
    from scipy.optimize import minimize

    every = 1 + logs.size // MOST_NUMBERS
    judged = _Likelihood(logs[::every], y[::every])
    starts = [np.array([first, 0.5, -2.0][: judged.parameters]) for first in (-3.0, -1.0)]
    ends = [minimize(judged.surprise, start, jac=True, method="L-BFGS-B") for start in starts]
    found = min(ends, key=lambda end: float(end.fun)).x
    rate = _bound(found[0], MOST_RATE)[0]
    with_errors = judged.surprise(found)[0] + _prior(rate)
    without = float(minimize(judged.surprise_without, found[1:], jac=True, method="L-BFGS-B").fun)
    return RandomRate(rate, without - with_errors)


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

    def surprise_without(self, at: FloatArray) -> tuple[float, FloatArray]:
        """The same of (a, δ) where no label is wrong at random, leaving out what is believed of the rate."""
        surprise, slopes = self.surprise(np.append(NO_RATE, at))
        return surprise + _prior(_bound(NO_RATE, MOST_RATE)[0]), slopes[1:]

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
