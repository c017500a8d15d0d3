r"""Evidence from flips that we planted: which score finds them, and how many labels are wrong.

Nobody knows the wrong labels of the data, but labels that we flip ourselves are known. Two things are learned from them: which
score ranks the planted rows lowest, and the rate π of wrong labels. It is estimated twice, and the mean is taken, because the
two err on different sides.

- **Counted.** The disagreements among the *most decided* rows, those whose out-of-fold prediction is furthest from a tie. Their
  share rises by more than the planted share, since wrong labels mislead predictions too. Divided by that slope, averaged with
  the usual one, the share in the data as given is the first estimate.
- **Likeliest.** Were all labels right, a prediction would agree with them the more surely the further it is from a tie, with a
  chance σ(ag + b) at a distance g. With a share π moved to another class, agreement levels off below one. The second estimate
  is the π that makes all agreements likeliest, of the data as given and of every planting, whose rate follows from π.

Both rest on two assumptions: wrong labels occur like planted ones, at random, and the most decided rows would hardly ever
disagree with right labels. Data cannot prove either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from accredit.core import BoolArray, FloatArray, IntArray

PLANTED = 0.1  # share of rows that are flipped for evidence
DECIDED = (0.12, 0.3, 1.0)  # shares of rows, the most decided ones, whose disagreements may be counted
CLEAR = 0.2  # disagreements among all rows, above which the data are not clear
SLOPES = (1.0, 2.5)  # what is believed of a measured slope
USUAL = 1.8  # slope on other texts, which counts like the smallest share of rows beside a measured one
PRIOR = (1.0, 10.0)  # one row as if seen to be wrong, and ten to be right
MOST_ROWS = 20_000  # by which a likelihood is judged
CONFIDENCE = 1.645  # standard errors on either side, for an interval of 90 %


@dataclass(frozen=True, eq=False)
class Trial:
    """One planting: which rows were flipped, and what was seen then."""

    flipped: BoolArray  # (N,)
    score: FloatArray  # (N,), lower is more suspect
    decisions: FloatArray  # (N,), of the out-of-fold models: how far from a tie, negative where they disagree


def planted(y: IntArray, classes: int, seed: int) -> tuple[IntArray, BoolArray]:
    """Labels of which a tenth is moved to another class at random, and which they are. Every class keeps two rows of its own:
    of small classes fewer are moved, or none.

    >>> labels, flipped = planted(np.zeros(20, dtype=int), 3, seed=0)
    >>> int(flipped.sum()), bool((labels[flipped] > 0).all())
    (2, True)
    """
    rng = np.random.default_rng(seed)
    flipped = np.zeros(len(y), dtype=bool)
    order = rng.permutation(len(y))
    left = np.bincount(y, minlength=classes)
    for row in order[: max(1, round(PLANTED * len(y)))].tolist():
        if left[y[row]] > 2:
            left[y[row]] -= 1
            flipped[row] = True
    return np.where(flipped, (y + rng.integers(1, classes, size=len(y))) % classes, y), flipped


def found_share(score: FloatArray, flipped: BoolArray) -> float:
    """The chance that a planted row scores below another one: the area under the ROC curve.

    >>> found_share(np.array([0.1, 0.9, 0.5]), np.array([True, False, False]))
    1.0
    """
    from scipy.stats import rankdata

    ranks, wrong = rankdata(-score), int(flipped.sum())
    return float((ranks[flipped].sum() - wrong * (wrong + 1) / 2) / (wrong * (len(score) - wrong)))


def disagreement(decisions: FloatArray, part: float) -> float:
    """How many of the most decided rows, a share `part` of all, disagree with their label."""
    most = np.argsort(-np.abs(decisions), kind="stable")[: max(1, round(part * len(decisions)))]
    return float((decisions[most] < 0).mean())


def decided(decisions: FloatArray) -> float:
    """How many rows to count, as a share: more than the fewest only where disagreement is no more frequent among more of them.

    Clear data are decided nearly everywhere: all their rows are counted, if few disagree and the share is within two standard
    errors.
    """
    few, some, every = DECIDED
    least = disagreement(decisions, few)
    counted = few * len(decisions)
    error = float(np.sqrt((least * counted + 1) / (counted + 2) / counted))
    if disagreement(decisions, every) <= min(CLEAR, least + 2 * error):
        return every
    return some if disagreement(decisions, some) <= least else few


def error_rate(decisions: FloatArray, trials: list[Trial], classes: int) -> tuple[float, float, float]:
    """The estimated share of wrong labels, and an interval for the rows that were counted and for two ways to estimate it."""
    counted, reach = counted_rate(decisions, trials)
    likely = likeliest_rate([decisions, *(t.decisions for t in trials)], [0.0] + [PLANTED] * len(trials), classes)
    rate, half = (counted + likely) / 2, float(np.hypot(reach, (counted - likely) / 2))
    return rate, max(0.0, rate - half), min(0.5, rate + half)


def counted_rate(decisions: FloatArray, trials: list[Trial]) -> tuple[float, float]:
    """The share of wrong labels by disagreements among the most decided rows, and how far counting them may be off."""
    part = decided(decisions)
    share = disagreement(decisions, part)
    rises = [(disagreement(t.decisions, part) - share) / (PLANTED * (1 - share)) for t in trials]
    measured = float(np.clip(np.mean(rises), *SLOPES))
    slope = (DECIDED[0] * USUAL + part * measured) / (DECIDED[0] + part)
    counted = max(1, round(part * len(decisions)))
    middle = (share * counted + 1) / (counted + 2)  # so that no disagreement at all is not taken for certainty
    return share / slope, CONFIDENCE * float(np.sqrt(middle * (1 - middle) / counted)) / slope


def likeliest_rate(decisions: list[FloatArray], planted: list[float], classes: int) -> float:
    """The share of wrong labels under which agreements and disagreements are likeliest, each list of decisions with a share of
    labels `planted` on top; a mild prior keeps rows that decide nothing from deciding.

    >>> rng = np.random.default_rng(0)
    >>> gaps = rng.exponential(3.0, size=5000)
    >>> right = (rng.random(5000) < 1 / (1 + np.exp(-gaps))) ^ (rng.random(5000) < 0.1)
    >>> bool(abs(likeliest_rate([np.where(right, gaps, -gaps)], [0.0], 2) - 0.1) < 0.02)
    True
    """
    from scipy.optimize import minimize

    seen = [d[:: 1 + len(d) // MOST_ROWS] for d in decisions]
    gaps = [np.abs(d) / max(float(np.median(np.abs(d))), 1e-12) for d in seen]

    def surprise(at: FloatArray) -> float:
        rate = 0.5 * float(expit(at[0]))
        found = -PRIOR[0] * np.log(rate) - PRIOR[1] * np.log(1 - rate)
        for d, gap, more, (a, b) in zip(seen, gaps, planted, at[1:].reshape(-1, 2), strict=True):
            wrong = rate + more * (1 - rate * classes / (classes - 1))
            right = expit(np.exp(a) * gap + b)
            agrees = np.clip((1 - wrong) * right + wrong * (1 - right) / (classes - 1), 1e-9, 1 - 1e-9)
            found -= (np.log(np.where(d > 0, agrees, 1 - agrees)).sum() - b**2 / 2) / len(seen)
        return float(found)

    starts = [np.array([first] + [0.5, 0.0] * len(seen)) for first in (-3.0, -1.0)]
    ends = [minimize(surprise, start, method="L-BFGS-B") for start in starts]
    return 0.5 * float(expit(min(ends, key=lambda end: end.fun).x[0]))
