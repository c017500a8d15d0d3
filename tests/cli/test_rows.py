"""`accredit explain` for rows of a table: files in, lines out, resumed to the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("xgboost")
import xgboost

import accredit
from tests.wording import says


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.integers(20, 60, 60), "pay": rng.normal(size=60).round(3)})
    label = (data["age"] > 40).astype(int)
    data[:40].to_csv("rows.csv", index=False)
    data[40:].to_csv("train.csv", index=False)
    xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(data, label).save_model("model.json")
    return data


def test_rows_are_shown_and_written(typed, files):
    words = ("explain", "rows.csv", "--model", "model.json", "--background", "train.csv")
    code, out, _ = typed(*words, "--html", "page.html", "--more")
    assert code == 0 and says(out, "rows, age moves") and says(out, "exact: in closed")
    assert len(typed(*words)[1].splitlines()) <= 24
    assert says(Path("page.html").read_text(encoding="utf-8"), "rows, age moves")


def test_interactions_are_shown_and_written(typed, files):
    words = ("explain", "rows.csv", "--model", "model.json", "--background", "train.csv", "--interactions")
    code, out, _ = typed(*words, "--html", "page.html")
    assert code == 0 and "age + pay" in out and "interaction (sii)" in out
    assert "<h2>Interactions</h2>" in Path("page.html").read_text(encoding="utf-8")
    code, out, _ = typed(*words, "--json")
    whole = json.loads(out)
    assert code == 0 and whole["pairs_index"] == "sii"
    assert typed(*words, "--out", "lines.jsonl")[0] == 0
    line = json.loads(Path("lines.jsonl").read_text(encoding="utf-8").splitlines()[3])["outputs"]["1"]
    assert line["interactions"] == [["age", "pay", whole["pairs"][3][0][1][1]]]


def test_a_stopped_run_goes_on_and_ends_with_the_same_bytes(typed, files, monkeypatch):
    monkeypatch.setattr("accredit.rows.run.ROWS_PER_PART", 8)
    words = ("explain", "rows.csv", "--model", "model.json", "--background", "train.csv", "--out")
    assert typed(*words, "whole.jsonl")[0] == 0
    whole = Path("whole.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    Path("part.jsonl").write_bytes(b"".join(lines[:17]) + lines[17][:30])
    code, _, err = typed(*words, "part.jsonl")
    assert code == 0 and says(err, "them already there") and Path("part.jsonl").read_bytes() == whole
    one = json.loads(lines[0])["outputs"]["1"]
    assert one["base"] + sum(one["credit"].values()) == pytest.approx(one["prediction"], abs=1e-6)
    code, _, err = typed(*words[:-1], "--seed", "3", "--out", "part.jsonl")
    assert code == 2 and says(err, "not row 0")


def test_a_model_file_that_was_written_anew_is_read_anew(typed, files):
    words = ("explain", "rows.csv", "--model", "model.json", "--background", "train.csv", "--json")
    before = typed(*words)[1]
    other = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(files, (files["pay"] > 0).astype(int))
    other.save_model("model.json")
    assert json.loads(typed(*words)[1])["prediction"] != json.loads(before)["prediction"]


def test_rows_take_the_payoffs_of_texts(typed, files):
    words = ("explain", "rows.csv", "--model", "model.json", "--background", "train.csv", "--payoff")
    code, out, _ = typed(*words, "entropy", "--json")
    found = json.loads(out)
    assert code == 0 and found["payoff"] == "entropy" and found["outputs"] == ["entropy"]
    assert any(says(text, "shares its logit") for _, text in found["notes"])
    code, out, _ = typed(*words, "correctness", "--more")
    assert code == 0 and "correctness of xgboost" in out and "through the trees" in " ".join(out.split())
    code, _, err = typed(*words, "surprise")
    assert code == 2 and says(err, "correctness, confidence, entropy")


def test_the_built_in_table_needs_no_data(typed):
    code, out, _ = typed("explain", "--table", "--json")
    assert code == 0 and json.loads(out)["kind"] == "table explanation"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("explain", "rows.csv", "--model", "model.pkl"), "runs code when it is opened"),
        (("explain", "rows.csv", "--model", "none.json"), "there is no file 'none.json'"),
        (("explain", "rows.csv", "--model", "model.json", "--text", "age"), "--text belongs to a text"),
        (("explain", "some text", "--background", "train.csv"), "--background belongs to rows of a table"),
        (("explain", "some text", "--interactions"), "--interactions belongs to rows of a table"),
        (("explain", "--table", "--interactions", "--methods", "loo"), "--methods shapley"),
        (
            ("explain", "rows.csv", "--model", "model.json", "--interactions", "--players", '{"a": ["age", "pay"]}'),
            "'a' plays alone",
        ),
        (("explain", "--table", "rows.csv"), "leave one out"),
        (("explain", "--table", "--model", "model.json"), "leave one out"),
        (("explain", "rows.csv", "--model", "model.json", "--cut"), "--cut belongs to a text"),
        (
            ("explain", "rows.csv", "--model", "model.json", "--context", "A", "--background", "train.csv"),
            "--context belongs to",
        ),
        (("explain", "rows.csv", "--model", "model.json", "--background-by", "medoids"), "--most-background 100"),
        (
            ("explain", "rows.csv", "--model", "model.json", "--out", "x.jsonl", "--target", "1"),
            "--out writes every output",
        ),
        (("explain", "rows.csv", "--model", "model.json", "--players", "word"), "groups of columns as JSON"),
        (("explain", "rows.csv", "--model", "train.csv.txt"), "there is no file"),
    ],
)
def test_what_does_not_fit_is_named(typed, files, words, said):
    code, _, err = typed(*words)
    assert code == 2 and said in err


def test_words_in_a_file_are_the_categories_of_a_booster(typed, tmp_path, monkeypatch):
    """A file has no types, and these models once refused their own training rows."""
    import lightgbm

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": rng.integers(20, 60, 80), "town": rng.choice(["Ulm", "Aachen", "Bern"], 80)})
    learned = data.assign(town=pd.Categorical(data["town"], categories=["Ulm", "Bern", "Aachen"]))
    worth = (data["age"] > 40) + 2.0 * (data["town"] == "Ulm")
    small = {"n_estimators": 4, "n_jobs": 1}
    models = {
        "x.json": xgboost.XGBRegressor(enable_categorical=True, **small).fit(learned, worth),
        "l.txt": lightgbm.LGBMRegressor(verbose=-1, min_child_samples=3, min_data_per_group=3, **small).fit(learned, worth),
    }
    models["x.json"].save_model("x.json")
    models["l.txt"].booster_.save_model("l.txt")
    data[:5].to_csv("rows.csv", index=False)
    data[40:].to_csv("train.csv", index=False)
    data[:1].assign(town="Bonn").to_csv("unseen.csv", index=False)
    for name, model in models.items():
        code, out, err = typed("explain", "rows.csv", "--model", name, "--background", "train.csv", "--json")
        assert code == 0, err
        explained = json.loads(out)
        assert code == 0 and explained["method"]["closed_form"]
        assert np.ravel(explained["prediction"]) == pytest.approx(model.predict(learned[:5]), abs=1e-6)
        assert any(says(text, "as the categories") for _, text in explained["notes"])
        for words in (("--background", "train.csv"), ()):
            code, _, err = typed("explain", "unseen.csv", "--model", name, *words)
            assert code == 2 and says(err, "column 'town' holds")


def test_words_that_xgboost_stores_cut_short_are_refused_and_its_own_categories_are_not(typed, tmp_path, monkeypatch):
    """xgboost 3.2 counts the letters of a category and stores that many bytes: of these three names it loses one letter."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": rng.integers(20, 60, 80), "town": rng.choice(["Ulm", "Köln", "Aachen"], 80)})
    learned = data.assign(town=pd.Categorical(data["town"], categories=["Ulm", "Köln", "Aachen"]))
    model = xgboost.XGBRegressor(enable_categorical=True, n_estimators=4, n_jobs=1).fit(learned, data["town"] == "Aachen")
    model.save_model("x.json")
    data[:5].to_csv("rows.csv", index=False)
    code, _, err = typed("explain", "rows.csv", "--model", "x.json", "--background", "rows.csv")
    assert code == 2 and says(err, "column 'town' holds") and "training['town'].dtype" in err
    explained = accredit.explain(learned[:5], model, background=learned)
    assert np.ravel(explained.prediction) == pytest.approx(model.predict(learned[:5]), abs=1e-6)
    credit = explained.credit[:, :, 0] if explained.credit.ndim == 3 else explained.credit
    assert credit[:, 1] @ credit[:, 1] > 0  # the town decides
