"""Results made visible: terminal tables, self-contained HTML. Figures are in `accredit.views.plot`."""

from accredit.views.html import explanation_page, fragment, game_page
from accredit.views.page import page
from accredit.views.show import show
from accredit.views.text import text

to_page = explanation_page

__all__ = ["explanation_page", "fragment", "game_page", "page", "show", "text", "to_page"]
