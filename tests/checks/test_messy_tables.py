"""Tables as programs export them: read where that is certain, and the note says how; else refused, with what decides."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from accredit.checks.table_format import TableFormat, written_as
from accredit.checks.tables import read_sheet
from accredit.errors import InvalidInput
from accredit.flow.graph import Graph
from accredit.games import read_game
from accredit.store.frames import notes_of, read_frame
from tests.wording import refused

NAN = float("nan")
EXPORTS = {  # as written -> columns, and words of the notes
    "Excel in Germany": (
        "sep=;\r\nStadt;Fläche;Preis\r\nZürich;1,5;1.234,50\r\nKöln;12,25;980,00\r\n".encode("cp1252"),
        {"Stadt": ["Zürich", "Köln"], "Fläche": [1.5, 12.25], "Preis": [1234.5, 980.0]},
        ("; as delimiter", "cp1252", ", as decimal mark", "1.234,50 was read as 1234.50"),
    ),
    "Excel in the US": (
        b'city,income,rent\r\nAustin,"$1,234.50",700\r\nBoise,"$12,000.00",#N/A\r\n',
        {"city": ["Austin", "Boise"], "income": [1234.5, 12000.0], "rent": [700, NAN]},
        ("with thousands", "with a currency", "#N/A"),
    ),
    "write.csv of R": (
        b'"","age","town"\n"1",41,"A"\n"2",NA,"B"\n',
        {"age": [41, NAN], "town": ["A", "B"]},
        ("numbers or names the rows", "'NA' (1 cell)"),
    ),
    "write.table of R": (
        b'"age","pay"\n"1",41,1.5\n"2",30,2.5\n',
        {"age": [41, 30], "pay": [1.5, 2.5]},
        ("numbers or names the rows",),
    ),
    "SPSS": (
        b"id;score;group\r\n1;12,5; \r\n2; ;3\r\n3;#NULL!;1\r\n",
        {"id": [1, 2, 3], "score": [12.5, NAN, NAN], "group": [NAN, 3, 1]},
        (", as decimal mark", "'#NULL!' (1 cell)"),
    ),
    "a dump of MySQL": (
        b"id\tname\tpay\n1\tAnn\t10.5\n2\t\\N\t\\N\n",
        {"id": [1, 2], "name": ["Ann", NAN], "pay": [10.5, NAN]},
        ("a tab as delimiter",),
    ),
    "Google Sheets": (
        '\ufeffname,note,n\r\nAnn,"two\nlines, and ""marks""",1\r\nBob,,2\r\n'.encode(),
        {"name": ["Ann", "Bob"], "note": ['two\nlines, and "marks"', NAN], "n": [1, 2]},
        (),
    ),
    "LibreOffice, UTF-16": (
        "x\ty\n1\t0.5\n2\t1.234\n".encode("utf-16"),
        {"x": [1, 2], "y": [0.5, 1.234]},
        ("a tab as delimiter", "UTF-16"),
    ),
    "SAP": (
        b"|Konto |Betrag    |\n|------|----------|\n|4711  |1.234,56- |\n|4712  |   12,00  |\n",
        {"Konto": [4711, 4712], "Betrag": [-1234.56, 12.0]},
        ("| as delimiter", ", as decimal mark", "a minus at the end", "2 columns"),
    ),
    "Stata": (
        b"age,pay,\n41,.,\n30,2.5,\n",
        {"age": [41, 30], "pay": [NAN, 2.5]},
        ("'.' (1 cell)", "left out"),
    ),
    "pandas, with its row numbers": (
        b"Unnamed: 0,x,y\n0,1,unknown\n1,2,5\n",
        {"x": [1, 2], "y": [NAN, 5]},
        ("numbers or names the rows", "'unknown'"),
    ),
    "Switzerland": (
        b"Ort;Miete\nGenf;1'250.50\nChur;980.00\n",
        {"Ort": ["Genf", "Chur"], "Miete": [1250.5, 980.0]},
        ("; as delimiter", "1'250.50 was read as 1250.50"),
    ),
    "Excel, with a title": (
        b"Kunden 2024;;\r\n\r\nOrt;Miete;Zone\r\nBern;1,5;3\r\nChur;2;4\r\n",
        {"Ort": ["Bern", "Chur"], "Miete": [1.5, 2], "Zone": [3, 4]},
        ("; as delimiter", "2 lines above the names of the columns of t.csv were left out: 'Kunden 2024'"),
    ),
    "an instrument, with comments": (
        b"# made by X, version 3\n# channel 1, channel 2, channel 3, channel 4\ntime,a,b\n0,1.5,2\n1,2.5,4\n",
        {"time": [0, 1], "a": [1.5, 2.5], "b": [2, 4]},
        ("2 lines above the names",),
    ),
    "columns by hand": (
        b"age, town, pay\n41, Bern, 1.5\n30, Chur,\n",
        {"age": [41, 30], "town": ["Bern", "Chur"], "pay": [1.5, NAN]},
        ("The blank after every delimiter",),
    ),
    "names with blanks": (
        b'"age ",town\n41,Bern\n30,Chur\n',
        {"age": [41, 30], "town": ["Bern", "Chur"]},
        ("Blanks around names of columns", "'age '"),
    ),
    "a column without a name": (
        b"age,,pay\n41,Bern,1\n41,Chur,2\n",
        {"age": [41, 41], "Unnamed: 1": ["Bern", "Chur"], "pay": [1, 2]},
        ("Column 2 of t.csv has no name",),
    ),
    "Excel in Germany, with its errors": (
        b"n;x;y\n1;1,5;#NV\n2;#WERT!;2,5\n3;k.A.;unbekannt\n",
        {"n": [1, 2, 3], "x": [1.5, NAN, NAN], "y": [NAN, 2.5, NAN]},
        ("'#WERT!', 'k.A.' (2 cells)", "'#NV', 'unbekannt' (2 cells)"),
    ),
    "currencies by their names": (
        b"a;b;c\nCHF 1'250.50;12.5 kr;R$ 3.5\nCHF 980.00;1 kr;R$ 4\n",
        {"a": [1250.5, 980], "b": [12.5, 1], "c": [3.5, 4]},
        ("CHF 1'250.50 was read as 1250.50", "12.5 kr was read as 12.5", "R$ 3.5 was read as 3.5"),
    ),
    "thousands in India": (
        b'n,pay\n1,"12,34,567.50"\n2,"1,00,000"\n',
        {"n": [1, 2], "pay": [1234567.5, 100000]},
        ("12,34,567.50 was read as 1234567.50",),
    ),
    "write.table of R, with blanks": (
        b'"age" "town"\n"1" 41 "New York"\n"2" 30 "B"\n',
        {"age": [41, 30], "town": ["New York", "B"]},
        ("a blank as delimiter", "numbers or names the rows"),
    ),
    "texts for Excel": (
        b'code,n\n="00x3",1\n="00y4",2\n',
        {"code": ["00x3", "00y4"], "n": [1, 2]},
        ('="00x3" are texts of a spreadsheet',),
    ),
    "a word processor: thin blanks and dashes": (
        "a;b\n1\u2009234,5;–5\n12\u2007000,25;3\n".encode(),
        {"a": [1234.5, 12000.25], "b": [-5, 3]},
        (", as decimal mark", "with thousands"),
    ),
    "per mille": (
        "a;b\n5 ‰;1\n12,5 ‰;2\n".encode(),
        {"a": ["5 ‰", "12,5 ‰"], "b": [1, 2]},
        ("; as delimiter", "numbers with units, such as '5 ‰'"),
    ),
    "a total beside row numbers": (
        b"id,sales,tax\n1,10,1\n2,20,2\n,30,3\n",
        {"id": [1, 2, NAN], "sales": [10, 20, 30], "tax": [1, 2, 3]},
        ("looks like a total",),
    ),
    "sqlplus, in columns of a fixed width": (
        b"A          B\n---------- ----------\n         1          2\n",
        {"A          B": ["---------- ----------", "         1          2"]},
        ("columns of a fixed width",),
    ),
}


def put(folder, content, name="t.csv"):
    place = folder / name
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


@pytest.mark.parametrize("program", EXPORTS)
def test_what_programs_export_is_read_and_how_is_said(tmp_path, program):
    content, columns, said = EXPORTS[program]
    frame = read_frame(put(tmp_path, content))
    wanted = pd.DataFrame(columns)
    assert list(frame.columns) == list(wanted.columns)
    for name in columns:
        assert [*map(str, frame[name].tolist())] == [*map(str, wanted[name].tolist())] or np.array_equal(
            frame[name].to_numpy(float), wanted[name].to_numpy(float), equal_nan=True
        )
    notes = " ".join(notes_of(frame))
    assert all(words in notes for words in said), notes
    assert bool(notes) == bool(said)


AMBIGUOUS = {  # what cannot be decided -> code, argument, and a setting that decides, with what it gives
    "a thousand or one": (b'a,b\n1,"1,234"\n', "ambiguous", "decimal", {"decimal": "."}, ("b", 1234)),
    "one or a thousand": (b"a;b\n1;1.234\n", "ambiguous", "decimal", {"decimal": ","}, ("b", 1234)),
    "point and comma": (b"a;b\n1,5;2.5\n", "ambiguous", "decimal", None, None),
    "two delimiters": (
        b"a,b;c,d\n1,2;3,4\n",
        "ambiguous",
        "delimiter",
        {"delimiter": "semicolon", "decimal": ","},
        ("c,d", 3.4),
    ),
    "percent": (b"a,b\n1,50%\n2,5%\n", "ambiguous", "percent", {"percent": "fraction"}, ("b", 0.5)),
    "a code page": ("a,b\n1,Genève\n".encode("cp1252"), "ambiguous", "encoding", {"encoding": "cp1252"}, ("b", "Genève")),
    "Cyrillic": ("a,b\n1,Омск\n".encode("cp1251"), "ambiguous", "encoding", {"encoding": "cp1251"}, ("b", "Омск")),
    "two currencies": ("a,b\n1,$5\n2,5 €\n".encode(), "conflict", "", None, None),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused_until_it_is_said(tmp_path, case):
    content, code, argument, setting, read = AMBIGUOUS[case]
    file = put(tmp_path, content)
    with refused(code, argument):
        read_frame(file)
    if setting is not None:
        assert read_frame(file, said=TableFormat(**setting))[read[0]][0] == read[1]
        with written_as(TableFormat(**setting)):
            assert read_frame(file)[read[0]][0] == read[1]


def test_a_stray_word_makes_words_and_the_note_says_what_to_write(tmp_path):
    file = put(tmp_path, "x,y\n1,5\n2,twelve\n3,7\n")
    (note,) = notes_of(read_frame(file))
    assert "'twelve' (line 3, column 'y')" in note and "missing='twelve'" in note
    assert np.isnan(read_frame(file, said=TableFormat(missing=("twelve",)))["y"][1])


def test_words_for_true_and_false_are_truth_values_once_they_are_said(tmp_path):
    file = put(tmp_path, "x,smokes,town\n1,ja,ja\n2,nein,Bern\n")
    assert read_frame(file)["smokes"].tolist() == ["ja", "nein"]  # a model may have learned the words
    frame = read_frame(file, said=TableFormat(truth=("ja", "nein")))
    assert frame["smokes"].tolist() == [True, False] and frame["town"].tolist() == ["ja", "Bern"]
    with refused("shape", "truth"):
        TableFormat(truth=("ja", "ja"))


@pytest.mark.parametrize(
    "text", ["#name,town\nAnn,Bern\nBob,Chur\n", "#id,x\n1,2\n3,4\n", "x\ny\nz\n", "2019,2020\n1,2\n3,4\n", "a,b\n"]
)
def test_a_first_line_that_may_name_columns_is_not_taken_for_a_title(tmp_path, text):
    sheet = read_sheet(put(tmp_path, text))
    assert list(sheet.names) == text.split("\n")[0].split(",") and not sheet.notes


def test_a_first_line_of_values_is_pointed_out(tmp_path):
    (note,) = notes_of(read_frame(put(tmp_path, "41,1.5,Bern\n30,2.5,Chur\n")))
    assert "looks like a row" in note and "1.5" in note


def test_brackets_are_spoken_of_once(tmp_path):
    (note,) = notes_of(read_frame(put(tmp_path, "n,x\n1,(5.5)\n2,6\n3,7\n")))
    assert "because of brackets" in note


def test_a_code_page_that_is_not_certain_is_shown_where_it_matters(tmp_path):
    """The first letter beyond ASCII may be the same in all of them."""
    with pytest.raises(InvalidInput) as error:
        read_frame(put(tmp_path, "n,town\n1,Kraków\n2,Gdańsk\n".encode("cp1250")))
    assert "'Gdañsk' in cp1252 and 'Gdańsk' in cp1250" in str(error.value)


@pytest.mark.parametrize("name", ["t.xlsx", "t.ods"])
def test_a_spreadsheet_is_refused_with_what_to_do(tmp_path, name):
    with pytest.raises(InvalidInput) as error:
        read_frame(put(tmp_path, b"PK", name))
    assert error.value.code == "format" and "save the sheet as CSV" in str(error.value)


@pytest.mark.parametrize("text", ["||\n--|\n", "|-|\n", "-|-\n"])
def test_a_table_of_drawn_lines_alone_is_empty(tmp_path, text):
    with refused("empty"):
        read_frame(put(tmp_path, text))


def test_dates_in_several_forms_are_words_and_are_named(tmp_path):
    (note,) = notes_of(read_frame(put(tmp_path, "d,n\n2024-01-02,1\n03/04/2024,2\n")))
    assert "2024-01-02, 03/04/2024" in note


def test_an_index_is_left_out_by_name_or_kept(tmp_path):
    file = put(tmp_path, "id,x\n7,1\n9,2\n")
    assert list(read_frame(file, said=TableFormat(index="id")).columns) == ["x"]
    with refused("unknown", "index"):
        read_frame(file, said=TableFormat(index="nr"))
    unnamed = put(tmp_path, "Unnamed: 0,x\n0,1\n1,2\n", "u.csv")
    assert list(read_frame(unnamed).columns) == ["x"]
    assert list(read_frame(unnamed, said=TableFormat(index="none")).columns) == ["Unnamed: 0", "x"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("delimiter", "ab"), ("decimal", ";"), ("percent", "half"), ("encoding", "klingon"), ("encoding", "hex")],
)
def test_a_setting_that_does_not_exist_is_refused(tmp_path, name, value):
    with refused("unknown", name):
        read_frame(put(tmp_path, "a,b\n1,2\n"), said=TableFormat(**{name: value}))


def test_games_and_flows_read_the_same_numbers(tmp_path):
    with pytest.warns(UserWarning, match="; as delimiter and with , as decimal mark"):
        game = read_game(put(tmp_path, "coalition;payoff\n;0\n1;1,5\n2;2,5\n1+2;10,25\n"))
    assert game.table.tolist() == [0, 1.5, 2.5, 10.25]
    with pytest.warns(UserWarning, match="decimal mark"):
        graph = Graph.read(put(tmp_path, "from;to;capacity\ns;t;2,5\n", "g.csv"))
    assert graph.capacity.tolist() == [2.5]


# Files of any make, and pandas told how to read them


def made_file(rng):
    """A random table, its bytes, and what pandas must be told to read it."""
    delimiter = rng.choice([",", ";", "\t", "|"])
    decimal = "," if delimiter != "," and rng.random() < 0.5 else "."
    thousands = {",": ".", ".": ","}[decimal] if rng.random() < 0.4 else None
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    end = rng.choice(["\n", "\r\n"])
    rows = int(rng.integers(2, 12))
    words = rng.choice(["Zürich", "Köln", "plain", "a b", 'say "x"', f"in{delimiter}side", "two\nlines"], rows)
    numbers = np.round(rng.normal(0, 10.0 ** rng.integers(0, 6), (rows, 2)), 2)
    numbers[0] = 0.25  # one number that tells the decimal mark
    whole = rng.integers(-500, 500, rows)

    def written(x):
        text = f"{abs(x):,.2f}" if thousands else f"{abs(x):.2f}"
        swapped = text.translate(str.maketrans(",.", ".,")) if decimal == "," else text
        return ("-" if x < 0 else "") + swapped

    lines = zip(words, numbers, whole, strict=True)
    cells = [[w, written(a), "" if rng.random() < 0.1 else written(b), str(n)] for w, (a, b), n in lines]
    cells[0][2] = written(0.25)
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=str(delimiter), lineterminator=str(end)).writerows([["w", "a", "b", "n"], *cells])
    told = {"sep": str(delimiter), "decimal": decimal, "thousands": thousands, "encoding": str(encoding)}
    return out.getvalue().encode(str(encoding)), told


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_reads_what_pandas_reads_when_it_is_told_how(tmp_path, seed):
    content, told = made_file(np.random.default_rng(seed))
    file = put(tmp_path, content)
    pd.testing.assert_frame_equal(
        read_frame(file), pd.read_csv(file, **told), check_dtype=False, check_column_type=False, check_index_type=False
    )
