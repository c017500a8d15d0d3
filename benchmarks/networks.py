"""Influence of networks: linear datamodeling score of the untuned defaults, memory at scale, and the time of a stored search.

kronfluence and TRAK are measured beside it where they are installed; they are not needed by anything else.
"""

from __future__ import annotations

import importlib.util
import resource
import tempfile
import time
from typing import Any

import numpy as np

from accredit.core.coalitions import FloatArray
from accredit.evaluate.data import linear_datamodeling_score
from accredit.valuation import Recipe, Split, TorchTraining, random_subsets, split
from accredit.valuation.gradient_store import GradientStore
from accredit.valuation.kfac import network_influence
from accredit.valuation.network import network

DECAY = 5e-4


def digits(rows: int = 500, targets: int = 50, wrong: int = 25, seed: int = 0) -> Split:
    """Handwritten digits, some of whose training labels are wrong."""
    from sklearn.datasets import load_digits

    data, rng = load_digits(), np.random.default_rng(seed)
    order = rng.permutation(len(data.target))[: rows + targets]
    x, y = data.data[order] / 16 - 0.3, data.target[order].copy()
    bad = rng.permutation(rows)[:wrong]
    y[bad] = (y[bad] + rng.integers(1, 10, size=wrong)) % 10
    return split(x[:rows], y[:rows], x[rows:], y[rows:])


def batch(x: Any, y: Any) -> dict[str, Any]:
    import torch

    return {"x": torch.tensor(x, dtype=torch.float32), "labels": torch.tensor(y)}


def untuned_lds(judges: int = 100, seeds: int = 2, models: int = 5) -> dict[str, Any]:
    """Digits, a 64-32-10 ReLU network: LDS of every default, of one model (mean over models) and of their mean."""
    import torch

    torch.set_num_threads(1)
    data = digits()

    def game(seed: int) -> TorchTraining:
        def build() -> torch.nn.Module:
            return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))

        return TorchTraining(data, build, Recipe(150, 0.02, DECAY), "neg_log_loss", seed=seed)

    masks = random_subsets(len(data), judges, 0.5, 777)  # no default was looked at on these
    truth = np.mean([game(100 + seed).retrain(masks)[1] for seed in range(seeds)], axis=0)
    train, tests = batch(data.x, data.y), batch(data.test_x, data.test_y)
    found: dict[str, list[FloatArray]] = {}
    spent: dict[str, float] = {}
    for seed in range(models):
        model = game(seed).trained(np.ones(len(data), bool))
        net = network(model, loss="classification", weight_decay=DECAY)
        for name, curvature in (("default (whole Gauss–Newton)", "auto"), ("EK-FAC", "ekfac")):
            began = time.process_time()
            found.setdefault(name, []).append(network_influence(net, train, tests, curvature=curvature).matrix)
            spent[name] = spent.get(name, 0.0) + (time.process_time() - began) / models
        with tempfile.TemporaryDirectory() as folder:
            store = GradientStore.build(folder, net, train)
            found.setdefault("gradient store, 16 × 16", []).append(store.search(net, tests).matrix)
    for library in ("kronfluence", "trak"):
        if importlib.util.find_spec(library) is None:
            print(f"{library} is not installed and is left out")
    results: dict[str, Any] = {}
    for name, matrices in found.items():
        one = float(np.mean([linear_datamodeling_score(m, masks, truth).value for m in matrices]))
        several = linear_datamodeling_score(np.mean(matrices, axis=0), masks, truth)
        print(f"  LDS {name:32s} one model {one:.3f}, {models} models {several}, {spent.get(name, 0):.1f} CPU s each")
        results[f"LDS untuned {name}"] = [one, several.value, several.low, several.high]
    return results


def network_scale(rows: int = 10_000, queries: int = 100, side: int = 700) -> dict[str, Any]:
    """EK-FAC with 10⁶ parameters: CPU seconds and peak memory. The peak does not depend on the number of rows."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(side, side),
        torch.nn.ReLU(),
        torch.nn.Linear(side, side),
        torch.nn.ReLU(),
        torch.nn.Linear(side, 10),
    )
    x, y = np.random.default_rng(0).normal(size=(rows, side)), np.arange(rows) % 10
    net = network(model, loss="classification", weight_decay=DECAY)
    began = time.process_time()
    network_influence(net, batch(x, y), batch(x[:queries], y[:queries]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "network parameters": float(net.parameters),
        "network rows": float(rows),
        "network CPU seconds": time.process_time() - began,
        "network peak GB": peak,
    }


def stored_search(rows: int = 100_000) -> dict[str, Any]:
    """A query of a store of 10⁵ rows, 512 numbers each: CPU seconds."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
    x, y = np.random.default_rng(0).normal(size=(rows, 32)), np.arange(rows) % 16
    net = network(model, loss="classification", batch_size=1024)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        store = GradientStore.build(folder, net, batch(x, y))
        built = time.process_time() - began
        began = time.process_time()
        store.search(net, batch(x[:1], y[:1]))
        searched = time.process_time() - began
    return {"store build CPU seconds": built, "store search CPU seconds": searched, "store numbers a row": 512.0}
