"""BM25 by hand: one word, two texts of one length, so that nothing but rarity and repetition counts."""

from __future__ import annotations

import math

import numpy as np
from numpy.testing import assert_allclose

from accredit.influence.bm25 import LENGTH_SHARE, SATURATION, bm25


def test_a_case_worked_by_hand():
    texts = ["red red fox", "blue fox den", "old grey owl"]
    rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)  # in one text of three, and in two
    twice, once = 2 / (2 + SATURATION), 1 / (1 + SATURATION)
    assert_allclose(bm25(texts, "Red FOX!"), [rare * twice + common * once, common * once, 0.0])
    assert_allclose(bm25(texts, "fox fox"), [2 * common * once, 2 * common * once, 0.0])  # a query may repeat a word


def test_a_longer_text_counts_less_for_the_same_word():
    short, long = bm25(["fox", "fox and owl"], "fox")
    idf = math.log(1 + 0.5 / 2.5)
    for found, length in ((short, 1), (long, 3)):
        assert_allclose(found, idf / (1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / 2)))


def test_nothing_shared_is_nothing():
    assert not bm25(["fox", "…"], "owl").any() and not bm25(["…", "!"], "owl").any()
    assert np.isfinite(bm25(["…", "!"], "?")).all()
