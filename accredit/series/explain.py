r"""Series explained: the cells of a series are dealt out to players, and absent ones take values of background series.

$$v_k(S) = \frac{1}{m} \sum_b f_k\bigl(x_{\text{cells of } S},\, b_{\text{other cells}}\bigr)$$

All outputs (classes, steps of a forecast) are paid by the same evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import optional_whole
from accredit.core import FloatArray, distinct_names
from accredit.core.notes import check_notes
from accredit.core.version import __version__
from accredit.errors import InvalidInput
from accredit.methods import ChosenMethod
from accredit.models.payoffs import Payoff
from accredit.models.rows import RowModel, as_row_model
from accredit.rows.credit import RowAnswer, answer_of, join
from accredit.rows.explain import shown_first
from accredit.rows.game import completing, row_game
from accredit.rows.result import TableExplanation, beside
from accredit.series.players import SeriesPlayers, deal
from accredit.series.reading import Series, read_background, read_series
from accredit.series.result import SeriesExplanation

if TYPE_CHECKING:
    from accredit.models.row_types import Table

NUMBERS_PER_CALL = 1 << 22  # that the model reads at once
MEANS = "The value shown beside a player is the mean of its cells."


@dataclass(frozen=True, eq=False)
class SeriesQuestion:
    """Everything that is asked about some series, checked."""

    model: RowModel  # of series whose cells stand in a row
    unit: str
    outputs: tuple[str, ...]
    series: Series
    dealt: SeriesPlayers
    background: FloatArray  # (m, cells)
    removal: str
    prediction: FloatArray  # (series, outputs)
    base: FloatArray  # (outputs,)
    notes: tuple[str, ...]
    budget: int | None
    seed: int

    def answer(self, method: ChosenMethod, watch: Callable[[int], None] = lambda done: None) -> RowAnswer:
        """The credit of all series by one method."""
        solver, found = method.solver(self.budget, self.seed), []
        size, cells = self.background.shape
        weights = np.full(size, 1 / size)
        for r, values in enumerate(self.series.values):
            both = np.concatenate([self.background, values.reshape(1, cells)])
            players = self.dealt.partition(r)
            absent = completing(both, weights, players)
            game = row_game(self.model, self.unit, self.outputs, both, size, absent, players, memory=8 * NUMBERS_PER_CALL)
            found.append(answer_of(solver.solve(game), self.outputs, game))
            watch(r + 1)
        return join(found)

    def explanation(self, method: ChosenMethod, answer: RowAnswer, target: str | int | None) -> TableExplanation:
        """The answer with everything that is needed to read it."""
        shown, chosen = shown_first(self.model, self.outputs, self.unit, self.prediction, target)
        return TableExplanation(
            self.dealt.players,
            self.outputs,
            answer.credit,
            self.base,
            self.prediction,
            self._means(),
            answer.method,
            shown,
            self.series.names,
            self.unit,
            self.model.name,
            self.removal,
            answer.precision,
            answer.interval,
            answer.claims,
            check_notes((*self.notes, *chosen, MEANS)),
            {
                "steps": self.series.shape[0],
                "channels": self.series.shape[1],
                "background series": len(self.background),
                "budget": self.budget,
                "seed": self.seed,
                "accredit": __version__,
            },
            method_name=method.name,
        )

    def _means(self) -> tuple[tuple[float, ...], ...]:
        """The mean of every player's cells in every series."""
        means = []
        for r, values in enumerate(self.series.values):
            partition = self.dealt.partition(r)
            means.append(partition.shares(values.ravel()) / np.bincount(partition.owner, minlength=len(partition.players)))
        return tuple(map(tuple, np.array(means).T.tolist()))


def question(
    given: object,
    model: object,
    background: object,
    *,
    players: object = None,
    payoff: Payoff | None = None,
    budget: int | None = None,
    seed: int = 0,
    most_background: int | None = None,
    channels_first: bool = False,
    steps: Iterable[object] | None = None,
    channels: Iterable[object] | None = None,
    outputs: Sequence[str] | None = None,
) -> SeriesQuestion:
    """What is asked about series, checked."""
    if background is None:
        raise InvalidInput(
            "background is missing: what stands in for absent cells? Write background=training_series, one series such as "
            "train.mean(axis=0), or 'zeros'",
            argument="background",
            code="missing",
        )
    series = read_series(_one_of(given, background), channels_first=channels_first, steps=steps, channels=channels)
    compared, removal = read_background(background, series, channels_first)
    notes: tuple[str, ...] = ()
    if optional_whole(most_background, "most_background", example=100) is not None and len(compared) > (most_background or 0):
        some = np.sort(np.random.default_rng(seed).choice(len(compared), most_background, replace=False))
        notes = (f"{most_background} of {len(compared):,} background series were drawn at random, with seed {seed}.",)
        compared = compared[some]
        _, removal = read_background(compared, series)
    asked, named = as_row_model(model).paying(payoff)
    cells = _by_cell(asked, series.shape, channels_first)
    flat, own = compared.reshape(len(compared), -1), series.values.reshape(len(series), -1)
    try:
        unit, because = cells.unit_for(named, np.concatenate([flat, own]))
        said, prediction = cells.outputs(flat, unit), cells.outputs(own, unit)
    except InvalidInput as error:
        raise _swapped(error, asked, series, channels_first) from error
    return SeriesQuestion(
        cells,
        unit,
        _outputs(cells, prediction.shape[1], outputs),
        series,
        deal(series, players),
        flat,
        removal,
        prediction,
        said.mean(axis=0),
        (*notes, *filter(None, [because])),
        budget,
        seed,
    )


def _one_of(given: object, background: object) -> object:
    """A single series beside a background of series of its shape, as a batch of one."""
    shape, theirs = getattr(given, "shape", ()), getattr(background, "shape", ())
    one = len(shape) == 2 and len(theirs) == 3 and shape == theirs[1:] and not hasattr(given, "iloc")
    return given[None] if one else given  # type: ignore[index]


def _swapped(error: InvalidInput, model: RowModel, series: Series, channels_first: bool) -> InvalidInput:
    """What a model could not read, and whether it reads the same with its axes the other way round."""
    if error.code != "failed" or channels_first:
        return error
    try:
        model.outputs(np.ascontiguousarray(series.values[:1].swapaxes(1, 2)), model.unit(None))
    except InvalidInput:
        return error
    return InvalidInput(
        f"{error}. It takes (series, channels, steps): give series and background of that shape, and channels_first=True",
        argument="series",
        code="failed",
    )


def _outputs(model: RowModel, count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return model.labels(count)
    if len(names) != count:
        raise InvalidInput(
            f"outputs has {len(names)} names, and the model has {count} outputs", argument="outputs", code="shape"
        )
    return distinct_names(map(str, names))


def _by_cell(model: RowModel, shape: tuple[int, int], channels_first: bool) -> RowModel:
    """The model as one of rows of cells, which are put back into the shape that it reads; as many at once as fit."""
    cells = shape[0] * shape[1]
    at_once = max(1, NUMBERS_PER_CALL // cells)

    def reading(unit: str) -> Callable[[Table], FloatArray]:
        def outputs(rows: Table) -> FloatArray:
            whole = np.asarray(rows).reshape(len(rows), *shape)
            whole = np.ascontiguousarray(whole.swapaxes(1, 2)) if channels_first else whole
            parts = [model.outputs(whole[start : start + at_once], unit) for start in range(0, len(whole), at_once)]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        return outputs

    return RowModel({unit: reading(unit) for unit in model.units}, model.known_labels, model.name, model.model)


def explain_by(
    asked: SeriesQuestion, methods: Sequence[ChosenMethod], target: str | int | None, watch: Callable[[int], None]
) -> SeriesExplanation:
    """The series by every method."""
    count = len(asked.series)
    found = [
        asked.explanation(method, asked.answer(method, lambda done, k=k: watch(k * count + done)), target)  # type: ignore[misc]
        for k, method in enumerate(methods)
    ]
    owner = np.broadcast_to(asked.dealt.owner, asked.series.values.shape)
    table = found[0] if len(found) == 1 else beside(found)
    return SeriesExplanation(table, asked.series.values, owner, asked.series.steps, asked.series.channels)
