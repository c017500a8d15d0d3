"""Games that pay several outputs: tables, files, models paid for many targets, journals."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from accredit.core import Attributions
from accredit.core.multi_target import Predictions
from accredit.errors import BadPayoff, InvalidInput
from accredit.evaluate import check_claims
from accredit.games import TableGame, TableGames, image_game, read_game, read_games, string_game, text_game
from accredit.models import load_image_model
from accredit.models.builtin import vision_folder
from accredit.models.payoffs import PAYOFFS, payoff_of, payoffs_of
from accredit.models.strings import as_string_model
from accredit.rows import tabular_game
from accredit.store import Journal, durable
from accredit.valuation import datamodels
from accredit.values import Permutations, shapley
from tests.models.small_models import image_model, text_model
from tests.store.store_games import TwoTargets
from tests.wording import refused

TABLE = [[0, 0], [5, 1], [3, 2], [10, 3]]
GRADES = TableGames(("alice", "bob"), ("maths", "music"), TABLE)


def test_a_table_pays_a_column_per_output():
    assert GRADES.payoff(np.array([[True, False], [True, True]])).tolist() == [[5, 1], [10, 3]]
    found = shapley(GRADES)
    for k, name in enumerate(GRADES.outputs):
        assert found[name] == shapley(TableGame(GRADES.players, np.array(TABLE)[:, k]))


@pytest.mark.parametrize(
    ("outputs", "table", "words"),
    [
        (("x", "x"), TABLE, "outputs holds 'x' twice"),
        ((), TABLE, "outputs is empty; a game needs at least one output"),
        (("x", 3.5), TABLE, "outputs must be strings, got 3.5"),
        (("x",), TABLE, r"has shape \(4, 2\); \(4, 1\) is needed"),
        (("x", "y"), [0, 5, 3, 10], r"has shape \(4,\)"),
        (("x", "y"), [[0, "a"]] * 4, "must be real numbers"),
    ],
)
def test_tables_refuse(outputs, table, words):
    with pytest.raises(InvalidInput, match=words):
        TableGames(("alice", "bob"), outputs, table)


def test_a_payoff_that_is_not_finite_is_named():
    with refused("not-finite", kind=BadPayoff):
        TableGames(("alice", "bob"), ("maths", "music"), [[0, 0], [5, 1], [3, np.nan], [10, 3]])
    with refused("shape", "table"):
        TableGame(("alice", "bob"), TABLE)


CSV = "maths,coalition,music\n0,,0\n5,alice,1\n3,bob,2\n10,alice+bob,3\n"


def test_files_name_their_outputs(tmp_path):
    (tmp_path / "grades.csv").write_text(CSV)
    flat = {
        "outputs": ["maths", "music"],
        "payoffs": {"": [0, 0], "alice": [5, 1], "bob": [3, 2], "alice+bob": [10, 3]},
    }
    (tmp_path / "grades.json").write_text(json.dumps(flat))
    for name in ("grades.csv", "grades.json"):
        games = read_games(tmp_path / name)
        assert (games.players, games.outputs) == (GRADES.players, GRADES.outputs)
        assert games.table.tolist() == TABLE
    with refused("shape"):
        read_game(tmp_path / "grades.csv")
    (tmp_path / "one.csv").write_text("coalition,payoff\n,0\na,2\n")
    assert read_games(tmp_path / "one.csv").outputs == ("payoff",)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("g.csv", CSV.replace("maths", "music"), "2 columns of .* are called 'music'"),
        ("g.csv", CSV.replace("maths", " "), "they must be coalition,payoff"),
        ("g.csv", CSV.replace("coalition", "who"), "they must be coalition,payoff"),
        ("g.csv", CSV.replace("3,bob,2", "3,bob"), "has 2 cells and the header 3"),
        ("g.csv", CSV.replace("3,bob,2", "3,bob,nan"), "payoff of line 4 .* is nan"),
        ("g.json", '{"outputs": ["x", "y"], "payoffs": {"": [0, 0], "a": [1]}}', "a list of 2 numbers"),
        ("g.json", '{"outputs": ["x", "y"], "payoffs": {"": [0, 0], "a": 1}}', "a list of 2 numbers"),
        ("g.json", '{"outputs": ["x", "x"], "payoffs": {"": [0, 0], "a": [1, 1]}}', "outputs holds 'x' twice"),
        ("g.json", '{"outputs": "x", "payoffs": {"": [0], "a": [1]}}', "outputs must be a list"),
    ],
)
def test_files_refuse(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_games(tmp_path / name)


@pytest.mark.parametrize("law", ["softmax", "sigmoid", "probability"])
@pytest.mark.parametrize("payoff", PAYOFFS)
@pytest.mark.parametrize("library", [np.asarray, torch.from_numpy])
def test_payoffs_of_many_targets_are_those_of_each(law, payoff, library):
    outputs = np.random.default_rng(0).normal(size=(7, 5)) * 3
    if law == "probability":
        if payoff == "logit":
            return
        outputs = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    together = np.asarray(payoffs_of(library(outputs), (4, 0, 2), payoff, law))
    for column, target in enumerate((4, 0, 2)):
        assert np.array_equal(together[:, column], np.asarray(payoff_of(library(outputs), target, payoff, law)))


WORDS = ("good", "bad", "film")
ROWS = np.random.default_rng(2).normal(size=(60, 4))
CLASSIFIER = LogisticRegression().fit(ROWS, (ROWS[:, 0] * 2).astype(int) % 3)
STRINGS = as_string_model(lambda texts: [[text.count(w) ** 2 for w in WORDS] for text in texts], labels=WORDS)
PICTURE = np.random.default_rng(3).normal(size=(1, 12, 12)).astype(np.float32)
GAMES = {
    "text": lambda **o: text_game(text_model("bert"), "the film is not very good", **o),
    "text, deletion": lambda **o: text_game(text_model("bert"), "the film is not very good", removal="delete", **o),
    "image": lambda **o: image_game(image_model(), PICTURE, **o),
    "strings": lambda **o: string_game(STRINGS, "a good, good film, not bad", **o),
    "row": lambda **o: tabular_game(CLASSIFIER, ROWS[0], ROWS[:20], **o),
}


@pytest.mark.slow
@pytest.mark.parametrize("payoff", ["logit", "log-odds", "margin"])
@pytest.mark.parametrize("kind", GAMES)
def test_all_targets_at_once_are_each_target_alone(kind, payoff):
    make = GAMES[kind]
    if (payoff == "logit" and kind == "row") or (payoff != "logit" and kind == "strings"):
        payoff = {"row": "probability", "strings": "logit"}[kind]
    games = make(payoff=payoff).paying("all")
    found = shapley(games, Permutations(orders=6, seed=1))
    assert isinstance(found, Attributions)
    assert len(games.outputs) == len(games.targets) > 1
    for index, name in enumerate(games.outputs):
        assert found[name] == shapley(make(payoff=payoff, target=index), Permutations(orders=6, seed=1))
    assert games.provenance["target"] == list(games.outputs)
    assert games.estimate(5).payoffs == 5


def test_targets_are_chosen_by_label_or_index():
    game = GAMES["strings"]()
    assert game.paying(["film", 0]).outputs == ("film", "good")
    assert game.paying(["bad"]).payoff(np.ones((1, 8), bool)).tolist() == [[1.0]]
    for targets, words in (
        ("film", r"write paying\('all'\), or a list: paying\(\['film'\]\)"),
        (["film", 2], "targets holds 'film'"),
        (["fim"], "'fim'"),
        ([7], "target must be a whole number from 0 to 2, got 7"),
        ([], "targets is empty"),
    ):
        with pytest.raises(InvalidInput, match=words):
            game.paying(targets)


@pytest.mark.slow
def test_ten_classes_of_the_clothes_model_cost_the_forward_passes_of_one():
    model = load_image_model(vision_folder())
    picture = np.random.default_rng(5).random((1, 28, 28)).astype(np.float32)
    rows: list[int] = []
    model.model.register_forward_pre_hook(lambda _m, given: rows.append(len(given[0])) or None)
    games = image_game(model, picture, players=(2, 3), payoff="log-odds").paying("all")

    def passes(game, **settings):
        rows.clear()
        return shapley(game, **settings), list(rows)

    for settings in ({}, {"budget": 40, "seed": 1}):
        found, batches = passes(games, **settings)
        assert len(found) == 10
        assert found.payoffs == (64 if not settings else 40)
        for index, name in enumerate(found.outputs):
            single = image_game(model, picture, players=(2, 3), payoff="log-odds", target=index)
            alone, its_batches = passes(single, **settings)
            assert batches == its_batches  # batch for batch
            assert np.abs(found[name].credit - alone.credit).max() <= 1e-12
            assert found[name] == alone


def test_every_target_of_a_training_game_is_an_output():
    games = Predictions(TwoTargets())
    found = shapley(games)
    assert found.outputs == TwoTargets().targets
    assert check_claims(found, games, shapley)
    with pytest.raises(InvalidInput, match="nothing but payoffs"):
        Predictions(TableGame("a", [0, 1]))


def test_a_journal_keeps_every_output(tmp_path):
    with durable(GRADES, Journal(tmp_path / "j"), "serial") as games:
        first = shapley(games)
        assert games.outputs == GRADES.outputs
        assert (games.evaluated, games.recalled) == (4, 0)
    with durable(GRADES, Journal(tmp_path / "j"), "serial") as games:
        assert shapley(games) == first == shapley(GRADES)
        assert (games.evaluated, games.recalled) == (0, 4)


def test_datamodels_have_one_model_per_output():
    slopes = np.array([[3.0, 0.0], [1.0, 2.0]])
    games = TableGames("ab", ("x", "y"), [[0, 0], [3, 0], [1, 2], [4, 2]])
    found = datamodels(games, subsets=100, penalty=0)
    assert found.targets == ("x", "y")
    assert np.allclose(found.weights, slopes)
