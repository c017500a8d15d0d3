"""`accredit compare` on the built-in model: the table, resume, and every kind of bad input."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from accredit.cli import accredit
from accredit.errors import AccreditError
from tests.wording import says

FAST = [
    "--methods",
    "leave-one-out,saliency,attention",
    "--metrics",
    "deletion,comprehensiveness,infidelity",
    "--limit",
    "3",
]


def compare(*words: str):
    return CliRunner().invoke(accredit, ["compare", *words])


@pytest.mark.slow
def test_the_table_ranks_methods_between_random_and_oracle(tmp_path):
    page = tmp_path / "arena.html"
    result = compare(*FAST, "--html", str(page))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) <= 24
    lines = lines[lines.index("") + 1 :]  # below the answer
    assert lines[0].split() == ["method", "share,", "95%", "interval", "p", "best", "passes", "claims"]
    assert lines[1].startswith("oracle")
    for name in ("leave-one-out", "saliency", "attention", "random"):
        assert any(line.startswith(name) for line in lines)
    assert says(" ".join(compare(*FAST, "--more").output.split()), "not measured for")
    written = page.read_text(encoding="utf-8")
    assert says(written, "3 built-in sentences")
    assert written.count("<tbody>") == 3 and written.count("<polyline") == 2 * 5  # ranking, metrics, agreement; both curves


@pytest.mark.slow
def test_a_second_run_with_the_same_store_gives_the_same_json(tmp_path):
    store = ["--store", str(tmp_path / "rows.db"), "--json"]
    first, second = compare(*FAST, *store), compare(*FAST, *store)
    assert first.exit_code == 0, first.output
    found = [json.loads(run.stdout.splitlines()[-1]) for run in (first, second)]
    assert found[0] == found[1]
    assert found[0]["rows"] == 3
    fresh = json.loads(compare(*FAST, "--json").stdout.splitlines()[-1])
    assert fresh == found[0]


@pytest.mark.slow
def test_empty_texts_and_failing_rows_do_not_stop_the_run(tmp_path):
    data = tmp_path / "texts.csv"
    data.write_text("review,gold\nA fine film.,POSITIVE\n,NEGATIVE\nA dull film.,NEGATIVE\n")
    result = compare(*FAST[:4], "--data", str(data), "--text", "review", "--target", "gold")
    assert result.exit_code == 0, result.output
    *screen, last = result.output.splitlines()
    assert last.endswith("--more") and says(" ".join(" ".join(screen).split()), "not be explained")  # without --more
    assert "2 inputs" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "{data}", "--text", "review"], "its columns are text, label: pick one with --text"),
        (["--data", "{data}", "--target", "gold"], "no column 'gold'"),
        (["--data", "{data}", "--where", "split"], "COLUMN=VALUE"),
        (["--data", "missing.csv"], "'missing.csv' does not exist"),
        (["--methods", "tea-leaves"], "'tea-leaves' is unknown"),
        (["--metrics", "beauty"], "unknown metric 'beauty'"),
        (["--executor", "hamsters"], "unknown executor 'hamsters'"),
        (["--payoff", "utility"], "payoff is 'utility'; write one of logit, probability"),
        (["--removal", "erase"], "removal is 'erase'; write one of mask"),
        (["--judge", "jury"], "judge is 'jury'; write one of mask"),
    ],
)
def test_bad_input_is_refused_with_a_reason(tmp_path, words, message):
    data = tmp_path / "texts.csv"
    data.write_text("text,label\nA fine film.,POSITIVE\n")
    given = [word.format(data=data) for word in words]
    if "--methods" not in given:
        given += ["--methods", "leave-one-out"]
    result = compare(*given)
    assert result.exit_code != 0
    assert isinstance(result.exception, AccreditError)
    assert message in str(result.exception)


def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(tmp_path):
    store = tmp_path / "rows.db"
    result = compare(*FAST, "--html", str(tmp_path / "nowhere" / "arena.html"), "--store", str(store))
    assert result.exit_code == 2 and says(result.output, "is no folder")
    assert not store.exists()


@pytest.mark.slow
def test_a_method_named_twice_runs_once():
    once = compare("--methods", "saliency", "--metrics", "deletion", "--limit", "2", "--json")
    twice = compare("--methods", "saliency, saliency,", "--metrics", "deletion,deletion", "--limit", "2", "--json")
    assert json.loads(once.stdout) == json.loads(twice.stdout)


@pytest.mark.slow
def test_a_payoff_that_tells_no_decision_and_is_no_probability_is_said_not_measured():
    result = compare("--methods", "leave-one-out", "--payoff", "logit", "--limit", "2", "--more")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert says(told, "measured: log-odds needs")
    assert says(told, "measured: post-hoc accuracy")
    assert "infidelity ↓" in result.output


def test_json_lines_are_read(tmp_path):
    data = tmp_path / "texts.jsonl"
    data.write_text('{"review": "A fine film.", "stars": 5}\n\n{"review": "A dull film.", "stars": 1}\n')
    result = compare("--methods", "saliency", "--metrics", "deletion", "--data", str(data), "--text", "review", "--json")
    assert json.loads(result.stdout)["rows"] == 2


@pytest.mark.slow
def test_answers_are_compared_where_the_truth_is_known():
    run = compare("--answers", "joint", "--passages", "4", "--limit", "2", "--methods", "loo,lasso", "--budget", "16", "--json")
    assert run.exit_code == 0, run.output
    table = json.loads(run.stdout)
    scores = {line["method"]: line["metrics"] for line in table["standings"]}
    assert set(scores) == {"leave-one-out", "lasso", "random", "oracle"}
    assert set(scores["lasso"]) == {"hit@1", "hit@2", "drop@1", "drop@2", "lds"}
    assert scores["leave-one-out"]["hit@2"][0] == 1.0 and table["rows"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--answers", "plain", "--data", "rows.csv"], "--data is for texts, and --answers makes its own contexts"),
        (["--answers", "plain", "--judge", "mask"], "--judge is for texts"),
        (["--passages", "4"], "--passages is for --answers"),
        (["--answers", "odd"], "'odd' is not one of 'plain', 'redundant', 'joint', 'contradicting'"),
    ],
)
def test_options_of_texts_and_of_answers_do_not_mix(words, message):
    run = compare(*words)
    assert run.exit_code == 2 and message in " ".join(run.output.split())
