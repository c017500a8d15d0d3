"""Some executions of every fuzz target, and what fuzzing has found."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accredit.core import Selection
from tests.wording import refused
from tools import fuzz
from tools.proof.mutate import damaged_bytes, damaged_json, places, torn
from tools.proof.targets import CRASHING, TARGETS

ROOT = Path(__file__).parents[2]
QUICK = [name for name in TARGETS if name not in (*CRASHING, "explanations as JSON", "routes of the page", "journals")]


@pytest.mark.parametrize("target", QUICK)
def test_some_executions(target):
    assert fuzz.executed(target, 0, 40) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["explanations as JSON", "routes of the page", "journals"])
def test_some_slow_executions(target):
    assert fuzz.executed(target, 0, 25) == []


def test_damage_is_the_same_for_a_seed_and_does_change_things():
    text = '{"a": [1, 2], "b": {"c": "x"}}'
    damaged = [damaged_json(random.Random(k), text) for k in range(50)]
    assert damaged == [damaged_json(random.Random(k), text) for k in range(50)]
    assert len(set(damaged)) > 30
    assert ("b", "c") in places({"a": [1], "b": {"c": 2}}) and torn(random.Random(1), text) != text
    assert damaged_bytes(random.Random(0), b"abc") != b"abc"


def test_a_fault_becomes_a_finding(monkeypatch):
    def broken(rng: random.Random) -> None:
        raise KeyError("x")

    monkeypatch.setitem(TARGETS, "broken", (broken, 1))
    assert fuzz.main(["broken", "--runs", "3"]) == 1


def test_a_ragged_choice_is_refused():
    """Found by fuzzing results as JSON: numpy's own error came through."""
    with refused("shape", "chosen"):
        Selection(("a", "b"), [True, [False]], "l2x")


def test_a_journal_with_a_byte_flipped_inside_a_text_is_called_damaged():
    """Found by fuzzing journals: SQLite's message quoted the damaged text, and could not be decoded."""
    assert fuzz.attempt("journals", 43) is None


@pytest.mark.slow
def test_a_torn_model_file_is_refused_in_words(tmp_path):
    """In a process of its own, which a damaged file may end inside a library in C++."""
    file = tmp_path / "forest.ubj"
    file.write_bytes(b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner\xb5\xff")
    command = [sys.executable, "-m", "accredit", "explain", "rows.csv", "--model", str(file)]
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.search(r"forest.ubj cannot be read as a model of xgboost: .*; save it again", done.stderr)
