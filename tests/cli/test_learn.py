"""`accredit learn`, and what it wrote used by `accredit explain`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from accredit.cli import accredit
from accredit.errors import InvalidInput
from tests.wording import refused, says

RNG = np.random.default_rng(0)
TINY = ["--pairs", "6", "--epochs", "6", "--calibration", "24", "--width", "8"]


def run(*words: str):
    return CliRunner().invoke(accredit, list(map(str, words)), catch_exceptions=False)


@pytest.fixture
def rows(tmp_path):
    """A model file, rows to learn from and a background."""
    xgboost = pytest.importorskip("xgboost")
    x = RNG.normal(size=(160, 3))
    booster = xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(x, x[:, 0] * x[:, 1]), 5)
    booster.save_model(tmp_path / "model.json")
    for name, part in (("rows.csv", x[20:]), ("background.csv", x[:12]), ("new.csv", x[:5])):
        lines = ["a,b,c", *(",".join(map(repr, row)) for row in part.tolist())]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
def test_rows_are_learned_once_and_explained_fast(rows):
    about = ["--model", rows / "model.json", "--background", rows / "background.csv"]
    fitted = run("learn", "fit", rows / "rows.csv", *about, "--out", rows / "fast", *TINY)
    assert "R²" in fitted.output and says(fitted.output, "not for each")
    shown = run("explain", rows / "new.csv", *about, "--fast", rows / "fast", "--fallback", "0", "--json")
    found = json.loads(shown.stdout)
    assert found["method"]["name"].startswith("fast-shapley") and found["level"] == 0.95 and len(found["credit"]) == 5
    assert "Fast Shapley" in run("explain", rows / "new.csv", *about, "--fast", rows / "fast", "--more").output
    with pytest.raises(InvalidInput, match="fitted for background"):
        run(
            "explain",
            rows / "new.csv",
            "--model",
            rows / "model.json",
            "--background",
            rows / "new.csv",
            "--fast",
            rows / "fast",
        )
    with refused("conflict", "interactions"):
        run("explain", rows / "new.csv", *about, "--fast", rows / "fast", "--interactions")


@pytest.mark.slow
def test_texts_are_learned_once_and_explained_fast(tmp_path):
    texts = [f"{a} {b} film" for a in ("a bad", "a good", "not a", "the") for b in ("bad", "good", "very", "dull")] * 3
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    fitted = run("learn", "fit", tmp_path / "texts.txt", "--out", tmp_path / "fast", *TINY, "--json")
    assert json.loads(fitted.stdout)["kind"] == "texts"
    found = json.loads(run("explain", "a dull film", "--fast", tmp_path / "fast", "--json").stdout)
    assert list(found["attributions"]) == [f"fast-shapley:{tmp_path / 'fast'}"]
    both = run("explain", "a dull film", "--fast", tmp_path / "fast", "--methods", "loo", "--more")
    assert "leave-one-out" in both.output and "fast-shapley" in both.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learn", "fit", "nowhere.csv", "--out", "x"], "there is no file or folder 'nowhere.csv'"),
        (["learn", "fit", "x", "--out", "x", "--background", "b.csv"], "--background is for rows"),
        (["explain", "--table", "--fallback", "3"], "--fallback is for --fast FOLDER"),
        (["explain", "a film", "--fast", "nowhere"], "'nowhere' holds no saved explainer.*accredit learn fit"),
    ],
)
def test_what_is_refused_says_what_to_write(words, said):
    with pytest.raises(InvalidInput, match=said):
        run(*words)


# Selectors


@pytest.fixture
def classes(tmp_path):
    """A classifier's file, and rows to train on and to audit."""
    xgboost = pytest.importorskip("xgboost")
    x = RNG.normal(size=(500, 4)) * [1, 1, 50, 1]
    told = xgboost.XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1).fit(x, (x[:, 0] + x[:, 2] / 50 > 0).astype(int))
    told.save_model(tmp_path / "model.json")
    for name, part in (("train.csv", x[:300]), ("test.csv", x[300:])):
        lines = ["a,b,c,d", *(",".join(map(repr, row)) for row in part.tolist())]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.slow
def test_a_selector_of_rows_is_trained_used_and_audited(classes):
    about = ["--model", classes / "model.json"]
    fitted = run(
        "learn", "fit", classes / "train.csv", *about, "--method", "l2x", "--k", "2", "--epochs", "8", "--out", classes / "l2x"
    )
    assert says(fitted.output, "the 2 highest")
    shown = run("learn", "explain", classes / "l2x", classes / "test.csv", *about, "--limit", "3")
    assert len(shown.stdout.splitlines()) == 3 and all(len(line.split(", ")) == 2 for line in shown.stdout.splitlines())
    assert says(shown.stderr, "'joint' kept weights")  # 300 rows, 8 epochs
    told = run("learn", "audit", classes / "l2x", classes / "test.csv", *about, "--train", classes / "train.csv", "--json")
    found = json.loads(told.stdout)
    assert found["conclusion"]["answer"] in ("leaks", "does not leak", "cannot tell")
    assert says(found["notes"], "300 training rows")
    assert any(says(note, "training left a") for note in found["notes"])
    from accredit.learned import EvalX, load

    x = np.loadtxt(classes / "test.csv", delimiter=",", skiprows=1)
    EvalX(load(classes / "l2x").inputs, width=4, epochs=1).fit(x, (x[:, 0] > 0).astype(int)).save(classes / "judge")
    words = ["learn", "audit", classes / "l2x", classes / "test.csv", *about, "--judge", classes / "judge"]
    assert says(json.loads(run(*words, "--json").stdout)["notes"], "judge was given")
    with refused("conflict", "training"):
        run(*words, "--train", classes / "train.csv")


@pytest.mark.slow
def test_trained_explainers_of_rows_are_compared_with_values(classes):
    about = ["--model", classes / "model.json"]
    against = [*about, "--background", classes / "test.csv"]
    run(
        "learn",
        "fit",
        classes / "train.csv",
        *about,
        "--method",
        "l2x",
        "-k",
        "2",
        "--epochs",
        "8",
        "--out",
        classes / "l2x",
    )
    run("learn", "fit", classes / "train.csv", *against, *TINY, "--out", classes / "fast")
    names = ["shapley", f"fast-shapley:{classes / 'fast'}", f"selector:{classes / 'l2x'}"]
    told = run("compare", *against, "--data", classes / "test.csv", "--limit", "4", "--methods", ",".join(names), "--json")
    found = {one["method"]: one for one in json.loads(told.stdout)["standings"]}
    assert all(found[name]["rows"] == 4 and not found[name]["failures"] for name in names)
    assert [found[name]["passes"] for name in names] == [16, 2, 0]  # 2⁴ payoffs, everybody and nobody, none
    for words, said in (
        ([*about, "--data", classes / "test.csv"], "--background is missing"),
        ([*against, "--data", classes / "test.csv", "--text", "a"], "--text is not for rows"),
        (["--background", classes / "test.csv"], "--background is for rows"),
    ):
        refused = run("compare", *words)
        assert refused.exit_code == 2 and said in refused.output


@pytest.mark.slow
def test_a_selector_refuses_other_models_columns_and_kinds(classes):
    xgboost = pytest.importorskip("xgboost")
    x = RNG.normal(size=(60, 4))
    xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(x, (x[:, 1] > 0).astype(int)).save_model(
        classes / "other.json"
    )
    about = ["--model", classes / "model.json"]
    run(
        "learn",
        "fit",
        classes / "train.csv",
        *about,
        "--method",
        "cxplain",
        "--k",
        "2",
        "--epochs",
        "1",
        "--out",
        classes / "cx",
    )
    lines = (classes / "test.csv").read_text().splitlines()
    (classes / "swapped.csv").write_text("\n".join(["b,a,c,d", *lines[1:]]))
    (classes / "words.csv").write_text("\n".join([lines[0], *(line.rsplit(",", 1)[0] + ",red" for line in lines[1:])]))
    (classes / "gaps.csv").write_text("\n".join([lines[0], ",1,2,3", *lines[2:]]))
    for file, model, said in (
        ("test.csv", "other.json", "trained on another model"),
        ("swapped.csv", "model.json", "give the same ones in the same order"),
        ("words.csv", "model.json", "column 'd' is .*selectors read numbers"),
        ("gaps.csv", "model.json", "column 'a' has missing values; selectors read numbers"),
    ):
        with pytest.raises(InvalidInput, match=said):
            run("learn", "explain", classes / "cx", classes / file, "--model", classes / model)
    with refused("conflict"):
        run("learn", "explain", classes / "cx", "a dull film")


@pytest.mark.slow
def test_a_selector_of_texts_reads_strings_and_joins_explain(tmp_path):
    texts = [f"{a} {b} film" for a in ("a bad", "a good", "not a", "the") for b in ("bad", "good", "very", "dull")] * 2
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    fitted = run(
        "learn",
        "fit",
        tmp_path / "texts.txt",
        "--method",
        "l2x",
        "-k",
        "1",
        "--epochs",
        "1",
        "--json",
        "--out",
        tmp_path / "l2x",
    )
    assert json.loads(fitted.stdout)["method"] == "l2x"
    assert run("learn", "explain", tmp_path / "l2x", "a dull film").stdout.strip() in ("a", "dull", "film")
    found = json.loads(run("explain", "a dull film", "--methods", f"selector:{tmp_path / 'l2x'}", "--json").stdout)
    credit = next(iter(found["attributions"].values()))
    assert credit["total"] is None and len(credit["credit"]) == 3


@pytest.mark.slow
def test_a_selector_of_pictures_is_trained_from_a_folder_and_joins_explain(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "pictures").mkdir()
    for k in range(24):
        shade = RNG.integers(0, 255, size=(28, 28)).astype(np.uint8)
        shade[:, : 14 + 14 * (k % 2)] //= 4
        image.fromarray(shade).save(tmp_path / "pictures" / f"{k:02}.png")
    fitted = run(
        "learn",
        "fit",
        tmp_path / "pictures",
        "--method",
        "l2x",
        "-k",
        "3",
        "--epochs",
        "1",
        "--encoder",
        "--json",
        "--out",
        tmp_path / "l2x",
    )
    assert says(json.loads(fitted.stdout)["rule"], "the 3 highest")
    shown = run("learn", "explain", tmp_path / "l2x", tmp_path / "pictures", "--limit", "2")
    assert [len(line.split(", ")) for line in shown.stdout.splitlines()] == [3, 3]
    one = tmp_path / "pictures" / "00.png"
    found = json.loads(run("explain", one, "--methods", f"selector:{tmp_path / 'l2x'}", "--json").stdout)
    credit = next(iter(found["attributions"].values()))
    assert credit["total"] is None and len(credit["credit"]) == 16 and len(set(credit["credit"])) > 1


@pytest.mark.slow
def test_a_regression_of_rows_is_trained_and_audited_by_thirds(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    x = np.random.default_rng(5).normal(size=(1500, 4))
    xgboost.XGBRegressor(n_estimators=20, max_depth=2, n_jobs=1).fit(x, 3 * x[:, 0] - 2 * x[:, 2]).save_model(
        tmp_path / "model.json"
    )
    lines = ["a,b,c,d", *(",".join(map(repr, row)) for row in x.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    about = [tmp_path / "rows.csv", "--model", tmp_path / "model.json"]
    run("learn", "fit", *about, "--method", "l2x", "--k", "2", "--epochs", "30", "--out", tmp_path / "l2x")
    shown = run("learn", "explain", tmp_path / "l2x", *about, "--limit", "20").stdout.splitlines()
    assert sum(line == "a, c" for line in shown) > 15
    found = json.loads(run("learn", "audit", tmp_path / "l2x", *about, "--limit", "300", "--json").stdout)
    assert found["conclusion"]["answer"] != "leaks" and any(says(note, "in which third") for note in found["notes"])
    with pytest.raises(InvalidInput, match="cxplain explains classes"):
        run("learn", "fit", *about, "--method", "cxplain", "--k", "2", "--out", tmp_path / "cx")
    with refused("misplaced", "encoder"):
        run("learn", "fit", *about, "--method", "l2x", "--k", "2", "--encoder", "--out", tmp_path / "l2x")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--k", "2"], "--k is for selectors"),
        (["--preset", "paper"], "--preset is for selectors"),
        (["--encoder"], "--encoder is for selectors"),
        (["--method", "l2x", "--k", "2", "--pairs", "3"], "--pairs is for --method fast-shapley"),
    ],
)
def test_options_of_another_method_are_refused(words, said):
    with pytest.raises(InvalidInput, match=said):
        run("learn", "fit", "x.csv", "--out", "y", *words)


def test_a_page_that_cannot_be_written_is_refused_before_the_audit():
    result = CliRunner().invoke(accredit, ["learn", "audit", "no-explainer", "rows.csv", "--html", "no/such/folder/page.html"])
    assert result.exit_code == 2 and says(result.output, "is no folder")
