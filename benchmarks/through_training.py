"""Influence through training over many recipes: does the smoothness certificate know which of them can be differentiated?

    python -m benchmarks.through_training [--subsets 60] [--recipes first | fresh | scheduled]

Every recipe trains a small network on 500 handwritten digits. The derivative is judged by the linear datamodeling score:
training again on random halves, with the same batches and the rows that left at weight 0. The certificate trains on
other weights. Ends with one JSON line: the rank correlation of certificate and score, and both for every recipe.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from accredit.core import BoolArray
from accredit.core.statistics import rank_correlation
from accredit.evaluate.data import linear_datamodeling_score
from accredit.influence.losses import Batch
from accredit.influence.through_training import derivative, measure_smoothness
from accredit.influence.training_runs import TrainingRun, training_run
from accredit.valuation import Recipe, random_subsets
from benchmarks.networks import DECAY, batch, digits
from benchmarks.record import record

RECIPES = {
    "SGD momentum, rate .2, all rows": Recipe(100, 0.2, DECAY, None, "sgd", momentum=0.9),
    "SGD momentum, rate .05": Recipe(20, 0.05, DECAY, 50, "sgd", momentum=0.9),
    "SGD momentum, rate .02": Recipe(20, 0.02, DECAY, 50, "sgd", momentum=0.9),
    "SGD momentum, rate .3": Recipe(20, 0.3, DECAY, 50, "sgd", momentum=0.9),
    "Adam, rate .02, eps 1e-8": Recipe(30, 0.02, DECAY, 100, "adam"),
    "Adam, rate .02, eps 1e-3": Recipe(30, 0.02, DECAY, 100, "adam", eps=1e-3),
    "Adam, rate .02, eps 1e-2": Recipe(30, 0.02, DECAY, 100, "adam", eps=1e-2),
    "Adam, rate .003, eps 1e-8": Recipe(30, 0.003, DECAY, 100, "adam"),
    "AdamW, rate .02, eps 1e-4, all rows": Recipe(100, 0.02, 1e-2, None, "adamw", eps=1e-4),
    "Adam, rate .005, eps 1e-8, all rows": Recipe(100, 0.005, DECAY, None, "adam"),
}
FRESH = {  # none was looked at before the limit of the certificate was chosen; networks of two hidden layers, other rows
    "SGD, rate .1": Recipe(15, 0.1, DECAY, 50, "sgd"),
    "SGD momentum, rate .1": Recipe(15, 0.1, DECAY, 50, "sgd", momentum=0.9),
    "AdamW, rate .001, eps 1e-8": Recipe(25, 0.001, 1e-2, 50, "adamw"),
    "AdamW, rate .01, eps 1e-8": Recipe(25, 0.01, 1e-2, 100, "adamw"),
    "Adam, rate .01, eps 1e-3": Recipe(25, 0.01, DECAY, 100, "adam", eps=1e-3),
}
SCHEDULED = {  # nor these, on the same networks and rows
    "SGD momentum, rate .2, cosine": Recipe(15, 0.2, DECAY, 50, "sgd", momentum=0.9, schedule="cosine"),
    "SGD momentum, rate .1, a tenth after 10 epochs": Recipe(
        15, 0.1, DECAY, 50, "sgd", momentum=0.9, schedule="step", step_size=10
    ),
    "AdamW, rate .003, eps 1e-8, warm-up, linear": Recipe(20, 0.003, 1e-2, 50, "adamw", schedule="linear", warmup_steps=20),
    "Adam, rate .02, eps 1e-3, warm-up, cosine": Recipe(
        20, 0.02, DECAY, 100, "adam", eps=1e-3, schedule="cosine", warmup_steps=10
    ),
}
KINDS = {"first": RECIPES, "fresh": FRESH, "scheduled": SCHEDULED}


def judge(run: TrainingRun, tests: Batch, masks: BoolArray, name: str) -> dict[str, Any]:
    """The score of the derivative, its certificate, and the CPU seconds of both."""
    began = time.process_time()
    slope = derivative(run, tests, "margin")
    spent = time.process_time() - began
    known = measure_smoothness(run, tests, "margin", slope)
    certified = time.process_time() - began - spent
    truth = run.retrain(masks.astype(float), tests, "margin")
    score = linear_datamodeling_score(slope, masks, truth).value
    print(
        f"  {name:44s} LDS {score:6.3f}, agreement {known.agreement[known.reach]:6.3f} ± {known.stderr:.3f}, "
        f"{known.verdict.value:11s} {spent:.1f} + {certified:.1f} CPU s",
        flush=True,
    )
    return {
        "LDS": score,
        "agreement": known.agreement[known.reach],
        "standard error": known.stderr,
        "verdict": known.verdict.value,
        "CPU seconds": [spent, certified],
    }


def judged_recipes(subsets: int, kind: str) -> dict[str, Any]:
    """Every activation with every recipe, judged."""
    import torch

    torch.set_num_threads(1)
    fresh = kind != "first"
    data = digits(seed=int(fresh))
    tests, masks = batch(data.test_x, data.test_y), random_subsets(len(data), subsets, 0.5, 777 + fresh)
    activations = (torch.nn.Tanh, torch.nn.SiLU if fresh else torch.nn.GELU, torch.nn.ReLU)
    results: dict[str, Any] = {}
    for activation in activations:
        for name, recipe in KINDS[kind].items():
            torch.manual_seed(0)
            deeper = [torch.nn.Linear(32, 32), activation()] if fresh else []
            layers = [torch.nn.Linear(64, 32), activation(), *deeper, torch.nn.Linear(32, 10)]
            run = training_run(torch.nn.Sequential(*layers), batch(data.x, data.y), recipe, loss="classification")
            label = f"{activation.__name__}, {name}"
            results[label] = judge(run, tests, masks, label)
    return results


def agreement_with_scores(found: dict[str, Any]) -> float:
    """The rank correlation of certificate and score, printed with the scores of each verdict."""
    scores, agreement = (np.array([row[key] for row in found.values()]) for key in ("LDS", "agreement"))
    correlation = float(rank_correlation(agreement[None], scores[None])[0])
    print(f"rank correlation of certificate and score, {len(found)} recipes: {correlation:.3f}")
    for verdict in sorted({row["verdict"] for row in found.values()}):
        named = [row["LDS"] for row in found.values() if row["verdict"] == verdict]
        print(f"  {verdict}: {len(named)}, LDS {min(named):.3f} to {max(named):.3f}")
    return correlation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subsets", type=int, default=60, help="retrainings on random halves that judge a recipe")
    parser.add_argument("--recipes", choices=KINDS, default="first", help="the certificate's limit was chosen on the first")
    given = parser.parse_args()
    found = judged_recipes(given.subsets, given.recipes)
    record({"rank correlation": agreement_with_scores(found), "recipes": found})


if __name__ == "__main__":
    main()
