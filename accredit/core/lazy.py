"""Names that are imported when they are first used, so that importing the package stays fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from accredit.core.errors import MissingExtra


def lazy(package: str, homes: Mapping[str, str], extra: str = "") -> Callable[[str], Any]:
    """A module `__getattr__` that finds each name of `homes` in the module it lives in.

    `extra` is what installs the libraries that those modules need: where one is missing, the error says so.
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            library = str(error.name).partition(".")[0]
            if not extra or library == package.partition(".")[0]:
                raise
            raise MissingExtra(library, extra, f"{package}.{name}") from None

    return attribute
