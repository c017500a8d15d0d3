"""The command. Each subcommand lives in its own module and is imported when it is asked for."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from accredit.cli.streams import leave_closed_pipe, open_streams
from accredit.core.errors import AccreditError
from accredit.core.version import __version__
from accredit.interrupts import CODE, deaf

LONGEST = 300  # characters of one word in a message; a path may have 255 in each of its names
CLOSED = 141  # what shells report for a command whose reader has gone
COMMANDS = {  # name -> (module, one line of help)
    "explain": ("accredit.cli.explain", "Credit the words of a text or the parts of an image for a model's output."),
    "game": ("accredit.cli.game", "Share the payoff of a table of coalitions among its players."),
    "flow": ("accredit.cli.flow", "Maximum flow, or flow of least cost, through a table of edges, with its proof."),
    "value": ("accredit.cli.value", "Find wrong labels, and rank training rows by what a model learned from them."),
    "trace": ("accredit.cli.trace", "Find the training texts that made a language model say something."),
    "compare": ("accredit.cli.compare", "Measure which explanations are faithful, and rank them."),
    "learn": ("accredit.cli.learn", "Train an explainer of one model once, then explain at the cost of one pass."),
    "audit": ("accredit.cli.audit", "Test whether attention explains an answer, and whether a chosen mask leaks it."),
    "serve": ("accredit.cli.serve", "Open a page on this machine: explain, flow, data and games."),
    "reproduce": ("accredit.cli.reproduce", "Run the papers' claims and tables, and print what holds."),
    "runs": ("accredit.cli.runs", "List, export and resume the runs of a journal."),
    "methods": ("accredit.cli.methods", "List every method, what it divides and which axioms it keeps."),
    "examples": ("accredit.cli.examples", "Write small files to try every command with."),
    "doctor": ("accredit.cli.doctor", "Show versions, what is installed and what would fail."),
}


class LazyCommands(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.5)
            advice = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="accredit")
def accredit() -> None:
    """Credit where it is due: which tokens, features, training rows or data sets earned this output, and how far to trust
    the answer."""


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
        code = _interrupted()
    except OSError as error:  # the last words did not fit on the disk
        leave_closed_pipe()
        code = 2 if error.errno else 1
    deaf()
    sys.exit(code)


def _run() -> int:
    """Parse, call, show; the exit code."""
    try:
        with accredit.make_context("accredit", sys.argv[1:]) as context:
            accredit.invoke(context)
        return 0
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
    except click.UsageError as error:
        message = error.format_message()
        stop_mark = "" if message.endswith((".", "?", "?)")) else "."
        _say(f"{message}{stop_mark} See {error.ctx.command_path if error.ctx else 'accredit'} --help")
    except click.ClickException as error:
        _say(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except BrokenPipeError:
        raise
    except (AccreditError, OSError) as error:
        _say(str(error))
    return 2


def _say(message: str) -> None:
    """One line that can be read, whatever it holds: names may contain line breaks, and be of any length."""
    short = re.sub(rf"\S{{{LONGEST},}}", lambda word: f"{word[0][:40]}… ({len(word[0]):,} characters)", message)
    click.echo(f"accredit: {' '.join(short.splitlines())}", err=True)


def _interrupted() -> int:
    click.echo("interrupted", err=True)
    return CODE
