"""Wrong labels by cleanlab and nearest-neighbour values by pyDVL. Runs in their environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from side import serve, timed


def cleanlab_lists(y: Any, **answers: Any) -> dict[str, Any]:
    """The rows that are listed, and the quality of each label, for out-of-fold probabilities of one model or several."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    found: dict[str, Any] = {}
    for name, probability in answers.items():
        found[f"{name}.listed"] = find_label_issues(y, probability, return_indices_ranked_by="self_confidence")
        found[f"{name}.quality"] = get_label_quality_scores(y, probability)
    return found


def pydvl_knn(k: int, x: Any, y: Any, test: Any, test_y: Any) -> dict[str, Any]:
    """KNN-Shapley values of rows."""
    from pydvl.valuation import Dataset, KNNShapleyValuation
    from sklearn.neighbors import KNeighborsClassifier

    train, judged = Dataset(x, y), Dataset(test, test_y)

    def run() -> Any:
        valuation = KNNShapleyValuation(KNeighborsClassifier(n_neighbors=k), judged, progress=False)
        valuation.fit(train)
        return valuation

    valuation, seconds = timed(run, 3)
    result = valuation.values() if callable(getattr(valuation, "values", None)) else valuation.result
    values = dict(zip((int(i) for i in result.indices), (float(v) for v in result.values), strict=True))
    return {"values": np.array([values[i] for i in range(len(x))]), "cpu": seconds}


if __name__ == "__main__":
    serve({"cleanlab_lists": cleanlab_lists, "pydvl_knn": pydvl_knn})
