"""Results made visible, by medium: `terminal`, `pages` (HTML), `figures` (matplotlib), in one `language`.

A page says the sentences that a terminal prints, so `pages` reads `terminal`; otherwise no medium knows another.
"""

from accredit.views.figures.plots import plots_of
from accredit.views.pages.document import page
from accredit.views.pages.html import explanation_page, fragment, game_page, table_page, to_page
from accredit.views.show import show
from accredit.views.terminal.citations_text import citations_markdown
from accredit.views.terminal.text import text

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
