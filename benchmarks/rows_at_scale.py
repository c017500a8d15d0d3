"""Many training rows: nearest neighbours of a million, datamodels of ten thousand. CPU seconds, minutes and peak memory."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from accredit.valuation import fit_datamodels, knn_shapley, random_subsets, split
from benchmarks.apart import apart


def neighbours_at_scale() -> dict[str, Any]:
    """KNN-Shapley of 10⁶ rows and 1,000 test rows, 64 columns, on two threads: exactly, and within 0.001."""
    found: dict[str, Any] = {}
    for name, within in (("exact", None), ("within 0.001", 0.001)):
        one = apart("benchmarks.rows_at_scale", "neighbours", rows=1_000_000, tests=1000, columns=64, within=within)
        print(f"  KNN-Shapley of a million rows, {name}: {one}", flush=True)
        found |= {f"KNN {name}, {key}": value for key, value in one.items()}
    return found


def neighbours(rows: int, tests: int, columns: int, within: float | None) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y, test_y = rng.integers(0, 10, size=rows), rng.integers(0, 10, size=tests)
    data = split(rng.normal(size=(rows, columns)), y, rng.normal(size=(tests, columns)), test_y)
    began, clock = time.process_time(), time.perf_counter()
    values = knn_shapley(data, 5, within=within, executor="threads:2")
    spent, clock = time.process_time() - began, time.perf_counter() - clock
    assert values.unshared is not None
    return {"CPU seconds": spent, "minutes": clock / 60, "unshared": float(values.unshared)}


def datamodels_at_scale() -> dict[str, Any]:
    """Datamodels of 10⁴ rows from 3,000 subsets, 10 targets of which each depends on all rows, and on fifty much more."""
    found = apart("benchmarks.rows_at_scale", "linear_fits", rows=10_000, subsets=3000, targets=10)
    return {f"datamodels {name}": value for name, value in found.items()}


def linear_fits(rows: int, subsets: int, targets: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    masks = random_subsets(rows, subsets, 0.5, 0)
    truth = rng.normal(size=(rows, targets)) * 0.02
    for target in range(targets):
        truth[rng.choice(rows, 50, replace=False), target] += rng.normal(size=50)
    outputs = masks.astype(np.float32) @ truth + rng.normal(size=(subsets, targets))
    began = time.process_time()
    found = fit_datamodels(
        tuple(f"row {i}" for i in range(rows)), tuple(f"t{i}" for i in range(targets)), masks, outputs, fraction=0.5
    )
    spent = time.process_time() - began
    fresh = random_subsets(rows, 500, 0.5, 1)
    predicted, true = found.predict(fresh), fresh @ truth
    linked = [float(np.corrcoef(predicted[:, t], true[:, t])[0, 1]) for t in range(targets)]
    return {
        "rows": rows,
        "subsets": subsets,
        "CPU seconds": spent,
        "correlation on fresh subsets": float(np.mean(linked)),
    }
