"""A small real table and a model of it, so that a first try needs no data: progression of diabetes in 442 patients.

The rows are those that scikit-learn ships (Efron, Hastie, Johnstone and Tibshirani, 2004), in their own units.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from accredit.checks import needs

if TYPE_CHECKING:
    import pandas
    from sklearn.ensemble import HistGradientBoostingRegressor

NAMES = {
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}


@cache
def builtin_table() -> tuple[HistGradientBoostingRegressor, pandas.DataFrame, pandas.DataFrame]:
    """A model of disease progression after a year, rows that it was not fitted on, and its training rows as background."""
    with needs("data", "the built-in table"):
        from sklearn.datasets import load_diabetes
        from sklearn.ensemble import HistGradientBoostingRegressor
    data = load_diabetes(as_frame=True, scaled=False)
    frame = data.data.rename(columns=NAMES)
    model = HistGradientBoostingRegressor(max_iter=60, max_depth=4, learning_rate=0.08, random_state=0)
    return model.fit(frame[:342], data.target[:342]), frame[342:].reset_index(drop=True), frame[:342]
