"""Pages that are made from lines of runs: never behind them, and no ratio of a run is left out."""

import json
import re
import sys
from collections import Counter

import numpy as np
from scipy.stats import binom

from accredit.answers.verdicts import usual_calibration
from accredit.explanation.assemble import AT_CHANCE
from benchmarks.peers import pipe
from benchmarks.record import record
from tests.wording import says
from tools import answer_truth, benchmarks_page, citations, release_check, reliability_page, truth, wheel_page


def test_the_benchmarks_page_is_what_the_kept_lines_say():
    assert benchmarks_page.PAGE.read_text(encoding="utf-8") == benchmarks_page.page(), (
        "write it again: python -m tools.benchmarks_page"
    )


def test_the_wheel_page_is_what_the_kept_lines_say():
    lines = wheel_page.LINES.read_text(encoding="utf-8")
    assert wheel_page.PAGE.read_text(encoding="utf-8") == wheel_page.page(lines), "write it again: make release-check"


def test_the_report_of_citations_is_what_the_kept_lines_say():
    told = usual_calibration()
    seen = citations.told_apart(citations.read(citations.LINES), citations.planted(citations.PROMPTS))
    again = citations.calibration(seen)
    np.testing.assert_allclose(told.weights, again.weights, rtol=1e-3, atol=1e-3)
    last = citations.others(seen, told)
    assert json.loads(told.to_json())["facts"]["measured"] == citations.measured(last)
    written = citations.REPORT.read_text(encoding="utf-8")
    assert written == citations.report(seen, told), "write it again: python -m tools.citations --only-report"
    count = Counter(each.outcome for each in last)
    said = f"{count['right']} were right, {count['wrong']} wrong, and {count['untold']} *cannot tell*"
    readme, answers = (
        " ".join((citations.ROOT / page).read_text(encoding="utf-8").split()) for page in ("README.md", "docs/answers.md")
    )
    assert f"Of {len(last)} sentences" in readme and said in readme
    assert all(f"{wrong} of {some}" in answers for wrong, some in citations.measured(last)["by origin"].values())


def test_the_table_of_methods_for_answers_is_what_the_kept_lines_say():
    page = answer_truth.PAGE.read_text(encoding="utf-8")
    written = page.partition(answer_truth.BEGIN)[2].partition(answer_truth.END)[0].strip()
    assert written == answer_truth.table(answer_truth.read(answer_truth.LINES))


def test_methods_that_are_said_to_be_at_chance_are_those_of_the_record():
    """Asked about an answer, they warn; no other of the record does as badly: more hits than chance with p < 0.001."""
    lines = answer_truth.merged(answer_truth.read(answer_truth.LINES))
    chance = answer_truth.chance(lines)
    poor = {
        method
        for method in answer_truth.READS
        if binom.sf(sum(answer_truth.is_hit(line, method) for line in lines) - 1, len(lines), chance) > 0.001
    }
    assert poor == AT_CHANCE & set(answer_truth.READS)


def test_every_benchmark_has_a_section_every_ratio_a_cell_and_the_rest_is_counted():
    known = benchmarks_page.benchmarks()
    assert {"shapley", "estimation", "flow", "explain", "tables", "valuation", "answers", "arena"} <= known.keys()
    folder = benchmarks_page.ROOT / "benchmarks" / "results"
    for name in known:
        lines = benchmarks_page.newest(name, folder)
        shown = benchmarks_page.section(name, "", lines)
        figures = [pair for line in lines for pair in benchmarks_page.flat(line["figures"])]
        kinds = [ratio for ratio in benchmarks_page.RATIOS if ratio.benchmark == name]
        ratios = [
            (key, value)
            for key, value in figures
            if any(kind.words(key) is not None for kind in kinds) and isinstance(value, int | float) and value > 0
        ]
        counted = sum(map(int, re.findall(r"(\d+) other figures? kept", shown)))
        assert counted + len(ratios) == len(figures), name
        assert len(re.findall(r"[\d.]+×", shown)) == len(ratios), name  # no two fell into one cell


def test_a_peer_that_was_asked_is_among_the_versions(tmp_path, monkeypatch):
    monkeypatch.setitem(pipe._ASKED, "quantus", "0.6.0")
    monkeypatch.setenv("ACCREDIT_RESULTS", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["benchmarks/it.py"])
    record({"speedup": 2.0})
    (line,) = benchmarks_page.newest("it", tmp_path)
    assert line["versions"]["quantus"] == "0.6.0"


def test_a_whole_run_comes_before_a_later_quick_one(tmp_path):
    runs = [{"command": f"python -m benchmarks.it {words}", "n": n} for n, words in enumerate(["--large", "--quick"])]
    (tmp_path / "it.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert [line["n"] for line in benchmarks_page.newest("it", tmp_path)] == [0]
    assert benchmarks_page.newest("other", tmp_path) == []


def test_parts_run_one_by_one_all_have_a_place_until_the_whole_is_run(tmp_path):
    given = ["--only a", "", "--only b", "--only a", "--only b"]
    runs = [{"command": f"python -m benchmarks.it {words}".strip(), "n": n} for n, words in enumerate(given)]
    (tmp_path / "it.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert [line["n"] for line in benchmarks_page.newest("it", tmp_path)] == [1, 4, 3]


def test_kinds_with_one_figure_for_the_same_rows_share_a_table_and_losses_are_bold():
    kinds = [benchmarks_page.Ratio("it", "", says, "{}") for says in ("Error", "Seconds", "Other")]
    figures = [[benchmarks_page.Figure(row, row, ratio)] for row, ratio in [("shap", 10.0), ("shap", 0.1), ("rest", 2.0)]]
    first, second = benchmarks_page.tables(list(zip(kinds, figures, strict=True)))
    assert first.splitlines() == ["||Error|Seconds|", "|---|--:|--:|", "|shap|10×|**0.1×**|"]
    assert "|rest|2×|" in second


TRIAL = {"python": "3.11.7", "extra": "none", "works": True, "seconds": 1.0, "megabytes": 2.0, "said": ""}
LINE = {
    "wheel": "w",
    "digest": "d",
    "megabytes": 1.0,
    "oldest": False,
    "faults": [],
    "date": "",
    "machine": "",
    "lowest": [],
}


def test_a_later_line_replaces_what_an_earlier_one_found():
    shown = wheel_page.table([{"trial": TRIAL | {"works": False, "said": "no"}}, {"trial": TRIAL}])
    assert shown.count("3.11.7") == 1 and "✓" in shown and "✗" not in shown


def test_rows_of_two_wheels_do_not_share_a_table():
    lines = [LINE | {"digest": "earlier", "trial": TRIAL | {"extra": "data"}}, LINE | {"trial": TRIAL}]
    shown = wheel_page.page("\n".join(map(json.dumps, lines)))
    assert "| none |" in shown and "| data |" not in shown
    assert says(shown, "Python 3.11: flow") and says(shown, "lowest versions that")
    low = LINE | {"digest": "earlier", "oldest": True, "trial": TRIAL | {"extra": "cluster"}}
    usual, lowest = wheel_page.page("\n".join(map(json.dumps, [low, *lines]))).split("## With the lowest")
    assert "(d)" in usual and "cluster |" not in usual
    assert says(lowest, "Another wheel than") and "`w` (earlier)" in lowest and "| cluster |" in lowest


def test_a_trial_is_repeated_unless_it_passed_with_this_wheel_and_these_versions(tmp_path):
    file, python = tmp_path / "lines.jsonl", release_check.version(sys.executable)
    trials = [("a", False, True), ("b", False, False), ("c", True, True)]
    lines = [
        LINE | {"oldest": old, "trial": TRIAL | {"python": python, "extra": extra, "works": works}}
        for extra, old, works in trials
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = release_check.kept(file, "d")
    skipped = [extra for extra in "abcd" if release_check.passed(known, sys.executable, extra, oldest=False)]
    assert skipped == ["a"] and release_check.kept(file, "another") == []


def test_the_page_of_reliability_is_what_the_kept_lines_say():
    written = reliability_page.PAGE.read_text(encoding="utf-8")
    made = reliability_page.page(written, reliability_page.LINES.read_text(encoding="utf-8"))
    assert written == made, "write it again: python -m tools.reliability_page"
    assert says(written, "`python -m tools.matrix")


def test_only_whole_runs_of_a_part_are_on_the_page_of_reliability():
    line = {"command": "python -m tools.truth flows", "figures": {"part": "flows", "from": 0, "games": 2_000}}
    part = {"command": "python -m tools.truth flows", "figures": {"part": "flows", "from": 0, "games": 16}}
    assert reliability_page.whole(line) and not reliability_page.whole(part)
    assert not reliability_page.whole({"command": "python -m tools.matrix --room core", "figures": {"part": "matrix"}})


def test_every_part_of_truth_writes_the_table_that_it_prints(tmp_path, capsys):
    file = tmp_path / "lines.jsonl"
    assert truth.main(["axioms", "flows", "--games", "16", "--lines", str(file)]) == 0
    printed = capsys.readouterr().out
    for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        assert reliability_page.TABLES[line["figures"]["part"]](line["figures"]) in printed
