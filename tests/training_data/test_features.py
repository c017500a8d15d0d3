"""Features by name: each against its definition, and what is cut, unknown or wrong about them said."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.labels.predictability import Skill, predict_skill
from accredit.training_data.features import features, glove
from tests.wording import says

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

TEXTS = ["a good film", "a bad film", "a good plot , a good end", "a bad plot", "zzz"]
VECTORS = {"good": [1.0, 0.0], "bad": [-1.0, 0.0], "film": [0.0, 1.0], "plot": [0.0, 2.0]}


def test_word_vectors_by_hand_in_every_kind_of_file(tmp_path: Path) -> None:
    lines = "".join(f"{word} {x} {y}\n" for word, (x, y) in VECTORS.items())
    (tmp_path / "a.txt").write_text("4 2\n" + lines)  # word2vec counts first
    with gzip.open(tmp_path / "a.txt.gz", "wt") as file:
        file.write(lines)
    np.savez(tmp_path / "b.npz", vectors=np.array(list(VECTORS.values())), words=np.array(list(VECTORS)))
    np.savez(tmp_path / "c.npz", vectors=np.array(list(VECTORS.values())))
    (tmp_path / "c_vocab.txt").write_text("\n".join(VECTORS) + "\n")
    # each of the words is in two of five texts, so they count alike
    by_hand = [[0.5, 0.5], [-0.5, 0.5], [2 / 3, 2 / 3], [-0.5, 1.0]]
    for name in ("a.txt", "a.txt.gz", "b.npz", "c.npz"):
        found, notes = glove(tmp_path / name, TEXTS)
        assert_allclose(found[:4], by_hand)
        assert_allclose(found[4], [0.0, 0.75])
        assert says(notes[0], "5 texts have")


def test_rare_words_count_more(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("film 1 0\nodd 0 1\n")
    found, _ = glove(tmp_path / "a.txt", ["film odd", "film", "film"])
    common, rare = 1.0, np.log(4 / 2) + 1
    assert_allclose(found[0], [common / (common + rare), rare / (common + rare)])


def test_what_is_fitted_is_fitted_to_the_training_rows() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdef"), 4)) for _ in range(30)]
    training = np.arange(20)
    seen = features("tfidf", texts, 30, training).rows
    changed = features("tfidf", [*texts[:20], *["a a b"] * 10], 30, training).rows
    assert_allclose(seen[:20], changed[:20])
    assert_allclose(np.linalg.norm(seen, axis=1), 1.0)


def test_own_vectors_are_in_units_of_the_training_rows(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(5.0, 2.0, size=(40, 3))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "x.csv").write_text("a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in x.tolist()) + "\n")
    for name in ("x.npy", "x.csv"):
        seen = features(str(tmp_path / name), None, 40, np.arange(30))
        assert_allclose(seen.rows, x)
        assert_allclose(seen.scaled[:30].mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(seen.scaled[:30].std(axis=0), 1.0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tf-idf", "write tfidf, encoder:FOLDER, glove:FILE"),
        ("glove:", "names nothing after the colon"),
        ("glove:none.txt", "does not exist"),
        ("glove:bad.txt", "line 2 of glove:"),
        ("glove:other.txt", "a vector for none of the words"),
        ("glove:uneven.txt", "vectors of 2 and of 3"),
        ("glove:bare.npz", "no `words`"),
        ("few.npy", "holds 3 vectors for 5 rows"),
        ("flat.npy", "rows and columns of numbers are needed"),
        ("nan.npy", "not finite, first in row 2"),
        ("objects.npy", "cannot be read as arrays of numbers"),
        ("encoder:no/such/folder/here", "is not a folder"),
    ],
)
def test_bad_features_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str) -> None:
    if name.startswith("encoder"):
        pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text("good 1 2\nbad one two\n")
    Path("other.txt").write_text("gut 1 2\n")
    Path("uneven.txt").write_text("good 1 2\nfilm 1 2 3\n")
    np.savez("bare.npz", vectors=np.zeros((2, 2)))
    np.save("few.npy", np.zeros((3, 2)))
    np.save("flat.npy", np.zeros(5))
    np.save("nan.npy", np.array([[0.0], [np.nan], [0.0], [0.0], [0.0]]))
    np.save("objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match=why):
        features(name, TEXTS, 5, np.arange(4))


@pytest.mark.parametrize("name", ["tfidf", "encoder:builtin", "glove:a.txt"])
def test_features_of_texts_need_texts(name: str) -> None:
    with pytest.raises(InvalidInput, match="text=COLUMN"):
        features(name, None, 5, np.arange(4))


def test_texts_that_an_encoder_cuts_are_counted() -> None:
    pytest.importorskip("transformers")
    builtin = pytest.importorskip("accredit.models.builtin")
    if not builtin.text_folder().is_dir():
        pytest.skip("the built-in text model is not there")
    seen = features("encoder:builtin", ["good", "bad " * 2000], 2, np.arange(2))
    assert says(seen.notes[0], "texts are longer")


@pytest.mark.slow
def test_labels_are_predicted_or_nobody_is_accused() -> None:
    """Noise is three standard errors above chance once in 700 draws; this seed is not one."""
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    assert predict_skill(rng.normal(size=(120, 3)), y).refusal
    ring = rng.normal(size=(120, 2))
    ring *= ((1 + 3 * y) / np.linalg.norm(ring, axis=1))[:, None]  # no line parts them, neighbours do
    assert not predict_skill(ring, y).refusal
    assert "too few" in Skill(1.0, 0.1, 1.0, 0.5, 8).refusal
    assert predict_skill(np.zeros((3, 1)), np.array([0, 1, 2])).refusal  # nobody has a fellow
