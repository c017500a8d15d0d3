"""`accredit game`: a table of coalitions and payoffs, explained."""

from __future__ import annotations

import json

import click

from accredit.cli.options import SEED, MethodName
from accredit.cli.output import NewFile, write_whole

METHOD = MethodName("game")


@click.command()
@click.argument("file", type=click.Path())
@click.option("--method", type=METHOD, default="shapley", show_default=True, help=METHOD.help)
@click.option(
    "--groups", help="Groups as players, for example 'stem=B+C,web=A'; with --method owen, groups to divide inside."
)
@click.option("--budget", type=click.IntRange(min=1), help="Payoffs that a sampled value may ask. Default: 2000.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of sampled values.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--html", "html_file", type=NewFile(), help="Also write the report as one self-contained HTML file.")
def game(
    file: str, method: str, groups: str | None, budget: int | None, seed: int, as_json: bool, html_file: str | None
) -> None:
    """Share the payoff of FILE among its players.

    FILE is a CSV with the columns coalition,payoff (coalitions like A+B, empty for nobody), or JSON.
    """
    from accredit import views
    from accredit.games import grouped, read_game, read_groups
    from accredit.values.report import report

    played = read_game(file)
    named = read_groups(groups) if groups else None
    inside = method == "owen"
    players = grouped(played, named) if named and not inside else played
    result = report(players, method, named if inside else None, budget=budget, seed=seed)
    if html_file:
        write_whole(
            html_file, views.game_page(result, f"Who earned what in {click.format_filename(file, shorten=True)}")
        )
    click.echo(json.dumps(result.to_plain(), ensure_ascii=False) if as_json else views.text(result))
    if html_file and not as_json:
        click.echo(f"\nwritten: {html_file}")
