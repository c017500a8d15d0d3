"""Annotations as types: of functions and classes, whatever part of them is imported for type checkers only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from inspect import unwrap
from sys import modules
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
    """Stands in an annotation for a name that is for type checkers only: its import, or a quoted alias."""


@cache
def read_hints(annotated: Callable[..., object] | type) -> dict[str, object]:
    """The annotations of a function or a class as types.

    >>> def draw(path: Path | None, axes: matplotlib.axes.Axes) -> None: ...
    >>> read_hints(draw)["axes"]
    <class 'accredit.checks.annotations.Unseen'>
    """
    unseen: dict[str, object] = dict.fromkeys(_quoted(annotated), Unseen)
    while True:
        try:
            return get_type_hints(annotated, localns=unseen, include_extras=True)
        except NameError as error:
            name = str(error.name)
            if name in unseen:
                raise
            unseen[name] = Unseen


def _quoted(annotated: Callable[..., object] | type) -> Iterator[str]:
    """Names of strings beside a function or a class: in an annotation they are aliases that only type checkers read."""
    if isinstance(annotated, type):
        beside = [vars(modules[kind.__module__]) for kind in annotated.__mro__ if kind.__module__ in modules]
    else:
        beside = [getattr(unwrap(annotated), "__globals__", {})]
    for names in beside:
        yield from (name for name, value in names.items() if isinstance(value, str))
