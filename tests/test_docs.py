"""Every Python block in the README and in docs runs, top to bottom, one namespace per page; public names have examples."""

import ast
import doctest
import re
import shlex
import unicodedata
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path

import pytest

from accredit.cli import accredit
from accredit.cli.man import commands
from accredit.methods import METHODS
from tools import stable_names as stability
from tools.command_page import options
from tools.docs_commands import commands as written
from tools.language_model import HOW_TO_MAKE, VARIABLE, find_model
from tools.stable_names import is_stable, stable_names
from tools.tutorial_outputs import KEPT, kept, name_of, shown
from tools.tutorial_outputs import PAGES as WITH_OUTPUTS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!r]*/*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    if VARIABLE in text and find_model() is None:
        pytest.skip(f"no real language model: {HOW_TO_MAKE}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "accredit" / "cli" / "samples")
    names = {"__name__": "docs"}
    for block in BLOCK.findall(text):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", WITH_OUTPUTS, ids=name_of)
def test_outputs_on_the_site_are_those_of_the_code_above_them(page):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert [output.code for output in kept(page)] == blocks, f"run it: python -m tools.tutorial_outputs {page.name}"
    pictures = {picture for output in kept(page) for picture in output.pictures}
    assert {path.name for path in KEPT.glob(f"{name_of(page)}_*.png")} == pictures
    assert all(output.text.rstrip() in shown(page) for output in kept(page))


def test_links_point_at_files():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def anchors(page):
    """Those of its headings, as Python-Markdown names them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        plain = unicodedata.normalize("NFKD", heading.replace("`", "")).encode("ascii", "ignore").decode()
        yield re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def test_links_point_at_headings():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)", page.read_text(encoding="utf-8")):
            assert anchor in anchors(page.parent / target if target else page), f"{page.name} links to {target}#{anchor}"


def imported(page):
    """What its blocks import from accredit: (module, name)."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in ast.walk(ast.parse(block)):
            if isinstance(line, ast.ImportFrom) and str(line.module).partition(".")[0] == "accredit":
                yield from ((line.module, alias.name) for alias in line.names)


@pytest.mark.parametrize("page", [page for page in PAGES if any(imported(page))], ids=lambda p: p.name)
def test_pages_import_from_the_front_of_a_room_where_it_offers_the_name(page):
    for module, name in imported(page):
        front = ".".join(module.split(".")[:2])
        assert module == front or name not in getattr(import_module(front), "__all__", ()), f"from {front} import {name}"


def test_dotted_names_on_pages_exist():
    """Prose goes stale when a module moves; a code block would fail by itself."""
    groups = {"accredit.methods", "accredit.readers", "accredit.commands"}  # of entry points
    for page in PAGES:
        for dotted in re.findall(r"(?<![\w/.-])accredit(?:\.[A-Za-z_]\w*)+", page.read_text(encoding="utf-8")):
            assert dotted in groups or leads_somewhere(dotted), f"{page.name} names {dotted}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_files_that_a_page_names_exist(page):
    for path in re.findall(r"`((?:accredit|benchmarks|docs|papers|tests|tools)/[\w/.-]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists() or "NAME" in path, f"{page.name} names {path}"


def leads_somewhere(dotted):
    """Whether a dotted name is a module, or a name in one."""
    here = import_module("accredit")
    for part in dotted.split(".")[1:]:
        if not hasattr(here, part):
            try:
                import_module(f"{here.__name__}.{part}")
            except ImportError:
                return False
        here = getattr(here, part)
    return True


def test_every_page_is_on_the_site_and_every_entry_is_a_page():
    listed = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert written - listed == set() and {page for page in listed - written if not page.startswith("reference/")} == set()


PACKAGES = [page.partition("/")[2] for page in re.findall(r"(reference/\w+)\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))]
NOT_CALLED = {  # public names that cannot hold an example, and why
    "AXIOMS": "a tuple of names",
    "RECIPES": "a mapping of names to recipes, each with an example of its own",
    "BoolArray": "a type",
    "IntArray": "a type",
    "FloatArray": "a type",
    "Coalition": "a type",
    "BlackBox": "a type",
}


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "commands"])
def test_every_public_name_has_an_example(package):
    """Doctests run them; this says that there is one for each name that the reference lists."""
    module = import_module("accredit" if package == "accredit" else f"accredit.{package}")
    assert {name for name in module.__all__ if not _shown(getattr(module, name))} <= set(NOT_CALLED)


def _shown(named):
    """Whether a name can be called, and its own docstring has an example."""
    called = isroutine(named) or isclass(named)
    return called and bool(doctest.DocTestParser().get_examples(named.__doc__ or ""))


@pytest.mark.parametrize("page", [page for page in PAGES if any(written(page))], ids=lambda p: p.name)
def test_every_command_that_a_page_writes_has_the_options_that_it_uses(page):
    """`python -m tools.docs_commands` also runs those that can be run here."""
    known = {context.command_path: options(context) | {"--help"} for context in commands(accredit)}
    for command in written(page):
        words = shlex.split(command.split(" && ")[-1].split(" | ")[0].split(" > ")[0].split(" >> ")[0])
        if words[0] != "accredit" or words[1:] in (["--help"], ["--version"]):
            continue
        path = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in known), None)
        assert path is not None, command
        if path != "accredit reproduce":  # whose options belong to its reports
            assert {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)} <= known[path], command


def test_what_explain_returns_is_public():
    from accredit import explanation, rows, series

    returned = set(re.findall(r"\w+", str(explanation.explain.__annotations__["return"])))
    public = {*explanation.__all__, *rows.__all__, *series.__all__}
    assert {"Explanation", "SeriesExplanation", "TableExplanation"} == returned <= public


def test_stable_names_are_few_and_each_is_offered_by_a_front():
    names = [name for _, name in stable_names()]
    assert 80 <= len(names) <= 100 and len(set(names)) == len(names)
    for place, name in stable_names():
        module = import_module(place)
        assert place.count(".") <= 1 and name in getattr(module, "__all__", vars(module)), f"from {place} import {name}"


def test_the_reference_tells_stable_names_from_others_of_the_same_name():
    from accredit import core, learned, store

    assert is_stable("load", store.load) and not is_stable("load", learned.load)
    assert not is_stable("tabulate", core.tabulate) and doctest.testmod(stability).failed == 0


FRONTS = [import_module(f"accredit.{path.parent.name}") for path in sorted((ROOT / "accredit").glob("*/__init__.py"))]
OFFERED = {name: front for front in FRONTS for name in getattr(front, "__all__", ())}


@pytest.mark.parametrize(("place", "name"), stable_names(), ids=lambda word: word)
def test_what_a_stable_name_returns_is_stable(place, name):
    """Whoever may rely on a function may rely on its result: a listed class, or some `Game`."""
    returns = getattr(getattr(import_module(place), name), "__annotations__", {}).get("return")
    results = {word for word in re.findall(r"\w+", str(returns)) if word in OFFERED} - {word for _, word in stable_names()}
    assert {word for word in results - set(NOT_CALLED) if not hasattr(getattr(OFFERED[word], word), "payoff")} == set()


GLOSSARY = ROOT / "docs" / "glossary.md"


def glossary():
    """The lines of its tables, as lists of cells."""
    lines = re.findall(r"^\| (?!the field says|here|method|-)(.+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.M)
    return [re.split(r"\s*\|\s*", line) for line in lines]


def test_the_glossary_explains_every_method_by_all_its_names():
    lines = {cells[0].strip("`"): cells[1] for cells in glossary()}
    for method in METHODS:
        assert method.name in lines, method.name
        assert {f"`{alias}`" for alias in method.aliases} <= set(re.findall("`[^`]+`", lines[method.name])), method.name


def test_the_glossary_explains_every_noun_of_the_front_door():
    import accredit

    nouns = {name for name in accredit.__all__ if isclass(getattr(accredit, name))}
    assert nouns - set(re.findall(r"`(\w+)`", GLOSSARY.read_text(encoding="utf-8"))) == set()


def test_every_line_of_the_glossary_leads_to_a_page():
    assert [cells for cells in glossary() if len(cells) != 3 or not re.search(r"\[.+\]\(.+\)", cells[2])] == []
