"""docs/papers.md names functions and commands that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from accredit.cli import COMMANDS
from accredit.cli.reproduce import reproduce

PAGE = (Path(__file__).parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])})


def found(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            here = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            here = getattr(here, part, None)
        return here is not None
    return False


@pytest.mark.parametrize("name", [n for n in NAMED if " " not in n])
def test_every_function_exists(name):
    pytest.importorskip("torch")
    pytest.importorskip("ortools")
    assert found(name)


@pytest.mark.parametrize("name", [n for n in NAMED if " " in n])
def test_every_command_exists(name):
    words = name.split()
    assert words[0] == "accredit" and words[1] in COMMANDS
    if words[1] == "reproduce":
        assert words[2] in reproduce.commands


def test_every_line_runs_and_every_page_is_named():
    assert len(ROWS) >= 40 and all(re.search(r"`accredit[ .]", row) for row in ROWS)
    told = {name.split()[2] for name in NAMED if name.startswith("accredit reproduce ")}
    assert told == set(reproduce.commands) - {"all"}
