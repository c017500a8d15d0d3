"""`accredit value --only labels`: what is written, several annotators, tags and numbers."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

WRONG = (4, 21, 50)


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """A table of 60 rows in two clear classes, three of them labelled wrongly, and three annotators of whom bob is careless."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["key,a,b,kind,ann,bob,eve,tags,size"]
    for i in range(60):
        kind, other = "xy"[i % 2], "yx"[i % 2]
        x = rng.normal(size=2) + 4 * (i % 2)
        bob = other if i % 3 == 0 else kind
        size = 10 * x[0] + (500 if i == 7 else 0)
        tags = ("odd|" if i % 2 and i != 11 else "") + ("low" if x[1] < 0 else "")
        lines.append(
            f"k{i},{x[0]:.4f},{x[1]:.4f},{other if i in WRONG else kind},{kind},{bob},{kind if i % 4 else ''},{tags},{size:.3f}"
        )
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    names = lines[0].split(",")

    def keep(*columns: str) -> str:
        rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
        with open("kept.csv", "w", newline="") as file:
            out = csv.DictWriter(file, columns, extrasaction="ignore")
            out.writeheader()
            out.writerows(rows)
        return "kept.csv"

    call = partial(typed, "value")
    call.keep = keep  # type: ignore[attr-defined]
    return call


@pytest.mark.slow
def test_tables_and_tasks_hold_ids_suggestions_and_probabilities(run):
    asked = (run.keep("key", "a", "b", "kind"), "--target", "kind", "--id", "key", "--only", "labels", "--json")
    code, _, err = run(*asked, "--out", "out.csv")
    assert code == 0, err
    rows = {row["key"]: row for row in csv.DictReader(Path("out.csv").read_text().splitlines())}
    assert len(rows) == 60 and {f"k{i}" for i in WRONG} <= {key for key, row in rows.items() if row["label_suspect"] == "True"}
    assert rows["k4"]["label_suggested"] == "x" and float(rows["k4"]["label_probability_wrong"]) > 0.3
    code, _, err = run(*asked, "--out", "kept.jsonl", "--out-as", "dropped")
    left = [json.loads(line)["key"] for line in Path("kept.jsonl").read_text().splitlines()]
    assert code == 0 and not {f"k{i}" for i in WRONG} & set(left) and len(left) >= 50
    for form in ("label-studio", "argilla"):
        run.keep("key", "a", "b", "kind")
        code, _, err = run(*asked, "--out", f"{form}.json", "--out-as", form)
        assert code == 0, err
    task = {one["data"]["key"]: one for one in json.loads(Path("label-studio.json").read_text())}["k4"]
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["x"]} and task["data"]["label_given"] == "y"
    record = {one["id"]: one for one in json.loads(Path("argilla.json").read_text())}["k4"]
    assert record["suggestions"]["label"]["value"] == "x" and "a=" in record["fields"]["text"]
    code, _, err = run(*asked, "--out", "tasks.csv", "--out-as", "argilla")
    assert code == 2 and ".json" in err


@pytest.mark.slow
def test_annotators_in_columns_and_in_lines_give_the_same_answer(run):
    who = [word for name in ("ann", "bob", "eve") for word in ("--annotators", name)]
    code, out, err = run(run.keep("key", "a", "b", "ann", "bob", "eve"), *who, "--id", "key", "--only", "labels", "--json")
    assert code == 0, err
    found = json.loads(out)["wrong_labels"]
    assert found["annotators"][0]["name"] == "bob" and found["annotators"][0]["rate"] == pytest.approx(1 / 3, abs=0.12)
    assert [one["label"] for one in found["consensus"]] == ["xy"[i % 2] for i in range(60)]
    rows = list(csv.DictReader(Path("kept.csv").read_text().splitlines()))
    lines = [f"{r['key']},{r['a']},{r['b']},{name},{r[name]}" for r in rows for name in ("ann", "bob", "eve") if r[name]]
    Path("lines.csv").write_text("key,a,b,who,kind\n" + "\n".join(lines) + "\n")
    asked = ("lines.csv", "--target", "kind", "--annotators", "who", "--id", "key")
    code, out, err = run(*asked, "--only", "labels", "--json", "--out", "votes.csv")
    assert code == 0, err
    assert json.loads(out)["wrong_labels"]["annotators"] == found["annotators"]
    written = next(csv.DictReader(Path("votes.csv").read_text().splitlines()))
    assert written["consensus"] == "x" and written["bob_suspect"] == "True" and written["ann_suspect"] == "False"
    code, _, err = run(*asked)
    assert code == 2 and "--only labels" in err


@pytest.mark.slow
def test_tags_and_numbers_are_judged(run):
    code, out, err = run(run.keep("a", "b", "tags"), "--target", "tags", "--task", "tags", "--only", "labels", "--json")
    assert code == 0, err
    found = json.loads(out)["wrong_labels"]
    first = found["suspects"][0]
    assert found["names"][first] == "row 12 · odd" and found["suggested"][first] == "yes"
    code, out, err = run(run.keep("a", "b", "size"), "--target", "size", "--only", "labels", "--json")
    assert code == 0, err
    found = json.loads(out)["wrong_labels"]
    assert found["suspects"] == [7] and found["probability"][7] > 0.9
    code, _, err = run(
        run.keep("a", "b", "size"), "--target", "size", "--only", "labels", "--out", "n.json", "--out-as", "label-studio"
    )
    assert code == 0, err
    answer = json.loads(Path("n.json").read_text())[0]["predictions"][0]["result"][0]
    assert answer["type"] == "number" and isinstance(answer["value"]["number"], float)


@pytest.mark.slow
def test_near_duplicates_of_voted_and_tagged_files_are_rows_with_what_they_say(run):
    """Rows k58 and k59 are nearly the same with two labels; k0 is unlike all others. Labels of annotators are no rows."""
    run.keep("key", "a", "b", "ann", "bob", "eve", "tags")
    lines = Path("kept.csv").read_text().splitlines()
    lines[-2:] = ["k58,2.0,2.0,x,x,x,odd", "k59,2.0,2.0,y,y,y,odd"]
    lines[1] = "k0,90,-90,x,x,x,odd"
    lines[5] = lines[5].rsplit(",", 4)[0] + ",,,,"  # nobody labelled k4, and it has no tag
    table = [line.split(",") for line in lines]
    Path("votes.csv").write_text("\n".join(",".join(row[:6]) for row in table) + "\n")
    Path("tags.csv").write_text("\n".join(",".join([*row[:3], row[6]]) for row in table) + "\n")
    who = [word for name in ("ann", "bob", "eve") for word in ("--annotators", name)]
    asked = ("--id", "key", "--only", "labels")
    code, out, err = run("votes.csv", *who, *asked, "--out", "out.csv")
    assert code == 0 and "1 row without any label left out: row 5" in out, err  # on the first screen
    _, out, _ = run("votes.csv", *who, *asked, "--more")
    assert "k58 (x)  a=2, b=2" in out and "≈ k59 (y)  a=2, b=2" in out and "  k0  a=90, b=-90" in out
    assert "k4," not in Path("out.csv").read_text()
    code, out, err = run("tags.csv", "--target", "tags", "--task", "tags", *asked, "--more")
    assert code == 0, err
    assert "  k58 ≈ k59  a=2, b=2" in out and "  k0  a=90, b=-90" in out and "rows have no tag" in out
    code, _, err = run("tags.csv", "--target", "tags", "--task", "tags", *asked, "--annotators", "a")
    assert code == 2 and "--annotators" in err


def test_labels_that_count_rows_are_refused_and_ids_that_repeat_are_named(run):
    run.keep("a", "key")
    Path("count.csv").write_text("a,n\n" + "".join(f"{i % 7},{i + 100}\n" for i in range(40)))
    code, _, err = run("count.csv", "--target", "n", "--only", "labels")
    assert code == 2 and "100 to 139" in err and "--task number" in err
    Path("twice.csv").write_text("a,who,y,id\n" + "".join(f"{i % 7},ann,{i % 2},{i // 2}\n" for i in range(40)))
    code, _, err = run("twice.csv", "--target", "y", "--annotators", "who", "--id", "id")
    assert code == 2 and "--id id" in err and "--only labels" in err


@pytest.mark.slow
def test_a_class_that_chance_left_to_the_test_rows_is_taught_and_that_is_said(run):
    """By the split of seed 0, rows 3 and 18 of 24 are both for testing."""
    rng = np.random.default_rng(0)
    held = sorted(np.random.default_rng(0).permutation(24)[:6].tolist())
    labels = ["rare" if i in held[:2] else "xy"[i % 2] for i in range(24)]
    Path("rare.csv").write_text("a,y\n" + "".join(f"{rng.normal() + 4 * (k == 'y'):.3f},{k}\n" for k in labels))
    code, out, err = run("rare.csv", "--target", "y", "--only", "values")
    assert code == 0, err
    assert f"row {held[0] + 1} moved from the test rows" in out and "'rare'" in out
