"""`accredit audit`: does attention explain the answer, and does a chosen mask leak it?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from accredit.checks import needs
from accredit.cli.command import Command, wants_more
from accredit.cli.options import SEED, Count, NamedPath
from accredit.cli.output import NewFile, write, write_whole
from accredit.cli.table_options import table_options
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.audit import Findings

DEFAULT_LIMIT = 10  # texts of a file; one costs seconds


@click.command(cls=Command, cuts=True)
@click.argument("subject", metavar="[TEXT|FILE]", required=False)
@table_options
@click.option(
    "--model",
    help="A folder with a Hugging Face text classifier (default: the built-in one); with --explainer the model file of rows "
    "that it explains, whose answers are then asked.",
)
@click.option("--explainer", type=NamedPath(), help="A folder with a saved explainer or attention classifier instead.")
@click.option("--data", "data_file", type=NamedPath(), help="Its rows: .npz with named arrays, or .csv with numbers.")
@click.option("--target", default="label", show_default=True, help="The column of a .csv with the answers.")
@click.option("--train", "train_file", type=NamedPath(), help="Training rows, with answers, on which a judge is trained.")
@click.option("--judge", type=NamedPath(), help="A folder that EvalX.save wrote, instead of training a judge.")
@click.option("--tests", help="Names of tests, separated by commas; default: all that apply.")
@click.option("--limit", type=Count(min=1), help=f"Rows to use; default: {DEFAULT_LIMIT} texts, or all rows.")
@click.option("--text", "column", help="The column of a CSV or TSV that holds the texts.")
@click.option("--steps", type=Count(min=1), default=500, show_default=True, help="Of the adversary's search.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything random.")
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def audit(
    subject: str | None,
    model: str | None,
    explainer: str | None,
    data_file: str | None,
    target: str,
    train_file: str | None,
    judge: str | None,
    tests: str | None,
    limit: int | None,
    column: str | None,
    steps: int,
    seed: int,
    html_file: str | None,
    as_json: bool,
) -> None:
    """Put attention or a trained explainer to the test.

    TEXT, or a FILE with one text per line (or a CSV or TSV), audits the attention of a classifier: does it agree with
    gradients and with leave-one-out, does the answer change when it is shuffled, would other attention give the same?

    --explainer FOLDER --data FILE audits what accredit.learned saved: does where it looks give its answer away?
    """
    from accredit.views.pages.audit_page import audit_page
    from accredit.views.terminal.audit_text import audit_text

    asked = None if tests is None else [name for name in tests.split(",") if name.strip()]
    if explainer is not None:
        if subject is not None or data_file is None:
            raise InvalidInput("--explainer FOLDER takes its rows from --data FILE, so leave TEXT out", code="conflict")
        report = _save(explainer, data_file, asked, target, limit, seed, model, train_file, judge)
    else:
        if train_file is not None or judge is not None:
            raise InvalidInput(
                "--train and --judge are for --explainer FOLDER; leave them out to audit attention", code="misplaced"
            )
        if data_file is not None:
            raise InvalidInput("--data is for --explainer FOLDER; give texts as TEXT or FILE", code="misplaced")
        if subject is None:
            raise InvalidInput(
                "give a TEXT or a FILE of texts to audit a classifier's attention on, or --explainer FOLDER", code="missing"
            )
        report = _texts(subject, model or "builtin", asked, limit, column, steps, seed)
    if html_file:
        write_whole(html_file, audit_page(report))
    click.echo(json.dumps(report.to_plain(), ensure_ascii=False) if as_json else audit_text(report, wants_more()))
    if html_file:
        write(html_file)


def _save(
    folder: str,
    data_file: str,
    tests: list[str] | None,
    target: str,
    limit: int | None,
    seed: int,
    model: str | None,
    train: str | None,
    judge: str | None,
) -> Findings:
    from accredit.audit import audit_saved
    from accredit.learned.black_boxes import row_black_box

    black_box = None if model is None else row_black_box(model)[0]
    return audit_saved(
        folder,
        data_file,
        tests=tests,
        target=target,
        limit=limit,
        seed=seed,
        black_box=black_box,
        judge=judge,
        train=train,
        progress=True,
    )


def _texts(
    subject: str, model: str, tests: list[str] | None, limit: int | None, column: str | None, steps: int, seed: int
) -> Findings:
    with needs("text", "auditing attention"):
        import torch  # noqa: F401  the tests ask a network
    from accredit.arena.texts import load
    from accredit.audit import audit_texts
    from accredit.audit.finding import find_checks
    from accredit.audit.transformer import TESTS
    from accredit.cli.explain import kind_of
    from accredit.explanation.text_files import read_texts

    wanted = find_checks(tests, TESTS)
    kind = kind_of(subject)
    if kind == "image":
        raise InvalidInput(f"{subject!r} is an image; attention is audited on text classifiers", code="misplaced")
    if kind == "text" and column is not None:
        raise InvalidInput(f"--text is for a FILE of texts, but {subject!r:.40} is one text", code="misplaced")
    texts = read_texts(subject, column) if kind == "file" else [subject]
    return audit_texts(load(model), texts[: limit or DEFAULT_LIMIT], tests=wanted, steps=steps, seed=seed, bar=True)
