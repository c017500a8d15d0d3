"""Errors name what is wrong by an argument and a code, from one list of codes."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import accredit
import accredit_papers
from accredit.arena.contest import metrics_named
from accredit.core import Claim, Holds, Note
from accredit.errors import CODES, AccreditError, InvalidInput, TooManyPlayers
from accredit.learned import Tabular
from accredit.store import durable
from accredit.values import Exact, Stop

GAME = accredit.TableGame(("a", "b"), [0, 1, 2, 4])
SEVERAL = accredit.FunctionGame("ab", lambda coalitions: np.zeros((len(coalitions), 2)))
HUGE = accredit.FunctionGame("ab", lambda coalitions: np.full(len(coalitions), 1e200))
WITHOUT_CREDIT = json.dumps({k: v for k, v in json.loads(accredit.shapley(GAME).to_json()).items() if k != "credit"})
REFUSED = {
    "two players of one name": (lambda: accredit.TableGame(("a", "a"), [0, 1, 2, 4]), "players", "duplicate"),
    "a player who does not play": (lambda: accredit.shapley(GAME)["c"], "", "unknown"),
    "no players": (lambda: accredit.TableGame((), [0]), "players", "empty"),
    "credit of another size": (lambda: accredit.Attribution(("a",), [1, 2], 1, "m"), "credit", "shape"),
    "credit that is not a number": (lambda: accredit.Attribution(("a",), [np.nan], 1, "m"), "credit", "not-finite"),
    "a claim of no known kind": (lambda: Claim("efficiency", "maybe", "it is"), "holds", "unknown"),
    "a note of no known kind": (lambda: Note("rumour", "x"), "kind", "unknown"),
    "claims that are a text": (lambda: accredit.Attribution(("a",), [1], 1, "m", claims="all"), "claims", "type"),
    "no limit at all": (lambda: Stop(), "", "missing"),
    "too many players": (lambda: Exact(limit=1).solve(GAME), "", "too-many"),
    "another kind of JSON": (lambda: accredit.Attribution.from_json("{"), "", "unreadable"),
    "JSON that lacks a field": (lambda: accredit.Attribution.from_json(WITHOUT_CREDIT), "", "missing"),
    "a budget below one": (lambda: accredit.shapley(GAME, budget=0), "budget", "range"),
    "a budget in words": (lambda: accredit.shapley(GAME, budget="many"), "budget", "type"),
    "a level above one": (lambda: accredit.shapley(GAME, budget=10, level=2), "level", "range"),
    "a level that is not a number": (lambda: accredit.shapley(GAME, budget=10, level=np.nan), "level", "not-finite"),
    "a limit beside a solver": (lambda: accredit.shapley(GAME, Exact(), budget=10), "solver", "conflict"),
    "an index of no known name": (lambda: accredit.interactions(GAME, "ksii"), "index", "unknown"),
    "an empty group": (lambda: accredit.grouped(GAME, {"g": []}), "groups", "empty"),
    "an empty part of a coalition tree": (lambda: accredit.owen(GAME, ["a", "b", []]), "groups", "empty"),
    "a payoff of several numbers": (lambda: accredit.shapley(SEVERAL), "", "shape"),
    "a payoff beyond reckoning": (lambda: accredit.shapley(HUGE), "", "range"),
    "an unknown executor": (lambda: durable(GAME, executor="magic").__enter__(), "executor", "unknown"),
    "masks of another width": (lambda: Tabular(3).check([[1.0, 2.0]]), "x", "shape"),
    "a row that is not finite": (lambda: Tabular(2).check([[1.0, np.inf]]), "x", "not-finite"),
    "nothing to explain": (lambda: accredit.explain(None), "given", "missing"),
    "a metric of no known name": (lambda: metrics_named(["beauty"]), "metrics", "unknown"),
}


@pytest.mark.parametrize("call, argument, code", REFUSED.values(), ids=REFUSED)
def test_the_argument_and_what_is_wrong_with_it_can_be_asked(call, argument, code):
    with pytest.raises(AccreditError) as refused:
        call()
    assert (refused.value.argument, refused.value.code) == (argument, code)


@pytest.mark.parametrize("kind", [InvalidInput, TooManyPlayers])
def test_a_code_that_is_not_in_the_list_cannot_be_raised(kind):
    with pytest.raises(ValueError, match="code is 'mising', which is not in"):
        kind("x is missing", argument="x", code="mising")
    assert kind("x is missing", argument="x", code="missing").code == "missing" and Holds.NO not in CODES


def _usual_codes(trees):
    """Each class of errors and the code that it has of itself."""
    classes = [node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    usual = {"AccreditError": ""}
    while found := [c for c in classes if c.name not in usual and any(getattr(b, "id", "") in usual for b in c.bases)]:
        for kind in found:
            own = [line.value.value for line in kind.body if isinstance(line, ast.Assign) and line.targets[0].id == "usual"]
            usual[kind.name] = own[0] if own else next(usual[base.id] for base in kind.bases if base.id in usual)
    return usual


def _trees(*packages):
    folders = [Path(package.__file__).parent for package in packages]
    return {file: ast.parse(file.read_text(encoding="utf-8")) for folder in folders for file in folder.rglob("*.py")}


def _codes_of_raises():
    """Where an error is raised, and the codes that it may have there."""
    trees = _trees(accredit, accredit_papers)
    usual = _usual_codes(trees)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in usual:
                given = [
                    part.value
                    for word in node.keywords
                    if word.arg == "code"
                    for part in ast.walk(word.value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                passed_on = any(word.arg == "code" for word in node.keywords) and not given
                yield f"{file.name}:{node.lineno}", set() if passed_on else set(given or [usual[node.func.id]])


@pytest.mark.slow
def test_every_error_says_by_a_code_what_is_wrong_and_every_code_is_used():
    raises = list(_codes_of_raises())
    assert len(raises) > 1000 and [where for where, codes in raises if "" in codes] == []
    assert set().union(*(codes for _, codes in raises)) == CODES - {""}


OPTION = re.compile(r"(?<![\w-])--[a-z]")


@pytest.mark.slow
def test_the_library_speaks_of_arguments_and_leaves_options_to_the_command():
    """A whole command, such as `accredit runs FILE --salvage NEW.db`, may be named; an option alone is known to the command."""
    spoken = {"cli", "web"}
    found = [
        f"{file.name}:{node.lineno}: {part.value}"
        for file, tree in _trees(accredit, accredit_papers).items()
        if not spoken.intersection(file.parts) and file.name != "reproduce.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and "accredit " not in ast.unparse(node).partition("(")[2]
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and OPTION.search(part.value)
    ]
    assert found == []


@pytest.mark.parametrize("name, argument", [("at[0]", "at"), ("black_box's answers", "black_box"), ("rows of a table", "")])
def test_what_is_not_the_name_of_an_argument_is_not_given_out_as_one(name, argument):
    assert InvalidInput("x", argument=name, code="type").argument == argument
