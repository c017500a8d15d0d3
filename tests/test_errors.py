"""Errors name what is wrong by an argument and a code, from one list of codes."""

import ast
from pathlib import Path

import numpy as np
import pytest

import accredit
from accredit.core import Claim, Holds, Note
from accredit.errors import CODES, AccreditError, InvalidInput, TooManyPlayers
from accredit.values import Exact, Stop

GAME = accredit.TableGame(("a", "b"), [0, 1, 2, 4])
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


def _codes_of_raises():
    """Where an error is raised, and the codes that it may have there."""
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in Path(accredit.__file__).parent.rglob("*.py")}
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
