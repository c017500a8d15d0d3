"""The command. Each subcommand lives in its own module and is imported when it is asked for."""

from __future__ import annotations

import json
import os
import re
import sys
from errno import EDQUOT, ENOSPC
from importlib import import_module
from itertools import pairwise

import click

from accredit.cli.added import OpenGroup, check_installed
from accredit.cli.codes import BROKEN, CLOSED, DONE, ERRORS, INTERRUPTED, REFUSED
from accredit.cli.streams import leave_closed_pipe, open_streams
from accredit.core import plugins
from accredit.core.version import __version__
from accredit.errors import AccreditError
from accredit.interrupts import deaf

LONGEST = 300  # characters of one word in a message; a path may have 255 in each of its names
COMMANDS = {  # name -> (module, one line of help)
    "explain": ("accredit.cli.explain", "Which words, pixels, columns or passages led to an output?"),
    "cite": ("accredit.cli.cite", "Which passages say what a language model answered?"),
    "game": ("accredit.cli.game", "Who earned what in a table of coalitions?"),
    "flow": ("accredit.cli.flow", "How much flows through a table of edges, and what limits it?"),
    "value": ("accredit.cli.value", "Which labels are wrong, and what is each training row worth?"),
    "trace": ("accredit.cli.trace", "Which training texts made a language model say this?"),
    "compare": ("accredit.cli.compare", "Which explanation method to trust here, measured and ranked."),
    "audit": ("accredit.cli.audit", "Does attention explain an answer? Does a mask give it away?"),
    "learn": ("accredit.cli.learn", "Train an explainer once, then explain at the cost of one pass."),
    "serve": ("accredit.cli.serve", "All of it on a page of this machine."),
    "runs": ("accredit.cli.runs", "List, export and resume the runs of a journal."),
    "methods": ("accredit.cli.doctor", "Every method, by what it is good for."),
    "examples": ("accredit.cli.doctor", "Write small files, and say what to try with them."),
    "doctor": ("accredit.cli.doctor", "What is installed, what would fail, what to type."),
    "completion": ("accredit.cli.man", "Let bash, zsh or fish complete what you type."),
    "man": ("accredit.cli.man", "The manual page."),
}
SECTIONS = {  # of the help: the first command below each heading
    "explain": "Who earned what",
    "compare": "How far to trust it",
    "serve": "Look at it",
    "methods": "Find your way",
}


class LazyCommands(OpenGroup):
    """A group that knows its commands' names and help without importing them; other packages may add some."""

    own = COMMANDS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:  # an option of a command, written before it, is not an option of this one
            if (command := next((word for word in args if word in COMMANDS), None)) is None:
                raise
            raise click.UsageError(
                f"{error.option_name} stands before the command; options come behind it: "
                f"{ctx.command_path} {command} … {error.option_name}",
                ctx,
            ) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(added.name for added in self.added() if not added.problem)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            found = self.added(cmd_name)
            return found[0].get() if found else None  # type: ignore[no-any-return]
        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        from accredit.cli.command import check_known

        if args[0] not in COMMANDS:
            check_installed(args[0], ctx)
            check_known(args[0], ctx, [*COMMANDS, *(entry.name for entry in plugins.entries(plugins.COMMANDS))], "--version")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        begins = [*SECTIONS, None]
        names = list(COMMANDS)
        for first, after in pairwise(begins):
            assert first is not None
            listed = names[names.index(first) : names.index(after) if after else None]
            with formatter.section(SECTIONS[first]):
                formatter.write_dl([(f"{name:10}", COMMANDS[name][1]) for name in listed])
        if added := [one for one in self.added() if not one.problem]:
            with formatter.section("From other packages"):
                formatter.write_dl([(f"{one.name:10}", one.found.get_short_help_str(200)) for one in added])
        formatter.write("\nA first try:\n  accredit examples\n  accredit game examples/pricing.csv --html pricing.html\n")


@click.command(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="accredit")
def accredit() -> None:
    """Credit where it is due: which words, features, passages or training rows led to this output (SHAP values and other
    feature attributions), and how far to trust the answer."""


def main() -> None:
    """Run the command. Errors made on purpose become one line on standard error and exit code 2; whoever stops reading, or
    interrupts, ends it quietly."""
    open_streams()
    try:
        code = _run()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        leave_closed_pipe()
        code = CLOSED
    except KeyboardInterrupt:
        code = _interrupt()
    except OSError as error:  # the last words did not fit on the disk
        leave_closed_pipe()
        code = REFUSED if error.errno else BROKEN
    deaf()
    sys.exit(code)


def _run() -> int:
    """Parse, call, show; the exit code."""
    if instruction := os.environ.get("_ACCREDIT_COMPLETE"):
        from accredit.cli.man import complete

        return complete(accredit, instruction)
    try:
        with accredit.make_context("accredit", sys.argv[1:]) as context:
            accredit.invoke(context)
        return DONE
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
    except click.UsageError as error:
        message = error.format_message()
        stop_mark = "" if message.endswith((".", "?", "?)")) else "."
        typed = next((f"accredit {word}" for word in sys.argv[1:2] if word in COMMANDS), "accredit")
        path = error.ctx.command_path if error.ctx else typed
        _say(f"{message}{stop_mark}{_first_trial(message, path)} See {path} --help")
    except click.ClickException as error:
        _say(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return _interrupt()
    except BrokenPipeError:
        raise
    except AccreditError as error:
        _say(str(error), error.argument, error.code)
    except OSError as error:
        _say(_in_words(error))
    return REFUSED


def _in_words(error: OSError) -> str:
    """What the system refused, without the number that it has for it.

    >>> _in_words(OSError(28, "No space left on device"))
    'no space left on device; make room, or write elsewhere'
    >>> _in_words(PermissionError(13, "Permission denied", "notes.csv"))
    "'notes.csv': permission denied"
    """
    if not error.strerror:
        return str(error)
    place = "" if error.filename is None else f"{os.fsdecode(error.filename)!r}: "
    advice = "; make room, or write elsewhere" if error.errno in (ENOSPC, EDQUOT) else ""
    return f"{place}{error.strerror[0].lower()}{error.strerror[1:]}{advice}"


def _first_trial(message: str, path: str) -> str:
    """What can be typed where the words of a command are missing."""
    from accredit.cli.trials import trials_of

    known = trials_of(path) if message.startswith("Missing argument") else {}
    return "".join(f" Try {command} with the files of `accredit examples`." for command in list(known)[:1])


def _say(message: str, argument: str = "", code: str = "") -> None:
    """One line that can be read, whatever it holds: names may contain line breaks, and be of any length."""
    if os.environ.get(ERRORS) == "json":
        click.echo(json.dumps({"message": message, "argument": argument, "code": code}), err=True)
        return
    short = re.sub(rf"\S{{{LONGEST},}}", lambda word: f"{word[0][:40]}… ({len(word[0]):,} characters)", message)
    click.echo(f"accredit: {' '.join(short.splitlines())}", err=True)


def _interrupt() -> int:
    try:
        click.echo("interrupted", err=True)
    except OSError:  # nobody reads that either
        leave_closed_pipe()
    return INTERRUPTED
