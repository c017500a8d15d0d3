"""The command. Each subcommand lives in its own module and is imported when it is asked for."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module

import click

from accredit.core.errors import AccreditError
from accredit.core.version import __version__
from accredit.interrupts import CODE

COMMANDS = {  # name -> (module, one line of help)
    "explain": ("accredit.cli.explain", "Credit the words of a text or the parts of an image for a model's output."),
    "game": ("accredit.cli.game", "Share the payoff of a table of coalitions among its players."),
    "value": ("accredit.cli.value", "Find wrong labels, and rank training rows by what a model learned from them."),
    "trace": ("accredit.cli.trace", "Find the training texts that made a language model say something."),
    "compare": ("accredit.cli.compare", "Measure which explanations are faithful, and rank them."),
    "learn": ("accredit.cli.learn", "Train an explainer of one model once, then explain at the cost of one pass."),
    "audit": ("accredit.cli.audit", "Test whether attention explains an answer, and whether a chosen mask leaks it."),
    "serve": ("accredit.cli.serve", "Open a page on this machine: explain, flow, data and games."),
    "reproduce": ("accredit.cli.reproduce", "Run the papers' claims and tables, and print what holds."),
    "runs": ("accredit.cli.runs", "List, export and resume the runs of a journal."),
    "methods": ("accredit.cli.methods", "List every method, what it divides and which axioms it keeps."),
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
    """Run the command; errors made on purpose become one line on standard error and exit code 2."""
    try:
        accredit(prog_name="accredit", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else error.format_message())
        sys.exit(2)
    except click.UsageError as error:
        message = error.format_message()
        stop = "" if message.endswith((".", "?", "?)")) else "."
        click.echo(
            f"accredit: {message}{stop} See {error.ctx.command_path if error.ctx else 'accredit'} --help", err=True
        )
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"accredit: {error.format_message()}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(CODE)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (AccreditError, OSError) as error:
        click.echo(f"accredit: {error}", err=True)
        sys.exit(2)
