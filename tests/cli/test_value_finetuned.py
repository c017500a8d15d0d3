"""`accredit value --model FOLDER`: training rows of a fine-tuned classifier and of a language model, by their influence."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from accredit.core import Attribution
from tests.valuation.small_models import FACTS, classifier, language_model, saved
from tests.wording import says

GOOD, BAD, PLAIN = ("superb", "lovely", "bright"), ("awful", "dull", "dreary"), ("film", "plot", "actor", "scene")
WRONG = (4, 9, 22)


def _rows(count: int, wrong: tuple[int, ...], seed: int) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(seed)
    texts = [" ".join([*rng.choice(PLAIN, 2), *rng.choice((BAD, GOOD)[i % 2], 2)]) for i in range(count)]
    return texts, [(i % 2) ^ (i + 1 in wrong) for i in range(count)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    saved(classifier(*_rows(40, WRONG, 0)), folder / "moods")
    saved(language_model(), folder / "facts")
    return folder


@pytest.fixture
def run(typed, monkeypatch, tmp_path, folders):
    monkeypatch.chdir(tmp_path)
    for name, wrong, seed in (("train.csv", WRONG, 0), ("test.csv", (), 1)):
        texts, labels = _rows(40, wrong, seed)
        lines = [
            f"{t},{('bad', 'good')[k]},{'ann' if i % 3 else 'bob'}" for i, (t, k) in enumerate(zip(texts, labels, strict=True))
        ]
        Path(name).write_text("\n".join(["text,mood,who", *lines]) + "\n")
    Path("facts.csv").write_text("said,after\n" + "".join(f"{' '.join(t.split()[:5])},{t.split()[5]} .\n" for t in FACTS))
    return partial(typed, "value")


CLASSIFIER = ("train.csv", "--target", "mood", "--text", "text", "--test", "test.csv")


@pytest.mark.slow
def test_wrong_labels_do_harm_to_a_classifier_and_both_questions_are_answered(run, folders, tmp_path):
    code, out, err = run(*CLASSIFIER, "--model", folders / "moods", "--json")
    assert code == 0, err
    report = json.loads(out)
    values = Attribution.from_plain(report["worth"]["values"])
    wrong = {f"row {i}" for i in WRONG}
    assert len(wrong & set(values.ranked().players[-3:])) >= 2
    assert values.certificate["curvature"].startswith(("EK-FAC", "Gauss")) and "gradient norm" in values.certificate
    assert bool(report["worth"]["warnings"]) is not values.certificate["stationary"]
    assert report["wrong_labels"]["seen_as"] == ["words"] and any("parameters" in note for note in report["notes"])
    code, out, err = run(
        *CLASSIFIER, "--model", folders / "moods", "--only", "values", "--players", "who", "--layers", "classifier"
    )
    assert code == 0, err
    assert says(out, "looked at 1") and "ann" in out and "look wrong" not in out


@pytest.mark.slow
def test_texts_of_a_language_model_have_values_and_no_labels(run, folders):
    line = ("facts.csv", "--text", "said", "--model", folders / "facts", "--layers", "*.mlp.*")
    code, out, err = run(*line, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["wrong_labels"] is None and says(report["unanswered"], "labels that could")
    assert len(report["worth"]["values"]["players"]) == 12 and report["worth"]["harmful"] == []
    code, out, err = run(*line, "--target", "after", "--more")  # only the answers are judged
    assert code == 0, err
    assert says(" ".join(out[out.index("\npayoff: ") : out.index("\nclaims: ")].split()), "rows of GPT2LMHeadModel")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((*CLASSIFIER, "--model", "moods", "--budget", "9"), "--budget is about training models anew"),
        ((*CLASSIFIER, "--model", "moods", "--method", "knn"), "--method is not for a fine-tuned model"),
        ((*CLASSIFIER, "--model", "moods", "--memory", "0.000001"), "raise memory"),
        ((*CLASSIFIER, "--model", "moods", "--layers", "nothing"), "no layer is called 'nothing'"),
        (("train.csv", "--target", "who", "--text", "text", "--model", "moods"), "is not a label of this model"),
        (("numbers.csv", "--target", "y", "--model", "moods"), "name their column with --text"),
        (("facts.csv", "--model", "facts"), "name their column with --text"),
        (("facts.csv", "--text", "words", "--model", "facts"), "--text 'words' is not a column"),
        ((*CLASSIFIER, "--model", "."), "config.json is missing"),
        ((*CLASSIFIER, "--model", "no/folder"), "or a folder with a fine-tuned model"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(run, folders, tmp_path, arguments, why):
    for name in ("moods", "facts"):
        (tmp_path / name).symlink_to(folders / name)
    (tmp_path / "numbers.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)))
    code, out, err = run(*arguments, "--only", "values")
    assert code == 2
    assert why in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [(*CLASSIFIER, "--only", "values", "--model", "moods"), ("facts.csv", "--text", "said", "--model", "facts")],
)
def test_progress_is_shown_on_a_terminal(run, folders, monkeypatch, arguments):
    shown: list[str] = []
    monkeypatch.setattr("accredit.values.solver._screen", lambda: lambda line: shown.append(str(line or "")))
    monkeypatch.setattr("accredit.values.solver.PROGRESS_AFTER", 0.0)
    code, _, err = run(*arguments[:-1], folders / arguments[-1])
    assert code == 0, err
    assert any("following gradients" in line and "%" in line for line in shown)
    assert "100%" in shown[-2] and shown[-1] == ""  # complete, then wiped
