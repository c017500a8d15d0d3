"""Commands that other packages add to `accredit`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from accredit.checks.numbers import a_type
from accredit.core.plugins import COMMANDS, Addition, additions, entries
from accredit.errors import InvalidInput

ELSEWHERE = {  # command of a package that is developed beside this one -> what to type to have it
    "reproduce": "pip install accredit-papers (from a clone: pip install ./papers)",
}


class OpenGroup(click.Group):
    """A group to which other packages add commands; the names of its own are not given away."""

    own: Mapping[str, object]

    def added(self, name: str | None = None) -> tuple[Addition, ...]:
        """What packages add: all of it, or what has one name; also what is not used, with the reason."""
        return additions(COMMANDS, _command_of, self.own, name)


def check_installed(command: str, ctx: click.Context) -> None:
    """Refuse a command that comes with a package which is not installed, with what to type."""
    if command in ELSEWHERE and all(entry.name != command for entry in entries(COMMANDS)):
        raise click.UsageError(f"{command!r} comes with a package that is not installed: {ELSEWHERE[command]}", ctx)


def _command_of(name: str, command: object) -> tuple[str]:
    if not isinstance(command, click.Command):
        raise InvalidInput(f"it leads to {a_type(command)}; a click.Command is needed", code="type")
    return (name,)
