"""`accredit explain`: which words, patches, columns or parts of a prompt earned the model's output.

One handler for each kind of question; a file of texts and a folder of pictures are explained one by one. The options are
those of the requests (`accredit.cli.settings`), and a few that say what is explained and where the result goes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accredit.answers.server import is_url
from accredit.cli.answers import explain_an_answer
from accredit.cli.command import Command, Topic, check_ending, say_in_options, wants_more, what_to_try
from accredit.cli.destination import Destination, announce, with_command
from accredit.cli.options import Count, NamedPath
from accredit.cli.output import NewFile
from accredit.cli.rows import explain_table
from accredit.cli.settings import TITLES, offers, read_numbers, read_settings, setting_options, take
from accredit.cli.table_options import check_no_table, table_options
from accredit.errors import AccreditError, InvalidInput
from accredit.explanation.requests import REQUESTS, Kind, Settings, misplace, only_in
from accredit.methods import SETTINGS

if TYPE_CHECKING:
    from accredit.explanation.explainer import Explainer
    from accredit.explanation.result import Explanation
    from accredit.explanation.text_files import Given

# `accredit explain` for a file of texts or a folder of pictures: one by one, into JSON lines resumed where a run stopped.


def explain_many(
    file: str,
    model: str | None,
    settings: Settings,
    to: Destination,
    column: str | None = None,
    pair: str | None = None,
) -> None:
    """Explain what a file or a folder holds, and say how long it will take where that is long."""
    from accredit.explanation.explainer import Explainer
    from accredit.explanation.text_files import check_settings, explain, read_finished, run_name
    from accredit.values.solver import progress

    if to.html is not None:
        raise InvalidInput(
            "html_file is for one text or image; a FILE or a FOLDER gives JSON lines, see --out",
            argument="html_file",
            code="misplaced",
        )
    if to.out is not None:
        check_ending(to.out)
    inputs = _inputs(file, column, pair)
    kind: Kind = "picture" if isinstance(inputs[0], Path) else "text"
    explainer = Explainer(model, **settings)
    loaded = explainer.model_for(kind)
    if kind == "picture" and not hasattr(loaded, "patch_tokens"):
        raise InvalidInput(
            f"{file!r} is a folder of pictures, and {loaded.name} reads text; name a model of pictures", code="conflict"
        )
    check_settings(inputs, explainer)
    if to.out is None and not to.as_json:
        _announce(inputs, explainer)
        click.echo(_answers(inputs, explainer))
        return
    run = run_name(explainer, kind)
    done = read_finished(Path(to.out), inputs, run) if to.out else 0
    _announce(inputs[done:], explainer)
    failed = 0
    with (
        open(to.out, "a", encoding="utf-8", newline="\n") if to.out else nullcontext(sys.stdout) as lines,
        progress("explain", len(inputs) - done) as bar,
    ):
        for count, line in enumerate(explain(inputs, explainer, run, done), 1):
            lines.write(line)
            lines.flush()
            failed += "error" in json.loads(line)
            bar.update(count)
    said = f"{len(inputs)} rows" + (f", {done} of them already there" if done else "")
    said += f", {failed} could not be explained (see their error)" if failed else ""
    click.echo(f"{said}{f'; written: {to.out}' if to.out else ''}", err=True)


def _answers(inputs: list[Given], explainer: Explainer) -> str:
    """Many inputs on a screen: how many are predicted as what, then the answer about each."""
    from accredit.values.solver import progress
    from accredit.views.language.headlines import headline, many_headline
    from accredit.views.terminal.screen import fold, screen

    found: list[Explanation] = []
    lines: list[str] = []
    with progress("explain", len(inputs)) as bar:
        for number, given in enumerate(inputs, 1):
            name = given.name if isinstance(given, Path) else f"row {number}"
            try:
                found.append(explainer(given))
                lines += fold(f"{name}: {headline(found[-1])}", after="  ")
            except AccreditError as error:
                lines += fold(f"{name}: not explained; {say_in_options(click.get_current_context(), str(error))}", after="  ")
            bar.update(number)
    told = ["Every number of every row, as JSON lines: --out FILE, or --json."]
    return screen(many_headline(found, len(inputs) - len(found)).text, ["", *lines, "", *told], more=wants_more())


def _inputs(file: str, column: str | None, pair: str | None) -> list[Given]:
    from accredit.explanation.text_files import read_pairs, read_pictures, read_texts

    if Path(file).is_dir():
        return list(read_pictures(file))
    return list(read_texts(file, column) if pair is None else read_pairs(file, column, pair))


def _announce(inputs: list[Given], explainer: Explainer) -> None:
    from accredit.explanation.forecast import LONG
    from accredit.explanation.text_files import estimate_seconds
    from accredit.views.language.phrases import counted, duration

    expected = estimate_seconds(inputs, explainer) if inputs else 0.0
    if expected > LONG:
        sooner = "" if explainer.settings.get("budget") else "; sooner, with intervals: --budget 200"
        click.echo(f"{counted(len(inputs), 'row')}: their payoffs take about {duration(expected)}{sooner}", err=True)


OWN: Mapping[str, tuple[Kind, ...]] = {  # options that say what is explained -> the kinds of question they belong to
    "pair": ("text",),
    "column": ("text",),
    "table": ("rows",),
    "fast": ("text", "picture", "rows"),
    "fallback": ("rows",),
    "prompt": ("answer",),
    "max_new_tokens": ("answer",),
}
LIKE_A_PATH = re.compile(  # what nobody means as a text: a path, or a word that ends as the name of a file does
    r"(\.{0,2}|~)/\S+|\S+/|\S+\.(txt|text|md|csv|tsv|jsonl?|parquet|feather|xlsx?|gz|zip|npy|npz|onnx)"
)
USUAL = ("model", "methods", "target", "budget")  # options that the short help shows
TOPICS = {str(kind): Topic(TITLES[kind], tuple(name for name, kinds in OWN.items() if kind in kinds)) for kind in REQUESTS}
TOPICS |= {"gradients": Topic("Gradients and attention", SETTINGS)}


class ExplainCommand(Command):
    """A command of several kinds of question: `--help rows` is the help of one of them."""

    topic_word, topic_help = "KIND", "Of one kind of question"

    def format_topic(self, ctx: click.Context, topic: str) -> str:
        """The help of one kind of question: what only it has, then what it shares with others, in its own words."""
        if topic not in REQUESTS:
            return super().format_topic(ctx, topic)
        kind: Kind = topic  # type: ignore[assignment]
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        own = [*self.topics[topic].options, *(name for name in offers() if name in only_in(kind))]
        words = {name: said[kind][0].help for name, said in offers().items() if kind in said and name not in SETTINGS}
        shared = {name: text for name, text in words.items() if name not in (*own, *USUAL, "seed")}
        options = {param.name: param for param in self.params}
        others = [(options[name].opts[-1], text) for name, text in shared.items() if name in options]
        with formatter.section(self.topics[topic].heading):
            formatter.write_dl([*self.records_of(ctx, own), *others], col_max=24)
        return formatter.getvalue().rstrip("\n")

    def usual(self, ctx: click.Context) -> list[click.Option]:
        """The few options that most questions need."""
        return [param for param in self.params if param.name in USUAL and isinstance(param, click.Option)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from accredit.cli.trials import lines_of

        with formatter.section("Examples"):
            for command in what_to_try(ctx):
                formatter.write("\n".join(lines_of(command)) + "\n")


@click.command(cls=ExplainCommand, cuts=True, topics=TOPICS)
@click.argument("subject", metavar="TEXT|FILE|IMAGE|FOLDER", required=False)
@click.option(
    "--model",
    help="A folder with a Hugging Face model, or a name in the local cache; of rows a model file (xgboost, lightgbm, catboost, "
    "skops, ONNX); of answers also the URL of a server. Default: the built-in one.",
)
@setting_options
@table_options
@click.option(
    "--pair",
    help="A second text that the model reads with TEXT; for a CSV or TSV, the column that holds the second texts.",
)
@click.option("--text", "column", help="The column of a CSV or TSV that holds the texts.")
@click.option("--table", is_flag=True, help="Explain the built-in table of patients: a first try without any data.")
@click.option(
    "--fast",
    type=NamedPath(),
    help="A folder that `accredit learn fit` wrote for this model: predict, with intervals.",
)
@click.option(
    "--fallback",
    type=Count(min=0),
    help="Rows that --fast may compute in the usual way where it is unsure. Default: a tenth.",
)
@click.option("--prompt", help="A text, a FILE that holds one, or a .json file of chat messages or of token ids.")
@click.option("--max-new-tokens", type=Count(min=1), help="Of a generated answer. Default: 128.")
@click.option(
    "--out",
    type=NewFile(),
    help="Write to this file what would be printed; of an answer its JSON. What a FILE or FOLDER holds is added one by one, "
    "and a stopped run goes on.",
)
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def explain(
    subject: str | None, model: str | None, out: str | None, html_file: str | None, as_json: bool, **options: object
) -> None:
    """Which words of a text, parts of an image, columns of a table, stretches of a series or parts of a prompt led to a model's
    output (SHAP values and other feature attributions).

    A FILE of texts, a CSV or a FOLDER of pictures is explained one by one, with --out into JSON lines; with a model file, rows;
    a .npy FILE holds time series. With --answer or --generate it is about what a language model says.
    """
    typed = take(options)
    own = {name: typed.pop(name) for name in OWN if name in typed}
    kind = kind_of_question(subject, model, typed, own)
    for name in own:
        if kind not in OWN[name]:
            raise misplace(name, [REQUESTS[other] for other in OWN[name]], REQUESTS[kind])
    if subject is None or kind not in ("rows", "text") or (kind == "text" and kind_of(subject) != "file"):
        check_no_table(subject)
    HANDLERS[kind](subject, model, typed, own, Destination(out, html_file, as_json))


def kind_of_question(subject: str | None, model: str | None, typed: Settings, own: Settings) -> Kind:
    """What is asked: a server answers; a file of an array holds series; a model file of rows makes rows; a setting that only
    answers have asks for an answer; a file beside one that only rows have makes rows."""
    from accredit.models.row_files import is_row_model_file

    if is_url(model):
        return "answer"
    if subject is not None and subject.lower().endswith((".npy", ".npz")) and Path(subject).is_file():
        return "series"
    if "table" in own or (subject is not None and model is not None and is_row_model_file(model)):
        return "rows"
    if only_in("answer") & typed.keys() or own.keys() & {"prompt", "max_new_tokens"}:
        return "answer"
    if subject is None:
        raise click.UsageError("Missing argument 'TEXT|FILE|IMAGE|FOLDER'.")
    what = kind_of(subject)
    if what == "file" and model is None and only_in("rows") & typed.keys():
        return "rows"
    return "picture" if what in ("image", "folder") else "text"


def _explain_text(subject: str, model: str | None, typed: Settings, own: Settings, to: Destination) -> None:
    from accredit.explanation import Explainer

    column, pair, what = own.get("column"), own.get("pair"), kind_of(subject)
    settings = read_settings("text", _with_fast(typed, own.get("fast")))
    if what == "file":
        explain_many(subject, model, settings, to, column, pair)
        return
    if column is not None:
        raise InvalidInput(
            f"column is for a FILE of texts, and {subject!r:.40} is one text", argument="column", code="misplaced"
        )
    explainer = Explainer(model, announce=announce, **settings)
    try:
        to.show(lambda: with_command(explainer(subject if pair is None else (subject, pair))))
    except InvalidInput as error:
        if pair is not None or (error.argument, error.code) != ("text", "too-many"):
            raise
        _explain_in_parts(explainer, subject, to, error)


def _explain_in_parts(explainer: Explainer, subject: str, to: Destination, too_long: InvalidInput) -> None:
    """A text that the model does not read at once, part by part."""
    from accredit.explanation.long_texts import read_in_parts

    pieces, read = read_in_parts(explainer, subject)
    if not pieces:
        raise too_long
    if to.html is not None:
        raise InvalidInput(
            f"html_file is for one text, and this one is read in {len(pieces)} parts; explain its beginning with cut=True, or "
            "look at all of them with accredit serve",
            argument="html_file",
            code="misplaced",
        )
    to.show_parts(read, (with_command(explainer(piece)) for piece in pieces))


def _explain_picture(subject: str, model: str | None, typed: Settings, own: Settings, to: Destination) -> None:
    from accredit.explanation import explain_picture
    from accredit.explanation.explainer import picture_players

    settings = read_settings("picture", _with_fast(typed, own.get("fast")))
    if "segments" in settings:
        settings["players"] = picture_players(settings.get("players"), settings.pop("segments"))
    if kind_of(subject) == "folder":
        explain_many(subject, model, settings, to)
        return
    to.show(lambda: with_command(explain_picture(Path(subject), model, announce=announce, **settings)))


def _explain_series(subject: str, model: str | None, typed: Settings, own: Settings, to: Destination) -> None:
    from accredit.explanation import explain_series
    from accredit.models.row_files import load_row_model

    if model is None:
        raise InvalidInput(
            "model is missing; name the file of the model that reads these series, for example model.onnx",
            argument="model",
            code="missing",
        )
    settings = read_settings("series", typed)
    to.show(lambda: explain_series(read_numbers(subject), load_row_model(model), **settings))


HANDLERS: Mapping[Kind, Callable[..., None]] = {
    "text": _explain_text,
    "picture": _explain_picture,
    "rows": explain_table,
    "series": _explain_series,
    "answer": explain_an_answer,
}


def _with_fast(typed: Settings, folder: str | None) -> Settings:
    """The methods with the explainer in a folder as one of them."""
    if folder is None:
        return typed
    from accredit.learned.folders import read

    read(folder, "fast shapley")  # refuses what is not an explainer, also where other methods would still answer
    return typed | {"methods": (*typed.get("methods", ()), f"fast-shapley:{folder}")}


def kind_of(subject: str) -> str:
    """Whether the argument is a text, a file of texts, an image or a folder of images."""
    from accredit.models.pictures import is_picture_file, names_a_picture

    if not subject.strip():
        return "text"
    path = Path(subject)
    try:
        folder, there = path.is_dir(), path.is_file()
    except (OSError, ValueError):  # a long text cannot be a file's name
        return "text"
    if folder:
        return "folder"
    if not there:
        if LIKE_A_PATH.fullmatch(subject) or names_a_picture(subject):
            raise InvalidInput(f"there is no file {subject!r}; give the path of a file that exists, or a text", code="missing")
        return "text"
    return "image" if is_picture_file(path) else "file"
