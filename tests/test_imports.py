"""The rooms of the house, and who may enter which: every import points upward, lazy ones included, without a cycle."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent / "accredit"
PAPERS = HOUSE.parent / "papers" / "accredit_papers"  # a distribution of its own, beside the house


def drawn_rooms() -> list[str]:
    """The rooms as CONTRIBUTING.md draws them, from the top down; a room may import from those above it."""
    drawing = (HOUSE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```rooms\n")[1].split("```")[0]
    return [line.split()[0] for line in drawing.splitlines()] + ["__main__"]


ROOMS = drawn_rooms()


def modules(package: Path) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules(HOUSE)
KNOWN = MODULES | modules(PAPERS)


def test_every_room_is_drawn():
    assert {room(module) for module in MODULES} == set(ROOMS)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


class Imports(ast.NodeVisitor):
    """The modules of the house and of the papers that a source imports, at the top or inside a function; what only a type
    checker sees is left out, and so is an import of the package's own `__init__` from inside it."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.dump(node.test):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name for alias in node.names if alias.name in KNOWN}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module is not None and node.level == 0 and node.module.split(".")[0] in (HOUSE.name, PAPERS.name):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            self.found |= {name for name in inner if name in KNOWN}
            if not inner <= set(KNOWN):
                self.found.add(node.module)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and node.value in KNOWN and node.value != "accredit":
            self.found.add(node.value)  # a module named in a string: a lazy attribute, or an import by name


@cache
def imports(path: Path) -> frozenset[str]:
    seen = Imports()
    seen.visit(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(seen.found)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_upward(module):
    """The registry names the functions that run a method, in rooms below it; it never imports them itself."""
    mine = ROOMS.index(room(module))
    below = {name for name in imports(MODULES[module]) if ROOMS.index(room(name)) > mine}
    if module == "accredit.methods":
        below = set()
    assert not below, f"{module} imports from below: {sorted(below)}"


MEDIA = {"language": set(), "terminal": {"language"}, "pages": {"language", "terminal"}, "figures": {"language"}}


@pytest.mark.parametrize("medium", MEDIA)
def test_a_medium_reads_the_language_of_the_views_and_a_page_the_sentences_of_the_terminal(medium):
    mine = f"accredit.views.{medium}."
    named = {name for module, path in MODULES.items() if module.startswith(mine) for name in imports(path)}
    read = {name.split(".")[2] for name in named if name.startswith("accredit.views.")}
    assert read - {medium} == MEDIA[medium]


def test_no_module_waits_for_itself():
    """Inside a room, too, there is no cycle; a package's `__init__` gathers what its modules offer, and they may not ask it."""
    graph = {name: {seen for seen in imports(path) if seen != name} for name, path in KNOWN.items()}
    graph["accredit.methods"] = {name for name in graph["accredit.methods"] if room(name) == "core"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_nothing_in_the_house_names_the_papers():
    """They come by an entry point, as any other package does."""
    assert [name for name, path in MODULES.items() if PAPERS.name in path.read_text(encoding="utf-8")] == []
