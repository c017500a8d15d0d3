"""What another package adds by entry points: a method, a reader, a command; and one that is broken takes nothing down."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import accredit
from accredit.core import plugins
from accredit.methods import METHODS, add_methods, find
from tests.wording import reads, refused, says

GREETING = "hello from another package\n"

EXAMPLE = Path(__file__).parents[1] / "plugin_example"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing found before or in a test is remembered after it; the doctor does not try what the CPU runs."""
    monkeypatch.setattr("accredit.cli.doctor.try_precision", lambda dtype: None)
    caches = (plugins.entries, add_methods)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()
    sys.modules.pop("accredit_example", None)
    sys.modules.pop("accredit_odd", None)


def installed(place: Path, monkeypatch, groups: dict[str, dict[str, str]], name: str) -> None:
    """A package of that name as pip would leave it beside its module."""
    told = place / f"{name.replace('-', '_')}-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items()) for group, of in groups.items()]
    (told / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(place)
    plugins.entries.cache_clear()
    add_methods.cache_clear()


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The package in tests/plugin_example, installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    monkeypatch.syspath_prepend(EXAMPLE)
    installed(tmp_path, monkeypatch, project["entry-points"], project["name"])


def odd(tmp_path, monkeypatch, content: str, groups: dict[str, dict[str, str]]) -> None:
    """Another package, with one module."""
    place = tmp_path / "odd"
    place.mkdir()
    (place / "accredit_odd.py").write_text(content)
    installed(place, monkeypatch, groups, "accredit-odd")


def problems(typed) -> dict[str, str]:
    code, out, _ = typed("doctor", "--json")
    assert code == 0
    return {each["name"]: each["problem"] for each in json.loads(out)["plugins"]}


@pytest.mark.slow
def test_a_method_is_found_listed_and_run(example, typed):
    assert find("equal-split", "explain").method not in METHODS
    found = accredit.explain("A gripping film.", lambda texts: [len(text) for text in texts], methods="equal-split")
    credit = found["equal-split"].credit
    assert credit == pytest.approx(np.full(len(credit), found["equal-split"].total / len(credit)))
    assert "equal-split" in typed("methods")[1]
    with refused("unknown"):
        find("equal-spilt", "game")


@pytest.mark.slow
def test_a_reader_makes_a_model_of_rows(example, typed):
    from accredit_example import Line

    found = accredit.explain(np.array([[3.0, 4.0]]), Line([2.0, 1.0]), background=np.array([[1.0, 1.0], [1.0, 3.0]]))
    assert found.row(0).as_dict() == pytest.approx({"x0": 4.0, "x1": 2.0})  # slopes times distance from the mean, by hand
    assert accredit.explanation.kind_of(np.ones((1, 2)), Line([2.0, 1.0]), {}) == "rows"


def test_a_command_is_listed_and_run(example, typed):
    assert typed("greet") == (0, GREETING, "")
    assert "other packages:\n  greet" in typed("--help")[1]
    assert says(typed("great")[2], "you mean greet")


def test_the_doctor_lists_what_is_used(example, typed):
    assert problems(typed) == {"equal-split": "", "accredit_example": "", "greet": "", "reproduce": ""}  # and the papers
    assert says(typed("doctor")[1], "of accredit-example (accredit.commands)")


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["1 / 0", "import a_library_that_nobody_has", "raise SystemExit(3)", "def ("])
def test_a_broken_package_is_reported_and_takes_nothing_down(example, tmp_path, monkeypatch, typed, broken):
    odd(tmp_path, monkeypatch, broken, {group: {"odd": "accredit_odd:thing"} for group in plugins.GROUPS})
    found = problems(typed)
    assert says(found["odd"], "accredit_odd:thing fails to") and found["greet"] == "" == found["equal-split"]
    assert typed("greet")[0] == 0 and "shapley" in typed("methods")[1] and "greet" in typed("--help")[1]
    code, _, err = typed("odd")
    assert code == 2 and says(err, "used: accredit_odd:thing fails")


def test_a_model_whose_reader_is_broken_is_not_read_by_another(tmp_path, monkeypatch):
    odd(tmp_path, monkeypatch, "raise ValueError('too old')", {plugins.READERS: {"numbers_of_odd": "accredit_odd:read"}})
    model = type("Odd", (), {"__module__": "numbers_of_odd", "fit": None, "predict": lambda self, rows: rows[:, 0]})()
    with refused("unavailable"):
        accredit.explain(np.ones((1, 2)), model, background=np.zeros((1, 2)))


def test_no_name_is_taken_away(example, tmp_path, monkeypatch, typed):
    stolen = (
        "from dataclasses import replace\nimport click\nimport accredit_example as a\n"
        "one, two = replace(a.METHOD, name='shapley'), replace(a.METHOD, name='other', aliases=('loo',))\n"
        "again = replace(a.METHOD, note='another')\n"
        "read = lambda model: 1 / 0\ngame = click.Command('game')\nwrong = 3\n"
    )
    named = {"s": "one", "t": "two", "zz": "again", "w": "wrong"}
    groups = {
        plugins.METHODS: {name: f"accredit_odd:{thing}" for name, thing in named.items()},
        plugins.READERS: {"sklearn": "accredit_odd:read"},
        plugins.COMMANDS: {"game": "accredit_odd:game"},
    }
    odd(tmp_path, monkeypatch, stolen, groups)
    found = problems(typed)
    assert reads(found["s"])
    assert says(found["t"], "belongs to accredit")
    assert says(found["zz"], "belongs to accredit-example")
    assert says(found["w"], "accredit.methods.Method is needed")
    assert says(found["sklearn"], "belongs to accredit") and "'game' belongs" in found["game"]
    assert find("shapley", "game").method in METHODS and "Who earned what" in typed("--help")[1]
