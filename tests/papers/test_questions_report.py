"""The open questions: which texts and models are asked, and what the cheap warnings are worth."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.games import FunctionGame
from accredit.values.leaving_out import leaving_out
from accredit_papers import questions_report as questions
from accredit_papers.report import Report
from accredit_papers.verdicts import Found
from tests.real_data import real_data
from tests.wording import refused

pytest.importorskip("sklearn")


def game(strength, n=5):
    """A sum of its players, and a product of the first two."""
    return FunctionGame(range(n), lambda c: c @ np.arange(1.0, n + 1) + strength * c[:, 0] * c[:, 1])


def test_warnings_are_counted_against_what_is_true():
    """Forty additive games and forty with a large product: nobody is warned of the first, and of all of the others."""
    report = Report("demo", "Demo")
    found = [leaving_out(game(strength)) for strength in (0.0, 50.0) for _ in range(40)]
    questions.warnings(report, found, 0)
    assert [v.found for v in report.verdicts] == [Found.HOLDS, Found.HOLDS]
    markdown = report.markdown()
    assert "| warned of | 0 | 40 |" in markdown and "| not warned of | 40 | 0 |" in markdown


def test_a_warning_that_never_comes_judges_nothing():
    report = Report("demo", "Demo")
    questions.warnings(report, [leaving_out(game(0.0))] * 3, 0)
    assert report.verdicts[1].found is Found.OPEN


def test_training_rows_teach_and_the_others_are_explained(tmp_path):
    file = tmp_path / "reviews.tsv"
    rows = [("train", 1, "good"), ("train", 0, "bad"), ("dev", 1, "a good film"), ("test", "", "who knows")]
    file.write_text("\n".join("\t".join(map(str, row)) for row in [("split", "label", "text"), *rows]) + "\n")
    (texts, labels), others = questions.split_texts(file)
    assert (texts, labels, others) == (["good", "bad"], ["1", "0"], ["a good film"])
    file.write_text("split\tlabel\ttext\ntrain\t1\tgood\n")
    with refused("empty", "data"):
        questions.split_texts(file)


@pytest.mark.slow
def test_the_bag_of_words_is_that_of_scikit_learn():
    """Its probabilities, from the library's own pipeline, on a real corpus."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    (texts, labels), others = questions.split_texts(real_data("sst2.tsv.gz"))
    texts, labels, others = texts[:3000], labels[:3000], others[:20]
    words = TfidfVectorizer(token_pattern=r"\S+")
    line = LogisticRegression(max_iter=1000).fit(words.fit_transform(texts), labels)
    outputs = questions.fit_bag_of_words(texts, labels).outputs(others)
    chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances, line.predict_proba(words.transform(others)), atol=1e-9)
