"""Pages of the site that are made, not written: every public name with its docstring, package by package; every command with
its help; tutorials with what their blocks print and draw.

Run by MkDocs. The names that a package offers are its `__all__`: first those that docs/stable.md lists, then the internal ones.
Each is documented once, where it is defined, because names that are imported on first use can be read only there; further
packages link to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isroutine

import mkdocs_gen_files

from tools.command_page import helps
from tools.site_docstrings import fenced
from tools.stable_names import is_stable
from tools.tutorial_outputs import DOCS, PAGES, shown

PACKAGES = (
    "values",
    "games",
    "core",
    "evaluate",
    "explanation",
    "rows",
    "answers",
    "attention",
    "flow",
    "gradients",
    "trees",
    "valuation",
    "influence",
    "labels",
    "training_data",
    "learned",
    "shortcuts",
    "audit",
    "arena",
    "store",
    "models",
    "views",
)

SAID = {
    True: "## Stable\n\nThese names stay, imported as on [the list of stable names](../stable.md).",
    False: "## Internal\n\nThese names work and are tested, but [may change in any version](../stable.md).",
}


def reference(path: str, documented: set[str]) -> str:
    """The page of one package: what it says of itself, then each name, stable ones first."""
    module = import_module(path)
    parts = [f"# {path}", fenced(module.__doc__ or "")]
    for stable in (True, False):
        names = [name for name in module.__all__ if is_stable(name, getattr(module, name)) is stable]
        parts += [SAID[stable], *_entries(module, names, documented)] if names else []
    return "\n\n".join(parts) + "\n"


def _entries(module: object, names: list[str], documented: set[str]) -> Iterator[str]:
    """A docstring for a name that is new, a link for one that has its place, and the bare name of a constant."""
    for name in names:
        named = getattr(module, name)
        if not (isroutine(named) or isclass(named)):
            yield f"- `{name}`"
            continue
        place = f"{named.__module__}.{name}"
        says = (named.__doc__ or "").strip().partition("\n")[0]
        yield f"- [`{name}`][{place}]: {says}" if place in documented else f"::: {place}"
        documented.add(place)


with mkdocs_gen_files.open("reference/commands.md", "w") as written:
    written.write("\n\n".join(helps()) + "\n")
for tutorial in PAGES:
    with mkdocs_gen_files.open(str(tutorial.relative_to(DOCS)), "w") as page:
        page.write(shown(tutorial))
seen: set[str] = set()
for package in (*(f"accredit.{name}" for name in PACKAGES), "accredit"):
    with mkdocs_gen_files.open(f"reference/{package.rpartition('.')[2]}.md", "w") as page:
        page.write(reference(package, seen))
