"""`accredit man`: the manual page, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from click.shell_completion import get_completion_class, shell_complete

from accredit.cli.codes import CODES
from accredit.cli.command import Command, what_to_try
from accredit.core.version import __version__


@click.command(cls=Command)
def man() -> None:
    """Print the manual page of every command, for man(1).

    \b
    Read it:    accredit man | man -l -
    Install it: accredit man --out ~/.local/share/man/man1/accredit.1
    """
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    click.echo(manual(root))


def manual(root: click.Group) -> str:
    """The page in the language of man: what every command does, its options, examples, exit codes."""
    parts = [
        f'.TH ACCREDIT 1 "" "accredit {__version__}" "User Commands"',
        ".SH NAME\naccredit \\- credit where it is due, and how far to trust it",
        ".SH SYNOPSIS\n.B accredit\n.I COMMAND\n[\\fIOPTIONS\\fR]",
        f".SH DESCRIPTION\n{_paragraphs(root.help or '')}",
        *(_command(context) for context in commands(root)),
        ".SH EXIT STATUS",
        *(f".TP\n.B {code}\n{_plain(meaning)}" for code, meaning in CODES.items()),
    ]
    return "\n".join(parts)


def commands(root: click.Group) -> Iterator[click.Context]:
    """A context for every command that does something, in the order of the help."""
    yield from _below(click.Context(root, info_name="accredit"))


def _below(context: click.Context) -> Iterator[click.Context]:
    if not isinstance(context.command, click.Group):
        yield context
        return
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        yield from _below(click.Context(command, info_name=name, parent=context))


def _command(context: click.Context) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f'.SH "{_plain(context.command_path).upper()}"', f".B {_plain(context.command_path)}\n{_plain(usage)}"]
    lines.append(".PP\n" + _paragraphs(command.help or ""))
    records = (param.get_help_record(context) for param in command.params if isinstance(param, click.Option))
    lines += [f".TP\n.B {_plain(names)}\n{_plain(words)}" for names, words in filter(None, records)]
    for trial, answers in what_to_try(context).items():
        lines.append(f".TP\n.I {_plain(trial)}\n{_plain(answers)}")
    return "\n".join(lines)


def _paragraphs(help_text: str) -> str:
    """Prose, one request of man for each paragraph; what is laid out by hand stays so."""
    return "\n.PP\n".join(map(_paragraph, re.split(r"\n\s*\n", help_text.strip())))


def _paragraph(text: str) -> str:
    if text.startswith("\b"):
        return ".nf\n" + "\n".join(map(_plain, text.strip("\b\n").splitlines())) + "\n.fi"
    return _plain(" ".join(text.split()))


def _plain(text: str) -> str:
    """Text in which man sees nothing but text.

    >>> print(_plain("--seed .5 isn't\\\\nothing"))
    \\-\\-seed .5 isn\\(aqt\\enothing
    """
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{safe}" if safe.startswith(".") else safe


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
