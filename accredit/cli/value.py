"""`accredit value`: which training rows, or groups of rows, a model learned most from."""

from __future__ import annotations

import os

import click

from accredit.cli.options import MethodName
from accredit.cli.output import NewFile, write_whole

METHOD = MethodName("training data")
SHOWN = ("form", "html_file")  # where results go is not part of what is computed


@click.command()
@click.argument("file", type=click.Path())
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("--text", metavar="COLUMN", help="Learn from this column of texts, read by a frozen encoder.")
@click.option(
    "--test", default="0.25", show_default=True, metavar="FILE|FRACTION", help="Test rows: a file, or a share of FILE."
)
@click.option(
    "--task", type=click.Choice(["class", "number"]), help="What the target is. Default: inferred from its values."
)
@click.option("--method", type=METHOD, default="knn-shapley", show_default=True, help=METHOD.help)
@click.option(
    "--model", default="logistic", show_default=True, help="logistic, ridge, forest, or text: logistic on --text."
)
@click.option("--players", default="row", show_default=True, metavar="row|COLUMN", help="Who is valued.")
@click.option("--groups", metavar="COLUMN", help="With --method owen: rows of one group arrive together.")
@click.option(
    "--store", type=click.Path(), metavar="RUN.db", help="Keep every training here; the same command again resumes."
)
@click.option("--executor", metavar="WHERE", help="serial, threads:4, processes:4, dask or dask:tcp://host:8786.")
@click.option("--budget", type=click.IntRange(min=1), default=2000, show_default=True, help="Trainings to spend.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of splits and samples.")
@click.option(
    "--encoder", type=click.Path(), help="A folder with a Hugging Face encoder for --text; default: the built-in one."
)
@click.option("--curves/--no-curves", default=True, help="Also retrain along removal curves.")
@click.option("--json", "form", flag_value="json", help="Print one JSON object.")
@click.option("--csv", "form", flag_value="csv", help="Print one line per player.")
@click.option("--html", "html_file", type=NewFile(), help="Also write the report as one self-contained HTML file.")
@click.pass_context
def value(
    context: click.Context,
    file: str,
    target: str,
    text: str | None,
    test: str,
    task: str | None,
    method: str,
    model: str,
    players: str,
    groups: str | None,
    store: str | None,
    executor: str | None,
    budget: int,
    seed: int,
    encoder: str | None,
    curves: bool,
    form: str | None,
    html_file: str | None,
) -> None:
    """Value the training rows in FILE (.csv, .tsv or .parquet): who deserves credit for what a model learned?"""
    from accredit.core import InvalidInput
    from accredit.store import Journal
    from accredit.valuation.report import as_csv, value_table
    from accredit.valuation.tables import table
    from accredit.values.solver import progress
    from accredit.views.valuation import valuation_page, valuation_text

    if model == "text" and text is None:
        raise InvalidInput("--model text needs --text COLUMN")
    read = table(
        file, target, text=text, test=test, task=task, players=players, groups=groups, encoder=encoder, seed=seed
    )
    journal = Journal(store) if store else None
    run: int | None = None

    def started() -> None:
        nonlocal run
        if journal:
            run = journal.begin_run(_words(context), os.getcwd(), _words(context, shown=True))
            journal.describe(run, read.facts)

    try:
        with progress("training", budget) as bar:
            report = value_table(
                read,
                method,
                "logistic" if model == "text" else model,
                budget=budget,
                seed=seed,
                journal=journal,
                executor=executor,
                watch=bar.update,
                started=started,
                curves=curves,
            )
        if journal and run is not None:
            journal.end_run(run, report.values.to_json())
    except KeyboardInterrupt:
        if store:
            click.echo(f"what is trained is kept in {store}; the same command again resumes", err=True)
        raise
    finally:
        if journal:
            journal.close()
    if html_file:
        write_whole(html_file, valuation_page(report, f"Training data of {click.format_filename(file, shorten=True)}"))
    if form == "json":
        click.echo(report.to_json())
    elif form == "csv":
        click.echo(as_csv(report, None if read.groups else read.labels), nl=False)
    else:
        click.echo(valuation_text(report))
        if html_file:
            click.echo(f"\nwritten: {html_file}")


def _words(context: click.Context, shown: bool = False) -> list[str]:
    """The command line that gives these settings, in one order, so that the same run is recognised, also in a copy of
    its journal; or only the words that say where results go."""
    words = [] if shown else ["value"]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if given is None or given == parameter.get_default(context) or parameter.name == "store":
            continue
        if (parameter.name in SHOWN) != shown:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(given))
        elif parameter.name == "form":
            words.append(f"--{given}")
        elif isinstance(given, bool):
            words.append(parameter.opts[0] if given else parameter.secondary_opts[0])
        else:
            words += [parameter.opts[0], str(given)]
    return words
