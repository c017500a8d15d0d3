"""Rationales of a made-up review against the built-in model."""

from __future__ import annotations

import gzip
import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("ortools")

from accredit.errors import InvalidInput
from accredit_papers.plausibility_report import METHODS, passages, plausibility_report
from tests.wording import refused

REVIEW = "the film is slow at first , but the acting is superb and the ending is deeply moving ."


@pytest.fixture
def file(tmp_path):
    rows = [
        {"split": "test", "label": 1, "tokens": REVIEW, "rationales": [[8, 12]]},
        {"split": "test", "label": 1, "tokens": REVIEW, "rationales": []},
        {"split": "train", "label": 0, "tokens": REVIEW, "rationales": [[0, 2]]},
    ]
    with gzip.open(tmp_path / "movies.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write("\n".join(json.dumps(row) for row in rows))
    return tmp_path / "movies.jsonl.gz"


def test_only_test_reviews_with_rationales_are_used(file):
    (only,) = passages(file)
    assert [word for word, mark in zip(only.words, only.marked, strict=True) if mark] == [
        "the",
        "acting",
        "is",
        "superb",
    ]
    assert only.positive


def test_every_method_and_chance_are_in_the_table(file):
    text = plausibility_report("builtin", file, 5, True, 0).markdown()
    assert all(f"| {name} |" in text for name in (*METHODS, "random"))
    assert "1 test reviews" in text


def test_bad_files_are_named(file, tmp_path):
    with refused("missing", "file", has="none.jsonl.gz"):
        plausibility_report("builtin", tmp_path / "none.jsonl.gz", 1, True, 0)
    with gzip.open(tmp_path / "empty.jsonl.gz", "wt") as lines:
        lines.write("")
    with pytest.raises(InvalidInput, match="no test review"):
        plausibility_report("builtin", tmp_path / "empty.jsonl.gz", 1, True, 0)
