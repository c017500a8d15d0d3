"""Fast Shapley values on a table, on texts and on pictures: how close, how quick, and whether their intervals hold.

    python -m benchmarks.learned [--only table,texts,pictures] [--data FOLDER]

One thread, CPU seconds. `r2` and `top1` compare predictions with known values of inputs that were not learned from (exact
on the table and the texts, estimated on pictures); `us` is microseconds per input: one pass of the network, the whole
call with the payoffs of everybody and nobody, the usual value, and shap's KernelExplainer on the table. `coverage` is
that of 90 % intervals, over five random halves of the known inputs: one half calibrates, the other is counted; per player
the lowest and highest, and in all. `fallen_back` is the share of those inputs that the explainer was unsure of. The last
line is one JSON object. Texts are SST-2 sentences (sst2.tsv.gz) of at most nine words, pictures are Fashion-MNIST
(fashion_mnist.npz), in FOLDER or $ACCREDIT_DATA, by the built-in models.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from accredit.explanation.explainer import builtin_model
from accredit.learned.conformal import Per, calibrated
from accredit.learned.families import Family, InputFamily, RowFamily
from accredit.learned.fast import FastShapley, fit_fast
from accredit.learned.valuers import efficient, raw_credit
from benchmarks.record import record

LEVEL, SEEDS = 0.9, 5


def seconds(run: Callable[[], Any], inputs: int) -> float:
    """Microseconds of CPU per input, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times) / inputs * 1e6


def judged(fast: FastShapley, family: Family, budget: int | None, per: Per) -> dict[str, Any]:
    """Accuracy and coverage on a family's inputs, all of whose values are computed."""
    known = family.reference(np.arange(len(family)), budget, 0)
    seen = family.seen(fast.columns)
    nobody, everybody = family.ends()
    credit = efficient(raw_credit(fast.network, seen), seen.present, everybody - nobody)
    there = np.isfinite(known.values)
    missed = ((credit - known.values)[there] ** 2).sum()
    spread = ((known.values - np.nanmean(known.values, axis=(0, 1)))[there] ** 2).sum()
    same = np.nanargmax(np.abs(credit), axis=1) == np.nanargmax(np.abs(known.values), axis=1)
    players, every = [], []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(family))
        learn, count = np.array_split(order, 2)
        found = calibrated(credit[learn], known[learn], LEVEL, per, seed)
        held = np.abs(known.values - credit)[count] <= found.half_widths(credit[count])
        held = np.where(there[count], held, np.nan)
        players.append(np.nanmean(held, axis=(0, 2)))
        every.append(float(np.nanmean(held)))
    by_player = np.mean(players, axis=0) if per == "player" else np.array([np.mean(every)])
    values = fast.values(family, fallback=0)
    return {
        "r2": round(float(1 - missed / spread), 3), "top1": round(float(same.mean()), 3), "inputs": len(family),
        "values": "exact" if known.exact else "estimated",
        "coverage": {"lowest": round(float(by_player.min()), 3), "highest": round(float(by_player.max()), 3),
                     "all": round(float(np.mean(every)), 3)},
        "fallen_back": round(float((values.far | values.wide).mean()), 3), "trained_on": fast.report["trained on"],
    }  # fmt: skip


def speeds(fast: FastShapley, family: Family, exact: int, budget: int | None) -> dict[str, float]:
    seen = family.seen(fast.columns)
    some = np.arange(exact)
    return {
        "network": round(seconds(lambda: raw_credit(fast.network, seen), len(family)), 1),
        "in_all": round(seconds(lambda: fast.values(family, fallback=0), len(family)), 1),
        "usual": round(seconds(lambda: family.reference(some, budget, 0), exact), 1),
    }


def on_a_table() -> dict[str, Any]:
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 10))
    y = (x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] + 0.3 * x[:, 4:7].sum(axis=1) > 0).astype(int)
    model = MLPClassifier((32, 32), max_iter=60, alpha=0.01, random_state=0).fit(x, y)
    about: dict[str, Any] = {"payoff": "probability"}
    began = time.process_time()
    fast = fit_fast(RowFamily.of(x[:3000], model, x[3000:3020], **about), level=LEVEL, calibration=60, seed=0)
    found: dict[str, Any] = {"fit_seconds": round(time.process_time() - began, 1)}
    family = RowFamily.of(x[3100:3500], model, x[3000:3020], **about)
    found |= judged(fast, family, None, "player")
    found["us"] = speeds(fast, family, 20, None) | {"shap_kernel": round(_shap(model, x[3000:3020], x[3100:3103]), 1)}
    return found


def _shap(model: Any, background: Any, rows: Any) -> float:
    import shap  # type: ignore[import-untyped]

    explainer = shap.KernelExplainer(model.predict_proba, background)
    began = time.process_time()
    explainer.shap_values(rows, nsamples=1022, silent=True)
    return (time.process_time() - began) / len(rows) * 1e6


def on_texts(folder: Path) -> dict[str, Any]:
    with gzip.open(folder / "sst2.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[2] for line in file][1:]
    texts = list(dict.fromkeys(text for text in texts if 4 <= len(text.split()) <= 9))[:1000]
    return _on_inputs(texts, builtin_model("text"), 800, None, "drawn player", {})


def on_pictures(folder: Path) -> dict[str, Any]:
    with np.load(folder / "fashion_mnist.npz", allow_pickle=False) as arrays:
        pictures = list(arrays["x_train"][:1000])
    return _on_inputs(pictures, builtin_model("image"), 860, 512, "player", {"target": [0, 6]})


def _on_inputs(
    inputs: list[Any], model: Any, learned: int, budget: int | None, per: Any, about: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    family = InputFamily.of(inputs[:learned], model, **about)
    fast = fit_fast(family, level=LEVEL, calibration=30, budget=budget, per=per, epochs=100, seed=0)
    found: dict[str, Any] = {"fit_seconds": round(time.process_time() - began, 1)}
    new = InputFamily.of(inputs[learned:], model, **about)
    return found | judged(fast, new, budget, per) | {"us": speeds(fast, new, 4, budget)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="table,texts,pictures")
    parser.add_argument("--data", default=os.environ.get("ACCREDIT_DATA", "."))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    runs: dict[str, Callable[[], dict[str, Any]]] = {
        "table": on_a_table,
        "texts": lambda: on_texts(Path(asked.data)),
        "pictures": lambda: on_pictures(Path(asked.data)),
    }
    found = {}
    for name in asked.only.split(","):
        found[name] = runs[name]()
        print(name, json.dumps(found[name]), flush=True)
    record({"learned": found})


if __name__ == "__main__":
    main()
