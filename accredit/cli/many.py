"""`accredit explain` for a file of texts or a folder of pictures: one by one into JSON lines, resumed where a run stopped."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accredit.cli.destination import Destination
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    from accredit.explanation.requests import Settings
    from accredit.explanation.text_files import Given
    from accredit.models import ImageModel, TextModel
    from accredit.models.strings import StringModel


def explain_many(
    file: str,
    model: str | None,
    settings: Settings,
    to: Destination,
    column: str | None = None,
    pair: str | None = None,
) -> None:
    """Explain what a file or a folder holds, and say how long it will take where that is long."""
    from accredit.explanation.loading import load_model
    from accredit.explanation.text_files import check_settings, explain, read_finished, run_name
    from accredit.values.solver import progress

    if to.html is not None:
        raise InvalidInput(
            "html_file is for one text or image; a FILE or a FOLDER gives JSON lines, see --out",
            argument="html_file",
            code="misplaced",
        )
    inputs = _inputs(file, column, pair)
    loaded = load_model(inputs[0], model)
    if isinstance(inputs[0], Path) and not hasattr(loaded, "patch_tokens"):
        raise InvalidInput(
            f"{file!r} is a folder of pictures, and {loaded.name} reads text; name a model of pictures", code="conflict"
        )
    check_settings(inputs, loaded, settings)
    run = run_name(loaded, settings)
    done = read_finished(Path(to.out), inputs, run) if to.out else 0
    _announce(inputs[done:], loaded, settings)
    failed = 0
    with (
        open(to.out, "a", encoding="utf-8", newline="\n") if to.out else nullcontext(sys.stdout) as lines,
        progress("explain", len(inputs) - done) as bar,
    ):
        for count, line in enumerate(explain(inputs, loaded, run, settings, done), 1):
            lines.write(line)
            lines.flush()
            failed += "error" in json.loads(line)
            bar.update(count)
    said = f"{len(inputs)} rows" + (f", {done} of them already there" if done else "")
    said += f", {failed} could not be explained (see their error)" if failed else ""
    click.echo(f"{said}{f'; written: {to.out}' if to.out else ''}", err=True)


def _inputs(file: str, column: str | None, pair: str | None) -> list[Given]:
    from accredit.explanation.text_files import read_pairs, read_pictures, read_texts

    if Path(file).is_dir():
        return list(read_pictures(file))
    return list(read_texts(file, column) if pair is None else read_pairs(file, column, pair))


def _announce(inputs: list[Given], loaded: TextModel | ImageModel | StringModel, settings: Settings) -> None:
    from accredit.explanation.explainer import LONG
    from accredit.explanation.text_files import estimate_seconds
    from accredit.views.words import duration

    expected = estimate_seconds(inputs, loaded, settings)
    if expected > LONG:
        sooner = "" if settings.get("budget") else "; sooner, and with intervals: --budget 200"
        click.echo(f"{len(inputs)} rows; their payoffs alone take about {duration(expected)}{sooner}", err=True)
