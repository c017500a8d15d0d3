"""Where a command writes: whole files or nothing, and a path that cannot be written is reported before the work begins."""

from __future__ import annotations

from pathlib import Path

import click

from accredit.checks.files import check_folder, check_writable, put
from accredit.errors import InvalidInput


class NewFile(click.ParamType[str]):
    """A file that a command will write, or go on writing. It must be possible now, not only after hours of training."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.strip():
            self.fail("the name is empty; name a file", param, ctx)
        if value == "-":
            self.fail("what stands for standard output is no file; leave it out to print, or name a file", param, ctx)
        try:
            check_writable(value, "the path")
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        return value


class NewFolder(click.ParamType[str]):
    """A folder that a command will write into, made if it is not there; checked before the work."""

    name = "folder"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            check_folder(value, "the folder")
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        return value


def write_whole(path: str | Path, content: str) -> None:
    """Write a file so that it appears complete or not at all."""
    put(path, content.encode())


def write(path: str | Path) -> None:
    """Say, beside the result, that a file is there."""
    click.echo(f"written: {path}", err=True)
