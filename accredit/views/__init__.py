"""Results made visible: terminal tables, self-contained HTML. Figures are in `accredit.views.plot` and
`table_plot`, and as methods in `plots`."""

from accredit.views.citations_view import citations_markdown
from accredit.views.html import explanation_page, fragment, game_page, table_page, to_page
from accredit.views.page import page
from accredit.views.plots import plots_of
from accredit.views.show import show
from accredit.views.text import text

__all__ = [
    "citations_markdown",
    "explanation_page",
    "fragment",
    "game_page",
    "page",
    "plots_of",
    "show",
    "table_page",
    "text",
    "to_page",
]
