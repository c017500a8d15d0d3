"""A place of its own for the matrix: a bad path must not reach the files, the home or the devices of whoever runs it.

Inside, the working folder, the home and the folder for temporary files are new and empty. Python tells every attempt to write
beside it (an audit hook), which is then refused: a file called "(1+2j)" cannot be left behind.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {  # audit event -> which of its arguments are paths that change
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.mkdir": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "shutil.rmtree": (0,),
    "sqlite3.connect": (0,),
}
PLACES = ("files", "work", "home", "temporary")


class Trespass(BaseException):
    """Something outside of the fence was about to change. Not an `Exception`: nobody may swallow it."""


@contextmanager
def fenced() -> Iterator[Path]:
    """A folder for the files of good calls; beside it, the working folder, the home and the temporary files of this process."""
    before, kept = os.getcwd(), {name: os.environ.get(name) for name in ("HOME", "TMPDIR")}
    with tempfile.TemporaryDirectory(prefix="accredit-matrix-") as outer:
        inner = Path(os.path.realpath(outer)) / "inside"
        for place in PLACES:
            (inner / place).mkdir(parents=True)
        os.environ |= {"HOME": str(inner / "home"), "TMPDIR": str(inner / "temporary")}
        tempfile.tempdir = None
        os.chdir(inner / "work")
        try:
            yield inner / "files"
        finally:
            os.chdir(before)
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
            tempfile.tempdir = None
        beside = {*os.listdir(outer)} - {"inside"} | {*os.listdir(inner)} - {*PLACES}
        assert not beside, f"written beside the places of the matrix: {sorted(beside)}"


def guard(inside: Path) -> None:
    """From here on, this process changes nothing outside of a folder; what tries to is named by `Trespass`."""
    root = os.path.realpath(inside)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        for path in _changed(event, arguments):
            place = os.path.realpath(path)
            if place != os.devnull and os.path.commonpath([root, place]) != root:
                raise Trespass(f"{event} of {place!r:.200}")

    sys.addaudithook(hook)


def _changed(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The paths that an audit event is about to change."""
    if event == "open":
        path, mode, flags = arguments
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else flags & WRITING
        return [os.fsdecode(path)] if writes and isinstance(path, str | bytes) else []
    given = [arguments[k] for k in PATHS.get(event, ())]
    return [os.fsdecode(path) for path in given if isinstance(path, str | bytes | os.PathLike) and path != ":memory:"]
