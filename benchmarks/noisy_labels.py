"""Real data with labels made wrong as people make them wrong: at random, by mistaking one class for another, where a row is
hard, and by careless annotators. Every draw takes its own rows and says which of its labels are wrong."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, IntArray

DATA = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
TEXTS = {"SST-2": "sst2.tsv.gz", "AG News": "ag_news_10k.tsv.gz"}
PICTURES = {"MNIST": "mnist.npz", "Fashion-MNIST": "fashion_mnist.npz"}
DATA_SETS = ("breast cancer", "digits", *PICTURES, *TEXTS)
NOISES = ("uniform", "class-dependent", "hard rows", "annotators")
ROWS, WRONG = 500, 0.1
ANNOTATORS = (0.02, 0.02, 0.04, 0.12, 0.3)  # how often each is wrong; the last takes neighbouring classes for each other


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows, their labels as given and as they were, and who gave them."""

    x: FloatArray  # (N, d)
    given: IntArray  # (N,)
    true: IntArray  # (N,)
    annotator: IntArray  # (N,), all 0 but where annotators differ

    @property
    def wrong(self) -> BoolArray:
        return np.asarray(self.given != self.true)


def draw(name: str, noise: str, seed: int, rows: int = ROWS, wrong: float = WRONG) -> Draw:
    """Some rows of the test part of a data set, about a share `wrong` of whose labels is not what it was."""
    rng = np.random.default_rng([seed, DATA_SETS.index(name), NOISES.index(noise)])
    x, y = rows_of(name)
    chosen = rng.permutation(len(y))[:rows]
    x, y = x[chosen], y[chosen]
    by = rng.integers(0, len(ANNOTATORS), size=len(y)) if noise == "annotators" else np.zeros(len(y), dtype=np.int64)
    return Draw(x, spoil(x, y, noise, rng, wrong, by), y, by)


def spoil(x: FloatArray, y: IntArray, noise: str, rng: np.random.Generator, wrong: float, by: IntArray) -> IntArray:
    """Labels (N,), some of them wrong in the way that `noise` names."""
    classes = int(y.max()) + 1
    anywhere = (y + rng.integers(1, classes, size=len(y))) % classes
    alike = nearest_class(x, y)[y]
    if noise == "uniform":
        return np.where(np.isin(np.arange(len(y)), rng.permutation(len(y))[: round(wrong * len(y))]), anywhere, y)
    if noise == "class-dependent":  # half of the classes are mistaken for the class most like them
        mistaken = np.isin(y, rng.permutation(classes)[: max(1, classes // 2)])
        return np.where(mistaken & (rng.random(len(y)) < wrong / mistaken.mean()), alike, y)
    if noise == "hard rows":
        other, doubt = runner_up(x, y)
        picked = rng.choice(len(y), round(wrong * len(y)), replace=False, p=doubt / doubt.sum())
        return np.where(np.isin(np.arange(len(y)), picked), other, y)
    flipped = rng.random(len(y)) < np.array(ANNOTATORS)[by]
    return np.where(flipped, np.where(by == len(ANNOTATORS) - 1, alike, anywhere), y)


def nearest_class(x: FloatArray, y: IntArray) -> IntArray:
    """For every class (C,), the one whose mean row is nearest."""
    means = np.array([x[y == k].mean(axis=0) for k in range(int(y.max()) + 1)])
    apart = np.linalg.norm(means[:, None] - means, axis=2) + np.diag(np.full(len(means), np.inf))
    return np.asarray(apart.argmin(axis=1))


def runner_up(x: FloatArray, y: IntArray) -> tuple[IntArray, FloatArray]:
    """The likeliest other class of every row (N,) to a forest that learned from the true labels of other rows, and how
    near the two are to a tie (N,)."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_predict

    chances = cross_val_predict(RandomForestClassifier(100, random_state=0), x, y, cv=5, method="predict_proba")
    own = chances[np.arange(len(y)), y].copy()
    chances[np.arange(len(y)), y] = -1.0
    other, best = chances.argmax(axis=1), np.maximum(chances.max(axis=1), 1e-3)
    own = np.maximum(own, 1e-3)
    return np.asarray(other), np.asarray(np.minimum(best / own, own / best) ** 2 + 1e-3)


@lru_cache(4)
def rows_of(name: str) -> tuple[FloatArray, IntArray]:
    """All rows of the test part: columns of tables, pixels, or means of GloVe vectors."""
    from sklearn.datasets import load_breast_cancer, load_digits

    from accredit.training_data.features import glove

    if name in PICTURES:
        with np.load(DATA / PICTURES[name]) as arrays:
            return arrays["x_test"].reshape(len(arrays["y_test"]), -1) / 255.0, arrays["y_test"].astype(np.int64)
    if name in TEXTS:
        with gzip.open(DATA / TEXTS[name], "rt", encoding="utf-8") as lines:
            found = [line.rstrip("\n").split("\t") for line in lines if line.startswith("test\t")]
        return glove(DATA / "glove6b_50d_top40k.npz", [row[2] for row in found])[0], np.array([int(row[1]) for row in found])
    data = load_digits() if name == "digits" else load_breast_cancer()
    return data.data, data.target
