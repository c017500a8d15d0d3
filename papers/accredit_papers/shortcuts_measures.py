"""What a mask gives away: a probe that sees nothing else, swapped words, and the loss in a world where masks say nothing."""

from __future__ import annotations

import numpy as np

from accredit.checks import needs
from accredit.checks.numbers import IntArray
from accredit.core import FloatArray

GRAIN = 0.05  # masks are rounded to this: finer ratios are there for trees to read, but no head uses them
LEAST_CHANCE = 0.02  # P(y|m) that a neutral weight assumes at least


def mask_probe(masks: FloatArray, labels: IntArray, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """P(Y|M) by boosted trees that see rounded masks (N, T) alone: fitted on a random half, predicting the other.

    Returns the probabilities (N/2, classes) and the rows they are for. Seconds for 25,000 rows of nine numbers. The probe
    of `audit.leakage` asks the same of any masks, some of them few, and so grows smaller trees with smaller leaves; here
    the library's own settings stay, because they are part of how the committed figures were measured.
    """
    with needs("data", "the probe of masks"):
        from sklearn.ensemble import HistGradientBoostingClassifier
    order = np.random.default_rng(seed).permutation(len(masks))
    fitted, unseen = order[: len(order) // 2], order[len(order) // 2 :]
    rounded = np.round(masks / GRAIN) * GRAIN
    trees = HistGradientBoostingClassifier(random_state=seed).fit(rounded[fitted], labels[fitted])
    return trees.predict_proba(rounded[unseen]), unseen


def probe_accuracy(masks: FloatArray, labels: IntArray, seed: int = 0) -> float:
    """How often the mask alone gives the label of rows that the probe has not seen."""
    likely, rows = mask_probe(masks, labels, seed)
    return float((likely.argmax(axis=1) == labels[rows]).mean())


def neutral_loss(masks: FloatArray, labels: IntArray, losses: FloatArray, seed: int = 0) -> float:
    r"""The loss where masks say nothing: $\sum w L / \sum w$ with $w = P(y)/P(y \mid m)$ from a fresh probe.

    For two classes, ln 2 = 0.693 and above say that without the mask's hint the answers are worth nothing. It is taken
    on the rows the probe was not fitted on.
    """
    likely, rows = mask_probe(masks, labels, seed)
    prior = np.bincount(labels) / len(labels)
    own = likely[np.arange(len(rows)), labels[rows]]
    weights = prior[labels[rows]] / np.maximum(own, LEAST_CHANCE)
    return float((weights * losses[rows]).sum() / weights.sum())
