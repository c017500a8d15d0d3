"""The document around every view: one file, no request, nothing runs but the one script whose hash the page names."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from accredit.views.language.palette import level_rules, value_rules
from accredit.views.pages.engine import render
from accredit.views.pages.parts import sky_rules

if TYPE_CHECKING:
    from markupsafe import Markup

STARTS = {
    "inspector": "inspect",
    "answers": "answers",
    "sorting": "sortable",
    "following": "follow",
}  # what each script is started with


def page(title: str, body: Markup, *, script_of: str | tuple[str, ...] = ()) -> str:
    """A whole document around rendered pieces; `script_of` names what makes it live, keys of `STARTS`.

    The policy allows exactly this style sheet and, if there is one, exactly this script, both by hash: a token that slipped
    through the escaping could still run nothing and load nothing.

    >>> from markupsafe import Markup
    >>> whole = page("Cookies", Markup("<p>alice 6, bob 4</p>"))
    >>> "<title>Cookies</title>" in whole, "<script" in whole
    (True, False)
    """
    names = (script_of,) if isinstance(script_of, str) else script_of
    style, script = stylesheet(), "".join(map(_script, names))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; "
        + (f"script-src '{_hash(script)}'; " if script else "")
        + "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return str(
        render(
            "page",
            "page",
            title=title,
            body=body,
            style=_verbatim(style),
            script=_verbatim(script),
            policy=_verbatim(policy),
        )
    )


def frame(body: Markup, title: str = "") -> str:
    """Pieces as a notebook shows them in a cell: with their style, without any script."""
    return str(render("page", "fragment", title=title, body=body, style=_verbatim(in_a_cell(stylesheet()))))


DARK = "@media screen and (prefers-color-scheme:dark){"  # paper is always light
LAB = "data-jp-theme-light"  # what JupyterLab writes on its body: true or false


def in_a_cell(style: str) -> str:
    """The same style for a cell of a notebook: in JupyterLab its theme decides what is dark, elsewhere the browser.

    >>> style = in_a_cell("p{color:black}" + DARK + "p{color:white}}")
    >>> "body[data-jp-theme-light=false]{p{color:white}}" in style
    True
    """
    before, dark, rest = style.partition(DARK)
    if not dark:
        return f"{before}body[{LAB}=true] .accredit{{color-scheme:light}}body[{LAB}=false] .accredit{{color-scheme:dark}}"
    end = _closing(rest)
    rules = rest[:end]
    followed = f"{DARK}body:not([{LAB}]){{{rules}}}}}body[{LAB}=false]{{{rules}}}"
    return before + followed + in_a_cell(rest[end + 1 :])


def _closing(text: str) -> int:
    """Where the brace is that closes one opened before the text."""
    depth = 1
    for place, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return place
    raise ValueError("a brace of the style sheet is never closed")


@cache
def stylesheet() -> str:
    """Every rule begins with .accredit, so that it touches nothing else in a notebook."""
    return asset("page.css") + sky_rules() + _rules("light") + f"{DARK}{_rules('dark')}}}"


def _rules(theme: str) -> str:
    return level_rules(theme) + value_rules(theme)


@cache
def _script(name: str) -> str:
    return asset(f"{name}.js") + f'{STARTS[name]}(document.querySelector("main.accredit"));'


@cache
def asset(name: str) -> str:
    """A file that ships beside this module."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _verbatim(shipped: str) -> Markup:
    """The style, the script and the policy go into a page letter by letter: they come from this package, and are hashed."""
    from markupsafe import Markup

    return Markup(shipped)


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
