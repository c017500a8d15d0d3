"""`accredit value` on texts: wrong labels, kept apart from what a row is worth, and silence where features say nothing."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from accredit.labels.result import WrongLabels
from accredit.store import Journal
from accredit.web.data import watch
from tests.wording import says

GOOD, BAD = ("superb", "lovely", "bright", "witty"), ("awful", "dull", "dreary", "clumsy")
PLAIN = ("film", "plot", "actor", "scene", "end", "music", "story", "pace")
WRONG = (3, 19, 34, 50, 61, 78)  # rows of the file, counted from 1


def films(rows: int = 80, telling: bool = True, seed: int = 0) -> str:
    """Texts whose words tell their mood, or do not; some labels are wrong."""
    rng = np.random.default_rng(seed)
    lines = ["text,mood"]
    for i in range(rows):
        mood = i % 2
        words = [*rng.choice(PLAIN, 3), *rng.choice((GOOD if mood else BAD) if telling else PLAIN, 2)]
        lines.append(f"{' '.join(words)} {i},{('bad', 'good')[mood ^ (i + 1 in WRONG)]}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("films.csv").write_text(films())
    Path("plain.csv").write_text(films(telling=False))
    return partial(typed, "value")


ASKED = ("films.csv", "--target", "mood", "--text", "text")


@pytest.mark.slow
def test_both_questions_are_answered_apart_on_terminal_page_and_in_json(run, tmp_path):
    code, out, err = run(*ASKED, "--html", "out.html", "--no-curves", "--more")
    assert code == 0, err
    labels, worth = out.split("is worth more than any other row")
    assert says(labels, "labels look wrong") and "90% interval" in " ".join(labels.split()) and "credit" not in labels
    assert says(worth, "certainty")
    listed = [line for line in labels.splitlines() if line.startswith("row ") and "rather" not in line]
    assert {f"row {i}" for i in WRONG} & {" ".join(line.split()[:2]) for line in listed}
    assert "mislabelled" not in out.lower()
    page = (tmp_path / "out.html").read_text()
    assert page.index("Which labels are") < page.index("What is each")
    assert "mislabelled" not in page.lower() and "superb" in page


@pytest.mark.slow
def test_one_object_for_each_question_in_the_journal_and_in_json(run):
    line = ("--json", "--store", "run.db", "--method", "shapley", "--model", "ridge", "--budget", "130", "--no-curves")
    code, out, err = run(*ASKED, *line)
    assert code == 0, err
    report = json.loads(out)
    found = WrongLabels.from_plain(report["wrong_labels"])
    assert len(found.names) == 80  # all rows of the file, those set aside for testing among them
    assert len(report["worth"]["values"]["players"]) == 60
    assert {found.names[i] for i in found.suspects[:4]} <= {f"row {i}" for i in WRONG}
    assert found.precision is not None and set(found.excerpts) >= {found.names[i] for i in found.suspects}
    seen = watch("run.db")
    assert seen.labels is not None and seen.labels.to_plain() == report["wrong_labels"]
    with Journal("run.db", several=True) as journal:
        assert "--features" not in journal.runs()[0].command


@pytest.mark.slow
def test_features_at_chance_accuse_nobody_in_either_part(run):
    """Words that say nothing: 27 % and 50 % are alike chance. The values are still there; no row is named by them."""
    code, out, err = run("plain.csv", "--target", "mood", "--text", "text", "--json", "--no-curves")
    assert code == 0, err
    report = json.loads(out)
    assert report["wrong_labels"]["suspects"] == [] and "nobody is accused" in report["wrong_labels"]["verdict"]
    assert report["worth"]["harmful"] == [] and "largest class" in report["worth"]["silent"]
    code, out, err = run("plain.csv", "--target", "mood", "--text", "text", "--only", "values", "--more")
    assert code == 0, err
    assert says(out, "is called harmful") and "does better without" not in out


@pytest.mark.slow
def test_one_question_alone_as_csv(run):
    code, out, err = run(*ASKED, "--only", "labels", "--csv")
    assert code == 0, err
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 80 and rows[0]["listed"] == "yes" and rows[-1]["listed"] == "no"
    assert rows[0]["label"] != rows[0]["suggested"] and int(rows[0]["row"].split()[1]) in WRONG


@pytest.mark.slow
def test_vectors_of_the_user_stand_beside_the_words(run, tmp_path):
    rng = np.random.default_rng(0)
    np.save("own.npy", rng.normal(size=(80, 3)) + 3 * (np.arange(80) % 2)[:, None])
    words = "\n".join(f"{word} {i}.5 {(-1) ** i}" for i, word in enumerate((*GOOD, *BAD)))
    Path("vectors.txt").write_text(words + "\n")
    code, out, err = run("plain.csv", "--target", "mood", "--text", "text", "--features", "own.npy", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["wrong_labels"]["seen_as"] == ["words", "own.npy"] and report["wrong_labels"]["suspects"]
    assert report["worth"]["silent"] == ""
    line = (*ASKED, "--features", "own.npy", "--features", "glove:vectors.txt", "--only", "values", "--json")
    code, out, err = run(*line, "--method", "loo", "--model", "ridge", "--store", "run.db", "--no-curves")
    assert code == 0, err
    with Journal("run.db", several=True) as journal:
        command = journal.runs()[0].command
    assert [command[i + 1] for i, word in enumerate(command) if word == "--features"] == [
        "own.npy",
        "glove:vectors.txt",
    ]


@pytest.mark.slow
def test_without_a_journal_nothing_was_found_in_one(run):
    """Payoffs that a run asks twice are kept in memory; they were reported as found in the journal."""
    code, out, err = run(*ASKED, "--only", "values", "--method", "shapley", "--model", "ridge", "--budget", "130", "--more")
    assert code == 0, err
    assert "trainings paid for" in out and "in the journal" not in out


def test_labels_that_cannot_be_judged_do_not_keep_the_values_back(run, tmp_path):
    lines = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(15))
    (tmp_path / "few.csv").write_text("x,label\n" + lines)
    code, out, err = run("few.csv", "--target", "label", "--no-curves")
    assert code == 0, err
    assert says(out, "answered: 15 labels") and "is worth" in out
    code, out, err = run("few.csv", "--target", "label", "--only", "labels")
    assert code == 2 and says(err, "least 20 rows")
