"""`accredit doctor`: what is installed, what would fail without the rest, what to type to have it, and what this CPU runs."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from accredit.cli.added import OpenGroup
from accredit.cli.command import Command, wants_more
from accredit.cli.output import NewFolder
from accredit.cli.trials import TRIALS, lines_of
from accredit.core.plugins import Addition
from accredit.core.version import __version__
from accredit.errors import InvalidInput
from accredit.methods import Method
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
        click.echo("\n".join([*fold(EXTRAS[extra][1], indent="  "), f"      {_installation(extra)}"]))
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


@click.command(cls=Command, cuts=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a list.")
def methods(as_json: bool) -> None:
    """List every method by what it is good for; with --more also its other names, where it applies, what it divides and which
    axioms it keeps."""
    from accredit.methods import GOOD_FOR, every_method
    from accredit.views.terminal.screen import fold

    known = {method.name: method for method in every_method()}
    if as_json:
        click.echo(json.dumps({"methods": [method.to_plain() for method in known.values()]}, ensure_ascii=False))
        return
    placed = {name for names in GOOD_FOR.values() for name in names}
    groups = {**GOOD_FOR, "From other packages": tuple(name for name in known if name not in placed)}
    lines = ["Start with shapley; leave-one-out is its cheap check. --more says more of each."]
    for heading, names in groups.items():
        there = [known[name] for name in names if name in known]
        if not there:
            continue
        if wants_more():
            lines += ["", heading, *(line for method in there for line in _whole(method))]
        else:
            lines += [heading, *fold(", ".join(method.spelled for method in there), indent="  ")]
    click.echo("\n".join(lines))


def _whole(method: Method) -> list[str]:
    """One method: what it is, then what is known of it."""
    from accredit.views.terminal.screen import fold

    also = f" (also {', '.join(method.aliases)})" if method.aliases else ""
    divides = method.divides.removeprefix("nothing: ")
    gives = f"gives scores: {divides}" if divides != method.divides else f"divides {divides}"
    kept = ", ".join(method.axioms) or "no axiom"
    said = f"{method.note[:1].upper()}{method.note[1:]}. " if method.note else ""
    words = f"{said}For {', '.join(method.applies)}; {gives}; keeps: {kept}; cost: {method.cost.words}."
    return [f"  {method.spelled}{also}", *fold(words, indent="      ")]


SAMPLES = Path(__file__).parent / "samples"


@click.command(cls=Command, prints=False)
@click.argument("folder", type=NewFolder(), default="examples")
@click.option("--json", "as_json", is_flag=True, help="Print the commands to try as one JSON object.")
def examples(folder: str, as_json: bool) -> None:
    """Write small files into FOLDER, and print what can be tried with them.

    FOLDER is made if it is not there. A file that is already in it is kept as it is.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    done: dict[str, list[str]] = {}
    for sample in sorted(SAMPLES.iterdir()):
        done.setdefault(_write(target / sample.name, sample.read_bytes()), []).append(sample.name)
    for what, names in done.items():
        click.echo("\n".join(fold(f"{what}: {', '.join(names)}", after="  ")), err=True)
    trials = {_move(command, folder): answers for command, answers in TRIALS.items()}
    if as_json:
        click.echo(json.dumps({"folder": folder, "trials": trials}, ensure_ascii=False))
        return
    click.echo("Try:")
    for command, answers in trials.items():
        click.echo("\n".join(lines_of(command, answers)))


def _write(path: Path, content: bytes) -> str:
    """Make a new file, or keep the one that is there; what was done, in words."""
    try:
        with path.open("xb") as file:
            file.write(content)
        return f"written to {path.parent}"
    except FileExistsError:
        if not path.is_file():
            raise InvalidInput(
                f"{path} is not a regular file; name another folder: accredit examples FOLDER", code="unwritable"
            ) from None
        same = path.read_bytes() == content
        return f"kept in {path.parent} ({'unchanged' if same else 'it differs from the example'})"


def _move(command: str, folder: str) -> str:
    """The command with the files where they were written."""
    return command.replace("examples/", shlex.quote(f"{folder.rstrip('/')}/") if folder != "examples" else "examples/")
