"""Every line of docs/papers.md runs: its functions have examples, its commands can be typed, and its pages have reports."""

from __future__ import annotations

import re
from doctest import DocTestParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from accredit.cli import accredit
from accredit_papers.reproduce import reproduce
from tests.wording import says

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


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example(name):
    """Examples in docstrings are run with the tests."""
    pytest.importorskip("torch")
    pytest.importorskip("ortools")
    meant = found(name)
    assert callable(meant), f"{name} is not a function or a class"
    assert meant.__module__.startswith(("accredit.", "accredit_papers.")) and DocTestParser().get_examples(
        meant.__doc__ or ""
    ), f"{name} has no example"


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_every_command_is_parsed_and_every_page_is_written(words, tmp_path):
    command = accredit.get_command(click.Context(accredit), words[0])
    assert command is not None
    if pages := words[0] == "reproduce":
        assert command is reproduce
        command = reproduce.commands[words[1]]
    needed = [text for one in command.params if one.required for text in _given(tmp_path, one)]
    with command.make_context(words[-1], [*needed, *(["--quick"] if pages else [])]) as context:
        assert not pages or context.params["quick"] is True
    if pages:
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
    assert "does not hold" not in verdicts or says(top.replace("\n> ", " "), "Verdicts had two"), title
