"""Templates escape by default, and nothing in them or around them can turn that off."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import TemplateAssertionError, UndefinedError, nodes
from markupsafe import Markup

import accredit
from accredit.views.pages.engine import FILTERS, SHOWN, environment, render
from tests.views.hostile import corpus

HOUSE = Path(accredit.__file__).parent
TEMPLATES = sorted(Path(str(files("accredit.views.pages"))).joinpath("templates").glob("*.html"))
SOURCES = sorted([*HOUSE.joinpath("views").rglob("*.py"), *HOUSE.joinpath("web").rglob("*.py")])


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_turns_the_escaping_off(template):
    source = template.read_text(encoding="utf-8")
    tree = environment().parse(source)
    environment().get_template(template.name)  # and it compiles
    off = (nodes.EvalContextModifier, nodes.ScopedEvalContextModifier, nodes.MarkSafe, nodes.MarkSafeIfAutoescape)
    assert not list(tree.find_all(off))
    assert {each.name for each in tree.find_all(nodes.Filter)} <= set(FILTERS)
    assert not list(tree.find_all((nodes.Concat, nodes.Mod)))  # markup ~ text is escaped, but not by our rules
    assert not re.search(r"\|\s*safe|autoescape", source)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_values_stand_in_quoted_attributes_or_between_tags_and_nothing_listens(template):
    source = re.sub(r"\{#.*?#\}", "", template.read_text(encoding="utf-8"), flags=re.S)
    assert not re.search(r"=\s*\{[{%]", re.sub(r"\{%.*?%\}", "", source))  # an attribute without quotes
    assert not re.search(r"\s(on[a-z]+|style)\s*=", source)
    assert not re.search(r"<[a-z]*\{\{", source)  # a tag or an attribute named by a value
    assert template.name == "page.html" or "<script" not in source


def test_there_is_no_filter_that_makes_markup():
    for name in ("safe", "escape", "e", "join", "replace", "tojson", "xmlattr", "format"):
        with pytest.raises(TemplateAssertionError, match="No filter"):
            environment().from_string(f"{{{{ x|{name} }}}}")


def test_only_templates_of_this_package_are_read():
    assert set(environment().list_templates()) == {path.name for path in TEMPLATES}


@pytest.mark.parametrize("name", corpus())
def test_text_stays_text(name):
    drawn = render("parts", "paragraph", text=name)
    inside = drawn.removeprefix("<p>").removesuffix("</p>")
    assert not set(inside) & {"<", ">", '"', "'"} and not set(map(ord, inside)) & set(SHOWN)
    assert Markup(inside).unescape() == name.translate(SHOWN)


def test_a_rendered_piece_is_kept_and_a_string_around_it_is_text():
    piece = render("parts", "paragraph", text="a")
    assert str(render("parts", "joined", pieces=[piece])) == "<p>a</p>"
    assert "<" not in render("parts", "joined", pieces=[f"<b>{piece}</b>"])


@pytest.mark.parametrize("value", [None, 0.5, True, ["a"], b"a"])
def test_only_text_and_whole_numbers_are_printed(value):
    with pytest.raises(TypeError, match="a template prints"):
        render("parts", "paragraph", text=value)


def test_a_value_too_few_or_too_many_is_an_error():
    with pytest.raises(UndefinedError):
        render("parts", "paragraph")
    with pytest.raises(TypeError):
        render("parts", "paragraph", text="a", other="b")


def test_text_becomes_markup_in_one_function_alone():
    named = [path.name for path in SOURCES if re.search(r"(?<![A-Za-z])Markup\(", path.read_text(encoding="utf-8"))]
    assert named == ["document.py"]  # the style, the script and the policy, which ship with the package


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_tag_is_written_in_python(source):
    tree = ast.parse(source.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    tags = [node.value for node in strings if id(node) not in prose and re.search(r"</?[a-z][a-z0-9]*[ />]", node.value)]
    assert tags == []


@pytest.mark.slow
def test_results_print_without_jinja():
    probe = (
        "import sys; sys.modules['jinja2'] = sys.modules['markupsafe'] = None\n"
        "import accredit\n"
        "from accredit.views import text\n"
        "from accredit.values.report import report\n"
        "from tests.views.samples import sample\n"
        "game = accredit.TableGame(('a', 'b'), [0, 5, 3, 10])\n"
        "for result in (accredit.shapley(game), report(game), sample()):\n"
        "    assert 'a' in text(result)\n"
        "assert 'alice' in str(accredit.shapley(accredit.TableGame(('alice', 'bob'), [0, 5, 3, 10])))\n"
    )
    subprocess.run([sys.executable, "-c", probe], check=True, cwd=HOUSE.parent)
