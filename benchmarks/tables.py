"""Exact values of tree ensembles: CPU seconds beside shap's TreeExplainer, woodelf and xgboost's own contributions.

    python -m benchmarks.tables [--quick] [--large] [--machines]

Needs the extra [bench]. One thread, process CPU seconds, the least of several repeats, every peer in the same run on the same
model: xgboost with 100 trees on 12 columns, 1,000 rows to explain. Reading the model is left out for everybody, building tables
is counted. The last line is one JSON object of ratios, a peer's seconds over ours, by depth:

* `cover_shap`, `cover_xgboost`, `cover_woodelf`: cover ratios.
* `background_100_shap`, `background_100_woodelf`: a background of 100 rows. shap is measured on fewer rows and scaled.
* `background_2000_shap`, `background_2000_woodelf`: a background of 2,000 rows in full. shap thins a background to 100 rows;
  its time for 100 is multiplied by 20, because it compares each row with each background row.
* `unpruned_shap`, `additivity_unpruned`, `additivity_unpruned_shap`: forests grown to purity on 1,000 sparse rows; the largest
  difference between credit plus base and the prediction.
* `unpruned_background_shap`: the same forest, and one on 1,000 rows of 12 columns, with a background of 100 rows, the most that
  shap uses in full.
* `agreement`: the largest difference from shap on cover ratios.
* `machine_seconds`, `machine_pairs_seconds`, `machine_game`, `machine_shap`, `machine_shap_error`, `machine_additivity` (with
  --machines, which leaves trees out): a support vector regression of 30 columns and 352 vectors, 100 background rows. Our CPU
  seconds per row, alone and with the interactions of all pairs; how many times longer our own estimate from 2,000 coalitions
  and shap's KernelExplainer with 2,000 samples take; shap's error relative to the largest credit; how far base and credit
  are from the prediction.
* `large_seconds`, `large_mb` (with --large): 100,000 rows against a background of 10,000, 100 trees of depth 6.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import shap
import xgboost
from sklearn.ensemble import RandomForestRegressor
from sklearn.svm import SVR

from accredit import shapley
from accredit.core import FloatArray
from accredit.rows import tabular_game
from accredit.trees import Forest, forest_of, tree_credit
from accredit.trees.closed_form import ClosedForm
from accredit.values import Surrogate
from benchmarks.record import record

DEPTHS = (3, 6, 8)
COLUMNS, TREES, ROWS = 12, 100, 1000


def data(rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Rows in single precision, as xgboost reads them, and a target with interactions."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COLUMNS)).astype(np.float32).astype(np.float64)
    y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] * (x[:, 4] > 0) + 0.3 * x[:, 5:].sum(axis=1)
    return x, y + 0.3 * rng.normal(size=rows)


def least(run: Callable[[], Any], repeats: int) -> float:
    """Least CPU seconds of a call, after one call to warm up."""
    run()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def quietly(run: Callable[[], Any]) -> Any:
    """A call without what it prints."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        return run()


def boosted(depth: int) -> tuple[xgboost.Booster, Forest]:
    """A model of 100 trees of one depth, and its forest."""
    x, y = data(10_000)
    settings = {"max_depth": depth, "eta": 0.1, "nthread": 1, "min_child_weight": 0, "lambda": 0.1}
    booster = xgboost.train(settings, xgboost.DMatrix(x, y), TREES)
    return booster, forest_of(booster)


def compared(depth: int, repeats: int) -> dict[str, float]:
    """Seconds of everybody on one model."""
    from woodelf import WoodelfExplainer

    booster, forest = boosted(depth)
    x, rows = data(4000, seed=1)[0], data(ROWS, seed=2)[0]
    small, full = x[:100], x[:2000]
    few, frame = rows[:50], pandas.DataFrame(rows, columns=[f"f{i}" for i in range(COLUMNS)])
    explainer = shap.TreeExplainer(booster, feature_perturbation="tree_path_dependent")
    against = shap.TreeExplainer(booster, small, feature_perturbation="interventional")
    matrix = xgboost.DMatrix(rows)

    def wood(background: FloatArray | None) -> Callable[[], Any]:
        table = None if background is None else pandas.DataFrame(background, columns=frame.columns)
        return lambda: quietly(lambda: WoodelfExplainer(booster, table).shap_values(frame))

    ours = tree_credit(forest, rows)
    theirs = explainer.shap_values(rows, check_additivity=False)
    seconds = {
        "cover": least(lambda: tree_credit(forest, rows), repeats),
        "cover shap": least(lambda: explainer.shap_values(rows, check_additivity=False), repeats),
        "cover xgboost": least(lambda: booster.predict(matrix, pred_contribs=True), repeats),
        "cover woodelf": least(wood(None), 1),
        "100": least(lambda: tree_credit(forest, rows, small), repeats),
        "100 shap": least(lambda: against.shap_values(few, check_additivity=False), repeats) * len(rows) / len(few),
        "100 woodelf": least(wood(small), 1),
        "2000": least(lambda: tree_credit(forest, rows, full), repeats),
        "2000 woodelf": least(wood(full), 1),
    }
    return {
        "depth": depth,
        "leaves": int((forest.feature < 0).sum()),
        **seconds,
        "2000 shap": seconds["100 shap"] * 20,
        "agreement": float(np.abs(ours.credit[..., 0] - theirs).max()),
    }


def sparse_data() -> tuple[FloatArray, FloatArray]:
    """1,000 rows of 200 columns with few ones in them: trees grown on it are deep."""
    rng = np.random.default_rng(0)
    x = (rng.random((1000, 200)) < 0.03).astype(np.float64)
    return x, x @ rng.normal(size=200) + rng.normal(size=1000)


def unpruned(x: FloatArray, y: FloatArray, rows: int, background: FloatArray | None) -> dict[str, float]:
    """A forest grown to purity: seconds, and how far credit is from the prediction."""
    model = RandomForestRegressor(100, random_state=0, n_jobs=1).fit(x, y)
    forest = forest_of(model)
    way = "tree_path_dependent" if background is None else "interventional"
    explainer = shap.TreeExplainer(model, background, feature_perturbation=way)
    said, some = model.predict(x[:rows]), x[:rows]
    ours, theirs = tree_credit(forest, some, background), explainer.shap_values(some, check_additivity=False)
    return {
        "columns": x.shape[1],
        "depth": max(t.get_depth() for t in model.estimators_),
        "rows": rows,
        "background": 0 if background is None else len(background),
        "ours": least(lambda: tree_credit(forest, some, background), 1),
        "shap": least(lambda: explainer.shap_values(some, check_additivity=False), 1),
        "error": float(np.abs(ours.credit.sum(axis=1)[:, 0] + ours.base[0] - said).max()),
        "shap error": float(np.abs(theirs.sum(axis=1) + explainer.expected_value - said).max()),
    }


def machine(repeats: int) -> dict[str, float]:
    """A support vector regression: exact credit beside our estimate and shap's."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 30))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=1000)
    model = SVR(epsilon=0.0).fit(x[:352], y[:352])
    rows, background = x[400:420], x[-100:]
    alone, paired = ClosedForm(model, background), ClosedForm(model, background, interactions=True)
    got = alone.share(rows)
    theirs = shap.KernelExplainer(model.predict, background)
    guess = quietly(lambda: theirs.shap_values(rows[:1], nsamples=2000, silent=True))
    game = tabular_game(model, rows[0], background)
    return {
        "vectors": len(model.support_vectors_),
        "ours": least(lambda: alone.share(rows), repeats) / len(rows),
        "with pairs": least(lambda: paired.share(rows[:4]), repeats) / 4,
        "game": least(lambda: shapley(game, Surrogate(2000, 0)), 1),
        "shap": least(lambda: quietly(lambda: theirs.shap_values(rows[:1], nsamples=2000, silent=True)), 1),
        "shap error": float(np.abs(guess[0] - got.credit[0, :, 0]).max() / np.abs(got.credit[0]).max()),
        "additivity": float(np.abs(got.credit.sum(axis=1)[:, 0] + got.base - model.predict(rows)).max()),
    }


def large() -> dict[str, float]:
    """100,000 rows against a background of 10,000."""
    _, forest = boosted(6)
    rows, background = data(100_000, seed=3)[0], data(10_000, seed=4)[0]
    began = time.process_time()
    got = tree_credit(forest, rows, background)
    seconds = time.process_time() - began
    error = np.abs(got.credit.sum(axis=1) + got.base - forest.margin(forest.matrix(rows))).max()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak_mb": peak, "error": float(error)}


def main() -> None:
    """Run everything and print tables, then one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repeat, depths 3 and 6")
    parser.add_argument("--large", action="store_true", help="also 100,000 rows against 10,000")
    parser.add_argument("--machines", action="store_true", help="a kernel machine instead of trees")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.machines:
        run = machine(1 if options.quick else 3)
        show("a support vector regression of 30 columns, 100 background rows, CPU seconds per row", [run])
        record(
            {
                "machine_seconds": round(run["ours"], 4),
                "machine_pairs_seconds": round(run["with pairs"], 4),
                "machine_game": round(run["game"] / run["ours"], 1),
                "machine_shap": round(run["shap"] / run["ours"], 1),
                "machine_shap_error": round(run["shap error"], 4),
                "machine_additivity": run["additivity"],
            }
        )
        return
    runs = [compared(depth, 1 if options.quick else 3) for depth in (DEPTHS[:2] if options.quick else DEPTHS)]
    show("CPU seconds, 1,000 rows, 100 trees of 12 columns", runs)
    (x, y), (dense, target), some = sparse_data(), data(1000), 4 if options.quick else 20
    deep = unpruned(x, y, some, None)
    against = [unpruned(x, y, some, x[500:600]), unpruned(dense, target, some, dense[500:600])]
    show("unpruned forests of 100 trees on 1,000 rows", [deep, *against])
    result: dict[str, Any] = {
        "unpruned_shap": round(deep["shap"] / deep["ours"], 2),
        "unpruned_depth": deep["depth"],
        "unpruned_background_shap": {str(run["columns"]): round(run["shap"] / run["ours"], 2) for run in against},
        "additivity_unpruned": max(run["error"] for run in (deep, *against)),
        "additivity_unpruned_shap": deep["shap error"],
        "agreement": max(run["agreement"] for run in runs),
    }
    for work, name in (("cover", "cover"), ("100", "background_100"), ("2000", "background_2000")):
        for peer in ("shap", "woodelf", "xgboost"):
            if f"{work} {peer}" in runs[0]:
                ratios = {str(run["depth"]): round(run[f"{work} {peer}"] / run[work], 2) for run in runs}
                result[f"{name}_{peer}"] = ratios
    if options.large:
        whole = large()
        show("100,000 rows against a background of 10,000, depth 6", [whole])
        result |= {"large_seconds": round(whole["seconds"], 1), "large_mb": round(whole["peak_mb"])}
    record(result)


def show(title: str, rows: list[dict[str, float]]) -> None:
    """A small table."""
    print(title)
    print("  " + "".join(f"{name:>15}" for name in rows[0]))
    for row in rows:
        print("  " + "".join(f"{value:>15.4g}" for value in row.values()))


if __name__ == "__main__":
    main()
