"""`accredit methods`: what there is, by what it is good for."""

from __future__ import annotations

import json

import click

from accredit.cli.command import Command, wants_more
from accredit.methods import Method


@click.command(cls=Command, cuts=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a list.")
def methods(as_json: bool) -> None:
    """List every method by what it is good for; with --more also its other names, where it applies, what it divides and which
    axioms it keeps."""
    from accredit.methods import GOOD_FOR, every_method
    from accredit.views.terminal.screen import fold

    known = {method.name: method for method in every_method()}
    if as_json:
        click.echo(json.dumps({"methods": [method.to_plain() for method in known.values()]}, ensure_ascii=False))
        return
    placed = {name for names in GOOD_FOR.values() for name in names}
    groups = {**GOOD_FOR, "From other packages": tuple(name for name in known if name not in placed)}
    lines = ["Start with shapley; leave-one-out is its cheap check. --more says more of each."]
    for heading, names in groups.items():
        there = [known[name] for name in names if name in known]
        if not there:
            continue
        if wants_more():
            lines += ["", heading, *(line for method in there for line in _whole(method))]
        else:
            lines += [heading, *fold(", ".join(method.spelled for method in there), indent="  ")]
    click.echo("\n".join(lines))


def _whole(method: Method) -> list[str]:
    """One method: what it is, then what is known of it."""
    from accredit.views.terminal.screen import fold

    also = f" (also {', '.join(method.aliases)})" if method.aliases else ""
    divides = method.divides.removeprefix("nothing: ")
    gives = f"gives scores: {divides}" if divides != method.divides else f"divides {divides}"
    kept = ", ".join(method.axioms) or "no axiom"
    said = f"{method.note[:1].upper()}{method.note[1:]}. " if method.note else ""
    words = f"{said}For {', '.join(method.applies)}; {gives}; keeps: {kept}; cost: {method.cost.words}."
    return [f"  {method.spelled}{also}", *fold(words, indent="      ")]
