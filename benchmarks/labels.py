"""Wrong labels as people make them: how right the lists, the rates and the stated precisions are, beside cleanlab.

    python -m benchmarks.labels [--seeds FIRST COUNT] [--wrong SHARE] [--unseen | --sets NAME ...]

Six data sets × four kinds of noise and none (`noisy_labels.py`), 500 rows each, three draws; with --unseen, twelve others: 20
classes, a class of 2 %, 60 to 200 rows, 2,000 columns, other texts. cleanlab runs in an environment of its own, if `make peers`
has made one; it gets the same features, with logistic regression, a support vector machine and a forest. Constants were chosen
on draws 0 and 1 of the six, of wine and iris; how a list is cut and classes are levelled, on draw 0 of five of the six and draw
200 of the twelve. Nothing was chosen on draws from 401 on. `reliability` compares stated probabilities with the share of labels
that were wrong. Ends with one JSON line.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, IntArray
from accredit.core.threads import one_thread
from accredit.errors import InvalidInput
from accredit.labels import wrong_labels
from accredit.labels.out_of_fold import FOLDS, rotate
from accredit.labels.row_views import scale
from benchmarks.noisy_labels import CLEAN, DATA_SETS, EVERY_SET, NOISES, UNSEEN, WRONG, Draw, draw
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side
from benchmarks.record import record

ROWS_FOR_PEERS = 6  # of every class, below which a calibrated support vector machine inside five folds has too few
STEPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)  # of stated probabilities


def ours(drawn: Draw, seed: int) -> tuple[dict[str, float], FloatArray | None]:
    """List, rate and precision of `wrong_labels`, and the probability of each label (N,)."""
    began = time.process_time()
    found = wrong_labels(drawn.given, features=drawn.x, seed=seed)
    seconds = time.process_time() - began
    wrong = drawn.wrong
    figures = of_list(np.array(found.suspects, dtype=int), wrong)
    figures |= {"CPU seconds": seconds, "rate error": abs((found.rate or 0.0) - wrong.mean()), "rate": found.rate or 0.0}
    figures |= {"listed": len(found.suspects) / len(wrong), "silent": float(found.probability is None)}
    if found.rate_interval is not None:
        figures["rate inside"] = float(found.rate_interval[0] <= wrong.mean() <= found.rate_interval[1])
    if found.probability is not None and wrong.any():
        figures |= {"AUC": area(-found.probability, wrong), "Brier": float(((found.probability - wrong) ** 2).mean())}
    if found.precision is not None and found.precision_interval is not None:
        low, high = found.precision_interval
        figures |= {"stated": found.precision, "inside": float(low <= figures["precision"] <= high), "width": high - low}
    return figures, found.probability


def reliability(pairs: list[tuple[FloatArray, BoolArray]]) -> list[dict[str, float]]:
    """Stated probabilities beside the share of labels that were wrong, step by step."""
    stated, wrong = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    step = np.clip(np.searchsorted(STEPS, stated, side="right") - 1, 0, len(STEPS) - 2)
    return [
        {"stated": float(stated[step == k].mean()), "wrong": float(wrong[step == k].mean()), "labels": int((step == k).sum())}
        for k in np.unique(step).tolist()
    ]


def of_list(listed: IntArray, wrong: BoolArray) -> dict[str, float]:
    """How right a list is; an empty one has no precision."""
    hits = wrong[listed].sum()
    found = {"recall": float(hits / max(1, wrong.sum())), "empty": float(not len(listed))}
    found["F1"] = float(2 * hits / max(1, len(listed) + wrong.sum()))
    return found | ({"precision": float(wrong[listed].mean())} if len(listed) else {})


def area(score: FloatArray, wrong: BoolArray) -> float:
    """The chance that a wrong label scores below a right one."""
    from scipy.stats import rankdata

    ranks, count = rankdata(-score), int(wrong.sum())
    return float((ranks[wrong].sum() - count * (count + 1) / 2) / (count * (len(score) - count)))


def peers(drawn: Draw, seed: int) -> dict[str, dict[str, float]]:
    """cleanlab's lists from out-of-fold probabilities of three ordinary models on the same features."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.svm import SVC

    x, y = rotate(scale(drawn.x, "x")), drawn.given
    folds = StratifiedKFold(min(FOLDS, int(np.bincount(y).min())), shuffle=True, random_state=seed)
    models = {
        "logistic": LogisticRegression(C=0.1, max_iter=300),
        "SVC": CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
        "forest": RandomForestClassifier(100, random_state=0),
    }
    with one_thread():
        arrays = {n: cross_val_predict(model, x, y, cv=folds, method="predict_proba") for n, model in models.items()}
    said = side("cleanlab", "data").call("cleanlab_lists", y=y, **arrays)
    return {
        f"cleanlab, {name}": of_list(listed, drawn.wrong)
        | {"rate error": abs(len(listed) / len(y) - drawn.wrong.mean()), "listed": len(listed) / len(y)}
        | ({"AUC": area(scores, drawn.wrong)} if drawn.wrong.any() else {})
        for name in models
        for listed, scores in [(said[f"{name}.listed"], said[f"{name}.quality"])]
    }


def main() -> None:
    """All draws, then the means over each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(100, 3), metavar=("FIRST", "COUNT"))
    parser.add_argument("--wrong", type=float, default=WRONG)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--sets", nargs="+", choices=EVERY_SET, metavar="NAME")
    asked = parser.parse_args()
    each: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    pairs: list[tuple[FloatArray, BoolArray]] = []
    blind, refused, beside = 0, 0, ready(PINS["cleanlab"]) is not None
    for name in asked.sets or (UNSEEN if asked.unseen else DATA_SETS):
        for noise in (*NOISES, CLEAN):
            for seed in range(asked.seeds[0], sum(asked.seeds)):
                drawn = draw(name, noise, seed, wrong=asked.wrong)
                try:
                    found, probability = ours(drawn, seed)
                except InvalidInput as error:
                    print(f"{noise}, {name}, {seed}: refused: {error}", flush=True)
                    refused += 1
                    continue
                if probability is not None and noise != CLEAN:
                    pairs.append((probability, drawn.wrong))
                blind += bool(found["empty"] and found.get("AUC", 0.0) >= 0.8)
                each["accredit", noise].append(found)
                print(f"{noise}, {name}, {seed}: " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()), flush=True)
                rare = np.bincount(drawn.given)[np.unique(drawn.given)].min() < ROWS_FOR_PEERS
                for peer, said in (peers(drawn, seed) if beside and not rare else {}).items():
                    each[peer, noise].append(said)
                    print(f"  {peer}: " + ", ".join(f"{k} {v:.3f}" for k, v in said.items()), flush=True)
    results: dict[str, Any] = {
        "empty lists beside an area of 0.8": blind,
        "refused": refused,
        "reliability": reliability(pairs),
    }
    for (who, noise), runs in each.items():
        keys = sorted({key for run in runs for key in run})
        results[f"{who}, {noise}"] = {k: float(np.mean([run[k] for run in runs if k in run])) for k in keys} | {
            "runs": len(runs)
        }
        print(f"{who}, {noise}: " + ", ".join(f"{k} {v:.3f}" for k, v in results[f"{who}, {noise}"].items()))
    record(results)


if __name__ == "__main__":
    main()
