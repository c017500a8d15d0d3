"""`accredit doctor`: what is installed, and what would fail without it."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from accredit.core.version import __version__

EXTRAS = {  # extra -> (packages, what does not work without them)
    "core": (("numpy", "scipy", "click"), "nothing works"),
    "flow": (("ortools",), "exact cuts and pairwise attention flow"),
    "text": (
        ("torch", "transformers", "safetensors", "captum", "pillow"),
        "explaining models: text, images, gradients; influence of fine-tuned models (value --model FOLDER, trace)",
    ),
    "data": (("scikit-learn", "pandas"), "wrong labels and values of training data (value); to_pandas()"),
    "plot": (("matplotlib",), "figures"),
    "serve": (("fastapi", "uvicorn"), "the local page"),
    "cluster": (("distributed",), "running on a Dask cluster"),
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def doctor(as_json: bool) -> None:
    """Show versions, what is installed and what would fail."""
    found = {extra: {package: _version(package) for package in packages} for extra, (packages, _) in EXTRAS.items()}
    if as_json:
        click.echo(json.dumps({"accredit": __version__, "python": platform.python_version(), "extras": found}))
        return
    click.echo(f"accredit {__version__}, Python {platform.python_version()} on {sys.platform} {platform.machine()}")
    for extra, packages in found.items():
        listed = ", ".join(f"{package} {seen or 'missing'}" for package, seen in packages.items())
        click.echo(f"{'✓' if all(packages.values()) else '✗'} {extra:8} {listed}")
    missing = [extra for extra, packages in found.items() if not all(packages.values())]
    for extra in missing:
        click.echo(f"without [{extra}] this fails: {EXTRAS[extra][1]}. Install it: pip install 'accredit[{extra}]'")
    if not missing:
        click.echo("everything is there")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
