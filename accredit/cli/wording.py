"""Messages of the library in the words of the command: an argument is called as its option is.

The library speaks of `most_background` and writes `budget=100`; whoever typed a command knows `--most-background` and writes
`--budget 100`. What an option is called is known to click, so this is the only place that translates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from accredit.errors import AccreditError

VALUE = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\([^)]*\)|[^\s,;)]+"""
ABOUT = r"(?= (?:is|are|must|has|holds|needs|names|belongs)\b)"  # what follows the argument that a message begins with


@contextmanager
def speaking_options(command: click.Command) -> Iterator[None]:
    """Errors from inside name options, not arguments."""
    try:
        yield
    except AccreditError as error:
        error.args = (in_options(str(error), error.argument, spell(command)), *error.args[1:])
        raise


def spell(command: click.Command) -> dict[str, str]:
    """Argument -> option."""
    options = (param for param in command.params if isinstance(param, click.Option))
    return {str(param.name): max(param.opts, key=len) for param in options}


def in_options(message: str, argument: str, options: Mapping[str, str]) -> str:
    """The message with options in place of arguments: the one that it is about, with which it begins, and those that it
    says to write. A word further on may be data, a column that happens to be called "text".

    >>> known = {"most_background": "--most-background", "methods": "--methods", "interactions": "--interactions"}
    >>> in_options("most_background is 0; write most_background=100", "most_background", known)
    '--most-background is 0; write --most-background 100'
    >>> in_options("leave it out, or write interactions=True and methods=['shapley', 'loo']", "", known)
    'leave it out, or write --interactions and --methods shapley,loo'
    """
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    about = rf"{re.escape(argument)}(?![\w=-])" if argument in options else rf"(?:{names}){ABOUT}"
    message = re.sub(rf"^{about}", lambda found: options[found[0]], message)
    wanted = rf"(?<![\w'\"/-])(?<!\w\()({names})=({VALUE})"  # not inside a call
    return re.sub(wanted, lambda found: _write(options[found[1]], found[2]), message)


def _write(option: str, value: str) -> str:
    """An option with its value, as it is typed.

    >>> _write("--methods", "('shapley',)"), _write("--target", "'very good'"), _write("--cut", "True")
    ('--methods shapley', "--target 'very good'", '--cut')
    """
    if value.strip("[]") in ("True", "…"):
        return option
    if value[0] in "[(":
        parts = [part.strip().strip("'\"") for part in value[1:-1].split(",")]
        return f"{option} {','.join(filter(None, parts))}"
    return f"{option} {value if ' ' in value else value.strip(chr(39) + chr(34))}"
