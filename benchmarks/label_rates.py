"""Wrong labels at several rates: how near the estimated rate and the stated precision of the list come, on texts and tables.

    python -m benchmarks.label_rates [DATA …]        # some of agnews, sst2, digits, cancer, made

A share of the labels of 1,000 rows is moved to another class at random; the rows' own labels are taken for right, though some
of AG News are not. Only the out-of-fold models are asked, twice, as `wrong_labels` asks them; the scores that it compares by
planted flips are left out. Nothing was chosen by draws from 500 on. Ends with one JSON line.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, IntArray
from accredit.core.threads import one_thread
from accredit.labels import scores as label_scores
from accredit.labels.find import COMBINED, WANTED, _make_list, _Scored
from accredit.labels.out_of_fold import belief, likeliest_penalty, out_of_fold, pool, pool_shares
from accredit.labels.planted_flips import find_share
from accredit.labels.scores import View
from benchmarks.record import record

DATA = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROWS, RATES, FIRST, DRAWS = 1000, (0.02, 0.05, 0.1, 0.2), 500, 5
TEXTS = {"agnews": "ag_news_10k.tsv.gz", "sst2": "sst2.tsv.gz"}
TABLES = ("digits", "cancer", "made")


def rows_of(name: str, seed: int) -> tuple[View, IntArray]:
    """Some rows of a data set as `wrong_labels` sees them, and their labels."""
    rng = np.random.default_rng(seed)
    if name in TEXTS:
        with gzip.open(DATA / TEXTS[name], "rt", encoding="utf-8") as lines:
            found = [line.rstrip("\n").split("\t") for line in lines if line.startswith("test\t")]
        found = [found[i] for i in rng.permutation(len(found))[:ROWS]]
        return label_scores.text_views([row[2] for row in found])["words"], np.array([int(row[1]) for row in found])
    x, y = _table(name)
    chosen = rng.permutation(len(y))[:ROWS]
    return label_scores.scale(x[chosen], name), y[chosen]


def _table(name: str) -> tuple[Any, IntArray]:
    from sklearn.datasets import load_breast_cancer, load_digits, make_classification

    if name == "made":
        return make_classification(3000, 20, n_informative=8, n_classes=4, flip_y=0, random_state=0)
    data = load_digits() if name == "digits" else load_breast_cancer()
    return data.data, data.target


def one(name: str, rate: float, seed: int) -> dict[str, float]:
    """Estimated rate, area, and stated beside true precision of one draw, and whether that is inside the interval; without a
    list there are none of these."""
    view, true = rows_of(name, seed)
    rng = np.random.default_rng([seed, 1])
    wrong: BoolArray = np.zeros(len(true), dtype=bool)
    wrong[rng.permutation(len(true))[: round(rate * len(true))]] = True
    classes = int(true.max()) + 1
    y = np.where(wrong, (true + rng.integers(1, classes, size=len(true))) % classes, true)
    with one_thread():
        penalty = likeliest_penalty(view, y, seed)
        first = list(out_of_fold(view, y, seed, penalty=penalty).values())
        shares = pool_shares(first, y)
        logs = pool(first, shares)
        again = out_of_fold(view, y, seed, belief(logs, y), penalty)
    score = label_scores.margin(logs + pool(list(again.values()), shares), y)
    order = np.argsort(score, kind="stable")
    seen = _Scored({}, logs, logs.argmax(axis=1) == y)
    about = _make_list(order, seen, y, COMBINED, [], WANTED)
    listed = list(about.suspects)
    found = {"rate": about.rate, "AUC": find_share(score, wrong), "listed": float(len(listed))}
    if listed:
        true_share, (low, high) = float(wrong[listed].mean()), about.precision_interval
        found |= {"stated": about.precision, "true": true_share, "inside": float(low <= true_share <= high)}
    return found


def figures(name: str) -> dict[str, Any]:
    """The mean over draws at every rate, and the draws that had a list."""
    results: dict[str, Any] = {}
    for rate in RATES:
        each = [one(name, rate, seed) for seed in range(FIRST, FIRST + DRAWS)]
        keys = ("rate", "AUC", "listed", "stated", "true", "inside")
        mean = {key: float(np.mean([e[key] for e in each if key in e] or [np.nan])) for key in keys}
        lists = sum("stated" in e for e in each)
        print(
            f"{name}, {rate:.0%} moved: " + ", ".join(f"{k} {v:.3f}" for k, v in mean.items()) + f"; {lists} lists",
            flush=True,
        )
        results[f"{name}, {rate:.0%}"] = {k: None if np.isnan(v) else v for k, v in mean.items()} | {"lists": lists}
    return results


if __name__ == "__main__":
    began = time.process_time()
    found: dict[str, Any] = {}
    for data in sys.argv[1:] or (*TEXTS, *TABLES):
        found |= figures(data)
    record(found | {"CPU seconds": time.process_time() - began})
