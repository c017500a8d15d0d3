"""`accredit examples`: small files to try every command with, and what to type."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from accredit.cli.command import Command
from accredit.cli.output import NewFolder
from accredit.cli.trials import TRIALS
from accredit.errors import InvalidInput

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
    for sample in sorted(SAMPLES.iterdir()):
        _write(target / sample.name, sample.read_bytes())
    trials = {_move(command, folder): answers for command, answers in TRIALS.items()}
    if as_json:
        click.echo(json.dumps({"folder": folder, "trials": trials}, ensure_ascii=False))
        return
    click.echo("Try:\n")
    for command, answers in trials.items():
        click.echo(f"  {command}\n      {answers}")


def _write(path: Path, content: bytes) -> None:
    """A new file, or the one that is there; the person is told which."""
    try:
        with path.open("xb") as file:
            file.write(content)
        click.echo(f"written: {path}", err=True)
    except FileExistsError:
        if not path.is_file():
            raise InvalidInput(
                f"{path} is not a regular file; name another folder: accredit examples FOLDER", code="unwritable"
            ) from None
        same = path.read_bytes() == content
        click.echo(f"kept: {path} ({'unchanged' if same else 'it differs from the example'})", err=True)


def _move(command: str, folder: str) -> str:
    """The command with the files where they were written."""
    return command.replace("examples/", shlex.quote(f"{folder.rstrip('/')}/") if folder != "examples" else "examples/")
