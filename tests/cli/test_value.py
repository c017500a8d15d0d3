"""The `value` command, as a user types it."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from accredit.core import Attribution
from accredit.store import Journal
from accredit.store.frames import read_frame
from tests.wording import refused, says

ROWS = 60
HEADER = "height,width,colour,who,label"


def _line(i: int, rng: np.random.Generator, wrong: bool = False) -> str:
    kind = i % 2
    x = rng.normal(size=2) + 2.5 * kind
    label = ("ham", "spam")[kind ^ wrong]
    return f"{x[0]:.4f},{x[1]:.4f},{('red', 'blue')[int(rng.random() < 0.5)]},{('ann', 'bob', 'cy')[i % 3]},{label}"


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """`accredit value` in a folder with a training and a test file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("train.csv").write_text("\n".join([HEADER, *(_line(i, rng, wrong=i < 3) for i in range(ROWS))]) + "\n")
    Path("test.csv").write_text("\n".join([HEADER, *(_line(i, rng) for i in range(40))]) + "\n")
    return partial(typed, "value")


BASE = ("train.csv", "--target", "label", "--test", "test.csv", "--only", "values")


@pytest.mark.slow
def test_ranks_rows_lists_harmful_ones_and_draws_curves(run):
    code, out, err = run(*BASE)
    assert code == 0, err
    assert len(out.splitlines()) <= 24 and says(out, "all 60")
    _, out, _ = run(*BASE, "--more")
    assert "mislabelled" not in out and "look wrong" not in out  # a low value is not a wrong label
    worst = out[: out.index("\n\npayoff while")].splitlines()[-3:]
    assert sum(any(line.startswith(f"row {i} ") for line in worst) for i in (1, 2, 3)) >= 2, worst
    assert says(" ".join(out[out.index("\nNo row") :].split()), "surely harmful") or "does better without" in out
    assert "remove lowest first" in out
    assert "█" in out


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shapley", "banzhaf", "loo", "influence", "datamodel", "beta:4,1", "tmc:0.05"])
def test_every_method_values_every_row(run, method):
    model = "logistic" if method == "influence" else "ridge"
    code, out, err = run(*BASE, "--method", method, "--model", model, "--budget", "130", "--no-curves", "--json")
    assert code == 0, err
    report = json.loads(out)
    values = Attribution.from_plain(report["worth"]["values"])
    assert len(values) == ROWS
    assert report["kind"] == "training data" and report["wrong_labels"] is None
    assert values.players[0] == "row 1"


@pytest.mark.slow
def test_csv_holds_one_line_a_player_highest_first(run):
    code, out, _ = run(*BASE, "--csv", "--no-curves")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert len(rows) == ROWS
    assert [float(r["credit"]) for r in rows] == sorted((float(r["credit"]) for r in rows), reverse=True)
    assert {r["label"] for r in rows} == {"ham", "spam"}


@pytest.mark.slow
def test_groups_are_players_and_their_values_are_exact_when_few(run):
    code, out, _ = run(*BASE, "--players", "who", "--method", "shapley", "--model", "ridge", "--json", "--no-curves")
    values = Attribution.from_plain(json.loads(out)["worth"]["values"])
    assert code == 0
    assert set(values.players) == {"ann", "bob", "cy"}
    assert values.unshared == pytest.approx(0, abs=1e-12)
    assert {frozenset(s["pair"]) for s in json.loads(out)["worth"]["synergy"]} == {
        frozenset(pair) for pair in (("ann", "bob"), ("ann", "cy"), ("bob", "cy"))
    }
    assert "complements" in run(*BASE, "--players", "who", "--method", "shapley", "--model", "ridge")[1]
    code, out, _ = run(*BASE, "--players", "who", "--json", "--no-curves")  # knn: the quotient game, not a sum
    assert code == 0
    assert Attribution.from_plain(json.loads(out)["worth"]["values"]).payoffs == 8


@pytest.mark.slow
def test_the_page_is_one_file_and_names_cannot_break_it(run, tmp_path):
    evil = HEADER.replace("who", "<script>alert(1)</script>")
    for name in ("train.csv", "test.csv"):
        file = tmp_path / name
        file.write_text(file.read_text().replace(HEADER, evil).replace("ann", "<b>&x"))
    arguments = (
        "--players",
        "<script>alert(1)</script>",
        "--method",
        "shapley",
        "--model",
        "ridge",
        "--html",
        "out.html",
    )
    code, _, err = run(*BASE, *arguments)
    assert code == 0, err
    page = (tmp_path / "out.html").read_text()
    assert "written: out.html" in err
    assert "<svg" in page
    assert "<script>" not in page
    assert "<b>&x" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.slow
def test_the_same_line_again_pays_for_nothing_and_says_so(run, tmp_path):
    line = (*BASE, "--method", "shapley", "--model", "ridge", "--budget", "150", "--store", "run.db", "--more")
    first, second = run(*line), run(*line)
    assert first[0] == second[0] == 0
    assert says(second[1], "0 trainings paid")
    assert first[1].splitlines()[:-1] == second[1].splitlines()[:-1]
    code, _, err = run(*BASE, "--method", "shapley", "--model", "logistic", "--budget", "150", "--store", "run.db")
    assert code == 2
    assert says(err, "another game, which") and says(err, "Name another file")


@pytest.mark.slow
@pytest.mark.usefixtures("interrupts_are_heard")
def test_an_interrupted_run_resumes_to_the_same_table(run, tmp_path):
    model = ["--model", "logistic", "--budget", "1200", "--executor", "serial"]  # seconds beyond the first payoff
    line = [*BASE, "--method", "banzhaf", *model, "--json", "--no-curves"]
    whole = json.loads(run(*line)[1])["worth"]["values"]
    script = "from accredit.cli import COMMANDS, main; COMMANDS['value'] = ('accredit.cli.value', ''); main()"
    child = subprocess.Popen(
        [sys.executable, "-c", script, "value", *line, "--store", "run.db"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    until = time.monotonic() + 120
    while time.monotonic() < until and child.poll() is None:
        if (tmp_path / "run.db").exists():
            with Journal(tmp_path / "run.db", several=True) as journal:
                if any(game["ok"] for game in journal.games()):
                    break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130 and says(err, "same command again"), err
    resumed = json.loads(run(*line, "--store", "run.db")[1])["worth"]
    assert resumed["recalled"] > 0 and resumed["trained"] > 0  # it was interrupted between its first and its last training
    assert resumed["values"] == whole


def test_numbers_are_regressed(run, tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"{x:.4f},{2 * x + rng.normal():.4f}" for x in rng.normal(size=50)]
    (tmp_path / "numbers.csv").write_text("x,price\n" + "\n".join(lines) + "\n")
    code, out, err = run(
        "numbers.csv", "--target", "price", "--model", "ridge", "--method", "shapley", "--budget", "100", "--more"
    )
    assert code == 0, err
    assert "neg_mean_squared_error" in out
    code, out, err = run("numbers.csv", "--target", "price", "--more")
    assert code == 0, err
    assert says(out, "5 nearest neighbours")
    code, _, err = run("numbers.csv", "--target", "price", "--method", "shapley")
    assert code == 2
    assert "--model ridge" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("none.csv", "--target", "label"), "'none.csv' does not exist"),
        (("train.csv", "--target", "colour of"), "not a column of train.csv; its columns are height"),
        (("train.csv", "--target", "label", "--players", "team"), "--players 'team' is not a column"),
        (("train.csv", "--target", "label", "--text", "body"), "--text 'body' is not a column"),
        (("train.csv", "--target", "label", "--test", "1.5"), "fraction between 0 and 1"),
        (("train.csv", "--target", "label", "--test", "other.csv"), "'other.csv' does not exist"),
        ((*BASE, "--method", "magic"), "method 'magic' is unknown; for training data there are"),
        ((*BASE, "--model", "magic"), "unknown model"),
        ((*BASE, "--layers", "*"), "--layers goes with --model FOLDER"),
        (("train.csv",), "--target COLUMN is missing"),
        (("train.csv", "--target", "label", "--only", "labels", "--budget", "9"), "--budget is about values"),
        ((*BASE, "--method", "loo", "--budget", "20"), "takes 62 trainings"),
        (
            (*BASE, "--method", "shapley", "--half-width", "0.01", "--budget", "500"),
            "the budget is 500; write --budget",
        ),
        ((*BASE, "--method", "loo", "--half-width", "0.01"), "--half-width does not go with --method leave-one-out"),
        ((*BASE, "--method", "datamodel", "--half-width", "0.01"), "--half-width does not go with --method datamodel"),
        ((*BASE, "--method", "lasso", "--half-width", "0.01", "--model", "ridge"), "no half-width of lasso"),
        ((*BASE, "--half-width", "2"), "--half-width is 2, and with --method knn-shapley"),
        ((*BASE, "--budget", "500"), "--budget is about trainings, and knn-shapley needs none"),
        ((*BASE, "--players", "who", "--half-width", "0.01"), "--half-width is for single rows with knn-shapley"),
        (("train.csv", "--target", "height", "--half-width", "0.01"), "squared errors have no bound"),
        ((*BASE, "--method", "influence", "--model", "forest"), "write --model logistic"),
        ((*BASE, "--method", "banzhaf", "--budget", "130", "--executor", "fibres"), "unknown executor"),
        (("one.csv", "--target", "label"), "is 'a' in all 6 training rows"),
        (("unlabelled.csv", "--target", "label"), "target 'label' is missing in 1 row"),
        (("words.csv", "--target", "label"), "75 different words in 75 rows, too many for categories; name it with"),
        (("notes.csv", "--target", "label"), "9 different words in 9 rows"),
        (("train.json", "--target", "label"), "neither .csv, .tsv, .jsonl (.gz may follow) nor .parquet"),
        (("broken.parquet", "--target", "label"), "broken.parquet"),
        (("empty.csv", "--target", "label"), "empty.csv"),
        (("wide.csv", "--target", "label"), "line 2 of 'wide.csv' has 3 cells and the header 2"),
        (("latin.csv", "--target", "label"), "'latin.csv' is not text in UTF-8, and its code page is not certain"),
        (("infinite.csv", "--target", "label"), "column 'height' holds inf in 1 row;"),
        (("train.csv", "--target", "label", "--test", "late.csv"), "'colour of width'"),
        (
            ("rare.csv", "--target", "label"),
            "alone, so no other row can teach that class or vouch for its label; drop or merge it",
        ),
        (("rare.csv", "--target", "label", "--only", "labels"), "alone, so no other row can teach that class or vouch"),
        (
            ("train.csv", "--target", "label", "--test", "eggs.csv"),
            "is 'eggs' in 1 test row and in no training row; choose other test rows with --split-seed or --test",
        ),
        ((*BASE, "--seed", "-1"), "--seed"),
        ((*BASE, "--budget", "0"), "--budget"),
        ((*BASE, "--features", "encoder:folder"), "name their column with --text"),
        ((*BASE, "--features", "tfidf"), "name their column with --text"),
        ((*BASE, "--features", "bert"), "'bert' is neither a file nor a kind of features; write tfidf, encoder:FOLDER"),
        ((*BASE, "--features", "two.csv"), "two.csv holds 2 vectors for 100 rows"),
        ((*BASE, "--features", "test.csv"), "test.csv holds words in its column 'colour'"),
        ((*BASE, "--features", "two.csv", "--features", "two.csv"), "is given twice"),
        ((*BASE, "--text", "label"), "cannot be learned from itself"),
        ((*BASE, "--method", "influence", "--model", "ridge"), "write --model logistic"),
        ((*BASE, "--html", "no/such/folder.html"), "no/such"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(run, tmp_path, arguments, why):
    (tmp_path / "two.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "one.csv").write_text("height,label\n" + "1,a\n" * 8)
    (tmp_path / "unlabelled.csv").write_text("height,label\n1,a\n2,\n3,b\n")
    (tmp_path / "words.csv").write_text("title,label\n" + "".join(f"w{i},{'ab'[i % 2]}\n" for i in range(100)))
    (tmp_path / "notes.csv").write_text("note,label\n" + "".join(f"w{i},{'ab'[i % 2]}\n" for i in range(12)))
    (tmp_path / "train.json").write_text("{}")
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "wide.csv").write_text("height,label\n" + "1,2,a\n2,3,b\n" * 8)
    (tmp_path / "latin.csv").write_bytes("height,label\n1,Gen\xe8ve\n2,b\n".encode("latin-1"))
    (tmp_path / "infinite.csv").write_text("height,label\n1,a\ninf,b\n" + "3,a\n4,b\n" * 8)
    (tmp_path / "late.csv").write_text(HEADER + "\n1,colour of width,red,ann,ham\n")
    (tmp_path / "eggs.csv").write_text(HEADER + "\n1,2,red,ann,eggs\n")
    (tmp_path / "rare.csv").write_text("height,label\n" + "".join(f"{i},c{i}\n" for i in range(8)))
    code, out, err = run(*arguments)
    assert code == 2
    assert why in err
    assert (
        len([line for line in err.strip().splitlines() if not line.startswith("training: ")]) == 1
    )  # slow runs show signs of life
    assert out == ""


def test_few_rows_of_prices_are_numbers_and_many_numbered_classes_are_classes_if_told(run, tmp_path):
    prices = "".join(f"{i % 5},{i + 0.25}\n" for i in range(12))
    (tmp_path / "prices.csv").write_text("rooms,price\n" + prices)
    code, out, err = run("prices.csv", "--target", "price", "--method", "loo", "--model", "ridge", "--more")
    assert code == 0, err
    assert "neg_mean_squared_error" in out
    digits = "".join(f"{i % 25},{i % 25}\n" for i in range(100))
    (tmp_path / "letters.csv").write_text("stroke,letter\n" + digits)
    code, out, err = run("letters.csv", "--target", "letter", "--more")
    assert code == 0, err
    assert says(out, "--task class") and says(out, "minus the squared")
    code, out, err = run("letters.csv", "--target", "letter", "--task", "class", "--only", "values", "--more")
    assert code == 0, err
    assert says(out, "of right labels")
    code, _, err = run(*BASE, "--task", "number", "--model", "ridge", "--method", "loo")
    assert code == 2
    assert says(err, "number to predict")


@pytest.mark.slow
def test_a_class_is_the_same_whether_written_1_or_1_0(run, tmp_path):
    (tmp_path / "whole.csv").write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    (tmp_path / "point.csv").write_text("x,y\n" + "".join(f"{i},{i % 2}.0\n" for i in range(6)))
    code, _, err = run("whole.csv", "--target", "y", "--test", "point.csv", "--only", "values")
    assert code == 0, err


@pytest.mark.slow
def test_a_column_named_row_is_learned_from(run, tmp_path):
    """`--players row` means the rows of the file, whatever its columns are called."""
    for name, column in (("a.csv", "row"), ("b.csv", "seat")):
        (tmp_path / name).write_text(f"{column},label\n" + "".join(f"{i % 7},{'ab'[i % 7 > 3]}\n" for i in range(40)))
    named, other = (run(name, "--target", "label", "--only", "values", "--json")[1] for name in ("a.csv", "b.csv"))
    assert json.loads(named)["worth"]["values"] == json.loads(other)["worth"]["values"]


@pytest.mark.slow
def test_a_test_file_needs_only_what_the_model_sees(run, tmp_path):
    lines = (tmp_path / "test.csv").read_text().splitlines()
    (tmp_path / "test.csv").write_text("\n".join(",".join(np.delete(line.split(","), 3)) for line in lines))
    code, out, err = run(*BASE, "--players", "who")
    assert code == 0, err
    assert "bob" in out
    code, _, err = run(*BASE)
    assert code == 2
    assert says(err, "lacks the columns")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["influence", "datamodel"])
def test_scores_about_something_else_than_the_payoff_say_so_and_are_never_sure(run, method):
    code, out, err = run(*BASE, "--method", method, "--budget", "200", "--more")
    assert code == 0, err
    assert says(" ".join(out[out.index("\npayoff: ") : out.index("\nclaims: ")].split()), "scores are about")
    harmful = json.loads(run(*BASE, "--method", method, "--budget", "200", "--json")[1])["worth"]["harmful"]
    assert harmful
    assert {row["surely"] for row in harmful} == {"cannot tell"}


@pytest.mark.slow
def test_a_request_that_is_refused_leaves_no_unfinished_run(run, tmp_path):
    kept = (*BASE, "--method", "shapley", "--model", "ridge", "--players", "who", "--store", "run.db")
    assert run(*kept)[0] == 0
    assert run(*BASE, "--method", "loo", "--budget", "3", "--store", "run.db")[0] == 2
    assert run(*BASE, "--method", "magic", "--store", "run.db")[0] == 2
    assert run("train.csv", "--target", "label", "--method", "loo", "--store", "run.db")[0] == 2  # other test rows
    with Journal(tmp_path / "run.db", several=True) as journal:
        assert [run.ended is None for run in journal.runs()] == [False]


@pytest.mark.slow
def test_parquet_rows_are_numbered_whatever_their_index(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_csv(tmp_path / "train.csv")
    frame["height"] = np.arange(len(frame), dtype=np.uint8)  # a number, not sixty words
    frame.set_index(pandas.Index([f"id{i}" for i in frame.index])).to_parquet(tmp_path / "train.parquet")
    code, out, err = run("train.parquet", "--target", "label", "--json", "--no-curves", "--only", "values")
    assert code == 0, err
    assert all(player.startswith("row ") for player in json.loads(out)["worth"]["values"]["players"])


def test_a_named_parquet_index_is_a_column_and_one_without_a_name_is_not(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"id": [7, 8, 9], "part": list("xyz"), "p": [1.0, 2.0, 3.0]})
    for index, columns in ((["id"], ["id", "part", "p"]), (["part", "id"], ["part", "id", "p"])):
        frame.set_index(index).to_parquet(tmp_path / "named.parquet")
        read = read_frame(tmp_path / "named.parquet")
        assert list(read.columns) == columns and read["id"].tolist() == [7, 8, 9]
    frame.set_index("id").rename_axis(index=None).to_parquet(tmp_path / "plain.parquet")
    assert list(read_frame(tmp_path / "plain.parquet").columns) == ["part", "p"]
    frame.set_index("id").rename_axis(index="p").to_parquet(tmp_path / "twice.parquet")
    with refused("duplicate"):
        read_frame(tmp_path / "twice.parquet")


@pytest.mark.slow
@pytest.mark.processes
def test_the_lines_of_the_page_run_as_written(run, tmp_path):
    """Every `accredit value` line of the documentation, from the folder of the project, on the file it names."""
    root = Path(__file__).parents[2]
    (tmp_path / "examples").symlink_to(root / "accredit" / "cli" / "samples")
    lines = re.findall(r"^accredit value (.*)$", (root / "docs" / "valuation.md").read_text(encoding="utf-8"), re.M)
    assert len(lines) == 3
    answers = [run(*shlex.split(line, comments=True)) for line in lines]
    assert [code for code, _, _ in answers] == [0, 0, 0], answers
    suspects = answers[0][1].split("player ")[0]
    assert says(suspects, "superb and gripping")  # labelled bad
    assert answers[2][1].index("\nann ") < answers[2][1].index("\ncy ")  # the careless one comes last


@pytest.mark.slow
def test_a_half_width_says_what_it_takes_before_the_run_and_spends_it(run, tmp_path):
    common = (*BASE, "--method", "banzhaf", "--model", "ridge", "--no-curves", "--json")
    code, out, err = run(*common, "--half-width", "0.02", "--store", "run.db")
    assert code == 0
    needed = int(re.search(r"takes about ([\d,]+) trainings", err)[1].replace(",", ""))
    worth = json.loads(out)["worth"]
    assert worth["values"]["payoffs"] == needed
    assert worth["trained"] <= needed  # the pilot is part of it
    code, _, err = run(*common, "--half-width", "0.02", "--budget", str(needed - 10))
    assert code == 2
    assert f"write --budget {needed}" in err


@pytest.mark.slow
def test_what_a_budget_will_tell_is_said_before_it_is_spent(run):
    code, _, err = run(*BASE, "--method", "shapley", "--model", "ridge", "--budget", "1400", "--no-curves")
    assert code == 0
    assert says(err, "1,270 trainings will")
    assert says(err, "--players COLUMN")


@pytest.mark.slow
def test_neighbours_within_a_bound_and_spread_over_threads(run):
    code, out, _ = run(*BASE, "--half-width", "0.05", "--executor", "threads:2", "--json", "--no-curves")
    assert code == 0
    near = json.loads(out)["worth"]["values"]
    exact = json.loads(run(*BASE, "--json", "--no-curves")[1])["worth"]["values"]
    assert 0 < np.abs(np.array(near["credit"]) - np.array(exact["credit"])).max() <= 0.05
    assert near["method"]["settings"]["within"] == 0.05


@pytest.mark.slow
def test_groups_of_neighbours_are_journalled_and_evaluated_where_asked(run, tmp_path):
    line = (*BASE, "--players", "who", "--store", "run.db", "--executor", "threads:2", "--no-curves", "--json")
    first = json.loads(run(*line)[1])["worth"]
    again = json.loads(run(*line)[1])["worth"]
    assert (first["trained"], first["recalled"]) == (8, 0)
    assert (again["trained"], again["recalled"]) == (0, 8)
    assert again["values"]["credit"] == first["values"]["credit"]
    with Journal(tmp_path / "run.db") as journal:
        assert journal.games()[0]["ok"] == 8


@pytest.mark.slow
def test_another_seed_of_samples_keeps_the_split_and_goes_into_the_same_journal(run, tmp_path):
    line = (
        "train.csv",
        "--target",
        "label",
        "--only",
        "values",
        "--method",
        "banzhaf",
        "--model",
        "ridge",
        "--budget",
        "150",
    )
    common = (*line, "--store", "run.db", "--no-curves", "--json")
    seeds = [json.loads(run(*common, "--seed", str(seed))[1])["worth"] for seed in (0, 1)]
    assert seeds[0]["values"]["players"] == seeds[1]["values"]["players"]
    assert seeds[0]["values"]["credit"] != seeds[1]["values"]["credit"]
    code, _, err = run(*common, "--split-seed", "1")
    assert code == 2
    assert "another" in err or "other" in err


@pytest.mark.slow
def test_a_budget_pays_for_pilot_values_and_curves(run):
    for budget in (60, 300, 1400):
        line = (*BASE, "--method", "banzhaf", "--model", "ridge", "--budget", str(budget), "--json")
        worth = json.loads(run(*line)[1])["worth"]
        assert 0.9 * budget <= worth["trained"] <= budget
        assert bool(worth["curves"]) == (budget > 60) and any("curves" in w for w in worth["warnings"]) == (budget == 60)


@pytest.mark.slow
def test_prices_say_what_to_buy_and_bad_ones_are_refused_by_name(run, tmp_path):
    line = (*BASE, "--players", "who", "--model", "ridge", "--no-curves")
    prices = ("--prices", "ann=30", "--prices", "bob=20", "--prices", "cy=10")
    code, out, err = run(*line, *prices, "--html", "worth.html")
    assert code == 0, err
    assert "What to buy" in out and "What to buy" in (tmp_path / "worth.html").read_text()
    plan = json.loads(run(*line, *prices, "--json")[1])["worth"]["purchases"]
    assert [one["price"] for one in plan["best"]] == sorted(one["price"] for one in plan["best"])
    assert plan["best"][0]["sources"] == [] and all(one["payoff_low"] <= one["payoff"] for one in plan["best"])
    for bad, why in ((prices[:4], "'cy'"), ((*prices, "--prices", "dan=3"), "'dan'"), (("--prices", "ann=x"), "NAME=PRICE")):
        code, _, err = run(*line, *bad)
        assert code == 2 and why in err
    rows = (tmp_path / "train.csv").read_text().splitlines()
    cost = {"ann": "30", "bob": "20", "cy": "10"}
    written = [f"{rows[0]},cost", *(f"{row},{cost[row.split(',')[3]]}" for row in rows[1:])]
    (tmp_path / "train.csv").write_text("\n".join(written) + "\n")
    assert json.loads(run(*line, "--prices", "cost", "--json")[1])["worth"]["purchases"] == plan  # and it is not a feature
    code, _, err = run(*BASE, "--prices", "cost")
    assert code == 2 and "--players" in err
    (tmp_path / "train.csv").write_text("\n".join(written).replace(",20\n", ",cheap\n") + "\n")
    code, _, err = run(*line, "--prices", "cost")
    assert code == 2 and "'cheap' for 'bob'" in err  # the word is named, not a number beside it
