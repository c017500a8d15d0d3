"""Rows of a file in the arena, on a model in a file: values of games beside fast Shapley values and trained selectors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from accredit.arena.contest import DEFAULT_METRICS, METRICS, Example, MethodRun
from accredit.checks.files import read_bytes
from accredit.core import Attribution, Game
from accredit.core.games import output
from accredit.core.threads import one_torch_thread
from accredit.evaluate.erasure import PostHocAccuracy
from accredit.evaluate.metric import Metric, Unfit
from accredit.games import counted
from accredit.methods import find
from accredit.store.fingerprint import fingerprint

if TYPE_CHECKING:
    import pandas

    from accredit.explanation.requests import RowRequest
    from accredit.learned.input_sets import RowFamily
    from accredit.models.payoffs import Payoff

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
