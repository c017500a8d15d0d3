"""Exact values of tree ensembles by shap, shapiq and woodelf. Runs in their environments.

A boosted model comes as xgboost's JSON; a forest is grown here again from the same rows and seed. Predictions go back to be
compared.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
from side import serve, timed


def _model(file: str | None, forest: dict[str, Any] | None, x: Any, y: Any) -> Any:
    if file is not None:
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(file)
        booster.set_param({"nthread": 1})
        return booster
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(**(forest or {}), n_jobs=1).fit(x, y)


def _predicted(model: Any, rows: Any) -> Any:
    if hasattr(model, "get_dump"):
        import xgboost

        return np.asarray(model.predict(xgboost.DMatrix(rows), output_margin=True), dtype=np.float64)
    return np.asarray(model.predict(rows), dtype=np.float64)


def shap_trees(rows: Any, repeats: int, file: str | None = None, forest: Any = None, x: Any = None, y: Any = None,
               background: Any = None) -> dict[str, Any]:  # fmt: skip
    """shap's TreeExplainer, prepared; a background makes it interventional."""
    import shap

    model = _model(file, forest, x, y)
    way = "tree_path_dependent" if background is None else "interventional"
    explainer = shap.TreeExplainer(model, background, feature_perturbation=way)
    explainer.shap_values(rows[:2], check_additivity=False)
    values, seconds = timed(lambda: explainer.shap_values(rows, check_additivity=False), repeats)
    return {"values": np.asarray(values, dtype=np.float64), "predicted": _predicted(model, rows), "cpu": seconds}


def shapiq_trees(rows: Any, repeats: int, order: int = 1, file: str | None = None, forest: Any = None, x: Any = None,
                 y: Any = None) -> dict[str, Any]:  # fmt: skip
    """shapiq's tree explainer by cover ratios, row by row: values, or pairs as it orders them."""
    import shapiq

    model = _model(file, forest, x, y)
    explainer = shapiq.TreeExplainer(model, max_order=order, index="SV" if order == 1 else "k-SII")
    explainer.explain(rows[0])
    found, seconds = timed(lambda: [explainer.explain(row) for row in rows], repeats)
    n = rows.shape[1]
    values = np.array([[one[(i,)] for i in range(n)] for one in found], dtype=np.float64)
    return {"values": values, "predicted": _predicted(model, rows), "cpu": seconds}


def woodelf_trees(rows: Any, repeats: int, file: str | None = None, forest: Any = None, x: Any = None, y: Any = None,
                  background: Any = None) -> dict[str, Any]:  # fmt: skip
    """woodelf, which prepares anew at each call."""
    import pandas
    from woodelf import WoodelfExplainer

    model = _model(file, forest, x, y)
    names = [f"f{i}" for i in range(rows.shape[1])]
    frame = pandas.DataFrame(rows, columns=names)
    table = None if background is None else pandas.DataFrame(background, columns=names)

    def run() -> Any:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            return WoodelfExplainer(model, table).shap_values(frame)

    run()
    values, seconds = timed(run, repeats)
    return {"values": np.asarray(values, dtype=np.float64), "predicted": _predicted(model, rows), "cpu": seconds}


if __name__ == "__main__":
    serve({"shap_trees": shap_trees, "shapiq_trees": shapiq_trees, "woodelf_trees": woodelf_trees})
