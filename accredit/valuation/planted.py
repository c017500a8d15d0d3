r"""Evidence from flips that we planted: which score finds them, how many labels are wrong, and how right a list of suspects is.

Nobody knows the wrong labels of the data, but labels that we flip ourselves are known. Three things are learned from them.

- Which score ranks the planted rows lowest.
- How many labels are wrong. Count the disagreements among the *most decided* rows, those whose out-of-fold prediction is
  furthest from a tie. Their share rises by more than the planted share, since wrong labels mislead predictions too. Divided
  by that slope, averaged with the usual one, the share in the data as given estimates the rate π.
- How right a list is. When a share ρ more is planted, errors grow from π to π₁ = π + ρ(1 − π), so a list grown in proportion,
  of which a share q is planted, has about the precision

$$\text{precision}(K) \approx q\big(K \pi_1/\pi\big)\,\pi_1/\rho .$$

The rate rests on two assumptions: wrong labels occur like planted ones, at random, and the most decided rows would hardly ever
disagree with right labels. Data cannot prove either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import BoolArray, FloatArray, IntArray

PLANTED = 0.1  # share of rows that are flipped for evidence
DECIDED = (0.12, 0.3, 1.0)  # shares of rows, the most decided ones, whose disagreements may be counted
CLEAR = 0.2  # disagreements among all rows, above which the data are not clear
SLOPES = (1.0, 2.5)  # what is believed of a measured slope
USUAL = 1.8  # slope on other texts, which counts like the smallest share of rows beside a measured one
SHORTEST = 0.05  # share of rows; the precision of shorter lists cannot be told from that of one as long as this
CONFIDENCE = 1.645  # standard errors on either side, for an interval of 90 %


@dataclass(frozen=True, eq=False)
class Trial:
    """One planting: which rows were flipped, and what was seen then."""

    flipped: BoolArray  # (N,)
    score: FloatArray  # (N,), lower is more suspect
    decisions: FloatArray  # (N,), of the out-of-fold models: how far from a tie, negative where they disagree


def planted(y: IntArray, classes: int, seed: int) -> tuple[IntArray, BoolArray]:
    """Labels of which a tenth is moved to another class at random, and which they are.

    >>> labels, flipped = planted(np.zeros(20, dtype=int), 3, seed=0)
    >>> int(flipped.sum()), bool((labels[flipped] > 0).all())
    (2, True)
    """
    rng = np.random.default_rng(seed)
    flipped = np.zeros(len(y), dtype=bool)
    flipped[rng.permutation(len(y))[: max(1, round(PLANTED * len(y)))]] = True
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


def error_rate(decisions: FloatArray, trials: list[Trial]) -> tuple[float, float, float]:
    """The estimated share of wrong labels, and an interval for the number of decided rows that were counted."""
    part = decided(decisions)
    share = disagreement(decisions, part)
    rises = [(disagreement(t.decisions, part) - share) / (PLANTED * (1 - share)) for t in trials]
    measured = float(np.clip(np.mean(rises), *SLOPES))
    slope = (DECIDED[0] * USUAL + part * measured) / (DECIDED[0] + part)
    counted = max(1, round(part * len(decisions)))
    middle = (share * counted + 1) / (counted + 2)  # so that no disagreement at all is not taken for certainty
    half = CONFIDENCE * float(np.sqrt(middle * (1 - middle) / counted))
    return share / slope, max(0.0, middle - half) / slope, min(0.5, (middle + half) / slope)


def expected_precision(size: IntArray, rate: float, trials: list[Trial]) -> FloatArray:
    """Of the `size` most suspect rows, the share whose label is wrong if a share `rate` is: sizes (k,) -> (k,)."""
    if rate <= 0:
        return np.zeros(len(size))
    after = rate + PLANTED * (1 - rate)
    by_rank = np.mean([trial.flipped[np.argsort(trial.score, kind="stable")] for trial in trials], axis=0)  # (N,)
    among = np.cumsum(by_rank)
    counted = np.maximum(size, round(SHORTEST * len(among)))
    grown = np.clip(np.round(counted * after / rate).astype(np.int64), 1, len(among))
    return np.asarray(np.clip(among[grown - 1] / grown * after / PLANTED, 0.0, 1.0))
