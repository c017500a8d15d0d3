"""The `explain` command: one text, an image, a file of texts that is resumed, and everything that can be wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
Image = pytest.importorskip("PIL.Image")

from accredit.core.threads import one_torch_thread  # noqa: E402
from accredit.errors import InvalidInput  # noqa: E402
from accredit.explanation import Explanation  # noqa: E402
from tests.models.small_models import TEXT, image_model, text_model  # noqa: E402
from tests.rounding import assert_same_but_for_rounding  # noqa: E402
from tests.wording import reads, says  # noqa: E402

FAST = ("--methods", "leave-one-out,attention")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A text model and an image model on disk, as a user would have them."""
    home = tmp_path_factory.mktemp("models")
    text, image = text_model("bert"), image_model()
    text.model.save_pretrained(home / "text")
    text.tokenizer.save_pretrained(home / "text")
    image.model.save_pretrained(home / "image")
    return home


@pytest.fixture
def run(typed, monkeypatch, tmp_path):
    """`accredit explain` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(typed, "explain")


def test_a_text_gives_prediction_methods_claims_and_seconds(run, folders):
    asked = (TEXT, "--model", folders / "text", "--methods", "shapley,attention")
    code, out, err = run(*asked)
    assert code == 0 and err == "" and TEXT in out and "gripping" in out
    assert "%" in out.splitlines()[0] and len(out.splitlines()) <= 24 and "E S N" not in out
    _, everything, _ = run(*asked, "--more")
    assert says(everything, "E S N") and "shapley: " in everything and " s)" in everything


@pytest.mark.slow
def test_a_text_that_is_too_long_is_read_in_parts(run, folders):
    text = "A good film, at first. " * 20
    code, out, _ = run(text, "--model", folders / "text", *FAST)
    assert code == 0 and "reads 48 at once" in " ".join(out.split())
    code, out, _ = run(text, "--model", folders / "text", *FAST, "--json")
    told = json.loads(out)
    explained = [Explanation.from_json(json.dumps(part)) for part in told["parts"]]
    assert code == 0 and told["kind"] == "text in parts" and len(explained) > 2
    assert " ".join(one.text for one in explained) == text.strip()
    assert says(told["read"], "4 NEGATIVE; ") and "raise NEGATIVE" in told["read"]
    code, out, _ = run(text, "--model", folders / "text", *FAST, "--json", "--cut")
    assert code == 0 and Explanation.from_json(out).notes


def test_json_and_html_hold_the_same_explanation(run, folders, tmp_path):
    code, out, _ = run(TEXT, "--model", folders / "text", *FAST, "--json", "--html", "x.html")
    assert code == 0
    explanation = Explanation.from_json(out)
    assert explanation.text == TEXT
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and f"Why {explanation.target}?" in page


def test_target_players_payoff_removal_and_seed_arrive(run, folders):
    options = [
        "--target",
        "neutral",
        "--players",
        "token",
        "--payoff",
        "probability",
        "--removal",
        "delete",
        "--seed",
        "7",
        "--budget",
        "40",
    ]
    _, out, _ = run(TEXT, "--model", folders / "text", "--methods", "shapley", "--json", *options)
    explanation = Explanation.from_json(out)
    assert explanation.target == "NEUTRAL" and explanation.payoff == "probability"
    assert explanation.provenance["players"] == "token" and explanation.provenance["removal"] == "delete"
    assert explanation["shapley"].seed == 7 and explanation["shapley"].payoffs <= 40


@pytest.mark.slow
def test_heads_and_layers_arrive(run, folders):
    pytest.importorskip("ortools")
    asked = ("--model", folders / "text", "--methods", "flow:norm,rollout,leave-one-out", "--json")
    code, out, _ = run(TEXT, *asked, "--heads", "1,3", "--layers", "0-1")
    found = Explanation.from_json(out)
    assert code == 0 and reads(found["flow:norm"].provenance["heads"])
    assert found["rollout"].provenance["layers"] == "[0, 1]"
    assert any(says(note.text, "layers=[0, 1] concerns") for note in found.notes)
    code, out, _ = run("--answer", "--methods", "rollout", "--heads", "max", "--layers", "-1", "--json")
    assert code == 0 and Explanation.from_json(out)["rollout"].provenance["heads"] == "maximum of heads"


def test_out_holds_what_would_be_printed_for_one_text(run, folders, tmp_path):
    code, out, err = run(TEXT, "--model", folders / "text", *FAST, "--json", "--out", "one.json")
    assert (code, out) == (0, "") and "written: one.json" in err
    assert Explanation.from_json((tmp_path / "one.json").read_text()).players


def test_an_image_has_patches(run, folders, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "shirt.png")
    code, out, _ = run("shirt.png", "--model", folders / "image", *FAST)
    assert code == 0 and len(out.splitlines()) <= 24
    assert "r2c2" in run("shirt.png", "--model", folders / "image", *FAST, "--more")[1]
    _, out, _ = run("shirt.png", "--model", folders / "image", "--methods", "shapley", "--players", "2x2", "--json")
    assert Explanation.from_json(out).players == ("r0c0", "r0c1", "r1c0", "r1c1")


TEXTS = ["A good film.", "It never lands!", "not very good", "the film is bad, very bad", "A gripping film"]


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_file_is_explained_row_by_row(run, folders, tmp_path):
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXTS), encoding="utf-8")
    code, out, err = run("texts.txt", "--model", folders / "text", *FAST, "--out", "rows.jsonl")
    assert code == 0 and out == "" and "5 rows" in err
    rows = rows_of(tmp_path / "rows.jsonl")
    assert [row["text"] for row in rows] == TEXTS and [row["row"] for row in rows] == list(range(5))
    with one_torch_thread():  # as rows of a file are: with more, the last digits of sums depend on their order
        _, alone, _ = run(TEXTS[3], "--model", folders / "text", *FAST, "--json")
    found, wanted = rows[3]["attributions"], json.loads(alone)["attributions"]  # a row does not depend on the others
    assert_same_but_for_rounding(found, wanted, rounding=max(one["blur"] or 0.0 for one in wanted.values()))


def test_without_out_rows_go_to_standard_output(run, folders, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:2]), encoding="utf-8")
    code, out, _ = run("texts.txt", "--model", folders / "text", *FAST, "--json")
    assert code == 0 and [json.loads(line)["row"] for line in out.splitlines()] == [0, 1]


def test_a_screen_of_many_texts_counts_them_first_and_says_one_sentence_of_each(run, folders, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join([TEXTS[0], "word " * 500, *TEXTS[1:] * 4]), encoding="utf-8")
    code, out, _err = run("texts.txt", "--model", folders / "text", "--methods", "leave-one-out")
    lines = out.splitlines()
    assert code == 0 and says(lines[0], "18 texts") and says(lines[0], "1 not explained")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and "--more" in lines[-1]
    assert lines[2].startswith("row 1: ") and says(out, "row 2: not explained")
    every = run("texts.txt", "--model", folders / "text", "--methods", "leave-one-out", "--more")[1]
    assert [int(line.split()[1][:-1]) for line in every.splitlines() if line.startswith("row ")] == list(range(1, 19))


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.tsv", "\t")])
def test_a_table_gives_its_column(run, folders, tmp_path, name, mark):
    (tmp_path / name).write_text(f"id{mark}review\n1{mark}A good film.\n2{mark}\n", encoding="utf-8")
    code, _, err = run(name, "--model", folders / "text", *FAST, "--text", "review", "--out", "rows.jsonl")
    assert code == 0 and says(err, "not be explained")
    rows = rows_of(tmp_path / "rows.jsonl")
    assert rows[0]["text"] == "A good film." and "empty" in rows[1]["error"]


def test_quotes_of_a_table_are_read_and_those_of_a_tsv_may_be_only_characters(run, folders, tmp_path):
    (tmp_path / "t.csv").write_text('\ufeff"the text",x\n"He said ""wow"",\ntwice",1\nbad,', encoding="utf-8")
    (tmp_path / "t.tsv").write_text('the text\tx\n"Good" film\t1\n"bad\t2\n', encoding="utf-8")
    for name, texts in (("t.csv", ['He said "wow",\ntwice', "bad"]), ("t.tsv", ['"Good" film', '"bad'])):
        code, out, _ = run(name, "--model", folders / "text", "--methods", "leave-one-out", "--text", "the text", "--json")
        assert code == 0 and [json.loads(line)["text"] for line in out.splitlines()] == texts


def test_a_line_ends_where_a_line_ends(run, folders, tmp_path):
    (tmp_path / "t.txt").write_bytes("good\u2028film\r\nbad\x0cfilm\n".encode())
    _, out, _ = run("t.txt", "--model", folders / "text", "--methods", "leave-one-out", "--json")
    assert [json.loads(line)["text"] for line in out.split("\n")[:-1]] == ["good\u2028film", "bad\x0cfilm"]


def test_a_pair_of_texts_is_explained(run, folders, tmp_path):
    code, out, _ = run("A good film.", "--pair", "Not bad.", "--model", folders / "text", *FAST, "--html", "p.html")
    assert code == 0 and says(out, "first text:  A") and says(out, "second text: Not")
    assert "Second text" in (tmp_path / "p.html").read_text(encoding="utf-8")
    _, alone, _ = run("A good film.", "--pair", "Not bad.", "--model", folders / "text", *FAST, "--json")
    found = Explanation.from_json(alone)
    assert (found.text, found.pair) == ("A good film.", "Not bad.") and ". (pair)" in found.players
    code, _, err = run("A good film.", "--pair", "Not bad.")
    assert code == 2 and says(err, "built-in model reads")


def test_pairs_of_a_table_are_explained_and_resumed(run, folders, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nA good film.,Not bad.\nIt is bad,\nIt lands!,A film\n", encoding="utf-8")
    options = ("t.csv", "--text", "a", "--pair", "b", "--model", folders / "text", *FAST, "--out")
    code, _, err = run(*options, "rows.jsonl")
    assert code == 0 and says(err, "not be explained")
    rows = rows_of(tmp_path / "rows.jsonl")
    assert [(row["text"], row["pair"]) for row in rows] == [
        ("A good film.", "Not bad."),
        ("It is bad", ""),
        ("It lands!", "A film"),
    ]
    assert "empty" in rows[1]["error"] and "attributions" in rows[2]
    whole = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "part.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert says(run(*options, "part.jsonl")[2], "them already there")
    assert (tmp_path / "part.jsonl").read_bytes() == whole
    (tmp_path / "t.csv").write_text("a,b\nA good film.,Quite bad.\n", encoding="utf-8")
    assert run(*options, "rows.jsonl")[0] == 2


def test_a_long_run_over_rows_is_announced_before_its_first_row(run, folders, tmp_path, monkeypatch):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    monkeypatch.setattr("accredit.explanation.forecast.LONG", 0.0)
    told: list[str] = []

    def refused(*_, **__):
        told.append("a row")
        raise InvalidInput("not today")

    monkeypatch.setattr("accredit.explanation.explainer.Explainer.__call__", refused)
    monkeypatch.setattr("accredit.cli.explain.click.echo", lambda message, **_: told.append(message))
    assert run("texts.txt", "--model", folders / "text", *FAST)[0] == 0
    assert says(told[0], "their payoffs") and "--budget 200" in told[0]
    assert told[1:6] == ["a row"] * 5


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 1, 3, 5])
@pytest.mark.parametrize("torn", [b"", b'{"row": 3, "te'])
def test_a_stopped_run_ends_like_one_that_was_not(run, folders, tmp_path, kept, torn):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    options = ("--model", folders / "text", "--methods", "shapley", "--budget", "30", "--seed", "3")
    run("texts.txt", *options, "--out", "whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    if kept == 0 and torn:
        pytest.skip("a file that holds only a torn line is nobody's")
    (tmp_path / "part.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:kept]) + torn)
    code, _, err = run("texts.txt", *options, "--out", "part.jsonl")
    assert code == 0 and (f"{kept} of them" in err) == (kept > 0)
    assert (tmp_path / "part.jsonl").read_bytes() == whole


@pytest.mark.slow
def test_a_killed_run_is_resumed(run, folders, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS * 5), encoding="utf-8")
    options = ["texts.txt", "--model", str(folders / "text"), "--methods", "leave-one-out,shapley", "--out"]
    command = [sys.executable, "-m", "accredit", "explain", *options, "rows.jsonl"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    out = tmp_path / "rows.jsonl"
    while process.poll() is None and not (out.exists() and out.stat().st_size > 5_000):
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = out.read_bytes()
    run(*options, "rows.jsonl")
    run(*options, "whole.jsonl")
    assert out.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.slow
def test_rows_of_another_run_are_not_touched(run, folders, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:2]), encoding="utf-8")
    options = ("--model", folders / "text", *FAST, "--out", "rows.jsonl")
    run("texts.txt", *options)
    before = (tmp_path / "rows.jsonl").read_bytes()
    for changed in (("--payoff", "logit"), ("--players", "token")):
        code, _, err = run("texts.txt", *options, *changed)
        assert code == 2 and says(err, "model, other settings")
    (tmp_path / "texts.txt").write_text("\n".join(reversed(TEXTS[:2])), encoding="utf-8")
    assert run("texts.txt", *options)[0] == 2
    (tmp_path / "notes.txt").write_text("my notes\n")
    assert run("texts.txt", "--model", folders / "text", *FAST, "--out", "notes.txt")[0] == 2
    assert (tmp_path / "rows.jsonl").read_bytes() == before
    assert (tmp_path / "notes.txt").read_text() == "my notes\n"


def pickled(folder: Path) -> None:
    (folder / "config.json").write_text('{"architectures": ["BertForSequenceClassification"], "model_type": "bert"}')
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def remote(folder: Path) -> None:
    config = {
        "architectures": ["BertForSequenceClassification"],
        "auto_map": {"AutoModel": "evil.Model"},
        "model_type": "bert",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "evil.py").write_text("raise SystemExit('ran')")


BAD = {
    "empty text": ([""], "empty"),
    "only spaces": (["  \t "], "empty"),
    "a pair that is too long": (["good film " * 100, "--pair", "good"], "reads 48"),
    "a page of a text in parts": (["good film. " * 100, "--html", "x.html"], "--html is for one text"),
    "unknown label": ([TEXT, "--target", "GREAT"], "labels are NEGATIVE, NEUTRAL, POSITIVE"),
    "unknown method": ([TEXT, "--methods", "shapely"], "unknown"),
    "unknown players": ([TEXT, "--players", "letter"], "token, word, sentence"),
    "damaged groups": ([TEXT, "--players", '{"a": 1}'], "--players"),
    "unknown payoff": ([TEXT, "--payoff", "profit"], "payoff"),
    "unknown removal": ([TEXT, "--removal", "burn"], "removal"),
    "unknown heads": ([TEXT, "--methods", "rollout", "--heads", "first"], "--heads is 'first'"),
    "layer that is not there": ([TEXT, "--methods", "rollout", "--layers", "1-7"], "layers 0 … 1"),
    "layers that are none": ([TEXT, "--methods", "rollout", "--layers", "last"], "--layers is 'last'"),
    "heads without attention": ([TEXT, "--methods", "shapley", "--heads", "max"], "--heads is 'max'"),
    "budget of zero": ([TEXT, "--budget", "0"], "budget"),
    "missing file": (["missing.csv"], "no file"),
    "missing picture": (["missing.png"], "no file"),
    "a folder": (["."], "folder"),
    "not a picture": (["fake.png"], "picture"),
    "binary file": (["noise.dat"], "not text in"),
    "file without texts": (["blank.txt"], "holds no text"),
    "table without the column": (["t.csv", "--text", "review"], "columns are id, text"),
    "table without a named column": (["t.csv"], "id, text"),
    "label unknown for a file": (["t.csv", "--text", "text", "--target", "GREAT", "--out", "rows.jsonl"], "labels are"),
    "method unknown for a file": (["t.csv", "--text", "text", "--methods", "x", "--out", "rows.jsonl"], "unknown"),
    "column of a text": ([TEXT, "--text", "review"], "--text is for a FILE"),
    "pair of an image": (["fake.png", "--pair", "good"], "--pair belongs to a text"),
    "pair of lines": (["lines.txt", "--pair", "good"], "--pair names a column"),
    "pair that is no column": (["t.csv", "--text", "text", "--pair", "nope"], "pick one with --pair"),
    "empty pair": ([TEXT, "--pair", " "], "empty"),
    "two columns of one name": (["twice.csv", "--text", "text"], "2 columns of 'twice.csv' are called 'text'"),
    "a comma without quotes": (["comma.csv", "--text", "text"], "line 3 of 'comma.csv' has 3 cells and the header 2"),
    "quotes that do not close": (["open.csv", "--text", "text"], "unexpected end of data"),
    "page of a file": (["t.csv", "--text", "text", "--html", "x.html"], "--html is for one"),
    "page into no folder": ([TEXT, "--html", "no/such/x.html"], "there is no folder"),
    "prefix without a decoder": ([TEXT, "--prefix", "so"], "prefix"),
    "folder without a model": ([TEXT, "--model", "empty"], "config.json is missing"),
    "pickled weights": ([TEXT, "--model", "pickled"], "safetensors"),
    "remote code": ([TEXT, "--model", "remote"], "auto_map"),
    "model that is not there": ([TEXT, "--model", "./nowhere"], "not a folder"),
    "model for pictures": ([TEXT, "--model", "{image}"], "ForImageClassification"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_no_file(run, folders, tmp_path, case):
    arguments, said = BAD[case]
    (tmp_path / "fake.png").write_text("no picture")
    (tmp_path / "noise.dat").write_bytes(bytes(range(255, 127, -1)))
    (tmp_path / "blank.txt").write_text(" \n\n")
    (tmp_path / "t.csv").write_text("id,text\n1,A good film.\n")
    (tmp_path / "lines.txt").write_text("A good film.\n")
    (tmp_path / "twice.csv").write_text("text,text\ngood,bad\n")
    (tmp_path / "comma.csv").write_text('id,text\n1,"good, film"\n2,good, film\n')
    (tmp_path / "open.csv").write_text('id,text\n1,"good\n2,bad\n')
    for name, fill in {"empty": lambda folder: None, "pickled": pickled, "remote": remote}.items():
        (tmp_path / name).mkdir()
        fill(tmp_path / name)
    before = sorted(p.name for p in tmp_path.rglob("*"))
    arguments = [str(a).replace("{image}", str(folders / "image")) for a in arguments]
    if "--model" not in arguments and "fake.png" not in arguments:
        arguments += ["--model", str(folders / "text")]
    elif "fake.png" in arguments:
        arguments += ["--model", str(folders / "image")]
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert said in err and err.startswith("accredit: ") and err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_help_imports_no_torch():
    probe = "import sys; sys.argv=['accredit','explain','--help']\nfrom accredit.cli import main\n"
    probe += "try: main()\nexcept SystemExit: pass\n"
    probe += "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert "TEXT|FILE|IMAGE" in done.stdout
