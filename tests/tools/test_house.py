"""What `make house` counts, on sources small enough to count by hand, and one call traced."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tools import house
from tools.house import Source
from tools.proof import participles


def source(path: str, *lines: str) -> Source:
    return Source(Path(path), "\n".join(lines) + "\n")


def test_lines_of_code_are_those_that_hold_some():
    text = '"""What it is\nfor."""\n\n# why\nx = [\n    1,\n]  # how\n\ndef f() -> None:\n    """Do it."""\n    return None'
    one = source("accredit/a.py", *text.split("\n"))
    paper = source("papers/accredit_papers/b.py", "y = 2")
    assert house.size([one, paper]).plain == {
        "with papers": {"files": 2, "lines": 12, "code": 6},
        "without papers": {"files": 1, "lines": 11, "code": 5},
    }


def test_any_is_counted_in_annotations_alone():
    lines = ("from typing import Any", "x: dict[str, Any] = {}", "def f(a: Any, *b: Any) -> list[Any]: ...", "y = Any")
    assert house.anys([source("accredit/a.py", *lines)]).plain == {"names": 4, "lines": 2}


def test_functions_named_by_participles_are_told_from_verbs():
    named = ("fitted", "_foretold_by", "read_model", "seed", "__set__", "embed")
    lines = [*(f"def {name}(): ..." for name in named), "class A:", "    @property", "    def drawn(self): ..."]
    found = house.participles([source("accredit/a.py", *lines)])
    assert found.plain == {"functions": 5, "participles": 2, "percent": 40.0, "percent with doubtful ones": 60.0}
    assert found.listed == ("_foretold_by accredit/a.py", "fitted accredit/a.py")


def test_names_that_are_used_twice_are_listed():
    both = [
        source("accredit/a/rows.py", "class Run: ..."),
        source("accredit/b/rows.py", "class Run: ...", "class Other: ..."),
    ]
    assert house.class_names(both).plain["names"] == {"Run": 2}
    assert house.file_names([*both, source("accredit/a/__init__.py"), source("accredit/b/__init__.py")]).plain["count"] == 1


def test_a_constant_has_one_value_or_several():
    first = source("accredit/a.py", "ROWS, CELLS = 16, 1 << 20", "MOST: int = 5", "names = 3", "LEN = len('ab')")
    second = source("accredit/b.py", "ROWS = 4 * 4", "CELLS = 10", "FLAG = True")
    found = house.constants([first, second])
    assert found.plain == {"constants": 5, "names": 3, "with several values": 1}
    assert found.listed == ("CELLS: 1.04858e+06 accredit/a.py, 10 accredit/b.py",)


def test_a_module_with_one_importer_is_found_whichever_way_it_is_imported():
    house_of_four = [
        source("accredit/a/user.py", "from accredit.a import small", "def f():", "    import accredit.b.other"),
        source("accredit/a/small.py", "x = 1"),
        source("accredit/b/other.py", "HOMES = {'f': 'accredit.b.named:f'}"),
        source("accredit/b/named.py", "import accredit.a.user"),
    ]
    found = house.single_importers(house_of_four)
    assert found.plain == {"one importer": 4, "small": 4, "small and beside it": 2}
    assert "accredit.a.small (1 lines): accredit.a.user" in found.listed


def test_phrases_in_tests_are_of_four_words_or_more():
    lines = (
        "with raises(E, match='one two three four'): ...",
        "with raises(E, match='short'): ...",
        "assert 'one two three four' in said",
        "assert 'one two' in said",
        "say('one two three four five')",
    )
    found = house.phrases([source("tests/test_a.py", *lines), source("tests/test_b.py", "assert 1")])
    assert found.plain == {"match": 2, "match of a phrase": 1, "asserts": 1, "files": 1, "of": 2}


@pytest.mark.slow
def test_files_are_visited_before_the_first_payoff_and_after():
    found = house.visited(["shapley(game)"])
    counts = found.plain["shapley(game)"]
    assert 0 < counts["before"] < counts["all"] < 50
    before = {line.partition("· ")[2] for line in found.listed if "· " in line}
    assert {"values/shapley.py", "core/game.py"} <= before
    assert "core/attribution.py" in {line.split()[-1] for line in found.listed} - before  # the result is made last


@pytest.mark.slow
def test_the_house_is_measured_and_shown_in_one_table(capsys, monkeypatch):
    """Every file is found; two rooms and their tests are then read, as the others would be."""
    every = {folder: house.sources(folder) for folder in (house.HOUSE, house.TESTS)}
    assert [house.ROOT / each.path for each in every[house.HOUSE]] == sorted((house.ROOT / "accredit").rglob("*.py"))
    assert Path("tests/tools/test_house.py") in {each.path for each in every[house.TESTS]}
    rooms = ("core", "papers")
    monkeypatch.setattr(house, "sources", lambda first, *_: [each for each in every[first] if each.path.parts[1] in rooms])
    assert house.main(["--no-visits"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "| figure | now |" and len(rows) > 10
    files = int(next(row for row in rows if "without papers" in row).split("|")[2].split(",")[0])
    assert files == len([*(house.ROOT / "accredit" / "core").rglob("*.py")])


def test_examples_in_docstrings_hold():
    assert doctest.testmod(house).failed == doctest.testmod(participles).failed == 0
