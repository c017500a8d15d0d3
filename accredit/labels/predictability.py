"""Do the features say anything about the labels? Where they do not, nobody is accused, by whatever method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from accredit.checks import needs
from accredit.core import IntArray
from accredit.core.threads import one_thread
from accredit.labels.out_of_fold import out_of_fold
from accredit.labels.scores import View

CHANCE_OF_ALARM = 0.00135  # of predicting so many labels by the largest class alone, that of three standard errors
ROWS_NEEDED = 10  # rows
ROWS_ENOUGH = 20_000  # rows that are enough to tell
VOTING_NEIGHBOURS = 5


@dataclass(frozen=True)
class Foretold:
    """How many labels are predicted from the other rows, beside what the largest class alone would do."""

    agreement: float
    majority: float
    rows: int

    @property
    def needed(self) -> float:
        """The least agreement that the largest class alone would reach with a chance of 0.00135 only; above 1 where even
        predicting every label would not tell more."""
        from scipy.stats import binom

        errors = int(binom.ppf(CHANCE_OF_ALARM, self.rows, 1 - self.majority))  # the fewest that are not too unlikely
        return 1 - (errors - 1) / self.rows

    @property
    def refusal(self) -> str:
        """Why nobody may be accused; empty where somebody may be.

        >>> Foretold(0.27, 0.26, 1000).refusal[:53]
        'from these features 27.0% of the labels are predicted'
        >>> Foretold(0.9, 0.26, 1000).refusal
        ''
        >>> Foretold(1.0, 0.98, 400).refusal, Foretold(1.0, 0.99, 400).refusal[:28]
        ('', '99.0% of the 400 rows are of')
        """
        if self.rows < ROWS_NEEDED:
            return f"{self.rows} rows of classes with two rows or more are too few to tell what is usual"
        if self.agreement >= self.needed - 1e-9:
            return ""
        if self.needed > 1:
            return f"{self.majority:.1%} of the {self.rows} rows are of one class, and the others are too few to learn from"
        return (
            f"from these features {self.agreement:.1%} of the labels are predicted, and the largest class alone has "
            f"{self.majority:.1%}; {self.needed:.1%} would be needed. Give features that tell the classes apart"
        )


def predict_share(x: View, y: IntArray, seed: int = 0) -> Foretold:
    """Predict each label from the other rows, by linear and kernel models and by nearest neighbours, and keep the best.

    Beyond 20,000 rows a sample of them is judged. Rows whose class has no other row are left out.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(100) % 2
    >>> predict_share(rng.normal(size=(100, 2)) + 5 * y[:, None], y).agreement > 0.95
    True
    """
    with needs("data", "judging features"):
        from sklearn.model_selection import cross_val_predict
        from sklearn.neighbors import KNeighborsClassifier
    rows = np.flatnonzero(np.bincount(y)[y] > 1)
    if len(rows) > ROWS_ENOUGH:
        rows = np.sort(np.random.default_rng(seed).permutation(rows)[:ROWS_ENOUGH])
        rows = rows[np.bincount(y[rows], minlength=int(y.max()) + 1)[y[rows]] > 1]
    classes, codes = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        return Foretold(0.0, 1.0, len(rows))
    x = x[rows]
    folds = min(5, int(np.bincount(codes).min()))
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # many classes of few rows are no reason to take them for numbers
        answers = [logs.argmax(axis=1) for logs in out_of_fold(x, codes, seed).values()]
        answers.append(cross_val_predict(KNeighborsClassifier(min(VOTING_NEIGHBOURS, len(rows) // 2)), x, codes, cv=folds))
    agreement = max(float((answer == codes).mean()) for answer in answers)
    return Foretold(agreement, float(np.bincount(codes).max() / len(codes)), len(codes))
