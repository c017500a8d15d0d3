"""Results that can be drawn, and know nothing of how.

Views read results, so results cannot import views. The package hands the views over once, when it is imported; a result
then asks for them the first time somebody looks at it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from accredit.checks.suggestions import did_you_mean

_views: Callable[[], ModuleType] | None = None
OTHER_NAMES = {  # what shap, captum and others call parts of a result: the first of ours that it has
    "shap_values": ("credit", "by_method().credit"),
    "values": ("credit", "by_method().credit"),
    "data": ("cells",),
    "expected_value": ("base", "baseline", "by_method().baseline"),
    "base_values": ("base", "baseline", "by_method().baseline"),
    "feature_names": ("players",),
    "output_names": ("outputs",),
    "save_html": ("to_html(path)",),
    "to_dataframe": ("to_pandas()",),
    "as_list": ("as_dict()", "by_method().as_dict()"),
}


def draw_with(views: Callable[[], ModuleType]) -> None:
    """Say where drawings come from: `views()` returns the module that has `text`, `fragment`, `show` and `to_page`."""
    global _views
    _views = views


class Hinting:
    """What says, of a name that it does not have, which of its own is meant."""

    if not TYPE_CHECKING:  # else every name would pass the type checker

        def __getattr__(self, name: str) -> NoReturn:
            """Only asked for what is not there: what shap and others call it is said by its name here."""
            own = [one for one in dir(self) if not one.startswith("_")]
            here = next((other for other in OTHER_NAMES.get(name, ()) if other.partition("(")[0] in own), None)
            meant = f"; it is .{here} here" if here else did_you_mean(name, own)
            raise AttributeError(f"{type(self).__name__} has no {name!r}{meant}", name=name, obj=self)


class Drawn(Hinting):
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
