from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.errors import InvalidInput
from accredit.evaluate.data import mislabel_auc
from accredit.valuation import knn_shapley, split, text_features
from tests.real_data import real_data

transformers = pytest.importorskip("transformers")
builtin = pytest.importorskip("accredit.models.builtin")
TEXTS = ["good", "a film that is much longer than the first one , and duller", "bad", "not bad at all"]


@pytest.fixture(scope="module", autouse=True)
def _needs_the_model():
    if not builtin.text_folder().is_dir():
        pytest.skip("the built-in text model is not there")


@pytest.mark.slow
def test_features_do_not_depend_on_the_company_of_a_text() -> None:
    together = text_features(TEXTS, "builtin")
    assert together.shape[0] == 4
    for i, text in enumerate(TEXTS):
        assert_allclose(text_features([text], "builtin")[0], together[i], atol=1e-5)
    assert np.abs(together[0] - together[2]).max() > 0.1


@pytest.mark.slow
def test_a_bare_encoder_folder_gives_the_same_features(tmp_path, capfd) -> None:
    model, tokenizer = builtin.load_text()
    model.base_model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    assert_allclose(text_features(TEXTS, tmp_path), text_features(TEXTS, "builtin"), atol=1e-6)
    assert capfd.readouterr().err == ""  # of the libraries' progress nothing is shown


@pytest.mark.parametrize("texts", ["one string", ["fine", "  "], ["fine", None]])
def test_what_is_not_text_is_refused(texts) -> None:
    with pytest.raises(InvalidInput, match="non-empty strings"):
        text_features(texts, "builtin")


@pytest.mark.slow
def test_flipped_labels_of_sst2_sentences_are_found() -> None:
    """120 sentences, 12 labels flipped. The encoder was trained on SST-2 with true labels, so this shows that the parts fit
    together, not how well flips are found in new data. Random credit exceeds 0.75 with a chance of about 0.002; the seed is
    fixed."""
    with gzip.open(real_data("sst2.tsv.gz"), "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    rng = np.random.default_rng(0)
    train = [row for row in rows if row[0] == "train" and len(row[2].split()) >= 8]
    dev = [row for row in rows if row[0] == "dev"]
    train, dev = ([part[i] for i in rng.permutation(len(part))[:count]] for part, count in ((train, 120), (dev, 80)))
    y = np.array([int(row[1]) for row in train])
    wrong = np.zeros(120, bool)
    wrong[rng.permutation(120)[:12]] = True
    features = text_features([row[2] for row in train + dev], "builtin")
    data = split(features[:120], np.where(wrong, 1 - y, y), features[120:], [int(row[1]) for row in dev])
    assert mislabel_auc(knn_shapley(data, 5), wrong).value > 0.75
