"""Texts that a model cannot read at once: what is offered, and that parts cover the text."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from accredit.web.explaining import explain, most_tokens
from accredit.web.long_texts import parts, tokens_in
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
def test_a_long_text_is_refused_with_what_can_be_done_and_both_ways_work(models):
    text = "A good film, at first. " * 30
    (failed,) = explain(models, asked(text=text))
    assert failed["event"] == "failed" and failed["long"]["parts"]
    assert failed["long"]["reads"] == most_tokens(models.model("text")) == 128 < failed["long"]["tokens"]
    assert "=" not in failed["problem"]  # no argument of a Python call
    cut = list(explain(models, asked(text=text, cut=True)))
    assert cut[-1]["event"] == "done" and says(cut[-2]["blocks"]["notes"], "did not read")
    assert '<span class="unread">' in cut[-2]["blocks"]["lead"]  # not as if it had earned nothing
    second = list(explain(models, asked(text=text, part=1)))
    assert second[-1]["event"] == "done" and second[-2]["part"] == 1 and len(second[-2]["parts"]) > 1
    assert second[-2]["text"] in text and all(0.5 <= share <= 1 for _, share in second[-2]["parts"])
    with refused("range"):
        list(explain(models, asked(text=text, part=999)))
