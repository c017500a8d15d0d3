"""Tables 1 and 2: what is measured, what is chosen by what, what is kept, and verdicts that can go either way."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace
from math import log
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from accredit.audit.value_swaps import others
from accredit.cli import accredit
from accredit.errors import InvalidInput
from accredit.store import Finished
from accredit_papers import shortcuts, shortcuts_runs
from accredit_papers.report import ReportTable, Whose
from accredit_papers.selection_data import SOURCES
from accredit_papers.selection_runs import METHODS
from accredit_papers.shortcuts import CHOOSING_SEEDS, PUBLISHED, SettingRow, choose_shortcut, firsts
from accredit_papers.shortcuts_runs import (
    BASELINES,
    CANDIDATES,
    CHANCE,
    FURTHER,
    PLAIN,
    ShortcutOutcome,
    ShortcutTask,
    inert_tokens,
    mask_probe,
    neutral_loss,
    probe_accuracy,
    read_finished,
    run_key,
)
from accredit_papers.verdicts import Found
from tests.wording import reads, refused, says

ROOT = Path(__file__).parents[2]

OTHER_SETTINGS = (
    "| T 0.2, cap 10, MLP head, 25 epochs | 91.0 ± 1.0 |",  # of the same two seeds
    "| T 0.2, cap 10, head of 256 + 256, batches of 64, 25 epochs | 91.0 ± 0.0 |",
    "| T 0.2, cap 200, MLP head, 25 epochs | 92.0 ± 0.0 |",
)
POOLING_ROW = "| Attention, pooling | 99.5 | 66.4 | 97.0 ± 0.0 | 80.0 ± 0.0 |"
RCNN_ROW = "| Baseline, RCNN | 96.1 | – | 80.0 ± 0.0 | – |"
DIFFERENCES = "| -7.8 | – | +4.2 | – |"

OUTCOME = ShortcutOutcome(
    accuracy=0.97,
    other_accuracy=0.76,
    mass=0.8,
    probe=0.96,
    scramble=0.75,
    scramble_answer=0.95,
    neutral_loss=2.0,
    effective_share=None,
    seconds=1.0,
    stopped_because="all epochs are done",
)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    data = tmp_path / "data"
    data.mkdir()
    words = [f"w{k}" for k in range(40)]
    rows = []
    for half in ("train", "test"):
        for k in range(60):
            drawn = rng.choice(40, size=8, p=np.where(np.arange(40) % 2 == k % 2, 0.04, 0.01))
            rows.append(f"{half}\t{k % 2}\t{' '.join(words[i] for i in drawn)}")
    with gzip.open(data / "imdb_400.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(["split\tlabel\ttext", *rows]) + "\n")
    np.savez(data / "glove6b_50d_top40k.npz", vectors=rng.normal(size=(40, 50)).astype(np.float16))
    (data / "glove6b_50d_top40k_vocab.txt").write_text("\n".join(words), encoding="utf-8")
    return data


@pytest.fixture
def tiny(monkeypatch):
    for name, value in {"QUICK_ROWS": 50, "QUICK_EPOCHS": 1, "QUICK_BATCH": 25}.items():
        monkeypatch.setattr(shortcuts, name, value)


def kept_runs(folder):
    with closing(sqlite3.connect(folder / "runs.sqlite")) as file:
        return file.execute("SELECT count(*) FROM finished").fetchone()[0]


def code(rows=4000, seed=0):
    """Masks of two tokens that tell the label in nine rows of ten."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=rows)
    told = np.where(rng.random(rows) < 0.9, labels, 1 - labels)
    return np.eye(2)[told], labels


def test_the_probe_reads_a_code_and_finds_nothing_in_noise():
    masks, labels = code()
    likely, rows = mask_probe(masks, labels)
    # 2000 rows: five standard errors are 0.034, and a false alarm has a chance below 1e-6
    assert probe_accuracy(masks, labels) == pytest.approx(0.9, abs=0.034)
    assert len(rows) == 2000 and len(set(rows)) == 2000
    assert likely.max() == pytest.approx(0.9, abs=0.05)
    noise = np.random.default_rng(1).dirichlet(np.ones(9), size=4000)
    assert probe_accuracy(noise, labels) == pytest.approx(0.5, abs=0.056)


def test_the_probe_does_not_read_what_is_finer_than_its_grain():
    _, labels = code()
    fine = np.full((4000, 3), 1 / 3) + 0.004 * (2 * labels - 1)[:, None] * [1, -1, 0]
    # a constant guess is right in half of 2000 rows: 0.056 is five standard errors
    assert probe_accuracy(fine, labels) == pytest.approx(0.5, abs=0.056)


def test_neutral_loss_undoes_the_masks_hint():
    masks, labels = code(20000)
    hint = masks[:, 1]
    listening = -np.log(np.where(hint == labels, 0.9, 0.1))  # answers by the mask, and knows how often it is right
    # E_Q of it, masks and labels independent: half right, half wrong
    assert neutral_loss(masks, labels, listening) == pytest.approx(-(log(0.9) + log(0.1)) / 2, rel=0.05)
    assert listening.mean() < 0.34 < log(2) < neutral_loss(masks, labels, listening)
    deaf = np.full(len(labels), 0.3)
    assert neutral_loss(masks, labels, deaf) == pytest.approx(0.3)


def test_every_row_gets_another_rows_words_once():
    for count in (2, 3, 100):
        other = others(count, np.random.default_rng(0))
        assert sorted(other) == list(range(count)) and (other != np.arange(count)).all()


def test_choosing_uses_no_test_row(folder, tmp_path):
    texts = shortcuts_runs.ReviewTexts.load(folder)
    task = ShortcutTask(PLAIN[0], 0, "choose", str(folder), str(tmp_path / "cache"))
    learned, other = shortcuts_runs._parts(task)
    assert len(learned.labels) == 48 and len(other.labels) == 12
    training = {row.tobytes() for row in texts.query[texts.train]}
    assert {row.tobytes() for part in (learned, other) for row in part.query} == training
    test = shortcuts_runs._parts(replace(task, part="report"))[1]
    assert {row.tobytes() for row in test.query} == {row.tobytes() for row in texts.query[~texts.train]}


def test_inert_tokens_are_the_same_in_every_row(folder, tmp_path):
    rows, _ = shortcuts_runs._parts(ShortcutTask(PLAIN[0], 0, "report", str(folder), str(tmp_path / "cache")))
    assert rows.tokens.shape == (60, 9, 50)
    assert (rows.tokens[:, 5:] == rows.tokens[:1, 5:]).all()
    texts = shortcuts_runs.ReviewTexts.load(folder)
    assert inert_tokens(texts.vectors).std() == pytest.approx(texts.vectors.std(), rel=0.3)
    assert pytest.approx(4 / 9) == CHANCE


def test_the_lowest_neutral_loss_is_chosen_whatever_the_mass():
    def tried(losses):
        return [
            SettingRow(s, (replace(OUTCOME, neutral_loss=x, mass=m),))
            for s, x, m in zip(CANDIDATES, losses, losses[::-1], strict=True)
        ]

    falling = tried(np.linspace(0.9, 0.1, len(CANDIDATES)))
    last = [
        max(k for k, c in enumerate(CANDIDATES) if (c.method, c.encoder) == key)
        for key in dict.fromkeys((c.method, c.encoder) for c in CANDIDATES)
    ]
    assert choose_shortcut(falling) == [CANDIDATES[k] for k in last]
    assert choose_shortcut(tried(np.linspace(0.1, 0.9, len(CANDIDATES)))) == firsts(CANDIDATES)
    assert len(firsts(CANDIDATES)) == 4


def report_of(changes, seeds=6):
    """A report as written from runs that came to `changes`, by method."""
    settings = [*BASELINES, *PLAIN, *firsts(CANDIDATES)]
    texts = shortcuts.ReviewTexts(
        np.zeros((4, 5), int), np.ones((4, 5), bool), np.zeros((4, 350)), np.arange(4) % 2, np.arange(4) < 2, np.zeros((2, 50))
    )
    cured = {"accuracy": 0.9, "mass": 0.1, "scramble": 0.51, "neutral_loss": 0.6, "effective_share": 0.8}
    blank = {
        "accuracy": 0.8,
        "mass": None,
        "probe": None,
        "scramble": None,
        "scramble_answer": None,
        "neutral_loss": None,
    }
    usual = {"Baseline": blank, "Attention": {}, "Pretraining": cured, "Weighting": cured}
    rows = [
        SettingRow(s, tuple(replace(OUTCOME, **usual[s.method] | changes.get(s.method, {})) for _ in range(seeds)))
        for s in settings
    ]
    return shortcuts._report(rows, [], texts, False, range(seeds))


@pytest.mark.parametrize(
    ("method", "changes", "failing"),
    [
        ("Attention", {}, 0),
        ("Attention", {"mass": 0.5}, 2),
        ("Attention", {"accuracy": 0.94, "probe": 0.95}, 2),
        ("Attention", {"probe": 0.93}, 2),
        ("Pretraining", {"mass": 0.16}, 2),
        ("Weighting", {"accuracy": 0.80}, 1),  # enough for RCNN, too little for pooling
        ("Weighting", {"accuracy": 0.70}, 2),
        ("Pretraining", {"scramble": 0.56}, 2),
        ("Weighting", {"mass": 0.85}, 4),  # more than the 80 % without a cure
        ("Attention", {"accuracy": 0.7, "probe": 0.7}, 4),  # below the baseline, too
    ],
)
def test_verdicts_follow_the_numbers(method, changes, failing):
    report = report_of({method: changes})
    assert len(report.verdicts) == 20
    fallen = [v for v in report.verdicts if v.found is not Found.HOLDS]
    assert len(fallen) == failing and {v.found for v in fallen} <= {Found.REFUTED}
    assert all(v.statement.startswith(method) for v in fallen)


def test_one_seed_judges_nothing_and_says_what_would():
    report = report_of({}, seeds=1)
    assert {v.found for v in report.verdicts} == {Found.OPEN}
    assert reads(sorted({v.needs for v in report.verdicts}))
    assert says(report.markdown(), "14 cannot be")


def test_the_papers_statements_stand_beside_its_figures_and_ours_are_marked():
    report = report_of({})
    by = {whose: [v for v in report.verdicts if v.whose is whose] for whose in Whose}
    assert [len(by[whose]) for whose in (Whose.TEXT, Whose.THRESHOLD, Whose.OURS)] == [6, 8, 6]
    assert all(v.paper for v in (*by[Whose.TEXT], *by[Whose.THRESHOLD])) and not any(v.paper for v in by[Whose.OURS])
    marked = [v.statement for v in by[Whose.THRESHOLD]]
    assert any("60 %" in s for s in marked) and any("15 %" in s for s in marked)
    assert "(our threshold)" in report.markdown() and says(report.markdown(), "48.9 to 17.0")


def test_further_settings_stand_beside_the_ones_that_are_reported(tmp_path):
    three = (replace(OUTCOME, accuracy=0.9), replace(OUTCOME, accuracy=0.92), OUTCOME)
    usual = [SettingRow(setting, three) for setting in firsts(CANDIDATES)]
    more = [SettingRow(s, (replace(OUTCOME, accuracy=0.9 + 0.01 * k),) * 2) for k, s in enumerate(FURTHER)]
    report = shortcuts.Report("shortcuts", "…")
    shortcuts._further(report, usual, more)
    told = report.markdown()
    assert says(told, "97.8 % with 5.8") and says(told, "92.8 % with 17.0")
    for row in OTHER_SETTINGS:
        assert row in told
    assert says(told, "-4.8 points") and says(told, "+2.2 points")
    with refused("conflict", "further"):
        shortcuts.shortcuts(tmp_path, quick=True, further=True)


def test_tables_show_the_paper_beside_us_with_chance():
    told = report_of({}).markdown()
    assert POOLING_ROW in told
    assert RCNN_ROW in told
    assert "44.4" in told and "0.693" in told
    details = "".join(part.markdown() for part in report_of({}).parts if isinstance(part, ReportTable) and part.detail)
    assert DIFFERENCES in details and DIFFERENCES not in told  # Weighting, pooling: 90 and 10 against 97.8 and 5.8, no spread
    assert PUBLISHED["Weighting", "rcnn"] == (0.928, 0.170)


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(folder, tmp_path, tiny, monkeypatch):
    """Three runs finish, then the machine stops; the second call does the rest, and the third none."""
    done = []
    real = shortcuts_runs.run

    def stopping(task):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(task)
        return real(task)

    store = tmp_path / "store"
    monkeypatch.setattr(shortcuts_runs, "run", stopping)
    with pytest.raises(KeyboardInterrupt):
        shortcuts.shortcuts(folder, quick=True, seeds=1, store=store, workers=1)
    assert kept_runs(store) == 3
    lines = []
    monkeypatch.setattr(shortcuts_runs, "run", real)
    first = shortcuts.shortcuts(folder, quick=True, seeds=1, store=store, workers=1, tell=lines.append)
    assert len(lines) == 5 and says(lines[-1], "of 8 runs")
    monkeypatch.setattr(shortcuts_runs, "run", stopping)  # would raise
    again = shortcuts.shortcuts(folder, quick=True, seeds=1, store=store, workers=1)
    assert again.markdown() == first.markdown()


@pytest.mark.slow
def test_further_settings_are_run_on_the_same_reviews(folder, tmp_path, monkeypatch):
    for name in ("BASELINES", "PLAIN", "CANDIDATES", "FURTHER"):
        few = tuple(s.shorten(1, 30) for s in getattr(shortcuts_runs, name))
        monkeypatch.setattr(shortcuts, name, few)
    store = tmp_path / "store"
    told = shortcuts.shortcuts(folder, seeds=1, store=store, workers=1, choose=False, further=True).markdown()
    assert says(told, "Weighting, tried further") and says(told, "30, 1 epochs")
    assert kept_runs(store) == 8 + 4  # two of the six are settings that are reported, once all are shortened


def test_a_run_is_found_again_only_for_the_same_question(tmp_path):
    task = ShortcutTask(PLAIN[0], 0, "report", "data", "cache")
    others = [
        replace(task, seed=1),
        replace(task, part="choose"),
        replace(task, rows=5),
        replace(task, setting=replace(PLAIN[0], temperature=0.2)),
        replace(task, setting=PLAIN[1]),
    ]
    with Finished(tmp_path / "runs.sqlite") as store:
        store.keep(run_key(task, "a"), asdict(OUTCOME))
        assert read_finished([task, task], store, "a", 1, print) == [OUTCOME, OUTCOME]
        assert store.found(run_key(task, "b")) is None
        assert [store.found(run_key(other, "a")) for other in others] == [None] * 5


def test_runs_on_record_are_those_of_todays_settings():
    """A new way of training has a key of its own, and the old ones are found."""
    record = Path(__file__).parents[2] / "benchmarks/results/papers/shortcuts/runs.sqlite"
    with closing(sqlite3.connect(f"file:{record}?mode=ro&immutable=1", uri=True)) as file:
        kept = [json.loads(key) for (key,) in file.execute("SELECT key FROM finished")]
    settings = (*BASELINES, *PLAIN, *CANDIDATES, *FURTHER)
    seeds = (*range(10), *CHOOSING_SEEDS)
    asked = [
        json.loads(json.dumps(run_key(ShortcutTask(setting, seed, part, "", ""), kept[0]["data"])))
        for setting in settings
        for seed in seeds
        for part in ("choose", "report")
    ]
    assert len(kept) >= 48 and all(key in asked for key in kept)
    assert len({json.dumps(key) for key in asked}) == len(asked)


@pytest.mark.processes
@pytest.mark.slow
def test_worker_processes_give_the_same_numbers(folder, tmp_path):
    settings = [s.shorten(1, 30) for s in (PLAIN[0], firsts(CANDIDATES)[1])]
    tasks = [ShortcutTask(s, 0, "report", str(folder), str(tmp_path / "cache")) for s in settings]
    with Finished(":memory:") as two, Finished(":memory:") as one:
        apart = read_finished(tasks, two, "d", 2, lambda _line: None)
        here = read_finished(tasks, one, "d", 1, lambda _line: None)
    assert [replace(o, seconds=0) for o in apart] == [replace(o, seconds=0) for o in here]


def test_the_command_writes_a_report_and_keeps_its_runs(folder, tmp_path, tiny):
    out = tmp_path / "out"
    given = [
        "reproduce",
        "shortcuts",
        "--data",
        str(folder),
        "--quick",
        "--seeds",
        "1",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    result = CliRunner().invoke(accredit, given)
    assert result.exit_code == 0, result.output
    told = (out / "shortcuts.md").read_text(encoding="utf-8")
    assert "A quick look" in told and says(told, "Table 2: the")
    assert (out / "shortcuts_mass_and_accuracy.svg").exists()
    assert kept_runs(out / "shortcuts_runs") == 8


def test_missing_data_end_the_command_with_nothing_written(tmp_path):
    out = tmp_path / "out"
    result = CliRunner().invoke(accredit, ["reproduce", "shortcuts", "--data", str(tmp_path), "--quick", "--out", str(out)])
    assert result.exit_code != 0 and not out.exists()
    assert isinstance(result.exception, InvalidInput)
    assert "glove6b_50d_top40k.npz" in str(result.exception) and "https://" in str(result.exception)
    with pytest.raises(InvalidInput, match="seeds=0"):
        shortcuts.shortcuts(tmp_path, seeds=0)


def held_in(record):
    """The keys of a record of runs."""
    file = ROOT / "benchmarks/results/papers" / record
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as opened:
        return [json.loads(key) for (key,) in opened.execute("SELECT key FROM finished")]


def test_the_record_holds_every_run_of_its_report():
    written = (ROOT / "docs/reports/shortcuts.md").read_text(encoding="utf-8")
    seeds = int(re.search(r"--seeds (\d+)", written)[1])
    held = Counter(key["seed"] for key in held_in("shortcuts/runs.sqlite") if key.get("part", "report") == "report")
    assert all(held[seed] >= 8 for seed in range(seeds)), held


def test_the_record_holds_every_seed_that_the_report_of_table_3_counts():
    written = (ROOT / "docs/reports/selection.md").read_text(encoding="utf-8")
    cells = Counter((key["set"], key["seed"]) for key in held_in("selection.sqlite") if "settings" not in key)
    whole = Counter(name for (name, _), methods in cells.items() if methods == len(METHODS))
    assert whole["yelp"] >= 10
    counted = [f"{seeds} for {SOURCES[name].title}" for name, seeds in whole.items()]
    assert all(words in written for words in counted) or f"of which there are {whole['yelp']};" in written
    assert all((f"\n## {source.title}\n" in written) == (name in whole) for name, source in SOURCES.items())
