"""The stable names, as docs/stable.md lists them: what its blocks of Python import, and from where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "stable.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def is_stable(name: str, named: object) -> bool:
    """Whether a name that some package offers is one of the list, under the same name.

    >>> from accredit import shapley
    >>> is_stable("shapley", shapley), is_stable("shapley", None)
    (True, False)
    """
    return any(name == listed and named is getattr(import_module(module), name) for module, listed in stable_names())


@cache
def stable_names() -> tuple[tuple[str, str], ...]:
    """Every stable name after the module that offers it, in the order of the page.

    >>> ("accredit", "shapley") in stable_names()
    True
    """
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return tuple(place for block in blocks for place in _imports(block))


def _imports(block: str) -> Iterator[tuple[str, str]]:
    for line in ast.parse(block).body:
        if isinstance(line, ast.ImportFrom):
            yield from ((str(line.module), name.name) for name in line.names)
