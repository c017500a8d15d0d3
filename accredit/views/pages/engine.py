"""The one place where values become HTML: templates that escape by default.

Python prepares plain values, a template lays them out. Each template is a file of macros, and each macro is one piece of a
page: `render("game", "body", …)` calls the macro `body` of `templates/game.html`. What it returns is markup, which another
piece may hold; every other value is text and is escaped, wherever it stands. Jinja2 is imported when the first piece
is drawn, so that results print on a terminal without it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from accredit.checks.numbers import a_type

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FILTERS = ("length",)  # of Jinja's; none that turns text into markup
# Characters that end a line in JavaScript, or turn the reading direction of what follows, are shown instead of obeyed.
SHOWN = {ord(c): f"\\u{ord(c):04x}" for c in "\u2028\u2029\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
SHOWN |= {c: f"\\x{c:02x}" for c in range(32) if c not in (9, 10)}


def render(template: str, piece: str, **values: object) -> Markup:
    """One piece of a template as markup; a value that it needs and does not get, or gets and does not know, is an error.

    >>> print(render("parts", "paragraph", text='<script>"x"'))
    <p>&lt;script&gt;&#34;x&#34;</p>
    """
    drawn: Markup = getattr(environment().get_template(f"{template}.html").module, piece)(**values)
    return drawn


@cache
def environment() -> Environment:
    """Strict and escaping everywhere; it reads templates of this package alone, and knows no filter that could undo that."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    assert __package__ is not None
    made = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=print_out(),
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters = {name: made.filters[name] for name in FILTERS}
    made.globals.clear()
    return made


def print_out() -> Callable[..., object]:
    """What happens to each value before it is escaped: only text, whole numbers and markup may be printed.

    A float has to pass the one style of numbers first, and `None` would be printed as a word.
    """
    from markupsafe import Markup

    def finalize(value: object) -> object:
        if isinstance(value, Markup) or type(value) is int:
            return value
        if isinstance(value, str):
            return value if value.isprintable() else value.translate(SHOWN)  # the second is slow, and seldom needed
        raise TypeError(  # one that is undefined names itself instead
            f"a template prints {value}, {a_type(value)}; give it text, a whole number or a rendered piece"
        )

    return finalize
