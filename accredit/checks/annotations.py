"""Annotations as types: of functions and classes, whatever part of them is imported for type checkers only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import get_type_hints


class _Anything(type):
    """A class that has every attribute and takes every bracket, and remains what it is."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, inside: object) -> type:
        return cls


class Unseen(metaclass=_Anything):
    """Stands in an annotation for a name that is imported for type checkers only."""


@cache
def read_hints(annotated: Callable[..., object] | type) -> dict[str, object]:
    """The annotations of a function or a class as types.

    >>> def draw(path: Path | None, axes: matplotlib.axes.Axes) -> None: ...
    >>> read_hints(draw)["axes"]
    <class 'accredit.checks.annotations.Unseen'>
    """
    unseen: dict[str, object] = {}
    while True:
        try:
            return get_type_hints(annotated, localns=unseen, include_extras=True)
        except NameError as error:
            name = str(error.name)
            if name in unseen:
                raise
            unseen[name] = Unseen
