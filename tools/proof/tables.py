"""Tables that the tools print and docs/reliability.md holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown(("shape", "faults"), [("dense", "0")]))
    | shape | faults |
    |---|---|
    | dense | 0 |
    """
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])
