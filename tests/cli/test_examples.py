"""`accredit examples`: files that are really there, kept if they were, and commands that parse."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from accredit.cli import COMMANDS, accredit
from accredit.cli.doctor import SAMPLES, examples
from accredit.cli.trials import TRIALS, lines_of
from accredit.views.terminal.screen import LINES, WIDTH
from tests.cli.without import typed_without
from tests.wording import says


def test_it_writes_every_sample_and_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(examples, [])
    assert done.exit_code == 0
    assert {path.name for path in (tmp_path / "examples").iterdir()} == {path.name for path in SAMPLES.iterdir()}
    assert all(command in done.output.replace(" \\\n     ", "") for command in TRIALS)
    assert len(done.output.splitlines()) <= LINES and max(map(len, done.output.splitlines())) <= WIDTH


def test_a_long_command_goes_on_after_a_backslash():
    command = "accredit explain --context my/folder/of/passages.json --query 'Where does Anna live ?'"
    first, second = lines_of(command, "your own passages")
    assert first.endswith(" \\") and second.endswith("  # your own passages")
    assert shlex.split(first[:-1] + second, comments=True) == shlex.split(command)


def test_a_file_that_was_there_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pricing.csv").write_text("mine")
    done = CliRunner().invoke(examples, ["."])
    assert Path("pricing.csv").read_text() == "mine"
    assert says(done.output, "it differs from")


def test_a_folder_in_the_way_of_a_file_is_named(typed, tmp_path):
    (tmp_path / "pricing.csv").mkdir()
    code, _, said = typed("examples", tmp_path)
    assert code == 2 and says(said, "pricing.csv is not")


def test_names_with_blanks_are_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = next(
        line
        for line in CliRunner().invoke(examples, ["my files"]).output.splitlines()
        if "pricing" in line and "accredit game" in line
    )
    assert shlex.split(line)[2] == "my files/pricing.csv"


@pytest.mark.parametrize("command", TRIALS)
def test_every_trial_is_a_command_with_options_that_exist(command):
    program, name, *rest = shlex.split(command)
    assert program == "accredit" and name in COMMANDS
    known = {option for param in accredit.get_command(None, name).params for option in param.opts}
    assert {word for word in rest if word.startswith("--")} <= known


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in TRIALS if c.startswith("accredit game")])
def test_a_trial_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    runner.invoke(examples, [])
    assert runner.invoke(accredit, shlex.split(command)[1:]).exit_code == 0


@pytest.mark.slow
def test_without_scikit_learn_it_says_what_to_install():
    asked = [
        ["value", "reviews.csv", "--target", "mood", "--text", "review"],
        ["value", "reviews.csv", "--target", "mood", "--text", "review", "--only", "labels"],
        ["explain", "--table"],
    ]
    for code, said in typed_without("sklearn", asked, SAMPLES):
        assert code == 2
        assert says(said, "pip install 'accredit[data]'")
