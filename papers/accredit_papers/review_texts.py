"""Movie reviews as an attention model sees them: first words as vectors, the whole text as one query.

The folder holds either the files as their authors publish them or one compact table each:

| what | as published | compact |
|---|---|---|
| reviews (Maas et al., 2011) | `aclImdb/` unpacked from aclImdb_v1.tar.gz | `imdb_400.tsv.gz`: columns split, label, …, text |
| vectors (Pennington et al., 2014) | `glove.6B.50d.txt` from glove.6B.zip | `glove6b_50d_top40k.npz`, `…_vocab.txt` |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from accredit.checks.files import put
from accredit.checks.numbers import BoolArray, IntArray
from accredit.checks.tables import read_sheet
from accredit.core.statistics import units
from accredit.errors import InvalidInput

FIRST_WORDS = 5
REVIEW_TOKENS = 400  # whitespace tokens of a review that are read
WORDS_KNOWN = 40_000  # commonest GloVe words
TOKEN = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W_]+?(?=n't\b)|[^\W_]+(?:[-.,][^\W_]+)*|\.\.\.|--|[^\w\s]|_")
REVIEWS = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
GLOVE = "https://nlp.stanford.edu/data/glove.6B.zip"


def tokens(text: str) -> list[str]:
    """Lower-case words as GloVe writes them: *n't*, *'s* and the like apart, punctuation kept.

    >>> tokens("I don't like John's well-made film...")
    ['i', 'do', "n't", 'like', 'john', "'s", 'well-made', 'film', '...']
    """
    return TOKEN.findall(text.lower())


@dataclass(frozen=True)
class Review:
    """A text, its label (1: positive) and the half it belongs to."""

    text: str
    label: int
    train: bool


def reviews(folder: Path) -> list[Review]:
    """The 50,000 reviews of IMDB, or whatever of them the folder holds; texts cut to `REVIEW_TOKENS` whitespace tokens."""
    compact, published = folder / "imdb_400.tsv.gz", folder / "aclImdb"
    if compact.exists():
        return list(_from_table(compact))
    if published.is_dir():
        return list(_from_folder(published))
    raise InvalidInput(
        f"data folder {folder} has neither {compact.name} nor {published.name}/. Get the reviews from {REVIEWS} "
        "and unpack them there, or give another folder: data=FOLDER",
        argument="data",
        code="missing",
    )


def _from_table(file: Path) -> Iterator[Review]:
    sheet = read_sheet(file)
    if {"split", "label", "text"} - set(sheet.names):
        raise InvalidInput(
            f"{file} has the columns {', '.join(sheet.names)}; it needs split, label and text",
            argument="data",
            code="missing",
        )
    for row in sheet.records():
        yield Review(" ".join(row["text"].split()[:REVIEW_TOKENS]), int(row["label"]), row["split"] == "train")


def _from_folder(folder: Path) -> Iterator[Review]:
    for half in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            if not (folder / half / name).is_dir():
                raise InvalidInput(
                    f"{folder} has no {half}/{name}; unpack the whole of {REVIEWS}", argument="data", code="missing"
                )
            for file in sorted((folder / half / name).glob("*.txt")):
                text = file.read_text(encoding="utf-8").replace("<br />", " ")
                yield Review(" ".join(text.split()[:REVIEW_TOKENS]), label, half == "train")


@dataclass(frozen=True)
class Glove:
    """Word vectors in order of frequency; a word that is not among them has the mean vector, at the last row."""

    index: dict[str, int]
    vectors: npt.NDArray[np.float32]  # (words + 1, 50)

    @classmethod
    def load(cls, folder: Path) -> Glove:
        """The 40,000 commonest words of GloVe 6B, 50 numbers each."""
        compact, words, published = (
            folder / name for name in ("glove6b_50d_top40k.npz", "glove6b_50d_top40k_vocab.txt", "glove.6B.50d.txt")
        )
        if compact.exists() and words.exists():
            with np.load(compact, allow_pickle=False) as file:
                vectors = file["vectors"].astype(np.float32)
            names = words.read_text(encoding="utf-8").split("\n")[: len(vectors)]
        elif published.exists():
            with published.open(encoding="utf-8") as lines:
                rows = [line.rstrip("\n").split(" ") for line, _ in zip(lines, range(WORDS_KNOWN), strict=False)]
            names, vectors = [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=np.float32)
        else:
            raise InvalidInput(
                f"data folder {folder} has neither {compact.name} with {words.name} nor {published.name}. Get the vectors "
                f"from {GLOVE} and unpack {published.name} there, or give another folder: data=FOLDER",
                argument="data",
                code="missing",
            )
        mean = vectors.mean(axis=0, keepdims=True)
        return cls({word: k for k, word in enumerate(names)}, np.concatenate([vectors, mean]))

    def ids(self, words: Sequence[str]) -> IntArray:
        """Row of each word."""
        unknown = len(self.vectors) - 1
        return np.array([self.index.get(word, unknown) for word in words], dtype=np.int64)


def query(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A text (words, d) as 7·d numbers: mean, largest and smallest of each coordinate, and the means of its four quarters.

    >>> query(np.array([[1.0], [2.0], [3.0], [6.0]], dtype=np.float32))
    array([3., 6., 1., 1., 2., 3., 6.], dtype=float32)
    """
    bounds = np.linspace(0, len(vectors), 5).round().astype(int)
    mean = vectors.mean(axis=0)
    quarters = [vectors[a:b].mean(axis=0) if b > a else mean for a, b in pairwise(bounds)]
    return np.concatenate([mean, vectors.max(axis=0), vectors.min(axis=0), *quarters])


@dataclass(frozen=True)
class ReviewTexts:
    """All reviews in numbers: the first words, the query of the whole text, label and half."""

    first: IntArray  # (N, 5) rows of `vectors`; padding repeats the unknown word
    present: BoolArray  # (N, 5)
    query: npt.NDArray[np.float32]  # (N, 350), standardised on the training half
    labels: IntArray  # (N,)
    train: BoolArray  # (N,)
    vectors: npt.NDArray[np.float32]  # (words + 1, 50)

    @classmethod
    def load(cls, folder: str | Path, cache: str | Path | None = None, rows: int | None = None) -> ReviewTexts:
        """Read and encode the reviews (about a minute for all); `rows` keeps that many of each half, evenly spread.

        With a `cache` folder the numbers are kept there as .npz and read from it the next time.
        """
        source = Path(folder)
        file = None if cache is None else Path(cache) / f"reviews-{data_digest(source)}-{rows or 'all'}.npz"
        if file is not None and file.exists():
            with np.load(file, allow_pickle=False) as kept:
                return cls(**{name: kept[name] for name in cls.__dataclass_fields__})
        glove = Glove.load(source)
        found = cls.encode(spread(reviews(source), rows), glove)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            content = BytesIO()
            np.savez(content, **{name: getattr(found, name) for name in cls.__dataclass_fields__})
            put(file, content.getvalue())  # several workers may come here at once
        return found

    @classmethod
    def encode(cls, given: Sequence[Review], glove: Glove) -> ReviewTexts:
        """Reviews as numbers; the training half sets the scale of the query."""
        unknown = len(glove.vectors) - 1
        first = np.full((len(given), FIRST_WORDS), unknown)
        present = np.zeros(first.shape, dtype=bool)
        queries = np.empty((len(given), 7 * glove.vectors.shape[1]), dtype=np.float32)
        for row, review in enumerate(given):
            ids = glove.ids(tokens(review.text))
            if not len(ids):
                raise InvalidInput(f"review {row} has no word; leave it out", argument="given", code="empty")
            first[row, : len(ids)] = ids[:FIRST_WORDS]
            present[row, : len(ids)] = True
            queries[row] = query(glove.vectors[ids])
        train = np.array([review.train for review in given])
        if not train.any() or train.all():
            raise InvalidInput(
                f"{train.sum()} of {len(train)} reviews are for training; both halves are needed",
                argument="given",
                code="missing",
            )
        queries = (queries - queries[train].mean(axis=0)) / units(queries[train])
        return cls(first, present, queries, np.array([review.label for review in given]), train, glove.vectors)


def spread(given: Sequence[Review], rows: int | None) -> list[Review]:
    """`rows` of each half, evenly spread over it, so that both labels are there; all of them for None."""
    halves = [[review for review in given if review.train == half] for half in (True, False)]
    return [half[k] for half in halves for k in np.unique(np.linspace(0, len(half) - 1, rows or len(half)).astype(int))]


def data_digest(folder: Path) -> str:
    """Names the data (tables by content, single reviews by name and size) and this reading of it."""
    seen = hashlib.blake2b(TOKEN.pattern.encode(), digest_size=8)
    for name in ("imdb_400.tsv.gz", "glove6b_50d_top40k.npz", "glove.6B.50d.txt"):
        if (folder / name).exists():
            with (folder / name).open("rb") as file:
                seen.update(hashlib.file_digest(file, "sha256").digest())
    for review in sorted((folder / "aclImdb").glob("t*/*/*.txt")):
        seen.update(f"{review.name} {review.stat().st_size}".encode())
    return seen.hexdigest()
