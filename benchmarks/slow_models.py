"""Slow models: what one budget over many rows buys, beside shap's Permutation explainer.

    python -m benchmarks.slow_models [--rows 400] [--shares 50 20]

Models of six kinds, each asked as a function of rows, with 70 columns, 100 background rows and 400 rows to explain. shap runs
with its defaults on the first rows of them (its cost per row does not depend on the others); accredit explains all rows with
model_rows set to a share of what shap would ask for all of them. What is compared is the squared error of credit on the rows
that shap explained: beside the closed form where the kind has one, else beside 100 pairs of opposite orders with all background
rows, 33 times what shap takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import shap
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

import accredit
from benchmarks.record import record

BACKGROUND, TRAINED, CHECKED = 100, 700, 10
ORDERS = 100  # pairs of opposite orders, for models without a closed form


def digits() -> tuple[np.ndarray, np.ndarray]:
    """64 pixels, six sums of them, and how far a picture is from the mean picture of an eight."""
    x, y = load_digits(return_X_y=True)
    parts = [x.reshape(-1, 8, 8)[:, a : a + 4, b : b + 4].mean(axis=(1, 2)) for a in (0, 4) for b in (0, 4)]
    x = np.column_stack([x, *parts, x.mean(axis=1), x.std(axis=1)])
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 0.1)
    return x, np.sqrt(((x - x[y == 8].mean(axis=0)) ** 2).mean(axis=1)) + 0.3 * (y % 3)


def correlated() -> tuple[np.ndarray, np.ndarray]:
    """70 columns that go together, and a target with interactions, a threshold and many small effects."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1800, 12)) @ rng.normal(size=(12, 70)) / 4 + rng.normal(size=(1800, 70)) * 0.6
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 2 * (x[:, 3] > 0.5) + np.exp(x[:, 4] / 2) + x @ rng.normal(size=70) * 0.1
    return x, y


def net(seed: int, *sizes: int, activation: str = "relu") -> MLPRegressor:
    return MLPRegressor(
        hidden_layer_sizes=sizes, activation=activation, max_iter=300, alpha=1e-2, early_stopping=True, random_state=seed
    )


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {"digits": digits, "correlated": correlated}
MODELS: dict[str, Callable[[], Any]] = {
    "network": lambda: net(0, 64, 64),
    "tanh network": lambda: net(1, 50, activation="tanh"),
    "Gaussian process": lambda: GaussianProcessRegressor(RBF(8.0) + WhiteKernel(0.1), normalize_y=True, optimizer=None),
    "forest": lambda: RandomForestRegressor(100, max_depth=10, random_state=0),
    "extra trees": lambda: ExtraTreesRegressor(100, max_depth=12, random_state=1),
    "SVM": lambda: SVR(C=10.0, gamma=0.01),
}


class Counted:
    """A function of rows that counts them."""

    def __init__(self, predict: Callable[[np.ndarray], np.ndarray]) -> None:
        self.predict, self.rows = predict, 0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.rows += len(rows)
        return self.predict(rows)


def truth(model: Any, rows: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Credit of rows, (rows, columns)."""
    if not isinstance(model, MLPRegressor):
        exact = accredit.explain(rows, model, background=background)
        assert exact.precision.known.value == "exact", exact.precision
        return exact.credit[..., 0]
    return np.stack([by_orders(model.predict, row, background) for row in rows])


def by_orders(predict: Callable[[np.ndarray], np.ndarray], row: np.ndarray, background: np.ndarray) -> np.ndarray:
    n, rng, credit = len(row), np.random.default_rng(7), np.zeros(len(row))
    for _ in range(ORDERS):
        order = rng.permutation(n)
        for one in (order, order[::-1]):
            kept = np.zeros((n + 1, n), dtype=bool)
            for k in range(n):
                kept[k + 1 :, one[k]] = True
            table = np.where(kept[:, None, :], row, background[None]).reshape(-1, n)
            credit[one] += np.diff(predict(table).reshape(n + 1, -1).mean(axis=1)) / (2 * ORDERS)
    return credit


def measure(data: str, kind: str, rows: int, shares: list[int]) -> dict[str, Any]:
    x, y = DATA[data]()
    model = MODELS[kind]().fit(x[:TRAINED], y[:TRAINED])
    background, explained = x[:BACKGROUND], x[TRAINED : TRAINED + rows]
    known = truth(model, explained[:CHECKED], background)
    counted = Counted(model.predict)
    began = time.process_time()
    masker = shap.maskers.Independent(background, max_samples=BACKGROUND)
    theirs = shap.PermutationExplainer(counted, masker, seed=0)(explained[:CHECKED], silent=True)
    shap_rows, shap_cpu = counted.rows * rows / CHECKED, time.process_time() - began
    error = ((theirs.values - known) ** 2).sum()
    found: dict[str, Any] = {
        "shap model rows": round(shap_rows),
        "shap relative squared error": float(error / (known**2).sum()),
        f"shap cpu s of {CHECKED} rows": round(shap_cpu, 1),
    }
    for share in shares:
        counted = Counted(model.predict)
        began = time.process_time()
        ours = accredit.explain(explained, counted, background=background, model_rows=int(shap_rows / share))
        gap = ours.credit[:CHECKED, :, 0] - known
        inside = (ours.interval[:CHECKED, :, 0, 0] <= known) & (known <= ours.interval[:CHECKED, :, 0, 1])
        found[f"1/{share}"] = {
            "model rows": counted.rows,
            "squared error over shap's": round(float((gap**2).sum() / error), 3),
            "coverage": round(float(inside.mean()), 3),
            "cpu s": round(time.process_time() - began, 1),
            "said": [note.text for note in ours.notes if "surrogate" in note.text][:1],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--shares", type=int, nargs="+", default=[50])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    given = parser.parse_args()
    figures = {}
    for data in given.data:
        for kind in given.models:
            figures[f"{data}, {kind}"] = measure(data, kind, given.rows, given.shares)
            print(data, kind, figures[f"{data}, {kind}"], flush=True)
    record(figures)


if __name__ == "__main__":
    main()
