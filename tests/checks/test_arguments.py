"""Arguments held to their annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pytest

from accredit.checks.arguments import OWN_CHECK, check_arguments, check_fields
from accredit.core import BoolArray, FloatArray, Game
from accredit.errors import InvalidInput
from accredit.evaluate import axioms_kept, check_claims
from accredit.games import FunctionGame, TableGame
from accredit.values import Differences, Exact, KernelShap, Permutations, SampledSemivalue, Surrogate, shapley
from tests.wording import refused

if TYPE_CHECKING:
    import matplotlib.axes

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
        ({"count": 10**400}, "count must be a whole number of at most"),
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
    made = SOLVERS[solver]
    with refused("type", "solver") as caught:
        shapley(game, solver)
    assert str(caught.value).endswith(f"as in {made}")
    for asked in (lambda: axioms_kept(solver, game), lambda: check_claims(shapley(game), game, solver)):
        with refused("type", "method") as caught:
            asked()
        assert str(caught.value).endswith(f"as in {made}.solve")


def test_what_is_not_a_solver_is_refused_with_one_that_is():
    game = TableGame("ab", [0, 5, 3, 10])
    for given in ("exact", int, TableGame, lambda game: game, 7):
        with refused("type", "solver"):
            shapley(game, given)
    with refused("type", "method"):
        axioms_kept(int, game)
    with refused("type", "method"):
        axioms_kept(Exact(), game)


Level = Literal["low", "high"]


class Speaks(Protocol):
    def speak(self) -> str: ...


@check_arguments
def resolved(
    level: Level = "low",
    side: Literal["left", "right"] | None = None,
    file: str | Path = "a",
    game_or_file: TableGame | str | Path | None = None,
    names: tuple[str, ...] = (),
    words: Sequence[str] | None = None,
    counts: tuple[int, ...] = (),
    numbers: npt.ArrayLike | None = None,
    shares: Sequence[float] | None = None,
) -> tuple[object, ...]:
    return level, side, file, game_or_file, names, words, counts, numbers, shares


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"level": "middle"}, "level is 'middle'; write 'low' or 'high'"),
        ({"level": None}, "level is None; write 'low' or 'high'"),
        ({"side": "up"}, "side is 'up'; write 'left' or 'right'"),
        ({"file": 3}, "file is 3"),
        ({"game_or_file": 3}, "game_or_file is 3"),
        ({"game_or_file": TableGame}, "game_or_file is <class .*; give the path of a file"),
        ({"names": "ab"}, "names is 'ab'; give a list of strings"),
        ({"words": ["a", 1]}, r"words\[1\] is 1; give a list of strings"),
        ({"counts": (1, 2.5)}, r"counts\[1\] must be a whole number, got 2.5"),
        ({"numbers": "three"}, "numbers must be real numbers, got 'three'"),
        ({"shares": [[0.5]]}, r"shares is \[\[0.5\]\]; give a row of numbers"),
    ],
    ids=str,
)
def test_unions_choices_and_brackets_are_read_as_types(bad, said):
    with pytest.raises(InvalidInput, match=said):
        resolved(**bad)


def test_what_was_read_as_a_type_passes_as_it_should():
    given = resolved("high", "left", Path("b"), COOKIES, ["a"], ["b"], [1], [1, 2], (0.5,))
    assert given[:7] == ("high", "left", Path("b"), COOKIES, ("a",), ["b"], (1,)) and given[8] == (0.5,)
    assert isinstance(given[7], np.ndarray) and given[7].tolist() == [1.0, 2.0]
    assert resolved(game_or_file="a", numbers=None)[3] == "a"


Drawn = "matplotlib.axes.Axes | list[float]"  # an alias for type checkers


@check_arguments
def left_alone(
    drawn: Drawn | None = None,
    axes: matplotlib.axes.Axes | None = None,
    any_axes: Sequence[matplotlib.axes.Axes] = (),
    pair: tuple[int, str] = (1, "a"),
    groups: Annotated[Mapping[str, int], OWN_CHECK] | None = None,
    speaker: Speaks | None = None,
    either: int | str = 1,
    thing: object = None,
    array: npt.NDArray[np.float32] | None = None,
) -> object:
    return drawn, axes, pair, groups, speaker, either, thing, array


def test_what_cannot_be_asked_about_is_not_checked():
    for name in ("drawn", "axes", "pair", "groups", "speaker", "either", "thing", "array"):
        for given in (3.5, [1], int, "a", b"a"):
            left_alone(**{name: given})
    with refused("type", "any_axes"):  # what is inside is not known, but that it is a list
        left_alone(any_axes=3)


def test_a_field_that_is_inherited_is_checked_where_its_types_are_known():
    @dataclass(frozen=True)
    class Settings(Exact):
        share: float = 0.5

        def __post_init__(self) -> None:
            check_fields(self)

    assert Settings(share=0.25).share == 0.25
    for bad in ({"limit": "many"}, {"share": "half"}):
        with pytest.raises(InvalidInput, match=f"{next(iter(bad))} must be"):
            Settings(**bad)
