"""Every command that the README and the docs write, run as it stands: `python -m tools.docs_commands [PAGE …]`.

Each page has a folder of its own, with the files of `accredit examples` and stand-ins for the files that pages name, and its
commands run there from top to bottom, with `accredit` as the shell finds it. A command that cannot be run here is skipped by
a rule of `skipped`, which says why. Exits with 1 if a command fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[!r]*/*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
LIMIT = 900  # seconds of one command
ENDLESS = (
    "accredit serve",
    "accredit reproduce",
    "accredit runs run.db --resume",
)  # until stopped, for an hour, or as long as the run was
TO_BRING = re.compile(r"path/to/|\b(?:FILE|MODEL|PICTURES|FAST|COLUMN|FOLDER|GLOVE)\b")


def commands(page: Path) -> Iterator[str]:
    """The lines of a page's shell blocks that are commands; what they print, and comments, are not."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            written = line.removeprefix("$ ").split("  #")[0].strip()
            if re.match(r"(mkdir|accredit|pip|make|python|dask)\b", written):
                yield written


def skipped(command: str, folder: Path) -> str:
    """Why a command is not run, or nothing."""
    program = command.split(" && ")[-1].split()[0]
    if program != "accredit":
        return f"{program} is not this project's command"
    if command.startswith(ENDLESS):
        return "it takes an hour, or does not end"
    if "tcp://" in command:
        return "it needs a cluster"
    made = re.search(r"--out (\w+)", command)
    for found in TO_BRING.findall(command):
        if not (folder / found).exists() and not (made and made.group(1) == found):
            return f"{found} is for the reader to bring"
    return ""


def prepare(folder: Path) -> None:
    """The files that pages speak of: a table and a model of it, texts, pictures, prompts."""
    from PIL import Image
    from xgboost import XGBRegressor

    from accredit.cli.doctor import SAMPLES

    (folder / "examples").symlink_to(SAMPLES)
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 4)).round(3)
    model = XGBRegressor(n_estimators=10, max_depth=2).fit(table, table[:, 0] * table[:, 1] + table[:, 2])
    model.get_booster().feature_names = list("abcd")
    model.save_model(folder / "model.json")
    for name, rows in {"rows": table[:300], "train": table, "test": table[300:], "new": table[:20]}.items():
        (folder / f"{name}.csv").write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    reviews = (SAMPLES / "reviews.csv").read_text(encoding="utf-8")
    (folder / "reviews.csv").write_text(reviews)
    (folder / "texts.csv").write_text(reviews)
    (folder / "photos").mkdir()
    for place in ("photo.png", "shirt.png", "photos/one.png"):
        Image.fromarray(np.uint8(255 * np.eye(28))).save(folder / place)
    (folder / "prompt.txt").write_text("Anna lives in Rome .\n\nWhere does Anna live ?")
    (folder / "messages.json").write_text(json.dumps([{"role": "user", "content": "Where does Anna live ?"}]))


def main() -> None:
    wanted = sys.argv[1:]
    faults = 0
    for page in (page for page in PAGES if not wanted or page.name in wanted):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            prepare(folder)
            for command in commands(page):
                faults += _failed(page, command, folder)
    sys.exit(bool(faults))


def _failed(page: Path, command: str, folder: Path) -> bool:
    """Run one command and say how it went."""
    why, begun = skipped(command, folder), time.perf_counter()
    if why:
        print(f"– {page.name}: {command}\n    {why}", flush=True)
        return False
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT,
    )
    print(f"{'✗' if done.returncode else '✓'} {page.name}: {command}  ({time.perf_counter() - begun:.0f} s)", flush=True)
    if done.returncode:
        print(f"    {(done.stderr or done.stdout).strip()[-400:]}", flush=True)
    return bool(done.returncode)


if __name__ == "__main__":
    main()
