"""`accredit explain`: which words, patches, columns or parts of a prompt earned the model's output."""

from __future__ import annotations

import json
import re
import shlex
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accredit.cli.answers import ONLY_HERE, answer_options, asks_for_an_answer, explain_an_answer
from accredit.cli.command import Command, to_file
from accredit.cli.options import SEED, Amount, Count, MethodNames, NamedPath
from accredit.cli.output import NewFile, written
from accredit.core.errors import InvalidInput
from accredit.core.numbers import whole_number
from accredit.core.plain import read_json
from accredit.core.tables import number
from accredit.methods import SETTINGS

if TYPE_CHECKING:
    from accredit.explanation import Explanation

SECTIONS = {  # of the help
    "Answers of language models": ONLY_HERE,
    "Rows of a table": ("table", "background", "most_background", "background_by", "dependence", "interactions", "trust",
                        "executor", "fast", "fallback"),
    "Gradients and attention": SETTINGS,
}  # fmt: skip


@click.command(cls=Command, sections=SECTIONS)
@click.argument("subject", metavar="TEXT|FILE|IMAGE|FOLDER", required=False)
@click.option(
    "--model",
    help="A folder with a Hugging Face model, or a name in the local cache; for rows of a table a model file: xgboost, "
    "lightgbm, catboost, skops or ONNX. Default: the built-in one.",
)
@click.option("--methods", type=MethodNames("explain"), help=MethodNames.help)
@click.option("--target", help="The label or token that credit is given for, or all. Default: what the model predicts.")
@click.option(
    "--players",
    help="word (default), token or sentence; for an image patches (default), segments, segments:40, pixels or a grid such as "
    "4x4; for an answer passages, sentences, paragraphs, turns, examples, words, tokens, or JSON: names with strings of the "
    "prompt.",
)
@click.option(
    "--segments",
    type=NamedPath(),
    help="Your own segments of an image: a .npy array or a PNG with one number per pixel.",
)
@click.option(
    "--payoff",
    help="log-odds (default), logit, probability, margin, loss or correctness of the target, confidence or entropy of the "
    "model; of an answer log-probability, mean or probability. Rows of a table have value too, and by default what their model "
    "adds up.",
)
@click.option(
    "--removal",
    help="How players leave: mask, delete, attention, pad or zero; for an image mean, blur, black, zero, a number or another "
    "picture; for an answer rebuild, attention or filler.",
)
@click.option(
    "--budget",
    type=Count(min=1),
    help="Payoffs that each sampled value may ask. Default: exact up to 12 players, else 2000; 512 for a large image.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything random.")
@click.option(
    "--layer", help="Gradients: give credit to what enters this block, a number from 0 or its path in the model."
)
@click.option(
    "--baseline", help="Integrated gradients: where the path begins: mask, pad, zero or mean; images as --removal."
)
@click.option(
    "--tolerance", type=Amount(min=0, min_open=True), help="Integrated gradients: gap of their sum, relative."
)
@click.option("--most-steps", type=Count(min=1), help="Integrated gradients: steps after which they give up.")
@click.option("--samples", type=Count(min=2), help="GradientSHAP and SmoothGrad: points that are drawn.")
@click.option("--noise", type=Amount(min=0), help="Both: how far the input is shaken, as a share of its range.")
@click.option("--points", type=Count(min=2), help="Discretised integrated gradients: words on the path.")
@click.option("--cut", is_flag=True, help="Explain the beginning of a text that is longer than the model reads.")
@click.option(
    "--heads", help="Heads that readings of attention follow: mean (default), max, a number, or weights 0.5,0.5,0."
)
@click.option(
    "--layers", help="Layers that they follow, from 0: one number, several (0,2,5) or a range (0-3). Default: all."
)
@click.option("--prefix", default="", help="What an encoder-decoder has already said.")
@click.option(
    "--pair",
    help="A second text that the model reads with TEXT; for a CSV or TSV, the column that holds the second texts.",
)
@click.option("--text", "column", help="The column of a CSV or TSV that holds the texts.")
@click.option(
    "--out",
    type=NewFile(),
    help="Write to this file what would be printed; of an answer its JSON. Rows of FILE and pictures of FOLDER are added one "
    "by one, and a stopped run goes on where it was.",
)
@click.option("--table", is_flag=True, help="Explain the built-in table of patients: a first try without any data.")
@click.option("--background", type=NamedPath(), help="A table of rows that rows are compared with.")
@click.option("--most-background", type=Count(min=1), help="Rows of the background that are used at most.")
@click.option("--background-by", help="How they are chosen: draw (default) or medoids, counted by what they stand for.")
@click.option("--dependence", help="What stands in for absent columns: interventional, empirical, gaussian or cover.")
@click.option("--interactions", is_flag=True, help="Also the interaction of every two columns of a row.")
@click.option("--trust", default="", help="Types in a skops file that may be loaded, with commas between them.")
@click.option(
    "--executor", default="serial", show_default=True, help="Where rows are explained: serial, processes:2, dask."
)
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
@answer_options
@click.option("--html", "html_file", type=NewFile(), help="Also write one self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def explain(
    subject: str | None,
    table: bool,
    background: str | None,
    most_background: int | None,
    background_by: str | None,
    dependence: str | None,
    interactions: bool,
    trust: str,
    executor: str,
    fast: str | None,
    fallback: int | None,
    pair: str | None,
    column: str | None,
    segments: str | None,
    out: str | None,
    html_file: str | None,
    as_json: bool,
    model: str | None,
    **options: Any,
) -> None:
    """Which words of a text, parts of an image, columns of a table or parts of a prompt earned the model's output.

    With --answer or --generate: which parts of a prompt earned what a language model says; try `accredit explain --answer`.
    A FILE with one text per line, or a CSV or TSV (--text names its column), is explained row by row into JSON lines, and the
    pictures of a FOLDER one by one. With a model file of rows (--model model.json), the rows of a table are explained, all
    classes at once.
    """
    from accredit.models.row_files import is_row_model_file

    options |= {"heads": heads_of(options["heads"]), "layers": layers_of(options["layers"])}
    answers = {name: options.pop(name) for name in ONLY_HERE}
    _check_folders(html_file, out)
    if asks_for_an_answer(answers):
        unfit = {
            "--pair": pair,
            "--text": column,
            "--segments": segments,
            "--table": table or None,
            "--background": background,
            "--most-background": most_background,
            "--background-by": background_by,
            "--dependence": dependence,
            "--interactions": interactions or None,
            "--trust": trust or None,
            "--fast": fast,
            "--executor": None if executor == "serial" else executor,
        }
        _check_fits(unfit, "is not for answers of language models")
        explain_an_answer(subject, answers, options, model, out, html_file, as_json)
        return
    if table or (subject is not None and model is not None and is_row_model_file(model)):
        from accredit.cli.rows import RowOptions, explain_table

        mixed = next((x for x in (subject, model, background) if x is not None), None) if table else None
        if mixed is not None:
            raise InvalidInput(
                f"--table explains the built-in table and model, and {mixed!r:.40} was given; leave one out"
            )
        unfit = {
            "--pair": pair,
            "--text": column,
            "--segments": segments,
            "--removal": options["removal"],
            "--prefix": options["prefix"] or None,
            "--cut": options["cut"] or None,
        } | {f"--{name.replace('_', '-')}": options.pop(name) for name in SETTINGS}
        _check_fits(unfit, "is for texts and images, and rows of a table are explained")
        rows = RowOptions(
            subject,
            model,
            background,
            most_background,
            background_by,
            dependence,
            interactions,
            tuple(filter(None, trust.split(","))),
            executor,
            None if table else out,
            html_file,
            as_json,
            fast,
            fallback,
        )
        with to_file(out) if table and out else nullcontext():
            explain_table(rows, options)
        return
    for option, value in (
        ("--background", background),
        ("--most-background", most_background),
        ("--background-by", background_by),
        ("--dependence", dependence),
        ("--interactions", interactions),
        ("--trust", trust),
    ):
        if value not in (None, False, "") or (option == "--background" and value == ""):
            raise InvalidInput(f"{option} is for rows of a table; name a model of rows, for example --model model.json")
    if fallback is not None:
        raise InvalidInput(
            "--fallback is for rows of a table; one text or picture falls back where --fast is unsure of it"
        )
    if fast is not None:
        from accredit.learned.folders import read

        read(fast, "fast shapley")  # refuses what is not an explainer, also where other methods would still answer
        options["methods"] = (*(options["methods"] or ()), f"fast-shapley:{fast}")
    if subject is None:
        raise click.UsageError("Missing argument 'TEXT|FILE|IMAGE|FOLDER'.")
    kind = kind_of(subject)
    settings = options | {"players": players_of(options["players"]), "removal": removal_of(options["removal"])}
    settings["baseline"] = removal_of(options["baseline"])
    if segments is not None:
        settings["players"] = _segments(segments, kind, settings["players"])
    settings = _given(settings)
    if column is not None and kind != "file":
        raise InvalidInput(f"--text is for a FILE of texts, and {subject!r:.40} is one {kind}")
    if kind in ("image", "folder") and pair is not None:
        raise InvalidInput(f"--pair is for texts, and {subject!r:.40} is an image or a folder of them")
    if kind in ("file", "folder"):
        if html_file is not None:
            raise InvalidInput("--html is for one text or image; a FILE or a FOLDER gives JSON lines, see --out")
        _rows(subject, column, pair, out, model, settings)
    else:
        text = subject if pair is None else (subject, pair)
        with to_file(out) if out else nullcontext():
            _one(Path(subject) if kind == "image" else text, model, settings, html_file, as_json)


def _check_fits(unfit: dict[str, Any], why: str) -> None:
    given = next((name for name, value in unfit.items() if value is not None), None)
    if given is not None:
        raise InvalidInput(f"{given} {why}")


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that were typed: an option that was left out is not a setting of anything."""
    return {
        name: value
        for name, value in settings.items()
        if not (value is None or value is False or (isinstance(value, str) and not value))
    }


def _check_folders(html_file: str | None, out: str | None) -> None:
    for option, value in (("--html", html_file), ("--out", out)):
        if value is not None and not Path(value).absolute().parent.is_dir():
            raise InvalidInput(f"{option} is {value!r}, and its folder does not exist; make it first")


def _one(
    subject: str | tuple[str, str] | Path,
    model: str | None,
    settings: dict[str, Any],
    html_file: str | None,
    as_json: bool,
) -> None:
    from accredit import views
    from accredit.cli.output import write_whole
    from accredit.explanation import explain as explained
    from accredit.views.terminal import wants_colour

    result: Explanation = explained(subject, model, announce=lambda cost: click.echo(cost, err=True), **settings)
    command = shlex.join(["accredit", *sys.argv[1:]])
    result = replace(result, provenance={**result.provenance, "command": command})
    if html_file:
        write_whole(html_file, views.explanation_page(result))
    click.echo(result.to_json() if as_json else views.text(result, colour=wants_colour(sys.stdout)))
    if html_file:
        written(html_file)


def _rows(
    file: str, column: str | None, pair: str | None, out: str | None, model: str | None, settings: dict[str, Any]
) -> None:
    from accredit.explanation.explainer import LONG
    from accredit.explanation.loading import loaded_model
    from accredit.explanation.rows import (
        check_settings,
        expected_seconds,
        explained,
        finished,
        read_pairs,
        read_pictures,
        read_texts,
        run_name,
    )
    from accredit.values.solver import progress
    from accredit.views.words import duration

    texts: list[Any]
    if Path(file).is_dir():
        texts = list(read_pictures(file))
    else:
        texts = list(read_texts(file, column) if pair is None else read_pairs(file, column, pair))
    loaded = loaded_model(texts[0], model)
    if isinstance(texts[0], Path) and not hasattr(loaded, "patch_tokens"):
        raise InvalidInput(f"{file!r} is a folder of pictures, and {loaded.name} reads text; name a model of pictures")
    check_settings(texts, loaded, settings)
    run = run_name(loaded, settings)
    done = finished(Path(out), texts, run) if out else 0
    expected = expected_seconds(texts[done:], loaded, settings)
    if expected > LONG:
        sooner = "" if settings.get("budget") else "; sooner, and with intervals: --budget 200"
        click.echo(f"{len(texts) - done} rows; their payoffs alone take about {duration(expected)}{sooner}", err=True)
    failed = 0
    with (
        open(out, "a", encoding="utf-8", newline="\n") if out else nullcontext(sys.stdout) as target,
        progress("explain", len(texts) - done) as bar,
    ):
        for count, line in enumerate(explained(texts, loaded, run, settings, done), 1):
            target.write(line)
            target.flush()
            failed += "error" in json.loads(line)
            bar.update(count)
    told = f"{len(texts)} rows" + (f", {done} of them already there" if done else "")
    told += f", {failed} could not be explained (see their error)" if failed else ""
    click.echo(f"{told}{f'; written: {out}' if out else ''}", err=True)


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
        if re.fullmatch(r"\S+\.(txt|csv|tsv)", subject) or names_a_picture(subject):
            raise InvalidInput(f"there is no file {subject!r}; give the path of a file that exists, or a text")
        return "text"
    return "image" if is_picture_file(path) else "file"


def _segments(file: str, kind: str, players: Any) -> Any:
    from accredit.models.pictures import read_labels

    if kind not in ("image", "folder"):
        raise InvalidInput(f"--segments is for an image, and this is one {kind}")
    if players not in (None, "segments"):
        raise InvalidInput("--players and --segments both say who plays; leave one of them out")
    return read_labels(file)


def players_of(players: str | None) -> Any:
    """Players as the library takes them: a name, a grid, or a JSON object of named token positions."""
    if players is None or not players.strip():
        return None
    if match := re.fullmatch(r"(\d+)[x×](\d+)", players):
        return int(match[1]), int(match[2])
    if not players.lstrip().startswith("{"):
        return players
    try:
        groups = read_json(players, "--players")
        return {name: [whole_number(i, name, 0) for i in where] for name, where in groups.items()}
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"--players is not a JSON object of lists of token positions: {error}") from None


def removal_of(removal: str | None) -> str | float | None:
    """A way to remove players, or the number that is painted over an image."""
    try:
        return None if removal is None else number(removal, "--removal")
    except InvalidInput:
        return removal


def heads_of(heads: str | None) -> str | int | list[float] | None:
    """Heads as the library takes them: a name, a number, or one weight for each.

    >>> heads_of("max"), heads_of("3"), heads_of("1,0,1")
    ('max', 3, [1.0, 0.0, 1.0])
    """
    if heads is None or heads in ("mean", "max"):
        return heads
    try:
        return int(heads) if "," not in heads else [number(weight, "--heads") for weight in heads.split(",")]
    except ValueError:
        raise InvalidInput(
            f"--heads is {heads!r}; write mean, max, a number such as 3, or weights such as 1,0,1"
        ) from None


def layers_of(layers: str | None) -> int | list[int] | None:
    """Layers as the library takes them: one number, or several.

    >>> layers_of("-1"), layers_of("0-2,5")
    (-1, [0, 1, 2, 5])
    """
    if layers is None or re.fullmatch(r"-?\d+", layers):
        return None if layers is None else int(layers)
    chosen: list[int] = []
    for part in layers.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part.strip())
        if match is None:
            raise InvalidInput(f"--layers is {layers!r}; write a number, several (0,2,5) or a range (0-3)")
        chosen += range(int(match[1]), int(match[2] or match[1]) + 1)
    return chosen
