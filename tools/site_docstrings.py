"""Docstrings for the site: examples (lines that begin with `>>>`) become blocks of code, all else stays prose."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^[ \t]*>>> .*(?:\n[ \t]*\S.*)*\n?)+", re.M)


class Examples(griffe.Extension):
    """Called by mkdocstrings for every object that it reads."""

    def on_object(self, *, obj: griffe.Object, **settings: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """A docstring whose examples are blocks of code."""
    return EXAMPLE.sub(lambda example: f"```pycon\n{example.group().rstrip()}\n```\n", docstring)
