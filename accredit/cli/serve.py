"""`accredit serve`: the page, for one person on this machine."""

from __future__ import annotations

import asyncio
import signal

import click

from accredit.cli.options import Amount, Count, NamedPath


@click.command()
@click.option(
    "--model",
    "models",
    multiple=True,
    help="A folder with a Hugging Face model, or a name in the local cache; or a file with a model of rows (xgboost, lightgbm, "
    "catboost, skops or ONNX). Once for text, once for images, once for tables. Default: the built-in ones.",
)
@click.option(
    "--store", type=NamedPath(), metavar="RUN.db", help="A journal to watch, finished or still being written."
)
@click.option("--port", type=Count(0, 65535), default=8077, show_default=True, help="0 takes a free one.")
@click.option("--seconds", type=Amount(min=1), default=120.0, show_default=True, help="Limit of one request.")
def serve(models: tuple[str, ...], store: str | None, port: int, seconds: float) -> None:
    """Open a page on this machine: explain texts and images, play with games, follow attention, watch a valuation."""
    from accredit.store.journal import existing
    from accredit.web.server import serve as served

    if store is not None:
        with existing(store):
            pass  # it is a journal; a wrong file is refused before the page is served
    # A script that starts this in the background has interrupts ignored; here they end the page all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    click.echo("loading the model …", err=True)
    asyncio.run(served(models, store, port, _announce, seconds=seconds))


def _announce(address: str, key: str) -> None:
    click.echo(
        f"open {address}\n(this address opens one browser, once; if the page asks for its key: {key})\n(Ctrl+C ends it)"
    )
