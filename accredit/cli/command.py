"""What every command shares: `--out` and `--quiet`, and a help in sections that ends with examples."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import click

from accredit.checks.files import put
from accredit.checks.suggestions import nearest
from accredit.cli.codes import ERRORS
from accredit.cli.output import NewFile, write
from accredit.cli.table_options import HEADING, TABLE_OPTIONS, reading_tables
from accredit.errors import AccreditError, InvalidInput


@contextmanager
def speaking_options(command: click.Command) -> Iterator[None]:
    """Errors from inside name options, not arguments; what an option is called is known to click."""
    try:
        yield
    except AccreditError as error:
        error.args = (in_options(str(error), error.argument, spell(command)), *error.args[1:])
        raise


def say_in_options(ctx: click.Context, note: str) -> str:
    """A note of the library, as the command shows it."""
    return in_options(note, "", spell(ctx.command))


def spell(command: click.Command) -> dict[str, str]:
    """Argument -> option."""
    options = (param for param in command.params if isinstance(param, click.Option))
    return {str(param.name): max(param.opts, key=len) for param in options}


def in_options(message: str, argument: str, options: Mapping[str, str]) -> str:
    """The message with options in place of arguments.

    >>> known = {"most_background": "--most-background", "methods": "--methods", "interactions": "--interactions"}
    >>> in_options("most_background is 0; write most_background=100", "most_background", known)
    '--most-background is 0; write --most-background 100'
    >>> in_options("leave it out, or write interactions=True and methods=['shapley', 'loo']", "", known)
    'leave it out, or write --interactions and --methods shapley,loo'
    """
    from accredit.views.language.arguments import as_option, in_words_of

    if os.environ.get(ERRORS) == "json":  # a program reads it, and has its own words
        return message
    return in_words_of(options, as_option, message, argument)


RESULT = ("--more", "--json", "--csv", "--html", "--out", "--seed", "--quiet", "--help")  # the last section, in this order
OUT, QUIET, MORE = "accredit.out", "accredit.quiet", "accredit.more"  # where a context keeps them


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        ctx.meta[f"accredit.{param.name}"] = value


def _share(prints: bool, cuts: bool) -> list[click.Option]:
    """Options of every command, of those that print a result, and of those that cut it to a screen."""
    quiet = click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Nothing but the result and errors: no progress, no notes.",
    )
    out = click.Option(
        ["--out"],
        type=NewFile(),
        expose_value=False,
        callback=_keep,
        help="Write to this file what would be printed, whole or not at all.",
    )
    more = click.Option(
        ["--more"],
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Everything: all rows and methods, claims and notes.",
    )
    return [*[more] * cuts, *[out] * prints, quiet]


def wants_more() -> bool:
    """Was everything asked for, and not one screen?"""
    return bool(click.get_current_context().meta.get(MORE))


class Topic(NamedTuple):
    """Options that few need together: the short help leaves them out, `--help WORD` shows them."""

    heading: str
    options: tuple[str, ...]


class Command(click.Command):
    """A command of accredit. Its help is short: options that belong to one of its `topics`, and those of tables, are shown by
    `--help TOPIC`. `prints=False` is for a command without a result to print, which has no use for --out; `cuts=True` for one
    whose result is cut to a screen unless --more is given; `trials` is what to type to try a command of another package, and
    what it answers."""

    def __init__(
        self,
        *arguments: Any,
        topics: Mapping[str, Topic] | None = None,
        prints: bool = True,
        cuts: bool = False,
        trials: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.trials = trials or {}
        own = {param.name for param in self.params}
        tables = {"tables": Topic(HEADING, tuple(TABLE_OPTIONS))} if own >= set(TABLE_OPTIONS) else {}
        self.topics: dict[str, Topic] = {**(topics or {}), **tables}
        self.params += [option for option in _share(prints, cuts) if option.name not in own]
        for param in self.params:
            if param.metavar is None and isinstance(param.type, click.IntRange | click.FloatRange):
                param.metavar = "N" if isinstance(param.type, click.IntRange) else "NUMBER"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._check_once(ctx, args)
        with speaking_options(self):
            return super().parse_args(ctx, args)

    def _check_once(self, ctx: click.Context, args: list[str]) -> None:
        """An option that holds one value is written once: of two values, one would be dropped without a word."""
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for param, times in Counter(param for param in given if isinstance(param, click.Option)).items():
            if times > 1 and not (param.multiple or param.count or (param.is_flag and not param.secondary_opts)):
                raise click.UsageError(f"{param.opts[-1]} is given {times} times; write it once", ctx)

    def invoke(self, ctx: click.Context) -> object:
        with ExitStack() as stack:
            stack.enter_context(speaking_options(self))
            if ctx.meta.get(QUIET):
                stack.enter_context(redirect_stderr(io.StringIO()))
            if (path := ctx.meta.pop(OUT, None)) is not None:
                check_ending(path, ctx.params.get("form") == "csv")
                stack.enter_context(to_file(path))
            stack.enter_context(reading_tables(ctx))
            return super().invoke(ctx)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        if not self.topics:
            return super().get_help_option(ctx)
        return click.Option(
            ["-h", "--help"],
            is_flag=False,
            flag_value="",
            is_eager=True,
            expose_value=False,
            type=click.Choice(["", *self.topics]),
            metavar=f"[{self.topic_word}]",
            callback=_show_help,
            help=f"{self.topic_help}: {', '.join(self.topics)}.",
        )

    topic_word, topic_help = "TOPIC", "More options"

    def format_topic(self, ctx: click.Context, topic: str) -> str:
        """The help of one topic: the usage and its options."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        with formatter.section(self.topics[topic].heading):
            formatter.write_dl(self.records_of(ctx, self.topics[topic].options), col_max=24)
        return formatter.getvalue().rstrip("\n")

    def records_of(self, ctx: click.Context, names: Iterable[str]) -> list[tuple[str, str]]:
        """What the help says of these options, in this order."""
        options = {param.name: param for param in self.params if isinstance(param, click.Option)}
        found = (options[name].get_help_record(ctx) for name in names if name in options)
        return [record for record in found if record is not None]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, options in (("Options", self.usual(ctx)), ("Result", self._of_results(ctx))):
            if shown := [record for option in options if (record := option.get_help_record(ctx)) is not None]:
                with formatter.section(heading):
                    formatter.write_dl(shown)

    def usual(self, ctx: click.Context) -> list[click.Option]:
        """The options that the short help shows, but for those of the result."""
        elsewhere = {name for topic in self.topics.values() for name in topic.options}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        return [option for option in options if option.name not in elsewhere and not set(option.opts) & set(RESULT)]

    def _of_results(self, ctx: click.Context) -> list[click.Option]:
        """What all commands have."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        return [option for name in RESULT for option in options if name in option.opts]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from accredit.cli.trials import lines_of

        if trials := what_to_try(ctx):
            with formatter.section("Examples, with the files of `accredit examples`"):
                for command, answers in trials.items():
                    formatter.write("\n".join(lines_of(command, answers)) + "\n")


def _show_help(ctx: click.Context, param: click.Parameter, topic: str | None) -> None:
    if topic is None or ctx.resilient_parsing:
        return
    command = ctx.command
    assert isinstance(command, Command)
    click.echo(command.format_topic(ctx, topic) if topic else command.get_help(ctx), color=ctx.color)
    ctx.exit()


def what_to_try(ctx: click.Context) -> dict[str, str]:
    """What can be typed to try a command, and what it answers."""
    from accredit.cli.trials import trials_of

    brought = ctx.command.trials if isinstance(ctx.command, Command) else {}
    return {**trials_of(ctx.command_path), **brought}


class Commands(click.Group):
    """A command that has commands: listed in the order of their definition, each with its whole first sentence."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        check_known(args[0], ctx, self.commands)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in self.commands.items()])


def check_known(given: str, ctx: click.Context, commands: Iterable[str], *options: str) -> None:
    """Refuse what is not among the commands, with the one that was probably meant or with all of them."""
    known = list(commands)
    if given not in known and not given.startswith("-"):
        near = nearest(given, [*known, *options, "--help"])
        advice = f"did you mean {near}?" if near else f"the commands are {', '.join(known)}"
        raise click.UsageError(f"there is no command {given!r}; {advice}", ctx)


def check_ending(path: str, is_csv: bool = False) -> None:
    """Refuse a file whose name promises a table where text or JSON would be written into it."""
    ending = Path(path).suffix.lower()
    if ending in (".csv", ".tsv", ".parquet") and not (is_csv and ending == ".csv"):
        raise InvalidInput(
            f"out is {path!r}, and what would be written is not such a table; end its name in .txt, or in .json or .jsonl for "
            "JSON",
            argument="out",
            code="format",
        )


@contextmanager
def to_file(path: str) -> Iterator[None]:
    """What is printed inside goes to this file once it is complete; an error leaves the file as it was."""
    with redirect_stdout(io.StringIO()) as printed:
        yield
    put(path, printed.getvalue().encode("utf-8", "accredit"))
    write(path)
