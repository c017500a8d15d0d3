"""The table of docs/command.md, made from the command itself: `python -m tools.command_page`.

The site also has a page with every help; `helps()` makes it when the site is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from accredit.cli import accredit
from accredit.cli.codes import CODES
from accredit.cli.command import Command
from accredit.cli.man import commands

PAGE = Path(__file__).parent.parent / "docs" / "command.md"


def options(context: click.Context) -> set[str]:
    """Every spelling of every option of a command."""
    return {name for param in context.command.params for name in param.opts}


def code_table() -> str:
    """What the command returns to the shell."""
    return "\n".join(["| code | meaning |", "|---:|---|", *(f"| {code} | {meaning} |" for code, meaning in CODES.items())])


def filled(page: str) -> str:
    """The page with its table as it is now."""
    before, begin, rest = page.partition("<!-- codes: made by tools.command_page -->\n")
    _, end, after = rest.partition("<!-- end of codes -->")
    return f"{before}{begin}\n{code_table()}\n\n{end}{after}"


def helps() -> Iterator[str]:
    """Every help, as the terminal shows it."""
    yield "# Every command\n\nWhat `accredit COMMAND --help` prints; `accredit man` prints the same as a manual page."
    for context in commands(accredit):
        context.terminal_width = 100
        yield f"## {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```"
        if isinstance(context.command, Command):
            for topic in context.command.topics:
                yield f"```text\n{context.command.format_topic(context, topic)}\n```"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
