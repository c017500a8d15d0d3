"""Every Python block in the README and in docs runs, top to bottom, one namespace per page; public names have examples."""

import doctest
import re
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!r]*/*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "accredit" / "cli" / "samples")
    names = {"__name__": "docs"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), names)


def test_links_point_at_files():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_on_the_site_and_every_entry_is_a_page():
    listed = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert (
        written - listed == set() and {page for page in listed - written if not page.startswith("reference/")} == set()
    )


PACKAGES = [
    page.partition("/")[2] for page in re.findall(r"(reference/\w+)\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
]
NOT_CALLED = {  # public names that cannot hold an example, and why
    "AXIOMS": "a tuple of names", "RECIPES": "a mapping of names to recipes, each with an example of its own",
    "BoolArray": "a type", "IntArray": "a type", "FloatArray": "a type", "Coalition": "a type", "BlackBox": "a type",
}  # fmt: skip


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "commands"])
def test_every_public_name_has_an_example(package):
    """Doctests run them; this says that there is one for each name that the reference lists."""
    module = import_module("accredit" if package == "accredit" else f"accredit.{package}")
    assert {name for name in module.__all__ if not _shown(getattr(module, name))} <= set(NOT_CALLED)


def _shown(named):
    """Whether a name can be called, and its own docstring has an example."""
    called = isroutine(named) or isclass(named)
    return called and bool(doctest.DocTestParser().get_examples(named.__doc__ or ""))
