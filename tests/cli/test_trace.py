"""The `trace` command, as a user types it, on a language model that was made for it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("pandas")

from tests.valuation.small_models import FACTS, classifier, language_model, saved
from tests.wording import says

KELU = "the capital of kelu is bem ."
ZORBA = "the river of zorba is ib ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return saved(language_model(), tmp_path_factory.mktemp("models") / "taught")


@pytest.fixture
def run(typed, monkeypatch, tmp_path, folder):
    """`accredit trace` in a folder with the training texts."""
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(FACTS) + "\n")
    Path("texts.csv").write_text("said,source\n" + "".join(f"{text},web\n" for text in FACTS))
    return partial(typed, "trace", "--model", str(folder))


ASKED = ("bem", "--prompt", "the capital of kelu is")


@pytest.mark.slow
def test_the_text_that_taught_it_comes_first_and_a_store_needs_no_texts(run, tmp_path):
    code, out, err = run(*ASKED, "--train", "texts.txt", "--store", "kept", "--html", "out.html", "--shown", "2", "--more")
    assert code == 0, err
    assert says(out, "training row 2 ranks first")
    first = next(line for line in out.splitlines() if line.startswith("  ") and "row " in line)
    assert "row 2 " in first and says(first, "capital of kelu")
    assert says(" ".join(out.split()), "known from them") and "‖∇J‖ is" in out
    page = (tmp_path / "out.html").read_text()
    assert page.index(KELU) < page.index("cannot be known")
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").iterdir()}
    code, out, err = run("ib", "--prompt", "the river of zorba is", "--store", "kept", "--json")
    assert code == 0, err
    assert json.loads(out)["texts"][0]["text"] == ZORBA
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").iterdir()} == before
    code, out, err = run(*ASKED, "--train", "texts.csv", "--text", "said", "--layers", "*mlp*", "--json")
    assert code == 0, err
    assert json.loads(out)["facts"]["layers"] == ["transformer.h.0.mlp.c_fc", "transformer.h.0.mlp.c_proj"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (ASKED, "give them with --train FILE"),
        ((*ASKED, "--train", "none.txt"), "'none.txt' does not exist"),
        ((*ASKED, "--train", "texts.csv"), "has the columns said, source; name that of the texts with --text"),
        ((*ASKED, "--train", "texts.csv", "--text", "words"), "--text 'words' is not a column"),
        ((*ASKED, "--train", "texts.txt", "--text", "said"), "one text on each line; leave it out"),
        ((*ASKED, "--train", "gap.txt"), "line 2 of gap.txt is empty"),
        ((*ASKED, "--store", "."), "is not a gradient store"),
        ((*ASKED, "--train", "texts.txt", "--layers", "*.nothing"), "no layer is called '*.nothing'"),
        (
            (*ASKED, "--train", "texts.txt", "--memory", "0.00001"),
            "look at some layers only (--layers), or raise memory",
        ),
        ((" ", "--train", "texts.txt"), "which is empty; give the words"),
        (("bem", "--train", "texts.txt"), "a single token that follows nothing"),
        (("bem " * 40, "--prompt", "the", "--train", "texts.txt"), "have 41 tokens, and the model reads 16"),
        (("xyzzy", "--prompt", "the", "--train", "texts.txt"), "tokenizer does not know"),
        ((*ASKED, "--train", "nothing.txt"), "nothing.txt holds no text"),
        ((*ASKED, "--train", "texts.md"), "ends in neither .txt (one text on each line) nor .csv"),
        ((*ASKED, "--train", "word.txt"), "text 2 of 2 has fewer than two tokens"),
        ((*ASKED, "--train", "bytes.txt"), "'bytes.txt' is not text in UTF-8"),
        ((*ASKED, "--train", "cut.jsonl"), "line 2 of 'cut.jsonl' is not JSON"),
        ((*ASKED, "--store", "kept", "--text", "said"), "--text goes with --train FILE"),
        ((*ASKED, "--store", "kept", "--seed", "5"), "--seed goes with --train FILE"),
        ((*ASKED, "--train", "texts.txt", "--html", "no/such.html"), "no/such"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(run, tmp_path, arguments, why):
    (tmp_path / "gap.txt").write_text("one two\n\nthree four\n")
    (tmp_path / "nothing.txt").write_text("\n")
    (tmp_path / "texts.md").write_text("the capital of kelu is bem .\n")
    (tmp_path / "word.txt").write_text("the capital\nis\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xe9\xff the\n")
    (tmp_path / "cut.jsonl").write_text('{"said": "the capital"}\n{"sai')
    code, out, err = run(*arguments)
    assert code == 2
    assert why in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""


def test_a_classifier_is_sent_to_the_command_that_knows_it(typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(FACTS) + "\n")
    saved(classifier(["a b", "c d"], [0, 1], steps=1), tmp_path / "labels")
    code, _, err = typed("trace", *ASKED, "--model", "labels", "--train", "texts.txt")
    assert code == 2 and "accredit value FILE" in err


def test_another_model_does_not_get_the_stored_gradients(run, typed, tmp_path):
    assert run(*ASKED, "--train", "texts.txt", "--store", "kept")[0] == 0
    saved(language_model(steps=2), tmp_path / "other")
    code, _, err = typed("trace", *ASKED, "--model", "other", "--store", "kept")
    assert code == 2 and says(err, "weights or layers")


@pytest.mark.slow
def test_only_completions_are_judged_and_a_chat_needs_a_template(run, tmp_path):
    halves = [text.rsplit(" is ", 1) for text in FACTS]
    (tmp_path / "pairs.csv").write_text("asked,said\n" + "".join(f"{a} is,{b}\n" for a, b in halves))
    code, out, err = run(*ASKED, "--train", "pairs.csv", "--text", "asked", "--completion", "said", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["texts"][0]["text"] == KELU and found["words_alone"] == "enough"
    assert found["texts"][0]["bm25"] == max(row["bm25"] for row in found["texts"])
    for arguments, why in (
        (("--text", "asked", "--completion", "said", "--chat"), "no chat template"),
        (("--text", "asked", "--chat"), "needs --prompt"),
        (("--completion", "said"), "name the column of the prompts with --text"),
        (("--text", "asked", "--completion", "words"), "--completion 'words' is not a column"),
    ):
        code, _, err = run(*ASKED, "--train", "pairs.csv", *arguments)
        assert code == 2 and why in err, err


@pytest.mark.slow
def test_texts_are_the_same_however_their_lines_end_and_long_ones_are_said_to_be_cut(run, tmp_path):
    lines = [*FACTS, " ".join(FACTS)]
    found = []
    for name, end in (("a.txt", "\n"), ("b.TXT", "\r\n"), ("c.txt", "\r")):
        (tmp_path / name).write_bytes(end.join([*lines, ""]).encode())
        code, out, err = run(*ASKED, "--train", name, "--json")
        assert code == 0, err
        found.append(out)
    assert found[0] == found[1] == found[2] and len(json.loads(found[0])["texts"]) == len(lines)
    assert says(json.loads(found[0])["warnings"], "training texts cut")


@pytest.mark.slow
def test_damaged_notes_of_a_store_are_written_again_from_the_texts(run, tmp_path):
    assert run(*ASKED, "--train", "texts.txt", "--store", "kept")[0] == 0
    (tmp_path / "kept" / "texts.json").write_text("{")
    code, _, err = run(*ASKED, "--store", "kept")
    assert code == 2 and says(err, "again once (--train)")
    assert run(*ASKED, "--train", "texts.txt", "--store", "kept")[0] == 0
    assert run(*ASKED, "--store", "kept")[0] == 0
    file = next((tmp_path / "kept").glob("moments*"))
    file.write_bytes(file.read_bytes()[:100])
    code, _, err = run(*ASKED, "--store", "kept")
    assert code == 2 and says(err, "training rows again")
    file.unlink()
    assert says(run(*ASKED, "--store", "kept")[2], "training rows again")
    assert run(*ASKED, "--train", "texts.txt", "--store", "kept")[0] == 0
