"""`accredit reproduce` comes with a distribution of its own, writes reports and says what holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from accredit.cli import COMMANDS, accredit
from accredit.core import plugins
from accredit.core.version import __version__
from accredit_papers.reproduce import reproduce
from tests.wording import says

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = """
import importlib.metadata, sys
listed = importlib.metadata.entry_points
def others(**asked):
    return importlib.metadata.EntryPoints(entry for entry in listed(**asked) if entry.dist.name != "accredit-papers")
importlib.metadata.entry_points = others
sys.modules["accredit_papers"] = None
from accredit.cli import main
main()
"""  # the command where accredit-papers is not installed


def test_the_command_comes_by_an_entry_point():
    assert "reproduce" not in COMMANDS
    (entry,) = (entry for entry in plugins.entries(plugins.COMMANDS) if entry.name == "reproduce")
    assert entry.dist is not None and entry.dist.name == PROJECT["name"] and entry.load() is reproduce
    assert PROJECT["entry-points"][plugins.COMMANDS] == {entry.name: entry.value}
    (added,) = accredit.added("reproduce")
    assert added.get() is reproduce and accredit.get_command(None, "reproduce") is reproduce


def test_both_distributions_have_one_version_and_one_licence():
    needed = next(word for word in PROJECT["dependencies"] if word.startswith("accredit["))
    assert PROJECT["version"] == __version__ and needed.endswith(f"=={__version__}")
    licences = {(ROOT / folder / "LICENSE").read_text(encoding="utf-8") for folder in (".", "papers")}
    assert len(licences) == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "chapter", "--help"]])
def test_without_the_papers_the_command_says_what_to_install(words):
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert "pip install accredit-papers" in said and "pip install ./papers" in said


@pytest.mark.slow
def test_without_the_papers_the_rest_goes_on():
    done = subprocess.run([sys.executable, "-c", WITHOUT, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "reproduce" not in done.stdout and all(name in done.stdout for name in COMMANDS)


@pytest.mark.slow
def test_all_pages_run_one_after_the_other(tmp_path):
    pytest.importorskip("transformers")
    words = ["reproduce", "all", "--quick", "--pages", "choices", "--json", "--out", str(tmp_path)]
    result = CliRunner().invoke(accredit, words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["report"] == "choices" and told["verdicts"][0]["found"] == "holds"
    assert says(told["verdicts"][0]["said"], "the four values")
    assert f"written: {tmp_path / 'choices.md'}" in result.stderr
    assert re.search(
        r"\npages run: 1, in [\d.]+ minutes, [\d.]+ of CPU: 4 statements hold, 0 are refuted, 1 cannot", result.stderr
    )
    assert says((tmp_path / "choices.md").read_text(), "`accredit reproduce choices")
    refused = CliRunner().invoke(accredit, ["reproduce", "all", "--pages", "selection"])
    assert refused.exit_code == 1 and says(str(refused.exception), "are chapter, propositions")


def test_an_unknown_name_is_refused():
    assert CliRunner().invoke(accredit, ["reproduce", "nothing"]).exit_code == 2
