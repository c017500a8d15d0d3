"""The benchmark of traces runs to its end on a tiny model."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("transformers")

from benchmarks.trace import KINDS, main, planted


def test_few_questions_and_many_both_have_their_texts():
    for count in (2, 16):
        texts, questions = planted(count, seed=0, size=0 if count == 2 else 160)
        assert len(questions) == 3 * count and all(question.answer in texts[question.row] for question in questions)


@pytest.mark.slow
def test_every_ranking_is_scored_on_every_kind_of_question(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ACCREDIT_RESULTS", str(tmp_path))
    main(["--quick"])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["how"] for one in told] == ["full", "lora"]
    for one in told:
        assert set(one["first"]) == {"BM25", "trace", "trace at the base", "trace with base"}
        assert all(set(kinds) == set(KINDS) and all(0 <= x <= 1 for x in kinds.values()) for kinds in one["first"].values())
        assert one["bytes per text"] < 50_000
