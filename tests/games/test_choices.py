"""Games of several choices: from files, of words kept, masked or replaced, of rows absent, relabelled or kept."""

import numpy as np
import pytest

from accredit.checks.tables import read_sheet
from accredit.errors import BadPayoff, InvalidInput
from accredit.games.choices import has_choices, is_ordered, read_choices
from accredit.values import bolger

WRITTEN = "A [MASK] book, and the acting is superb."

LEVELS = "ann,bob,payoff\n0,0,0\n0,1,1\n0,2,4\n1,0,2\n1,1,5\n1,2,9\n"


def write(tmp_path, text, name="levels.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_table_with_one_column_per_player(tmp_path):
    game = read_choices(write(tmp_path, LEVELS))
    assert game.players == ("ann", "bob") and game.table.tolist() == [[0, 1, 4], [2, 5, 9]] and is_ordered(game)
    named = read_choices(write(tmp_path, LEVELS.replace("0,", "no,", 1).replace("\n0,", "\nno,").replace("\n1,", "\nyes,")))
    assert named.levels[0] == ("no", "yes") and not is_ordered(named)
    assert has_choices(read_sheet(tmp_path / "levels.csv"))
    assert not has_choices(read_sheet(write(tmp_path, "coalition,payoff\n,0\nA,1\n", "game.csv")))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (LEVELS.replace("1,1,5\n", ""), "lacks 1 of 6 joint choices, the first is 1, 1"),
        (LEVELS + "1,2,3\n", "line 8 .* a second payoff"),
        (LEVELS.replace("1,2,9", "1,3,9"), "lacks|gap"),
        (LEVELS.replace("0,2,4\n", "").replace("1,2,9", "1,3,9").replace("0,1,1", "0,3,1"), "without a gap"),
        (LEVELS.replace("1,2,9", ",2,9"), "empty cell"),
        (LEVELS.replace("1,2,9", "1,2,many"), "not a number"),
        ("payoff\n1\n", "one per player"),
        ("ann,bob,payoff\n", "no line below"),
        (LEVELS.replace("1,2,9", "1,2,nan"), "payoff of coalition {ann: 1, bob: 2} is nan"),
    ],
)
def test_bad_tables_of_choices_are_named(tmp_path, text, word):
    with pytest.raises((InvalidInput, BadPayoff), match=word):
        read_choices(write(tmp_path, text))


def test_the_same_names_are_in_the_same_order_whoever_chooses_them_first(tmp_path):
    read = read_choices(write(tmp_path, "a,b,payoff\nyes,no,5\nno,no,0\nno,yes,3\nyes,yes,10\n"))
    assert read.levels == (("yes", "no"), ("yes", "no")) and read.table.tolist() == [[10, 5], [3, 0]]
    assert bolger(read)["yes"].credit.tolist() == [6, 4]


def test_digits_of_other_scripts_are_names(tmp_path):
    assert read_choices(write(tmp_path, "a,payoff\n0,5\n²,1\n")).levels == (("0", "²"),)


@pytest.mark.slow
def test_words_are_kept_masked_or_replaced():
    pytest.importorskip("transformers")
    from accredit.arena.texts import load
    from accredit.games.word_choices import WordChoices

    model = load("builtin")
    text = "A superb film, and the acting is superb."
    game = WordChoices(model, text, {"superb": "awful", "film": "book"}, target="POSITIVE")
    assert game.players == ("superb", "film", "superb (2)")
    assert game.write(np.array([0, 1, 2])) == WRITTEN
    found = bolger(game)
    assert found["kept"]["superb"] > 0 > found["replaced"]["superb"]
    everything = float(model.predict(model.encode(text)) @ [-1, 1])
    assert game.worth(np.array([[2, 2, 2]]))[0] == pytest.approx(everything, abs=1e-5)
    with pytest.raises(InvalidInput, match="names dull"):
        WordChoices(model, text, {"dull": "bright"})


@pytest.mark.slow
def test_rows_are_absent_relabelled_or_kept():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    from accredit.valuation import split
    from accredit.valuation.row_choices import RowChoices

    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 1))
    data = split(x, (x[:, 0] > 0).astype(int), [[-1.0], [-0.5], [0.5], [1.0]], [0, 0, 1, 1])
    game = RowChoices(data, LogisticRegression(), {"first": data.names[:6], "rest": data.names[6:]})
    found = bolger(game)
    assert found["kept"].credit.sum() > 0 > found["relabelled"].credit.sum()
    with pytest.raises(InvalidInput, match="twice"):
        RowChoices(data, LogisticRegression(), {"a": data.names[:2], "b": data.names[1:3]})
    with pytest.raises(InvalidInput, match="classes"):
        RowChoices(split([[0.0]], [1.5], [[0.0]], [1.0], regression=True), LogisticRegression())
