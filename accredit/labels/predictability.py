"""Do the features say anything about the labels? Where they do not, nobody is accused, by whatever method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from accredit.checks import needs
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.threads import one_thread
from accredit.labels.out_of_fold import out_of_fold, pool, pool_shares, rotate
from accredit.labels.row_views import View

STANDARD_ERRORS = 3.0  # above nothing that the gain of log probability must be
CHANCE_OF_ALARM = 0.00135  # that the rows of some class are found so well by chance, that of three standard errors
PARTS_OF_A_CLASS = (1, 2, 4, 8)  # of the rows of a class, the first 1/part of as many scores are looked at
ROWS_NEEDED = 10  # rows
ROWS_ENOUGH = 20_000  # rows that are enough to tell


@dataclass(frozen=True)
class Skill:
    """How much better the labels are predicted from the other rows than by how frequent the classes are.

    The share of right answers cannot say it: it hardly rises where one class has nearly all rows. The gain is one of log
    probability, a proper score. Even a class of very few rows, or one full of wrong labels, shows in order: of the rows that
    look most like it, as many as it has or an eighth of that, more are of it than chance would bring, or its rows look more
    like it than others.
    """

    gain: float  # in log probability, mean over rows
    stderr: float
    agreement: float  # share of rows whose label is the likeliest class
    majority: float  # share of the largest class
    rows: int
    by_chance: float = 1.0  # the chance of finding the rows of some class as well as they are found

    @property
    def refusal(self) -> str:
        """Why nobody may be accused; empty where somebody may be.

        >>> Skill(0.001, 0.01, 0.27, 0.26, 1000).refusal[:52]
        'from these features the labels are predicted no bett'
        >>> Skill(0.9, 0.02, 0.9, 0.26, 1000).refusal
        ''
        """
        if self.rows < ROWS_NEEDED:
            return f"{self.rows} rows of classes with two rows or more are too few to tell what is usual"
        if self.gain > STANDARD_ERRORS * self.stderr or self.by_chance < CHANCE_OF_ALARM:
            return ""
        return (
            "from these features the labels are predicted no better than by how frequent the classes are "
            f"({self.agreement:.1%} right, largest class {self.majority:.1%}; log probability gains {self.gain:.3f}, and "
            f"{STANDARD_ERRORS * self.stderr:.3f} would be needed). Give features that tell the classes apart"
        )


def skill(logs: FloatArray, y: IntArray) -> Skill:
    """How well out-of-fold log probabilities (N, C) predict labels.

    >>> round(skill(np.log([[0.9, 0.1]] * 50 + [[0.1, 0.9]] * 50), np.repeat([0, 1], 50)).gain, 2)
    0.59
    """
    count = np.bincount(y, minlength=logs.shape[1])
    frequent = count / len(y)
    tests = (1 + len(PARTS_OF_A_CLASS)) * int((count > 0).sum())
    gain = logs[np.arange(len(y)), y] - np.log(frequent[y])
    return Skill(
        float(gain.mean()),
        float(gain.std(ddof=1) / np.sqrt(len(y))),
        float((logs.argmax(axis=1) == y).mean()),
        float(frequent.max()),
        len(y),
        min(1.0, tests * min(_order_by_chance(logs[:, k], y == k) for k in np.flatnonzero(count))),
    )


def _order_by_chance(score: FloatArray, inside: BoolArray) -> float:
    """The chance of the likelier of two signs that rows inside have high scores: among the highest, and by all ranks (the test
    of Mann and Whitney)."""
    from scipy.stats import mannwhitneyu

    if inside.all():
        return 1.0
    ranks = mannwhitneyu(score[inside], score[~inside], alternative="greater", method="asymptotic").pvalue
    return min(float(ranks), *(_hit_by_chance(score, inside, part) for part in PARTS_OF_A_CLASS))


def _hit_by_chance(score: FloatArray, inside: BoolArray, part: int) -> float:
    """The chance of as many rows inside among the highest scores, 1/`part` of as many as there are rows inside
    (hypergeometric). Of rows that tie for the last places, those inside get their share."""
    from scipy.stats import hypergeom

    rows, size = len(score), int(inside.sum())
    first = -(-size // part)
    last = np.partition(score, rows - first)[rows - first]
    above, tied = score > last, score == last
    hits = int(inside[above].sum() + np.floor(inside[tied].mean() * (first - above.sum())))
    return float(hypergeom.sf(hits - 1, rows, size, first))


def predict_skill(x: View, y: IntArray, seed: int = 0) -> Skill:
    """Predict each label from the other rows, by linear and kernel models and by nearest neighbours together.

    Beyond 20,000 rows a sample of them is judged. Rows whose class has no other row are left out.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(100) % 2
    >>> predict_skill(rng.normal(size=(100, 2)) + 5 * y[:, None], y).agreement > 0.95
    True
    """
    with needs("data", "judging features"):
        import sklearn  # noqa: F401
    rows = np.flatnonzero(np.bincount(y)[y] > 1)
    if len(rows) > ROWS_ENOUGH:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:ROWS_ENOUGH])
        rows = rows[np.bincount(y[rows], minlength=int(y.max()) + 1)[y[rows]] > 1]
    classes, codes = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        return Skill(0.0, 0.0, 0.0, 1.0, len(rows))
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # many classes of few rows are no reason to take them for numbers
        logs = list(out_of_fold(rotate(x[rows]), codes, seed).values())
    return skill(pool(logs, pool_shares(logs, codes)), codes)
