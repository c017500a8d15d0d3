import json

import pytest

from accredit.core import BadPayoff, InvalidInput, TooManyPlayers
from accredit.games import TableGame, read_game

PRICING = "coalition,payoff\n,0\nA,50\nB,20\nC,25\nA+B,75\nA+C,80\nB+C,90\nA+B+C,100\n"


def write(tmp_path, text, name="game.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_reads_csv_and_json_alike(tmp_path):
    from_csv = read_game(write(tmp_path, PRICING))
    flat = {"": 0, "A": 50, "B": 20, "C": 25, "A+B": 75, "A+C": 80, "B+C": 90, "A+B+C": 100}
    listed = {
        "players": ["A", "B", "C"],
        "payoffs": [{"coalition": [p for p in k.split("+") if p], "payoff": x} for k, x in flat.items()],
    }
    for data in (flat, {"payoffs": flat}, listed):
        game = read_game(write(tmp_path, json.dumps(data), "game.json"))
        assert game.players == from_csv.players == ("A", "B", "C")
        assert game.table.tolist() == from_csv.table.tolist() == [0, 50, 20, 75, 25, 80, 90, 100]


def test_reads_what_spreadsheets_write(tmp_path):
    text = '\ufeff payoff , Coalition \r\n0,\r\n1,"x, y"\r\n\r\n2,b\r\n4,b + "x, y"\r\n'.replace(
        'b + "x, y"', '"b + x, y"'
    )
    game = read_game(write(tmp_path, text))
    assert game.players == ("x, y", "b") and game.table.tolist() == [0, 1, 2, 4]


def test_empty_set_may_earn_something(tmp_path):
    assert read_game(write(tmp_path, "coalition,payoff\n,7\nA,9\n")).table.tolist() == [7, 9]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("coalition,payoff\n", "no coalitions"),
        ("a,b\n", "must be coalition,payoff"),
        (PRICING.replace("A+B,75\n", ""), r"lacks 1 of 8 coalitions, the first is \{A, B\}"),
        (PRICING.replace(",0\n", "", 1), r"lacks 1 of 8 coalitions, the first is \{\}"),
        (PRICING + "B+A,1\n", "line 10 of .* gives coalition 'B\\+A' a second payoff"),
        (PRICING.replace("75", "nan"), "payoff of line 6 of .* is nan"),
        (PRICING.replace("75", "inf"), "finite"),
        (PRICING.replace("75", "many"), "payoff of line 6 of .* is 'many'"),
        (PRICING.replace("A+B,75", "A+A,75"), "twice"),
        (PRICING.replace("A+B,75", "A++B,75"), "empty name"),
        (PRICING.replace("A+B,75", "A+B,75,3"), "3 cells"),
        (b"coalition,payoff\n\xff\xfe,0\n", "UTF-8"),
        ("coalition,payoff\n" + "+".join(f"p{i}" for i in range(40)) + ",1\n", "40 players"),
        ('coalition,payoff\n,0\n"A,1\n', "line 3 of .* cannot be split into cells"),
    ],
)
def test_bad_csv_is_named(tmp_path, text, word):
    with pytest.raises((InvalidInput, TooManyPlayers), match=word):
        read_game(write(tmp_path, text))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("{", "not JSON"),
        ("[]", "list"),
        ('{"payoffs": 3}', "payoffs must be"),
        ('{"players": "AB", "payoffs": {}}', "players must be a list"),
        ('{"players": ["A"], "payoffs": {"": 0, "A": 1, "B": 2}}', "unknown player 'B'"),
        ('{"": 0, "A": "x"}', "is 'x', which is not a number"),
        ('{"": 0, "A": true}', "is True"),
        ('{"": 0, "A": null}', "is None"),
        ('{"": 0, "A": NaN}', "holds NaN"),
        ('{"": 0, "A": 1' + "0" * 400 + "}", "whole number of 401 digits"),
        ('{"": 0, "A": 1' + "0" * 5000 + "}", "whole number of 5001 digits"),
        ('{"": 0, "A": 1, "A": 5}', "gives 'A' twice"),
        ('{"payoffs": {"": 0, "A": 1, "A": 1}}', "gives 'A' twice"),
    ],
)
def test_bad_json_is_named(tmp_path, data, word):
    with pytest.raises(InvalidInput, match=word):
        read_game(write(tmp_path, data, "game.json"))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"'no-such\.csv' does not exist"):
        read_game("no-such.csv")
    with pytest.raises(InvalidInput, match="is a folder"):
        read_game(tmp_path)


@pytest.mark.parametrize(
    ("players", "table", "word"),
    [
        ("ab", [0, 1, 2], "4 payoffs"),
        ("ab", [0, 1, 2, float("nan")], r"\{a, b\} is nan"),
        ("ab", [0, -1e308, 2, 1e308], r"\{a\} is -1e\+308"),
        ("aa", [0, 1, 2, 3], "twice"),
        ("", [0], "empty"),
        ("ab", ["x"] * 4, "numbers"),
    ],
)
def test_bad_tables_are_named(players, table, word):
    with pytest.raises((InvalidInput, BadPayoff), match=word):
        TableGame(players, table)


def test_tables_have_a_limit():
    with pytest.raises(TooManyPlayers, match="30 players"):
        TableGame([str(i) for i in range(30)], [])
