"""`accredit game`: a table of coalitions and payoffs, explained."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from accredit.checks.tables import Sheet, is_table, read_sheet, warn_notes
from accredit.cli.command import Command, wants_more
from accredit.cli.options import SEED, Count, MethodName, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.table_options import table_options
from accredit.core import Attribution, Attributions
from accredit.errors import InvalidInput
from accredit.methods import find

METHOD = MethodName("game")


@click.command(cls=Command, cuts=True)
@click.argument("file", type=NamedPath())
@table_options
@click.option("--method", type=METHOD, default="shapley", show_default=True, help=METHOD.help)
@click.option(
    "--groups",
    help="Groups as players, for example 'stem=B+C,web=A'; with --method owen or banzhaf-owen, groups to divide inside.",
)
@click.option("--order", help="With --method asymmetric: who comes before whom, for example 'A, B < C; A < D', or JSON.")
@click.option(
    "--rule",
    help="Of a table of choices: orders, dividends, vertices, weights:1,2, roll-calls or bolger. Default: the first four, or "
    "bolger for names.",
)
@click.option("--budget", type=Count(min=1), help="Payoffs that a sampled value may ask. Default: 2000.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of sampled values.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--html", "html_file", type=NewFile(), help="Also write the report as one self-contained HTML file.")
def game(
    file: str,
    method: str,
    groups: str | None,
    order: str | None,
    rule: str | None,
    budget: int | None,
    seed: int,
    as_json: bool,
    html_file: str | None,
) -> None:
    """Share the payoff of FILE among its players.

    FILE is a CSV with the columns coalition,payoff (coalitions like A+B, empty for nobody; left out, nobody earns 0), or
    JSON. A table with one column per player and one named payoff is a game of several choices: levels 0, 1, 2, … or names.
    """
    from accredit import views
    from accredit.games import grouped, read_groups
    from accredit.games.choices import has_choices, plain_payoffs
    from accredit.games.files import read_filled
    from accredit.values.report import report

    sheet = plain_payoffs(read_sheet(file)) if is_table(file) else None
    if sheet is not None and has_choices(sheet):
        other = None if method == "shapley" else method
        warn_notes(sheet)
        idle: dict[str, object] = {
            "--groups": groups,
            "--order": order,
            "--html": html_file,
            "--budget": budget,
            "--method": other,
        }
        credit = _of_choices(sheet, rule, idle)
        click.echo(credit.to_json() if as_json else views.text(credit, more=wants_more()))
        return
    if rule is not None:
        raise InvalidInput(
            f"--rule {rule} is for a table of choices, with one column per player; {file!r} lists coalitions",
            argument="rule",
            code="misplaced",
        )

    played, nobody_left_out = read_filled(file if sheet is None else sheet, nobody=0)
    named = read_groups(groups) if groups else None
    inside = "groups" in find(method, "game").method.takes
    players = grouped(played, named) if named and not inside else played
    result = report(players, method, named if inside else None, order=order, budget=budget, seed=seed)
    if nobody_left_out:
        result = replace(result, reading=("The table has no payoff for nobody; it is taken as 0.", *result.reading))
    if sheet is not None:
        result = replace(result, reading=(*sheet.notes, *result.reading))
    if html_file:
        write_whole(html_file, views.game_page(result, click.format_filename(file, shorten=True)))
    click.echo(json.dumps(result.to_plain(), ensure_ascii=False) if as_json else views.text(result, more=wants_more()))
    if html_file:
        write(html_file)


def _of_choices(sheet: Sheet, rule: str | None, given: dict[str, object]) -> Attribution | Attributions:
    """The credit of a game of several choices."""
    from accredit.games.choices import choices_in, is_ordered
    from accredit.values import bolger, multichoice, multichoices, roll_calls

    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"{option} does not go with {sheet.file!r}, a table of choices; use --rule", code="misplaced")
    game = choices_in(sheet)
    if rule == "bolger" or (rule is None and not is_ordered(game)):
        return bolger(game)
    if not is_ordered(game):
        raise InvalidInput(
            f"--rule {rule} needs levels 0, 1, 2, … and {sheet.file!r} names alternatives; write --rule bolger",
            argument="rule",
            code="conflict",
        )
    if rule is None:
        return multichoices(game)
    if rule == "roll-calls":
        return roll_calls(game)
    name, colon, numbers = rule.partition(":")
    if name == "weights" and not colon:
        some = ",".join(str(k) for k in range(1, max(len(levels) for levels in game.levels)))
        raise InvalidInput(
            f"--rule weights needs a weight for every level; write for example --rule weights:{some}", code="missing"
        )
    try:
        weights = [float(word) for word in numbers.split(",")] if colon else None
    except ValueError:
        raise InvalidInput(
            f"--rule {rule} needs numbers after the colon; write for example weights:1,2", argument="rule", code="type"
        ) from None
    return multichoice(game, name, weights=weights)
