"""Many rows part by part: the same answer over workers and through a file, and a stopped run goes on where it was."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import accredit
from accredit.errors import InvalidInput
from accredit.explanation import RowRequest
from accredit.explanation.explainer import Explainer
from accredit.rows import run as runs
from tests.wording import refused, says

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.integers(0, 5, 60), "c": RNG.choice(["x", "y"], 60)})
NUMBERS = FRAME[["a", "b"]]
LABEL = np.where(FRAME["a"] + FRAME["b"] > 2, "high", "low")
BAYES = GaussianNB().fit(NUMBERS, LABEL)


def odd_sum(rows):
    """Of twelve columns or more; estimated, so that there are intervals."""
    x = np.asarray(rows)
    return np.sin(x[:, :5].sum(axis=1)) * x[:, 5] * x[:, 6] + np.cos(x[:, 7:] @ np.ones(7))


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(runs, "ROWS_PER_PART", 7)
    monkeypatch.setattr(runs, "ROWS_PER_QUICK_PART", 7)


@pytest.mark.slow
@pytest.mark.parametrize("model", [BAYES, LogisticRegression().fit(NUMBERS, LABEL)])
@pytest.mark.parametrize("interactions", [False, True])
def test_a_file_holds_what_the_call_gives(tmp_path, small_parts, model, interactions):
    settings = {"background": NUMBERS[54:], "interactions": interactions}
    whole = accredit.explain(NUMBERS[:10], model, **settings)
    out = tmp_path / "rows.jsonl"
    written = accredit.explain(NUMBERS[:10], model, out=out, **settings)
    assert written == whole
    lines = out.read_bytes()
    assert accredit.explain(NUMBERS[:10], model, out=out, **settings) == whole and out.read_bytes() == lines
    first = json.loads(lines.splitlines()[0])
    assert first["predicted"] in ("high", "low") and first["name"] == "0"


@pytest.mark.slow
def test_intervals_come_back_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROWS_PER_PART", 1)
    rows = RNG.normal(size=(30, 14))
    settings = {"background": rows[20:], "budget": 300}
    whole = accredit.explain(rows[:2], odd_sum, **settings)
    written = accredit.explain(rows[:2], odd_sum, out=tmp_path / "rows.jsonl", **settings)
    assert whole.interval is not None and np.array_equal(written.interval, whole.interval)
    assert written == whole


def test_rows_with_and_without_intervals_are_known_as_well_as_the_least_known(tmp_path):
    """The second row is the background itself: nothing that is asked about it differs, so it has no interval."""
    rows = RNG.normal(size=(2, 14))
    asked = {"background": rows[1:], "budget": 300, "methods": "permutations"}
    first, second, both = (accredit.explain(some, odd_sum, **asked) for some in (rows[:1], rows[1:], rows))
    assert first.interval is not None and second.interval is None
    assert both.interval is None and both.precision == second.precision
    assert np.array_equal(both.credit, np.concatenate([first.credit, second.credit]))
    assert accredit.explain(rows, odd_sum, out=tmp_path / "rows.jsonl", **asked) == both


def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path, small_parts):
    out, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    accredit.explain(NUMBERS[:16], BAYES, background=NUMBERS[54:], out=out)
    lines = out.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:11]) + lines[11][:20])
    seen = []
    run = Explainer(BAYES).run(NUMBERS[:16], RowRequest(background=NUMBERS[54:]))
    assert runs.explain_table_file(run, part, watch=seen.append) == (16, 11)
    assert part.read_bytes() == out.read_bytes() and seen == [14, 16]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"given": NUMBERS[1:17]},
        {"background": NUMBERS[53:]},
        {"model": GaussianNB(var_smoothing=0.1).fit(NUMBERS, LABEL)},
        {"seed": 1},
        {"most_background": 5},
        {"weights": np.arange(6.0)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_question_is_not_written_into_the_same_file(tmp_path, changed):
    out = tmp_path / "rows.jsonl"
    asked = {"given": NUMBERS[:16], "model": BAYES, "background": NUMBERS[54:], "seed": 0}
    accredit.explain(**asked, out=out)
    with refused("conflict", "out"):
        accredit.explain(**asked | changed, out=out)


def test_a_refitted_model_is_another_model(tmp_path):
    """Two trees that say the same about every training row: they part on mixtures of rows."""
    trees = [DecisionTreeClassifier(random_state=s, splitter="random").fit(NUMBERS, LABEL) for s in (0, 1)]
    names = {Explainer(tree).run(NUMBERS, RowRequest(background=NUMBERS)).name for tree in trees}
    assert (trees[0].predict(NUMBERS) == trees[1].predict(NUMBERS)).all() and len(names) == 2


def test_a_background_is_known_by_what_it_holds(tmp_path):
    """Not by how its file was written; a type or a value that differs counts."""

    def name(background):
        return Explainer(BAYES).run(NUMBERS[:5], RowRequest(background=background)).name

    written = tmp_path / "train.csv"
    text = NUMBERS[54:].to_csv(index=False)
    names = []
    for spelled in (text, text.replace("\n", "\r\n"), text.replace("a,b", '"a","b"')):
        written.write_text(spelled, encoding="utf-8")
        names.append(name(pd.read_csv(written)))
    assert len(set(names)) == 1
    assert name(NUMBERS[54:].astype({"b": float})) != names[0]
    assert name(NUMBERS[54:].assign(a=0.0)) != names[0]


def test_rows_without_a_background_are_compared_with_all_rows_in_every_part(tmp_path, small_parts):
    whole = accredit.explain(NUMBERS[:24], BAYES)
    assert accredit.explain(NUMBERS[:24], BAYES, out=tmp_path / "rows.jsonl") == whole
    assert says(whole.notes[0].text, "compared with one")


@pytest.mark.processes
@pytest.mark.slow
def test_processes_give_the_same_answer(tmp_path, small_parts):
    settings = {"background": NUMBERS[54:], "target": "high"}
    whole = accredit.explain(NUMBERS[:10], BAYES, **settings)
    out = tmp_path / "rows.jsonl"
    assert accredit.explain(NUMBERS[:10], BAYES, executor="processes:2", out=out, **settings) == whole
    with pytest.raises(InvalidInput, match="executor='serial'"):
        accredit.explain(NUMBERS[:10], lambda rows: rows["a"], background=NUMBERS[54:], executor="processes:1")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"executor": "threads"}, "unknown executor 'threads'"),
        ({"out": "no/such/folder/x.jsonl"}, "there is no folder"),
    ],
)
def test_what_cannot_run_is_said(settings, said):
    with pytest.raises(InvalidInput, match=said):
        accredit.explain(NUMBERS[:5], BAYES, background=NUMBERS[54:], **settings)


@pytest.mark.parametrize("in_a_file", [False, True])
def test_lines_of_one_payoff_are_not_taken_for_those_of_another(tmp_path, small_parts, in_a_file):
    def gap(p):
        return p[:, 0] - p[:, 1]

    model = BAYES
    if in_a_file:
        xgboost = pytest.importorskip("xgboost")
        xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(NUMBERS, LABEL == "low").save_model(tmp_path / "model.json")
        model = str(tmp_path / "model.json")
    asked = {"background": NUMBERS[54:], "out": tmp_path / "rows.jsonl"}
    written = accredit.explain(NUMBERS[:9], model, payoff=gap, **asked)
    assert written == accredit.explain(NUMBERS[:9], model, payoff=gap, background=NUMBERS[54:])
    first = json.loads(asked["out"].read_text().splitlines()[0])
    assert first["payoff"] == "gap" and "predicted" not in first

    def other(p):
        return 2 * (p[:, 0] - p[:, 1])

    other.__name__ = "gap"
    with refused("conflict", "out"):
        accredit.explain(NUMBERS[:9], model, payoff=other, **asked)


def test_a_line_of_losses_names_the_predicted_class(tmp_path):
    out = tmp_path / "rows.jsonl"
    accredit.explain(NUMBERS[:5], BAYES, payoff="loss", background=NUMBERS[54:], out=out)
    said = [json.loads(line)["predicted"] for line in out.read_text().splitlines()]
    assert said == BAYES.predict(NUMBERS[:5]).tolist()


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t"), ("CSV", ",")])
def test_a_table_is_written_as_its_suffix_says(tmp_path, suffix, mark):
    file = tmp_path / f"rows.{suffix}"
    found = accredit.explain(NUMBERS[:3], BAYES, background=NUMBERS[20:30], out=file)
    read = pd.read_csv(file, sep=mark)
    assert len(read) == 6 and [p.name for p in tmp_path.iterdir()] == [file.name]
    assert np.array_equal(read["credit: a"].to_numpy().reshape(3, 2), found.credit[:, 0])


def test_a_suffix_that_is_not_written_is_refused_by_name(tmp_path):
    with refused("unsupported", "out"):
        accredit.explain(NUMBERS[:3], BAYES, background=NUMBERS[20:30], out=tmp_path / "rows.xlsx")
    assert not list(tmp_path.iterdir())
