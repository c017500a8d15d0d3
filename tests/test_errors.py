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


def test_every_code_in_the_code_is_in_the_list_and_every_one_in_the_list_is_used():
    written = set()
    for file in Path(accredit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg == "code" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    written.add(keyword.value.value)
    assert written - {""} == CODES - {""}
