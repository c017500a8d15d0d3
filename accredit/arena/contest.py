"""The arena: many methods explain the same inputs, and every explanation is measured on the same game.

One row (one input) is the unit of work. A row's result is plain data, kept in a file the moment it is done, so a run that is
killed loses at most the rows in progress, and the table is always computed from what is in the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from accredit.core import Attribution, Game
from accredit.errors import AccreditError, InvalidInput
from accredit.evaluate.additivity import Infidelity, LinearDatamodelingScore, SensitivityN
from accredit.evaluate.curves import Deletion, Insertion, on_grid
from accredit.evaluate.erasure import AOPC, Comprehensiveness, DropAt, HitAt, LogOdds, PostHocAccuracy, Sufficiency
from accredit.evaluate.metric import Metric, NotApplicable, Result, measure_all
from accredit.evaluate.sanity import oracle, random_scores
from accredit.games import cached

RANDOM, ORACLE = "random", "oracle"  # always in the table
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Comprehensiveness(),
        Sufficiency(),
        LogOdds(),
        Deletion(),
        Insertion(),
        SensitivityN(),
        PostHocAccuracy(),
        Infidelity(),
        AOPC(),
        HitAt(1),
        HitAt(2),
        DropAt(1),
        DropAt(2),
        LinearDatamodelingScore(),
    )
}
ANSWER_METRICS = ("hit@1", "hit@2", "drop@1", "drop@2", "lds")  # a few parts earn an answer, and it is known which
DEFAULT_METRICS = tuple(  # aopc over all players is deletion upside down
    name for name in METRICS if name not in (*ANSWER_METRICS, "aopc")
)
CURVES = (Deletion(), Insertion())
SAID = 400  # characters kept of an error message


@dataclass(frozen=True)
class Example:
    """One input to explain.

    >>> Example(0, "A gripping film.", target="POSITIVE")
    Example(row=0, text='A gripping film.', target='POSITIVE')
    """

    row: int
    text: str
    target: str | None = None  # None: explain what the model predicts


@dataclass(frozen=True)
class MethodRun:
    """What a method returned for one input, and how often it ran the model.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(background=4)
    >>> contest.explain("leave-one-out", contest.examples(1)[0]).passes
    12
    """

    result: Result
    passes: int


class Contest(Protocol):
    """Who explains what. It must survive being sent to a worker process, so it holds settings, not models.

    >>> from accredit.arena import RowContest
    >>> contest: Contest = RowContest(methods=("leave-one-out",), background=4)  # the built-in table
    >>> contest.methods, contest.metrics[:2]
    (('leave-one-out',), ('comprehensiveness', 'sufficiency'))
    """

    @property
    def methods(self) -> tuple[str, ...]: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    def settings(self) -> Mapping[str, object]:
        """Everything the numbers depend on besides the input, as plain data: the key under which rows are kept."""
        ...

    def steady(self) -> AbstractContextManager[None]:
        """What must hold while a row runs, so that it gives the same digits wherever it runs."""
        ...

    def game(self, example: Example) -> Game:
        """The game on which explanations of this input are measured."""
        ...

    def explain(self, method: str, example: Example) -> MethodRun:
        """One method's explanation, for the players of `game(example)` in their order."""
        ...

    def metric(self, name: str, example: Example) -> Metric:
        """The metric as it fits this contest and input: like `METRICS[name]`, or an `Unfit` that says why there is none."""
        ...


@dataclass(frozen=True)
class RowEntry:
    """One method on one row. `error` says why there is nothing else.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(methods=("leave-one-out",), background=4)
    >>> entry = run_row(contest, contest.examples(1)[0]).entries["leave-one-out"]
    >>> entry.passes, entry.error  # ten columns, everybody, nobody
    (12, '')
    """

    scores: Mapping[str, float | None] = field(default_factory=dict)
    because: Mapping[str, str] = field(default_factory=dict)  # metric -> why it does not apply
    credit: Sequence[float] = ()
    interval: Sequence[Sequence[float]] = ()
    claims: Sequence[Sequence[str]] = ()  # axiom, how it holds
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    passes: int = 0
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class RowResult:
    """Every method on one row.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(methods=("leave-one-out",), background=4)
    >>> row = run_row(contest, contest.examples(1)[0])
    >>> row.players, sorted(row.entries)
    (10, ['leave-one-out', 'oracle', 'random'])
    """

    row: int
    text: str
    players: int
    entries: Mapping[str, RowEntry]
    seconds: float
    error: str = ""  # why the whole row failed, for example an empty text

    def to_plain(self) -> dict[str, object]:
        """As JSON types."""
        entries = {name: dict(vars(entry)) for name, entry in self.entries.items()}
        return {
            "row": self.row,
            "text": self.text,
            "players": self.players,
            "entries": entries,
            "seconds": self.seconds,
            "error": self.error,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> RowResult:
        """Inverse of `to_plain`."""
        entries = {name: RowEntry(**entry) for name, entry in data["entries"].items()}
        return cls(data["row"], data["text"], data["players"], entries, data["seconds"], data["error"])


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """Metrics by name, or an error that lists them.

    >>> [(metric.name, metric.better) for metric in metrics_named(["deletion", "insertion"])]
    [('deletion', 'lower'), ('insertion', 'higher')]
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in METRICS:
            raise InvalidInput(f"unknown metric {name!r}; choose from {', '.join(METRICS)}", argument="metrics", code="unknown")
    if not chosen:
        raise InvalidInput(f"metrics is empty; choose from {', '.join(METRICS)}", argument="metrics", code="empty")
    return tuple(METRICS[name] for name in chosen)


def run_row(contest: Contest, example: Example) -> RowResult:
    """Explain one input by every method and measure all explanations in one batch; a method that fails is recorded.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(methods=("leave-one-out",), metrics=("deletion",), background=4)
    >>> entries = run_row(contest, contest.examples(1)[0]).entries
    >>> entries["oracle"].scores["deletion"] <= entries["leave-one-out"].scores["deletion"]
    True
    """
    with contest.steady():
        return _run_row(contest, example)


def _run_row(contest: Contest, example: Example) -> RowResult:
    began = time.perf_counter()

    def refuse(error: Exception) -> RowResult:
        return RowResult(example.row, example.text, 0, {}, time.perf_counter() - began, _say_why(error))

    try:
        game = cached(contest.game(example))
    except Exception as error:  # a bad input spoils its own row, never the run
        return refuse(error)
    found: dict[str, MethodRun] = {}
    seconds: dict[str, float] = {}
    failed: dict[str, str] = {}
    for method in contest.methods:
        start = time.perf_counter()
        try:
            found[method] = _fitting(contest.explain(method, example), game)
        except Exception as error:  # a method that fails spoils its own entry, never the run
            failed[method] = _say_why(error)
        seconds[method] = time.perf_counter() - start
    metrics = tuple(contest.metric(metric.name, example) for metric in metrics_named(contest.metrics))
    try:
        entries = _measure(game, found, seconds, metrics, example.row)
    except Exception as error:  # the game itself fails, for example with a payoff that is not finite
        return refuse(error)
    entries |= {method: RowEntry(error=why, seconds=seconds[method]) for method, why in failed.items()}
    return RowResult(example.row, example.text, len(game.players), entries, time.perf_counter() - began)


def _fitting(explained: MethodRun, game: Game) -> MethodRun:
    """An explanation that can be measured on this game."""
    if explained.result.players != game.players:
        raise InvalidInput(
            f"it credits {len(explained.result.players)} players, and this game has {len(game.players)} or others",
            code="conflict",
        )
    return explained


def _measure(
    game: Game, found: Mapping[str, MethodRun], seconds: Mapping[str, float], metrics: tuple[Metric, ...], seed: int
) -> dict[str, RowEntry]:
    results: dict[str, Result] = {method: explained.result for method, explained in found.items()}
    results[RANDOM] = random_scores(game, seed)
    asked = {m.name: m for m in (*metrics, *CURVES)}
    best = _oracles(game, asked.values())
    oracles = {f"{ORACLE}: {name}": result for name, result in best.items()}
    scores = measure_all(game, {**results, **oracles}, asked.values())
    curves = _curves(game, results, best)
    entries = {}
    for name, result in results.items():
        mine = scores[name]
        passes = found[name].passes if name in found else 0
        entries[name] = RowEntry(
            scores={m.name: mine[m.name].value for m in metrics},
            because={m.name: mine[m.name].because for m in metrics if mine[m.name].value is None},
            credit=result.credit.tolist() if isinstance(result, Attribution) else (),
            interval=result.interval.tolist() if isinstance(result, Attribution) and result.interval is not None else (),
            claims=[[c.axiom, str(c.holds)] for c in result.claims] if isinstance(result, Attribution) else (),
            curves=curves[name],
            passes=passes,
            seconds=seconds.get(name, 0.0),
        )
    top = {m.name: scores[f"{ORACLE}: {m.name}"][m.name].value if m.name in best else None for m in metrics}
    entries[ORACLE] = RowEntry(scores=top, curves=curves[ORACLE])
    return entries


def _oracles(game: Game, metrics: Iterable[Metric]) -> dict[str, Result]:
    """The oracle of every metric that means something for this game."""
    best = {}
    for metric in metrics:
        with suppress(NotApplicable):
            best[metric.name] = oracle(metric, game)
    return best


def _curves(game: Game, results: Mapping[str, Result], best: Mapping[str, Result]) -> dict[str, dict[str, list[float]]]:
    """Deletion and insertion curves of every result on a common grid; the oracle has its own order for each."""
    drawn: dict[str, dict[str, list[float]]] = {name: {} for name in (*results, ORACLE)}
    for curve in CURVES:
        for name, result in {**results, ORACLE: best[curve.name]}.items():
            try:
                earned = game.payoff(curve.plan(result))
            except NotApplicable:
                continue
            drawn[name][curve.name] = on_grid(earned).tolist()
    return drawn


def _say_why(error: BaseException) -> str:
    """What went wrong. Errors made on purpose speak for themselves; for others the type is half the message."""
    said = str(error) if isinstance(error, AccreditError) else f"{type(error).__name__}: {error}"
    return said if len(said) <= SAID else said[: SAID - 1] + "…"


def run_all(
    contest: Contest,
    examples: Sequence[Example],
    keep: Callable[[RowResult], None],
    submit: Callable[..., Future[RowResult]] | None = None,
    on_row: Callable[[int], None] = lambda done: None,
) -> None:
    """Run every example and hand each result to `keep` as it is done; `submit` runs a row elsewhere and returns a future."""
    if submit is None:
        for done, example in enumerate(examples, start=1):
            keep(run_row(contest, example))
            on_row(done)
        return
    from concurrent.futures import FIRST_COMPLETED, wait

    waiting = {submit(run_row, contest, example) for example in examples}
    done = 0
    while waiting:
        ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        finished_first = sorted(ready, key=lambda f: f.exception() is not None)
        for future in finished_first:  # what is done is kept before a lost worker is reported
            keep(future.result())
            done += 1
            on_row(done)
