"""Data with labels made wrong as people make them wrong: at random, by mistaking one class for another, where a row is
hard, and by careless annotators; or left as they were. Every draw takes its own rows and says which of its labels are wrong.

`DATA_SETS` and `MORE_TABLES` are those on which constants were chosen; on `UNSEEN` only how a list is cut and how classes of
unlike size are levelled, on draw 200."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray, IntArray

DATA = Path(os.environ.get("ACCREDIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
TEXTS = {"SST-2": "sst2.tsv.gz", "AG News": "ag_news_10k.tsv.gz"}
PICTURES = {"MNIST": "mnist.npz", "Fashion-MNIST": "fashion_mnist.npz"}
DATA_SETS = ("breast cancer", "digits", *PICTURES, *TEXTS)
MORE_TABLES = ("wine", "iris", "20 classes made", "quantiles")
UNSEEN = (
    "MNIST and Fashion",  # 20 classes
    "2 % threes",
    "2 % made",
    "Yelp",
    "IMDB",
    "film sentences",
    "Yelp places",
    "60 tumours",
    "120 digits",
    "2,000 columns",
    "3 against 8",
    "pullovers and shirts",
    "40 wines",
    "40 news",
    "80 clothes",
    "2 % sports",
    "long tail of digits",  # ten classes, from a quarter of the rows down to 2 %
    "long tail of clothes",
    "stars",  # five classes of which neighbours overlap
    "odd digits",
    "5 % sandals",
    "5 % business",
    "100 of five digits",
    "100 stars",
)
EVERY_SET = (*DATA_SETS, *MORE_TABLES, *UNSEEN)
CLEAN = "none"
NOISES = ("uniform", "class-dependent", "hard rows", "annotators")
ROWS, WRONG = 500, 0.1
ROWS_OF = {"20 classes made": 1000, "MNIST and Fashion": 1000, "2 % threes": 1000, "2 % made": 1000, "60 tumours": 60}
ROWS_OF |= {"120 digits": 120, "2,000 columns": 200, "40 wines": 40, "40 news": 40, "80 clothes": 80, "2 % sports": 1000}
ROWS_OF |= {"100 of five digits": 100, "100 stars": 100}
RARE = {"2 %": 0.02, "5 %": 0.05}  # how a data set begins to be named -> the share of its rare class
MOST_OF_A_CLASS = 0.4  # of whose rows are mistaken
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


def draw(name: str, noise: str, seed: int, rows: int | None = None, wrong: float = WRONG) -> Draw:
    """Some rows of the test part of a data set, about a share `wrong` of whose labels is not what it was: no more
    than are rare, where one class is."""
    rng = np.random.default_rng([seed, EVERY_SET.index(name), (*NOISES, CLEAN).index(noise)])
    x, y = rows_of(name)
    chosen = rng.permutation(len(y))[: rows or ROWS_OF.get(name, ROWS)]
    if share := RARE.get(name[:3]):
        rare, size = np.flatnonzero(y), rows or ROWS_OF.get(name, ROWS)
        few = rng.choice(rare, round(share * size), replace=False)
        chosen = rng.permutation(np.append(few, rng.choice(np.flatnonzero(y == 0), size - len(few), replace=False)))
        wrong = min(wrong, share)
    x, y = x[chosen], y[chosen]
    if noise == CLEAN:
        return Draw(x, y, y, np.zeros(len(y), dtype=np.int64))
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
        return np.where(mistaken & (rng.random(len(y)) < min(MOST_OF_A_CLASS, wrong / mistaken.mean())), alike, y)
    if noise == "hard rows":
        other, doubt = runner_up(x, y)
        picked = rng.choice(len(y), round(wrong * len(y)), replace=False, p=doubt / doubt.sum())
        return np.where(np.isin(np.arange(len(y)), picked), other, y)
    flipped = rng.random(len(y)) < np.array(ANNOTATORS)[by]
    return np.where(flipped, np.where(by == len(ANNOTATORS) - 1, alike, anywhere), y)


def nearest_class(x: FloatArray, y: IntArray) -> IntArray:
    """For every class (C,), the one whose mean row is nearest."""
    means = np.array([x[y == k].mean(axis=0) if k in y else np.full(x.shape[1], 1e9) for k in range(int(y.max()) + 1)])
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
    from sklearn import datasets

    if name in PICTURES:
        return pictures(PICTURES[name])
    if name in TEXTS:
        return sentences(TEXTS[name], label=1)
    if name in MADE:
        return MADE[name]()
    loaders = {"digits": datasets.load_digits, "wine": datasets.load_wine, "iris": datasets.load_iris}
    load = loaders.get({"120 digits": "digits", "40 wines": "wine"}.get(name, name), datasets.load_breast_cancer)
    x, y = load(return_X_y=True)
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.int64)


def small_pictures(file: str) -> tuple[FloatArray, IntArray]:
    """Pictures of half the width and height, each pixel the mean of four."""
    x, y = pictures(file)
    return x.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(y), -1), y


def pictures(file: str, part: str = "test") -> tuple[FloatArray, IntArray]:
    """Pixels from 0 to 1, and class numbers."""
    with np.load(DATA / file) as arrays:
        y = arrays[f"y_{part}"].astype(np.int64)
        return arrays[f"x_{part}"].reshape(len(y), -1) / 255.0, np.unique(y, return_inverse=True)[1]


def sentences(file: str, label: int, part: str = "test", most: int = 12_000) -> tuple[FloatArray, IntArray]:
    """Means of GloVe vectors of the last column, and class numbers of the column `label`; classes of fewer than 20 texts are
    left out. A file without parts is read whole."""
    from accredit.training_data.features import glove

    with gzip.open(DATA / file, "rt", encoding="utf-8") as lines:
        found = [line.rstrip("\n").split("\t") for line in lines][1:]
    if found[0][0] in ("train", "test", "dev"):
        found = [row for row in found if row[0] == part]
    found = [found[i] for i in np.random.default_rng(0).permutation(len(found))[:most]]
    _, y, count = np.unique([row[label] for row in found], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(count[y] >= 20)
    x = glove(DATA / "glove6b_50d_top40k.npz", [found[i][-1] for i in kept])[0]
    return x, np.unique(y[kept], return_inverse=True)[1]


def _both() -> tuple[FloatArray, IntArray]:
    (digits, which), (clothes, what) = small_pictures(PICTURES["MNIST"]), small_pictures(PICTURES["Fashion-MNIST"])
    return np.vstack([digits, clothes]), np.append(which, what + 10)


def _one_class(rows: tuple[FloatArray, IntArray], which: int) -> tuple[FloatArray, IntArray]:
    """One class against all others."""
    x, y = rows
    return x, (y == which).astype(np.int64)


def _five_digits() -> tuple[FloatArray, IntArray]:
    x, y = rows_of("digits")
    return x[y < 5], y[y < 5]


def _long_tail(file: str) -> tuple[FloatArray, IntArray]:
    """Pictures of ten classes, each with three quarters of the rows of the one before."""
    x, y = small_pictures(file)
    rng = np.random.default_rng(0)
    kept = [rng.permutation(np.flatnonzero(y == k))[: int(890 * 0.75**k)] for k in range(10)]
    return x[np.concatenate(kept)], y[np.concatenate(kept)]


def _odd() -> tuple[FloatArray, IntArray]:
    x, y = small_pictures(PICTURES["MNIST"])
    return x, y % 2


def _made(**settings: object) -> tuple[FloatArray, IntArray]:
    from sklearn.datasets import make_classification

    x, y = make_classification(flip_y=0.0, random_state=0, **settings)
    return x, y


def _quantiles() -> tuple[FloatArray, IntArray]:
    from sklearn.datasets import make_gaussian_quantiles

    x, y = make_gaussian_quantiles(n_samples=4000, n_features=6, n_classes=4, random_state=0)
    return x, y


MADE: dict[str, Callable[[], tuple[FloatArray, IntArray]]] = {
    "20 classes made": lambda: _made(
        n_samples=4000, n_features=40, n_informative=12, n_classes=20, n_clusters_per_class=1, class_sep=2.0
    ),
    "quantiles": _quantiles,
    "MNIST and Fashion": _both,
    "2 % threes": lambda: _one_class(small_pictures(PICTURES["MNIST"]), 3),
    "2 % made": lambda: _made(n_samples=20_000, n_features=20, n_informative=6, weights=[0.9], class_sep=1.5),
    "Yelp": lambda: sentences("yelp_sentences.tsv.gz", label=1),
    "IMDB": lambda: sentences("imdb_400.tsv.gz", label=1, most=4000),
    "film sentences": lambda: sentences("mr_sentence_polarity.tsv.gz", label=0),
    "Yelp places": lambda: sentences("yelp_reviews_10k.tsv.gz", label=2),
    "2,000 columns": lambda: _made(n_samples=2000, n_features=2000, n_informative=30, n_classes=3, class_sep=3.0),
    "3 against 8": lambda: small_pictures("mnist_3v8.npz"),
    "pullovers and shirts": lambda: small_pictures("fashion_mnist_pullover_v_shirt.npz"),
    "40 news": lambda: sentences(TEXTS["AG News"], label=1),
    "80 clothes": lambda: small_pictures(PICTURES["Fashion-MNIST"]),
    "2 % sports": lambda: _one_class(sentences(TEXTS["AG News"], label=1), 1),
    "long tail of digits": lambda: _long_tail(PICTURES["MNIST"]),
    "long tail of clothes": lambda: _long_tail(PICTURES["Fashion-MNIST"]),
    "stars": lambda: sentences("yelp_reviews_10k.tsv.gz", label=1),
    "odd digits": _odd,
    "5 % sandals": lambda: _one_class(small_pictures(PICTURES["Fashion-MNIST"]), 5),
    "5 % business": lambda: _one_class(sentences(TEXTS["AG News"], label=1), 2),
    "100 of five digits": _five_digits,
    "100 stars": lambda: sentences("yelp_reviews_10k.tsv.gz", label=1),
}
