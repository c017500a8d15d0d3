"""One reader of tables: what counts as a cell, a row and a name, and what is refused."""

import csv
import gzip
import io

import numpy as np
import pytest

from accredit.arena.texts import read_examples
from accredit.audit.saved import read_arrays
from accredit.checks import tables
from accredit.checks.tables import read_content, read_sheet
from accredit.errors import InvalidInput
from accredit.explanation.text_files import read_texts
from accredit.games import read_game
from accredit.store.frames import read_frame
from tests.wording import refused

READERS = {
    "explain": lambda file: read_texts(file, "a"),
    "value": read_frame,
    "compare": lambda file: read_examples(file, "a", None),
    "game": read_game,
    "audit": lambda file: read_arrays(file, "a"),
}


def put(folder, name, text):
    place = folder / name
    content = text if isinstance(text, bytes) else text.encode()
    place.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return place


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("t.csv", "a,a\n1,2\n", "2 columns of .* are called 'a'"),
        ("t.tsv", "a\tb\ta\n1\t2\t3\n", "2 columns of .* are called 'a'"),
        ("t.jsonl", '{"a": 1, "a": 2}\n', "gives 'a' twice"),
        ("t.csv", "a,b\n1,2\n\n3\n", "line 4 of .* has 1 cell and the header 2"),
        ("t.csv", "a,b\n1,2,3\n", "line 2 of .* has 3 cells and the header 2"),
        ("t.tsv", "a\tb\n1\t2\t3\n", "one that holds a tab"),
        ("t.csv", 'a,b\n1,2\n"3,4\n5,6\n', "line 3 of .* cannot be split .*close every quotation mark"),
        ("t.csv", b"a,b\n1,Gen\xe8ve\n", "not text in UTF-8.*line 2 reads 'Genève' in cp1252 and 'Genčve' in cp1250"),
        ("t.csv.gz", "a\tb\n1\t2\n3\n", "line 3 of .* has 1 cell and the header 2"),
        ("t.csv", "a,b;c,d\n1,2;3,4\n", "by comma and by semicolon"),
        ("t.csv", "\n  \n", "is empty; its first line must name the columns"),
        ("t.jsonl", '{"a": 1}\n[]\n', "line 2 of .* is not a JSON object"),
        ("t.jsonl", '{"a": 1}\n{"a": ' + "[" * 100_000 + "\n", "line 2 of .* is nested more than 100 deep"),
        ("t.jsonl", '{"a": ' + "1" * 5000 + "}\n", "line 1 of .* holds a whole number of 5000 digits"),
    ],
)
def test_every_command_refuses_the_same_tables(tmp_path, reader, name, text, why):
    with pytest.raises(InvalidInput, match=why):
        reader(put(tmp_path, name, text))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_missing_file_is_named(tmp_path, reader):
    with refused("missing"):
        reader(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with refused("type"):
        reader(tmp_path / "folder.csv")


TEXTS = ["fine", 'she said "no"', "a\ttab", "two\nlines", '"', "  padded ", "a, b", "ünï", "x" * 200_000]


@pytest.mark.parametrize("style", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "T.CSV.gz"])
def test_what_a_program_that_quotes_has_written_comes_back(tmp_path, name, style):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=tables.SEPARATORS[tables.ending(name)], quoting=style)
    writer.writerows([["text", "n"], *([text, k] for k, text in enumerate(TEXTS))])
    file = put(tmp_path, name, "\ufeff" + out.getvalue())
    assert read_sheet(file).column("text", "text") == TEXTS
    assert read_texts(file, "text") == TEXTS
    assert [row.text for row in read_examples(file, "text", None)] == TEXTS
    assert read_frame(file)["text"].tolist() == TEXTS


@pytest.mark.parametrize(
    "texts",
    [
        ['"Great."', "fine"],
        ['"I loved it', "fine", 'it was bad"'],  # with quotes these would be one row
        ['"Good" film', '"bad'],
        ['""wow"" he said'],
        ['5" of film', "he said"],
    ],
)
def test_marks_of_a_plain_tsv_are_characters(tmp_path, texts):
    file = put(tmp_path, "t.tsv", "text\tn\n" + "".join(f"{text}\t{k}\n" for k, text in enumerate(texts)))
    assert read_sheet(file).column("text", "text") == texts
    assert read_frame(file)["text"].tolist() == read_texts(file, "text") == texts
    assert [row.text for row in read_examples(file, "text", None)] == texts


def test_rows_know_their_lines(tmp_path):
    sheet = read_sheet(put(tmp_path, "t.csv", 'a,b\n"1\n1",2\n\n , \n3,4\n'))
    assert sheet.rows == (("1\n1", "2"), ("3", "4")) and sheet.lines == (2, 6)


def test_json_lines_leave_cells_empty(tmp_path):
    sheet = read_sheet(put(tmp_path, "t.ndjson", '{"a": 1.5, "b": "x"}\n\n{"c": null, "a": true}\n{"a": [1, "ü"]}\n'))
    assert sheet.names == ("a", "b", "c")
    assert sheet.rows == (("1.5", "x", ""), ("true", "", ""), ('[1, "ü"]', "", ""))


def test_columns_get_the_type_that_fits_all_their_cells(tmp_path):
    frame = read_frame(put(tmp_path, "t.csv", 'n,word,yes,m\n1,a,True,\n2,"b,c",False,7\n'))
    assert [frame[c].dtype.kind for c in ("n", "yes", "m")] == ["i", "b", "f"]
    assert frame["word"].tolist() == ["a", "b,c"] and np.isnan(frame["m"][0])


@pytest.mark.slow
def test_no_more_than_the_limit_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LIMIT", 1 << 20)
    bomb = put(tmp_path, "t.csv.gz", "a\n" + "0" * (64 << 20))
    with refused("too-many"):
        read_content(bomb)
    with refused("too-many"):
        read_content(put(tmp_path, "t.csv", "0" * ((1 << 20) + 1)))
    assert len(read_content(put(tmp_path, "t.txt", "0" * (1 << 20)))) == 1 << 20


def test_the_only_column_needs_no_name_and_others_are_listed(tmp_path):
    assert read_sheet(put(tmp_path, "one.csv", "text\nfine\n")).column(None, "text") == ["fine"]
    two = read_sheet(put(tmp_path, "two.csv", "text,label\nfine,1\n"))
    with refused("missing", "text"):
        two.column(None, "text")
    with refused("unknown", "text"):
        two.column("review", "text")


def test_a_payoff_is_written_as_a_number(tmp_path):
    with refused("type"):
        read_game(put(tmp_path, "g.csv", "coalition,payoff\n,0\nA,1_000\n"))
    with refused("range"):  # not without limit, and no number
        read_game(put(tmp_path, "g.csv", "coalition,payoff\n,0\nA,1e999\n"))
