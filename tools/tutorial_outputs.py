"""What the Python blocks of tutorials and concept pages print and draw: `python -m tools.tutorial_outputs [PAGE …]`.

Each page is run from top to bottom, as a script, in a folder with the files of `accredit examples`. What a block printed and
drew goes into docs/site/outputs, from where the site shows it below the block (tools/site_pages.py). A test compares the blocks
that were run with those of the page, so that no output is older than its code.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
KEPT = DOCS / "site" / "outputs"
PAGES = [*sorted((DOCS / "tutorials").glob("*.md")), *sorted((DOCS / "concepts").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
DOTS = 90  # per inch of a figure


@dataclass(frozen=True)
class Output:
    """What one block printed, and the names of its pictures."""

    code: str
    text: str
    pictures: tuple[str, ...]


def name_of(page: Path) -> str:
    """A page as its outputs are called.

    >>> name_of(DOCS / "tutorials" / "text.md")
    'tutorials_text'
    """
    return f"{page.parent.name}_{page.stem}"


def run(page: Path) -> list[Output]:
    """Run every block of a page in one namespace; pictures are written at once."""
    names: dict[str, Any] = {"__name__": "page"}
    done = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        shutil.copytree(ROOT / "accredit" / "cli" / "samples", Path(folder) / "examples")
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, f"{page.name}, block {number}", "exec"), names)
            done.append(Output(code, printed.getvalue(), _pictures(f"{name_of(page)}_{number}")))
    return done


def _pictures(name: str) -> tuple[str, ...]:
    """Save and close every open figure."""
    if "matplotlib.pyplot" not in sys.modules:
        return ()
    from matplotlib import pyplot

    saved = []
    for place, figure in enumerate(pyplot.get_fignums()):
        saved.append(f"{name}_{place}.png")
        pyplot.figure(figure).savefig(KEPT / saved[-1], dpi=DOTS, bbox_inches="tight")
    pyplot.close("all")
    return tuple(saved)


def kept(page: Path) -> list[Output]:
    """What the last run of a page kept."""
    file = KEPT / f"{name_of(page)}.json"
    lines = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [Output(line["code"], line["text"], tuple(line["pictures"])) for line in lines]


def shown(page: Path) -> str:
    """The page with what each block printed and drew below it."""
    outputs = iter(kept(page))

    def followed(block: re.Match[str]) -> str:
        said = next(outputs)
        text = f"\n```text {{ .printed }}\n{said.text.rstrip()}\n```\n" if said.text.strip() else ""
        pictures = "".join(f"\n![What this block draws](../site/outputs/{name})\n" for name in said.pictures)
        return block[0] + text + pictures

    return BLOCK.sub(followed, page.read_text(encoding="utf-8"))


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    KEPT.mkdir(exist_ok=True)
    for page in (page for page in PAGES if not sys.argv[1:] or page.name in sys.argv[1:]):
        for old in KEPT.glob(f"{name_of(page)}_*.png"):
            old.unlink()
        lines = [asdict(output) for output in run(page)]
        (KEPT / f"{name_of(page)}.json").write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(page.relative_to(ROOT), flush=True)


if __name__ == "__main__":
    main()
