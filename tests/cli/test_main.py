"""The command itself: what it answers to wrong words, wrong places and a narrow window."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from accredit.cli import COMMANDS
from tests.wording import says


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["valu", "x.csv"], "there is no command 'valu'; did you mean value? See accredit --help"),
        (["exlpain", "hi"], "did you mean explain?"),
        (["version"], "did you mean --version?"),
        (["what a lovely film"], "the commands are explain, cite, game, flow, value"),
        (
            ["reproduce", "chaptre"],
            "there is no command 'chaptre'; did you mean chapter? See accredit reproduce --help",
        ),
        (["learn", "forget"], "there is no command 'forget'; the commands are fit, explain, audit. See accredit learn"),
        (
            ["value"],
            "Missing argument 'FILE'. Try accredit value examples/reviews.csv --target mood --text review with",
        ),
        (["value", "x.csv", "--targte", "y"], "See accredit value --help"),
        (["methods", "all"], "See accredit methods --help"),
    ],
)
def test_wrong_words_are_one_line_that_says_where_to_look(typed, words, told):
    code, out, err = typed(*words)
    assert code == 2
    assert told in err
    assert err.count("\n") == 1
    assert out == ""


def test_an_error_is_a_record_for_a_program_that_asks_for_one(typed, monkeypatch, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("a,y\n1,x\n2,z\n")
    words = ["value", str(table), "--target", "shoe"]
    assert typed(*words)[2].startswith("accredit: --target 'shoe' is not a column of")
    monkeypatch.setenv("ACCREDIT_ERRORS", "json")
    code, _, err = typed(*words)
    said = json.loads(err)
    assert code == 2 and said.pop("message").startswith("target 'shoe' is not a column of")
    assert said == {"argument": "target", "code": "unknown"}
    assert "did you mean value?" in json.loads(typed("valu")[2])["message"]  # words that are no error of the library, too


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full to print to")
def test_a_full_disk_is_said_in_words():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "accredit", "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and says(done.stderr, "no space left") and done.stderr.count("\n") == 1


def test_no_words_show_the_help(typed):
    code, out, _ = typed()
    assert code == 2
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize(
    ("place", "told"), [("nowhere/out.html", "there is no folder 'nowhere'"), (".", "is a folder; name a file in it")]
)
@pytest.mark.parametrize("words", [["value", "x.csv", "--target", "y", "--html"], ["runs", "x.db", "--export"]])
def test_a_place_that_cannot_be_written_is_told_before_the_work(typed, monkeypatch, tmp_path, words, place, told):
    """The files to read are not there, and nobody comes to look for them."""
    monkeypatch.chdir(tmp_path)
    code, _, err = typed(*words, place)
    assert code == 2
    assert told in err


def _shown(columns: int, *words: str) -> str:
    """What `accredit methods` prints in a window of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    command = [sys.executable, "-m", "accredit", "methods", *words]
    with subprocess.Popen(command, stdout=theirs, stdin=theirs, env=environment) as child:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # the other side is closed: Linux tells it so
            pass
        assert child.wait(120) == 0
    os.close(ours)
    return seen.decode()


@pytest.mark.slow
def test_the_list_of_methods_fits_the_window():
    narrow, everything = _shown(80), _shown(80, "--more")
    assert max(map(len, (narrow + everything).splitlines())) <= 80 and len(narrow.splitlines()) <= 24
    assert "knn-shapley" in narrow and says(narrow, "--more says more")
    assert says(" ".join(everything.split()), "to noisy payoffs")
