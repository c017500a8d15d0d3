"""Influence of networks: linear datamodeling score of the untuned defaults, memory at scale, and the time of a stored search.

kronfluence, TRAK and dattri are measured beside it, each in its own environment (`make peers`).
"""

from __future__ import annotations

import gzip
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.evaluate.data import linear_datamodeling_score
from accredit.influence.gradient_store import GradientStore
from accredit.influence.kfac import network_influence
from accredit.influence.network import network
from accredit.influence.tracin import tracin
from accredit.valuation import Recipe, Split, TorchTraining, random_subsets, split, text_features
from benchmarks.apart import apart
from benchmarks.noisy_labels import DATA, rows_of
from benchmarks.peers.influence import network_peers

DECAY = 5e-4


def digits(rows: int = 500, targets: int = 50, wrong: int = 25, seed: int = 0) -> Split:
    """Handwritten digits, some of whose training labels are wrong."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return drawn(data.data / 16 - 0.3, data.target, rows, targets, wrong, seed)


def drawn(x: Any, y: Any, rows: int = 500, targets: int = 50, wrong: int = 25, seed: int = 0, level: bool = False) -> Split:
    """Some rows and targets of a data set, some of whose labels are made wrong. `level` gives columns mean 0 and spread 1."""
    rng, classes = np.random.default_rng(seed), int(y.max()) + 1
    order = rng.permutation(len(y))[: rows + targets]
    x, y = x[order], y[order].copy()
    if level:
        x = (x - x[:rows].mean(axis=0)) / np.maximum(x[:rows].std(axis=0), 1e-9)
    bad = rng.permutation(rows)[:wrong]
    y[bad] = (y[bad] + rng.integers(1, classes, size=wrong)) % classes
    return split(x[:rows], y[:rows], x[rows:], y[rows:])


def batch(x: Any, y: Any) -> dict[str, Any]:
    import torch

    return {"x": torch.tensor(x, dtype=torch.float32), "labels": torch.tensor(y)}


def news() -> Split:
    """News of four kinds, as features of the encoder that comes along."""
    names, texts, labels = read_texts("ag_news_10k.tsv.gz")
    order = np.random.default_rng(0).permutation(np.flatnonzero(names == "train"))[:550]
    return drawn(text_features([texts[i] for i in order], "builtin"), labels[order], level=True)


def read_texts(file: str) -> tuple[Any, list[str], Any]:
    """Parts, texts and labels of a file of real data."""
    with gzip.open(DATA / file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    return np.array([row[0] for row in rows]), [row[-1] for row in rows], np.array([int(row[1]) for row in rows])


@dataclass(frozen=True)
class Judged:
    """A network whose true retrainings judge every estimate."""

    data: Callable[[], Split]
    sizes: tuple[int, ...]
    recipe: Recipe


NETWORKS = {  # nothing was chosen on the last two
    "digits": Judged(digits, (64, 32, 10), Recipe(150, 0.02, DECAY)),
    "wide digits": Judged(lambda: digits(seed=1), (64, 128, 10), Recipe(150, 0.01, DECAY)),
    "news": Judged(news, (128, 32, 4), Recipe(60, 0.01, DECAY)),
    "sentences": Judged(lambda: drawn(*rows_of("SST-2"), level=True), (50, 32, 2), Recipe(60, 0.01, DECAY)),
    "clothes": Judged(lambda: drawn(*rows_of("Fashion-MNIST")), (784, 24, 10), Recipe(60, 0.005, DECAY)),
    "tumours": Judged(lambda: drawn(*rows_of("breast cancer"), level=True), (30, 16, 2), Recipe(80, 0.01, 1e-3)),
}


def judge_network(name: str, judges: int = 100, seeds: int = 2, models: int = 3) -> dict[str, Any]:
    """A ReLU network: LDS of every default, of one model (mean over models) and of their mean, beside other libraries, in one
    run. The judging subsets are trained with other seeds than everything else."""
    import torch

    torch.set_num_threads(1)
    judged = NETWORKS[name]
    data = judged.data()

    def build() -> torch.nn.Module:
        layers = [part for pair in pairwise(judged.sizes) for part in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        return torch.nn.Sequential(*layers[:-1])

    def game(seed: int) -> TorchTraining:
        return TorchTraining(data, build, judged.recipe, "neg_log_loss", seed=seed)

    masks = random_subsets(len(data), judges, 0.5, 777)  # no default was looked at on these
    truth = np.mean([game(100 + seed).retrain(masks)[1] for seed in range(seeds)], axis=0)
    train, tests = batch(data.x, data.y), batch(data.test_x, data.test_y)
    trained = [game(seed).teach(np.ones(len(data), bool)) for seed in range(models)]
    results: dict[str, Any] = {}

    def score(label: str, scores: Callable[[Any], FloatArray]) -> None:
        began = time.process_time()
        each = [scores(model) for model in trained]
        spent = (time.process_time() - began) / models
        note(label, each, np.mean(each, axis=0), spent)

    def note(label: str, each: list[FloatArray], together: FloatArray, spent: float) -> None:
        one = float(np.mean([linear_datamodeling_score(m, masks, truth).value for m in each]))
        several = linear_datamodeling_score(together, masks, truth)
        print(f"  {name}: LDS {label:32s} one model {one:.3f}, {models} models {several}, {spent:.1f} CPU s each", flush=True)
        results[f"LDS untuned {name}: {label}"] = [one, several.value, several.low, several.high, spent]

    def ours(curvature: str) -> Callable[[Any], FloatArray]:
        def scores(model: Any) -> FloatArray:
            net = network(model, loss="classification", weight_decay=DECAY)
            return network_influence(net, train, tests, curvature=curvature).matrix

        return scores

    def stored(model: Any) -> FloatArray:
        net = network(model, loss="classification", weight_decay=DECAY)
        with tempfile.TemporaryDirectory() as folder:
            return GradientStore.build(folder, net, train).search(net, tests).matrix

    def dot(model: Any) -> FloatArray:
        return tracin(network(model, loss="classification"), [model.state_dict()], train, tests).matrix

    score("default (whole Gauss–Newton)", ours("auto"))
    score("EK-FAC", ours("ekfac"))
    score("gradient store, 16 × 16", stored)
    score("plain dot product", dot)
    for label, peer in network_peers().items():
        each, spent = [], 0.0
        for model in trained:
            each.append(peer([model], train, tests))
            spent += peer.seconds / models
        note(label, each, peer(trained, train, tests) if peer.several else np.mean(each, axis=0), spent)
    return results


def network_scale() -> dict[str, Any]:
    """EK-FAC with 10⁶ parameters, 10⁴ rows, 100 queries: CPU seconds and peak memory."""
    found = apart("benchmarks.networks", "influence_at_scale", rows=10_000, queries=100, side=705)
    return {f"network {name}": value for name, value in found.items()}


def influence_at_scale(rows: int, queries: int, side: int) -> dict[str, Any]:
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
    spent = time.process_time() - began
    return {"parameters": net.parameters, "rows": rows, "queries": queries, "CPU seconds": spent}


def stored_search() -> dict[str, Any]:
    """A query of a store of 10⁵ rows, 512 numbers each."""
    found = apart("benchmarks.networks", "store_at_scale", rows=100_000)
    return {f"store {name}": value for name, value in found.items()}


def store_at_scale(rows: int) -> dict[str, Any]:
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
        clock, began = time.perf_counter(), time.process_time()
        store.search(net, batch(x[:1], y[:1]))
        searched, clock = time.process_time() - began, time.perf_counter() - clock
    numbers = sum(store.about["widths"].values())
    return {
        "rows": rows,
        "numbers a row": numbers,
        "build CPU seconds": built,
        "search CPU seconds": searched,
        "search seconds": clock,
    }
