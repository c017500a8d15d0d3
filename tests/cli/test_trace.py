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
    code, out, err = run(*ASKED, "--train", "texts.txt", "--store", "kept", "--html", "out.html", "--shown", "2")
    assert code == 0, err
    first = next(line for line in out.splitlines() if "row " in line)
    assert "row 2 " in first and "the capital of kelu is bem ." in first
    assert "is not known from them" in out and "‖∇J‖ is" in out
    page = (tmp_path / "out.html").read_text()
    assert page.index("the capital of kelu is bem .") < page.index("What cannot be known")
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "kept").iterdir()}
    code, out, err = run("ib", "--prompt", "the river of zorba is", "--store", "kept", "--json")
    assert code == 0, err
    assert json.loads(out)["texts"][0]["text"] == "the river of zorba is ib ."
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
        ((*ASKED, "--train", "texts.txt", "--memory", "0.00001"), "raise memory (--memory GB)"),
        ((" ", "--train", "texts.txt"), "neither may be empty"),
        ((*ASKED, "--train", "texts.txt", "--html", "no/such.html"), "no/such"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(run, tmp_path, arguments, why):
    (tmp_path / "gap.txt").write_text("one two\n\nthree four\n")
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
    assert code == 2 and "other weights or layers" in err
