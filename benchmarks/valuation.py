"""Training data: speed against peers and quality on real data. Ends with one JSON line.

    python -m benchmarks.valuation [--only knn,lasso,…]

pyDVL runs in an environment of its own, if `make peers` has made one. The data of the quality part are looked for in
ACCREDIT_DATA, then in ../shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.evaluate.data import linear_datamodeling_score, mislabel_auc
from accredit.influence import GaussNewton, Softmax, TorchObjective, influence
from accredit.store import Entry, Journal, durable, fingerprint
from accredit.training_data import data_shapley
from accredit.valuation import (
    Recipe,
    Retraining,
    RidgeUtility,
    Split,
    TorchTraining,
    datamodels,
    fit_datamodels,
    knn_shapley,
    random_subsets,
    split,
    text_features,
)
from accredit.values.lasso import gram, lasso
from benchmarks.networks import NETWORKS, drawn, judge_network, network_scale, stored_search
from benchmarks.noisy_labels import rows_of
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side
from benchmarks.record import record
from benchmarks.rows_at_scale import datamodels_at_scale, neighbours_at_scale

DATA = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEED = 0
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
ROUNDS = 3  # of timings that need both cores


def best_of(work: Callable[[], Any], times: int = 3) -> float:
    """The shortest of some CPU times: the machine may be shared."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def knn() -> dict[str, Any]:
    """KNN-Shapley of 10,000 rows, 100 test points, 64 columns, K = 5; CPU seconds, one thread."""
    rng = np.random.default_rng(SEED)
    x, y = rng.normal(size=(10_000, 64)), rng.integers(0, 10, size=10_000)
    test, test_y = rng.normal(size=(100, 64)), rng.integers(0, 10, size=100)
    data = split(x, y, test, test_y)
    ours = best_of(lambda: knn_shapley(data, 5), 5)
    found: dict[str, Any] = {"knn seconds": ours}
    if not ready(PINS["pyDVL"]):
        print("pyDVL has no environment here and is left out; make peers makes one")
        return found
    answer = side("pyDVL", "data").call("pydvl_knn", k=5, x=x, y=y, test=test, test_y=test_y)
    theirs, values = answer.seconds, answer["values"]
    difference = np.abs(values - knn_shapley(data, 5).credit).max()
    return found | {"pydvl seconds": theirs, "knn speed-up": theirs / ours, "knn largest difference": float(difference)}


def multi_target_lasso() -> dict[str, Any]:
    """5,000 subsets of 1,000 rows, 200 targets, one penalty; scikit-learn from 8 targets, scaled to 200. CPU seconds."""
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(SEED)
    x = (rng.random((5000, 1000)) < 0.5).astype(np.float64)
    truth = np.zeros((1000, 200))
    for target in range(200):
        truth[rng.choice(1000, 20, replace=False), target] = rng.normal(size=20)
    y = x @ truth + rng.normal(size=(5000, 200))
    penalty = np.full(200, 0.03)
    ours = best_of(lambda: lasso(gram(x, y), penalty, tolerance=1e-5), 2)
    weights = lasso(gram(x, y), penalty, tolerance=1e-5)
    fits: list[Any] = []
    theirs = best_of(lambda: fits.extend(Lasso(alpha=0.03, tol=1e-5).fit(x, y[:, t]) for t in range(8)), 1) / 8 * 200
    difference = max(float(np.abs(fits[t].coef_ - weights[:, t]).max()) for t in range(8))
    return {
        "lasso seconds": ours,
        "scikit-learn loop seconds": theirs,
        "lasso speed-up": theirs / ours,
        "lasso largest difference": difference,
    }


class Pause:
    """A payoff that takes a given time, asleep or at work."""

    players = tuple(f"p{i}" for i in range(100))

    def __init__(self, seconds: float, busy: bool = False) -> None:
        self.seconds, self.busy = seconds, busy

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        for _ in coalitions:
            if self.busy:
                until = time.process_time() + self.seconds
                while time.process_time() < until:
                    pass
            elif self.seconds:
                time.sleep(self.seconds)
        return coalitions.sum(axis=1) / 100


def scheduler() -> dict[str, Any]:
    """What the schedule and the journal add to an evaluation, and how two workers share 100 ms payoffs. Wall seconds."""
    coalitions = random_subsets(100, 20_000, 0.5, SEED)
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(f"{folder}/a.db") as journal,
        durable(Pause(0.0), journal, "processes:2") as game,
    ):
        game.payoff(coalitions[:200])  # the workers are up
        began = time.perf_counter()
        game.payoff(coalitions)
        found["scheduler ms an evaluation"] = 1000 * (time.perf_counter() - began) / len(coalitions)
    for busy in (False, True):
        seconds = {}
        for workers in (1, 2):
            with durable(Pause(0.1, busy), executor=f"processes:{workers}") as game:
                game.payoff(coalitions[:4])
                began = time.perf_counter()
                game.payoff(coalitions[4:84])
                seconds[workers] = time.perf_counter() - began
        found[f"scaling 1 to 2 workers, {'busy' if busy else 'waiting'}"] = seconds[1] / seconds[2]
    found["load average"] = os.getloadavg()[0]
    return found


def journal_speed() -> dict[str, Any]:
    """Rows a second into a file, 1,000 players, in the batches that a run commits; and read back."""
    rng = np.random.default_rng(SEED)
    keys = [row.tobytes() for row in rng.integers(0, 256, size=(50_000, 125), dtype=np.uint8)]
    with tempfile.TemporaryDirectory() as folder, Journal(f"{folder}/a.db") as journal:
        game = journal.enter(fingerprint(data="speed"), ("p",))
        began, cpu = time.perf_counter(), time.process_time()
        for start in range(0, len(keys), 500):
            journal.record(game, 0, [Entry(key, "ok", 0.5, 0.001) for key in keys[start : start + 500]])
        written, cpu = time.perf_counter() - began, time.process_time() - cpu
        began = time.perf_counter()
        journal.recall(game, 0, keys)
        read = time.perf_counter() - began
    return {
        "journal rows a second": len(keys) / written,
        "journal rows a CPU second": len(keys) / cpu,
        "journal rows read a second": len(keys) / read,
    }


def shared_journal() -> dict[str, Any]:
    """Two processes on one journal against one: each training is done once, and the two take about half as long.

    Seconds run from the word go to the moment at which the last process holds the whole result. What the machine itself allows
    is measured beside it: the same two processes without a journal, each with its half of the trainings. Of each, the shortest
    of three rounds.
    """
    alone, together, apart_from_it = ([] for _ in range(3))
    for turn in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            alone.append(_seconds_of([f"{folder}/alone.db"]))
            together.append(_seconds_of([f"{folder}/together.db"] * 2))
        apart_from_it.append(_seconds_of(["0", "1"]))
        print(f"  round {turn + 1}: alone {alone[-1]}, together {together[-1]}, halves {apart_from_it[-1]}", flush=True)

    def least(runs: list[dict[str, float]], key: str = "seconds") -> float:
        return min(run[key] for run in runs)

    return {
        "needed trainings": alone[0]["trained"],
        "trainings of two processes": max(run["trained"] for run in together),
        "seconds of one process": least(alone),
        "two processes, speed-up": least(alone) / least(together),
        "two halves without a journal, speed-up": least(alone) / least(apart_from_it),
        "two processes, share of what the machine allows": least(apart_from_it) / least(together),
        "two processes, speed-up in CPU seconds": least(alone, "CPU seconds") / least(together, "CPU seconds"),
        "load average": os.getloadavg()[0],
    }


WORKER = """
import sys, time, numpy as np
from sklearn.linear_model import LogisticRegression
from accredit.store import Journal, durable
from accredit.valuation import Retraining, random_subsets, split
rng = np.random.default_rng(0)
y = np.arange(3000) % 2
x = rng.normal(size=(3000, 60)) + 0.1 * y[:, None]
game = Retraining(split(x[:2500], y[:2500], x[2500:], y[2500:]), LogisticRegression(max_iter=1000))
masks = random_subsets(2500, 1200, 0.5, 0)
print("ready", flush=True)
sys.stdin.readline()
began = time.process_time()
if sys.argv[1] in "01":
    half = masks[int(sys.argv[1]) :: 2]
    game.payoff(half)
    trained = len(half)
else:
    with Journal(sys.argv[1]) as journal, durable(game, journal, "serial", name={"game": "shared"}) as kept:
        kept.payoff(masks)
        trained = kept.evaluated
print(trained, time.process_time() - began, flush=True)
"""


def _seconds_of(given: list[str]) -> dict[str, float]:
    """Trainings of one process for each word given, the seconds until the last has its result, and the most CPU seconds."""
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, word],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        for word in given
    ]
    for process in crew:
        assert process.stdout is not None
        process.stdout.readline()
    began = time.perf_counter()
    for process in crew:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.stdout.readline().split() for process in crew if process.stdout is not None]
    seconds = time.perf_counter() - began
    for process in crew:
        process.communicate()
    return {
        "trained": sum(int(trained) for trained, _ in said),
        "seconds": seconds,
        "CPU seconds": max(float(spent) for _, spent in said),
    }


def sst2_rows(train: int, test: int) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Sentences of at least six words from the training part, and dev sentences."""
    with gzip.open(DATA / "sst2.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    rng = np.random.default_rng(SEED)
    taught = [row for row in rows if row[0] == "train" and len(row[2].split()) >= 6]
    judged = [row for row in rows if row[0] == "dev"]
    taught = [taught[i] for i in rng.permutation(len(taught))[:train]]
    judged = [judged[i] for i in rng.permutation(len(judged))[:test]]
    parts = [([row[2] for row in part], np.array([int(row[1]) for row in part])) for part in (taught, judged)]
    return *parts[0], *parts[1]


def encodings(texts: list[str]) -> dict[str, FloatArray]:
    """Features by two encoders: mean GloVe vectors, which have seen no label, and the built-in model.

    The built-in model was itself trained on SST-2 phrases with their true labels, so what it finds there is flattered.
    """
    from accredit.models.builtin import text_folder

    words = (DATA / "glove6b_50d_top40k_vocab.txt").read_text(encoding="utf-8").split("\n")
    vectors = np.load(DATA / "glove6b_50d_top40k.npz")["vectors"].astype(np.float64)
    place = {word: i for i, word in enumerate(words[: len(vectors)])}
    rows = [[place[w] for w in text.split() if w in place] or [0] for text in texts]
    found = {"GloVe": np.array([vectors[row].mean(axis=0) for row in rows])}
    if text_folder().is_dir():
        found["built-in encoder (has seen the true labels)"] = text_features(texts, "builtin")
    return found


def mislabels(rows: int = 400) -> dict[str, Any]:
    """SST-2 sentences, 10 % of the training labels flipped: which values find them?"""
    if not (DATA / "sst2.tsv.gz").exists():
        print(f"SST-2 skipped: no sst2.tsv.gz in {DATA}")
        return {}
    texts, y, test_texts, test_y = sst2_rows(rows, 300)
    wrong = np.zeros(rows, dtype=bool)
    wrong[np.random.default_rng(SEED + 1).permutation(rows)[: rows // 10]] = True
    found: dict[str, Any] = {}
    for encoder, raw in encodings(texts + test_texts).items():
        features = (raw - raw[:rows].mean(axis=0)) / raw[:rows].std(axis=0)
        data = split(features[:rows], np.where(wrong, 1 - y, y), features[rows:], test_y)
        ridge = RidgeUtility(data, l2=50.0)
        scores = {
            "KNN-Shapley": knn_shapley(data, 5).credit,
            "Data Shapley, ridge, 4,000 payoffs": data_shapley(ridge, 4000, SEED).credit,
            "influence, logistic": influence(Softmax(data, 0.05)).attribution().credit,
            "datamodels, ridge, 2,000 subsets": datamodels(ridge, 2000, seed=SEED).attribution().credit,
            "random": np.random.default_rng(SEED).normal(size=rows),
        }
        full = float(ridge.payoff(np.ones((1, rows), bool))[0])
        print(f"\nSST-2, {rows} sentences, {rows // 10} labels flipped, {encoder}, ridge accuracy {full:.3f}: mislabel AUC")
        for name, credit in scores.items():
            area = mislabel_auc(credit, wrong)
            print(f"  {name:38s} {area}")
            found[f"mislabel AUC {encoder}: {name}"] = [area.value, area.low, area.high]
    return found


def digits_network(rows: int = 300, targets: int = 40) -> tuple[Split, Callable[[int], TorchTraining]]:
    """Handwritten digits (8 × 8) and a small network."""
    import torch
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))[: rows + targets]
    x, y = digits.data[order] / 16 - 0.3, digits.target[order]
    data = split(x[:rows], y[:rows], x[rows:], y[rows:])

    def build() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(64, 24), torch.nn.Tanh(), torch.nn.Linear(24, 10))

    recipe = Recipe(epochs=150, rate=0.02, weight_decay=5e-4)
    return data, lambda seed: TorchTraining(data, build, recipe, "neg_log_loss", seed=seed)


def lds(subsets: int = 600, judges: int = 120, seeds: int = 2) -> dict[str, Any]:
    """Digits, a 64-24-10 tanh network: LDS of influence functions and datamodels, each with its interval.

    The judging subsets are trained with `seeds` seeds each and averaged; damping is chosen on other subsets than those
    that judge.
    """
    import torch

    torch.set_num_threads(1)
    data, game = digits_network()
    truth_masks = random_subsets(len(data), judges, 0.5, SEED + 100)
    truth = np.mean([game(seed).retrain(truth_masks)[1] for seed in range(1, 1 + seeds)], axis=0)
    masks = random_subsets(len(data), subsets, 0.5, SEED)
    outputs = game(0).retrain(masks)[1]
    half = judges // 2
    scores: dict[str, FloatArray] = {}
    model = TorchObjective(data, game(0).teach(np.ones(len(data), bool)), 5e-4)
    tried = {}
    for damping in (0.0, 2e-3, 1e-2, 5e-2):
        matrix = influence(model, GaussNewton(), damping=damping).matrix
        tried[damping] = (linear_datamodeling_score(matrix, masks[:half], outputs[:half]).value, matrix)
    chosen = max(tried, key=lambda d: tried[d][0])
    scores[f"influence, Gauss–Newton, damping {chosen:g}"] = tried[chosen][1]
    scores["influence, Gauss–Newton, no damping"] = tried[0.0][1]
    for count in (subsets // 3, subsets):
        fitted = fit_datamodels(data.names, data.targets, masks[:count], outputs[:count], fraction=0.5)
        scores[f"datamodels, {count} trainings"] = fitted.weights
    scores["random"] = np.random.default_rng(SEED).normal(size=(len(data), len(data.targets)))
    print(f"\ndigits network, {len(data)} rows, {judges} judging subsets × {seeds} seeds, {len(data.targets)} targets: LDS")
    found: dict[str, Any] = {}
    for name, matrix in scores.items():
        score = linear_datamodeling_score(matrix, truth_masks, truth)
        print(f"  {name:44s} {score}")
        found[f"LDS {name}"] = [score.value, score.low, score.high]
    return found


def retraining() -> dict[str, Any]:
    """Influence of logistic regression against 300 true leave-one-out trainings (breast cancer, 5 % labels flipped)."""
    from sklearn.datasets import load_breast_cancer

    from accredit.evaluate.data import retraining_correlation

    breast = load_breast_cancer()
    rows = np.random.default_rng(SEED).permutation(len(breast.target))[:360]
    x, y = (breast.data - breast.data.mean(axis=0)) / breast.data.std(axis=0), breast.target.copy()
    y[rows[:15]] = 1 - y[rows[:15]]
    data = split(x[rows[:300]], y[rows[:300]], x[rows[300:]], y[rows[300:]])
    model = Softmax(data, 0.01)
    matrix = influence(model).matrix
    truth = np.empty_like(matrix)
    for row in range(300):
        weights = np.ones(300)
        weights[row] = 0.0
        truth[row] = Softmax(data, 0.01, rows=weights, start=model.theta).losses() - model.losses()
    agreement = retraining_correlation(matrix, truth)
    print(f"\ninfluence against 300 retrainings, Spearman: {agreement}")
    return {"influence Spearman": [agreement.value, agreement.low, agreement.high]}


def leverage(tests: int = 40) -> dict[str, Any]:
    """Logistic regression of few rows: how many times larger than its influence is the effect of a row that really leaves?

    Least squares of true leave-one-out trainings on the estimates of 40 rows, without and with the row's own curvature.
    """
    found: dict[str, Any] = {}
    for name, rows, decay in itertools.product(("breast cancer", "wine", "SST-2"), (60, 120), (0.01, 0.001)):
        data = drawn(*rows_of(name), rows, tests, 0, SEED, level=True)
        model, left = Softmax(data, decay), np.random.default_rng(SEED).permutation(rows)[:tests]
        weights = [(np.arange(rows) != row).astype(float) for row in left]
        truth = np.array([Softmax(data, decay, rows=w, start=model.theta).losses() for w in weights]) - model.losses()
        for corrected in (False, True):
            matrix = influence(model, leverage=corrected).matrix[left]
            scale, off = (matrix * truth).sum() / (matrix**2).sum(), np.linalg.norm(matrix - truth) / np.linalg.norm(truth)
            label = f"{name}, {rows} rows, decay {decay:g}, {'leverage' if corrected else 'first order'}"
            print(f"  {label:52s} truth {scale:.2f} times as large, relative error {off:.3f}", flush=True)
            found[f"leave-one-out of {label}"] = [float(scale), float(off)]
    return found


def logistic_cost() -> dict[str, Any]:
    """One retraining of logistic regression with 400 rows and 50 columns, in milliseconds: what a Data Shapley payoff costs."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(SEED)
    y = np.arange(500) % 2
    x = rng.normal(size=(500, 50)) + 0.3 * y[:, None]
    game = Retraining(split(x[:400], y[:400], x[400:], y[400:]), LogisticRegression(max_iter=1000))
    masks = random_subsets(400, 50, 0.5, SEED)
    ridge = RidgeUtility(game.data)
    return {
        "logistic ms a payoff": 1000 * best_of(lambda: game.payoff(masks), 2) / 50,
        "ridge ms a payoff": 1000 * best_of(lambda: ridge.payoff(masks), 2) / 50,
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "knn": knn,
    "lasso": multi_target_lasso,
    "scheduler": scheduler,
    "journal": journal_speed,
    "shared": shared_journal,
    "cost": logistic_cost,
    "retraining": retraining,
    "leverage": leverage,
    "mislabels": mislabels,
    "lds": lds,
    "network": network_scale,
    "search": stored_search,
    "neighbours": neighbours_at_scale,
    "datamodels": datamodels_at_scale,
} | {f"network {name}": partial(judge_network, name) for name in NETWORKS}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help=f"some of {', '.join(PARTS)}")
    given = parser.parse_args().only
    chosen = given.split(",") if given else list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"--only {unknown[0]!r} is not a part; choose some of {', '.join(PARTS)}")
    results: dict[str, Any] = {"python": sys.version.split()[0], "numpy": np.__version__}
    for name in chosen:
        found = PARTS[name]()
        for label, value in found.items():
            if isinstance(value, float):
                print(f"{label}: {value:.4g}")
        results |= found
    record(results)


if __name__ == "__main__":
    main()
