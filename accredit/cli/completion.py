"""`accredit completion`: the lines that let a shell complete commands, options and names of methods."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class, shell_complete

from accredit.cli.command import Command

VARIABLE = "_ACCREDIT_COMPLETE"  # set by these lines whenever Tab is pressed
PLACES = {  # shell -> what to type once
    "bash": "accredit completion bash >> ~/.bashrc",
    "zsh": "accredit completion zsh >> ~/.zshrc",
    "fish": "accredit completion fish > ~/.config/fish/completions/accredit.fish",
}


@click.command(cls=Command)
@click.argument("shell", type=click.Choice([*PLACES]))
def completion(shell: str) -> None:
    """Print the lines that make SHELL complete accredit: commands, options, files and names of methods.

    \b
    Type one of these once, and open a new window:
      accredit completion bash >> ~/.bashrc
      accredit completion zsh >> ~/.zshrc
      accredit completion fish > ~/.config/fish/completions/accredit.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(click.get_current_context().find_root().command, {}, "accredit", VARIABLE).source())


def complete(root: click.Command, instruction: str) -> int:
    """What the shell asks when Tab is pressed; the exit code."""
    return shell_complete(root, {}, "accredit", VARIABLE, instruction)
