"""Results made visible: terminal tables, self-contained HTML."""

from accredit.views.html import fragment, game_page, page
from accredit.views.text import text

__all__ = ["fragment", "game_page", "page", "text"]
