"""The document around every view: one file, no request, nothing runs but the one script whose hash the page names."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from accredit.views.engine import render
from accredit.views.palette import level_rules
from accredit.views.sky import sky_rules

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


def framed(body: Markup, title: str = "") -> str:
    """Pieces as a notebook shows them in a cell: with their style, without any script."""
    return str(render("page", "fragment", title=title, body=body, style=_verbatim(stylesheet())))


@cache
def stylesheet() -> str:
    """Every rule begins with .accredit, so that it touches nothing else in a notebook."""
    return (
        asset("page.css")
        + sky_rules()
        + level_rules("light")
        + f"@media(prefers-color-scheme:dark){{{level_rules('dark')}}}"
    )


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
