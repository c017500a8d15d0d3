"""`accredit cite`: what is printed and written, and what is refused."""

from __future__ import annotations

import json

import pytest

from accredit.explanation.citations import Citations
from accredit.models import builtin
from tools.model_server import ServedModel, serve

ASKED = ("--context", "Anna lives in Rome .", "--context", "Boris owns a dog .", "--query", "Where does Anna live ?")


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """`accredit cite` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: typed("cite", *words)


@pytest.mark.slow
def test_the_same_verdicts_in_every_form(run, tmp_path):
    code, out, _ = run(*ASKED)
    assert code == 0 and "of 1 sentence " in out and "Anna lives in Rome ." in out
    assert max(map(len, out.splitlines())) <= 80 and len(out.splitlines()) <= 24
    found = Citations.from_json(run(*ASKED, "--json")[1])
    assert found.answer == "Anna lives in Rome ." and len(found) == 1
    assert found.citations[0].verdict.value in out
    assert "[^1]" in run(*ASKED, "--markdown")[1]
    code, _, err = run("Anna lives in Rome .", *ASKED, "--html", "cited.html", "--out", "cited.txt")
    assert code == 0 and "cited.html" in err
    assert "Anna lives in Rome ." in (tmp_path / "cited.html").read_text() and (tmp_path / "cited.txt").is_file()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--query", "Where?"),
        (*ASKED, "--markdown", "--json"),
        (*ASKED, "--error", "0.001"),
        (*ASKED, "--span", "Oslo"),
        (*ASKED[:4], "--query", " "),
        ("  ", *ASKED),
        (*ASKED, "--server", "retries=1"),  # and no URL
        ("--calibrate", "own.json", "--server", "retries=1"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(run, words):
    code, out, err = run(*words)
    assert code == 2 and out == "" and len(err.strip().splitlines()) <= 3


def test_passages_of_a_file_that_is_none_are_refused(run, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps({"a": 1}))
    assert run("--context", "odd.json", "--query", "Where?")[0] == 2


@pytest.mark.slow
def test_a_model_behind_a_server_is_asked_with_its_settings(run):
    with serve(ServedModel(*builtin.load_answers())) as url:
        asked = ("Anna lives in Rome .", *ASKED, "--model", url, "--server", "retries=1,concurrency=2")
        there = Citations.from_json(run(*asked, "--json")[1])
    here = Citations.from_json(run("Anna lives in Rome .", *ASKED, "--no-quotes", "--json")[1])
    (one,), (other,) = there.citations, here.citations
    assert one.whole.surprise == pytest.approx(other.whole.surprise, abs=1e-3)
    assert one.none.surprise == pytest.approx(other.none.surprise, abs=1e-3)
