"""The `runs` command: what a journal holds."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from click.testing import CliRunner

from accredit.cli.runs import runs
from accredit.cli.value import value
from accredit.core import Attribution
from accredit.errors import AccreditError
from accredit.store import Journal
from accredit.views.language.phrases import sentence
from accredit.views.pages.journal_page import data_body
from accredit.web.data import watch
from tests.wording import refused, says

TYPED = "accredit value train.csv --target y --method shapley --model ridge --no-curves --store run.db"

LINE = ["train.csv", "--target", "y", "--method", "shapley", "--model", "ridge", "--store", "run.db", "--no-curves"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{i * i % 7},{'ab'[i % 2]}" for i in range(12)]
    (tmp_path / "train.csv").write_text("p,q,y\n" + "\n".join(rows) + "\n")
    result = CliRunner().invoke(value, LINE, catch_exceptions=False)
    assert result.exit_code == 0
    return tmp_path


def test_lists_games_and_runs(folder):
    shown = CliRunner().invoke(runs, ["run.db", "--check"], catch_exceptions=False).output
    assert "512" in shown  # 2⁹ payoffs of nine training rows
    assert TYPED in " ".join(shown.split())
    assert "unfinished" not in shown
    data = json.loads(CliRunner().invoke(runs, ["run.db", "--json"], catch_exceptions=False).output)
    assert data["games"][0]["ok"] == 512
    assert data["runs"][0]["command"][0] == "value"


def test_what_a_run_remarked_stands_in_its_journal_and_on_the_page(tmp_path, monkeypatch):
    """Notes and warnings are part of an answer: whoever opens the journal later reads what the command printed."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 5},{i % 3},{['pos', 'neg', 'Neg'][i % 3]}" for i in range(60)]
    (tmp_path / "train.csv").write_text("p,q,y\n" + "\n".join(rows) + "\n")
    line = [*LINE, "--only", "values", "--budget", "130", "--json"]
    report = json.loads(CliRunner().invoke(value, line, catch_exceptions=False).stdout)
    notes, warnings = report["notes"], report["worth"]["warnings"]
    assert "capitals" in notes[0] and len(notes) > 1 and "told apart" in warnings[0]
    shown = " ".join(CliRunner().invoke(runs, ["run.db", "--more"], catch_exceptions=False).output.split())
    assert [f"run 1, note: {note}" in shown for note in notes] == [True] * len(notes)
    assert f"run 1, warning: {warnings[0]}" in shown
    kept = json.loads(CliRunner().invoke(runs, ["run.db", "--json"], catch_exceptions=False).output)["runs"][0]
    assert (kept["notes"], kept["warnings"]) == (notes, warnings)
    seen = watch("run.db")
    assert (list(seen.notes), list(seen.warnings)) == (notes, warnings)
    page = html.unescape(str(data_body(seen)))
    assert all(sentence(said) in page for said in (*notes, *warnings))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.json"])
def test_exports_every_payoff(folder, name):
    CliRunner().invoke(runs, ["run.db", "--export", name], catch_exceptions=False)
    text = (folder / name).read_text()
    rows = json.loads(text) if name.endswith("json") else list(csv.DictReader(text.splitlines()))
    assert len(rows) == 512
    assert {row["status"] for row in rows} == {"ok"}
    who = max((row["coalition"] for row in rows), key=len)
    assert len(who if isinstance(who, list) else who.split("+")) == 9
    with pytest.raises(AccreditError, match=r"\.csv or \.json"):
        CliRunner().invoke(runs, ["run.db", "--export", "out.xls"], catch_exceptions=False)


@pytest.mark.slow
def test_resumes_the_unfinished_run_where_it_was_given(folder, tmp_path_factory, monkeypatch):
    with Journal(folder / "run.db", several=True) as journal:
        journal._file.sql.execute("UPDATE runs SET ended = NULL, result = NULL")
    assert "unfinished" in CliRunner().invoke(runs, ["run.db"], catch_exceptions=False).output
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    result = CliRunner().invoke(runs, [str(folder / "run.db"), "--resume", "--more"], catch_exceptions=False)
    assert result.exit_code == 0
    assert says(result.output, "0 trainings paid")
    with Journal(folder / "run.db", several=True) as journal:
        assert [run.ended is None for run in journal.runs()] == [False]
    with pytest.raises(AccreditError, match="no unfinished run"):
        CliRunner().invoke(runs, [str(folder / "run.db"), "--resume"], catch_exceptions=False)


@pytest.mark.slow
def test_a_resumed_run_still_prints_and_writes_what_was_asked_for(folder):
    asked = [*LINE, "--csv", "--html", "report.html", "--seed", "1"]
    first = CliRunner().invoke(value, asked, catch_exceptions=False)
    assert first.exit_code == 0 and first.stdout.startswith("player,")
    page = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    with Journal(folder / "run.db", several=True) as journal:
        journal._file.sql.execute("UPDATE runs SET ended = NULL, result = NULL WHERE id = 2")
    resumed = CliRunner().invoke(runs, ["run.db", "--resume"], catch_exceptions=False)
    assert resumed.exit_code == 0 and resumed.stdout == first.stdout
    assert (folder / "report.html").read_text() == page


@pytest.mark.slow
def test_a_copied_journal_goes_on_as_itself(folder, tmp_path_factory, monkeypatch):
    with Journal(folder / "run.db", several=True) as journal:
        journal._file.sql.execute("UPDATE runs SET ended = NULL, result = NULL")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "run.db").rename(elsewhere / "moved.db")
    monkeypatch.chdir(elsewhere)
    result = CliRunner().invoke(runs, ["moved.db", "--resume", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["worth"]["trained"] == 0
    with Journal(elsewhere / "moved.db", several=True) as journal:
        assert [run.ended is None for run in journal.runs()] == [False]
        journal._file.sql.execute("UPDATE runs SET ended = NULL, folder = '/no/such/folder'")
    assert not (folder / "run.db").exists()
    with refused("missing"):
        CliRunner().invoke(runs, ["moved.db", "--resume"], catch_exceptions=False)


def test_a_missing_journal_is_an_error(tmp_path):
    with pytest.raises(AccreditError, match="no journal"):
        CliRunner().invoke(runs, [str(tmp_path / "none.db")], catch_exceptions=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE about SET facts = '{'", "its description is not JSON"),
        ("UPDATE about SET facts = '[1, 2]'", "its description is not what a run writes"),
        ("""UPDATE about SET facts = '{"notes": 5}'""", "its description is not what a run writes"),
        ("UPDATE runs SET result = '{}'", "its result cannot be read"),
        ("UPDATE runs SET began = 1e300", "it began at 1e+300"),
        ("UPDATE runs SET began = 'noon'", "it began at 'noon'"),
        ("UPDATE runs SET command = '3'", "its command is not a list of words"),
    ],
)
def test_a_run_that_was_written_over_is_said_to_be_damaged(tmp_path, change, why):
    with Journal(tmp_path / "run.db") as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, {"notes": ["one text was cut"]})
        journal.end_run(run, Attribution(("a",), [1.0], None, "by hand").to_json())
        journal._file.sql.execute(change)
    with pytest.raises(AccreditError, match=f"run 1 of the journal is damaged: {re.escape(why)}.*--salvage NEW.db"):
        CliRunner().invoke(runs, [str(tmp_path / "run.db")], catch_exceptions=False)
    with pytest.raises(AccreditError, match="damaged"):
        watch(str(tmp_path / "run.db"))


def test_notes_are_listed_without_reading_what_else_a_run_describes(tmp_path, monkeypatch):
    with Journal(tmp_path / "run.db") as journal:
        run = journal.begin_run(["value"], "/nowhere")
        journal.describe(run, {"texts": ["a long text"] * 3, "notes": ["one text was cut"]})
    monkeypatch.setattr(Journal, "description", None)
    assert says(CliRunner().invoke(runs, [str(tmp_path / "run.db"), "--more"]).stdout, "run 1, note")


def test_an_empty_file_stays_empty_and_a_journal_without_runs_says_so(tmp_path):
    (tmp_path / "empty.db").touch()
    with refused("empty"):
        CliRunner().invoke(runs, [str(tmp_path / "empty.db")], catch_exceptions=False)
    assert (tmp_path / "empty.db").stat().st_size == 0
    Journal(tmp_path / "new.db").close()
    assert says(CliRunner().invoke(runs, [str(tmp_path / "new.db")]).output, "no run yet")
    with pytest.raises(AccreditError, match="no unfinished run"):
        CliRunner().invoke(
            runs, [str(tmp_path / "new.db"), "--resume", "--export", str(tmp_path / "x.csv")], catch_exceptions=False
        )
    assert not (tmp_path / "x.csv").exists()
