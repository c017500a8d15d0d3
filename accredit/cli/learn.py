"""`accredit learn`: fit an explainer once, then explain many inputs at the cost of one pass; and audit what was fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from accredit.core.errors import InvalidInput

FAST = "fast-shapley"


@click.group()
def learn() -> None:
    """Train an explainer of one model, use it, and test whether it can be trusted."""


@learn.command()
@click.argument("subject", metavar="FILE|FOLDER")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="The folder to write the explainer to.")
@click.option(
    "--model",
    help="A model folder or name, or a model file for rows. Default: the built-in one for texts and pictures.",
)
@click.option("--background", type=click.Path(), help="Rows: the table that rows are compared with.")
@click.option("--most-background", type=click.IntRange(min=1), help="Rows of the background that are used at most.")
@click.option("--trust", default="", help="Rows: types in a skops file that may be loaded, with commas between them.")
@click.option("--text", "column", help="The column of a CSV or TSV that holds the texts.")
@click.option("--target", multiple=True, help="Texts and pictures: an output to learn; may be repeated. Default: all.")
@click.option("--payoff", help="What is shared: log-odds, logit, probability, margin, or a regression's value.")
@click.option(
    "--players", help="Texts: word, token or sentence. Pictures: patches or a grid such as 4x4. Rows: groups as JSON."
)
@click.option("--removal", help="Texts and pictures: how players leave, as in `accredit explain`.")
@click.option("--limit", type=click.IntRange(min=1), help="Use the first inputs only.")
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Pairs of coalitions asked of each input.",
)
@click.option(
    "--calibration", type=click.IntRange(min=1), default=100, show_default=True, help="Inputs that set the intervals."
)
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True)
@click.option(
    "--per", type=click.Choice(["player", "drawn player", "row"]), help="What the level speaks of; see docs/learned.md."
)
@click.option(
    "--budget", type=click.IntRange(min=4), help="Payoffs for each calibration input. Default: exact for few players."
)
@click.option("--epochs", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--width", type=click.IntRange(min=1), help="Of the network.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def fit(
    subject: str, out: str, model: str | None, background: str | None, most_background: int | None, trust: str,
    column: str | None, target: tuple[str, ...], payoff: str | None, players: str | None, removal: str | None,
    limit: int | None, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Learn fast Shapley values from the rows or texts of FILE, or the pictures of FOLDER.

    Afterwards `accredit explain … --fast OUT` predicts them for inputs of the same model, with intervals that hold for inputs
    drawn like those of FILE.
    """
    from accredit.learned.fast_results import fit_fast_inputs, fit_fast_rows

    settings["progress"] = True
    if Path(out).is_file():
        raise InvalidInput(f"--out is {out!r}, which is a file; name a folder")
    if model is not None and _reads_rows(model):
        _refuse({"--text": column, "--target": target or None, "--removal": removal}, "is for texts and pictures")
        if background is None:
            raise InvalidInput("--background is missing; name a table of rows that rows are compared with")
        from accredit.cli.rows import read_rows

        rows, opened, compared = read_rows(subject, model, background, trust)
        groups = None if players is None else groups_of(players)
        fast = fit_fast_rows(rows[:limit], opened, compared, payoff=payoff, players=groups, most_background=most_background,
                             **settings)  # fmt: skip
    else:
        _refuse(
            {"--background": background, "--most-background": most_background, "--trust": trust or None}, "is for rows"
        )
        from accredit.cli.explain import players_of, removal_of

        inputs = read_inputs(subject, column)[:limit]
        fast = fit_fast_inputs(inputs, model, payoff=payoff, players=players_of(players), removal=removal_of(removal),
                               target=list(target) or None, **settings)  # fmt: skip
    fast.save(out)
    if as_json:
        click.echo(
            json.dumps({"folder": out, "kind": fast.kind, **fast.report, "calibration": fast.calibration.because})
        )
        return
    said = fast.report
    click.echo(
        f"learned from {said['trained on']:,} {fast.kind}: R² {said['r2']:.3f}, and the same first player in "
        f"{said['top-1']:.0%} of the calibration {fast.kind} ({said['calibration values']} values)\n"
        f"{said['stopped because']}\n"
        f"intervals: ±{said['half-width']:.0%} of a typical largest credit; {fast.calibration.because}"
    )
    click.echo(f"written: {out}; now `accredit explain … --fast {out}`", err=True)


def read_inputs(subject: str, column: str | None) -> list[Any]:
    """The texts of a file, or the pictures of a folder."""
    from accredit.explanation.rows import read_pictures, read_texts

    if Path(subject).is_dir():
        return list(read_pictures(subject))
    if not Path(subject).is_file():
        raise InvalidInput(
            f"there is no file or folder {subject!r}; give a file of texts, a table, or a folder of pictures"
        )
    return list(read_texts(subject, column))


def groups_of(players: str) -> dict[str, Any]:
    """Groups of columns from JSON."""
    try:
        groups = json.loads(players)
    except ValueError:
        groups = None
    if not isinstance(groups, dict):
        raise InvalidInput(
            f'--players is {players!r:.40}; for rows write groups as JSON, for example {{"person": ["age", "sex"]}}'
        )
    return groups


def _reads_rows(model: str) -> bool:
    from accredit.models.row_files import is_row_model_file

    return is_row_model_file(model)


def _refuse(given: dict[str, Any], why: str) -> None:
    wrong = next((name for name, value in given.items() if value is not None), None)
    if wrong is not None:
        raise InvalidInput(f"{wrong} {why}; leave it out")
