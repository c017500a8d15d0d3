"""`accredit methods`: what there is, and what it may claim."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def methods(as_json: bool) -> None:
    """List every method, what it divides and which axioms it keeps."""
    from accredit.core import Holds
    from accredit.methods import METHODS
    from accredit.views.notation import AXIOM_NAMES, letters

    if as_json:
        click.echo(json.dumps({"methods": [asdict(method) for method in METHODS]}, ensure_ascii=False))
        return
    rows = []
    for method in METHODS:
        kept = letters(dict.fromkeys(method.axioms, Holds.EXACTLY))
        rows.append([method.name, kept, method.divides, method.players, method.note])
    header = ["method", "claims", "divides", "players", "note"]
    shown = len(header)
    while (
        sys.stdout.isatty()
        and shown > 3
        and max(map(len, _table(header, rows, shown))) > shutil.get_terminal_size().columns
    ):
        shown -= 1
    click.echo("\n".join(_table(header, rows, shown)))
    click.echo(f"\nclaims: {AXIOM_NAMES};\nkept exactly by the value itself, before any sampling.")
    if shown < len(header):
        click.echo(f"A wider window also shows: {', '.join(header[shown:])}.")


def _table(header: list[str], rows: list[list[str]], columns: int) -> list[str]:
    """The first columns, as lines."""
    from accredit.views.columns import table

    return table(header[:columns], [row[:columns] for row in rows], left=True)
