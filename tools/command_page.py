"""The tables of docs/command.md, made from the commands themselves: `python -m tools.command_page`.

The site also has a page with every help; `helps()` makes it when the site is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from accredit.cli import accredit
from accredit.cli.codes import CODES
from accredit.cli.explain import TOPICS, ExplainCommand
from accredit.cli.man import commands

PAGE = Path(__file__).parent.parent / "docs" / "command.md"
SHARED = ("--json", "--html", "--out", "--seed", "--quiet")


def options(context: click.Context) -> set[str]:
    """Every spelling of every option of a command."""
    return {name for param in context.command.params for name in param.opts}


def option_table() -> str:
    """Commands down, those with the same shared options in one line; options across."""
    names: dict[tuple[str, ...], list[str]] = {}
    for context in commands(accredit):
        marks = tuple("✓" if name in options(context) else "·" for name in SHARED)
        names.setdefault(marks, []).append(f"`{context.command_path.removeprefix('accredit ')}`")
    lines = ["| command | " + " | ".join(f"`{name}`" for name in SHARED) + " |", "|---" + "|:-:" * len(SHARED) + "|"]
    return "\n".join([*lines, *(f"| {', '.join(those)} | {' | '.join(marks)} |" for marks, those in names.items())])


def code_table() -> str:
    """What the command returns to the shell."""
    return "\n".join(["| code | meaning |", "|---:|---|", *(f"| {code} | {meaning} |" for code, meaning in CODES.items())])


def filled(page: str) -> str:
    """The page with its tables as they are now."""
    for name, table in (("options", option_table()), ("codes", code_table())):
        before, begin, rest = page.partition(f"<!-- {name}: made by tools.command_page -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        page = f"{before}{begin}\n{table}\n\n{end}{after}"
    return page


def helps() -> Iterator[str]:
    """Every help, as the terminal shows it."""
    yield "# Every command\n\nWhat `accredit COMMAND --help` prints; `accredit man` prints the same as a manual page."
    for context in commands(accredit):
        context.terminal_width = 100
        yield f"## {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```"
        if isinstance(context.command, ExplainCommand):
            for topic in TOPICS:
                yield f"```text\n{context.command.format_topic(context, topic)}\n```"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
