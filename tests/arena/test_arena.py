"""The arena: rows survive anything, and the table is a function of the rows."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from accredit.arena.contest import ORACLE, RANDOM, Example, MethodRun, RowEntry, RowResult, metrics_named, run_row
from accredit.arena.row_files import FinishedRows, hold, read_finished
from accredit.arena.standings import standings
from accredit.arena.texts import read_examples, sample
from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.evaluate import holm
from accredit.store.workers import WorkerLost, workers
from accredit.views.pages.arena_page import arena_page
from accredit.views.terminal.arena_text import markdown_table, notes_of, text_table

sys.path.insert(0, str(Path(__file__).parent))
from toy_arena import ToyContest

from tests.wording import reads, refused, says

TEXTS = [Example(i, f"sentence number {i}") for i in range(12)]


@pytest.fixture(scope="module")
def table():
    return hold(ToyContest(), TEXTS)


def test_random_and_oracle_are_the_ends_of_the_scale(table):
    assert table[RANDOM].share.value == 0.0
    assert table[ORACLE].share.value == pytest.approx(1.0)
    assert table.standings[0].method == ORACLE
    for s in table.standings:
        if s.share is not None:
            assert s.share.value <= 1.0 + 1e-12
            assert s.share.low <= s.share.value <= s.share.high


def test_shapley_beats_position_and_the_difference_is_significant(table):
    assert table["shapley"].share.value > table["position"].share.value
    assert table["position"].p_best < 0.05
    assert table["shapley"].p_random < 0.05


def test_the_mean_of_the_row_shares_is_the_share_by_hand(table):
    rows = read_finished(ToyContest(), TEXTS, None, "serial")
    by_hand = []
    for metric, sign in (("comprehensiveness", 1), ("deletion", -1), ("insertion", 1), ("sensitivity-n", 1)):
        mine, chance, top = (
            np.mean([sign * r.entries[name].scores[metric] for r in rows]) for name in ("shapley", RANDOM, ORACLE)
        )
        by_hand.append((mine - chance) / (top - chance))
    assert table.ranked_by == ("comprehensiveness", "deletion", "insertion", "sensitivity-n")
    assert table["shapley"].share.value == pytest.approx(np.mean(by_hand), abs=1e-12)


def test_a_method_that_fails_on_one_row_is_recorded_and_the_rest_goes_on(table):
    assert table["brittle"].rows == 11
    assert reads(table["brittle"].failures)
    assert table["shapley"].rows == 12
    assert any(says(note, "row 3, ArithmeticError") for note in notes_of(table))


def test_what_does_not_apply_is_said_not_computed(table):
    assert table["chosen"].share is None
    assert "selection" in table["chosen"].missing["deletion"]
    assert "comprehensiveness" in table["chosen"].metrics
    assert "infidelity" in table["position"].missing
    text = text_table(table)
    assert "n/a" in text and says(text, "not measured for")


def test_claims_and_cost_are_in_the_table(table):
    assert table["shapley"].claims["efficiency"] == "exactly"
    assert table["leave-one-out"].claims["efficiency"] == "no"
    assert table["leave-one-out"].passes == 8


def test_the_best_is_chosen_by_looking_so_its_test_is_corrected_for_all_pairs():
    rng = np.random.default_rng(8)
    names = ("a", "b", "c", "d")
    rows = []
    for k, scores in enumerate(rng.normal((0.0, 0.3, 0.6, 1.5), size=(9, 4))):
        given = {RANDOM: 0.0, ORACLE: 3.0} | dict(zip(names, scores.tolist(), strict=True))
        rows.append(RowResult(k, "", 3, {n: RowEntry(scores={"insertion": x}) for n, x in given.items()}, 0.0))
    table = standings(rows)
    values = {n: np.array([r.entries[n].scores["insertion"] for r in rows]) for n in names}
    pairs = list(combinations(names, 2))
    found = [
        np.mean([abs(s @ g) >= abs(g.sum()) * (1 - 1e-12) for s in map(np.array, product((1, -1), repeat=9))])
        for g in (values[a] - values[b] for a, b in pairs)
    ]
    corrected = dict(zip(pairs, holm(np.array(found)), strict=True))
    best = max(names, key=lambda n: values[n].mean())
    assert table[best].p_best is None
    for name in set(names) - {best}:
        pair = next(p for p in pairs if set(p) == {name, best})
        assert table[name].p_best == pytest.approx(corrected[pair])


@dataclass(frozen=True)
class Faulty(ToyContest):
    """Rows that break in every place where they can."""

    methods: tuple[str, ...] = ("shapley", "stranger")

    def game(self, example):
        if example.row == 1:
            raise RuntimeError("the model ran out of memory")
        game = super().game(example)
        return Broken(game) if example.row == 2 else game

    def explain(self, method, example):
        if method == "stranger" and example.row == 0:
            return MethodRun(Attribution(("x", "y"), np.ones(2), None, "of another game"), 1)
        return super().explain("shapley", example)


class Broken:
    """A game that pays what is no number."""

    def __init__(self, game):
        self.players = game.players

    def payoff(self, coalitions):
        return np.full(len(coalitions), np.nan)


def test_whatever_breaks_in_a_row_stays_in_that_row():
    table = hold(Faulty(), TEXTS[:5])
    assert table.rows == 3
    assert reads(table.refused[1])
    assert "nan" in table.refused[2]
    assert reads(table["stranger"].failures)
    notes = " ".join(notes_of(table))
    assert says(notes, "stranger failed on")
    assert says(notes, "row 1, RuntimeError") and "row 2, " in notes


def test_one_player_has_no_order_to_agree_on():
    one = {n: RowEntry(scores={"insertion": 0.5}, credit=[1.0]) for n in ("a", "b")}
    two = {n: RowEntry(scores={"insertion": 0.5}, credit=[1.0, 2.0]) for n in ("a", "b")}
    ends = {RANDOM: RowEntry(scores={"insertion": 0.1}), ORACLE: RowEntry(scores={"insertion": 0.9})}
    table = standings([RowResult(k, "", 2, {**e, **ends}, 0.0) for k, e in enumerate((one, two))])
    assert table.agreement[0, 1] == 1.0


def test_without_a_scale_nobody_is_ranked_and_it_says_so():
    same = {n: RowEntry(scores={"insertion": 0.5}) for n in ("a", RANDOM, ORACLE)}
    table = standings([RowResult(0, "", 1, same, 0.0)])
    notes = " ".join(notes_of(table))
    assert says(notes, "method is ranked") and says(notes, "ranked by insertion") and "ranked by ." not in notes
    assert says(notes, "intervals say nothing")
    assert says(arena_page(table, "a page"), "method is ranked")


def test_a_method_that_worked_only_where_nothing_can_be_told_apart_is_not_ranked():
    def row(k, chance, mine):
        scores = {RANDOM: chance, ORACLE: 0.9, "a": 0.7} | ({"late": mine} if mine is not None else {})
        return RowResult(k, "", 2, {n: RowEntry(scores={"insertion": x}) for n, x in scores.items()}, 0.0)

    table = standings([row(0, 0.9, 0.9), *(row(k, 0.1, None) for k in range(1, 6))])  # row 0: any order is the best
    assert table["late"].share is None and table["late"].p_best is None
    assert table["a"].share.value == pytest.approx((0.7 - 1.4 / 6) / (0.9 - 1.4 / 6))
    assert table["a"].share.low <= table["a"].share.value <= table["a"].share.high


def test_a_metric_without_a_scale_in_a_resample_is_left_out_of_it():
    def scored(inserted, deleted):
        return RowEntry(scores={"insertion": inserted, "comprehensiveness": deleted})

    rows = [
        RowResult(k, "", 2, {RANDOM: scored(low, 0.0), ORACLE: scored(high, 1.0), "a": scored(low, 1.0)}, 0.0)
        for k, (low, high) in enumerate([(0.5, 0.5)] * 11 + [(0.1, 0.9)])  # one input tells the oracle's insertion from random
    ]
    found = standings(rows)["a"].share
    assert found.value == pytest.approx(0.5)  # all of one metric, nothing of the other
    assert (found.low, found.high) == (
        pytest.approx(0.5),
        pytest.approx(1.0),
    )  # where that input is not drawn, one is left


def test_a_metric_measured_on_some_inputs_says_on_how_many():
    ends = {ORACLE: RowEntry(scores={"insertion": 0.9})}
    whole, part = (
        RowEntry(scores={"insertion": 0.5}),
        RowEntry(scores={"insertion": None}, because={"insertion": "it is too short"}),
    )
    rows = [RowResult(k, "", 2, {"a": e, RANDOM: e, **ends}, 0.0) for k, e in enumerate((whole, whole, part))]
    assert says(notes_of(standings(rows)), "measured on 1")


def test_time_is_the_median_because_the_first_explanation_also_loads():
    ends = {RANDOM: RowEntry(scores={"insertion": 0.1}), ORACLE: RowEntry(scores={"insertion": 0.9})}
    rows = [
        RowResult(k, "", 2, {"a": RowEntry(scores={"insertion": 0.5}, seconds=s), **ends}, 0.0) for k, s in enumerate((9, 1, 1))
    ]
    assert standings(rows)["a"].seconds == 1.0


def test_the_tables_fit_a_terminal_and_lose_nothing(table):
    brief, whole = text_table(table, more=False), text_table(table)
    assert max(map(len, whole.splitlines())) <= 80
    assert len(brief.splitlines()) <= 24 and brief.splitlines()[0] == whole.splitlines()[0]
    for metric in ToyContest().metrics:
        assert metric in whole


def test_empty_texts_are_reported_and_nothing_is_lost():
    table = hold(ToyContest(), [*TEXTS[:4], Example(99, "   ")])
    assert table.rows == 4
    assert "nothing to credit" in table.refused[99]
    with refused("failed"):
        hold(ToyContest(), [Example(0, "")])


def test_rows_come_back_from_the_store_to_the_last_bit(tmp_path):
    contest = ToyContest()
    with FinishedRows(tmp_path / "rows.db", contest) as kept:
        result = run_row(contest, TEXTS[0])
        kept.keep(TEXTS[0], result)
        again = kept.find(TEXTS)
    assert set(again) == {0}
    assert again[0].to_plain() == json.loads(json.dumps(result.to_plain()))
    assert isinstance(again[0], RowResult)


def test_other_settings_or_another_text_are_other_rows(tmp_path):
    store = tmp_path / "rows.db"
    hold(ToyContest(), TEXTS[:2], str(store))
    with FinishedRows(store, ToyContest(seed=1)) as kept:
        assert kept.find(TEXTS) == {}
    with FinishedRows(store, ToyContest()) as kept:
        assert set(kept.find([TEXTS[0], Example(1, "another text")])) == {0}


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    with pytest.raises(InvalidInput, match="store="):
        FinishedRows(tmp_path / "notes.txt", ToyContest())


@pytest.mark.processes
@pytest.mark.slow
def test_worker_processes_give_the_same_table(table):
    assert hold(ToyContest(), TEXTS, None, "processes:2").to_plain() == table.to_plain()


class Deadly(ToyContest):
    """One row ends the process that runs it, as the system does when memory runs out."""

    def game(self, example):
        if example.row == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().game(example)


@pytest.mark.processes
@pytest.mark.slow
def test_a_worker_that_is_killed_is_told_in_one_line_and_finished_rows_are_kept(tmp_path):
    store = tmp_path / "rows.db"
    with refused("failed", kind=WorkerLost):
        hold(Deadly(), TEXTS[:3], str(store), "processes:1")
    with FinishedRows(store, Deadly()) as kept:
        assert set(kept.find(TEXTS)) == {0, 1}


def test_a_cluster_that_does_not_answer_is_refused():
    pytest.importorskip("distributed")
    with refused("unavailable", "executor", has="no scheduler answers"), workers("dask:nowhere://x:1"):
        pass


@pytest.mark.parametrize("word", ["", "threads", "processes:0", "processes:two", "serial:3", "dask:0", "dask:host"])
def test_unknown_executors_are_refused(word):
    with pytest.raises(InvalidInput, match="executor"), workers(word):
        pass


KILLED = """
import sys
sys.path.insert(0, {folder!r})
from toy_arena import ToyContest
from accredit.arena.contest import Example
from accredit.arena.row_files import hold
hold(ToyContest(stands_at={rows}), [Example(i, f"sentence number {{i}}") for i in range(12)], {store!r})
"""


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_table(tmp_path, table):
    store = tmp_path / "rows.db"
    for rows in (1, 5):
        script = KILLED.format(folder=str(Path(__file__).parent), store=str(store), rows=rows)
        run = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
        while run.poll() is None and _rows(store) < rows:
            time.sleep(0.01)
        run.kill()
        assert run.wait() == -signal.SIGKILL
        assert _rows(store) == rows
    assert hold(ToyContest(), TEXTS, str(store)).to_plain() == table.to_plain()
    assert _rows(store) == 12


def _rows(store: Path) -> int:
    if not store.exists():
        return 0
    with FinishedRows(store, ToyContest()) as kept:
        return len(kept.find(TEXTS))


def test_the_page_is_one_safe_file(table):
    page = arena_page(table, "Which <b>explanation</b>?")
    assert "<b>explanation" not in page
    assert page.count("<script") == 1 and "style=" not in page
    assert page.count("<svg") >= 2
    assert "| shapley |" in markdown_table(table)


def test_unknown_metrics_are_refused_by_name():
    with refused("unknown", "metrics"):
        metrics_named(["beauty"])
    with pytest.raises(InvalidInput, match="empty"):
        metrics_named([])


def test_reading_data(tmp_path):
    (tmp_path / "a.tsv").write_text('split\ttext\tlabel\ndev\t"No, she said.\tNEG\ntrain\tfine\tPOS\n')
    (tmp_path / "b.csv").write_text('text,label\n"one, two",x\n,y\n')
    rows = read_examples(tmp_path / "a.tsv", "text", "label", where={"split": "dev"})
    assert rows == [Example(0, '"No, she said.', "NEG")]
    assert [r.text for r in read_examples(tmp_path / "b.csv", "text", None)] == ["one, two", ""]
    with refused("unknown", "text"):
        read_examples(tmp_path / "b.csv", "review", None)
    with pytest.raises(InvalidInput, match="does not exist"):
        read_examples(tmp_path / "missing.csv", "text", None)
    with refused("empty", "file"):
        read_examples(tmp_path / "a.tsv", "text", None, where={"split": "test"}, longest=3)


def test_reading_json_lines(tmp_path):
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress('\ufeff{"text": "fine", "y": 1}\n\n{"text": null, "y": "POS"}\n{"y": null}\n'.encode()))
    assert read_examples(file, "text", "y") == [Example(0, "fine", "1"), Example(1, "", "POS"), Example(2, "", None)]
    (tmp_path / "b.jsonl").write_text('{"text": "fine"}\n["no"]\n')
    with refused("unreadable"):
        read_examples(tmp_path / "b.jsonl", "text", None)
    (tmp_path / "c.jsonl").write_text('{"text": fine}\n')
    with refused("unreadable", has="is not JSON"):
        read_examples(tmp_path / "c.jsonl", "text", None)


def test_a_column_without_a_name_is_no_label(tmp_path):
    (tmp_path / "indexed.csv").write_text(",text\n7,fine\n")
    assert read_examples(tmp_path / "indexed.csv", "text", None) == [Example(0, "fine", None)]


def test_files_that_are_broken_or_huge(tmp_path):
    long = "word " * 40_000
    (tmp_path / "long.csv").write_text(f'text\n"{long}"\n')
    assert read_examples(tmp_path / "long.csv", "text", None)[0].text == long
    whole = gzip.compress(b"text\n" + b"fine\n" * 5000)
    for name, content in {
        "cut": whole[: len(whole) // 2],
        "none": b"text",
        "bad": whole[:15] + b"\xff" * 9 + whole[24:],
    }.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        with refused("unreadable", has="whole gzip file"):
            read_examples(tmp_path / f"{name}.csv.gz", "text", None)
    (tmp_path / "utf32.csv").write_text("text\nfine\n", encoding="utf-32")
    with refused("unreadable", "encoding"):
        read_examples(tmp_path / "utf32.csv", "text", None)


def test_the_built_in_sentences_are_forty_and_distinct():
    texts = [example.text for example in sample()]
    assert len(texts) == len(set(texts)) == 40


@pytest.mark.slow
def test_standings_do_not_depend_on_the_order_of_rows(table):
    rows = read_finished(ToyContest(), TEXTS, None, "serial")
    assert standings(rows[::-1]).to_plain() == table.to_plain()


@pytest.mark.processes
@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_table(table):
    pytest.importorskip("distributed")
    assert hold(ToyContest(), TEXTS, None, "dask:1").to_plain() == table.to_plain()
