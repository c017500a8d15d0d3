"""The streams of the command: encodings, closed pipes, narrow windows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accredit.cli.streams  # noqa: F401  registers what stands for characters that cannot be encoded
from accredit.cli.streams import Folding, fold
from accredit.views.columns import short, width

ROOT = Path(__file__).parent.parent.parent


def run(words, tmp_path, **settings):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | settings
    command = [sys.executable, "-m", "accredit", *words]
    return subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment)


@pytest.fixture
def game(tmp_path):
    (tmp_path / "g.csv").write_text("coalition,payoff\n,0\nnaïve 😀,5\nB,3\nnaïve 😀+B,10\n", encoding="utf-8")
    return "g.csv"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-16", "cp437"])
def test_every_encoding_takes_the_text_and_the_json(game, tmp_path, encoding):
    done = run(["game", game], tmp_path, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0 and done.stderr == b""
    done = run(["game", game, "--json"], tmp_path, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    read = json.loads(done.stdout.decode("utf-8" if encoding == "ascii" else encoding))
    assert "naïve 😀" in json.dumps(read, ensure_ascii=False)


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for words in (["methods"], ["doctor"], ["methods", "--json"]):
        command = [sys.executable, "-m", "accredit", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
            child.stdout.close()
            assert child.stderr.read() == b""
            assert child.wait() in (0, 141)


@pytest.mark.slow
def test_places_without_a_home_or_room_for_temporary_files(game, tmp_path):
    for settings in (
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
        {"HOME": ""},
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
    ):
        done = run(["game", game, "--html", "a b'\"\n.html"], tmp_path, **settings)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "a b'\"\n.html").exists()


def test_likenesses_and_escapes():
    assert "−1 … █ naïve 😀".encode("latin-1", "accredit") == "-1 ... # naïve ?".encode("latin-1")
    assert json.loads('{"a": "−█😀"}'.encode("ascii", "accredit")) == {"a": "−█😀"}


@pytest.mark.parametrize("cells", [4, 20, 33, 80])
def test_folded_lines_fit_and_lose_nothing(cells):
    for line in (
        "alice        6  ████████████",
        "a" * 200,
        "",
        "   ",
        "词" * 50,
        "claims: efficiency, symmetry, null player, linearity",
    ):
        folded = fold(line, cells).split("\n")
        assert all(width(part) <= cells for part in folded) or not line.strip()
        assert "".join("".join(folded).split()) == "".join(line.split())


def test_colours_are_left_alone_and_lines_stay_lines(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "10")
    stream = Folding(sys.stdout)
    stream.write("\x1b[31m" + "a" * 30 + "\x1b[0m\n")
    stream.write("one two three four\nfive\n")
    assert capsys.readouterr().out == "\x1b[31m" + "a" * 30 + "\x1b[0m\none two\n  three\n  four\nfive\n"


@pytest.mark.parametrize("name", ["a" * 10**6, "词" * 10**5, "a" + "\u0301" * 10**5, "\x1b[31m" * 10**5, "ok"])
def test_long_names_are_cut_without_reading_them_to_the_end(name):
    assert width(short(name, 22)) <= 22
