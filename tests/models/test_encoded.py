"""Words, sentences and partitions of a text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from accredit.errors import InvalidInput
from accredit.models.encoded import sentence_spans, word_spans
from accredit.models.partition import Partition, partition_of
from tests.models.small_models import text_model

NEW_LINE = "New line 3.5 stays."

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(" .!?,'-\u2028\u200f\n好か🎬<>\"")), min_size=1, max_size=40)


def covered(text: str, spans: list[tuple[int, int]]) -> set[int]:
    places = [i for a, b in spans for i in range(a, b)]
    assert len(places) == len(set(places)) and places == sorted(places)
    return {i for i in places if not text[i].isspace()}


@given(TEXTS)
@settings(derandomize=True, deadline=None)
def test_words_and_sentences_hold_every_visible_character_once(text):
    visible = {i for i, c in enumerate(text) if not c.isspace()}
    assert covered(text, word_spans(text)) == visible
    assert covered(text, sentence_spans(text)) == visible


@given(TEXTS)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_any_text_has_distinct_players_of_every_kind(text):
    model = _BYTES
    try:
        encoded = model.encode(text, cut=True)
    except InvalidInput:
        lone = any("\ud800" <= c <= "\udfff" for c in text)  # half of a surrogate pair, no character
        assert lone or not text.strip() or "<|end|>" in text
        return
    counts = []
    for players in ("token", "word", "sentence"):
        partition = encoded.partition(players)
        assert len(set(partition.players)) == len(partition.players)
        assert set(partition.owner[~encoded.special]) == set(range(len(partition.players)))
        counts.append(len(partition.players))
    assert counts[0] >= counts[1] >= 1 and counts[0] >= counts[2]


_BYTES = text_model("gpt2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's well-made, :)", ["It's", "well-made", ",", ":)"]),
        ("“Fine,” he said…", ["“", "Fine", ",”", "he", "said", "…"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("映画が好き。", ["映", "画", "が", "好", "き", "。"]),
        ("$5 #tag", ["$", "5", "#", "tag"]),
    ],
)
def test_words_by_hand(text, words):
    assert [text[a:b] for a, b in word_spans(text)] == words


def test_sentences_by_hand():
    text = 'He said "no." Then left!\nNew line 3.5 stays. 終わり。はい'
    spans = [text[a:b].strip() for a, b in sentence_spans(text)]
    assert spans == ['He said "no."', "Then left!", NEW_LINE, "終わり。", "はい"]


def test_partitions_keep_and_share():
    partition = Partition(("a", "b"), np.array([0, -1, 1, 0]))
    assert_array_equal(partition.kept(np.array([[True, False], [False, False]])), [[1, 1, 0, 1], [0, 1, 0, 0]])
    assert_allclose(partition.shares(np.array([[1.0, 9, 2, 4], [0, 9, 1, 1]])), [[5, 2], [1, 1]])
    grouped = partition_of({"ends": [0, 3]}, 4, np.array([True, True, True, True]), ("p", "q", "r", "s"))
    assert grouped.players == ("ends", "q", "r") and grouped.owner.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("family", ["gpt2", "roberta"])  # RoBERTa's offsets leave white space out
def test_tokens_of_white_space_are_shown_as_signs(family):
    tokens = text_model(family).encode("It is.\n\nIt\tis ").tokens
    assert {"⏎", "⇥"} <= set(tokens) and not any(odd in token for token in tokens for odd in "ĊĉĠ")
