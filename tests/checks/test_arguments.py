"""Arguments held to their annotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pytest

from accredit.checks.arguments import check_arguments
from accredit.core import BoolArray, FloatArray, Game
from accredit.errors import InvalidInput
from accredit.evaluate import axioms_kept, check_claims
from accredit.games import FunctionGame, TableGame
from accredit.values import Differences, Exact, KernelShap, Permutations, SampledSemivalue, Surrogate, shapley
from tests.wording import refused

COOKIES = TableGame(("alice", "bob"), [0, 5, 3, 10])


@check_arguments
def everything(
    count: int = 1,
    share: float = 0.5,
    name: str = "x",
    flag: bool = True,
    seed: int = 0,
    game: Game = COOKIES,
    row: FloatArray | None = None,
    mask: BoolArray | None = None,
    function: Callable[[int], int] = abs,
    listed: Sequence[str] = (),
    any_of: Iterable[str] = (),
    by_name: Mapping[str, int] | None = None,
    fractions: tuple[float, ...] = (0.5,),
    one: TableGame | FunctionGame = COOKIES,
) -> int:
    return count


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"count": "3"}, "count must be a whole number, got '3'"),
        ({"count": True}, "count must be a whole number, got True"),
        ({"count": 10**400}, "count must be a whole number, got 1000"),
        ({"share": "half"}, "share must be one number, got 'half'"),
        ({"share": float("nan")}, "share is nan; it must be a finite number"),
        ({"name": 3}, "name"),
        ({"flag": "no"}, "flag is 'no'; write flag=True or flag=False"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"game": None}, "game is None"),
        ({"game": TableGame}, "game is <class"),
        ({"row": [1.0, None]}, "row"),
        ({"row": np.ma.masked_equal([1.0, 2.0], 2.0)}, "mask"),
        ({"row": [1.0, np.inf]}, "row holds inf; every number must be finite"),
        ({"mask": [0.5, 1.0]}, "mask is .*; it must hold True and False only"),
        ({"function": 3}, "function is 3; give a function"),
        ({"listed": "abc"}, "listed is 'abc'; give a list"),
        ({"any_of": 3}, "any_of is 3; give a list"),
        ({"by_name": [1]}, "by_name is .*; write a mapping"),
        ({"fractions": "ab"}, "fractions"),
        ({"one": 3}, "one is 3, of type int; give a TableGame or a FunctionGame"),
    ],
    ids=str,
)
def test_what_a_signature_does_not_take_is_refused_by_name(bad, said):
    with pytest.raises(InvalidInput, match=said):
        everything(**bad)


def test_what_it_takes_passes():
    assert everything(np.int64(3), np.float32(0.5), row=[1, 2], mask=[1, 0], listed=["a"], any_of="ab", by_name={}) == 3
    assert everything(fractions=(0.25, 0.5), one=FunctionGame("ab", len), flag=np.True_) == 1


def test_a_game_without_players_is_refused():
    class Empty:
        players = ()

        def payoff(self, coalitions):
            return np.zeros(len(coalitions))

    with pytest.raises(InvalidInput, match="players is empty"):
        everything(game=Empty())


SOLVERS = {
    Exact: "Exact()",
    Differences: "Differences(budget=1000)",
    Permutations: "Permutations(budget=1000)",
    KernelShap: "KernelShap(budget=1000)",
    Surrogate: "Surrogate(budget=1000)",
    SampledSemivalue: "SampledSemivalue(weights=…, budget=1000)",
}


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)
def test_a_class_of_solvers_is_not_a_solver(solver):
    """It has the method that a solver has, and nobody to call it on."""
    game = TableGame("ab", [0, 5, 3, 10])
    made = re.escape(SOLVERS[solver])
    with pytest.raises(InvalidInput, match=f"solver is the class {solver.__name__}; .*, as in {made}$"):
        shapley(game, solver)
    for asked in (lambda: axioms_kept(solver, game), lambda: check_claims(shapley(game), game, solver)):
        with pytest.raises(InvalidInput, match=rf"^method is .*; give a function of a game, as in {made}\.solve$"):
            asked()


def test_what_is_not_a_solver_is_refused_with_one_that_is():
    game = TableGame("ab", [0, 5, 3, 10])
    for given in ("exact", int, TableGame, lambda game: game, 7):
        with refused("type", "solver"):
            shapley(game, given)
    with refused("type", "method"):
        axioms_kept(int, game)
    with refused("type", "method"):
        axioms_kept(Exact(), game)
