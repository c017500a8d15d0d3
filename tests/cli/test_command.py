"""What holds for every command: the same options, exit codes that are written down, a manual page, completion, a doctor."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import accredit.cli
from accredit.cli.codes import BROKEN, CLOSED, CODES, DONE, INTERRUPTED, REFUSED
from accredit.cli.command import what_to_try
from accredit.cli.doctor import EXTRAS, SAMPLES
from accredit.cli.man import PLACES, commands, manual
from accredit.cli.trials import TRIALS, trials_of
from tests.cli.without import typed_without
from tests.wording import says
from tools.command_page import PAGE, filled, options

ROOT = Path(__file__).parents[2]
SCREEN = 50  # lines of one help
EVERY = {context.command_path.removeprefix("accredit "): context for context in commands(accredit.cli.accredit)}
PAGELESS = {"learn fit", "learn explain", "serve", "runs", "methods", "examples", "doctor", "completion", "man"}
CERTAIN = {"flow", "learn explain", "serve", "runs", "methods", "examples", "doctor", "completion", "man"}
WITHOUT = {  # option -> commands for which it would mean nothing
    "--quiet": set(),
    "--out": {"serve", "examples"},
    "--json": {"completion", "man"},
    "--seed": CERTAIN,
    "--html": PAGELESS,
}


@pytest.mark.parametrize("option", WITHOUT)
def test_every_command_has_the_option_unless_it_means_nothing(option):
    assert {name for name, context in EVERY.items() if option not in options(context)} == WITHOUT[option]


@pytest.mark.parametrize("name", EVERY)
def test_a_help_fits_the_window_and_ends_with_what_every_command_has(name):
    text = EVERY[name].command.get_help(EVERY[name])
    own = text.partition("Examples")[0]
    assert "\nResult:\n" in text
    last = re.findall(r"^  (?:-\S, )?(--[a-z-]+)", own, re.M)[-1]  # click says -h, too, once the command has been run here
    assert last == "--help"
    assert max(map(len, own.splitlines())) <= 80 or name == "learn fit"  # one option lists its ten choices
    assert len(own.splitlines()) <= SCREEN
    for topic in EVERY[name].command.topics:
        shown = EVERY[name].command.format_topic(EVERY[name], topic).splitlines()
        assert len(shown) <= SCREEN and max(map(len, shown)) <= 80
    assert "9223372036854775807" not in text and "INTEGER RANGE" not in text
    typed = re.sub(r" \\\n +", " ", text)
    assert all(trial in typed for trial in what_to_try(EVERY[name]))


def test_every_option_of_a_command_is_in_its_help():
    for context in EVERY.values():
        shown = context.command.get_help(context)
        topics = context.command.topics
        shown += "".join(context.command.format_topic(context, topic) for topic in topics)
        for option in context.command.params:
            assert not isinstance(option, click.Option) or option.opts[-1] in shown, (context.command_path, option)


def test_every_trial_is_shown_by_one_command():
    shown = [trial for name in EVERY for trial in trials_of(f"accredit {name}")]
    assert sorted(shown) == sorted(TRIALS)


def test_the_page_of_the_command_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "write it again: python -m tools.command_page"


def test_the_result_goes_to_the_file_and_nothing_is_printed(typed, tmp_path):
    plain, printed, _ = typed("game", SAMPLES / "pricing.csv", "--json")
    code, out, err = typed("game", SAMPLES / "pricing.csv", "--json", "--out", tmp_path / "it.json")
    assert (plain, code, out) == (0, 0, "")
    assert (tmp_path / "it.json").read_text() == printed and json.loads(printed)
    assert err == f"written: {tmp_path / 'it.json'}\n"


def test_a_failed_command_leaves_the_file_as_it_was(typed, tmp_path):
    (tmp_path / "it.txt").write_text("before")
    code, out, err = typed("game", tmp_path / "nothing.csv", "--out", tmp_path / "it.txt")
    assert code == REFUSED and out == "" and "nothing.csv" in err
    assert (tmp_path / "it.txt").read_text() == "before"


def test_quiet_leaves_the_result_and_errors(typed, tmp_path):
    page = tmp_path / "page.html"
    assert typed("game", SAMPLES / "pricing.csv", "--html", page)[2] == f"written: {page}\n"
    code, out, err = typed("game", SAMPLES / "pricing.csv", "--html", page, "--quiet")
    assert (code, err) == (DONE, "") and "38.33" in out
    code, out, err = typed("game", tmp_path / "nothing.csv", "-q")
    assert code == REFUSED and err.startswith("accredit: ")


# --- exit codes ---------------------------------------------------------------------------------------------------------


def _run(*words, **settings):
    return subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True, cwd=ROOT, **settings)


def _done():
    return _run("-m", "accredit", "--version", stdout=subprocess.PIPE)


def _broken():
    return _run("-c", "import accredit.cli as c; c.accredit.invoke = lambda context: 1 / 0; c.main()", "doctor")


def _refused():
    return _run("-m", "accredit", "game", "nothing.csv")


def _interrupted():
    """Interrupts are heard first: a shell that starts this in the background has them ignored."""
    hear = "import signal; signal.signal(2, signal.default_int_handler); import accredit.cli as c"
    return _run("-c", f"{hear}; c.accredit.invoke = lambda context: signal.raise_signal(2); c.main()", "doctor")


def _closed():
    read, write = os.pipe()
    os.close(read)
    process = _run("-m", "accredit", "methods", stdout=write)
    os.close(write)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
def test_each_exit_code_can_be_provoked(code):
    provoke = {DONE: _done, BROKEN: _broken, REFUSED: _refused, CLOSED: _closed, INTERRUPTED: _interrupted}
    process = provoke[code]()
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert ("Traceback" in err) == (code == BROKEN)


# --- manual page and completion -----------------------------------------------------------------------------------------


def test_the_manual_names_every_command_every_option_and_every_code():
    page = manual(accredit.cli.accredit).replace("\\-", "-")
    for name, context in EVERY.items():
        section = page.partition(f'.SH "ACCREDIT {name.upper()}"\n')[2].partition("\n.SH")[0]
        assert all(option in section for option in options(context) if option.startswith("--")), name
    assert all(f".B {code}\n" in page for code in CODES)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff, which lays out manual pages, is not installed")
def test_the_manual_is_laid_out_without_a_warning():
    words = ["groff", "-man", "-ww", "-Tutf8", "-K", "utf8"]
    done = subprocess.run(words, input=manual(accredit.cli.accredit), capture_output=True, text=True)
    assert done.returncode == 0 and [line for line in done.stderr.splitlines() if "break" not in line] == []
    assert "isn't" not in done.stderr and "accredit flow" in re.sub("\x1b\\[[0-9;]*m", "", done.stdout)


@pytest.mark.parametrize("shell", PLACES)
def test_a_shell_gets_its_lines(typed, shell):
    code, out, _ = typed("completion", shell)
    assert code == 0 and f"_ACCREDIT_COMPLETE={shell}_complete" in out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("accredit rep", "reproduce"),
        ("accredit reproduce flo", "flows"),
        ("accredit game --met", "--method"),
        ("accredit game --method ban", "banzhaf"),
        ("accredit explain hi --methods shapley,rol", "shapley,rollout"),
    ],
)
def test_tab_completes(typed, monkeypatch, words, offered):
    monkeypatch.setenv("_ACCREDIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert offered in [line.partition(",")[2] for line in typed()[1].splitlines()]


# --- the doctor ---------------------------------------------------------------------------------------------------------


def test_the_doctor_knows_every_extra_and_its_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = {"core": project["dependencies"]} | project["optional-dependencies"]
    named = {
        extra: {re.split(r"[<>=\[]", need)[0].lower() for need in needs if not need.startswith("accredit[")}
        for extra, needs in known.items()
        if extra not in ("all", "docs", "test", "bench", "peers")
    }
    assert {extra: set(packages) for extra, (packages, _) in EXTRAS.items()} == named


def test_the_doctor_says_what_to_type_for_what_is_missing(typed, monkeypatch):
    monkeypatch.setattr("accredit.cli.doctor._version", lambda name: None if name in ("torch", "pandas") else "1.0")
    code, out, _ = typed("doctor")
    assert code == 0
    assert "pip install 'accredit[text]'" in out and "pip install 'accredit[data]'" in out
    assert "accredit[plot]" not in out and "pip install 'accredit[all]'" in out
    assert json.loads(typed("doctor", "--json")[1])["missing"] == ["text", "data"]


@pytest.mark.parametrize(
    ("code", "works", "said"),
    [
        ("pass", True, "✓ bfloat16 works"),
        ("os.kill(os.getpid(), 4)", False, "✗ bfloat16 dies: importing torch ends the process by SIGILL; use float32"),
        ("sys.exit('broken')", None, "? bfloat16 could not be tried: importing torch: broken"),
    ],
)
def test_the_doctor_says_whether_this_cpu_runs_half_precision(typed, monkeypatch, code, works, said):
    child = (sys.executable, "-I", "-c", f"import os, sys; {code}")
    monkeypatch.setattr("accredit.models.precision.trial_command", lambda dtype: child)
    mark, _, said = said.partition(" ")
    assert f"{mark} CPU      {said}" in typed("doctor")[1].splitlines()
    assert json.loads(typed("doctor", "--json")[1])["bfloat16"] == {"works": works, "said": said}


def test_the_doctor_tries_no_precision_without_torch(typed, monkeypatch):
    monkeypatch.setattr("accredit.cli.doctor._version", lambda name: None if name == "torch" else "1.0")
    monkeypatch.setattr("accredit.cli.doctor.try_precision", lambda dtype: pytest.fail(dtype))
    assert "CPU" not in typed("doctor")[1]
    assert json.loads(typed("doctor", "--json")[1])["bfloat16"] is None


@pytest.mark.slow
def test_without_torch_a_command_says_in_its_own_words_what_to_install():
    asked = [["explain", "A film."], ["explain", "--answer"], ["audit", "A film."], ["compare"]]
    for code, said in typed_without("torch", asked):
        last = said.strip().splitlines()[-1]
        assert code == 2 and "accredit." not in last
        assert says(last, "pip install 'accredit[text]'")
