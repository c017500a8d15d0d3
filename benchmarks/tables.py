"""Exact values of tree ensembles: CPU seconds beside shap's and shapiq's tree explainers, woodelf and xgboost's contributions.

    python -m benchmarks.tables [--quick] [--large] [--only cover|background] [--machines]

Needs shap, shapiq, woodelf-explainer, xgboost, scikit-learn and the project itself, but not its extra [text]: the newest shap
and shapiq need Python 3.12 or later. One thread, process CPU seconds, the least of several repeats, every peer in the same run
on the same model: xgboost with 100 trees on 12 columns. Reading the model and the background is left out for everybody.
`first` is our first call, `served` a later one of the same explainer, after 1,000 rows, which keeps tables if they pay.
The last line is one JSON object of ratios, a peer's seconds over ours, by depth and rows ("6_100": depth 6, 100 rows):

* `first_cover_PEER`, `served_cover_PEER`: cover ratios.
* `first_background_PEER`, `served_background_PEER`: a background of 100 rows, the most that shap uses in full. Peers explain
  row by row, so that their times for more than 100 rows (20 with a background) are scaled; woodelf is asked about 1,000.
* `answer_cover_PEER`, `answer_background_shap`: from a trained model to the credit of one row, reading included, by depth.
* `probability_over_shap`, `probability_half_width`: our seconds over shap's for credit in the probability of a boosted
  classifier of 30 columns, background of 100, where shap rescales credit in the score; and the largest half-width of our
  intervals. `probability_error_shap` is how far shap's values are from ours of many more orders.
* `unpruned_shap`, `additivity_unpruned`, `additivity_unpruned_shap`: forests grown to purity on 1,000 sparse rows; the largest
  difference between credit plus base and the prediction.
* `unpruned_background_shap`: the same forest, and one on 1,000 rows of 12 columns, with a background of 100 rows.
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
from functools import cache, partial
from typing import Any

import numpy as np
import pandas
import shap
import shapiq
import xgboost
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.svm import SVR

from accredit import Explainer, shapley
from accredit.core import FloatArray
from accredit.rows import tabular_game
from accredit.trees import Forest, forest_of, tree_credit
from accredit.trees.closed_form import ClosedForm
from accredit.trees.credit import TreeShares
from accredit.values import Surrogate
from benchmarks.record import record

DEPTHS, ROWS = (4, 6, 8, 10), (1, 100, 1000)
LARGE_ROWS = 100_000
COLUMNS, TREES = 12, 100
WOODELF_ROWS, WOODELF_DEPTH = 1000, 8  # beyond, woodelf takes minutes


def data(rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Rows in single precision, as xgboost reads them, and a target with interactions."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COLUMNS)).astype(np.float32).astype(np.float64)
    y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] * (x[:, 4] > 0) + 0.3 * x[:, 5:].sum(axis=1)
    return x, y + 0.3 * rng.normal(size=rows)


def least(run: Callable[[], Any], repeats: int) -> float:
    """Least CPU seconds of a call, after one call to warm up; of a single one without it."""
    if repeats > 1:
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


@cache
def boosted(depth: int) -> tuple[xgboost.Booster, Forest]:
    """A model of 100 trees of one depth, and its forest."""
    x, y = data(10_000)
    settings = {"max_depth": depth, "eta": 0.1, "nthread": 1, "min_child_weight": 0, "lambda": 0.1}
    booster = xgboost.train(settings, xgboost.DMatrix(x, y), TREES)
    return booster, forest_of(booster)


def peers(booster: xgboost.Booster, background: FloatArray | None) -> dict[str, Callable[[FloatArray], Any]]:
    """What explains rows, prepared, by peer."""
    way = "tree_path_dependent" if background is None else "interventional"
    explainer = shap.TreeExplainer(booster, background, feature_perturbation=way)
    found: dict[str, Callable[[FloatArray], Any]] = {"shap": lambda rows: explainer.shap_values(rows, check_additivity=False)}
    if background is None:
        found["xgboost"] = lambda rows: booster.predict(xgboost.DMatrix(rows), pred_contribs=True)
        quadrature = shapiq.TreeExplainer(booster, max_order=1, index="SV")
        found["shapiq"] = lambda rows: [quadrature.explain(row) for row in rows]
    return found


def wood(booster: xgboost.Booster, background: FloatArray | None, rows: FloatArray) -> Callable[[], Any]:
    from woodelf import WoodelfExplainer

    names = [f"f{i}" for i in range(COLUMNS)]
    frame = pandas.DataFrame(rows, columns=names)
    table = None if background is None else pandas.DataFrame(background, columns=names)
    return lambda: quietly(lambda: WoodelfExplainer(booster, table).shap_values(frame))


def served(shares: TreeShares, rows: FloatArray, repeats: int) -> float:
    """Seconds of a later call."""
    return least(lambda: shares.credit(rows), repeats)


def first(forest: Forest, background: FloatArray | None, rows: FloatArray, repeats: int) -> float:
    """Seconds of the first call of a prepared explainer."""
    fresh = [TreeShares(forest, background) for _ in range(repeats + (repeats > 1))]
    return least(lambda: fresh.pop().credit(rows), repeats)


def compared(depth: int, background: FloatArray | None, counts: tuple[int, ...]) -> tuple[list[dict[str, Any]], float]:
    """Seconds of everybody on one model, one row of the table per number of rows; and how far shap is from us."""
    booster, forest = boosted(depth)
    rows = data(max(counts), seed=2)[0]
    once, found = 100 if background is None else 20, []
    asked = peers(booster, background)
    theirs = asked["shap"](rows[:once])
    each = {name: least(partial(ask, rows[:once]), 2) / once for name, ask in asked.items()}
    shares = TreeShares(forest, background)
    shares.credit(rows[:1000])
    for count in counts:
        some, repeats = rows[:count], 3 if count <= 100 else 1
        line: dict[str, Any] = {"depth": depth, "rows": count, "first": first(forest, background, some, repeats)}
        if count < LARGE_ROWS:
            line["served"] = served(shares, some, repeats)
        for name, ask in asked.items():
            line[name] = least(partial(ask, some), 3) if count == 1 else each[name] * count
        if count == WOODELF_ROWS:
            line["woodelf"] = least(wood(booster, background, some), 1) if depth <= WOODELF_DEPTH else np.nan
        found.append(line)
    return found, float(np.abs(shares.credit(rows[:once]).credit[..., 0] - theirs).max())


def ratios(work: str, lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """A peer's seconds over ours, by peer and then by depth and rows."""
    made: dict[str, dict[str, float]] = {}
    for line in lines:
        for name in set(line) - {"depth", "rows", "first", "served"}:
            for ours in {"first", "served"} & set(line):
                if np.isfinite(line[name]):
                    place = made.setdefault(f"{ours}_{work}_{name}", {})
                    place[f"{line['depth']}_{line['rows']}"] = float(f"{line[name] / line[ours]:.3g}")
    return dict(sorted(made.items()))


def answers(work: str, background: FloatArray | None, depths: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """A peer's seconds from the model to the credit of one row, over ours, by peer and depth."""
    made: dict[str, dict[str, float]] = {}
    row, way = data(1, seed=2)[0], "tree_path_dependent" if background is None else "interventional"
    for depth in depths:
        booster = boosted(depth)[0]
        theirs = {"shap": lambda b=booster: shap.TreeExplainer(b, background, feature_perturbation=way).shap_values(row)}
        if background is None:
            theirs["xgboost"] = lambda b=booster: b.predict(xgboost.DMatrix(row), pred_contribs=True)
        ours = least(lambda b=booster: TreeShares(forest_of(b), background).credit(row), 3)
        for name, ask in theirs.items():
            made.setdefault(f"answer_{work}_{name}", {})[str(depth)] = float(f"{least(ask, 3) / ours:.3g}")
    return made


def probabilities() -> list[dict[str, Any]]:
    """Credit in the probability of classifiers of 30 columns: seconds per row, and how well it is known."""
    found, cancer = [], load_breast_cancer(return_X_y=True)
    mixed = make_classification(3000, 30, n_informative=12, flip_y=0.1, random_state=0)
    for name, (x, y), depth in (("cancer_4", cancer, 4), ("mixed_3", mixed, 3), ("mixed_4", mixed, 4), ("mixed_6", mixed, 6)):
        model = xgboost.XGBClassifier(n_estimators=TREES, max_depth=depth, n_jobs=1).fit(x[100:], y[100:])
        rows, background = x[:20], x[100:200]
        rescaled = shap.TreeExplainer(model, background, model_output="probability")
        ours = Explainer(model, background=background, payoff="probability")
        many = Explainer(model, background=background, payoff="probability", budget=200 * 2 * 29, seed=1)
        nearly = many(rows[:3]).credit[..., 1]
        said = ours(rows)
        found.append(
            {
                "model": name,
                "shap": least(lambda rows=rows, ask=rescaled: ask.shap_values(rows), 3) / len(rows),
                "ours": least(lambda rows=rows, ask=ours: ask(rows), 3) / len(rows),
                "half width": float(np.diff(said.interval, axis=-1).max() / 2),
                "shap error": float(np.abs(rescaled.shap_values(rows[:3]) - nearly).max()),
            }
        )
    return found


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
        "ours": least(lambda: tree_credit(forest, some, background), 2),
        "shap": least(lambda: explainer.shap_values(some, check_additivity=False), 2),
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
    parser.add_argument("--quick", action="store_true", help="depths 4 and 6 only")
    parser.add_argument("--large", action="store_true", help="also 100,000 rows, and these against a background of 10,000")
    parser.add_argument("--only", choices=("cover", "background"), help="nothing but boosted trees in one of the two ways")
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
    depths, small = DEPTHS[:2] if options.quick else DEPTHS, data(4000, seed=1)[0][:100]
    counts = (*ROWS, LARGE_ROWS) if options.large else ROWS
    result: dict[str, Any] = {"agreement": 0.0}
    for work, background in (("cover", None), ("background", small)):
        if options.only not in (None, work):
            continue
        lines: list[dict[str, Any]] = []
        for depth in depths:
            more, gap = compared(depth, background, counts)
            show(f"CPU seconds, {work}", more)
            lines += more
            result["agreement"] = max(result["agreement"], gap if background is None else 0.0)
        result |= ratios(work, lines) | answers(work, background, depths)
    if options.only:
        record(result)
        return
    chances = probabilities()
    show("CPU seconds per row, credit in a probability", chances)
    for key, name in (("half width", "probability_half_width"), ("shap error", "probability_error_shap")):
        result[name] = {line["model"]: float(f"{line[key]:.2g}") for line in chances}
    result["probability_over_shap"] = {line["model"]: round(line["ours"] / line["shap"], 1) for line in chances}
    (x, y), (dense, target), some = sparse_data(), data(1000), 4 if options.quick else 20
    deep = unpruned(x, y, some, None)
    against = [unpruned(x, y, some, x[500:600]), unpruned(dense, target, some, dense[500:600])]
    show("unpruned forests of 100 trees on 1,000 rows", [deep, *against])
    result |= {
        "unpruned_shap": round(deep["shap"] / deep["ours"], 2),
        "unpruned_depth": deep["depth"],
        "unpruned_background_shap": {str(run["columns"]): round(run["shap"] / run["ours"], 2) for run in against},
        "additivity_unpruned": max(run["error"] for run in (deep, *against)),
        "additivity_unpruned_shap": deep["shap error"],
    }
    if options.large:
        whole = large()
        show("100,000 rows against a background of 10,000, depth 6", [whole])
        result |= {"large_seconds": round(whole["seconds"], 1), "large_mb": round(whole["peak_mb"])}
    record(result)


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """A small table."""
    print(title)
    print("  " + "".join(f"{name:>15}" for name in rows[-1]))
    for row in rows:
        cells = (f"{value:>15}" if isinstance(value, str) else f"{value:>15.4g}" for value in row.values())
        print("  " + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
