"""Texts that a model cannot read at once: what is offered, and that parts cover the text."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from accredit.explanation.long_texts import parts, tokens_in
from accredit.web.explaining import explain, most_tokens
from accredit.web.requests import ExplainRequest
from accredit.web.tasks import Models
from tests.wording import refused, says

WORDS = ["good", "dull", "film,", "unbelievably", "the", "it's", "好", "映画", "x" * 300, "-", "end.", "Why?", "no!\n"]


@pytest.fixture(scope="module")
def models():
    return Models(())


def asked(**how):
    return {"task": "explain", **ExplainRequest(methods=["leave-one-out"], **how).model_dump()}


@pytest.mark.slow
def test_parts_cover_the_text_and_each_is_read_whole(models):
    model, rng = models.model("text"), np.random.default_rng(0)
    for _ in range(60):
        text = " ".join(rng.choice(WORDS, rng.integers(1, 200)))
        most = int(rng.integers(12, 128))
        spans = parts(model, text, most)
        assert spans[0][0] == 0 and spans[-1][1] >= len(text.rstrip())
        assert all(b == a for (_, b), (a, _) in itertools.pairwise(spans))
        assert all(tokens_in(model, text[a:b]) <= most for a, b in spans)


def test_sentences_stay_whole_where_they_fit(models):
    text = "A good film. " * 40
    for a, b in parts(models.model("text"), text, 30):
        assert text[a:b].strip().startswith("A good") and text[a:b].strip().endswith("film.")


@pytest.mark.slow
def test_a_long_text_is_read_in_parts_by_itself_and_says_so_or_is_cut(models):
    text = "A good film, at first. " * 30
    read = list(explain(models, asked(text=text)))
    assert read[-1]["event"] == "done" and read[-2]["part"] == 0 and len(read[-2]["parts"]) > 1
    tokens, most = tokens_in(models.model("text"), text), most_tokens(models.model("text"))
    assert most == 128 < tokens
    assert says(read[-2]["summary"], f"has {tokens} tokens") and says(read[-2]["summary"], f"reads {most} at once")
    labels = [label for label, _ in read[-2]["parts"]]
    assert all(f"{labels.count(label)} {label}" in read[-2]["summary"] for label in labels)
    cut = list(explain(models, asked(text=text, cut=True)))
    assert cut[-1]["event"] == "done" and says(cut[-2]["blocks"]["notes"], "did not read")
    assert '<span class="unread">' in cut[-2]["blocks"]["lead"]  # not as if it had earned nothing
    second = list(explain(models, asked(text=text, part=1)))
    assert second[-1]["event"] == "done" and second[-2]["part"] == 1 and second[-2]["parts"] == read[-2]["parts"]
    assert second[-2]["text"] in text and all(0.5 <= share <= 1 for _, share in second[-2]["parts"])
    with refused("range"):
        list(explain(models, asked(text=text, part=999)))


@pytest.mark.slow
def test_one_token_too_many_is_enough(models):
    """134 tokens where the model reads 128 used to be refused."""
    model = models.model("text")
    text = "A film. " * 43
    assert 128 < tokens_in(model, text) <= 134
    read = list(explain(models, asked(text=text)))
    assert len(read[-2]["parts"]) == 2 and read[-1]["event"] == "done"
