"""One row after another through an explainer that is prepared: CPU seconds beside shap's TreeExplainer.

    python -m benchmarks.one_row [--quick]

Needs the extra [bench]. One thread. Both explainers are made once, with a background of 100 rows, for 200 trees of depth 5 on
the 30 columns of scikit-learn's breast cancer data, and asked about one row at a time. Making them and their first calls, in
which ours builds its tables, are counted apart. Rounds of ours and of shap's alternate, and the least round of each counts. The
last line is one JSON object, for xgboost and for a random forest:

* `over_shap`: our CPU seconds per row over shap's.
* `seconds`, `seconds_shap`: CPU seconds per row.
* `seconds_prepare`, `seconds_prepare_shap`: CPU seconds until the third row is answered.
* `agreement`: the largest difference from shap's values. scikit-learn rounds rows to single precision before it compares them,
  and ours with it; shap does not, so that a value on a threshold may take another branch there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from accredit import Explainer
from accredit.core import FloatArray
from benchmarks.record import record

TREES, DEPTH, BACKGROUND = 200, 5, 100
FIRST = 3  # rows until everything is prepared


def models(x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Both models, fitted."""
    return {
        "xgboost": XGBClassifier(n_estimators=TREES, max_depth=DEPTH, n_jobs=1).fit(x, y),
        "forest": RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0, n_jobs=1).fit(x, y),
    }


def seconds(ask: Callable[[FloatArray], Any], rows: FloatArray) -> float:
    """CPU seconds per row of a round."""
    began = time.process_time()
    for k in range(len(rows)):
        ask(rows[k : k + 1])
    return (time.process_time() - began) / len(rows)


def measured(model: Any, x: FloatArray, rounds: int) -> dict[str, float]:
    """Seconds of both on one model, and how far they are apart."""
    background, first, rows = x[:BACKGROUND], x[BACKGROUND : BACKGROUND + FIRST], x[-20:]

    def peer() -> Callable[[FloatArray], Any]:
        explainer = shap.TreeExplainer(model, background)
        return lambda row: explainer(row, check_additivity=False)

    began = time.process_time()
    ours = Explainer(model, background=background)
    seconds(ours, first)
    prepared = time.process_time()
    theirs = peer()
    seconds(theirs, first)
    prepared_peer = time.process_time()
    times = [(seconds(ours, rows), seconds(theirs, rows)) for _ in range(rounds)]
    own, other = (min(each) for each in zip(*times, strict=True))
    values = theirs(rows).values
    values = values[..., 1] if values.ndim == 3 else values
    return {
        "over_shap": own / other,
        "seconds": own,
        "seconds_shap": other,
        "seconds_prepare": prepared - began,
        "seconds_prepare_shap": prepared_peer - prepared,
        "agreement": float(np.abs(ours(rows).credit[..., 1] - values).max()),
    }


def main() -> None:
    """Measure both models, print a table, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three rounds instead of fifteen")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    x, y = load_breast_cancer(return_X_y=True)
    result: dict[str, dict[str, float]] = {}
    for name, model in models(x, y).items():
        found = measured(model, x, 3 if options.quick else 15)
        print(f"{name:>8}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()), flush=True)
        for key, value in found.items():
            result.setdefault(key, {})[name] = float(f"{value:.3g}")
    record(result)


if __name__ == "__main__":
    main()
