"""`accredit methods`: what there is, and what it may claim."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def methods(as_json: bool) -> None:
    """List every method, what it divides and which axioms it keeps."""
    from accredit.methods import METHODS
    from accredit.views.text import table

    if as_json:
        click.echo(json.dumps({"methods": [asdict(method) for method in METHODS]}, ensure_ascii=False))
        return
    marks = ("efficiency", "symmetry", "null player", "linearity")
    rows = []
    for method in METHODS:
        kept = "".join(axiom[0].upper() if axiom in method.axioms else "·" for axiom in marks)
        rows.append([method.name, kept, method.players, method.divides, method.note])
    click.echo("\n".join(table(["method", "ESNL", "players", "divides", "note"], rows, left=True)))
    click.echo("\nE efficiency, S symmetry, N null player, L linearity: kept exactly by the value itself; · not kept.")
