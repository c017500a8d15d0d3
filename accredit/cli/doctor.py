"""`accredit doctor`: what is installed, what would fail without the rest, what to type to have it, and what this CPU runs."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from accredit.cli.added import OpenGroup
from accredit.cli.command import Command
from accredit.core.plugins import Addition
from accredit.core.version import __version__
from accredit.models.precision import PrecisionTrial, try_precision
from accredit.views.terminal.screen import fold

EXTRAS = {  # extra -> (packages, what does not work without them)
    "core": (("numpy", "scipy", "click", "jinja2", "threadpoolctl"), "everything"),
    "flow": (("ortools",), "exact cuts and pairwise attention flow"),
    "text": (
        ("torch", "transformers", "safetensors", "pillow"),
        "explaining texts, images and answers; gradients; trained explainers; audit, compare, trace; value --model FOLDER",
    ),
    "data": (("scikit-learn", "pandas"), "wrong labels and values of training data (value); to_pandas()"),
    "trees": (
        ("xgboost-cpu", "lightgbm", "catboost", "skops", "onnxruntime", "pyarrow"),
        "reading model files of these libraries (explain rows.csv --model model.json); Parquet tables",
    ),
    "plot": (("matplotlib",), "figures: accredit.views.figures"),
    "shap": (("shap",), "handing results to shap's plots: to_shap()"),
    "serve": (("fastapi", "uvicorn"), "the local page (serve)"),
    "cluster": (("distributed",), "running on a Dask cluster (--executor dask)"),
    "mlflow": (("mlflow-skinny",), "logging results to MLflow: log_to_mlflow()"),
}
MARKS = {True: "✓", False: "✗", None: "?"}
OTHER = {"xgboost-cpu": ("xgboost",)}  # packages that do as well


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def doctor(as_json: bool) -> None:
    """Show versions, what is installed, what fails without the rest, and what to type to have it.

    Without an extra, games, values and flows of tables work: `accredit game`, `accredit flow`. With torch, products in bfloat16
    are tried in a process of their own, because some virtual machines announce instructions that end it.
    """
    found = {extra: {package: _version(package) for package in packages} for extra, (packages, _) in EXTRAS.items()}
    missing = [extra for extra, packages in found.items() if not all(packages.values())]
    if as_json:
        trial = _bfloat16(found)
        told = {
            "accredit": __version__,
            "python": platform.python_version(),
            "extras": found,
            "missing": missing,
            "plugins": [one.to_plain() for one in _additions()],
            "bfloat16": trial and {"works": trial.works, "said": str(trial)},
        }
        click.echo(json.dumps(told))
        return
    click.echo(f"accredit {__version__}, Python {platform.python_version()} on {sys.platform} {platform.machine()}\n")
    for extra, packages in found.items():
        listed = ", ".join(f"{package} {seen or 'missing'}" for package, seen in packages.items())
        click.echo("\n".join(fold(f"{MARKS[all(packages.values())]} {extra:8} {listed}", after=" " * 11)))
    if trial := _bfloat16(found):
        click.echo(f"{MARKS[trial.works]} {'CPU':8} {trial}")
    for one in _additions():
        said = f"not used: {one.problem}" if one.problem else "is used"
        click.echo(f"{MARKS[not one.problem]} {'plugin':8} {one.name} of {one.package} ({one.group}) {said}")
    click.echo("\nEverything is there." if not missing else "\nWhat fails without the rest:\n")
    for extra in missing:
        click.echo(f"  {EXTRAS[extra][1]}\n      {_installation(extra)}")
    if len(missing) > 1:
        click.echo(f"\nAll of it: {_installation('all')}")


def _additions() -> tuple[Addition, ...]:
    """What other packages add: methods, readers and commands, used or not."""
    from accredit.methods import add_methods
    from accredit.models.rows import add_readers

    root = click.get_current_context().find_root().command
    commands = root.added() if isinstance(root, OpenGroup) else ()
    return (*add_methods(), *add_readers(), *commands)


def _bfloat16(found: dict[str, dict[str, str | None]]) -> PrecisionTrial | None:
    """What became of bfloat16 on this CPU; None without torch."""
    return try_precision("bfloat16") if found["text"]["torch"] else None


def _installation(extra: str) -> str:
    """What to type."""
    return "pip install 'accredit'" if extra == "core" else f"pip install 'accredit[{extra}]'"


def _version(package: str) -> str | None:
    for name in (package, *OTHER.get(package, ())):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None
