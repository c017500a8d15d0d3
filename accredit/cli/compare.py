"""`accredit compare`: which explanation should I trust, measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accredit.cli.command import Command, Topic, wants_more
from accredit.cli.options import SEED, Count, MethodNames, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.models.builtin.facts import KINDS, PASSAGES_AT_MOST

if TYPE_CHECKING:
    from accredit.arena.answers import AnswerContest
    from accredit.arena.contest import Example
    from accredit.arena.row_files import RowFileContest
    from accredit.arena.standings import Standings
    from accredit.arena.texts import TextContest

OF_TEXTS = ("data_file", "text", "target", "where", "longest", "players", "payoff", "judge")  # not for --answers
OF_ROWS = ("background", "trust")
NOT_OF_ROWS = ("answers", "passages", "text", "target", "where", "longest", "players", "removal", "judge")
CONTEXTS = 20  # fresh contexts with --answers


TOPICS = {
    "inputs": Topic("Which inputs", ("text", "target", "where", "longest", "passages", "background", "trust")),
    "measures": Topic("How they are measured", ("metrics", "players", "payoff", "removal", "judge", "budget")),
    "runs": Topic("Long runs", ("store", "executor")),
}


@click.command(cls=Command, cuts=True, topics=TOPICS)
@click.option(
    "--model",
    default="builtin",
    show_default=True,
    help="A folder with a Hugging Face classifier (with --answers: a language model), a model file for rows, or 'builtin'.",
)
@click.option(
    "--answers",
    type=click.Choice(KINDS),
    help="Answers from fresh contexts of facts, laid out like this, instead of texts.",
)
@click.option("--passages", type=Count(1, PASSAGES_AT_MOST), help="Facts in each context, with --answers; default: 16.")
@click.option(
    "--data",
    "data_file",
    type=NamedPath(),
    help="CSV, TSV or JSONL (also .gz), one text per row; default: 40 sentences. With a model file: a table of rows.",
)
@click.option("--background", type=NamedPath(), help="Rows: the table that rows are compared with.")
@click.option("--trust", default="", help="Types in a skops file that may be loaded, with commas between them.")
@click.option("--text", default="text", show_default=True, help="The column with the texts.")
@click.option("--target", help="The column with the label to explain; default: what the model predicts.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Keep only these rows, for example split=dev.")
@click.option(
    "--limit",
    type=Count(min=1),
    help="Use the first rows only; with --answers: how many contexts (20).",
)
@click.option("--longest", type=Count(min=1), help="Keep only texts of at most this many words.")
@click.option("--methods", type=MethodNames("explain"), help=MethodNames.help)
@click.option("--metrics", help="Metrics, separated by commas.")
@click.option("--players", default="word", show_default=True, type=click.Choice(["word", "token", "sentence"]))
@click.option("--payoff", default="probability", show_default=True, help="What is explained and measured.")
@click.option("--removal", help="How players leave: mask, delete, attention, pad or zero; answers: rebuild, attention.")
@click.option("--judge", help="Measure by this removal instead of the one that the methods use.")
@click.option("--budget", type=Count(min=4), help="Payoffs that each game method may ask.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything random.")
@click.option("--store", type=NewFile(), help="File that keeps finished rows, so that a killed run goes on where it left off.")
@click.option("--executor", default="serial", show_default=True, help="serial, processes:2, dask, or dask:tcp://host:8786.")
@click.option("--html", "html_file", type=NewFile(), help="Also write the table with curves as one HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def compare(
    ctx: click.Context,
    model: str,
    answers: str | None,
    passages: int | None,
    data_file: str | None,
    background: str | None,
    trust: str,
    text: str,
    target: str | None,
    where: tuple[str, ...],
    limit: int | None,
    longest: int | None,
    methods: tuple[str, ...] | None,
    metrics: str | None,
    players: str,
    payoff: str,
    removal: str | None,
    judge: str | None,
    budget: int | None,
    seed: int,
    store: str | None,
    executor: str,
    html_file: str | None,
    as_json: bool,
) -> None:
    """Run methods on a data set, measure how faithful they are, and rank them.

    Random explanations and an oracle are always in the table. With --store, rows that are done are kept: the same command
    continues a run that was killed and ends with the same table. With --answers the inputs are questions about facts, and it
    is known which passages hold the answer. With a model file the inputs are rows of a table; there, values of games compete
    with trained explainers (fast-shapley:FOLDER, selector:FOLDER).
    """
    from accredit.arena.contest import DEFAULT_METRICS, metrics_named
    from accredit.arena.row_files import hold
    from accredit.arena.texts import TextContest, filters, read_examples, sample
    from accredit.methods import COMPARED
    from accredit.models.row_files import is_row_model_file
    from accredit.views.terminal.arena_text import seconds_text, text_table

    contest: TextContest | AnswerContest | RowFileContest
    examples: list[Example]
    if is_row_model_file(model):
        _refuse(ctx, NOT_OF_ROWS, "is not for rows; leave it out")
        contest = _on_rows(ctx, model, data_file, background, trust, methods, metrics, payoff, budget, seed)
        examples, subject = contest.examples(limit), Path(contest.data).name
    elif answers:
        _refuse(ctx, OF_ROWS, "is for rows; leave it out")
        _refuse(ctx, OF_TEXTS, "is for texts, and --answers makes its own contexts of facts; leave one of them out")
        contest = _on_answers(model, answers, passages, methods, metrics, removal, budget, seed)
        examples, subject = contest.examples(limit or CONTEXTS), f"{limit or CONTEXTS} contexts of {answers} facts"
    else:
        _refuse(ctx, OF_ROWS, "is for rows; leave it out")
        _refuse(ctx, ("passages",), "is for --answers; write for example --answers plain")
        examples = read_examples(data_file, text, target, limit, filters(where), longest) if data_file else sample()[:limit]
        contest = TextContest(
            model=model,
            methods=methods or COMPARED,
            metrics=tuple(m.name for m in metrics_named(_read_list(metrics) or DEFAULT_METRICS)),
            players=players,
            payoff=payoff,
            removal=removal,
            budget=budget,
            seed=seed,
            judge=judge,
        )
        subject = Path(data_file).name if data_file else f"{len(examples)} built-in sentences"
    contest.check()
    table = hold(contest, examples, store, executor)
    if as_json:
        click.echo(json.dumps(table.to_plain(), ensure_ascii=False))
    else:
        click.echo(text_table(table, wants_more()))
        if wants_more():
            click.echo(seconds_text(table), err=True)
    if html_file:
        _write_page(table, html_file, model, subject)


def _refuse(ctx: click.Context, names: tuple[str, ...], why: str) -> None:
    """Refuse options that were written and mean nothing here."""
    from click.core import ParameterSource

    spelled = {option.name: option.opts[0] for option in ctx.command.params}
    for name in names:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{spelled[name]} {why}")


def _on_answers(
    model: str,
    kind: str,
    passages: int | None,
    methods: tuple[str, ...] | None,
    metrics: str | None,
    removal: str | None,
    budget: int | None,
    seed: int,
) -> AnswerContest:
    from accredit.arena.answers import ABLATIONS, AnswerContest
    from accredit.arena.contest import ANSWER_METRICS, metrics_named
    from accredit.methods import COMPARED_ANSWERS

    named = tuple(m.name for m in metrics_named(_read_list(metrics) or ANSWER_METRICS))
    return AnswerContest(
        methods or COMPARED_ANSWERS,
        kind,
        passages or PASSAGES_AT_MOST,
        model,
        named,
        removal or "rebuild",
        budget or ABLATIONS,
        seed,
    )


def _on_rows(
    ctx: click.Context,
    model: str,
    data: str | None,
    background: str | None,
    trust: str,
    methods: tuple[str, ...] | None,
    metrics: str | None,
    payoff: str,
    budget: int | None,
    seed: int,
) -> RowFileContest:
    from click.core import ParameterSource

    from accredit.arena.contest import DEFAULT_METRICS, metrics_named
    from accredit.arena.row_files import COMPARED_ROWS, RowFileContest

    if data is None or background is None:
        missing = "--data" if data is None else "--background"
        raise click.UsageError(f"{missing} is missing; rows need --data rows.csv and --background train.csv")
    named = tuple(m.name for m in metrics_named(_read_list(metrics) or DEFAULT_METRICS))
    usual = ctx.get_parameter_source("payoff") is not ParameterSource.COMMANDLINE
    trusted = tuple(filter(None, trust.split(",")))
    return RowFileContest(
        methods or COMPARED_ROWS, model, data, background, named, None if usual else payoff, budget, seed, trusted
    )


def _read_list(words: str | None) -> tuple[str, ...]:
    """Names between commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in (words or "").split(",") if name.strip()))


def _write_page(table: Standings, html_file: str, model: str, subject: str) -> None:
    from accredit.views.pages.arena_page import arena_page

    asked_of = "the built-in model" if model == "builtin" else Path(model).name
    write_whole(html_file, arena_page(table, f"{asked_of} on {subject}"))
    write(html_file)
