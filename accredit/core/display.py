"""Results that can be drawn, and know nothing of how.

Views read results, so results cannot import views. The package hands the views over once, when it is imported; a result
then asks for them the first time somebody looks at it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

_views: Callable[[], ModuleType] | None = None


def draw_with(views: Callable[[], ModuleType]) -> None:
    """Say where drawings come from: `views()` returns the module that has `text`, `fragment`, `show` and `to_page`."""
    global _views
    _views = views


class Drawn:
    """A result that prints as a table, and shows itself as a page in a notebook."""

    def show(self) -> None:
        """A page in a notebook, a table on a terminal, in colour where the terminal supports it."""
        drawings().show(self)

    def __str__(self) -> str:
        return str(drawings().text(self))

    def _repr_html_(self) -> str:
        return str(drawings().fragment(self))


def drawings() -> ModuleType:
    """The views that the package handed over."""
    assert _views is not None, "accredit/__init__.py hands the views over before anything can be drawn"
    return _views()


def in_notebook() -> bool:
    """Whether a kernel runs this process; that ipykernel was imported, by a test for example, does not make it one.

    >>> in_notebook()
    False
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
