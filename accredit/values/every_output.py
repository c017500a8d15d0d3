"""Every output of a game that pays several, answered by a rule for one.

The rule is asked once per output, each time with the game of that output, and all of these share one record: the
evaluations are those of a single output, and so is every answer, to the last bit. A rule that looks at payoffs or at the
clock to decide what to ask (`half_width`, `seconds`, `Truncated`) decides for each output by itself: then the union is
evaluated, and every output has the seconds for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Attributions, Game, Games, Interactions, Precision, check_game
from accredit.core.attributions import gather
from accredit.core.games import Record
from accredit.core.rounding import blur_of
from accredit.errors import AccreditError

P = ParamSpec("P")
Answer = TypeVar("Answer")
Settings = TypeVar("Settings")  # a solver
One = TypeVar("One", covariant=True)
Every = TypeVar("Every", covariant=True)


class Rule(Protocol[P, One, Every]):
    """A function of a game: one answer for a `Game`, one per output for `Games`."""

    @overload
    def __call__(self, game: Games, *args: P.args, **kwargs: P.kwargs) -> Every: ...
    @overload
    def __call__(self, game: Game, *args: P.args, **kwargs: P.kwargs) -> One: ...


class Solve(Protocol):
    """The method of a solver: an attribution for a `Game`, attributions for `Games`."""

    def __get__(self, solver: object, kind: type | None = None) -> Rule[[], Attribution, Attributions]: ...


@overload
def every_output(rule: Callable[Concatenate[Game, P], Attribution]) -> Rule[P, Attribution, Attributions]: ...  # type: ignore[overload-overlap]
@overload
def every_output(rule: Callable[Concatenate[Game, P], Answer]) -> Rule[P, Answer, dict[str, Answer]]: ...
def every_output(rule: Callable[Concatenate[Game, P], Answer]) -> object:
    """`rule`, for games that pay one number per coalition and for those that pay several."""

    rule = check_arguments(rule)

    @wraps(rule)
    def answer(game: Game, *args: P.args, **kwargs: P.kwargs) -> object:
        check_game(game)
        if not isinstance(game, Games):
            return _heard(_with_blur(rule(game, *args, **kwargs), game), kwargs)
        return _answers(game, lambda one: _heard(_with_blur(rule(one, *args, **kwargs), one), kwargs))

    return answer


def solves_every_output(solve: Callable[[Settings, Game], Attribution]) -> Solve:
    """The `solve` of a solver, for games that pay one number per coalition and for those that pay several."""

    @wraps(solve)
    def solve_each_output(solver: Settings, game: Game) -> object:
        check_game(game)
        if not isinstance(game, Games):
            return _with_blur(solve(solver, game), game)
        return _answers(game, lambda one: _with_blur(solve(solver, one), one))

    return cast(Solve, solve_each_output)  # a function is bound like this, but its type does not say so


def _heard(answer: Answer, settings: Mapping[str, object]) -> Answer:
    """An exact answer that says, where a level was stated, why it has no interval at it."""
    level = settings.get("level", defaults.LEVEL)
    if level == defaults.LEVEL or not isinstance(answer, Attribution | Interactions) or answer.precision != Precision.exact():
        return answer
    said = Precision.exact(f"there is no sampling error, so that an interval at level {level:g} would have no width")
    return replace(answer, precision=said)


def _with_blur(answer: Answer, game: Game) -> Answer:
    """An attribution that knows how far rounding may have moved the payoffs it rests on."""
    if not isinstance(answer, Attribution) or answer.blur is not None:
        return answer
    return replace(answer, blur=blur_of(game))


def _answers(games: Games, rule: Callable[[Game], Answer]) -> Attributions | dict[str, Answer]:
    record, answers = Record(games), {}
    for name in record.outputs:
        try:
            answers[name] = rule(record[name])
        except AccreditError as error:
            error.add_note(f"This was asked for output {name!r}.")
            raise
    found: Attributions | dict[str, Answer] = gather(answers, record.asked)
    return found
