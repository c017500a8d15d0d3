"""Coverage from kept tables: what is paid, who is counted, and that the sentence is the unit of chance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tools.encoder_coverage import PAYOFFS, paid, summary, trials

SUMMARY = "0.875 ± 0.125 | 0.75 | 2 | 4 (1 without interval)"


def test_a_table_pays_the_class_that_the_whole_sentence_is_given():
    logits = np.array([[0.0, 1.0], [2.0, -1.0]])
    assert paid(logits, "logit").tolist() == [0.0, 2.0]
    assert_allclose(paid(logits, "probability"), 1 / (1 + np.exp(-paid(logits, "log-odds"))))


def test_words_of_one_sentence_count_once():
    found = [("a", 1.0), ("a", 0.5), ("b", 1.0), ("b", None)]
    assert summary(found) == SUMMARY


@pytest.mark.slow
def test_every_table_payoff_budget_and_seed_is_tried(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(2):
        np.save(tmp_path / f"mask_6_{number}.npy", rng.normal(size=(64, 2)))
    found = list(trials(tmp_path, [40, 64], seeds=2))
    assert len(found) == 2 * len(PAYOFFS) * 2  # a budget of all 64 payoffs needs no interval
    assert {sentence for *_, sentence, _ in found} == {"6_0", "6_1"}
    assert all(inside is None or 0 <= inside <= 1 for *_, inside in found)
