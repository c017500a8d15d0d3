"""Where an explanation goes: onto the terminal or into a file, as text or JSON, and beside that onto a page."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from accredit.cli.command import check_ending, to_file, wants_more
from accredit.cli.output import write, write_whole

if TYPE_CHECKING:
    from accredit.explanation import Explanation
    from accredit.rows.result import TableExplanation
    from accredit.series.result import SeriesExplanation


@dataclass(frozen=True)
class Destination:
    """What was asked of the result."""

    out: str | None
    html: str | None
    as_json: bool

    def show(self, explain: Callable[[], Explanation | TableExplanation | SeriesExplanation]) -> None:
        """Explain, and print what comes of it, or write to `out` what would be printed."""
        if self.out:
            check_ending(self.out)
        with to_file(self.out) if self.out else nullcontext():
            self.print(explain())

    def show_parts(self, read: str, explain: Iterable[Explanation]) -> None:
        """The same of a text that was read in parts: how, what stands out in all of them, and each of them."""
        from accredit import views
        from accredit.views.language.headlines import parts_headline
        from accredit.views.terminal.explanation_text import wants_colour
        from accredit.views.terminal.screen import fold

        if self.out:
            check_ending(self.out)
        with to_file(self.out) if self.out else nullcontext():
            parts = list(explain)
            said = parts_headline(read, parts)
            if self.as_json:
                listed = [part.to_plain() for part in parts]
                click.echo(json.dumps({"kind": "text in parts", "read": said, "parts": listed}, ensure_ascii=False))
                return
            click.echo("\n".join(fold(said)))
            for number, part in enumerate(parts, 1):
                click.echo(f"\nPart {number} of {len(parts)}")
                click.echo(views.text(part, colour=wants_colour(sys.stdout), more=wants_more()))

    def print(self, result: Explanation | TableExplanation | SeriesExplanation) -> None:
        """The result as text or JSON, and its page if one was asked for."""
        from accredit import views
        from accredit.views.terminal.explanation_text import wants_colour

        if self.html:
            write_whole(self.html, views.to_page(result))
        click.echo(result.to_json() if self.as_json else views.text(result, colour=wants_colour(sys.stdout), more=wants_more()))
        if self.html:
            write(self.html)


def with_command(result: Explanation) -> Explanation:
    """An explanation that says what was typed to make it."""
    typed = shlex.join(["accredit", *sys.argv[1:]])
    return replace(result, provenance={**result.provenance, "command": typed})


def announce(cost: str) -> None:
    """Say, beside the result, what a long run will cost."""
    click.echo(cost, err=True)
