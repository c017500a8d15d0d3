import json

import pytest

from accredit.errors import BadPayoff, InvalidInput, TooManyPlayers
from accredit.games import TableGame, read_game
from accredit.values import shapley, value_given
from tests.wording import refused

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
    text = '\ufeff payoff , Coalition \r\n0,\r\n1,"x, y"\r\n\r\n2,b\r\n4,b + "x, y"\r\n'.replace('b + "x, y"', '"b + x, y"')
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
        (PRICING.replace("A+B,", '"A, B",'), r"'A, B' is read as one player.* write 'A\+B'"),
        (PRICING.replace("+", ""), r"'AB' is read as one player.* write 'A\+B'"),
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
    with refused("missing"):
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


def test_numbered_players_are_called_by_their_number():
    game = TableGame([1, 2], [0, 5, 3, 10])
    assert game.players == ("1", "2")
    assert TableGame.from_payoffs({(): 0, 1: 5, 2: 3, (1, 2): 10}).table.tolist() == [0, 5, 3, 10]
    found = shapley(game)
    assert found["1"] == 6 and value_given(game, 1, [2]) == 7
    with pytest.raises(InvalidInput, match="twice"):
        TableGame([1, "1"], [0, 1, 2, 3])
    with refused("type", "players"):
        TableGame([True, 2], [0, 1, 2, 3])


def test_tables_in_the_order_of_textbooks():
    """1, 2, 3, 12, 13, 23, 123, with or without nobody."""
    by_size = TableGame("abc", [0, 50, 20, 25, 75, 80, 90, 100], order="size")
    assert by_size.table.tolist() == [0, 50, 20, 75, 25, 80, 90, 100]
    assert TableGame("abc", [50, 20, 25, 75, 80, 90, 100], order="size", nobody=0).table.tolist() == by_size.table.tolist()
    assert TableGame("ab", [5, 3, 10], nobody=1).table.tolist() == [1, 5, 3, 10]
    with pytest.raises(InvalidInput, match="nobody=0"):
        TableGame("ab", [5, 3, 10])
    with pytest.raises(InvalidInput, match="leave out nobody"):
        TableGame("ab", [0, 5, 3, 10], nobody=0)
    with pytest.raises(InvalidInput, match="'binary'"):
        TableGame("ab", [0, 5, 3, 10], order="lexical")
    with pytest.raises(InvalidInput, match="leave out one"):
        TableGame.from_payoffs({(): 0, "a": 1}, nobody=0)


def test_files_may_leave_nobody_out_if_told_what_nobody_earns(tmp_path):
    path = write(tmp_path, PRICING.replace(",0\n", "", 1), "short.csv")
    assert read_game(path, nobody=0).table.tolist() == [0, 50, 20, 75, 25, 80, 90, 100]
    assert read_game(write(tmp_path, PRICING), nobody=7).table[0] == 0
    with pytest.raises(InvalidInput, match="nobody=0"):
        read_game(path)


def test_json_may_list_bare_numbers_in_a_stated_order(tmp_path):
    whole = {"players": [1, 2, 3], "order": "size", "payoffs": [0, 50, 20, 25, 75, 80, 90, 100]}
    game = read_game(write(tmp_path, json.dumps(whole), "game.json"))
    assert game.players == ("1", "2", "3") and game.table.tolist() == [0, 50, 20, 75, 25, 80, 90, 100]
    short = whole | {"payoffs": whole["payoffs"][1:], "order": "binary"}
    assert read_game(write(tmp_path, json.dumps(short), "game.json"), nobody=0).table[1:].tolist() == short["payoffs"]
    for change, word in (({"order": None}, '"order": "size"'), ({"payoffs": [1, 2]}, "2 numbers for 3 players")):
        with pytest.raises(InvalidInput, match=word):
            read_game(write(tmp_path, json.dumps(whole | change), "game.json"))
