"""A result shown where the user is: a page in a notebook, a table on a terminal."""

from __future__ import annotations

import sys

from accredit.core.display import in_notebook
from accredit.views.pages.html import Drawable, fragment
from accredit.views.terminal.explanation_text import wants_colour
from accredit.views.terminal.text import text


def show(result: Drawable) -> None:
    """Display a result; colours only where the terminal understands them.

    >>> from accredit import TableGame, shapley
    >>> show(shapley(TableGame(("alice", "bob"), [0, 5, 3, 10])))
    alice earns most of it: 6 of 10.
    player  credit
    alice        6  ████████████
    bob          4  ████████
    claims: efficiency, symmetry, null player, linearity exactly
    shapley/Exact(): exact: there is no sampling error; 4 payoffs
    """
    if in_notebook():
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(fragment(result)))
        return
    sys.stdout.write(text(result, colour=wants_colour(sys.stdout)) + "\n")
