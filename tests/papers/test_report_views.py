"""A report on a terminal and as a page: verdicts first, sections, a legend, 80 columns, nothing that could run."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from accredit.cli import accredit
from accredit_papers.report import Report, Whose
from accredit_papers.report_views import WIDTH, report_page, report_text


@pytest.fixture
def report():
    made = Report("demo", "A demonstration")
    made.say("Before *any* heading, with `code` and 2 * 3 * 4.")
    made.heading("Proposition 1")
    made.verdict("A statement of a text that is long enough to need more than one line of a terminal " * 2, True, "word " * 40)
    made.heading("Proposition 2")
    made.verdict("<script>alert(1)</script>", False, "a|b", whose=Whose.OURS)
    made.table(["name", "a|b"], [["<b>", 0.5], ["x", True]])
    made.block("| p | q |\n|---|---:|\n| 1 \\| 2 | 3 |\n\n- a note\n- another")
    made.figure("line", "A line <here>.", lambda axes: axes.plot([0, 1], [0, 1]))
    return made


def test_the_terminal_shows_counts_a_legend_and_sections_within_80_columns(report):
    lines = report_text(report).splitlines()
    assert max(map(len, lines)) <= WIDTH == 80
    assert lines[0] == report.title and lines.index("Proposition 1") < lines.index("Proposition 2")
    legend = next(line for line in lines if line.startswith("✓"))
    assert "(ours)" in legend and "?" not in legend and "threshold" not in legend  # what is not used is not explained
    assert "  ✗ <script>alert(1)</script> (ours)" in lines


def test_the_page_holds_everything_and_runs_nothing(report):
    page = report_page([report])
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page
    assert "data:image/svg+xml;base64," in page and "http" not in page.partition("<body>")[2]
    assert "<em>any</em>" in page and "2 * 3 * 4" in page and "<code>code</code>" in page
    assert "<td>1 | 2</td>" in page and "<li>a note</li>" in page and "<td>&lt;b&gt;</td>" in page
    for k in range(2):  # every line of the list leads to its evidence
        assert f'href="#demo-{k}"' in page and f'id="demo-{k}"' in page


def test_several_reports_share_a_page_with_a_list_of_them(report):
    other = Report("other", "Another")
    page = report_page([report, other])
    assert 'href="#demo"' in page and '<section id="other">' in page and page.count("<h1>") == 1


def test_markdown_keeps_bars_in_cells(report):
    assert "| <b> | 0.5 |" in report.markdown() and "| x | yes |" in report.markdown()


@pytest.mark.slow
def test_the_command_writes_one_page_and_json_says_whose_a_statement_is(tmp_path):
    pytest.importorskip("transformers")
    page = tmp_path / "choices.html"
    words = ["reproduce", "choices", "--quick", "--json", "--out", str(tmp_path), "--html", str(page)]
    result = CliRunner().invoke(accredit, words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["verdicts"]
    assert {v["whose"] for v in told} == {"ours"} and all(v["section"] for v in told)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>") and f"written: {page}" in result.stderr
