"""Peers in environments of their own: asked through pipes, listed with what is behind, and figures that are stale are found."""

import json
import subprocess
import sys

import numpy as np
import pytest

from accredit.games import FunctionGame, counted
from benchmarks.peers import __main__ as listing
from benchmarks.peers import environments, freshness, pipe
from benchmarks.peers.environments import PINS, Pin
from benchmarks.peers.pipe import SIDES, PeerFailed, Side
from benchmarks.peers.shapley import PeerEstimator
from tests.wording import says

SCRIPT = f"""
import sys
sys.path.insert(0, {str(SIDES)!r})
from side import serve

def doubled(values, by):
    print("peers may print")
    return {{"values": values * by, "said": "so"}}

def asks(payoff):
    return {{"values": payoff([[True, False], [True, True]])}}

def fails():
    raise ValueError("not today")

def dies():
    import os
    print("the last words", file=sys.stderr)
    os._exit(3)

serve({{"doubled": doubled, "asks": asks, "fails": fails, "dies": dies}})
"""
STUB = """
class KernelSHAP:
    def __init__(self, n, random_state):
        self.n = n
    def approximate(self, budget, payoff):
        earned = payoff([[i == j for i in range(self.n)] for j in range(self.n)])
        return {(i,): float(value) for i, value in enumerate(earned)}
"""


@pytest.fixture
def peer(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    side = Side(sys.executable, script)
    yield side
    side.close()


@pytest.mark.slow
def test_arrays_go_both_ways_payoffs_are_asked_and_a_failure_is_named(peer):
    answer = peer.call("doubled", values=np.arange(3.0), by=2)
    np.testing.assert_array_equal(answer["values"], [0.0, 2.0, 4.0])
    assert answer["said"] == "so" and 0 <= answer.seconds < 5
    answer = peer.call("asks", lambda coalitions: coalitions.sum(axis=1) * 10.0)
    np.testing.assert_array_equal(answer["values"], [10.0, 20.0])
    with pytest.raises(PeerFailed, match="ValueError: not today"):
        peer.call("fails")
    with pytest.raises(PeerFailed, match="there is no game"):
        peer.call("asks")


@pytest.mark.slow
def test_a_process_that_ends_is_named_with_its_last_words(peer):
    with pytest.raises(PeerFailed, match="ended with 3: the last words"):
        peer.call("dies")


def fake_environment(folder, pin: Pin) -> None:
    """This interpreter, with a library of that name that is made up."""
    place = folder / pin.name
    (place / "bin").mkdir(parents=True)
    (place / "stubs" / "shapiq").mkdir(parents=True)
    (place / "stubs" / "shapiq" / "__init__.py").write_text("")
    (place / "stubs" / "shapiq" / "approximator.py").write_text(STUB)
    python = place / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={place}/stubs exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (place / "versions.json").write_text(json.dumps({pin.package: pin.version}))


@pytest.mark.slow
def test_an_estimator_runs_in_its_environment_and_the_game_here(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCREDIT_PEERS", str(tmp_path))
    fake_environment(tmp_path, PINS["shapiq"])
    pipe.side.cache_clear()
    game = counted(FunctionGame(("a", "b", "c"), lambda s: s @ np.array([1.0, 2.0, 3.0])))
    estimator = PeerEstimator("shapiq", "shapiq_estimate", {"name": "KernelSHAP", "settings": {}})
    np.testing.assert_array_equal(estimator(game, 10, 0), [1.0, 2.0, 3.0])
    assert game.payoffs == 3 and 0 <= estimator.seconds < 5
    assert pipe.asked_versions()["shapiq"] == PINS["shapiq"].version
    pipe.side("shapiq", "estimators").close()
    pipe.side.cache_clear()


def test_an_environment_that_is_half_made_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCREDIT_PEERS", str(tmp_path))
    assert environments.ready(PINS["shapiq"]) is None
    fake_environment(tmp_path, PINS["shapiq"])
    assert environments.ready(PINS["shapiq"]) is not None
    (tmp_path / PINS["shapiq"].name / "versions.json").unlink()
    assert environments.ready(PINS["shapiq"]) is None


@pytest.mark.parametrize(
    ("newest", "told"), [("9.0", "BEHIND 9.0"), (None, "cannot be reached"), (PINS["shap"].version, "newest")]
)
def test_the_list_says_what_is_behind_and_when_nobody_can_say(newest, told, monkeypatch, tmp_path):
    monkeypatch.setenv("ACCREDIT_PEERS", str(tmp_path))
    monkeypatch.setattr(listing, "newest", lambda package: newest)
    (line,) = (line for line in listing.versions_told() if line.startswith("shap "))
    assert says(line, told) and says(line, "no environment yet")


def test_without_an_index_there_is_no_newest_version(monkeypatch):
    refused = subprocess.CompletedProcess([], 1, stdout="", stderr="no connection")
    monkeypatch.setattr(environments, "interpreter", lambda version: sys.executable)
    monkeypatch.setattr(environments.subprocess, "run", lambda *words, **settings: refused)
    assert environments.newest("shap") is None


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of one file of code, and a page that names its benchmark."""
    monkeypatch.setattr(freshness, "ROOT", tmp_path)
    monkeypatch.setattr(freshness, "CODE", {"it": ("code.py",)})
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("Measured by `python -m benchmarks.it`.")
    (tmp_path / "code.py").write_text('"""Says."""\n\nx = 1\n')
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    return tmp_path


@pytest.mark.slow
def test_a_figure_is_stale_when_its_code_says_something_else(repository):
    line = {"commit": freshness.git("rev-parse", "HEAD") + "+", "date": "today"}
    assert freshness.stale("it", line) is None
    code = repository / "code.py"
    code.write_text('"""Says more."""\n\nimport os\n\nx = 1  # one\n')
    assert freshness.stale("it", line) is None
    code.write_text('"""Says more."""\n\nx = 2\n')
    found = freshness.stale("it", line)
    assert found is not None and found.files == ("code.py",)
    assert freshness.pages_naming("it", repository) == ("README.md",) and not freshness.pages_naming("i", repository)
    unknown = freshness.stale("it", {"commit": "0123456789", "date": "today"})
    assert unknown is not None and says(unknown.files[0], "not in this repository")


@pytest.mark.parametrize(("named", "code"), [(("README.md",), 1), ((), 0)])
def test_only_a_figure_that_a_page_names_is_an_error(named, code, monkeypatch, capsys):
    old = freshness.Stale("shapley", "0123456789", "today", ("accredit/values/exact.py",), named)
    monkeypatch.setattr(listing, "newest", lambda package: None)
    monkeypatch.setattr(listing, "figures_that_are_stale", lambda: [old])
    assert listing.main([]) == code
    assert says(capsys.readouterr().out, "accredit/values/exact.py")


def test_every_benchmark_that_keeps_figures_says_which_code_it_measures():
    from tools.benchmarks_page import benchmarks

    assert set(benchmarks()) <= set(freshness.CODE)
    for paths in freshness.CODE.values():
        assert all((freshness.ROOT / path).exists() for path in paths)
