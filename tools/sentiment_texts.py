"""Sentences with a sentiment for training, none of which overlaps a sentence that is used to measure.

The movie-review sentences (MR, Pang & Lee 2005) contain nearly every sentence of SST-2's dev and test sets, and SST-2's
training phrases are cut from whole sentences. Reserved sentences therefore defend themselves by their characters: a
training text that shares `WINDOW` consecutive letters or digits with a reserved sentence is dropped, whatever the
tokenisation and punctuation around them.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

WINDOW = 24  # letters and digits, about five words


@dataclass(frozen=True)
class Example:
    """One text, whether it is positive (1) or negative (0), and the collection it comes from."""

    text: str
    label: int
    source: str


@dataclass(frozen=True)
class Collections:
    """The texts to train on, a held-out part to choose by, and SST-2 dev and test to measure on."""

    train: list[Example]
    heldout: list[Example]
    dev: list[Example]
    test: list[Example]


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a gzipped TSV file with a header line and no quoting."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        header = next(lines).rstrip("\n").split("\t")
        for line in lines:
            yield dict(zip(header, line.rstrip("\n").split("\t"), strict=True))


def letters(text: str) -> str:
    """The letters and digits of a text, without accents, case, spaces or punctuation.

    >>> letters("It 's déjà vu , is n't it ?") == letters("it's deja vu, isn't it?")
    True
    """
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", text).lower())


def windows(text: str) -> set[str]:
    """Every run of `WINDOW` characters of `letters(text)`; the whole of it when it is shorter."""
    run = letters(text)
    return {run[i : i + WINDOW] for i in range(max(1, len(run) - WINDOW + 1))}


def without_overlap(examples: Iterable[Example], reserved: Iterable[Example]) -> list[Example]:
    """The examples that share no window with a reserved sentence.

    >>> seen = Example("A gripping , beautifully shot film .", 1, "dev")
    >>> copies = [Example("gripping, beautifully shot film", 1, "mr"), Example("a dull film", 0, "mr")]
    >>> [example.text for example in without_overlap(copies, [seen])]
    ['a dull film']
    """
    taken = {window for example in reserved for window in windows(example.text)}
    return [example for example in examples if taken.isdisjoint(windows(example.text))]


def sentences(review: str, shortest: int, longest: int) -> list[str]:
    """The sentences of a review that have between `shortest` and `longest` words.

    >>> sentences("I saw it. It was a very good film! Go.", shortest=3, longest=10)
    ['I saw it.', 'It was a very good film!']
    """
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])", review)
    return [part.strip() for part in parts if shortest <= len(part.split()) <= longest]


def read_sst2(folder: Path, split: str) -> list[Example]:
    """One split of SST-2: phrases for `train`, whole sentences for `dev` and `test`."""
    table = rows(folder / "sst2.tsv.gz")
    return [Example(row["text"], int(row["label"]), "sst2") for row in table if row["split"] == split]


def read_yelp(folder: Path, limit: int, rng: Random) -> list[Example]:
    """Distinct Yelp sentences, in random order; the placeholder `_num_` becomes a small number."""
    found = {row["text"]: int(row["label"]) for row in rows(folder / "yelp_sentences.tsv.gz") if row["split"] == "train"}
    chosen = rng.sample(sorted(found.items()), min(limit, len(found)))
    return [Example(re.sub("_num_", lambda _: str(rng.randint(2, 40)), text), y, "yelp") for text, y in chosen]


def read_imdb(folder: Path, limit: int, rng: Random) -> list[Example]:
    """Sentences of IMDB training reviews; the label is the review's, so a single sentence may contradict it."""
    reviews = [row for row in rows(folder / "imdb_400.tsv.gz") if row["split"] == "train"]
    rng.shuffle(reviews)
    found: list[Example] = []
    for row in reviews:
        if len(found) >= limit:
            break
        parts = sentences(row["text"], shortest=4, longest=40)
        found += [Example(text, int(row["label"]), "imdb") for text in rng.sample(parts, min(4, len(parts)))]
    return found[:limit]


def read_passages(folder: Path, limit: int, rng: Random, longest: int = 90) -> list[Example]:
    """Runs of whole sentences from IMDB training reviews, up to `longest` words each, with the review's label."""
    reviews = [row for row in rows(folder / "imdb_400.tsv.gz") if row["split"] == "train"]
    found: list[Example] = []
    for row in rng.sample(reviews, limit):
        parts = sentences(row["text"], shortest=1, longest=longest)
        passage: list[str] = []
        for part in parts[rng.randrange(len(parts)) // 2 :] if parts else []:
            if sum(map(len, map(str.split, [*passage, part]))) > longest:
                break
            passage.append(part)
        if passage:
            found.append(Example(" ".join(passage), int(row["label"]), "passages"))
    return found


def collect(folder: Path, *, phrases: int, yelp: int, imdb: int, passages: int, seed: int, heldout: int = 600) -> Collections:
    """Read the collections and reserve SST-2 dev and test and `heldout` MR sentences.

    `phrases` (of SST-2), `yelp`, `imdb` and `passages` limit how many of these are read; MR is read whole. Memory and time
    are linear in the number of characters.
    """
    rng = Random(seed)
    dev, test = read_sst2(folder, "dev"), read_sst2(folder, "test")
    mr = [Example(row["text"], int(row["label"]), "mr") for row in rows(folder / "mr_sentence_polarity.tsv.gz")]
    mr = without_overlap(mr, dev + test)
    rng.shuffle(mr)
    held, mr = mr[:heldout], mr[heldout:]
    sst = read_sst2(folder, "train")
    sst = rng.sample(sst, min(phrases, len(sst)))
    others = read_yelp(folder, yelp, rng) + read_imdb(folder, imdb, rng) + read_passages(folder, passages, rng)
    train = without_overlap(sst + mr + others, dev + test + held)
    rng.shuffle(train)
    return Collections(train, held, dev, test)
