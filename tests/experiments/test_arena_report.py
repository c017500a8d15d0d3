"""The arena's report on three sentences and two methods."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from accredit.evaluate.arena import Example
from accredit.evaluate.text_contest import TextContest
from accredit.experiments.arena_report import arena_report

TEXTS = ["A warm and funny film about two old friends.", "The food was cold and the room was dark.", "Good."]


def test_it_holds_the_table_intervals_and_sanity_checks(tmp_path):
    contest = TextContest(("leave-one-out", "attention"), metrics=("deletion", "insertion"), budget=64)
    examples = [Example(k, text) for k, text in enumerate(TEXTS)]
    report = arena_report([contest], examples, None, "serial", "Three sentences", quick=True, seed=0)
    text = report.markdown()
    assert "| leave-one-out |" in text and "| oracle |" in text and "| random |" in text
    assert "within its 95 % interval" in text
    assert "random down to embeddings" in text
    assert "accredit reproduce arena --quick" in text
    assert {file.suffix for file in report.write(tmp_path)} == {".md", ".svg"}
