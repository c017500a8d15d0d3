"""Files and words that are on no list: the right answer, or one line that names what is wrong, exit code 2, nothing written."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.wording import reads, says

GAME = "coalition,payoff\n,0\nA,5\nB,3\nA+B,10\n"
ROWS = "x,y,label\n" + "".join(f"{i % 7}.5,{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(24))
posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes, links and names of bytes are those of POSIX")


@pytest.fixture
def game(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.csv").write_text(GAME)
    return "g.csv"


@pytest.mark.parametrize(
    ("option", "values"), [("--html", ("a.html", "b.html")), ("--seed", ("1", "2")), ("--out", ("a", "b"))]
)
def test_an_option_of_one_value_is_written_once(game, typed, tmp_path, option, values):
    code, out, err = typed("game", game, option, values[0], option, values[1])
    assert (code, out) == (2, "")
    assert reads(err)
    assert os.listdir(tmp_path) == ["g.csv"]
    assert typed("game", game, "--json", "--json")[0] == 0


@posix
@pytest.mark.parametrize("option", ["--html", "--out"])
def test_what_is_not_a_regular_file_is_refused_before_the_work(game, typed, tmp_path, option):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "round").symlink_to("about")
    (tmp_path / "about").symlink_to("round")
    there = sorted(os.listdir(tmp_path))
    for place in ("pipe", "/dev/full", "round", "new/", "a\0b", "", " ", "no/page"):
        code, out, err = typed("game", "missing.csv", option, place)  # the table is not there, and not yet asked for
        assert (code, out) == (2, "") and says(err, f"for '{option}'")
        assert err.count("\n") == 1 and sorted(os.listdir(tmp_path)) == there


@posix
def test_what_is_not_a_regular_file_is_not_read(game, typed, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "round.csv").symlink_to("round.csv")
    code, _, err = typed("reproduce", "all", "--data", "pipe.csv")
    assert code == 2 and says(err, "name a folder")
    for name, why in (
        ("pipe.csv", "is a pipe"),
        ("round.csv", "cannot be read"),
        ("a\0.csv", "NUL"),
        ("n\nl.csv", "does not exist"),
    ):
        for words in (("game", name), ("value", name, "--target", "label")):
            code, _, err = typed(*words)
            assert code == 2 and why in err and err.count("\n") == 1


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
@pytest.mark.slow
def test_a_folder_for_gradients_is_refused_before_it_is_made(game, typed, tmp_path):
    from accredit.models.builtin import answers_folder

    (tmp_path / "train.txt").write_text("Anna lives in Paris.\nBen lives in Rome.\n")
    place = os.fsdecode(b"\xff/\xff")
    code, _, err = typed("trace", "Paris", "--model", answers_folder(), "--train", "train.txt", "--store", place)
    assert code == 2 and says(err, "half of a") and "--store" in err and err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["g.csv", "train.txt"]


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_names_that_are_not_utf_8(game, typed, tmp_path):
    name, page = os.fsdecode(b"\xff\xfe.csv"), os.fsdecode(b"\xe9.html")
    (tmp_path / name).write_text(GAME)
    code, out, _ = typed("game", name, "--html", page, "--json")
    assert code == 0 and '"A": 6.0' in out
    assert "</html>" in (tmp_path / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (GAME.encode("utf-32"), "UTF-32"),
        (GAME.replace("10", "1e400").encode(), "beyond the largest number"),
        (GAME.replace("10", "nan").encode(), "nan; a payoff is a finite number"),
        (GAME.replace("10", "\u0661\u0660").encode(), "is not a number"),
        (GAME.replace("10", "1_0").encode(), "is not a number"),
        (GAME.replace("payoff", "payoff,payoff").encode(), "2 columns"),
        ((GAME + "A\n").encode(), "1 cell and the header 2"),
        ((GAME + "B+A,6\n").encode(), "second payoff"),
    ],
    ids=["utf-32", "1e400", "nan", "other digits", "underscore", "two columns", "ragged", "twice"],
)
def test_tables_of_games(game, typed, tmp_path, content, why):
    (tmp_path / "odd.csv").write_bytes(content)
    code, out, err = typed("game", "odd.csv")
    assert (code, out) == (2, "") and why in err and "odd.csv" in err and err.count("\n") == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_game_in_another_encoding_is_read_and_the_report_says_so(game, typed, tmp_path, encoding):
    (tmp_path / "wide.csv").write_bytes(GAME.encode(encoding))
    code, out, _ = typed("game", "wide.csv", "--json")
    read, plain = json.loads(out), json.loads(typed("game", game, "--json")[1])
    assert code == 0 and read["values"] == plain["values"] and "The file wide.csv was read as UTF-16." in read["reading"]


def test_a_byte_order_mark_is_not_part_of_the_first_name(game, typed, tmp_path):
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + GAME.encode())
    assert typed("game", "bom.csv") == typed("game", game)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"players": ["A"], "players": ["B"], "payoffs": {"": 0, "A": 1}}', "'players' twice"),
        ('{"players": ["A"], "payoffs": {"": 0, "A": 1, "A": 2}}', "'A' twice"),
        ('{"players": ["A"], "payoffs": {"": 0, "A": NaN}}', "NaN"),
        ('{"players": ["A"], "payoffs": {"": 0, "A": 1e400}}', "1e400"),
    ],
)
def test_json_of_games(game, typed, tmp_path, text, why):
    (tmp_path / "odd.json").write_text(text)
    code, out, err = typed("game", "odd.json")
    assert (code, out) == (2, "") and why in err and err.count("\n") == 1


@pytest.mark.parametrize("cell", ["1_0", "\u0661", "0x1", "1e400", '"1,5"'])
def test_a_cell_that_is_not_a_plain_number_does_not_make_its_column_words(game, typed, tmp_path, cell):
    (tmp_path / "rows.csv").write_text(f"{ROWS}{cell},2,yes\n", encoding="utf-8")
    code, out, err = typed("value", "rows.csv", "--target", "label", "--no-curves")
    assert (code, out) == (2, "") and "column 'x'" in err and err.count("\n") == 1


@pytest.mark.parametrize("name", ["credit.csv", "credit.tsv", "credit.parquet"])
def test_text_is_not_written_under_the_name_of_a_table(game, typed, tmp_path, name):
    code, out, err = typed("game", game, "--out", name)
    assert (code, out) == (2, "") and "--out is" in err and not (tmp_path / name).exists()
    assert typed("explain", "a fine film", "--out", name)[0] == 2


def test_a_table_with_semicolons_and_what_was_typed_about_it(game, typed, tmp_path):
    (tmp_path / "de.csv").write_text("coalition;payoff\n;0\nA;1.500\nB;2.000\nA+B;4.250\n")
    code, out, err = typed("game", "de.csv")
    assert (code, out) == (2, "") and "write --decimal , for the first, --decimal . for the second" in err
    credit = {mark: json.loads(typed("game", "de.csv", "--decimal", mark, "--json")[1]) for mark in ",."}
    assert str(4250.0) in json.dumps(credit[","]) and str(4.25) in json.dumps(credit["."])
    assert typed("explain", "a fine film", "--decimal", ",")[0] == 2
