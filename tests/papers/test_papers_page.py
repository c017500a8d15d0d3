"""Every line of docs/papers.md runs: a test or a report calls its functions, and its commands are typed or have reports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from accredit.cli import accredit
from accredit_papers.reproduce import reproduce

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])})
FUNCTIONS = [name for name in NAMED if " " not in name]
TYPED = [name.split()[1:] for name in NAMED if " " in name]


def found(name: str) -> Any:
    """What a dotted name leads to, and rather the function than the module of its name; None where it leads nowhere."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            here = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            here = getattr(here, part, None)
        return getattr(here, parts[-1], None) if isinstance(here, ModuleType) else here
    return None


def dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    """The full name of what an expression names, through the imports of its file."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        before = dotted(node.value, known)
        return before and f"{before}.{node.attr}"
    return None


def calls_of(tree: ast.Module) -> Iterator[str]:
    """Full names of everything from accredit that a file calls."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {one.asname: one.name for one in node.names if one.asname}
            known |= {top: top for one in node.names if not one.asname for top in [one.name.split(".")[0]]}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    for node in ast.walk(tree):
        name = dotted(node.func, known) if isinstance(node, ast.Call) else None
        if name and name.startswith("accredit"):
            yield name


@cache
def trees() -> tuple[ast.Module, ...]:
    """Every file of the tests and of the reports but this one."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "papers").rglob("*.py")]
    return tuple(ast.parse(f.read_text(encoding="utf-8")) for f in files if f.name != Path(__file__).name)


@cache
def called() -> frozenset[str]:
    return frozenset(name for tree in trees() for name in calls_of(tree))


def typed_by_its_test(command: str) -> bool:
    """Does the test of a command hand its name to something that runs it?"""
    tree = ast.parse((ROOT / "tests" / "cli" / f"test_{command}.py").read_text(encoding="utf-8"))
    handed = [arg for node in ast.walk(tree) if isinstance(node, ast.Call) for arg in node.args]
    words = [one for arg in handed for one in (arg.elts[:1] if isinstance(arg, ast.List) else [arg])]
    return any(isinstance(one, ast.Constant) and one.value == command for one in words)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_called_by_a_test_or_a_report(name):
    pytest.importorskip("torch")
    pytest.importorskip("ortools")
    meant = found(name)
    assert callable(meant), f"{name} is not a function or a class"
    last = name.rpartition(".")[2]
    assert any(found(one) is meant for one in called() if one.rpartition(".")[2] == last), f"nothing calls {name}"


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_command_is_parsed_and_run_somewhere(words, tmp_path):
    command = accredit.get_command(click.Context(accredit), words[0])
    assert command is not None
    if pages := words[0] == "reproduce":
        assert command is reproduce
        command = reproduce.commands[words[1]]
    needed = [text for one in command.params if one.required for text in _given(tmp_path, one)]
    with command.make_context(words[-1], [*needed, *(["--quick"] if pages else [])]) as context:
        assert not pages or context.params["quick"] is True
    if not pages:
        assert typed_by_its_test(words[0])
        return
    report = (ROOT / "docs" / "reports" / f"{words[1]}.md").read_text(encoding="utf-8")
    assert f"\nWritten by `accredit {' '.join(words)}" in report


def _given(folder: Path, needed: click.Parameter) -> list[str]:
    """An argument or option that must be there, with a file or folder that is."""
    file = folder / "data.jsonl.gz"
    file.touch()
    place = folder if isinstance(needed.type, click.Path) and not needed.type.file_okay else file
    return [str(place)] if isinstance(needed, click.Argument) else [needed.opts[0], str(place)]


def test_every_line_runs_and_every_page_is_named():
    assert len(ROWS) >= 40 and all(re.search(r"`accredit[ .]", row) for row in ROWS)
    named = {words[1] for words in TYPED if words[0] == "reproduce"}
    assert named == set(reproduce.commands) - {"all"}


@pytest.mark.parametrize("report", sorted((ROOT / "docs" / "reports").glob("*.md")), ids=lambda file: file.stem)
def test_a_verdict_is_one_of_three_or_its_report_says_why_not(report):
    title, top, *_ = [part for part in report.read_text(encoding="utf-8").split("\n\n") if part.strip()]
    verdicts = re.findall(r"\| (holds|refuted|cannot tell|does not hold) \|", report.read_text(encoding="utf-8"))
    assert "does not hold" not in verdicts or "Verdicts had two values then" in top.replace("\n> ", " "), title


def test_a_call_is_recognised_by_what_it_calls_and_not_by_its_name():
    source = "import accredit\nfrom accredit.flow import kkt_of as k\ndef shapley(): ...\nshapley()\nk(1)\naccredit.banzhaf(2)"
    assert set(calls_of(ast.parse(source))) == {"accredit.flow.kkt_of", "accredit.banzhaf"}
