"""`accredit value`: which labels are wrong, and which training rows, or groups of rows, a model learned most from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from accredit import defaults
from accredit.cli.command import Command, Topic, say_in_options, wants_more
from accredit.cli.options import SEED, Amount, Count, MethodName, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.table_options import said_of, table_options
from accredit.methods import find

if TYPE_CHECKING:
    from accredit.training_data.report import DataReport, Valuation
    from accredit.training_data.tables import Table

METHOD = MethodName("training data")
SHOWN = ("form", "html_file", "out", "out_as")  # where results go is not part of what is computed


TOPICS = {
    "labels": Topic("Which labels are wrong", ("task", "identity", "annotators", "out_as")),
    "values": Topic(
        "What each row is worth",
        ("test", "folds", "players", "prices", "groups", "budget", "half_width", "split_seed", "curves"),
    ),
    "networks": Topic("Networks and language models", ("layers", "memory")),
    "runs": Topic("Long runs", ("store", "executor", "limit")),
}


@click.command(cls=Command, cuts=True, topics=TOPICS)
@click.argument("file", type=NamedPath())
@table_options
@click.option("--target", metavar="COLUMN", help="The column to predict. A language model (--model FOLDER) needs none.")
@click.option("--text", metavar="COLUMN", help="Learn from this column of texts instead of all other columns.")
@click.option(
    "--features",
    "seen_as",
    multiple=True,
    metavar="NAME",
    help="How texts become numbers: tfidf (the default), encoder:FOLDER, encoder:builtin, glove:FILE, or a FILE of vectors, "
    "one for each row (.npy, .npz or a table). Several stand side by side.",
)
@click.option(
    "--only",
    type=click.Choice(["labels", "values"]),
    help="Ask one question only: which labels are wrong, or what rows are worth.",
)
@click.option(
    "--test",
    show_default="0.25, 2000 rows at most",
    metavar="FILE|FRACTION",
    help="Test rows: a file, or a share of FILE.",
)
@click.option(
    "--folds",
    type=Count(min=2),
    help="With knn-shapley: value every row of FILE, each a test row in one of N folds. Tells more than one split; takes N "
    "times as long.",
)
@click.option(
    "--task",
    type=click.Choice(["class", "number", "tags"]),
    help="What the target is; tags stand between | ; or commas, and are judged, not valued. Default: inferred from its values.",
)
@click.option("--id", "identity", metavar="COLUMN", help="The column that names the rows; nothing is learned from it.")
@click.option(
    "--annotators",
    multiple=True,
    metavar="COLUMN",
    help="Who labelled: the column that says it; or, given several times, a column of labels for each annotator, without "
    "--target. Lines of one --id are labels of one row.",
)
@click.option("--method", type=METHOD, default="knn-shapley", show_default=True, help=METHOD.help)
@click.option(
    "--model",
    default="logistic",
    show_default=True,
    metavar="NAME|FOLDER",
    help="logistic, ridge, forest; finetune:FOLDER, a pretrained Hugging Face model whose last block is fine-tuned on texts "
    "of every coalition; or a folder with a fine-tuned classifier or language model: the influence of its training rows.",
)
@click.option(
    "--layers", multiple=True, metavar="PATTERN", help="With --model FOLDER: look at these layers only, e.g. '*.mlp.*'."
)
@click.option(
    "--memory",
    type=Amount(min=0, min_open=True),
    default=2.0,
    show_default=True,
    metavar="GB",
    help="With --model FOLDER: what may be held; more is refused beforehand.",
)
@click.option("--players", default="row", show_default=True, metavar="row|COLUMN", help="Who is valued.")
@click.option(
    "--prices",
    multiple=True,
    metavar="COLUMN|NAME=PRICE",
    help="With --players COLUMN: what each group costs, in a column or one by one. Says what to buy for each amount of money.",
)
@click.option("--groups", metavar="COLUMN", help="With --method owen: rows of one group arrive together.")
@click.option("--store", type=NamedPath(), metavar="RUN.db", help="Keep every training here; the same command again resumes.")
@click.option("--executor", metavar="WHERE", help="serial, threads:4, processes:4, dask or dask:tcp://host:8786.")
@click.option("--budget", type=Count(min=1), show_default="2000, or what --half-width takes", help="Trainings to spend.")
@click.option(
    "--half-width",
    type=Amount(min=0, min_open=True),
    metavar="H",
    help="How near most values must be. The number of trainings needed is estimated from the first 130; a smaller --budget is "
    "refused. With knn-shapley: a bound for every value; neighbours are looked at only as far as it takes.",
)
@click.option(
    "--limit",
    type=Amount(min=0, min_open=True),
    metavar="SECONDS",
    help="The longest that one training may take; a coalition that takes longer is quarantined.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of samples and trainings.")
@click.option(
    "--split-seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Of the split, where --test is a share.",
)
@click.option("--curves/--no-curves", default=True, help="Also retrain along removal curves.")
@click.option("--json", "form", flag_value="json", help="Print one JSON object.")
@click.option("--csv", "form", flag_value="csv", help="Print one line per player; with --only labels, per row.")
@click.option("--out", type=NewFile(), metavar="FILE", help="Also write the rows with what was found about their labels.")
@click.option(
    "--out-as",
    type=click.Choice(["annotated", "dropped", "relabelled", "label-studio", "argilla"]),
    default="annotated",
    show_default=True,
    help="With --out: all rows with probabilities, without the suspects, with the labels suggested for them, or tasks (.json) "
    "of a labelling tool.",
)
@click.option("--html", "html_file", type=NewFile(), help="Also write the report as one self-contained HTML file.")
@click.pass_context
def value(
    context: click.Context,
    file: str,
    target: str | None,
    text: str | None,
    seen_as: tuple[str, ...],
    only: str | None,
    test: str | None,
    folds: int | None,
    task: str | None,
    method: str,
    model: str,
    layers: tuple[str, ...],
    memory: float,
    players: str,
    prices: tuple[str, ...],
    groups: str | None,
    store: str | None,
    executor: str | None,
    budget: int | None,
    half_width: float | None,
    limit: float | None,
    seed: int,
    split_seed: int,
    curves: bool,
    identity: str | None,
    annotators: tuple[str, ...],
    form: str | None,
    out: str | None,
    out_as: str,
    html_file: str | None,
) -> None:
    """Ask two questions about the training rows in FILE (.csv, .tsv, .jsonl or .parquet): which labels are wrong, and what is
    each row worth for what a model learned?"""
    from accredit.errors import InvalidInput
    from accredit.store.frames import read_frame
    from accredit.training_data.finetuned import is_language_model, language_report, value_classifier
    from accredit.training_data.label_export import check_form, write_labels
    from accredit.training_data.label_files import is_voted, tags_of_file, votes_of_file
    from accredit.training_data.report import DataReport, as_csv, labels_csv, labels_part
    from accredit.training_data.tables import table
    from accredit.values.solver import progress
    from accredit.views.pages.valuation_page import report_page
    from accredit.views.terminal.valuation_text import report_text

    folder = model if Path(model).is_dir() else None
    _check_idle(context, folder, only)
    if folds and test is not None:
        raise InvalidInput(
            f"--folds {folds} makes test rows of all rows, and --test {test} chooses some; leave one of them out",
            argument="folds",
            code="conflict",
        )
    if form == "csv" and only is None:
        only = "values"  # one table in one file: its lines are players
    settings: dict[str, Any] = {"layers": layers or None, "memory": memory * 1e9, "seed": seed}
    say = partial(say_in_options, context)
    labels = None
    if out:
        check_form(out, out_as)
    voted = is_voted(file, annotators, identity)
    rows: tuple[Any, Sequence[str]] | None = None  # the table that is written, and the names of its rows
    if voted or task == "tags":
        if only != "labels":
            what = _several(annotators, identity) if voted else "--task tags"
            raise InvalidInput(
                f"{what} can be judged, but not valued; add --only labels",
                argument="only",
                code="missing",
            )
        if annotators and not voted:
            raise InvalidInput(
                "--annotators does not go with --task tags; judge each annotator's tags by themselves",
                argument="annotators",
                code="conflict",
            )
        looked: dict[str, Any] = {"text": text, "seen_as": seen_as, "identity": identity, "seed": seed}
        with progress("judging labels", 1.0) as bar:
            if voted:
                found, seen = votes_of_file(file, annotators, target=target, watch=bar.update, **looked)
            else:
                found, seen = tags_of_file(file, _needed(target), watch=bar.update, **looked)
        report, rows = DataReport(found, None, notes=seen.notes), (seen.frame, seen.names)
    elif folder and only != "labels" and is_language_model(folder):
        with progress("following gradients", 1.0) as bar:
            report = language_report(
                folder,
                file,
                text,
                target,
                test=test,
                players=players,
                split_seed=split_seed,
                watch=bar.update,
                **settings,
            )
    else:
        read = table(
            file,
            _needed(target),
            text=text,
            test=test,
            task=task,
            players=players,
            groups=groups,
            prices=_read_prices(prices),
            seen_as=seen_as,
            identity=identity,
            annotator=annotators[0] if annotators else None,
            seed=split_seed,
        )
        labels = None if read.groups else read.whole.labels if folds else read.labels
        with progress("judging labels", 1.0) as bar:
            report = labels_part(read, only, seed, bar.update)
        read = replace(read, judged=report.labels)
        rows = (read_frame(file, codes=target), read.whole.names) if out else None
        report = replace(report, unanswered=say(report.unanswered), notes=tuple(map(say, report.notes)))
        if report.labels is not None:
            report = replace(report, labels=replace(report.labels, notes=tuple(map(say, report.labels.notes))))
        if folder and only != "labels":
            with progress("following gradients", 1.0) as bar:
                worth, notes = value_classifier(folder, read, watch=bar.update, **settings)
            report = replace(report, worth=worth, notes=report.notes + tuple(map(say, notes)))
        elif only != "labels":
            report = replace(report, worth=_value(context, read, report))
    if out:
        if report.labels is None or rows is None:
            raise InvalidInput(
                f"--out writes what was found about labels, and that is not known: {report.unanswered or 'it was not asked'}",
                argument="out",
                code="conflict",
            )
        write_labels(report.labels, *rows, out, out_as, target=target, text=text)
    if html_file:
        write_whole(html_file, report_page(report, click.format_filename(file, shorten=True)))
    if form == "json":
        click.echo(report.to_json())
    elif form == "csv" and report.worth is not None:
        click.echo(as_csv(report.worth, labels), nl=False)
    elif form == "csv" and report.labels is not None:
        click.echo(labels_csv(report.labels), nl=False)
    else:
        click.echo(report_text(report, more=wants_more()))
    for written in filter(None, (out, html_file)):
        write(written)


def _several(annotators: Sequence[str], identity: str | None) -> str:
    """Why a file is taken to hold several labels per row."""
    if len(annotators) > 1:
        return f"labels of {len(annotators)} annotators for each row"
    return f"several labels per row (lines of --annotators {annotators[0]} with the same --id {identity})"


def _needed(target: str | None) -> str:
    if target is None:
        from accredit.errors import InvalidInput

        raise InvalidInput("--target COLUMN is missing: which column is to be predicted?", argument="target", code="missing")
    return target


def _read_prices(given: tuple[str, ...]) -> str | dict[str, float] | None:
    """A column of prices, or one price after the other."""
    from accredit.errors import InvalidInput

    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    found: dict[str, float] = {}
    for words in given:
        name, sign, price = words.rpartition("=")
        try:
            found[name] = float(price)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise InvalidInput(
                f"--prices {words!r} is not NAME=PRICE; write for example --prices acme=120 --prices bits=80, or one column",
                argument="prices",
                code="type",
            )
    return found


def _value(context: click.Context, read: Table, report: DataReport) -> Valuation:
    """What the rows are worth, journalled where asked; the answer about labels is noted in the journal, too."""
    from accredit.store import Journal
    from accredit.training_data.worth import value_table
    from accredit.values.solver import progress

    given = context.params
    journal = Journal(given["store"]) if given["store"] else None
    run: int | None = None
    found = None if report.labels is None else report.labels.to_plain()
    facts = read.facts | {"wrong labels": found, "unanswered": report.unanswered}

    def started() -> None:
        nonlocal run
        if journal:
            run = journal.begin_run(_words(context), os.getcwd(), _words(context, shown=True))
            journal.describe(run, facts)

    try:
        with progress(*_steps(given, read)) as bar:

            def told(words: str, trainings: int) -> None:
                bar.expect(trainings)
                if words:
                    click.echo(say_in_options(context, words), err=True)

            worth = value_table(
                read,
                given["method"],
                given["model"],
                budget=given["budget"],
                half_width=given["half_width"],
                seed=given["seed"],
                journal=journal,
                executor=given["executor"],
                limit=given["limit"],
                watch=bar.update,
                started=started,
                told=told,
                curves=given["curves"],
                folds=given["folds"],
            )
        worth = replace(worth, warnings=tuple(say_in_options(context, warning) for warning in worth.warnings))
        if journal and run is not None:
            journal.describe(run, facts | {"warnings": list(worth.warnings)})
            journal.end_run(run, worth.values.to_json())
        return worth
    except KeyboardInterrupt:
        if given["store"]:
            click.echo(f"what is trained is kept in {given['store']}; the same command again resumes", err=True)
        raise
    finally:
        if journal:
            journal.close()


def _steps(given: dict[str, Any], read: Table) -> tuple[str, int]:
    """What is counted while values are found, and how many of it there are."""

    if not find(given["method"], "training data").method.trains and read.groups is None:
        return "judging by test rows", len(read.whole.names) if given["folds"] else len(read.data.test_y)
    return "training", given["budget"] or defaults.BUDGET


def _check_idle(context: click.Context, folder: str | None, only: str | None) -> None:
    """Refuse options that would change nothing."""
    from accredit.errors import InvalidInput

    idle: dict[str, str] = {}
    if not folder:
        idle |= dict.fromkeys(("layers", "memory"), "goes with --model FOLDER, and --model names no folder")
    if folder:
        trains = "is about training models anew, and --model FOLDER asks one that is trained"
        idle |= dict.fromkeys(
            ("store", "executor", "limit", "budget", "half_width", "groups", "prices", "curves", "folds"), trains
        )
        if context.params["method"] != "influence":
            idle["method"] = "is not for a fine-tuned model, whose rows are valued by influence"
    elif not find(context.params["method"], "training data").method.trains and context.params["players"] == "row":
        idle |= dict.fromkeys(("budget", "limit"), f"is about trainings, and {context.params['method']} needs none")
    if not context.params["out"]:
        idle["out_as"] = "says how --out FILE is written, and there is none"
    if only == "values":
        idle |= dict.fromkeys(("out", "annotators"), "is about labels, and --only values does not ask about them")
    if only == "labels":
        idle |= dict.fromkeys(
            ("method", "budget", "half_width", "store", "executor", "limit", "players", "groups", "prices", "curves", "folds"),
            "is about values, and --only labels asks for none",
        )
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in idle and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InvalidInput(f"{parameter.opts[0]} {idle[name]}; leave it out", code="misplaced")


def _words(context: click.Context, shown: bool = False) -> list[str]:
    """The command line that gives these settings, in one order, so that the same run is recognised, also in a copy of
    its journal; or only the words that say where results go."""
    words = [] if shown else ["value"]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "", said_of(context, parameter.name or ""))
        if given in (None, ()) or given == parameter.get_default(context) or parameter.name == "store":
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
            for one in given if isinstance(given, tuple) else (given,):
                words += [parameter.opts[0], str(one)]
    return words
