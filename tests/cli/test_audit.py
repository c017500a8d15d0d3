"""`accredit audit`: texts on the built-in model, saved explainers and attention classifiers, every kind of bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from accredit.audit.saved import record
from accredit.cli import accredit
from accredit.errors import AccreditError
from accredit.learned import CXPlain, Tabular, Training, l2x
from accredit.shortcuts.models import AttentionClassifier, AttentionShape
from tests.wording import says

TEXT = "A dull film with one great scene."
FAST = ["--steps", "3"]


def audit(*words: str):
    return CliRunner().invoke(accredit, ["audit", *map(str, words)])


@pytest.mark.slow
def test_a_text_is_audited_with_verdicts_and_what_was_not_run(tmp_path):
    page = tmp_path / "audit.html"
    result = audit(TEXT, *FAST, "--html", page)
    assert result.exit_code == 0, result.output
    shown = result.stdout.splitlines()
    assert len(shown) <= 24 and max(map(len, shown)) <= 80
    everything = audit(TEXT, *FAST, "--more").output
    for name in ("gradients", "leave-one-out", "permuted attention", "adversarial attention"):
        assert any(row[0:1] in "✓✗?" and row[2:].startswith(f"{name}: ") for row in shown)  # the verdict
        assert any(row.startswith(name) for row in everything.splitlines())  # the numbers
    assert "not run:" in everything
    assert "cannot see:" in everything
    assert "<table" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_file_of_texts_and_some_tests_as_json(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("review\nA dull film.\nA <b>great</b> film.\nA third film.\n")
    result = audit(file, "--text", "review", "--tests", "leave-one-out, Permuted-Attention", "--limit", 2, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout.splitlines()[-1])
    assert [f["name"] for f in found["findings"]] == ["leave-one-out", "leave-one-out (rollout)", "permuted attention"]
    assert {f["rows"] for f in found["findings"]} == {2}


@pytest.fixture(scope="module")
def explainer(tmp_path_factory):
    """A small L2X that sees the answer, its rows and the black box's recorded answers."""
    folder = tmp_path_factory.mktemp("explainer")
    rng = np.random.default_rng(0)
    x = (rng.choice([-1.0, 1.0], size=(240, 3)) + rng.normal(size=(240, 3)) / 9).astype(np.float32)
    p = 1 / (1 + np.exp(-3 * x[:, 0]))
    answers = np.stack([1 - p, p], axis=1)
    box = record(x, answers)
    small = {"selector_width": 8, "surrogate_width": 8, "training": Training(epochs=1)}
    known = l2x(Tabular(3), 2, 1, **small).fit(x, box, seed=0)
    known.save(folder / "l2x")
    np.savez(folder / "rows.npz", x=x, answers=answers)
    np.savez(folder / "bare.npz", y=x)
    table = [",".join(["a", "b", "c", "label"]), *(f"{a},{b},{c},{int(a > 0)}" for a, b, c in x)]
    (folder / "rows.csv").write_text("\n".join(table))
    asked = l2x(Tabular(3), 2, 1, query=True, **small).fit(x, box, seed=0)
    asked.save(folder / "asked")
    labels = (x[:, 0] > 0).astype(int)
    CXPlain(Tabular(3), 1, epochs=2, width=8).fit(x, box_of_the_first, labels).save(folder / "cxplain")
    np.save(folder / "one.npy", x)
    np.savez(folder / "logits.npz", x=x, answers=4 * x[:, :2])
    np.savez(folder / "many.npz", x=x, labels=np.arange(240) % 5)
    np.savez(folder / "inert.npz", x=x, labels=labels, inert=np.array([False, True]))
    np.savez(folder / "cut.npz", x=x[:3].repeat(30, axis=0), labels=np.arange(90) % 2, inert=np.array([True, False, True]))
    (folder / "latin.csv").write_bytes(b"a,b,c,label\xff\n1,2,3,0\n")
    (folder / "header.csv").write_text("a,b,c,label\n")
    (folder / "ragged.csv").write_text("a,b,c,label\n1,2,3,0\n1,2\n")
    model = AttentionClassifier(AttentionShape(width=4, query=3, query_hidden=(8,), attention_width=8, head=()))
    model.save(folder / "attention")
    np.savez(
        folder / "tokens.npz",
        tokens=rng.normal(size=(80, 5, 4)),
        query=rng.normal(size=(80, 3)),
        inert=np.arange(5) > 3,
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("data", ["rows.npz", "rows.csv"])
def test_a_saved_explainer_gets_its_leakage_report(explainer, data):
    tests = "mask-only-probe,value-scramble,mask-transplant"
    result = audit("--explainer", explainer / "l2x", "--data", explainer / data, "--tests", tests, "--more")
    assert result.exit_code == 0, result.output
    assert "mask-only probe" in result.output
    assert "value scramble" in result.output
    assert "120 rows scored" in result.output


def box_of_the_first(x):
    p = 1 / (1 + np.exp(-3 * x[:, 0]))
    return np.stack([1 - p, p], axis=1)


@pytest.mark.slow
def test_a_saved_cxplain_gets_what_applies_to_it(explainer):
    """It has no surrogate of its own, so that what needs one is named and not run."""
    result = audit("--explainer", explainer / "cxplain", "--data", explainer / "rows.npz", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout.splitlines()[-1])
    assert says(found["subject"], "predicted removal loss")
    assert [f["name"] for f in found["findings"]] == [
        "mask-only probe",
        "encode-meter",
        "score code",
        "random selector",
    ]
    assert found["conclusion"]["answer"] == "cannot tell"
    assert set(found["not_run"]) == {
        "surrogate gap",
        "EVAL-X gap",
        "sureness gap",
        "inert players",
        "value scramble",
        "mask transplant",
    }


def test_a_limit_cuts_rows_and_not_players(explainer):
    common = ("--explainer", explainer / "l2x", "--data", explainer / "cut.npz", "--tests", "inert-players")
    result = audit(*common, "--limit", 60, "--more")
    assert result.exit_code == 0, result.output
    assert "30 rows scored" in result.output


def test_an_explainer_that_asks_for_the_answer_reads_the_recorded_one(explainer):
    common = ("--tests", "mask-only-probe", "--explainer", explainer / "asked")
    assert audit(*common, "--data", explainer / "rows.npz").exit_code == 0
    refused = audit(*common, "--data", explainer / "rows.csv")
    assert isinstance(refused.exception, AccreditError)
    assert "answers=black_box(x)" in str(refused.exception)


def test_a_saved_attention_classifier_is_audited(explainer):
    tests = "gradients,permuted-attention,inert-players,uniform-attention"
    result = audit("--explainer", explainer / "attention", "--data", explainer / "tokens.npz", "--tests", tests, "--more")
    assert result.exit_code == 0, result.output
    assert "inert players" in result.output
    assert says(result.output, "uniform attention: needs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a TEXT"),
        (["  "], "empty"),
        (["missing.txt"], "no file 'missing.txt'"),
        ([TEXT, "--tests", "tea-leaves"], "no test 'tea-leaves'"),
        ([TEXT, "--model", "no/such/folder"], "is not a folder"),
        ([TEXT, "--data", "rows.npz"], "--data is for --explainer"),
        ([TEXT, "--text", "review"], "is for a FILE"),
        (["--explainer", "{folder}/l2x"], "takes its rows from --data"),
        (["--explainer", "{folder}/nothing", "--data", "{folder}/rows.npz"], "is not a folder"),
        (["--explainer", "{folder}", "--data", "{folder}/rows.npz"], "holds neither"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/none.npz"], "there is no file"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/l2x/explainer.json"], "cannot be read as an array"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/bare.npz"], "no array 'x', only y"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/rows.csv", "--target", "gold"], "no column 'gold'"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/rows.csv", "--limit", "6"], "too few"),
        (["--explainer", "{folder}/attention", "--data", "{folder}/rows.npz"], "no array 'tokens'"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/one.npy"], "one array without a name"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/logits.npz"], "answers must be probabilities"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/many.npz"], "labels go up to 4"),
        (
            ["--explainer", "{folder}/l2x", "--data", "{folder}/inert.npz"],
            "inert must have shape (3,) or (240, 3), got (2,)",
        ),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/latin.csv"], "did you mean"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/header.csv"], "no rows"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/ragged.csv"], "has 2 cells and the header 4"),
        (["--explainer", "{folder}/l2x", "--data", "{folder}/rows.npz", "--tests", ","], "no test is named"),
    ],
)
def test_bad_input_is_refused_with_a_reason(explainer, words, message):
    result = audit(*(word.format(folder=explainer) for word in words))
    assert result.exit_code != 0
    assert isinstance(result.exception, AccreditError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_page_that_cannot_be_written_is_refused_before_the_work():
    result = audit(TEXT, "--html", "no/such/folder/page.html")
    assert result.exit_code == 2 and says(result.output, "is no folder")
