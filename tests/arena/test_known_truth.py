"""The leaderboard of known truth: the truth is true by brute force, and methods of any form enter."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from accredit.arena import known_truth
from accredit.arena.known_truth import TRACKS, leaderboard, read_numbers
from accredit.core.coalitions import from_index
from accredit.values import shapley
from benchmarks import known_truth as benchmark
from tests.wording import refused

PAGE = Path(__file__).parents[2] / "docs" / "reports" / "known_truth.md"


@pytest.mark.slow
@pytest.mark.parametrize("track", ["columns", "leaks"])
def test_values_in_closed_form_are_those_of_all_coalitions(track):
    for number in range(3):
        problem = TRACKS[track](number)
        assert_allclose(shapley(problem.game).credit, problem.values, atol=1e-12)
        assert (problem.values[problem.earned] != 0).all()


def test_the_heads_that_are_said_to_earn_it_do():
    pytest.importorskip("torch")
    problem = TRACKS["components"](0)
    assert_allclose(shapley(problem.game).credit, problem.values, atol=1e-9)
    assert problem.earned.sum() == 2


def test_pairs_that_are_said_to_earn_together_do_and_no_others():
    problem = TRACKS["interactions"](1)
    n = len(problem.game.players)
    paid = problem.game.payoff(from_index(np.arange(1 << n), n))
    masks, together = np.arange(1 << n), []
    for i in range(n):
        for j in range(i + 1, n):
            without = masks[(masks >> i & 1 == 0) & (masks >> j & 1 == 0)]
            change = paid[without | 1 << i | 1 << j] - paid[without | 1 << i] - paid[without | 1 << j] + paid[without]
            together.append(bool((np.abs(change) > 1e-12).any()))
    assert together == problem.earned.tolist()


@pytest.mark.slow
def test_the_passages_that_are_said_to_hold_the_fact_decide_the_answer():
    pytest.importorskip("torch")
    for number in range(3):  # plain, redundant, joint
        problem = TRACKS["context"](number)
        whole, without = problem.game.payoff(np.stack([np.ones(known_truth.PASSAGES, bool), ~problem.earned]))
        assert whole - without > 1 and problem.earned.sum() == (1, 2, 2)[number]


def test_a_tenth_of_the_labels_is_wrong_and_every_problem_is_another():
    problem = TRACKS["data"](0)
    assert problem.earned.sum() == 15 and problem.labels.shape == (150,) and problem.rows.shape == (150, 8)
    assert not np.array_equal(problem.rows, TRACKS["data"](1).rows)
    np.testing.assert_array_equal(problem.rows, TRACKS["data"](0).rows)


@pytest.mark.slow
def test_who_knows_the_truth_finds_all_and_who_guesses_finds_what_chance_does():
    def knows(problem):
        return problem.earned.astype(float) if problem.values is None else problem.values

    def guesses(problem):
        return np.zeros(len(problem.players))

    board = leaderboard({"guesses": guesses, "knows": knows, "declines": lambda problem: None}, count=3)
    for scores in board.values():
        assert list(scores) == ["knows", "guesses"]
        assert scores["knows"].found.value == 1.0 and scores["knows"].found.low < 1.0
        assert scores["guesses"].found.value == pytest.approx(scores["guesses"].chance)
        assert scores["knows"].error in (None, 0.0)


def test_numbers_come_as_arrays_attributions_and_explanations():
    problem = TRACKS["columns"](0)
    numbers = np.arange(12.0)
    for given in (numbers, numbers.tolist(), SimpleNamespace(values=numbers[None]), SimpleNamespace(credit=numbers)):
        np.testing.assert_array_equal(read_numbers(given, problem), numbers)
    pairs = TRACKS["interactions"](0)
    square = np.add.outer(numbers, numbers)
    assert read_numbers(square, pairs).tolist()[:2] == [1.0, 2.0] and len(pairs.players) == 66
    with refused("shape", "mine"):
        read_numbers(numbers[:3], problem, "mine")
    with refused("not-finite", "mine"):
        read_numbers(np.full(12, np.nan), problem, "mine")
    with refused("unknown", "tracks"):
        leaderboard({}, tracks=["nothing"])


def test_a_table_has_a_cell_for_who_enters_and_none_is_needed_of_who_does_not(monkeypatch):
    entries = {"half": lambda problem: [1.0, *[0.0] * 7], "absent": lambda problem: None}
    monkeypatch.setattr(benchmark, "ours", lambda: entries)
    monkeypatch.setattr(benchmark, "theirs", dict)
    problem = known_truth.Problem("columns", 0, tuple("abcdefgh"), np.arange(8) < 2)
    monkeypatch.setattr(known_truth, "TRACKS", {"columns": lambda number: problem})
    said = benchmark.table(leaderboard(entries, 3, ["columns"]))  # always a half: nothing is known about the spread
    (line,) = (line for line in said.splitlines() if line.startswith("| half"))
    assert line.startswith("| half | 0.57") and "absent" not in said  # the rest of the places are drawn by chance


def test_ten_lines_are_enough_to_enter(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    exec(compile(block, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("columns ")
