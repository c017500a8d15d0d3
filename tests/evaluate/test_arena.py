"""The arena: rows survive anything, and the table is a function of the rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from accredit.core import InvalidInput
from accredit.evaluate.arena import ORACLE, RANDOM, Example, RowResult, metrics_named, run_row
from accredit.evaluate.arena_store import ArenaStoreError, FinishedRows
from accredit.evaluate.arena_workers import workers
from accredit.evaluate.standings import standings
from accredit.evaluate.text_contest import read_examples, sample
from accredit.experiments.arena_page import arena_page, markdown_table, notes_of, text_table
from accredit.experiments.contest import finished, hold

sys.path.insert(0, str(Path(__file__).parent))
from toy_arena import ToyContest

TEXTS = [Example(i, f"sentence number {i}") for i in range(12)]


@pytest.fixture(scope="module")
def table():
    return hold(ToyContest(), TEXTS)


def test_random_and_oracle_are_the_ends_of_the_scale(table):
    assert table[RANDOM].share.estimate == 0.0
    assert table[ORACLE].share.estimate == pytest.approx(1.0)
    assert table.standings[0].method == ORACLE
    for s in table.standings:
        if s.share is not None:
            assert s.share.estimate <= 1.0 + 1e-12
            assert s.share.low <= s.share.estimate <= s.share.high


def test_shapley_beats_position_and_the_difference_is_significant(table):
    assert table["shapley"].share.estimate > table["position"].share.estimate
    assert table["position"].p_best < 0.05
    assert table["shapley"].p_random < 0.05


def test_the_mean_of_the_row_shares_is_the_share_by_hand(table):
    rows = finished(ToyContest(), TEXTS, None, "serial")
    by_hand = []
    for metric, sign in (("comprehensiveness", 1), ("deletion", -1), ("insertion", 1), ("sensitivity-n", 1)):
        mine, chance, top = (
            np.mean([sign * r.entries[name].scores[metric] for r in rows]) for name in ("shapley", RANDOM, ORACLE)
        )
        by_hand.append((mine - chance) / (top - chance))
    assert table.ranked_by == ("comprehensiveness", "deletion", "insertion", "sensitivity-n")
    assert table["shapley"].share.estimate == pytest.approx(np.mean(by_hand), abs=1e-12)


def test_a_method_that_fails_on_one_row_is_recorded_and_the_rest_goes_on(table):
    assert table["brittle"].rows == 11
    assert table["brittle"].failures == {3: "ArithmeticError: no convergence on this row"}
    assert table["shapley"].rows == 12
    assert any("brittle failed on 1 of 12" in note for note in notes_of(table))


def test_what_does_not_apply_is_said_not_computed(table):
    assert table["chosen"].share is None
    assert "selection" in table["chosen"].missing["deletion"]
    assert "comprehensiveness" in table["chosen"].metrics
    assert "infidelity" in table["position"].missing
    text = text_table(table)
    assert "n/a" in text and "infidelity is not measured for" in text


def test_claims_and_cost_are_in_the_table(table):
    assert table["shapley"].claims["efficiency"] == "exactly"
    assert table["leave-one-out"].claims["efficiency"] == "no"
    assert table["leave-one-out"].passes == 8


def test_empty_texts_are_reported_and_nothing_is_lost():
    table = hold(ToyContest(), [*TEXTS[:4], Example(99, "   ")])
    assert table.rows == 4
    assert "nothing to credit" in table.refused[99]
    with pytest.raises(InvalidInput, match="no row could be explained"):
        hold(ToyContest(), [Example(0, "")])


def test_rows_come_back_from_the_store_to_the_last_bit(tmp_path):
    contest = ToyContest()
    with FinishedRows(tmp_path / "rows.db", contest) as kept:
        result = run_row(contest, TEXTS[0])
        kept.keep(TEXTS[0], result)
        again = kept.found(TEXTS)
    assert set(again) == {0}
    assert again[0].to_plain() == json.loads(json.dumps(result.to_plain()))
    assert isinstance(again[0], RowResult)


def test_other_settings_or_another_text_are_other_rows(tmp_path):
    store = tmp_path / "rows.db"
    hold(ToyContest(), TEXTS[:2], str(store))
    with FinishedRows(store, ToyContest(seed=1)) as kept:
        assert kept.found(TEXTS) == {}
    with FinishedRows(store, ToyContest()) as kept:
        assert set(kept.found([TEXTS[0], Example(1, "another text")])) == {0}


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    with pytest.raises(ArenaStoreError, match="--store"):
        FinishedRows(tmp_path / "notes.txt", ToyContest())


def test_worker_processes_give_the_same_table(table):
    assert hold(ToyContest(), TEXTS, None, "processes:2").to_plain() == table.to_plain()


@pytest.mark.parametrize("word", ["", "threads", "processes:0", "processes:two", "serial:3"])
def test_unknown_executors_are_refused(word):
    with pytest.raises(InvalidInput, match="executor"), workers(word):
        pass


KILLED = """
import sys
sys.path.insert(0, {folder!r})
from toy_arena import ToyContest
from accredit.evaluate.arena import Example
from accredit.experiments.contest import hold
hold(ToyContest(pause=0.02), [Example(i, f"sentence number {{i}}") for i in range(12)], {store!r})
"""


def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_table(tmp_path, table):
    store = tmp_path / "rows.db"
    script = KILLED.format(folder=str(Path(__file__).parent), store=str(store))
    for least in (1, 5):
        run = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
        while run.poll() is None and _rows(store) < least:
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    before = _rows(store)
    assert 5 <= before < 12
    assert hold(ToyContest(), TEXTS, str(store)).to_plain() == table.to_plain()
    assert _rows(store) == 12


def _rows(store: Path) -> int:
    if not store.exists():
        return 0
    with FinishedRows(store, ToyContest()) as kept:
        return len(kept.found(TEXTS))


def test_the_page_is_one_safe_file(table):
    page = arena_page(table, "Which <b>explanation</b>?")
    assert "<b>explanation" not in page
    assert "<script" not in page and "style=" not in page
    assert page.count("<svg") >= 2
    assert "| shapley |" in markdown_table(table)


def test_unknown_metrics_are_refused_by_name():
    with pytest.raises(InvalidInput, match="unknown metric 'beauty'; choose from comprehensiveness"):
        metrics_named(["beauty"])
    with pytest.raises(InvalidInput, match="empty"):
        metrics_named([])


def test_reading_data(tmp_path):
    (tmp_path / "a.tsv").write_text('split\ttext\tlabel\ndev\t"No, she said.\tNEG\ntrain\tfine\tPOS\n')
    (tmp_path / "b.csv").write_text('text,label\n"one, two",x\n,y\n')
    rows = read_examples(tmp_path / "a.tsv", "text", "label", where={"split": "dev"})
    assert rows == [Example(0, '"No, she said.', "NEG")]
    assert [r.text for r in read_examples(tmp_path / "b.csv", "text", None)] == ["one, two", ""]
    with pytest.raises(InvalidInput, match=r"no column 'review'; its columns are text, label"):
        read_examples(tmp_path / "b.csv", "review", None)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_examples(tmp_path / "missing.csv", "text", None)
    with pytest.raises(InvalidInput, match="no row to explain with split=test and at most 3 words"):
        read_examples(tmp_path / "a.tsv", "text", None, where={"split": "test"}, longest=3)


def test_the_built_in_sentences_are_forty_and_distinct():
    texts = [example.text for example in sample()]
    assert len(texts) == len(set(texts)) == 40


def test_standings_do_not_depend_on_the_order_of_rows(table):
    rows = finished(ToyContest(), TEXTS, None, "serial")
    assert standings(rows[::-1]).to_plain() == table.to_plain()


def test_a_dask_cluster_gives_the_same_table(table):
    pytest.importorskip("distributed")
    assert hold(ToyContest(), TEXTS, None, "dask:1").to_plain() == table.to_plain()
