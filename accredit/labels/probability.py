r"""The probability that a label is wrong, row by row, and how many are: for errors at random, of a pattern, and of hard rows.

No data tell how many labels are wrong without an assumption about the errors. Two counts enclose most of what people do:

- **at random** (`rate.py`): what cannot be explained by classes that look alike. Too low where annotators confuse such classes.
- **contradicted**: rows whose best other class has at least twice the odds of the given label, out of fold. Too high where
  rightly labelled rows are hard.

The stated rate π̂ lies between the two: the clearer the data, the nearer to the second. Where most rows are clear, a label that
is contradicted is hardly a hard one; where few are, most are. The row with margin m (the log odds of its label against the
best other class) is wrong with the probability

$$P = \frac{1}{1 + e^{m - a}}, \qquad a \text{ such that } \textstyle\sum P = \hat\pi N .$$

How far a was off, in log odds, over six real data sets with four kinds of noise at rates of 3, 10 and 20 % has a standard
deviation of 1.3 (`LOG_ODDS_ERROR`; the benchmark reports other draws). Intervals hold that error, and chance.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtri

from accredit.core import FloatArray

CONTRADICTED = np.log(2.0)  # log odds of the best other class from which a label is contradicted
CLEAR = np.log(4.0)  # log odds of a label from which its row is clear
LIKELY = 0.5  # probability from which a number, or one of several labels of a row, is listed
RECALL_COUNTS = 2.0  # times as much as precision: a wrong label that is missed stays, one that is right costs a look
LOG_ODDS_ERROR = 1.3
ENDS = (0.05, 0.95)  # of an interval of 90 %
ERRORS_TRIED = LOG_ODDS_ERROR * ndtri((np.arange(40) + 0.5) / 40)  # equally likely ones


def between_counts(margins: FloatArray, at_random: float, contradicted: float) -> float:
    """The stated rate: as far from the share that is wrong `at_random` to the share `contradicted` as rows are clear.

    >>> round(between_counts(np.array([-1.0, 0.5, 2.0, 3.0]), 0.05, 0.25), 9)
    0.15
    """
    return at_random + float((margins > CLEAR).mean()) * max(contradicted - at_random, 0.0)


def wrong_probability(margins: FloatArray, rate: float) -> FloatArray:
    """The probability of each label to be wrong (N,), on average `rate`, by margins (N,) in log odds.

    >>> wrong_probability(np.array([-3.0, 0.0, 3.0, 3.0]), 0.25).round(2)
    array([0.81, 0.17, 0.01, 0.01])
    """
    from scipy.optimize import brentq

    def excess(shift: float) -> float:
        return float(expit(shift - margins).mean() - rate)

    shift = float(brentq(excess, margins.min() - 40, margins.max() + 40))
    return np.asarray(expit(shift - margins))


def best_cut(probability: FloatArray) -> float:
    r"""The probability from which rows are listed so that the list is best by the F-measure to be expected.

    Of the K likeliest rows, with β² = `RECALL_COUNTS`,

    $$F_\beta(K) = \frac{(1 + \beta^2) \sum_{i \le K} P_i}{K + \beta^2 \sum_i P_i} .$$

    >>> best_cut(np.array([0.9, 0.8, 0.3, 0.01, 0.01]))
    0.3
    """
    likeliest = np.sort(probability)[::-1]
    size = np.arange(1, len(likeliest) + 1)
    return float(likeliest[(np.cumsum(likeliest) / (size + RECALL_COUNTS * likeliest.sum())).argmax()])


def shift_odds(probability: FloatArray, log_odds: FloatArray) -> FloatArray:
    """Probabilities (N,) whose log odds are moved by each of `log_odds` (E,): (E, N)."""
    logits = np.log(probability) - np.log1p(-np.clip(probability, 0.0, 1 - 1e-12))
    return np.asarray(expit(logits + log_odds[:, None]))


def rate_interval(probability: FloatArray) -> tuple[float, float]:
    """Between which rates the share of wrong labels is, with 90 % chance."""
    low, high = np.quantile(shift_odds(probability, ERRORS_TRIED).mean(axis=1), ENDS)
    return float(low), float(high)


def share_interval(probability: FloatArray) -> tuple[float, float]:
    """Between which shares of a list of rows (K,) are wrong, with 90 % chance: the odds may be off, and rows are few.

    >>> low, high = share_interval(np.full(1000, 0.5))
    >>> round(low, 1), round(high, 1)
    (0.1, 0.9)
    """
    from scipy.stats import binom

    size = len(probability)
    shares = shift_odds(probability, ERRORS_TRIED).mean(axis=1)
    up_to = binom.cdf(np.arange(size + 1)[:, None], size, shares).mean(axis=1)
    low, high = np.searchsorted(up_to, ENDS)
    return float(low / size), float(min(high, size) / size)
