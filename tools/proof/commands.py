"""Cells of the command: every argument and option that click declares, with values that it must not take.

A refusal is exit code 2, one line on standard error, and nothing written.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from accredit.cli import accredit, main
from tools.proof.bad_values import null_device
from tools.proof.cells import RIGHT, TYPED, Outcome
from tools.proof.examples import game_file

WRITES = ("html_file", "out", "export_file", "new")
STARTS = (
    "serve",
    "reproduce",
)  # commands whose good call takes minutes or does not end: only what must be refused is tried


@dataclass(frozen=True)
class CommandCell:
    """One command line: the words before and after the bad one."""

    command: str
    parameter: str
    kind: str
    words: tuple[str, ...]
    refuse: bool

    @property
    def name(self) -> str:
        return f"cli.{self.command}"

    def __str__(self) -> str:
        return f"accredit {self.command} ({self.parameter}={self.kind})"


def prepare(folder: Path) -> None:
    """Files that good command lines read."""
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.3f},{b:.3f},{'yes' if a > 0 else 'no'}\n" for a, b in rng.normal(size=(30, 2)))
    (folder / "rows.csv").write_text("x,y,label\n" + rows)
    (folder / "texts.csv").write_text("text,label\ngood film,positive\nbad film,negative\n")
    (folder / "train.txt").write_text("Anna lives in Paris.\nBen lives in Rome.\n")
    (folder / "torn.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    game_file(folder)
    _journal(folder / "journal.db")


def _journal(file: Path) -> None:
    from accredit.store import Journal, durable
    from accredit.values import Permutations
    from tools.proof.examples import game

    if not file.exists():
        with Journal(file) as journal, durable(game(), journal, "serial", name={"game": "x"}) as kept:
            Permutations(budget=20).solve(kept)


def good_line(command: str, folder: Path) -> tuple[str, ...]:
    """A command line that works."""
    from accredit.models.builtin import answers_folder

    lines = {
        "explain": ("explain", "good film", "--methods", "leave-one-out"),
        "game": ("game", str(folder / "game.json")),
        "value": ("value", str(folder / "rows.csv"), "--target", "label", "--no-curves"),
        "trace": ("trace", "Paris", "--model", str(answers_folder()), "--train", str(folder / "train.txt")),
        "compare": ("compare", "--data", str(folder / "texts.csv"), "--limit", "1", "--methods", "leave-one-out"),
        "audit": ("audit", "good film", "--tests", "gradients"),
        "runs": ("runs", str(folder / "journal.db")),
    }
    return lines.get(command, tuple(command.split(" ")))


WORDS = {  # kind -> (word, must be refused)
    "int": {
        "empty": ("", True),
        "text": ("many", True),
        "fraction": ("2.5", True),
        "nan": ("nan", True),
        "exponent": ("1e3", True),
        "underscore": ("1_000", True),
        "hexadecimal": ("0x10", True),
        "negative": ("-1", True),
        "zero": ("0", False),
        "huge": ("9" * 400, False),
        "surrogate": ("\udcff", True),
        "list": ("1,2", True),
    },
    "float": {
        "empty": ("", True),
        "text": ("much", True),
        "nan": ("nan", True),
        "comma": ("0,5", True),
        "underscore": ("1_0.5", True),
        "negative": ("-1", True),
        "inf": ("inf", False),
        "beyond doubles": ("1e400", False),
        "zero": ("0", False),
        "surrogate": ("\udcff", True),
    },
    "choice": {
        "empty": ("", True),
        "misspelt": ("shaplye", True),
        "surrogate": ("\udcff", True),
        "very long": ("x" * 5000, True),
    },
    "text": {
        "empty": ("", False),
        "misspelt": ("misspelt", False),
        "surrogate": ("\udcff", False),
        "very long": ("x" * 5000, False),
        "newline": ("a\nb", False),
        "markup": ("<b>", False),
    },
}


FOLDERS = {"NewFolder"}  # types of options that name a folder to write into, which may be there


def _paths(writes: bool, folder: Path) -> dict[str, tuple[str, bool]]:
    """Paths that cannot be read, or must not be written."""
    shared = {
        "empty": ("", True),
        "folder": (str(folder), True),
        "fifo": (str(folder / "fifo"), True),
        "very long": ("x" * 5000, True),
        "surrogate in a folder": ("\udcff/\udcff", True),
    }
    if writes:
        return shared | {
            "device": (str(null_device(folder)), True),
            "missing folder": (str(folder / "no" / "page.html"), True),
        }
    return shared | {
        "missing": (str(folder / "missing.csv"), True),
        "device": ("/dev/zero", True),
        "torn journal": (str(folder / "torn.db"), True),
    }


def cells(folder: Path) -> Iterator[CommandCell]:
    """Every command, option and value."""
    fifo = folder / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    context = click.Context(accredit)
    for name in accredit.list_commands(context):
        command = accredit.get_command(context, name)
        assert command is not None
        yield from _unknown(name, folder)
        if isinstance(command, click.Group):
            for inner, one in command.commands.items():
                yield from _cells_of(f"{name} {inner}", one, folder)
        else:
            yield from _cells_of(name, command, folder)


def _unknown(name: str, folder: Path) -> Iterator[CommandCell]:
    line = good_line(name, folder)
    yield CommandCell(name, "options", "unknown option", (*line, "--no-such-option"), True)
    yield CommandCell(name, "options", "one word too many", (*line, "one", "two", "three"), True)


def _cells_of(name: str, command: click.Command, folder: Path) -> Iterator[CommandCell]:
    line = good_line(name, folder)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.is_flag:
            continue
        for kind, (word, refuse) in _values(parameter, folder).items():
            if not refuse and name.split(" ")[0] in STARTS:
                continue
            if isinstance(parameter, click.Option):
                words = (*_without(line, parameter.opts[-1]), parameter.opts[-1], word)
            elif len(line) > 1:
                words = (line[0], word, *line[2:])
            else:
                continue
            yield CommandCell(name, parameter.name or "", kind, words, refuse)


def _without(line: tuple[str, ...], option: str) -> tuple[str, ...]:
    """A command line without an option and its value: an option is written once."""
    at = line.index(option) if option in line else len(line)
    return line[:at] + line[at + 2 :]


def _values(parameter: click.Parameter, folder: Path) -> dict[str, tuple[str, bool]]:
    kind: Any = parameter.type
    if type(kind).__name__ in FOLDERS:
        wrong = {"empty", "fifo", "device", "very long"}
        return {k: (word, k in wrong) for k, (word, _) in _paths(True, folder).items()}
    if isinstance(kind, click.Path) or type(kind).__name__ == "NewFile":
        found = _paths(parameter.name in WRITES, folder)
        if not getattr(kind, "file_okay", True):  # it names a folder, and one that holds nothing of use is still one
            found["folder"] = (str(folder), False)
        return {k: (w, refuse and parameter.name != "store") for k, (w, refuse) in found.items()}
    if isinstance(kind, click.Choice) or type(kind).__name__ in ("MethodName", "MethodNames"):
        return WORDS["choice"]
    if isinstance(kind, click.FloatRange) or kind is click.FLOAT or "Number" in type(kind).__name__:
        return WORDS["float"]
    if isinstance(kind, click.IntRange) or kind is click.INT or "Count" in type(kind).__name__:
        return WORDS["int"]
    return WORDS["text"]


def tried(cell: CommandCell, folder: Path) -> Outcome:
    """Run one command line in this process and judge how it ends."""
    os.chdir(folder)
    before = set(os.listdir(folder))
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    kept, sys.argv = sys.argv, ["accredit", *cell.words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException as error:
        return Outcome("raw exception", f"{type(error).__name__}: {error}")
    finally:
        sys.argv = kept
    written = set(os.listdir(folder)) - before
    for name in written:
        with contextlib.suppress(OSError):
            os.unlink(folder / name)
    return _judged(cell, code, err.getvalue(), written)


def _judged(cell: CommandCell, code: Any, said: str, written: set[str]) -> Outcome:
    if code == 0:
        return Outcome("accepted", said[-200:] or "exit code 0") if cell.refuse else Outcome(RIGHT)
    if code != 2:
        return Outcome("raw exception", f"exit code {code}: {said[-200:]}")
    if written:
        return Outcome("accepted", f"refused, but wrote {sorted(written)}")
    lines = said.strip().splitlines()
    if not lines or len([line for line in lines if line.startswith("accredit: ")]) != 1 or len(lines[-1]) > 1000:
        return Outcome("unhelpful", said[-300:])
    return Outcome(TYPED, lines[-1])
