"""How the tables of a command are written: options of every command that reads one, and notes on how they were read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, get_args

import click

from accredit.checks.numbers import shown
from accredit.checks.table_format import DELIMITERS, Percent, TableFormat, TableNote, written_as
from accredit.errors import InvalidInput

P = ParamSpec("P")
R = TypeVar("R")
HEADING = "How a table is written, where the file does not tell"
TABLE_OPTIONS: dict[str, dict[str, Any]] = {
    "delimiter": {"metavar": "MARK", "help": f"What is between cells: {', '.join(DELIMITERS.values())}, or any other mark."},
    "decimal": {"type": click.Choice([".", ","]), "help": "The decimal mark of its numbers."},
    "encoding": {"metavar": "NAME", "help": "For example cp1252 or utf-16."},
    "index": {"metavar": "COLUMN", "help": "A column that only numbers or names the rows; none: read all columns."},
    "missing": {"multiple": True, "metavar": "WORD", "help": "A word that stands for a missing value; may be repeated."},
    "truth": {"metavar": "WORDS", "help": "The words for true and false, for example ja,nein."},
    "percent": {"type": click.Choice(get_args(Percent)), "help": "What 5% is: the number 5, or the fraction 0.05."},
}


def table_options(command: Callable[P, R]) -> Callable[P, R]:
    """A command with these options; what is typed goes to whatever reads a table."""
    for name, offer in reversed(TABLE_OPTIONS.items()):
        command = click.option(f"--{name}", name, expose_value=False, callback=_keep, **offer)(command)
    return command


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        ctx.meta[f"accredit.table.{param.name}"] = value


def said_of(ctx: click.Context, name: str) -> Any:
    """What was typed for one of these options."""
    return ctx.meta.get(f"accredit.table.{name}")


def check_no_table(subject: str | None) -> None:
    """Refuse what was typed about a table where none is read."""
    ctx = click.get_current_context()
    typed = next((name for name in TABLE_OPTIONS if said_of(ctx, name) is not None), None)
    if typed is not None:
        raise InvalidInput(
            f"{typed} is about a table in a file, and {shown(subject)} is not one; leave it out",
            argument=typed,
            code="misplaced",
        )


@contextmanager
def reading_tables(ctx: click.Context) -> Iterator[None]:
    """Tables are read as was typed, and what a result cannot say about that is said beside it."""
    said = {name: value for name in TABLE_OPTIONS if (value := said_of(ctx, name)) is not None}
    if "truth" in said:
        said["truth"] = tuple(word.strip() for word in said["truth"].split(","))
    with written_as(TableFormat(**said)), warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("always", TableNote)

        def tell(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, TableNote):
                click.echo(str(message), err=True)
            else:
                show(message, category, *where, **more)

        warnings.showwarning = tell
        yield
