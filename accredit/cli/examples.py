"""`accredit examples`: small files to try every command with, and what to type."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from accredit.cli.command import Command
from accredit.cli.output import NewFolder
from accredit.core import InvalidInput

TRIALS = {  # what to type once the files lie in examples/ -> what it answers
    "accredit game examples/pricing.csv --html pricing.html": "what each of three data sets is worth to a buyer",
    "accredit game examples/cookies.csv --method banzhaf": "who earned the cookies, by another rule",
    "accredit game examples/effort.csv": "who earned what, level by level",
    "accredit game examples/words.csv": "what keeping, masking or replacing a word earns",
    "accredit flow examples/pipes.csv --from s --to t": "how much flows through a table of edges, and what limits it",
    'accredit explain "A gripping film that never quite lands." --html film.html': "which words earned a prediction",
    "accredit explain examples/sentences.txt --out credit.jsonl": "the same for each line of a file",
    "accredit explain --answer": "which passage made a language model say this",
    "accredit explain --context examples/passages.json --query 'Where does Anna live ?' --generate": "your own passages",
    "accredit explain --table": "which columns earned the predictions for rows of a table",
    "accredit value examples/reviews.csv --target mood --text review": "which labels are wrong, what each row is worth",
    "accredit compare --limit 5 --methods leave-one-out,rollout": "which of two methods to trust here",
    "accredit audit 'I left with a smile.'": "whether attention explains an answer",
    "accredit reproduce chapter --quick": "what holds of a paper, measured",
    "accredit serve": "all of it on a page of this machine",
}
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
    trials = {_moved(command, folder): answers for command, answers in TRIALS.items()}
    if as_json:
        click.echo(json.dumps({"folder": folder, "trials": trials}, ensure_ascii=False))
        return
    click.echo("Try:\n")
    for command, answers in trials.items():
        click.echo(f"  {command}\n      {answers}")


def trials_of(path: str) -> dict[str, str]:
    """What can be tried of one command, as "accredit game", and what it answers."""
    return {command: answers for command, answers in TRIALS.items() if f"{command} ".startswith(f"{path} ")}


def _write(path: Path, content: bytes) -> None:
    """A new file, or the one that is there; the person is told which."""
    try:
        with path.open("xb") as file:
            file.write(content)
        click.echo(f"written: {path}", err=True)
    except FileExistsError:
        if not path.is_file():
            raise InvalidInput(f"{path} is not a regular file; name another folder: accredit examples FOLDER") from None
        same = path.read_bytes() == content
        click.echo(f"kept: {path} ({'unchanged' if same else 'it differs from the example'})", err=True)


def _moved(command: str, folder: str) -> str:
    """The command with the files where they were written."""
    return command.replace("examples/", shlex.quote(f"{folder.rstrip('/')}/") if folder != "examples" else "examples/")
