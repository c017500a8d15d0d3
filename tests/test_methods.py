"""The registry: it says of every method exactly what its results claim, and every name it lists is accepted wherever it
applies, with the same refusal elsewhere. A new method is one entry of the registry; these tests then run it everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

from accredit.cli.options import MethodName, MethodNames
from accredit.core import Holds
from accredit.errors import InvalidInput, MissingExtra
from accredit.games import FunctionGame, TableGame
from accredit.influence import Softmax, influence
from accredit.methods import (
    COMPARED,
    DEFAULT,
    FOR_STRINGS,
    GOOD_FOR,
    IN_WORDS,
    METHODS,
    Method,
    Place,
    find,
    find_all,
    good_for,
    methods_for,
)
from accredit.valuation import datamodels, knn_shapley, split
from accredit.values import value_of
from accredit.values.report import report
from tests.wording import reads, refused

GAME = TableGame("abc", [0, 1, 2, 4, 8, 9, 11, 20])
LARGER = FunctionGame("abcdefgh", lambda c: c.sum(axis=1) ** 1.5 + c[:, 0] * c[:, 3] - 2.0 * c[:, 5])
PAIR = TableGame(("alice", "bob"), [0, 5, 3, 10])
ROWS = split([[0.0], [1.0], [2.0]], ["a", "b", "b"], [[0.4]], ["b"])
OF_ROWS = {
    "knn-shapley": lambda: knn_shapley(ROWS),
    "influence": lambda: influence(Softmax(ROWS, 0.1)).attribution(),
    "datamodel": lambda: datamodels(GAME, 40).attribution(),
}


def spellings(method: Method) -> list[str]:
    """Every way to write a method; parameters are those of its example."""
    _, colon, given = method.spelled.partition(":")
    return [f"{name}{colon}{given}" for name in (method.name, *method.aliases)]


def names(place: Place) -> list[str]:
    """Those that need no folder; tests of trained explainers run the others."""
    return [name for method in methods_for(place) if method.kind != "learned" for name in spellings(method)]


def strangers(place: Place) -> list[str]:
    """Names that do not apply at a place, and one that applies nowhere."""
    there = methods_for(place)
    return ["shapely", *(m.spelled for m in METHODS if m not in there)]


@pytest.mark.parametrize("method", [m for m in METHODS if m.kind == "game"], ids=lambda m: m.name)
def test_the_registry_says_what_a_game_value_claims(method):
    sampled = method.estimates or method.name in ("lime", "lasso")
    game = LARGER if sampled else GAME
    spelled = "semivalue:0.5,0.25,0" if method.name == "semivalue" else method.spelled
    order = "a < b" if "order" in method.takes else None
    values = value_of(game, spelled, budget=60 if sampled else None, groups=[["a", "b"], "c"], order=order)
    assert {c.axiom for c in values.claims if c.holds is Holds.EXACTLY} == set(method.axioms)


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_registry_says_what_a_rule_for_rows_claims(name):
    listed = next(m for m in METHODS if m.name == name)
    assert {c.axiom for c in OF_ROWS[name]().claims if c.holds is Holds.EXACTLY} == set(listed.axioms)


@pytest.mark.slow
@pytest.mark.parametrize("method", [m for m in METHODS if m.kind == "gradients"], ids=lambda m: m.name)
def test_the_registry_says_what_gradients_claim(method):
    """What a method claims in the limit or in expectation is what its value keeps."""
    pytest.importorskip("transformers")
    from accredit.explanation import explain
    from tests.models.small_models import text_model

    found = explain("bad film", text_model("bert"), methods=method.name)[method.name]
    assert {c.axiom for c in found.claims if c.holds is not Holds.NO} == set(method.axioms)


def test_names_and_aliases_differ():
    every = [name for m in METHODS for name in (m.name, *m.aliases)]
    assert len(set(every)) == len(every)
    assert {*DEFAULT, *FOR_STRINGS} <= {m.name for m in methods_for("explain")}
    assert [chosen.name for chosen in find_all(COMPARED, "text")] == list(COMPARED)
    assert [find(name, "strings").name for name in FOR_STRINGS] == list(FOR_STRINGS)


def test_every_address_leads_somewhere():
    pytest.importorskip("torch")
    for method in METHODS:
        assert callable(find(method.spelled, method.applies[0]).load()), method.run


@pytest.mark.parametrize("missing", ["torch"])
def test_a_method_without_its_library_says_what_to_install(missing, monkeypatch):
    import sys

    for name in [n for n in sys.modules if n.startswith(("accredit.explanation.gradients", "accredit.gradients"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=rf"method 'integrated-gradients' needs {missing}.*accredit\[text\]"):
        find("ig", "text").load()


@pytest.mark.parametrize(
    ("spelled", "usual"),
    [
        ("loo", "leave-one-out"),
        ("ig", "integrated-gradients"),
        ("flow:af", "flow"),
        ("flow:agf", "flow:agf"),
        ("tmc:0.01", "truncated"),
        ("tmc:0.05", "truncated:0.05"),
        ("beta:16.0,1.0", "beta:16,1"),
        (" shapley ", "shapley"),
        (f"semivalue:{1 / 3!r},1", f"semivalue:{1 / 3!r},1"),
    ],
)
def test_one_method_has_one_usual_name(spelled, usual):
    assert find(spelled, "explain").name == usual
    assert find(usual, "explain") == find(spelled, "explain")


@pytest.mark.parametrize(
    ("spelled", "place", "said"),
    [
        ("shapely", "game", "method 'shapely' is unknown; did you mean shapley? For a game there are shapley, leave-one-out"),
        ("tea-leaves", "game", "method 'tea-leaves' is unknown; for a game there are shapley"),
        ("Leave_One_Out", "explain", "did you mean leave-one-out?"),
        ("flow", "game", "method 'flow' needs a model's attention; for a game there are"),
        ("flow", "strings", "method 'flow' needs a model's attention; for a model that reads strings there are"),
        ("saliency", "training data", "needs a model's gradients; for training data there are"),
        ("knn", "explain", "method 'knn' needs training rows; to explain an output there are"),
        ("flow:xyz", "explain", "tensor 'xyz'; write one of flow:af, flow:norm, flow:gf, flow:agf"),
        ("beta", "game", "needs two numbers after the colon; write for example beta:16,1"),
        ("beta:4", "game", "needs two numbers"),
        ("beta:a,b", "game", "needs two numbers"),
        ("tmc:", "game", "needs one number"),
        ("semivalue:x", "game", "needs numbers"),
        ("shapley:3", "game", "takes no parameters; write shapley"),
        ("", "game", "method '' is unknown"),
    ],
)
def test_what_is_refused_says_what_to_write(spelled, place, said):
    with pytest.raises(InvalidInput) as refusal:
        find(spelled, place)
    assert said in str(refusal.value)


def test_commas_inside_parameters_are_not_between_methods():
    found = find_all("loo,beta:16,1,leave-one-out, semivalue:0.25,0.75 ,flow:agf,", "explain")
    assert [chosen.name for chosen in found] == ["leave-one-out", "beta:16,1", "semivalue:0.25,0.75", "flow:agf"]
    with pytest.raises(InvalidInput, match="methods is empty"):
        find_all(" ,", "explain")


# Surfaces: the library's and the command's game


@pytest.mark.parametrize("name", names("game"))
def test_a_game_takes_every_name(name):
    order = "alice < bob" if "order" in find(name, "game").method.takes else None
    found = report(PAIR, name, {"both": ["alice", "bob"]} if "groups" in find(name, "game").method.takes else None, order=order)
    assert found.values.players == ("alice", "bob") and reads(found.reading[0])


def test_the_game_command_takes_every_name(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from accredit.cli.game import game

    (tmp_path / "g.csv").write_text("coalition,payoff\n,0\nalice,5\nbob,3\nalice+bob,10\n")
    for name in names("game"):
        words = [
            str(tmp_path / "g.csv"),
            "--json",
            "--method",
            name,
            *(["--groups", "both=alice+bob"] * ("groups" in find(name, "game").method.takes)),
            *(["--order", "alice < bob"] * ("order" in find(name, "game").method.takes)),
        ]
        run = CliRunner().invoke(game, words, catch_exceptions=False)
        assert set(json.loads(run.stdout)["values"]) == {"alice", "bob"}, name


# A model's input


@pytest.mark.parametrize("name", names("strings"))
def test_a_model_of_strings_takes_every_name(name):
    from accredit.explanation import explain

    explanation = explain("not good", lambda texts: [3.0 * ("not" in t) - len(t) for t in texts], methods=name)
    assert (
        explanation.methods == (find(name, "explain").name,)
        and explanation[name] is explanation.attributions[explanation.methods[0]]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", names("text"))
def test_a_text_takes_every_name(name):
    pytest.importorskip("transformers")
    from accredit.arena.contest import Example
    from accredit.arena.texts import TextContest
    from accredit.explanation import explain
    from tests.models.small_models import text_model

    explanation = explain("bad film", text_model("bert"), methods=[name], budget=40)
    assert not explanation.refused
    contest = TextContest((name,), budget=40)
    contest.check()
    assert contest.explain(name, Example(0, "bad film")).result.players == ("bad", "film")


@pytest.mark.parametrize("name", names("explain"))
def test_requests_and_commands_take_every_name(name):
    requests = pytest.importorskip("accredit.web.requests")
    usual = find(name, "explain").name
    assert requests.ExplainRequest(text="A film.", methods=[name]).methods == [usual]
    assert MethodNames("explain").convert(name, None, None) == (usual,)
    if find(name, "explain").method.kind == "game":
        assert requests.GameRequest(players=["a"], payoffs=[0, 1], method=name).method == usual


# Training data


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small table of rows in two groups."""
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'uv'[i % 2]},{'yes' if x > 0 else 'no'}\n" for i, x in enumerate(rng.normal(size=14))]
    file = tmp_path_factory.mktemp("rows") / "train.csv"
    file.write_text("x,who,y\n" + "".join(rows))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", names("training data"))
def test_training_data_takes_every_name(trained, name):
    from accredit.training_data.tables import table
    from accredit.training_data.worth import value_table

    read = table(trained, "y", groups="who") if name == "owen" else table(trained, "y", players="who")
    model = "logistic" if name == "influence" else "ridge"
    values = value_table(read, name, model, budget=60, curves=False).values
    assert len(values) == (len(read.data.names) if name == "owen" else 2)
    assert MethodName("training data").convert(name, None, None) == find(name, "training data").name


# The same words of refusal everywhere


@pytest.mark.parametrize("name", strangers("game"))
def test_a_game_refuses_in_the_same_words(name):
    requests = pytest.importorskip("accredit.web.requests")
    with pytest.raises(InvalidInput) as said:
        find(name, "game")
    for ask in (
        lambda: report(PAIR, name),
        lambda: value_of(PAIR, name),
        lambda: MethodName("game").convert(name, None, None),
    ):
        with pytest.raises(InvalidInput) as refusal:
            ask()
        assert str(refusal.value) == str(said.value)
    with pytest.raises(ValueError) as refusal:
        requests.GameRequest(players=["a"], payoffs=[0, 1], method=name)
    assert [error["msg"] for error in refusal.value.errors()] == [str(said.value)]


@pytest.mark.parametrize("name", strangers("explain"))
def test_an_explanation_refuses_in_the_same_words(name):
    requests = pytest.importorskip("accredit.web.requests")
    from accredit.explanation import explain

    with pytest.raises(InvalidInput) as said:
        find(name, "explain")
    for ask in (
        lambda: explain("A film.", len, methods=name),
        lambda: MethodNames("explain").convert(name, None, None),
    ):
        with pytest.raises(InvalidInput) as refusal:
            ask()
        assert str(refusal.value) == str(said.value)
    with pytest.raises(ValueError) as refusal:
        requests.ExplainRequest(text="A film.", methods=[name])
    assert [error["msg"] for error in refusal.value.errors()] == [str(said.value)]


@pytest.mark.parametrize("name", strangers("training data"))
def test_training_data_refuses_in_the_same_words(trained, name):
    from accredit.training_data.tables import table
    from accredit.training_data.worth import value_table

    with pytest.raises(InvalidInput) as said:
        find(name, "training data")
    with pytest.raises(InvalidInput) as refusal:
        value_table(table(trained, "y"), name)
    assert str(refusal.value) == str(said.value)


def test_owen_needs_groups_and_others_take_none(trained):
    from accredit.training_data.tables import table
    from accredit.training_data.worth import value_table

    with pytest.raises(InvalidInput, match="needs groups"):
        report(PAIR, "owen")
    with pytest.raises(InvalidInput, match="needs groups"):
        value_table(table(trained, "y"), "owen", "ridge")
    with refused("conflict", "groups"):
        report(PAIR, "banzhaf", {"both": ["alice", "bob"]})
    with refused("misplaced", "groups"):
        value_table(table(trained, "y", groups="who"), "shapley", "ridge", budget=60)
    with refused("conflict", "groups"):
        table(trained, "y", players="who", groups="who")


def test_every_method_has_one_place_by_what_it_is_good_for_and_a_few_words():
    placed = [name for names in GOOD_FOR.values() for name in names]
    assert sorted(placed) == sorted(set(placed)) == sorted(method.name for method in METHODS) == sorted(IN_WORDS)
    assert all(0 < len(words) <= 52 for words in IN_WORDS.values())  # they stand beside a box, on one line
    assert good_for("of another package") == "From other packages"
