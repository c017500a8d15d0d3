"""Notebooks are the tutorials: never behind them, with links that lead somewhere, and run by a real kernel."""

import re
from pathlib import Path

import pytest

from tools.notebooks import TUTORIALS, notebook, run, with_outputs
from tools.tutorial_outputs import kept

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat: pip install 'accredit[test]'")
FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_what_its_tutorial_says(name):
    page = TUTORIALS / f"{name}.md"
    made = with_outputs(notebook(page.read_text(encoding="utf-8"), name), kept(page))
    assert nbformat.read(FOLDER / f"{name}.ipynb", 4) == made, "write them again: python -m tools.notebooks"
    assert any(cell.get("outputs") for cell in made.cells)


def test_no_notebook_is_left_of_a_tutorial_that_is_gone():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name):
    for cell in nbformat.read(FOLDER / f"{name}.ipynb", 4).cells:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", cell.source):
            assert (FOLDER / target).exists(), f"{name}.ipynb links to {target}"


@pytest.mark.slow
@pytest.mark.processes
def test_a_notebook_runs_from_top_to_bottom():
    done = run(notebook((TUTORIALS / "game.md").read_text(encoding="utf-8"), "game"))
    printed = [output for cell in done.cells for output in cell.get("outputs", ())]
    assert printed and all(output.output_type != "error" for output in printed)
