"""What a faithfulness metric is: the coalitions it wants to see, and a number made of their payoffs.

A metric never asks a game itself. It says which coalitions it needs (`plan`) and turns their payoffs into a score (`score`),
so the coalitions of many metrics and many explanations of one input go to the model in one batch, each only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import shown
from accredit.core import Attribution, BoolArray, FloatArray, Game, IntArray, Selection, payoffs
from accredit.core.coalitions import unique
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import falling
from accredit.errors import AccreditError, InvalidInput

Result = Attribution | Selection
Better = Literal["higher", "lower"]
Ends = tuple[float, float]


class NotApplicable(AccreditError, ValueError):
    """A metric has no meaning for this result; the message says why.

    >>> from accredit.evaluate import LogOdds
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(LogOdds(), cookies, shapley(cookies))
    Traceback (most recent call last):
        ...
    accredit.evaluate.metric.NotApplicable: log-odds needs payoffs that are probabilities in (0, 1], and this game ...
    """


@runtime_checkable
class Metric(Protocol):
    """A frozen bundle of settings that measures one result on one game.

    >>> from accredit.evaluate import AOPC, Deletion
    >>> [(metric.name, metric.better) for metric in (AOPC(), Deletion()) if isinstance(metric, Metric)]
    [('aopc', 'higher'), ('deletion', 'lower')]
    """

    @property
    def name(self) -> str: ...

    @property
    def better(self) -> Better:
        """Which way is good."""
        ...

    @property
    def within(self) -> Ends | None:
        """The ends that no value can pass, as of a share or a correlation; None where there are none."""
        ...

    @property
    def paper(self) -> str:
        """Where it was defined."""
        ...

    def plan(self, result: Result) -> BoolArray:
        """The coalitions whose payoffs are needed: (k, n). Raises `NotApplicable` where the metric means nothing."""
        ...

    def score(self, result: Result, earned: FloatArray) -> float:
        """The metric from the payoffs of `plan(result)`, in the same order."""
        ...

    def oracle(self, game: Game) -> Result:
        """The best-scoring result that can be found by looking at the game itself, for the top of the scale."""
        ...


@dataclass(frozen=True)
class Unfit:
    """A metric that does not apply to any result here, for example because of the payoff; it says so when asked."""

    name: str
    better: Better
    paper: str
    because: str
    within: ClassVar[Ends | None] = None

    def plan(self, result: Result) -> BoolArray:
        raise NotApplicable(self.because, code="unsupported")

    def score(self, result: Result, earned: FloatArray) -> float:
        raise NotApplicable(self.because, code="unsupported")

    def oracle(self, game: Game) -> Result:
        raise NotApplicable(self.because, code="unsupported")


@dataclass(frozen=True)
class Score:
    """A metric's value, or why there is none.

    >>> Score(0.25), Score(None, "log-odds needs payoffs that are probabilities")
    (Score(value=0.25, because=''), Score(value=None, because='log-odds needs payoffs that are probabilities'))
    """

    value: float | None
    because: str = ""


@check_arguments
def measure(metric: Metric, game: Game, result: Result) -> float:
    """One metric of one result, in one call of the game.

    >>> from accredit.games import TableGame
    >>> from accredit.evaluate import Deletion
    >>> from accredit.values import shapley
    >>> single = TableGame(("a", "b"), [0, 1, 0, 1])  # only a matters
    >>> measure(Deletion(), single, shapley(single))  # the payoff falls from 1 to 0 when a goes first
    0.25
    """
    score = measure_all(game, {"it": result}, [metric])["it"][metric.name]
    if score.value is None:
        raise NotApplicable(score.because, code="unsupported")
    return score.value


@check_arguments
def measure_all(game: Game, results: Mapping[str, Result], metrics: Iterable[Metric]) -> dict[str, dict[str, Score]]:
    """Every metric of every result: result name -> metric name -> score, from one batch of distinct coalitions.

    A metric that does not apply to a result gives a `Score` without value that says why.

    >>> from accredit.evaluate import Deletion, LogOdds
    >>> from accredit.games import TableGame
    >>> from accredit.values import leave_one_out, shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> found = measure_all(cookies, {"shapley": shapley(cookies), "loo": leave_one_out(cookies)}, [Deletion(), LogOdds()])
    >>> found["loo"]["deletion"].value, found["loo"]["log-odds"].value
    (4.0, None)
    """
    chosen = tuple(metrics)
    for metric in chosen:
        if not hasattr(metric, "plan") or isinstance(metric, type):
            raise InvalidInput(
                f"metrics holds {shown(metric)}; give metrics, for example [Deletion()]", argument="metrics", code="type"
            )
    for name, result in results.items():
        if not isinstance(result, Attribution | Selection):
            raise InvalidInput(
                f"results[{name!r}] is {shown(result)}; give an Attribution or a Selection", argument="results", code="type"
            )
        if result.players != game.players:
            raise InvalidInput(
                f"result {name!r} does not credit the {len(game.players)} players of this game in their order; "
                "measure it on the game it was computed from",
                argument="results",
                code="conflict",
            )
    plans: dict[tuple[str, str], BoolArray] = {}
    scores: dict[str, dict[str, Score]] = {name: {} for name in results}
    for name, result in results.items():
        for metric in chosen:
            try:
                plans[name, metric.name] = metric.plan(result)
            except NotApplicable as reason:
                scores[name][metric.name] = Score(None, str(reason))
    if not plans:
        return scores
    asked, row = unique(np.concatenate(list(plans.values())))
    earned = payoffs(game, asked)[row]
    cuts = np.cumsum([len(plan) for plan in plans.values()])[:-1]
    answers = dict(zip(plans, np.split(earned, cuts), strict=True))
    for name, result in results.items():
        for metric in chosen:
            if (name, metric.name) in answers:
                try:
                    scores[name][metric.name] = Score(metric.score(result, answers[name, metric.name]))
                except NotApplicable as reason:
                    scores[name][metric.name] = Score(None, str(reason))
    return scores


def scores_of(result: Result, metric: str) -> FloatArray:
    """The numbers that put players in order: credit, or a selection's scores."""
    if isinstance(result, Attribution):
        return result.credit
    if result.scores is None:
        raise NotApplicable(
            f"{metric} needs an order of the players, and {result.method} is a selection without scores", code="unsupported"
        )
    return result.scores


def order_of(result: Result, scores: FloatArray) -> IntArray:
    """Players from most to least credited, by signed value; ties, also by rounding, keep the players' order."""
    return falling(scores, rounding_of(result, scores))


def rounding_between(given: Attribution | FloatArray, numbers: FloatArray) -> float:
    """How far apart rounding alone may have brought `numbers`: by the attribution that they come from, else as doubles."""
    return given.rounding if isinstance(given, Attribution) else blur(float(np.abs(numbers).max(initial=0.0)))


def rounding_of(result: Result, numbers: FloatArray) -> float:
    """How far rounding may have moved payoffs, or sums of credit, of a result; where nobody said, as in single precision."""
    size = float(np.abs(numbers).max(initial=0.0))
    if not isinstance(result, Attribution):
        return blur(size, SINGLE)
    return blur(max(size, abs(result.total or 0.0)), SINGLE) if result.blur is None else result.blur + blur(size)
