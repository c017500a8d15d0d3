"""`accredit reproduce`: the papers' claims and tables, run here."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from accredit.cli.command import Commands
from accredit.cli.options import SEED, Amount, Count, NamedPath
from accredit.cli.output import NewFile, NewFolder, write, write_whole
from accredit.errors import AccreditError, InvalidInput

if TYPE_CHECKING:
    from accredit.arena.contest import Example
    from accredit_papers.questions_report import Reader
    from accredit_papers.report import Report

JSON = "accredit.json"  # where a context keeps --json, which no report needs to know
HTML = "accredit.html"  # and the file of --html
REPORTS = "accredit.reports"  # the reports of this call, of which `all` makes several


def _keep_form(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[JSON] = value or ctx.meta.get(JSON, False)


def _keep_html(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[HTML] = value or ctx.meta.get(HTML)


OPTIONS = [
    click.option(
        "--quick", is_flag=True, help="Fewer draws and examples: a look in seconds or minutes, not for quoting."
    ),
    click.option("--out", default="reports", show_default=True, type=NewFolder(), help="Folder for the report."),
    click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything random."),
    click.option("--json", "as_json", is_flag=True, expose_value=False, callback=_keep_form,
                 help="Print the verdicts as one JSON object per report."),
    click.option("--html", "html_file", type=NewFile(), expose_value=False, callback=_keep_html,
                 help="Also write one self-contained page."),
]  # fmt: skip
TEXTS = [
    click.option("--model", "models", multiple=True, default=["builtin"], show_default=True,
                 help="A classifier's folder; repeat it."),
    click.option("--data", "data_file", type=NamedPath(), help="A table with a column 'text'; default: 40 sentences."),
    click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Keep only these rows, for example split=dev."),
    click.option("--limit", type=Count(min=1), help="Use the first rows only."),
]  # fmt: skip
Command = Callable[..., None]


def _with(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """A decorator that gives a command several options, in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def _examples(data_file: str | None, where: tuple[str, ...], limit: int | None) -> list[Example]:
    """Rows of a file, or the sentences of this project."""
    from accredit.arena.texts import filters, read_examples, sample

    return read_examples(data_file, "text", None, limit, filters(where)) if data_file else sample()[:limit]


@click.group(cls=Commands, short_help="Run the papers' claims and tables; print what holds.")
def reproduce() -> None:
    """Run a paper's claims and print what holds."""


@reproduce.command(trials={"accredit reproduce chapter --quick": "what holds of a paper, measured"})
@_with(OPTIONS)
def chapter(quick: bool, out: str, seed: int) -> None:
    """Every worked problem of the chapter on credit attribution, with its errata."""
    from accredit_papers.chapter import chapter as run

    _finish(run(quick, seed), out)


@reproduce.command()
@click.option("--model", default="builtin", show_default=True, help="A folder with a Hugging Face classifier, or 'builtin'.")
@_with(TEXTS[1:])
@_with(OPTIONS)
def propositions(
    model: str, data_file: str | None, where: tuple[str, ...], limit: int | None, quick: bool, out: str, seed: int
) -> None:
    """Propositions 1 to 3 on attention, flows and leave-one-out, on a real model; sentences for flow and confidence."""
    from accredit.arena.texts import load
    from accredit_papers.propositions import propositions as run

    texts = [example.text for example in _examples(data_file, where, limit)]
    _finish(run(load(model), quick, seed, texts), out)


@reproduce.command()
@click.option("--model", default="builtin", show_default=True, help="A folder with a Hugging Face classifier, or 'builtin'.")
@_with(OPTIONS)
def choices(model: str, quick: bool, out: str, seed: int) -> None:
    """Players with several choices: values told apart by axioms; words, training rows and attention."""
    from accredit.arena.texts import load
    from accredit_papers.choices_report import choices_report

    _finish(choices_report(load(model), quick, seed), out)


@reproduce.command()
@TEXTS[0]
@click.option(
    "--data",
    "data_file",
    type=NamedPath(),
    help="A table with the columns text, label and split, such as sst2.tsv.gz: a bag of words learns from its training rows, "
    "and sentences of its other rows are explained; default: sentences of this project, no bag of words.",
)
@_with(OPTIONS)
def questions(models: tuple[str, ...], data_file: str | None, quick: bool, out: str, seed: int) -> None:
    """When leave-one-out is enough, what the payoff changes, and any player: what the slides leave open."""
    from accredit.arena.texts import load, sample
    from accredit_papers.questions_report import fit_bag_of_words, questions_report, split_texts

    readers: list[Reader] = [load(name) for name in models]
    texts, source = [example.text for example in sample()], "written for this project"
    if data_file:
        learned, texts = split_texts(data_file)
        readers.append(fit_bag_of_words(*learned))
        source = f"of {Path(data_file).name}, rows that are not for training, in file order"
    _finish(questions_report(readers, texts, quick, seed, source), out)


@reproduce.command()
@_with(TEXTS)
@_with(OPTIONS)
def flows(
    models: tuple[str, ...],
    data_file: str | None,
    where: tuple[str, ...],
    limit: int | None,
    quick: bool,
    out: str,
    seed: int,
) -> None:
    """How far attention flow is determined on real models, how often it collapses, and what it agrees with."""
    from accredit_papers.flows import flows as run

    examples = _examples(data_file, where, limit)
    _finish(run(models, examples[:4] if quick else examples, quick, seed), out)


@reproduce.command()
@click.option("--model", default="builtin", show_default=True, help="A folder with a Hugging Face classifier, or 'builtin'.")
@click.option(
    "--llm", type=NamedPath(file_okay=False, exists=True), help="A folder with a causal language model; default: none."
)
@click.option("--prompts", type=Count(min=2), default=20, show_default=True, help="Planted prompts for the language model.")
@click.option("--store", type=NamedPath(dir_okay=False), help="File that keeps finished texts: a stopped run goes on.")
@_with(TEXTS[1:])
@_with(OPTIONS)
def attention(
    model: str,
    llm: str | None,
    prompts: int,
    data_file: str | None,
    where: tuple[str, ...],
    limit: int | None,
    store: str | None,
    quick: bool,
    out: str,
    seed: int,
) -> None:
    """What attention flow is good for: against ablation, with and without the tokens that soak attention up."""
    from accredit.answers.planted import planted_prompt
    from accredit.arena.answers import answering
    from accredit.arena.texts import load
    from accredit_papers.attention_report import attention_report

    texts = [example.text for example in _examples(data_file, where, limit)]
    planted = [planted_prompt("plain", "places", seed=seed + k) for k in range(2 if quick else prompts)]
    language_model = answering(llm) if llm else None
    found = attention_report(load(model), texts[: 4 if quick else None], language_model, planted, seed, store)
    _finish(found, out)


@reproduce.command()
@click.option(
    "--data",
    required=True,
    type=NamedPath(file_okay=False),
    help="Folder with the Linzen sentences, GloVe and plain text.",
)
@click.option("--weights", type=NamedPath(), help="Folder of trained models: loaded if there, else written.")
@click.option(
    "--start",
    type=NamedPath(file_okay=False, exists=True),
    help="Folder of a pretrained BERT of six layers to begin with, such as all-MiniLM-L6-v2; default: at random.",
)
@click.option("--seeds", type=Count(min=1), help="Models to train, each from a seed of its own; default 3, quick 1.")
@_with(OPTIONS)
def agreement(data: str, weights: str | None, start: str | None, seeds: int | None, quick: bool, out: str, seed: int) -> None:
    """The verb-number study: attention, rollout and flow against blank-out, layer by layer."""
    from accredit_papers.agreement import agreement as run

    kept, begun = (Path(folder) if folder else None for folder in (weights, start))
    _finish(run(Path(data), kept, quick, seed, begun, seeds or (1 if quick else 3)), out)


@reproduce.command()
@_with(TEXTS)
@click.option("--longest", type=Count(min=1), help="Keep only texts of at most this many words.")
@click.option("--budget", type=Count(min=4), default=128, show_default=True, help="Payoffs of a game method.")
@click.option("--judge", multiple=True, help="Rank every model again, measured by this removal; repeat it.")
@click.option("--rows", type=Count(0, 100), default=40, show_default=True, help="Rows of the built-in table beside them.")
@click.option("--contexts", type=Count(min=0), default=6, show_default=True, help="Contexts of each kind of answer.")
@click.option("--store", type=NamedPath(), help="File that keeps finished rows.")
@click.option("--executor", default="serial", show_default=True, help="serial, processes:2, dask, or dask:tcp://host:8786.")
@_with(OPTIONS)
def arena(
    models: tuple[str, ...],
    data_file: str | None,
    where: tuple[str, ...],
    longest: int | None,
    limit: int | None,
    budget: int,
    judge: tuple[str, ...],
    rows: int,
    contexts: int,
    store: str | None,
    executor: str,
    quick: bool,
    out: str,
    seed: int,
) -> None:
    """Which explanation, when: every method on texts under every judge, on rows of a table and on answers."""
    from accredit.arena.texts import TextContest, filters, read_examples, sample
    from accredit.methods import COMPARED
    from accredit_papers.arena_report import arena_report

    chosen = filters(where)
    examples = read_examples(data_file, "text", None, limit, chosen, longest) if data_file else sample()[:limit]
    examples = examples[:4] if quick else examples
    subject = f"{len(examples)} sentences" + (f" of {Path(data_file).name}" if data_file else " written for this project")
    subject += "".join(f", {k} = {v}" for k, v in chosen.items()) + (
        f", at most {longest} words, in file order" if longest else ""
    )
    asked = [TextContest(COMPARED, model=name, budget=budget, seed=seed) for name in models]
    contests = [replace(contest, judge=removal) for contest in asked for removal in (None, *judge)]
    if quick:
        rows, contexts = min(rows, 2), min(contexts, 1)
    _finish(arena_report(contests, examples, store, executor, subject, quick, seed, rows, contexts), out)


@reproduce.command()
@click.option("--limit", type=Count(min=2), default=20, show_default=True, help="Contexts of each kind.")
@click.option("--budget", type=Count(min=4), default=64, show_default=True, help="Payoffs of a game method.")
@click.option("--store", type=NamedPath(), help="File that keeps finished rows.")
@click.option("--executor", default="serial", show_default=True, help="serial, processes:2, dask, or dask:tcp://host:8786.")
@_with(OPTIONS)
def answers(limit: int, budget: int, store: str | None, executor: str, quick: bool, out: str, seed: int) -> None:
    """Which passages earned an answer, where that is known: plain, redundant, joint and contradicting facts."""
    from accredit.arena.answers import AnswerContest
    from accredit.methods import COMPARED_ANSWERS
    from accredit_papers.answers_report import answers_report

    contest = AnswerContest(COMPARED_ANSWERS, passages=8 if quick else 16, budget=budget, seed=seed)
    _finish(answers_report(contest, 2 if quick else limit, store, executor, quick), out)


@reproduce.command()
@click.option("--model", default="builtin", show_default=True, help="A folder with a Hugging Face classifier, or 'builtin'.")
@click.option("--limit", type=Count(min=1), default=12, show_default=True, help="Sentences.")
@click.option("--budget", type=Count(min=4), default=64, show_default=True, help="Payoffs of a game method.")
@_with(OPTIONS)
def sanity(model: str, limit: int, budget: int, quick: bool, out: str, seed: int) -> None:
    """Does an explanation depend on what the model knows, and does it hold still? Random layers, nudged embeddings."""
    from accredit.arena.texts import TextContest, sample
    from accredit.methods import COMPARED
    from accredit_papers.sanity_report import sanity_report

    contest = TextContest(COMPARED, model=model, budget=budget, seed=seed)
    _finish(sanity_report(contest, sample()[: 2 if quick else limit], quick, seed), out)


@reproduce.command()
@click.option("--data", required=True, type=NamedPath(dir_okay=False), help="eraser_movies.jsonl.gz")
@click.option("--model", default="builtin", show_default=True, help="A folder with a Hugging Face classifier, or 'builtin'.")
@click.option("--limit", type=Count(min=1), help="Reviews; default: all of the test split.")
@_with(OPTIONS)
def plausibility(data: str, model: str, limit: int | None, quick: bool, out: str, seed: int) -> None:
    """Do people agree? Explanations of movie reviews against human rationales (ERASER)."""
    from accredit.checks.files import check_is_file
    from accredit_papers.plausibility_report import plausibility_report

    check_is_file(data)  # a pipe would be waited for
    _finish(plausibility_report(model, data, 3 if quick else limit, quick, seed), out)


@reproduce.command()
@click.option("--data", required=True, type=NamedPath(file_okay=False), help="Folder with the IMDB reviews and GloVe vectors.")
@click.option("--seeds", type=Count(min=1), help="Runs of each row; default 5, with --quick 2.")
@click.option("--first", is_flag=True, help="Choose nothing: take the first setting of every cure.")
@click.option("--further", is_flag=True, help="Also try longer training, wider heads and other clipping of Weighting.")
@click.option("--store", type=NamedPath(file_okay=False), help="Folder of finished runs; default: inside --out.")
@click.option("--workers", type=Count(min=1), default=2, show_default=True, help="Runs at the same time.")
@_with(OPTIONS)
def shortcuts(
    data: str,
    seeds: int | None,
    first: bool,
    further: bool,
    store: str | None,
    workers: int,
    quick: bool,
    out: str,
    seed: int,
) -> None:
    """Attention as a code for the answer, and two cures: Tables 1 and 2 of "Why is Attention Not So Attentive?"."""
    from accredit_papers.shortcuts import shortcuts as run

    kept = store or str(Path(out) / "shortcuts_runs")
    _finish(run(data, quick, seeds, seed, kept, workers, lambda line: click.echo(line, err=True), not first, further), out)


@reproduce.command()
@click.option(
    "--data",
    required=True,
    type=NamedPath(file_okay=False),
    help="Folder with the data files; docs/selection.md names them.",
)
@click.option("--sets", default="imdb,yelp,mnist,fashion", show_default=True, help="Data sets, separated by commas.")
@click.option(
    "--seeds", type=Count(min=1), help="Black boxes for each data set; default 3, with --whole 10 as in the paper, quick 1."
)
@click.option(
    "--scale",
    type=Amount(0.1, 100),
    default=1.0,
    show_default=True,
    help="Times the usual number of rows to learn from: 4,000 texts, 2,000 pictures.",
)
@click.option(
    "--whole",
    is_flag=True,
    help="Every training row of the data files, 5,000 test rows, settings of explainers chosen on training rows; hours. "
    "Smaller than the paper: 2 epochs, LIME on 100 or 150 inputs, Yelp of 10,000 reviews.",
)
@click.option(
    "--further", is_flag=True, help="Also try other settings of the explainers, on the first three seeds of every set."
)
@click.option("--finished", is_flag=True, help="Run nothing: report the black boxes that --store holds whole.")
@click.option("--store", type=NamedPath(dir_okay=False), help="File that keeps finished cells: a stopped run goes on.")
@click.option("--workers", type=Count(min=1), default=2, show_default=True, help="Processes.")
@_with(OPTIONS)
def selection(
    data: str,
    sets: str,
    seeds: int | None,
    scale: float,
    whole: bool,
    further: bool,
    finished: bool,
    store: str | None,
    workers: int,
    quick: bool,
    out: str,
    seed: int,
) -> None:
    """Which k words or pixels keep a black box's answer: eight methods, two of them cures of shortcuts (Table 3)."""
    from accredit_papers.selection import selection as run
    from accredit_papers.selection_runs import WHOLE

    if whole and (quick or scale != 1):
        raise InvalidInput("--whole has sizes of its own; leave out --quick and --scale", argument="whole", code="conflict")
    names = [name.strip() for name in sets.split(",") if name.strip()]
    count, sizes = seeds or (1 if quick else 10 if whole else 3), WHOLE if whole else None
    _finish(run(Path(data), names, quick, count, seed, store, workers, sizes, scale, finished, further), out)


DATA = {  # pages that need data, and where in the folder of --data these are
    "agreement": "",
    "plausibility": "eraser_movies.jsonl.gz",
    "shortcuts": "",
    "selection": "",
}


@reproduce.command(name="all")
@click.option(
    "--data",
    type=NamedPath(file_okay=False, exists=True),
    help="Folder with the data; without it, pages that need some are left out.",
)
@click.option("--pages", help="Only these pages, separated by commas.")
@_with(OPTIONS)
@click.pass_context
def every_page(context: click.Context, data: str | None, pages: str | None, quick: bool, out: str, seed: int) -> None:
    """Every page, one after the other; those that need data only with --data."""
    names = [name for name in reproduce.commands if name != "all" and (data or name not in DATA)]
    if pages:
        asked = [name.strip() for name in pages.split(",") if name.strip()]
        unknown = [name for name in asked if name not in names]
        if unknown or not asked:
            there = f"{'' if data else 'without --data '}there are {', '.join(names)}"
            raise InvalidInput(f"--pages names {', '.join(unknown) or 'nothing'}; {there}", argument="pages", code="unknown")
        names = asked
    failed, began = [], (time.perf_counter(), _cpu_seconds())
    for name in names:
        click.echo(f"\n{name}", err=True)
        place = ["--data", str(Path(data) / DATA[name])] if data and name in DATA else []
        words = [*place, *(["--quick"] if quick else []), "--out", out, *(["--seed", str(seed)] if seed else [])]
        try:
            with reproduce.commands[name].make_context(name, words, parent=context) as one:
                reproduce.commands[name].invoke(one)
        except AccreditError as error:
            failed.append(name)
            click.echo(f"! {name} did not run: {error}", err=bool(context.meta[JSON]))
    took, worked = ((after - before) / 60 for before, after in zip(began, (time.perf_counter(), _cpu_seconds()), strict=True))
    found = Counter(str(verdict.found) for report in context.meta.get(REPORTS, []) for verdict in report.verdicts)
    counts = ", ".join(f"{found[kind]} {said}" for kind, said in COUNTED.items())
    click.echo(f"\npages run: {len(names) - len(failed)}, in {took:.1f} minutes, {worked:.1f} of CPU: {counts}", err=True)
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(names)} pages did not run: {', '.join(failed)}")


def _cpu_seconds() -> float:
    """Of this process and of its workers that have ended."""
    return sum(os.times()[:4])


UNSEEN = (
    "out",
    "store",
    "workers",
    "executor",
    "as_json",
    "html_file",
    "quiet",
)  # options that do not change what a report says
COUNTED = {"holds": "statements hold", "refuted": "are refuted", "cannot tell": "cannot be told from so little"}


def _type_of() -> str:
    """The command as it was typed, which writes the same report again; of files and folders only the name is told."""
    context = click.get_current_context()
    words = ["accredit", "reproduce", str(context.info_name)]
    for option in context.command.params:
        name = str(option.name)
        if name in UNSEEN or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        given = context.params[name]
        for value in given if option.multiple else [given]:  # type: ignore[attr-defined]
            words.append(option.opts[0])
            if not isinstance(value, bool):
                is_path = isinstance(option.type, click.Path) or (name in ("model", "models") and "/" in str(value))
                words.append(shlex.quote(Path(str(value)).name if is_path else str(value)))
    return " ".join(words)


def _finish(report: Report, out: str) -> None:
    """Write a report, print its verdicts, and write the page of all reports so far, so that a stopped run leaves one."""
    from accredit_papers.report_views import report_page, report_text

    meta = click.get_current_context().meta
    report.command = _type_of()
    files: list[str | Path] = [*report.write(out)]
    reports = meta.setdefault(REPORTS, [])
    reports.append(report)
    click.echo(_as_json(report) if meta[JSON] else report_text(report))
    if meta[HTML]:
        write_whole(meta[HTML], report_page(reports))
        files.append(meta[HTML])
    for file in files:
        write(file)


def _as_json(report: Report) -> str:
    verdicts = [
        {"found": v.found, "said": v.said, "because": v.because, "section": v.section, "whose": v.whose or "text"}
        for v in report.verdicts
    ]
    return json.dumps({"report": report.name, "verdicts": verdicts}, ensure_ascii=False)
