"""Models that read strings: scikit-learn pipelines and plain functions, explained by games."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("sklearn")
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from accredit.errors import AccreditError, InvalidInput
from accredit.explanation import Explanation, explain
from accredit.models import as_string_model
from tests.wording import refused, says

FIRST_SENTENCE = "A good, not awful film."

TEXTS = ["good film", "bad film", "very good", "not good", "awful", "a gem, really good"] * 3
LABELS = ["pos", "neg", "pos", "neg", "neg", "pos"] * 3
TEXT = "A good, not awful film. Really good!"


@pytest.fixture(scope="module")
def counts():
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)


def test_a_bag_of_words_gives_each_word_its_weight(counts):
    """The log-odds are a sum over words, so every value is the coefficient."""
    vectoriser, regression = counts[0], counts[1]
    weights = dict(zip(vectoriser.get_feature_names_out(), regression.coef_[0], strict=True))
    found = explain(TEXT, counts, methods="shapley,banzhaf,leave-one-out,owen", target="pos")
    expected = [weights.get(word.split(" ")[0].lower(), 0.0) for word in found.players]
    for _, result in found:
        assert_allclose(result.credit, expected, atol=1e-10)
    assert_allclose(found["shapley"].baseline, regression.intercept_[0])
    own = dict(zip(counts.classes_, counts.predict_proba([TEXT])[0], strict=True))
    assert dict(found.prediction) == pytest.approx(own)


def test_values_are_those_of_the_texts_that_are_left():
    """By the definition over all orders, on a function that looks at neighbours."""

    def neighbours(texts: list[str]) -> list[float]:
        return [3.0 * ("not good" in text) - 2.0 * ("good film" in text) + len(text.split()) for text in texts]

    words = ["not", "good", "film"]
    credit = dict.fromkeys(words, 0.0)
    for order in permutations(words):
        there: set[str] = set()
        for word in order:
            before = neighbours([" ".join(w for w in words if w in there)])[0]
            there.add(word)
            credit[word] += (neighbours([" ".join(w for w in words if w in there)])[0] - before) / 6
    assert_allclose(explain("not good film", neighbours, methods="shapley")["shapley"].credit, list(credit.values()))


def test_decisions_regressions_and_functions_have_their_own_numbers(counts):
    svm = make_pipeline(TfidfVectorizer(), LinearSVC()).fit(TEXTS, LABELS)
    decided, value = explain(TEXT, svm), svm.decision_function([TEXT])[0]
    assert (decided.unit, decided.payoff) == (
        "value",
        "logit",
    )  # decision values are not logits, so there are no chances
    assert dict(decided.prediction) == pytest.approx({"neg": -value, "pos": value})
    with refused("unsupported", "payoff"):
        explain(TEXT, svm, payoff="probability")
    told = explain(TEXT, as_string_model(svm, law="softmax"), methods="shapley", target="pos")
    assert dict(told.prediction)["pos"] == pytest.approx(1 / (1 + np.exp(-value)))
    number = make_pipeline(TfidfVectorizer(), Ridge()).fit(TEXTS, np.arange(len(TEXTS)))
    regressed = explain(TEXT, number)
    assert (regressed.unit, regressed.payoff) == ("value", "logit")
    assert_allclose(regressed.prediction[0][1], number.predict([TEXT])[0])
    named = as_string_model(counts.predict_proba, law="probability", labels=("no", "yes"))
    assert explain(TEXT, named, methods="shapley", target="yes").payoff == "log-odds"
    for found in (decided, regressed):
        assert not found.refused and abs(found["shapley"].unshared) < 1e-9
        assert Explanation.from_json(found.to_json()) == found and TEXT in str(found)


def test_sentences_and_groups_are_players(counts):
    assert explain(TEXT, counts, players="sentence").players == (FIRST_SENTENCE, "Really good!")
    assert "praise" in explain(TEXT, counts, methods="shapley", players={"praise": [1, 7, 8]}).players


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"removal": "mask"}, "words can only be deleted"),
        ({"target": "great"}, "labels are neg, pos"),
        ({"prefix": "so"}, "prefix"),
        ({"methods": "attention"}, "needs a model's attention; for a model that reads strings there are shapley"),
        ({"methods": "saliency"}, "needs a model's gradients; for a model that reads strings there are shapley"),
        ({"payoff": "logit"}, "reports only probabilities"),
    ],
)
def test_what_cannot_be_had_is_said(counts, settings, said):
    with pytest.raises(InvalidInput, match=said):
        explain(TEXT, counts, **settings)


def test_bad_models_are_named(counts):
    cases = {
        "not trained": (TEXT, make_pipeline(CountVectorizer(), LogisticRegression())),
        "reads one string": ((TEXT, TEXT), counts),
        r"returned shape \(3, 1\) for 1 rows": (TEXT, lambda texts: np.zeros(3)),
        "model is an int": (TEXT, 3),
    }
    for said, (text, model) in cases.items():
        with pytest.raises(AccreditError, match=said):
            explain(text, model)


@pytest.mark.slow
def test_no_torch_is_needed():
    probe = (
        "import sys, accredit\n"
        "found = accredit.explain('not good', lambda texts: [len(t) for t in texts])\n"
        "assert 'torch' not in sys.modules, 'torch'\n"
        "print(found)\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and says(done.stdout, "is 8, up"), done.stderr


def test_a_plain_module_explains_a_picture():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2))
    image = np.random.default_rng(0).random((3, 4, 4)).astype(np.float32)
    found = explain(image, module, methods="shapley,saliency", players=(2, 2))
    assert abs(found["shapley"].unshared) < 1e-6 and not found.refused


def test_players_may_be_named_in_the_plural(counts):
    one, many = (explain(TEXT, counts, methods="shapley", players=players) for players in ("word", "words"))
    assert one["shapley"] == many["shapley"]


def test_credit_that_is_rounding_is_printed_as_none():
    """A word that the model does not know adds sums of the same payoffs in another order: 1e-16 is no credit."""
    found = explain(
        "nie gehört " + TEXT, lambda texts: [0.1 * text.count("good") + 0.7 * len(text.split("film")) for text in texts]
    )
    assert "e-1" not in str(found) and "good" in str(found)
