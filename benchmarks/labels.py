"""Wrong labels as people make them: how right the lists, the rates and the stated precisions are, beside cleanlab.

    python -m benchmarks.labels [--cleanlab PYTHON] [--seeds FIRST COUNT] [--wrong SHARE] [--unseen | --sets NAME ...]
                                [--parts FILE]

Six data sets × four kinds of noise and none (`noisy_labels.py`), 500 rows each, three draws; with --unseen, twelve others: 20
classes, a class of 2 %, 60 to 200 rows, 2,000 columns, other texts. cleanlab runs in an environment of its own (PYTHON is the
interpreter of one where it is installed); it gets the same features, with logistic regression, a support vector machine and a
forest. Constants were chosen on draws 0 and 1 of the six, of wine and iris; how a list is cut and classes are levelled, on
draw 0 of five of the six and draw 200 of the twelve. Nothing was chosen on draws from 401 on. `claimed` is the lower end of
the interval of the rate: 0 where hard rows explain all that is seen. `reliability` compares stated
probabilities with the share of labels that were wrong. With --parts, every draw is kept in FILE as it is done, and a run that
was broken off goes on there. Ends with one JSON line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, IntArray
from accredit.core.threads import one_thread
from accredit.errors import InvalidInput
from accredit.labels import wrong_labels
from accredit.labels.out_of_fold import FOLDS, rotate
from accredit.labels.row_views import scale
from benchmarks.noisy_labels import CLEAN, DATA_SETS, EVERY_SET, NOISES, UNSEEN, WRONG, Draw, draw
from benchmarks.record import record

CLEANLAB = """
import json, sys
import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
arrays = np.load(sys.argv[1])
y, answers = arrays["y"], {}
for name in arrays.files:
    if name != "y":
        listed = find_label_issues(y, arrays[name], return_indices_ranked_by="self_confidence")
        answers[name] = [listed.tolist(), get_label_quality_scores(y, arrays[name]).tolist()]
print(json.dumps(answers))
"""


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
        figures |= {"claimed": found.rate_interval[0], "at most": found.rate_interval[1]}
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


def peers(drawn: Draw, seed: int, python: str) -> dict[str, dict[str, float]]:
    """cleanlab's lists from out-of-fold probabilities of three ordinary models on the same features."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.svm import SVC

    x, y = rotate(scale(drawn.x, "x")), drawn.given
    folds = StratifiedKFold(min(FOLDS, int(np.unique(y, return_counts=True)[1].min())), shuffle=True, random_state=seed)
    models = {
        "logistic": LogisticRegression(C=0.1, max_iter=300),
        "SVC": CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
        "forest": RandomForestClassifier(100, random_state=0),
    }
    with one_thread():
        arrays = {n: cross_val_predict(model, x, y, cv=folds, method="predict_proba") for n, model in models.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.npz"
        np.savez(file, y=y, **arrays)
        said = json.loads(subprocess.run([python, "-c", CLEANLAB, file], check=True, capture_output=True, text=True).stdout)
    return {
        f"cleanlab, {name}": of_list(np.array(listed, dtype=int), drawn.wrong)
        | {"rate error": abs(len(listed) / len(y) - drawn.wrong.mean()), "listed": len(listed) / len(y)}
        | ({"AUC": area(np.array(scores), drawn.wrong)} if drawn.wrong.any() else {})
        for name, (listed, scores) in said.items()
    }


Key = tuple[str, str, int, float, str]


@dataclass(frozen=True)
class Part:
    """What was measured on one draw; every figure by who answered."""

    name: str
    noise: str
    seed: int
    share: float  # of labels that were made wrong
    beside: str  # the interpreter of the peers; empty where none was asked
    figures: dict[str, dict[str, float]]
    stated: list[float]  # probabilities of all labels; empty where nobody is accused
    wrong: list[bool]
    refused: str = ""

    @property
    def key(self) -> Key:
        return self.name, self.noise, self.seed, self.share, self.beside


def measure(name: str, noise: str, seed: int, wrong: float, python: str) -> Part:
    """One draw, judged by us and, where `python` names their interpreter, by peers."""
    drawn = draw(name, noise, seed, wrong=wrong)
    try:
        found, probability = ours(drawn, seed)
    except InvalidInput as error:
        return Part(name, noise, seed, wrong, python, {}, [], [], str(error))
    rare = np.bincount(drawn.given)[np.unique(drawn.given)].min() < ROWS_FOR_PEERS
    theirs = peers(drawn, seed, python) if python and not rare else {}
    stated = [] if probability is None else probability.round(6).tolist()
    return Part(name, noise, seed, wrong, python, {"accredit": found} | theirs, stated, drawn.wrong.tolist())


def show(part: Part) -> None:
    """One line for everybody who answered."""
    print(f"{part.noise}, {part.name}, {part.seed}: {f'refused: {part.refused}' if part.refused else ''}")
    for who, found in part.figures.items():
        print(f"  {who}: " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()), flush=True)


def kept_parts(file: Path | None) -> dict[Key, Part]:
    """Draws that an earlier run has measured; one that was asked otherwise does not count."""
    if file is None or not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return {part.key: part for part in (Part(**json.loads(line)) for line in lines)}


def summarise(parts: list[Part]) -> dict[str, Any]:
    """Means over each kind of noise, and what is counted over all."""
    each: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for part in parts:
        for who, found in part.figures.items():
            each[who, part.noise].append(found)
    answered = [part for part in parts if part.stated and part.noise != CLEAN]
    mine = [part.figures["accredit"] for part in parts if part.figures]
    results: dict[str, Any] = {
        "empty lists beside an area of 0.8": sum(bool(one["empty"] and one.get("AUC", 0.0) >= 0.8) for one in mine),
        "refused": sum(bool(part.refused) for part in parts),
        "reliability": reliability([(np.array(part.stated), np.array(part.wrong)) for part in answered]),
    }
    for (who, noise), runs in each.items():
        keys = sorted({key for run in runs for key in run})
        means = {k: float(np.mean([run[k] for run in runs if k in run])) for k in keys}
        results[f"{who}, {noise}"] = means | {"runs": len(runs)}
        print(f"{who}, {noise}: " + ", ".join(f"{k} {v:.3f}" for k, v in results[f"{who}, {noise}"].items()))
    return results


def main() -> None:
    """All draws, then the means over each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleanlab", default="", metavar="PYTHON")
    parser.add_argument("--seeds", nargs=2, type=int, default=(100, 3), metavar=("FIRST", "COUNT"))
    parser.add_argument("--wrong", type=float, default=WRONG)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--sets", nargs="+", choices=EVERY_SET, metavar="NAME")
    parser.add_argument("--parts", type=Path, metavar="FILE")
    asked = parser.parse_args()
    kept = kept_parts(asked.parts)
    parts = []
    for seed in range(asked.seeds[0], sum(asked.seeds)):
        for name in asked.sets or (UNSEEN if asked.unseen else DATA_SETS):
            for noise in (*NOISES, CLEAN):
                key = (name, noise, seed, asked.wrong, asked.cleanlab)
                part = kept.get(key) or measure(name, noise, seed, asked.wrong, asked.cleanlab)
                if asked.parts and part.key not in kept:
                    with asked.parts.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(vars(part)) + "\n")
                show(part)
                parts.append(part)
    record(summarise(parts))


if __name__ == "__main__":
    main()
