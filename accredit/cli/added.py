"""Commands that other packages add to `accredit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from accredit.core.plugins import COMMANDS, Addition, additions
from accredit.errors import InvalidInput


class OpenGroup(click.Group):
    """A group to which other packages add commands; the names of its own are not given away."""

    own: Mapping[str, Any]

    def added(self, name: str | None = None) -> tuple[Addition, ...]:
        """What packages add: all of it, or what has one name; also what is not used, with the reason."""
        return additions(COMMANDS, _command_of, self.own, name)


def _command_of(name: str, command: object) -> tuple[str]:
    if not isinstance(command, click.Command):
        raise InvalidInput(f"it leads to a {type(command).__name__}; a click.Command is needed")
    return (name,)
