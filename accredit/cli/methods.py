"""`accredit methods`: what there is, and what it may claim."""

from __future__ import annotations

import json
import shutil
import sys

import click

from accredit.cli.command import Command

PLACES = {"game": "G", "text": "T", "image": "I", "strings": "S", "answer": "A", "training data": "R"}
HEADER = ["method", "claims", "for", "divides", "also", "players", "cost", "note"]


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def methods(as_json: bool) -> None:
    """List every method, its other names, where it applies, what it divides and which axioms it keeps."""
    from accredit.core import Holds
    from accredit.methods import every_method
    from accredit.views.language.notation import AXIOM_NAMES, letters

    if as_json:
        click.echo(json.dumps({"methods": [method.to_plain() for method in every_method()]}, ensure_ascii=False))
        return
    rows = []
    for method in every_method():
        kept = letters(dict.fromkeys(method.axioms, Holds.EXACTLY))
        applies = "".join(letter if place in method.applies else "·" for place, letter in PLACES.items())
        also = ", ".join(method.aliases)
        rows.append([method.spelled, kept, applies, method.divides, also, method.players, method.cost.words, method.note])
    shown = len(HEADER)
    width = shutil.get_terminal_size().columns
    while sys.stdout.isatty() and shown > 4 and max(map(len, _table(rows, shown))) > width:
        shown -= 1
    click.echo("\n".join(_table(rows, shown)))
    click.echo(f"\nclaims: {AXIOM_NAMES};\nkept exactly by the value itself, before any sampling.")
    click.echo(
        "For: G games, T texts, I images, S models that read strings,\nA answers of language models, R rows of training data."
    )
    if shown < len(HEADER):
        click.echo(f"A wider window also shows: {', '.join(HEADER[shown:])}.")


def _table(rows: list[list[str]], columns: int) -> list[str]:
    """The first columns, as lines."""
    from accredit.views.terminal.columns import table

    return table(HEADER[:columns], [row[:columns] for row in rows], left=True)
