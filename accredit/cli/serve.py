"""`accredit serve`: the page, for one person on this machine."""

from __future__ import annotations

import asyncio
import json
import signal

import click

from accredit.cli.command import Command
from accredit.cli.options import Amount, Count, NamedPath


@click.command(cls=Command, prints=False)
@click.option(
    "--model",
    "models",
    multiple=True,
    help="A folder with a Hugging Face model, or a name in the local cache; or a file with a model of rows (xgboost, lightgbm, "
    "catboost, skops or ONNX). Once for text, once for images, once for tables. Default: the built-in ones.",
)
@click.option(
    "--explainer",
    "explainers",
    multiple=True,
    type=NamedPath(exists=True, file_okay=False),
    metavar="FOLDER",
    help="What accredit learn fit has written for the served model; the page offers it among the methods. May be given again.",
)
@click.option(
    "--store",
    type=NamedPath(),
    metavar="RUN.db|TRACE.json",
    help="A journal to watch, finished or still being written; or what accredit trace --json printed.",
)
@click.option("--port", type=Count(0, 65535), default=8077, show_default=True, help="0 takes a free one.")
@click.option("--json", "as_json", is_flag=True, help="Announce the address and the key as one JSON object.")
@click.option("--seconds", type=Amount(min=1), default=120.0, show_default=True, help="Limit of one request.")
def serve(
    models: tuple[str, ...], explainers: tuple[str, ...], store: str | None, port: int, as_json: bool, seconds: float
) -> None:
    """Open a page on this machine: explain texts and images, play with games, follow attention, watch a valuation."""
    from accredit.web.server import serve as served

    if store is not None:
        from accredit.web.journal_view import check

        check(store)  # a wrong file is refused before the page is served
    # A script that starts this in the background has interrupts ignored; here they end the page all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    click.echo("loading the model …", err=True)
    asyncio.run(served(models, explainers, store, port, _in_json if as_json else _announce, seconds=seconds))


def _announce(address: str, key: str) -> None:
    click.echo(f"open {address}\n(this address opens one browser, once; if the page asks for its key: {key})\n(Ctrl+C ends it)")


def _in_json(address: str, key: str) -> None:
    click.echo(json.dumps({"address": address, "key": key}))
