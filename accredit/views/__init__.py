"""Results made visible: terminal tables, self-contained HTML. Figures are in `accredit.views.plot`."""

from accredit.views.html import explanation_page, fragment, game_page
from accredit.views.page import page
from accredit.views.text import text

__all__ = ["explanation_page", "fragment", "game_page", "page", "text"]
