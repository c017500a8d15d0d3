"""`accredit explain` for rows of a table: read, explain, show or stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from accredit.core.errors import InvalidInput
from accredit.core.plain import read_json


@dataclass(frozen=True)
class RowOptions:
    """What was asked about rows, besides the settings that texts have too."""

    file: str | None  # None: the built-in table
    model: str | None
    background: str | None
    most_background: int | None
    background_by: str | None
    dependence: str | None
    interactions: bool
    trusted: tuple[str, ...]
    executor: str
    out: str | None
    html_file: str | None
    as_json: bool
    fast: str | None = None  # a folder of a fitted explainer
    fallback: int | None = None  # rows that it may compute in the usual way


def explain_table(asked: RowOptions, options: dict[str, Any]) -> None:
    """Explain rows and print them, or stream them into a file."""
    from accredit.store.frames import read_frame

    settings = _settings(asked, options)
    if asked.fast is not None:
        _show(_predicted(asked.fast, asked, settings), asked)
        return
    if asked.fallback is not None:
        raise InvalidInput("--fallback is for --fast FOLDER; leave it out, or name the folder of a fitted explainer")
    if asked.file is None:
        _show(_builtin(settings), asked)
        return
    if asked.model is None:
        raise InvalidInput("--model is missing; name the file of the model that reads these rows")
    rows = read_frame(asked.file)
    background = None if asked.background is None else read_frame(asked.background)
    if asked.out is not None:
        _stream(asked, rows, background, settings)
        return
    from accredit.explanation.table_run import explain_parts, table_run
    from accredit.values.solver import progress

    target = settings.pop("target")
    run = table_run(rows, asked.model, background, trusted=asked.trusted, **settings)
    with progress("explain", len(rows)) as bar:
        explained = explain_parts(run, target=target, executor=asked.executor, watch=bar.update)
    _show(explained, asked)


def _settings(asked: RowOptions, options: dict[str, Any]) -> dict[str, Any]:
    methods = options["methods"] or ("shapley",)
    if len(methods) > 1:
        raise InvalidInput(f"rows are explained by one method at a time; write --methods {methods[0]}")
    players = None
    if options["players"] is not None:
        try:
            players = read_json(options["players"], "--players")
        except InvalidInput:
            raise InvalidInput(
                f"--players is {options['players']!r:.40}; for rows write groups of columns as JSON, for example "
                '{"person": ["age", "sex"]}'
            ) from None
    target = None if options["target"] == "all" else options["target"]
    return {"method": methods[0], "target": target, "players": players, "payoff": options["payoff"],
            "budget": options["budget"], "seed": options["seed"], "dependence": asked.dependence,
            "interactions": asked.interactions, "most_background": asked.most_background,
            "background_by": asked.background_by}  # fmt: skip


def read_rows(subject: str, model: str, background: str, trusted: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """Rows, the model in its file, and the background."""
    from accredit.explanation.table_run import opened
    from accredit.store.frames import read_frame

    return read_frame(subject), opened(model, trusted), read_frame(background)


def _predicted(folder: str, asked: RowOptions, settings: dict[str, Any]) -> Any:
    """Rows by the explainer in a folder; what it cannot do is refused."""
    from accredit.learned.fast_results import explain_rows_fast
    from accredit.models.builtin.table import builtin_table

    unfit = {"--out": asked.out, "--interactions": asked.interactions or None, "--background-by": asked.background_by,
             "--methods": settings["method"] if settings["method"] != "shapley" else None}  # fmt: skip
    wrong = next((name for name, value in unfit.items() if value is not None), None)
    if wrong is not None:
        raise InvalidInput(f"{wrong} is not for --fast, which predicts Shapley values; leave one of them out")
    if asked.file is None:
        model, rows, background = builtin_table()
    else:
        if asked.model is None or asked.background is None:
            raise InvalidInput("--fast needs the --model and the --background that the explainer was fitted on")
        rows, model, background = read_rows(asked.file, asked.model, asked.background, asked.trusted)
    kept = {
        name: settings[name]
        for name in ("target", "players", "payoff", "budget", "seed", "dependence", "most_background")
    }
    return explain_rows_fast(folder, rows, model, background, fallback=asked.fallback, **kept)


def _builtin(settings: dict[str, Any]) -> Any:
    from accredit.explanation.explainer import explain_rows
    from accredit.models.builtin.table import builtin_table

    model, rows, background = builtin_table()
    cover = settings["dependence"] == "cover"
    named = {**settings, "methods": settings["method"]}
    del named["method"]
    return explain_rows(rows, model, None if cover else background, **named)


def _show(explained: Any, asked: RowOptions) -> None:
    from accredit import views
    from accredit.cli.output import write_whole, written

    if asked.html_file:
        write_whole(asked.html_file, views.to_page(explained))
    click.echo(explained.to_json() if asked.as_json else views.text(explained))
    if asked.html_file:
        written(asked.html_file)


def _stream(asked: RowOptions, rows: Any, background: Any, settings: dict[str, Any]) -> None:
    from accredit.explanation.table_run import explain_table_file, table_run
    from accredit.values.solver import progress

    assert asked.model is not None and asked.out is not None
    if asked.html_file is not None:
        raise InvalidInput("--html is for rows that are shown; leave out --out, or leave out --html")
    if settings["target"] is not None:
        raise InvalidInput("--target is for rows that are shown, and --out writes every output; leave one of them out")
    del settings["target"]
    run = table_run(rows, asked.model, background, trusted=asked.trusted, **settings)
    with progress("explain", len(rows)) as bar:
        count, done = explain_table_file(run, asked.out, asked.executor, bar.update)
    said = f"{count:,} rows" + (f", {done:,} of them already there" if done else "")
    click.echo(f"{said}; written: {asked.out}", err=True)
