"""What metrics cost beside the model passes they need, and against Quantus at equal work.

    python -m benchmarks.arena [--quick]

Prints tables and ends with one JSON line. Quantus runs in an environment of its own, if `make peers` has
made one. One thread each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from accredit.arena.contest import DEFAULT_METRICS, metrics_named
from accredit.arena.texts import load, sample
from accredit.core import Attribution
from accredit.core.coalitions import unique
from accredit.evaluate import Deletion, NotApplicable, SensitivityN, measure, measure_all, random_scores
from accredit.games import FunctionGame, text_game
from accredit.values import leave_one_out
from benchmarks.apart import apart
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import Answer, side
from benchmarks.record import record

METRICS = metrics_named(DEFAULT_METRICS)  # those of a contest of texts
PIXELS = 784
IMAGES = 8
RUNS = 100  # removals of one size
SIZE = 224  # pixels removed at once


def cpu(work: Callable[[], Any], repeats: int) -> float:
    """Least CPU seconds of several runs."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def metric_overhead(sentences: int, repeats: int) -> list[dict[str, float]]:
    """All metrics of three explanations, against the payoffs of the same distinct coalitions and nothing else."""
    model, found = load("builtin"), []
    for example in sample()[:sentences]:
        game = text_game(model, example.text, players="word", payoff="probability")
        results = {f"random {k}": random_scores(game, k) for k in range(2)} | {"leave-one-out": leave_one_out(game)}
        plans = []
        for metric, result in product(METRICS, results.values()):
            with suppress(NotApplicable):  # infidelity of scores
                plans.append(metric.plan(result))
        asked, _ = unique(np.concatenate(plans))
        bare = cpu(lambda game=game, asked=asked: game.payoff(asked), repeats)
        whole = cpu(lambda game=game, results=results: measure_all(game, results, METRICS), repeats)
        found.append({"players": len(game.players), "payoffs": len(asked), "passes_s": bare, "metrics_s": whole})
    return found


def picture_subject() -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """A small convolutional net with fixed random weights, images, their predicted classes and attributions."""
    import torch

    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 5, stride=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 16, 5, stride=2),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(256, 10),
        ).eval()
    rng = np.random.default_rng(0)
    x = rng.random((IMAGES, 1, 28, 28)).astype(np.float32)
    with torch.inference_mode():
        y = net(torch.from_numpy(x)).argmax(dim=1).numpy()
    return net, x, y, rng.normal(size=(IMAGES, 1, 28, 28)).astype(np.float32)


def ours() -> dict[str, Any]:
    """Deletion by single pixels, and sensitivity-n at one size, image by image."""
    import torch

    net, x, y, a = picture_subject()
    names = tuple(f"pixel {k}" for k in range(PIXELS))

    def game(k: int) -> FunctionGame:
        flat, target = torch.from_numpy(x[k].reshape(1, -1)), int(y[k])

        def payoff(coalitions: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                kept = torch.where(torch.from_numpy(coalitions), flat, 0.0).reshape(-1, 1, 28, 28)
                return torch.softmax(net(kept), dim=1)[:, target].double().numpy()

        return FunctionGame(names, payoff)

    played = [(game(k), Attribution(names, a[k].ravel(), None, "noise")) for k in range(IMAGES)]
    curve, correlation = Deletion(), SensitivityN(at=(SIZE,), removals=RUNS)
    curves = [g.payoff(curve.plan(r)) for g, r in played]
    return {
        "deletion_s": cpu(lambda: [measure(curve, g, r) for g, r in played], 3),
        "sensitivity_s": cpu(lambda: [measure(correlation, g, r) for g, r in played], 3),
        "curve": np.array(curves)[:, 1:].tolist(),
    }


def theirs() -> Answer:
    """The same by Quantus: pixel flipping in steps of one, and faithfulness correlation with as many runs."""
    net, x, y, a = picture_subject()
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    return side("quantus", "metrics").call("quantus_metrics", x=x, y=y, a=a, runs=RUNS, size=SIZE, **weights)


def main() -> None:
    """Print the tables and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    found = metric_overhead(5 if options.quick else 40, 2 if options.quick else 3)
    passes, whole = (sum(row[key] for row in found) for key in ("passes_s", "metrics_s"))
    print(f"{len(METRICS)} metrics of 3 explanations, {len(found)} sentences, built-in model, CPU seconds")
    print(f"  distinct coalitions {sum(row['payoffs'] for row in found):,}")
    print(
        f"  their payoffs alone {passes:8.2f}\n  metrics in all      {whole:8.2f}\n  ratio               {whole / passes:8.3f}"
    )
    result: dict[str, Any] = {"benchmark": "arena", "metric_cost_over_passes": round(whole / passes, 3)}
    if not ready(PINS["quantus"]):
        print("Quantus has no environment here and is left out; make peers makes one")
        result["quantus"] = "left out: no environment"
    else:
        mine, peer = apart("benchmarks.arena", "ours"), theirs()
        gap = float(np.abs(np.array(mine["curve"]) - peer["curve"]).max())
        print(
            f"\nagainst Quantus {PINS['quantus'].version}, {IMAGES} images of {PIXELS} pixels, equal model passes, CPU seconds"
        )
        for name, key in (
            (f"deletion, {PIXELS} steps", "deletion_s"),
            (f"sensitivity-n, {RUNS} removals of {SIZE}", "sensitivity_s"),
        ):
            print(f"  {name:36} ours {mine[key]:7.2f}  Quantus {peer[key]:7.2f}  ratio {peer[key] / mine[key]:6.1f}")
        print(f"  largest difference between the two deletion curves: {gap:.1e}")
        result["quantus"] = {
            "deletion_speedup": round(peer["deletion_s"] / mine["deletion_s"], 2),
            "sensitivity_n_speedup": round(peer["sensitivity_s"] / mine["sensitivity_s"], 2),
            "curve_gap": gap,
        }
    record(result)


if __name__ == "__main__":
    main()
