"""`accredit explain` for rows of a table: read, explain, show or stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from accredit.cli.destination import Destination, announce
from accredit.cli.settings import read_settings
from accredit.errors import InvalidInput
from accredit.explanation.requests import RowRequest, Settings, make_request

if TYPE_CHECKING:
    import pandas

    from accredit.rows.result import TableExplanation


def explain_table(subject: str | None, model: str | None, typed: Settings, own: Settings, to: Destination) -> None:
    """Explain rows and print them, or stream them into a file; the built-in table where that is asked for."""
    from accredit.explanation import explain_rows

    if "fallback" in own and "fast" not in own:
        raise InvalidInput(
            "fallback is for --fast FOLDER; leave it out, or name the folder too", argument="fallback", code="conflict"
        )
    if "table" in own:
        _check_alone(subject, model, typed.get("background"))
        settings, (read, rows, background) = read_settings("rows", typed), _builtin(typed.get("dependence"))
    else:
        settings, read, rows = read_settings("rows", typed), _name(model), _rows(subject)
        background = settings.pop("background", None)
    if "fast" in own:
        to.show(lambda: _predict(own, rows, read, background, settings, to))
    elif to.out is not None and "table" not in own:
        _stream(rows, read, make_request(RowRequest, {**settings, "background": background, "out": to.out}), to)
    else:
        to.show(lambda: explain_rows(rows, read, background, announce=announce, **settings))


def _check_alone(*given: str | None) -> None:
    for name in given:
        if name is not None:
            said = f"table is the built-in table with its model, and {name!r:.40} was given; leave one out"
            raise InvalidInput(said, argument="table", code="conflict")


def _builtin(dependence: str | None) -> tuple[object, pandas.DataFrame, pandas.DataFrame | None]:
    from accredit.models.builtin.table import builtin_table

    model, rows, background = builtin_table()
    return model, rows, None if dependence == "cover" else background


def _name(model: str | None) -> str:
    if model is None:
        raise InvalidInput(
            "model is missing; name the file of the model that reads these rows", argument="model", code="missing"
        )
    return model


def _rows(subject: str | None) -> pandas.DataFrame:
    from accredit.store.frames import read_frame

    assert subject is not None
    return read_frame(subject)


def _predict(
    own: Settings, rows: object, model: object, background: object, settings: Settings, to: Destination
) -> TableExplanation:
    """Rows by the explainer in a folder; what it cannot do is refused."""
    from accredit.learned.fast_results import explain_rows_fast

    if background is None:
        said = "background is missing; --fast needs the rows that the explainer was fitted on: --background train.csv"
        raise InvalidInput(said, argument="background", code="missing")
    if to.out is not None and "table" not in own:
        settings = {**settings, "out": to.out}
    request = make_request(RowRequest, {**settings, "background": background})
    return explain_rows_fast(own["fast"], rows, model, request=request, fallback=own.get("fallback"))


def _stream(rows: pandas.DataFrame, model: object, request: RowRequest, to: Destination) -> None:
    from accredit.explanation.explainer import Explainer
    from accredit.rows.run import explain_table_file
    from accredit.values.solver import progress

    if to.html is not None:
        raise InvalidInput(
            "html_file is for rows that are shown; leave out --out, or --html", argument="html_file", code="conflict"
        )
    if request.target is not None:
        raise InvalidInput(
            "target is for rows that are shown, and --out writes every output; leave one of them out",
            argument="target",
            code="conflict",
        )
    assert to.out is not None
    run = Explainer(model).run(rows, request)
    if cost := run.forecast():
        announce(cost)
    for note in (*run.whole.compared.notes, *run.whole.said):
        click.echo(note, err=True)
    with progress("explain", len(rows)) as bar:
        count, done = explain_table_file(run, to.out, request.executor or "serial", bar.update)
    said = f"{count:,} rows" + (f", {done:,} of them already there" if done else "")
    click.echo(f"{said}; written: {to.out}", err=True)
