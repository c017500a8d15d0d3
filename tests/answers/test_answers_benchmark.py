"""The benchmark of answers runs, and its plain passes give the numbers that ours give."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from benchmarks.answers import passes, small_llama
from benchmarks.equal_error import _error, token_game


@pytest.mark.slow
def test_both_ways_give_the_same_numbers_and_ours_reads_fewer_tokens():
    for row in passes(small_llama(), quick=True):
        assert row["difference"] < 1e-5 and row["token ratio"] > 1.3


@pytest.mark.slow
def test_a_review_has_as_many_tokens_as_asked_and_the_truth_must_be_good():
    import numpy as np

    assert [len(token_game(n).players) for n in (16, 128)] == [16, 126]
    found, truth = [np.array([1.1, 0.0])], np.array([1.0, 0.0])
    assert _error(found, truth, 0.0) == pytest.approx(0.1)
    with pytest.raises(RuntimeError, match="more payoffs"):
        _error(found, truth, 0.01)
