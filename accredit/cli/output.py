"""Where a command writes: whole files or nothing, and a path that cannot be written is reported before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

import click


class NewFile(click.ParamType[str]):
    """A file that a command will write. Its folder must be there now, not only after hours of training."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        folder = Path(value).parent
        if Path(value).is_dir():
            self.fail(f"{value} is a folder; name a file in it", param, ctx)
        if not folder.is_dir():
            self.fail(f"there is no folder {folder} to write {value} in", param, ctx)
        if not os.access(folder, os.W_OK):
            self.fail(f"the folder {folder} cannot be written", param, ctx)
        return value


def write_whole(path: str | Path, content: str) -> None:
    """Write a file so that it appears complete or not at all."""
    from accredit.store.results import put

    put(Path(path), content.encode())
