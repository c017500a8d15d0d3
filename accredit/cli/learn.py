"""`accredit learn`: fit an explainer once, then explain many inputs at the cost of one pass; and audit what was fitted."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accredit import defaults
from accredit.cli.command import Commands, Topic, wants_more
from accredit.cli.options import SEED as SEEDS
from accredit.cli.options import Amount, Count, NamedPath
from accredit.cli.output import NewFile, NewFolder, write, write_whole
from accredit.cli.table_options import table_options
from accredit.cli.typed import groups_of, players_of, removal_of, split_at_commas
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.audit.saved import Thirds
    from accredit.checks.json_data import Facts
    from accredit.core import IntArray
    from accredit.explanation.requests import Settings
    from accredit.learned.tasks import Task

FAST = "fast-shapley"
SELECTORS = (
    "l2x",
    "l2x+answer",
    "vibi",
    "invase",
    "realx",
    "l2x+pretraining",
    "l2x+weighting",
    "l2x+answer+pretraining",
    "l2x+answer+weighting",
    "cxplain",
)
OF_FAST = (
    "background",
    "most_background",
    "target",
    "payoff",
    "players",
    "removal",
    "pairs",
    "calibration",
    "level",
    "per",
    "budget",
    "width",
)
MODEL = click.option(
    "--model",
    help="A model folder or name, or a model file for rows. Default: the built-in one for texts and pictures.",
)
TRUST = click.option(
    "--trust",
    "trusted",
    multiple=True,
    callback=lambda ctx, param, value: split_at_commas(value),
    help="Types in a skops file that may be loaded, with commas between them.",
)
COLUMN = click.option("--text", "column", help="The column of a CSV or TSV that holds the texts.")
LIMIT = click.option("--limit", type=Count(min=1), help="Use the first inputs only.")
SEED = click.option("--seed", type=SEEDS, default=0, show_default=True, help="Of everything random.")


@click.group(cls=Commands)
def learn() -> None:
    """Train an explainer of one model, use it, and test whether it can be trusted."""


TOPICS = {
    "players": Topic("Who plays, and what is shared", ("target", "payoff", "players", "removal", "most_background")),
    "training": Topic(
        "How it is trained",
        ("pairs", "calibration", "level", "per", "budget", "width", "epochs", "preset", "encoder", "device"),
    ),
}


@learn.command(topics=TOPICS)
@click.argument("subject", metavar="FILE|FOLDER")
@click.option("--out", required=True, type=NewFolder(), help="The folder to write the explainer to.")
@click.option(
    "--method",
    type=click.Choice([FAST, *SELECTORS]),
    default=FAST,
    metavar="METHOD",
    help=f"{FAST} (default); or a selector: {', '.join(SELECTORS)}.",
)
@click.option("-k", "--k", type=Count(min=1), help="Selectors: how many players are shown.")
@MODEL
@TRUST
@COLUMN
@table_options
@LIMIT
@click.option("--background", type=NamedPath(), help="Rows: the table that rows are compared with.")
@click.option("--most-background", type=Count(min=1), help="Rows of the background that are used at most.")
@click.option("--target", multiple=True, help="Texts and pictures: an output to learn; may be repeated. Default: all.")
@click.option("--payoff", help="What is shared: log-odds, logit, probability, margin, or a regression's value.")
@click.option(
    "--players", help="Texts: word, token or sentence. Pictures: patches or a grid such as 4x4. Rows: groups as JSON."
)
@click.option("--removal", help="Texts and pictures: how players leave, as in `accredit explain`.")
@click.option("--pairs", type=Count(min=1), default=16, show_default=True, help="Of coalitions, per input.")
@click.option("--calibration", type=Count(min=1), default=100, show_default=True, help="Inputs for intervals.")
@click.option("--level", type=Amount(0, 1, min_open=True, max_open=True), default=defaults.LEVEL, show_default=True)
@click.option("--per", type=click.Choice(["player", "rank", "drawn player", "row"]), help="What the level speaks of.")
@click.option("--budget", type=Count(min=4), help="Payoffs per calibration input. Default: exact for few players.")
@click.option("--width", type=Count(min=1), help="Of the network.")
@click.option("--epochs", type=Count(min=1), help="Default: 200 for fast-shapley; for selectors as in docs/learned.md.")
@click.option("--preset", type=click.Choice(["paper"]), help="Selectors: the published settings instead of the defaults.")
@click.option("--encoder", is_flag=True, help="Selectors: start from the encoder of --model (BERT-like, ViT).")
@click.option("--device", help="Selectors: where networks are trained, for example cuda. Default: cpu.")
@SEED
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def fit(
    ctx: click.Context,
    /,
    subject: str,
    out: str,
    method: str,
    k: int | None,
    model: str | None,
    trusted: tuple[str, ...],
    column: str | None,
    limit: int | None,
    epochs: int | None,
    preset: str | None,
    encoder: bool,
    device: str | None,
    seed: int,
    as_json: bool,
    **fast: Any,
) -> None:
    """Train an explainer on the rows or texts of FILE, or the pictures of FOLDER.

    fast-shapley predicts Shapley values, with intervals that hold for inputs drawn like those of FILE; afterwards
    `accredit explain … --fast OUT` uses it. The other methods select the k players that reveal the answer; they may leak it, so
    run `accredit learn audit` on rows that they were not trained on.
    """
    if method == FAST:
        if k is not None:
            raise InvalidInput(
                "--k is for selectors; fast-shapley credits every player, so leave it out", argument="k", code="misplaced"
            )
        _refuse({"--preset": preset, "--encoder": encoder or None, "--device": device}, "is for selectors")
        _fit_fast(subject, out, model, trusted, column, limit, as_json, epochs=epochs or 200, seed=seed, **fast)
        return
    spelled = {option.name: option.opts[0] for option in ctx.command.params}
    for name in OF_FAST:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise InvalidInput(f"{spelled[name]} is for --method fast-shapley; leave it out for {method}", code="misplaced")
    task = _task(subject, model, trusted, column, limit)(None)
    _fit_selector(method, task, out, k, _settings(method, task, k, epochs, preset, encoder, device), seed, as_json)


def _fit_fast(
    subject: str,
    out: str,
    model: str | None,
    trusted: tuple[str, ...],
    column: str | None,
    limit: int | None,
    as_json: bool,
    *,
    background: str | None,
    most_background: int | None,
    target: tuple[str, ...],
    players: str | None,
    payoff: str | None,
    removal: str | None,
    **settings: Any,
) -> None:
    from accredit.learned.fast_results import fit_fast_inputs, fit_fast_rows

    settings["progress"] = True
    if model is not None and _reads_rows(model):
        _refuse({"--text": column, "--target": target or None, "--removal": removal}, "is for texts and pictures")
        if background is None:
            raise InvalidInput(
                "--background is missing; name a table of rows that rows are compared with",
                argument="background",
                code="missing",
            )
        from accredit.explanation.requests import RowRequest
        from accredit.store.frames import read_frame, warn_reading

        request = RowRequest(
            background=warn_reading(read_frame(background)),
            players=None if players is None else groups_of(players),
            payoff=payoff,
            most_background=most_background,
            trusted=trusted,
            budget=settings.pop("budget"),
            seed=settings.pop("seed"),
        )
        fast = fit_fast_rows(warn_reading(read_frame(subject))[:limit], model, request=request, **settings)
    else:
        _refuse({"--background": background, "--most-background": most_background}, "is for rows")
        inputs = read_inputs(subject, column)[:limit]
        named: Settings = {"players": players and players_of(players), "removal": removal and removal_of(removal)}
        named |= {"payoff": payoff, "target": list(target) or None}
        fast = fit_fast_inputs(inputs, model, **named, **settings)
    fast.save(out)
    said = fast.report
    if as_json:
        click.echo(json.dumps({"folder": out, "kind": fast.kind, **said, "calibration": fast.calibration.because}))
        return
    click.echo(
        f"learned from {said['trained on']:,} {fast.kind}: R² {said['r2']:.3f}, and the same first player in "
        f"{said['top-1']:.0%} of the calibration {fast.kind} ({said['calibration values']} values)\n"
        f"{said['stopped because']}\n"
        f"intervals: ±{said['half-width']:.0%} of a typical largest credit; {fast.calibration.because}"
    )
    click.echo(f"written: {out}; now `accredit explain … --fast {out}`", err=True)


def _settings(
    method: str, task: Task, k: int | None, epochs: int | None, preset: str | None, encoder: bool, device: str | None
) -> Settings:
    """What a recipe is given beside its inputs."""
    from dataclasses import replace

    from accredit.learned.recipes import defaults, paper_settings

    said = {name: value for name, value in (("epochs", epochs), ("device", device)) if value is not None}
    if method == "cxplain":
        _refuse({"--encoder": encoder or None, "--device": device}, "is for selectors with a surrogate, not for cxplain")
        return said | ({"preset": preset} if preset else {})
    settings: Settings = {"preset": preset} if preset else {}
    training = (paper_settings(method, task.inputs) if preset else defaults(task.inputs, k))["training"]
    if encoder:
        if task.network is None:
            raise InvalidInput(
                "--encoder is for texts and pictures of a Hugging Face model; leave it out for rows",
                argument="encoder",
                code="misplaced",
            )
        settings["encoder"] = task.network
        training = replace(training, optimiser="adam", rate=2e-4)  # larger steps break what an encoder has learned
    if epochs is not None:
        training = replace(training, epochs=epochs)
    if device is not None:
        training = replace(training, device=device)
    return settings | ({"training": training} if said or encoder else {})


def _fit_selector(method: str, task: Task, out: str, k: int | None, settings: Settings, seed: int, as_json: bool) -> None:
    from accredit.learned.tasks import fit_selector

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(f"{method}: "))  # doubts, which are printed below
        trained = fit_selector(method, task, k, seed=seed, progress=True, **settings)
    trained.save(out)
    history = _history(trained)
    doubts, stopped = [*task.notes, *history.get("doubts", ())], history["stopped_because"]
    if as_json:
        click.echo(json.dumps({"folder": out, "method": method, "rule": trained.rule(), "stopped": stopped, "doubts": doubts}))
        return
    click.echo(f"{method}: {trained.rule()}\n{stopped}")
    for doubt in doubts:
        click.echo(f"  ! {doubt}")
    click.echo(f"written: {out}; before you believe it: `accredit learn audit {out} …`", err=True)


@learn.command()
@click.argument("folder", type=NamedPath())
@click.argument("subject", metavar="TEXT|FILE|FOLDER")
@MODEL
@TRUST
@COLUMN
@table_options
@LIMIT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def explain(
    folder: str,
    subject: str,
    model: str | None,
    trusted: tuple[str, ...],
    column: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Which players the selector in FOLDER shows, of a TEXT or of each row, text or picture of FILE or FOLDER."""
    selector, task = _open(folder, subject, model, trusted, column, limit)
    for note in (*task.notes, *_doubts(selector)):
        click.echo(note, err=True)
    for one, names in zip(task.x, task.names, strict=True):
        chosen = selector.explain(one, names)
        click.echo(chosen.to_json() if as_json else ", ".join(chosen.names))


@learn.command(cuts=True)
@click.argument("folder", type=NamedPath())
@click.argument("subject", metavar="FILE")
@MODEL
@TRUST
@COLUMN
@table_options
@LIMIT
@click.option("--train", type=NamedPath(), help="A FILE of training inputs on which the judge is trained.")
@click.option("--judge", type=NamedPath(), help="A folder that EvalX.save wrote, instead of training a judge.")
@SEED
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def audit(
    folder: str,
    subject: str,
    model: str | None,
    trusted: tuple[str, ...],
    column: str | None,
    limit: int | None,
    train: str | None,
    judge: str | None,
    seed: int,
    html_file: str | None,
    as_json: bool,
) -> None:
    """Does the selector in FOLDER leak the answer? FILE holds inputs that it was not trained on."""
    from dataclasses import replace

    import numpy as np

    from accredit.audit import leakage_report
    from accredit.audit.saved import Thirds
    from accredit.learned.cxplain import CXPlain
    from accredit.learned.evalx import EvalX
    from accredit.views.pages.audit_page import audit_page
    from accredit.views.terminal.audit_text import audit_text

    selector, task = _open(folder, subject, model, trusted, column, limit)
    cut = Thirds.of(task.answers()) if task.regresses else None
    if isinstance(selector, CXPlain):
        masks, surrogate, method = selector.select(task.x).astype(np.float64), None, "cxplain"
    else:
        masks, surrogate, method = selector.masks(task.x), selector.answer, selector.method
    training = None
    if train is not None:
        learn_from = _task(train, model, trusted, column, None)(selector.inputs)
        training = learn_from.x, answer(learn_from, cut)
    report = leakage_report(
        task.inputs,
        task.x,
        masks,
        answer(task, cut),
        cut.box(task.black_box) if cut else task.black_box,
        cut.reader(surrogate) if cut and surrogate else surrogate,
        None if judge is None else EvalX.load(judge),
        scores=selector.scores(task.x),
        training=training,
        seed=seed,
        subject=f"{method}, {selector.rule()}",
        progress=True,
    )
    report = replace(report, notes=(*report.notes, *task.notes, *([cut.note] if cut else ()), *_doubts(selector)))
    if html_file:
        write_whole(html_file, audit_page(report))
    click.echo(json.dumps(report.to_plain(), ensure_ascii=False) if as_json else audit_text(report, wants_more()))
    if html_file:
        write(html_file)


def answer(task: Task, cut: Thirds | None) -> IntArray:
    """What the model answers to the inputs of a task: class numbers, or thirds of a regression's numbers."""
    said = task.answers()
    if cut is not None:
        return cut.labels(said)
    first: IntArray = said.argmax(axis=1)
    return first


def _doubts(selector: object) -> list[str]:
    """What training left open, as it was saved with a selector."""
    return [f"training left a doubt: {doubt}" for doubt in _history(selector).get("doubts", ())]


def _history(selector: Any) -> Facts:
    return dict(selector.history if isinstance(selector.history, dict) else vars(selector.history))


def _task(
    subject: str, model: str | None, trusted: tuple[str, ...], column: str | None, limit: int | None
) -> Callable[[Any], Any]:
    """What makes a task of a file for given inputs: rows for a model file, else texts, or the pictures of a folder."""
    from accredit.learned.tasks import picture_task, row_task, text_task

    if model is not None and _reads_rows(model):
        from accredit.store.frames import read_frame, warn_reading

        _refuse({"--text": column}, "is for texts")
        frame = warn_reading(read_frame(subject))[:limit]
        return lambda like: row_task(frame, model, trusted, like)
    from accredit.explanation.explainer import Explainer

    there = Path(subject).exists() or subject.endswith((".csv", ".tsv", ".txt", ".jsonl"))
    inputs = read_inputs(subject, column)[:limit] if there else [subject]
    loaded = Explainer(model).model_for("picture" if isinstance(inputs[0], Path) else "text")
    if isinstance(inputs[0], Path):
        _refuse({"--text": column}, "is for texts")
        return lambda like: picture_task(inputs, loaded, like)
    return lambda like: text_task(inputs, loaded, like=like)


def _open(
    folder: str, subject: str, model: str | None, trusted: tuple[str, ...], column: str | None, limit: int | None
) -> tuple[Any, Any]:
    from accredit.learned.fast import KIND
    from accredit.learned.folders import describe
    from accredit.learned.tasks import open_selector

    if describe(folder).get("kind") == KIND:
        raise InvalidInput(
            f"{folder} holds fast Shapley values; write accredit explain {subject} --fast {folder}", code="misplaced"
        )
    return open_selector(folder, _task(subject, model, trusted, column, limit))


def read_inputs(subject: str, column: str | None) -> list[Any]:
    """The texts of a file, or the pictures of a folder."""
    from accredit.explanation.text_files import read_pictures, read_texts

    if Path(subject).is_dir():
        return list(read_pictures(subject))
    if not Path(subject).is_file():
        raise InvalidInput(
            f"there is no file or folder {subject!r}; give a file of texts, a table, or a folder of pictures",
            argument="subject",
            code="missing",
        )
    return list(read_texts(subject, column))


def _reads_rows(model: str) -> bool:
    from accredit.models.row_files import is_row_model_file

    return is_row_model_file(model)


def _refuse(given: Mapping[str, object], why: str) -> None:
    wrong = next((name for name, value in given.items() if value is not None), None)
    if wrong is not None:
        raise InvalidInput(f"{wrong} {why}; leave it out", code="misplaced")
