"""Rows of a file in the arena, on a model in a file: values of games beside fast Shapley values and trained selectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from accredit.arena.contest import DEFAULT_METRICS, METRICS, Contest, Example, MethodRun, RowResult, run_all
from accredit.arena.standings import Standings, standings
from accredit.checks.files import read_bytes
from accredit.core import Attribution, Game
from accredit.core.games import output
from accredit.core.threads import one_torch_thread
from accredit.errors import InvalidInput
from accredit.evaluate.erasure import PostHocAccuracy
from accredit.evaluate.metric import Metric, Unfit
from accredit.games import cached, counted
from accredit.methods import find
from accredit.store.fingerprint import fingerprint
from accredit.store.results_cache import Finished
from accredit.store.workers import workers
from accredit.values.solver import progress

if TYPE_CHECKING:
    import pandas
    from sklearn.ensemble import HistGradientBoostingRegressor

    from accredit.explanation.requests import RowRequest
    from accredit.learned.input_sets import RowFamily
    from accredit.models.payoffs import Payoff

CLOSED_FORM = "closed form"  # Shapley values of a forest, which need no payoffs
ROW_METHODS = (CLOSED_FORM, "shapley", "banzhaf", "lime", "leave-one-out")
ROW_METRICS = ("comprehensiveness", "sufficiency", "deletion", "insertion", "sensitivity-n", "infidelity")


@dataclass(frozen=True)
class RowContest:
    """Settings of a contest on rows of the built-in table, whose model is a boosted forest.

    Columns that do not play take the values of `background` training rows, for the methods and for the metrics alike.

    >>> contest = RowContest(background=6)
    >>> contest.check()
    >>> example = contest.examples(1)[0]
    >>> contest.explain("closed form", example).passes, len(contest.game(example).players)
    (0, 10)
    """

    methods: tuple[str, ...] = ROW_METHODS
    metrics: tuple[str, ...] = ROW_METRICS
    background: int = 40
    budget: int = 128  # payoffs that each game method may ask
    seed: int = 0

    def check(self) -> None:
        """Refuse what would fail on every row."""
        for method in self.methods:
            if method != CLOSED_FORM:
                find(method, "game")
        _, _, rows = _table()
        if not 1 <= self.background <= len(rows):
            raise InvalidInput(
                f"background is {self.background}; the table has {len(rows)} training rows", argument="background", code="range"
            )

    def settings(self) -> Mapping[str, object]:
        from accredit.core.version import __version__

        return {**vars(self), "table": "builtin", "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_torch_thread()

    def examples(self, count: int) -> list[Example]:
        """The first rows that the model was not fitted on."""
        rows = _table()[1]
        if not 1 <= count <= len(rows):
            raise InvalidInput(
                f"{count} rows were asked for; the built-in table has 1 to {len(rows)}", argument="count", code="range"
            )
        return [Example(row, f"row {row}") for row in range(count)]

    def game(self, example: Example) -> Game:
        from accredit.rows import tabular_game

        model, rows, training = _table()
        return tabular_game(model, rows[example.row : example.row + 1], training[: self.background])

    def explain(self, method: str, example: Example) -> MethodRun:
        if method == CLOSED_FORM:
            from accredit.explanation.explainer import explain_rows

            model, rows, training = _table()
            row = rows[example.row : example.row + 1]
            return MethodRun(explain_rows(row, model, training[: self.background]).row(0), 0)
        asked = counted(cached(self.game(example)))
        return MethodRun(find(method, "game").solver(self.budget, self.seed).solve(asked), asked.payoffs)

    def metric(self, name: str, example: Example) -> Metric:
        return METRICS[name]


def _table() -> tuple[HistGradientBoostingRegressor, pandas.DataFrame, pandas.DataFrame]:
    from accredit.models.builtin.table import builtin_table

    return builtin_table()


COMPARED_ROWS = ("shapley", "banzhaf", "leave-one-out")  # where no methods are named
TRAINED = ("fast-shapley", "selector")  # methods that are read from a folder


@dataclass(frozen=True)
class RowFileContest:
    """Settings of a contest on rows: files of a model, of rows to explain and of background rows. What is explained is the
    output that the model gives most, unless an example names another.

    >>> RowFileContest(("shapley", "banzhaf"), "model.json", "rows.csv", "train.csv").metrics[:2]
    ('comprehensiveness', 'sufficiency')
    """

    methods: tuple[str, ...]
    model: str
    data: str
    background: str
    metrics: tuple[str, ...] = DEFAULT_METRICS
    payoff: str | None = None  # None: as `accredit explain` does for rows of this model
    budget: int | None = None
    seed: int = 0
    trusted: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse what would fail on every row: unknown methods, files that cannot be read, explainers of another model."""
        for name in self.methods:
            if name.partition(":")[0] not in TRAINED:
                find(name, "game")
        self._family()

    def examples(self, limit: int | None = None) -> list[Example]:
        """Every row of the file, written out."""
        frame = self._frame().iloc[:limit]
        return [
            Example(at, ", ".join(f"{name}={value}" for name, value in zip(frame.columns, row, strict=True)))
            for at, row in enumerate(frame.itertuples(index=False))
        ]

    def settings(self) -> Mapping[str, object]:
        from accredit.core.version import __version__

        files = {
            name: fingerprint(file=read_bytes(getattr(self, name))).parts["file"] for name in ("model", "data", "background")
        }
        return {**vars(self), **files, "accredit": __version__}

    def steady(self) -> AbstractContextManager[None]:
        return one_torch_thread()

    def game(self, example: Example) -> Game:
        return output(self._family().game(example.row), self._output(example))

    def explain(self, method: str, example: Example) -> MethodRun:
        name, _, folder = method.partition(":")
        if name == "fast-shapley":
            return MethodRun(self._fast(folder, example), 2)
        if name == "selector":
            return MethodRun(self._select(folder, example), 0)
        game = counted(self.game(example))
        return MethodRun(find(method, "game").solver(self.budget, self.seed).solve(game), game.payoffs)

    def metric(self, name: str, example: Example) -> Metric:
        asked = self._family().asked
        decides = asked.unit == "probability" and len(asked.outputs) == 2
        if name == "log-odds" and asked.unit != "probability":
            return self._unfit(name, f"log-odds needs payoffs that are probabilities, and the payoff is {asked.unit}")
        if name == "post-hoc accuracy":
            why = "post-hoc accuracy needs the probability of one of two classes"
            return PostHocAccuracy(threshold=0.5) if decides else self._unfit(name, why)
        return METRICS[name]

    def _unfit(self, name: str, because: str) -> Metric:
        return Unfit(name, METRICS[name].better, METRICS[name].paper, because)

    def _frame(self) -> pandas.DataFrame:
        from accredit.store.frames import read_frame, warn_reading

        return warn_reading(read_frame(self.data))

    def _family(self) -> RowFamily:
        return _family(self.model, self.data, self.background, self.payoff, self.trusted, self.seed)

    def _output(self, example: Example) -> str:
        asked = self._family().asked
        return example.target or str(asked.outputs[asked.prediction[example.row].argmax()])

    def _fast(self, folder: str, example: Example) -> Attribution:
        from accredit.learned.fast_results import explain_rows_fast

        request = _request(self.background, self._family().asked.unit, self.trusted, self.seed, self.budget)
        found = explain_rows_fast(folder, self._frame().iloc[[example.row]], self.model, request=request)
        return found.row(0, self._output(example))

    def _select(self, folder: str, example: Example) -> Attribution:
        from accredit.learned.tasks import open_selector, row_task, scores_of

        row = self._frame().iloc[[example.row]]
        selector, task = open_selector(folder, lambda like: row_task(row, self.model, self.trusted, like))
        return scores_of(task.names[0], selector.scores(task.x)[0], selector.rule())


@lru_cache(maxsize=2)
def _family(model: str, data: str, background: str, payoff: str | None, trusted: tuple[str, ...], seed: int) -> RowFamily:
    """The games of all rows, made once in every process."""
    from accredit.learned.input_sets import RowFamily
    from accredit.store.frames import read_frame

    return RowFamily.of(read_frame(data), model, _request(background, payoff, trusted, seed))


def _request(
    background: str, payoff: Payoff | None, trusted: tuple[str, ...], seed: int, budget: int | None = None
) -> RowRequest:
    from accredit.explanation.requests import RowRequest
    from accredit.store.frames import read_frame

    return RowRequest(background=read_frame(background), payoff=payoff, trusted=trusted, seed=seed, budget=budget)


# Rows of the arena on disk, keyed by everything the numbers depend on: a killed contest goes on where it left off.

CONTEST_FORMAT = 1


class FinishedRows:
    """The rows of one contest in one file, which several contests may share.

    >>> from accredit.arena import RowContest, run_row
    >>> contest = RowContest(methods=("leave-one-out",), background=4)
    >>> first, second = contest.examples(2)
    >>> with FinishedRows(":memory:", contest) as kept:
    ...     kept.keep(first, run_row(contest, first))
    ...     list(kept.find([first, second]))
    [0]
    """

    def __init__(self, path: str | Path, contest: Contest) -> None:
        settings = json.dumps([CONTEST_FORMAT, contest.settings()], sort_keys=True, ensure_ascii=True)
        self._contest = sha256(settings.encode()).hexdigest()
        self._rows = Finished(path)

    def __enter__(self) -> FinishedRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, trace)

    def keep(self, example: Example, result: RowResult) -> None:
        """Write one row; it survives the process from here on."""
        self._rows.keep(self._key(example), result.to_plain())

    def find(self, examples: Sequence[Example]) -> dict[int, RowResult]:
        """Results that are already there, by row number."""
        known = {example.row: self._rows.found(self._key(example)) for example in examples}
        return {row: RowResult.from_plain(plain) for row, plain in known.items() if plain is not None}

    def _key(self, example: Example) -> dict[str, object]:
        """The contest, one input, and its place, which seeds its random baseline."""
        return {"contest": self._contest, "row": example.row, "text": example.text, "target": example.target}


def hold(contest: Contest, examples: Sequence[Example], store: str | None = None, executor: str = "serial") -> Standings:
    """The table of a contest. With a `store`, rows found there are not run again.

    >>> from accredit.arena import RowContest
    >>> contest = RowContest(methods=("shapley", "leave-one-out"), metrics=("deletion",), background=4)
    >>> table = hold(contest, contest.examples(3))
    >>> table.rows, table.standings[0].method
    (3, 'oracle')
    """
    return standings(read_finished(contest, examples, store, executor))


def read_finished(contest: Contest, examples: Sequence[Example], store: str | None, executor: str) -> list[RowResult]:
    """Every row's result, in order."""
    by_row = {example.row: example for example in examples}
    with FinishedRows(store or ":memory:", contest) as kept:
        known = kept.find(examples)
        missing = [example for example in examples if example.row not in known]
        with progress("arena", len(missing)) as bar, workers(executor if missing else "serial") as submit:
            run_all(contest, missing, lambda result: kept.keep(by_row[result.row], result), submit, bar.update)
        done = kept.find(examples)
    return [done[example.row] for example in examples]
