"""The four data sets of the selection experiment: two of texts, two of pictures, two classes each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accredit.checks.tables import read_sheet
from accredit.core import IntArray
from accredit.errors import InvalidInput
from accredit.learned.inputs import Array, Inputs, PixelGrid, Words

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+|[!?]")
PAD, UNKNOWN, FIRST_WORD = 0, 1, 2  # ids
PICTURE_SIDE = 28  # pixels


@dataclass(frozen=True, eq=False)
class SelectionTask:
    """Rows to learn from, rows to be judged on, and how many players may be kept."""

    name: str
    title: str
    inputs: Inputs
    k: int
    x: Array  # (N, *shape) rows to train on
    y: IntArray  # (N,) 0 or 1
    x_test: Array
    y_test: IntArray
    used: str  # what was used, for the report


@dataclass(frozen=True)
class Source:
    """One data set: its file, where to get it, and how it is read."""

    title: str
    file: str
    get: str
    read: Callable[[Path, int, int, int], SelectionTask]  # file, training rows, test rows, seed


def kind(name: str) -> str:
    """What a data set holds: "texts" or "pictures"."""
    return "pictures" if SOURCES[name].file.endswith(".npz") else "texts"


def task(folder: str | Path, name: str, train: int, test: int, seed: int = 0) -> SelectionTask:
    """One data set of the folder, cut to that many rows."""
    source = SOURCES[name]
    return source.read(find_files(folder, [name])[name], train, test, seed)


def find_files(folder: str | Path, names: list[str]) -> dict[str, Path]:
    """The files of the data sets asked for; all that are missing are named at once, with how to get them."""
    unknown = [name for name in names if name not in SOURCES]
    if unknown or not names:
        raise InvalidInput(f"sets is {','.join(names)!r}; write some of {','.join(SOURCES)}", argument="sets", code="unknown")
    files = {name: Path(folder) / SOURCES[name].file for name in names}
    missing = [f"{file.name} ({SOURCES[name].get})" for name, file in files.items() if not file.is_file()]
    if missing:
        raise InvalidInput(
            f"the folder {folder} has no {'; no '.join(missing)}; give the folder that holds it: data=FOLDER",
            argument="data",
            code="missing",
        )
    return files


# Texts


def words(text: str) -> list[str]:
    """The words of a text, lower-cased; ! and ? count as words.

    >>> words("It's NOT bad, is it?")
    ["it's", 'not', 'bad', 'is', 'it', '?']
    """
    return WORD.findall(text.lower())


def vocabulary(texts: list[str], size: int) -> dict[str, int]:
    """Ids of the commonest words; 0 is padding and 1 every other word.

    >>> vocabulary(["good good film", "good plot"], 4)
    {'good': 2, 'film': 3}
    """
    counts = Counter(word for text in texts for word in words(text))
    return {word: FIRST_WORD + i for i, (word, _) in enumerate(counts.most_common(size - FIRST_WORD))}


def encode(texts: list[str], ids: dict[str, int], length: int) -> Array:
    """The first `length` words of every text as ids, padded: (N, length)."""
    rows = np.full((len(texts), length), PAD, dtype=np.int64)
    for row, text in zip(rows, texts, strict=True):
        found = [ids.get(word, UNKNOWN) for word in words(text)[:length]]
        row[: len(found)] = found
    return rows


def _texts(file: Path, label: Callable[[dict[str, str]], int | None]) -> dict[str, list[tuple[str, int]]]:
    """(text, label) of each split; rows whose label is None are left out, as are test texts that training has seen."""
    splits: dict[str, list[tuple[str, int]]] = {"train": [], "test": []}
    try:
        for row in read_sheet(file).records():
            kind = label(row)
            if kind is not None and row["split"] in splits and words(row["text"]):
                splits[row["split"]].append((row["text"], kind))
    except (KeyError, ValueError) as error:
        raise InvalidInput(
            f"{file.name} is not a gzipped TSV with split, label (or stars) and text: {error!r}", argument="data", code="format"
        ) from None
    seen = {text for text, _ in splits["train"]}
    splits["test"] = [(text, kind) for text, kind in splits["test"] if text not in seen]
    return splits


def _of_texts(
    name: str, title: str, label: Callable[[dict[str, str]], int | None], length: int, size: int, k: int, used: str
) -> Callable[[Path, int, int, int], SelectionTask]:
    def read(file: Path, train: int, test: int, seed: int) -> SelectionTask:
        splits = _texts(file, label)
        rng = np.random.default_rng(seed)
        chosen = {
            split: [pairs[i] for i in balance(np.array([kind for _, kind in pairs]), count, rng, split == "train")]
            for (split, pairs), count in zip(splits.items(), (train, test), strict=True)
        }
        ids = vocabulary([text for text, _ in chosen["train"]], size)
        inputs = Words(length, FIRST_WORD + len(ids), PAD)
        x, x_test = (encode([text for text, _ in chosen[split]], ids, length) for split in ("train", "test"))
        y, y_test = (np.array([kind for _, kind in chosen[split]]) for split in ("train", "test"))
        return SelectionTask(
            name,
            title,
            inputs,
            k,
            x,
            y,
            x_test,
            y_test,
            f"{used} {len(y):,} training and {len(y_test):,} test texts, half of each class, first {length} words, "
            f"vocabulary {inputs.vocabulary:,}; test texts that also occur in training are dropped; k = {k} words.",
        )

    return read


def balance(labels: IntArray, count: int, rng: np.random.Generator, repeat: bool) -> IntArray:
    """Row numbers, equally many of both classes and at most `count`, shuffled.

    With `repeat` the rows of the rarer class are repeated to match the other; else the commoner class is cut.

    >>> balance(np.array([0, 1, 1, 1]), 4, np.random.default_rng(0), repeat=False).shape
    (2,)
    """
    groups = [rng.permutation(np.flatnonzero(labels == kind)) for kind in (0, 1)]
    if min(map(len, groups)) == 0:
        raise InvalidInput("one of the two classes has no rows; the data set needs both", argument="labels", code="undefined")
    each = min(count // 2, max(map(len, groups)) if repeat else min(map(len, groups)))
    return rng.permutation(np.concatenate([np.resize(group, each) for group in groups]))


def with_padding(given: SelectionTask) -> SelectionTask:
    """The same texts, read to their full length: padding becomes a word of its own, which may be kept like any other.

    A removed word still leaves nothing. So it is where texts of a fixed length are explained without a mask of what is there.
    """
    assert isinstance(given.inputs, Words)
    fill = given.inputs.vocabulary  # an id that no word has
    x, x_test = (np.where(rows == PAD, fill, rows) for rows in (given.x, given.x_test))
    return replace(given, inputs=Words(given.inputs.n, fill + 1, PAD), x=x, x_test=x_test)


def with_black(given: SelectionTask) -> SelectionTask:
    """The same pictures on the scale 0..1, where a removed pixel is black, and a black one that is kept is like it."""
    return replace(given, x=(given.x + 1) / 2, x_test=(given.x_test + 1) / 2)


OTHER_READINGS: dict[str, Callable[[SelectionTask], SelectionTask]] = {"padding": with_padding, "black": with_black}


# Pictures


def _of_pictures(
    name: str, title: str, first: int, second: int, k: int, used: str
) -> Callable[[Path, int, int, int], SelectionTask]:
    def read(file: Path, train: int, test: int, seed: int) -> SelectionTask:
        rng = np.random.default_rng(seed)
        (x, y), (x_test, y_test) = (
            _two_classes(file, split, first, second, count, rng) for split, count in (("train", train), ("test", test))
        )
        return SelectionTask(
            name,
            title,
            PixelGrid((PICTURE_SIDE, PICTURE_SIDE)),
            k,
            x,
            y,
            x_test,
            y_test,
            f"{used} {len(y):,} training and {len(y_test):,} test pictures, half of each class; k = {k} of "
            f"{PICTURE_SIDE * PICTURE_SIDE} pixels.",
        )

    return read


def _two_classes(
    file: Path, split: str, first: int, second: int, count: int, rng: np.random.Generator
) -> tuple[Array, IntArray]:
    """Pictures of two classes, equally many of both, labelled 0 and 1.

    Pixels go from −1 to 1, as in the published code of VIBI, so that a removed one, 0, is grey: what is kept says something
    where it is black, too.
    """
    x, y = _pictures(file, split)
    two = np.isin(y, (first, second))
    x, labels = x[two], (y[two] == second).astype(np.int64)
    rows = balance(labels, count, rng, False)
    return (x[rows] / 127.5 - 1).astype(np.float32), labels[rows]


def _pictures(file: Path, split: str) -> tuple[Array, IntArray]:
    """Pictures (N, 28, 28) and their classes (N,)."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            x, y = arrays[f"x_{split}"], arrays[f"y_{split}"]
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InvalidInput(
            f"{file.name} must be an .npz with x_{split} and y_{split}: {error!r}", argument="data", code="format"
        ) from None
    if x.ndim != 3 or x.shape[1:] != (PICTURE_SIDE, PICTURE_SIDE) or y.shape != (len(x),):
        raise InvalidInput(
            f"{file.name}: x_{split} has shape {x.shape} and y_{split} {y.shape}; needed are (N, {PICTURE_SIDE}, "
            f"{PICTURE_SIDE}) and (N,)",
            argument="data",
            code="shape",
        )
    return x, y


def _label(row: dict[str, str]) -> int | None:
    return int(row["label"])


def _stars(row: dict[str, str]) -> int | None:
    """Polarity of a review: 1 and 2 stars are negative, 4 and 5 positive, 3 are neither."""
    stars = int(row["stars"])
    return None if stars == 3 else int(stars > 3)


SOURCES = {
    "imdb": Source("IMDB", "imdb_400.tsv.gz",
                   "made from aclImdb_v1.tar.gz of ai.stanford.edu/~amaas/data/sentiment, see docs/selection.md",
                   _of_texts("imdb", "IMDB", _label, 150, 5000, 10, "Film reviews (Maas et al., 2011).")),
    "yelp": Source("Yelp", "yelp_reviews_10k.tsv.gz",
                   "made from the Yelp Open Dataset of business.yelp.com/data/resources/open-dataset, see docs/selection.md",
                   _of_texts("yelp", "Yelp", _stars, 100, 5000, 5,
                             "A subset of Yelp reviews, 3 stars left out; the rarer negative reviews are repeated in training "
                             "to match the positive ones.")),
    "mnist": Source("MNIST 3/8", "mnist.npz",
                    "storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
                    _of_pictures("mnist", "MNIST 3/8", 3, 8, 25, "Digits 3 and 8 (LeCun et al., 1998).")),
    "fashion": Source("Fashion-MNIST", "fashion_mnist.npz",
                      "made from the idx files of github.com/zalandoresearch/fashion-mnist, see docs/selection.md",
                      _of_pictures("fashion", "Fashion-MNIST", 2, 6, 64, "Pullover and shirt (Xiao et al., 2017).")),
}  # fmt: skip
