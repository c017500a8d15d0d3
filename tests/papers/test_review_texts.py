"""Reviews as numbers: the same from the published files as from the compact ones, and clear words when files are missing."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit_papers.review_texts import Glove, Review, ReviewTexts, data_digest, query, reviews, spread, tokens
from tests.together import at_once
from tests.wording import refused

FRENCH = "A 1.5-hour état d'âme_x"

QUOTED = "It's \"good\", isn't it? We'll see..."

WORDS = ["the", "film", "is", "good", "bad", "n't", ".", "do"]
TEXTS = ["The film is good.", "film isn't bad", "Good good good good zzz film", "bad . the film is bad"]


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(len(WORDS), 50)).astype(np.float16)


@pytest.fixture
def compact(tmp_path, vectors):
    folder = tmp_path / "compact"
    folder.mkdir()
    rows = [f"{half}\t{k % 2}\t{text}" for half in ("train", "test") for k, text in enumerate(TEXTS)]
    with gzip.open(folder / "imdb_400.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(["split\tlabel\ttext", *rows]) + "\n")
    np.savez(folder / "glove6b_50d_top40k.npz", vectors=vectors)
    (folder / "glove6b_50d_top40k_vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def published(tmp_path, vectors):
    folder = tmp_path / "published"
    for half in ("train", "test"):
        for k, text in enumerate(TEXTS):
            place = folder / "aclImdb" / half / ("neg", "pos")[k % 2]
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{k}_1.txt").write_text(text.replace(" ", "<br />", 1), encoding="utf-8")
    lines = [" ".join([word, *map(str, row.astype(float))]) for word, row in zip(WORDS, vectors, strict=True)]
    (folder / "glove.6B.50d.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_tokens_are_those_of_glove():
    assert tokens(QUOTED) == [
        "it",
        "'s",
        '"',
        "good",
        '"',
        ",",
        "is",
        "n't",
        "it",
        "?",
        "we",
        "'ll",
        "see",
        "...",
    ]
    assert tokens(FRENCH) == ["a", "1.5-hour", "état", "d", "'", "âme", "_", "x"]
    assert tokens(" \t ") == []


def test_first_words_and_padding(compact):
    texts = ReviewTexts.load(compact)
    assert texts.first[0].tolist() == [0, 1, 2, 3, 6]
    unknown = len(WORDS)
    assert texts.first[1].tolist() == [1, 2, 5, 4, unknown] and texts.present[1].tolist() == [True] * 4 + [False]
    assert texts.first[2].tolist() == [3, 3, 3, 3, unknown] and texts.present[2].all()  # zzz is a word, but not known
    assert_allclose(texts.vectors[unknown], texts.vectors[:unknown].mean(axis=0), atol=1e-6)
    assert texts.labels.tolist() == [0, 1, 0, 1] * 2 and texts.train.tolist() == [True] * 4 + [False] * 4


def test_query_is_standardised_on_the_training_half_alone(compact):
    given, glove = reviews(compact), Glove.load(compact)
    texts = ReviewTexts.encode(given, glove)
    assert texts.query.shape == (8, 350)
    assert_allclose(texts.query[texts.train].mean(axis=0), 0, atol=1e-5)
    spreads = texts.query[texts.train].std(axis=0)
    assert_allclose(spreads[spreads > 1e-3], 1, atol=1e-3)
    changed = [*given[:4], *(Review("the", 0, False) for _ in range(4))]
    assert_allclose(ReviewTexts.encode(changed, glove).query[:4], texts.query[:4])


def test_query_of_a_short_text_has_no_holes():
    one = query(np.array([[2.0, -1.0]], dtype=np.float32))
    assert_allclose(one.reshape(7, 2), np.tile([2.0, -1.0], (7, 1)))


def test_published_files_read_the_same(compact, published):
    def known(texts):
        return sorted((tuple(f), int(y), bool(t)) for f, y, t in zip(texts.first, texts.labels, texts.train, strict=True))

    assert known(ReviewTexts.load(published)) == known(ReviewTexts.load(compact))


def test_the_cache_brings_back_the_same_numbers_and_follows_the_data(compact, tmp_path):
    first = ReviewTexts.load(compact, tmp_path / "cache")
    again = ReviewTexts.load(compact, tmp_path / "cache")
    for name in ReviewTexts.__dataclass_fields__:
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert len(list((tmp_path / "cache").iterdir())) == 1
    before = data_digest(compact)
    with gzip.open(compact / "imdb_400.tsv.gz", "at", encoding="utf-8") as file:
        file.write("test\t1\tgood\n")
    assert data_digest(compact) != before
    assert len(ReviewTexts.load(compact, tmp_path / "cache").labels) == 9


def test_spread_keeps_both_labels():
    given = [Review("a", y, half) for half in (True, False) for y in (0, 1) for _ in range(10)]
    kept = spread(given, 4)
    assert [(r.label, r.train) for r in kept] == [(y, half) for half in (True, False) for y in (0, 0, 1, 1)]
    assert len(spread(given, None)) == 40 and len(spread(given, 99)) == 40


def test_missing_files_are_named_with_their_source_and_nothing_is_written(compact, published, tmp_path):
    with refused("missing", "data"):
        reviews(tmp_path)
    (compact / "glove6b_50d_top40k_vocab.txt").unlink()
    with refused("missing", "data"):
        ReviewTexts.load(compact, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    for file in (published / "aclImdb" / "test" / "pos").iterdir():
        file.unlink()
    (published / "aclImdb" / "test" / "pos").rmdir()
    with pytest.raises(InvalidInput, match="no test/pos"):
        reviews(published)


def test_workers_that_start_together_do_not_disturb_each_other(compact, tmp_path):
    for trial in range(10):
        assert not at_once(lambda cache=tmp_path / str(trial): ReviewTexts.load(compact, cache))
        assert len(list((tmp_path / str(trial)).iterdir())) == 1


def test_tables_that_are_something_else_are_refused(compact):
    with gzip.open(compact / "imdb_400.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("split\ttext\ntrain\tgood\n")
    with refused("missing", "data"):
        reviews(compact)
    with gzip.open(compact / "imdb_400.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("split\tlabel\ttext\ntrain\t1\tgood\n")
    with refused("missing", "given"):
        ReviewTexts.load(compact)
