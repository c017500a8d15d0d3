"""`accredit compare` on the built-in model: the table, resume, and every kind of bad input."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from accredit.cli import accredit
from accredit.core import AccreditError

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


def test_the_table_ranks_methods_between_random_and_oracle(tmp_path):
    page = tmp_path / "arena.html"
    result = compare(*FAST, "--html", str(page))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert (
        next(line for line in lines if not line.startswith("method")).startswith("oracle") or "oracle" in result.output
    )
    for name in ("leave-one-out", "saliency", "attention", "random"):
        assert any(line.startswith(name) for line in lines)
    assert "infidelity is not measured for" in result.output
    written = page.read_text(encoding="utf-8")
    assert "Which explanation to trust: the built-in model on forty sentences" in written
    assert (
        written.count("<tbody>") == 3 and written.count("<polyline") == 2 * 5
    )  # ranking, metrics, agreement; both curves


def test_a_second_run_with_the_same_store_gives_the_same_json(tmp_path):
    store = ["--store", str(tmp_path / "rows.db"), "--json"]
    first, second = compare(*FAST, *store), compare(*FAST, *store)
    assert first.exit_code == 0, first.output
    found = [json.loads(run.stdout.splitlines()[-1]) for run in (first, second)]
    assert found[0] == found[1]
    assert found[0]["rows"] == 3
    fresh = json.loads(compare(*FAST, "--json").stdout.splitlines()[-1])
    assert fresh == found[0]


def test_empty_texts_and_failing_rows_do_not_stop_the_run(tmp_path):
    data = tmp_path / "texts.csv"
    data.write_text("review,gold\nA fine film.,POSITIVE\n,NEGATIVE\nA dull film.,NEGATIVE\n")
    result = compare(*FAST[:4], "--data", str(data), "--text", "review", "--target", "gold")
    assert result.exit_code == 0, result.output
    assert "1 row could not be explained at all; row 1" in result.output
    assert "2 inputs" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "{data}", "--text", "review"], "no column 'review'; its columns are text, label"),
        (["--data", "{data}", "--target", "gold"], "no column 'gold'"),
        (["--data", "{data}", "--where", "split"], "COLUMN=VALUE"),
        (["--data", "missing.csv"], "cannot be read"),
        (["--methods", "tea-leaves"], "'tea-leaves' is unknown"),
        (["--metrics", "beauty"], "unknown metric 'beauty'"),
        (["--executor", "hamsters"], "unknown executor 'hamsters'"),
        (["--payoff", "utility", "--limit", "1"], "payoff is 'utility'"),
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
