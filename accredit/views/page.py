"""The document around every view: one file, no request, nothing runs but the one script whose hash the page names."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from accredit.views.escape import escape
from accredit.views.palette import level_rules
from accredit.views.sky import sky_rules


def page(title: str, body: str, *, live: bool = False) -> str:
    """A whole document around HTML that is already safe; `live` adds the script that shows a token's numbers.

    The policy allows exactly this style sheet and, if `live`, exactly this script, both by hash: a token that slipped through
    the escaping could still run nothing and load nothing.
    """
    style, script = stylesheet(), _script() if live else ""
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; "
        + (f"script-src '{_hash(script)}'; " if live else "")
        + "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f'<body><main class="accredit"><h1>{escape(title)}</h1>{body}</main>'
        + (f'<script type="module">{script}</script>' if live else "")
        + "</body></html>\n"
    )


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
def _script() -> str:
    return asset("inspector.js") + 'inspect(document.querySelector("main.accredit"));'


@cache
def asset(name: str) -> str:
    """A file that ships beside this module."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
