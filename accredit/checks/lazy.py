"""Names that are imported when they are first used, so that importing the package stays fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

from accredit.errors import AccreditError, BrokenLibrary, MissingExtra

PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow"}  # libraries that are installed by another name


def lazy(package: str, homes: Mapping[str, str], extra: str = "") -> Callable[[str], object]:
    """A module `__getattr__` that finds each name of `homes` in the module it lives in.

    `extra` is what installs the libraries that those modules need: where one is missing, the error says so.
    """

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not extra:
            return getattr(import_module(homes[name]), name)
        with needs(extra, f"{package}.{name}", own=package):
            return getattr(import_module(homes[name]), name)

    return attribute


@contextmanager
def needs(extra: str, purpose: str, own: str = "accredit") -> Iterator[None]:
    """Import optional libraries inside: one that is not installed is reported with the extra that installs it.

    Only a library that is truly missing is called missing. One that is installed and fails to load, because something in it
    or another library is broken, is reported as that, with its own error as the cause.

    >>> with needs("flow", "exact max flow"):
    ...     import a_library_that_nobody_has
    Traceback (most recent call last):
    accredit.errors.MissingExtra: exact max flow needs a_library_that_nobody_has, which is not installed: pip install ...
    """
    try:
        yield
    except ImportError as error:
        library = str(error.name or "").partition(".")[0]
        if isinstance(error, AccreditError) or library == own.partition(".")[0]:
            raise
        if isinstance(error, ModuleNotFoundError) and not _is_installed(library):
            raise MissingExtra(PACKAGES.get(library, library), extra, purpose) from error
        said = " ".join(str(error).split())
        raise BrokenLibrary(f"{purpose} needs a library that is installed but cannot be loaded: {said:.300}") from error


def _is_installed(library: str) -> bool:
    """Is there a library of this name, whether it can be loaded or not?"""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # a name that was blocked, or half loaded
        return False
