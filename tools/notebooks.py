"""The tutorials as notebooks: `python -m tools.notebooks [--run] [--out FOLDER] [NAME …]`.

A tutorial in docs/tutorials is the one source. Its Python blocks become code cells, everything between them prose; below a cell
stands what `tools.tutorial_outputs` kept of its block. With `--run` every cell is executed by a real kernel instead, in a
folder with the files of `accredit examples`.
"""

from __future__ import annotations

import argparse
import base64
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from tools.tutorial_outputs import KEPT, Output, kept

ROOT = Path(__file__).parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:)([\w./-]+)\.md")


def notebook(page: str, name: str) -> NotebookNode:
    """The notebook of a tutorial. Cells are numbered, so that the same page gives the same file.

    >>> [cell.cell_type for cell in notebook("# A game\\n\\n```python\\nprint(1)\\n```\\n\\nDone.\\n", "game").cells]
    ['markdown', 'code', 'markdown']
    """
    made = v4.new_notebook(cells=[*_cells(page)])
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(made.cells):
        cell.id = f"{name}-{number}"
    nbformat.validate(made)
    return made


def _cells(page: str) -> Iterator[NotebookNode]:
    pieces = BLOCK.split(page)
    for place, piece in enumerate(pieces):
        text = piece.strip("\n")
        if text and place % 2:
            yield v4.new_code_cell(text)
        elif text:
            yield v4.new_markdown_cell(LINK.sub(_from_notebooks, text))


def _from_notebooks(link: re.Match[str]) -> str:
    """A link of docs/tutorials as seen from the folder of notebooks."""
    return "](../" + posixpath.normpath(f"docs/tutorials/{link[1]}.md")


def with_outputs(made: NotebookNode, outputs: Iterable[Output]) -> NotebookNode:
    """The notebook with what each block printed and drew, as it was kept for the site."""
    cells = (cell for cell in made.cells if cell.cell_type == "code")
    for number, (cell, said) in enumerate(zip(cells, outputs, strict=True), start=1):
        cell.execution_count = number
        cell.outputs = [v4.new_output("stream", name="stdout", text=said.text)] if said.text else []
        cell.outputs += [v4.new_output("display_data", {"image/png": _encode(KEPT / name)}) for name in said.pictures]
    nbformat.validate(made)
    return made


def _encode(picture: Path) -> str:
    return base64.b64encode(picture.read_bytes()).decode()


def run(made: NotebookNode) -> NotebookNode:
    """The notebook with the outputs of its cells; a cell that fails stops it."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "accredit" / "cli" / "samples", Path(folder) / "examples")
        NotebookClient(made, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return made


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or sorted(path.stem for path in TUTORIALS.glob("*.md")):
        page = TUTORIALS / f"{name}.md"
        made = notebook(page.read_text(encoding="utf-8"), name)
        nbformat.write(run(made) if options.run else with_outputs(made, kept(page)), options.out / f"{name}.ipynb")
        print(options.out / f"{name}.ipynb")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tutorials, for example text; default: all")
    parser.add_argument("--run", action="store_true", help="execute every cell and keep its output")
    parser.add_argument("--out", type=Path, default=ROOT / "notebooks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
