"""Pages that are made from lines of runs: never behind them, and nothing of a run is left out."""

import json
import re

from tools import benchmarks_page, wheel_page


def test_the_benchmarks_page_is_what_the_kept_lines_say():
    assert benchmarks_page.PAGE.read_text(encoding="utf-8") == benchmarks_page.page(), (
        "write it again: python -m tools.benchmarks_page"
    )


def test_the_wheel_page_is_what_the_kept_lines_say():
    lines = wheel_page.LINES.read_text(encoding="utf-8")
    assert wheel_page.PAGE.read_text(encoding="utf-8") == wheel_page.page(lines), "write it again: make release-check"


def test_every_benchmark_has_a_section_and_every_figure_its_place():
    known = benchmarks_page.benchmarks()
    assert {"shapley", "estimation", "flow", "explain", "tables", "valuation", "answers", "arena"} <= known.keys()
    folder = benchmarks_page.ROOT / "benchmarks" / "results"
    for name in known:
        lines = benchmarks_page.newest(name, folder)
        shown = benchmarks_page.section(name, "", lines)
        for key in {key for line in lines for key, _ in benchmarks_page.flat(line["figures"])}:
            assert f">{benchmarks_page.html.escape(key)}<" in shown or f"| `{key}` |" in shown, (name, key)


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


def test_bars_left_and_right_of_one_are_told_apart_and_names_are_escaped():
    drawn = benchmarks_page.drawing("says", {"<ahead>": 10.0, "behind": 0.1})
    ahead, behind = (float(x) for x in re.findall(r'<rect x="([\d.]+)"', drawn))
    assert behind < ahead and "&lt;ahead&gt;" in drawn and "<ahead>" not in drawn


def test_a_later_line_replaces_what_an_earlier_one_found():
    trial = {"python": "3.11.7", "extra": "none", "works": False, "seconds": 1.0, "megabytes": 2.0, "said": "no"}
    shown = wheel_page.table([{"trials": [trial]}, {"trials": [trial | {"works": True, "said": ""}]}])
    assert shown.count("3.11.7") == 1 and "✓" in shown and "✗" not in shown
