"""Overlap with human rationales, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from accredit.errors import InvalidInput
from accredit.evaluate import auprc, iou_f1, spans_of, token_f1
from tests.wording import refused


def marks(text: str) -> np.ndarray:
    return np.array([c == "x" for c in text])


def test_token_f1_by_hand():
    assert token_f1(marks("xx--"), marks("xx--")) == 1.0
    assert token_f1(marks("xxx-"), marks("--xx")) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert token_f1(marks("x---"), marks("---x")) == 0.0


def test_auprc_by_hand():
    assert auprc(np.array([4.0, 3, 2, 1]), marks("xx--")) == 1.0
    assert auprc(np.array([4.0, 3, 2, 1]), marks("--xx")) == pytest.approx((1 / 3 + 2 / 4) / 2)
    assert auprc(np.ones(4), marks("x---")) == pytest.approx(1 / 4)  # all tied: chance


def test_auprc_equals_average_precision():
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    for _ in range(50):
        scores = rng.integers(0, 6, size=15).astype(float)
        rationale = rng.random(15) < 0.4
        rationale[0] = True
        assert auprc(scores, rationale) == pytest.approx(sklearn.average_precision_score(rationale, scores), abs=1e-12)


def test_iou_f1_by_hand():
    assert iou_f1([(0, 3)], [(0, 3)]) == 1.0
    assert iou_f1([(0, 4), (10, 11)], [(2, 4)]) == pytest.approx(2 * 0.5 * 1 / 1.5)  # 2/4 counts, the other does not
    assert iou_f1([(0, 5)], [(3, 5)]) == 0.0  # 2/5 is below one half
    assert iou_f1([(0, 2), (0, 2)], [(0, 2)]) == 1.0  # recall is cut at 1


def test_spans_and_bad_input():
    assert spans_of(marks("-xx-x")) == [(1, 3), (4, 5)]
    assert spans_of(marks("---")) == []
    with pytest.raises(InvalidInput, match="no span"):
        iou_f1([(0, 1)], [])
    with pytest.raises(InvalidInput, match="marks no token"):
        auprc(np.ones(3), marks("---"))
    with pytest.raises(InvalidInput, match="shape"):
        token_f1(marks("xx"), marks("xxx"))


def test_soft_scores_are_not_choices_and_spans_have_an_inside():
    with refused("type", "chosen"):
        token_f1(np.array([0.9, 0.1]), np.array([True, False]))
    assert token_f1(np.array([1, 0]), np.array([1, 1])) == pytest.approx(2 / 3)
    with pytest.raises(InvalidInput, match="finite"):
        auprc(np.array([0.9, np.nan]), np.array([True, False]))
    with refused("empty", "rationale"):
        iou_f1([(3, 1)], [(0, 2)])
