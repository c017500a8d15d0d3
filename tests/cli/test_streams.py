"""The streams of the command: encodings, closed pipes, narrow windows."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accredit.cli import main
from accredit.cli.streams import Folding, fold  # registers what stands for characters that cannot be encoded
from accredit.views.language.printable import short, width

SYMBOLS = "−1 … █ naïve 😀"
PLAIN_SYMBOLS = "-1 ... # naïve ?"

WRAPPED = "\x1b[0m\none two\n  three\n  four\nfive\n"

ROOT = Path(__file__).parent.parent.parent


def run(words, tmp_path, **settings):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | settings
    command = [sys.executable, "-m", "accredit", *words]
    return subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment)


@pytest.fixture
def game(tmp_path):
    (tmp_path / "g.csv").write_text("coalition,payoff\n,0\nnaïve 😀,5\nB,3\nnaïve 😀+B,10\n", encoding="utf-8")
    return "g.csv"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-16", "cp437"])
def test_every_encoding_takes_the_text_and_the_json(game, tmp_path, encoding, monkeypatch):
    def written(*words):
        """What standard output gets, were this its encoding."""
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
        with monkeypatch.context() as here:
            for name, stream in streams.items():
                here.setattr(sys, name, stream)
            here.setattr(sys, "argv", ["accredit", "game", str(tmp_path / game), *words])
            with pytest.raises(SystemExit) as ended:
                main()
        assert not ended.value.code and streams["stderr"].buffer.getvalue() == b""
        return streams["stdout"].buffer.getvalue().decode("utf-8" if encoding == "ascii" else encoding)  # click's choice

    assert "6 of 10" in written()
    assert "naïve 😀" in json.dumps(json.loads(written("--json")), ensure_ascii=False)


def unread(words, folder, **settings):
    """The command whose standard output is closed before it begins, as in `accredit … | true`."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | settings
    command = [sys.executable, "-m", "accredit", *words]
    try:
        return subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=folder, env=environment)
    finally:
        os.close(writer)


@pytest.mark.slow
def test_the_encoding_of_the_terminal_is_taken(game, tmp_path):
    done = run(["game", game, "--json"], tmp_path, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert done.returncode == 0 and done.stderr == b"" and "naïve".encode("latin-1") in done.stdout
    assert "naïve 😀" in json.dumps(json.loads(done.stdout.decode("latin-1")), ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    "words",
    [
        "",
        "--help",
        "--version",
        "game --help",
        "man",
        "methods",
        "methods --json",
        "completion bash",
        "game g.csv",
        "game g.csv --json",
    ],
)
def test_a_reader_that_leaves_ends_the_command_quietly(words, buffered, game, tmp_path):
    done = unread(words.split(), tmp_path, PYTHONUNBUFFERED=buffered)
    assert done.stderr == b"" and done.returncode == 141


@pytest.mark.slow
@pytest.mark.parametrize("instruction", ["bash_complete", "bash_source", "zsh_complete", "fish_source"])
def test_a_shell_that_no_longer_wants_completions_gets_no_traceback(instruction, tmp_path):
    asked = {"_ACCREDIT_COMPLETE": instruction, "COMP_WORDS": "accredit ", "COMP_CWORD": "1"}
    done = unread([], tmp_path, **asked)
    assert done.stderr == b"" and done.returncode == 141


def test_an_interrupt_that_nobody_reads_of_ends_the_command_too(monkeypatch):
    """Ctrl-C after both streams are closed: the code of an interrupt, and no traceback."""
    import accredit.cli as cli

    left = []

    def closed(*words, **settings):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(cli.click, "echo", closed)
    monkeypatch.setattr(cli, "leave_closed_pipe", lambda: left.append(True))
    assert cli._interrupt() == 130 and left == [True]


@pytest.mark.slow
def test_places_without_a_home_or_room_for_temporary_files(game, tmp_path):
    for settings in (
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
        {"HOME": "", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
    ):
        done = run(["game", game, "--html", "a b'\"\n.html"], tmp_path, **settings)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "a b'\"\n.html").exists()


def test_likenesses_and_escapes():
    assert SYMBOLS.encode("latin-1", "accredit") == PLAIN_SYMBOLS.encode("latin-1")
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
    assert capsys.readouterr().out == "\x1b[31m" + "a" * 30 + WRAPPED


@pytest.mark.parametrize("name", ["a" * 10**6, "词" * 10**5, "a" + "\u0301" * 10**5, "\x1b[31m" * 10**5, "ok"])
def test_long_names_are_cut_without_reading_them_to_the_end(name):
    assert width(short(name, 22)) <= 22


WITHOUT_ROOM = """
import sys, tempfile
tempfile._candidate_tempdir_list = lambda: ["/proc"]  # where nobody, root included, can write
from accredit.cli import main
main()
"""
CHEAP = {  # a command line -> what it prints
    ("value", "rows.csv", "--target", "label", "--no-curves"): b"Nobody is accused: ",
    ("serve", "--help"): b"Usage: accredit serve",
    ("methods",): b"shapley",
}
EXPLAIN = ("explain", "good film", "--methods", "leave-one-out")
HOMES = {  # of a person: none, one that nobody can write into, root included, one that is not there
    "none": {},
    "read-only": {"HOME": "/proc"},
    "missing": {"HOME": "/no such folder"},
}
elsewhere = pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that nobody can write into is needed")


def run_at(home, program, words, folder):
    places = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "HF_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in places}
    environment |= {"PYTHONPATH": str(ROOT), **HOMES[home]}
    return subprocess.run([sys.executable, *program, *words], capture_output=True, cwd=folder, env=environment)


@pytest.mark.slow
@pytest.mark.processes
@elsewhere
@pytest.mark.parametrize(("words", "home"), list(zip(CHEAP, HOMES, strict=True)), ids=("value", "serve", "methods"))
def test_commands_need_neither_a_home_nor_temporary_space(words, home, tmp_path):
    rows = "".join(f"{i % 7},{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(24))
    (tmp_path / "rows.csv").write_text("x,y,label\n" + rows)
    done = run_at(home, ["-c", WITHOUT_ROOM], words, tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert CHEAP[words] in done.stdout
    assert os.listdir(tmp_path) == ["rows.csv"]


@pytest.mark.slow
@pytest.mark.processes
@elsewhere
def test_explain_needs_no_home_and_says_so_where_torch_needs_temporary_space(tmp_path):
    done = run_at("read-only", ["-m", "accredit"], EXPLAIN, tmp_path)
    assert done.returncode == 0 and b"POSITIVE" in done.stdout, done.stderr
    done = run_at("none", ["-c", WITHOUT_ROOM], EXPLAIN, tmp_path)
    refused = done.returncode == 2 and b"set TMPDIR to a folder that can be written" in done.stderr
    assert (refused and done.stderr.count(b"\n") == 1) or (done.returncode == 0 and b"POSITIVE" in done.stdout)
    assert os.listdir(tmp_path) == []
