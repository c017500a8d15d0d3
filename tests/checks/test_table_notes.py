"""What a reader must know of a table whose cells are read, but perhaps not as they were meant."""

from __future__ import annotations

import pytest

from accredit.store.frames import notes_of, read_frame

pytest.importorskip("pandas", reason="pandas is not installed: pip install 'accredit[data]'")

TOTAL, UNITS, BRACKETS, ZEROS = "looks like a total", "numbers with units", "because of brackets", "zeros in front"
FORM = "in a form that is not read"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,amount\nA,1\nB,2\nTotal,3\n", TOTAL),
        ("Posten;Betrag\nA;1,5\nB;2,25\nSumme:;3,75\n", TOTAL),
        ("item,amount,n\nA,1,2\nB,2,3\n,3,5\n", TOTAL),
        ("name,weight\nA,12 kg\nB,13.5 kg\n", UNITS),
        ("a,b\n(12.5),x\n3.0,y\n", BRACKETS),
        ('a,b\n"$1,250.50",x\n($980.00),y\n$ -,z\n', BRACKETS),
        ("a,b\n1,'12\n2,'13\n", FORM),
        ("a,b\n1,1/2\n2,3/4\n", FORM),
        ("a,b\n1,0x1F\n2,0x20\n", FORM),
        ("a,b\n1,1_000\n2,2_500\n", FORM),
        ("a,b\n1,１２\n2,٣٤\n", FORM),
        ("+----+----+\n| id | b |\n+----+----+\n| 1 | 2 |\n+----+----+\n", "draw a box"),
        ("of a device\nversion\t2\n\nx\ty\tz\n0.0\t1.5\t1\n", "hold tabs"),
        ("1\tBern\t\\N\n2\tChur\t5.5\n", "looks like a row"),
        ("region;wert\nA;1\nB;2\nZwischensumme;3\nC;4\nGesamtsumme;7\n", "line 4 ('Zwischensumme'), line 6 ('Gesamtsumme')"),
        ("id\tv\n1\t\\N\n2\t3\n", "Read as missing in column 'v'"),
        ("zip,v\n00123,1\n04567,2\n", ZEROS),
    ],
)
def test_it_is_said(tmp_path, text, said):
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    assert [said in note for note in notes_of(read_frame(tmp_path / "rows.csv"))].count(True) == 1


@pytest.mark.parametrize(
    "text",
    [
        "item,amount\nA,1\nB,2\nC,3\n",  # adds up, but C is an item
        "item,amount\nA,1\nB,2\nTotal,4\n",
        "a,b\n1,2\n2,3\n3,5\n",  # no column of words: nothing names a total
        "item,amount\nA,0\nB,0\nTotal,0\n",
        "name,kind\nA,model 3\nB,b12\n",
        "a,b\n10,0\n0,0.5\n",
        "a,b\n1,12/24\n2,half\n",
    ],
)
def test_and_nothing_where_there_is_nothing_to_say(tmp_path, text):
    (tmp_path / "rows.csv").write_text(text)
    notes = " ".join(notes_of(read_frame(tmp_path / "rows.csv")))
    assert not any(said in notes for said in (TOTAL, UNITS, BRACKETS, ZEROS, FORM))
