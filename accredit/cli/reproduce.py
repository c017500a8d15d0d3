"""`accredit reproduce`: the papers' claims and tables, run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

OPTIONS = [
    click.option("--quick", is_flag=True, help="Fewer draws and examples: a look in seconds or minutes, not for quoting."),
    click.option("--out", default="reports", show_default=True, type=click.Path(), help="Folder for the report."),
    click.option("--seed", default=0, show_default=True),
]  # fmt: skip


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.group()
def reproduce() -> None:
    """Run a paper's claims and print what holds."""


@reproduce.command()
@_with_options
def chapter(quick: bool, out: str, seed: int) -> None:
    """Every worked problem of the chapter on credit attribution, with its errata."""
    from accredit.experiments.chapter import chapter as run

    _finish(run(quick, seed), out)


def _finish(report: Any, out: str) -> None:
    files = report.write(out)
    for verdict in report.verdicts:
        click.echo(f"{'✓' if verdict.holds else '✗'} {verdict.statement}\n    {verdict.evidence}")
    click.echo("written: " + ", ".join(str(file) for file in files))
