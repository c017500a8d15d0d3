r"""How much of a model's loss each column removes, over many rows: SAGE as a game (Covert, Lundberg & Lee, 2020).

$$v(S) = -\frac{1}{R}\sum_r \ell\Bigl(y_r,\; \frac{1}{m}\sum_b f(x_{r,S},\, b_{N \setminus S})\Bigr)$$

A column's value is what the model loses in quality without it. v(N) − v(∅) is the whole of what the columns buy over a
model that sees none of them. It is an ordinary game, so values, groups, interactions and intervals are those of any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from accredit.checks import check_seed, real_numbers
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import unique
from accredit.core.rounding import power_of_two
from accredit.errors import InvalidInput
from accredit.models.cells import take_cells
from accredit.models.partition import Partition
from accredit.models.rows import RowModel, as_row_model
from accredit.rows.frames import align, join, rows_of
from accredit.rows.game import ROWS_PER_CALL, columns_as_players

if TYPE_CHECKING:
    from accredit.models.row_types import Table

SAGE_ROWS, SAGE_BACKGROUND = 512, 64  # drawn at most, unless more is asked for
LEAST_PROBABILITY = 1e-12  # probability that a loss may see


@final
class SageGame:
    """v(S) = minus the mean loss of the model that sees the columns of S only; see the module's text."""

    def __init__(
        self, model: RowModel, both: Table, rows: int, background: int, truth: FloatArray | IntArray, partition: Partition
    ) -> None:
        self.model, self.partition, self._both, self._truth = model, partition, both, truth
        self._rows, self._background = rows, background
        self.unit = "probability" if model.classifies else "value"
        self.loss = "cross-entropy, in nats" if model.classifies else "squared error"

    @property
    def players(self) -> tuple[str, ...]:
        return self.partition.players

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """Minus the mean loss of each coalition: (batch, n) -> (batch,). One model row per row and background row."""
        distinct, index = unique(coalitions)
        return np.array([-self._loss(kept) for kept in self.partition.kept(distinct)])[index]

    @cached_property
    def blur(self) -> float:
        """How far rounding may move a payoff: that of an output, times the steepest slope of the loss."""
        outputs = self.model.outputs(self._both, self.unit)
        moved = self.model.blur(self._both, self.unit)
        if self.model.classifies:
            return moved * power_of_two(1 / max(float(outputs.min()), LEAST_PROBABILITY))
        return 2 * moved * power_of_two(float(np.abs(outputs).max()) + float(np.abs(self._truth).max()))

    def _loss(self, kept: BoolArray) -> float:
        means = [self._mean_output(part, kept) for part in self._parts()]
        return float(_losses(np.concatenate(means), self._truth, self.model.classifies).mean())

    def _parts(self) -> list[IntArray]:
        each = max(1, ROWS_PER_CALL // self._background)
        rows = self._background + np.arange(self._rows)
        return [rows[k : k + each] for k in range(0, len(rows), each)]

    def _mean_output(self, rows: IntArray, kept: BoolArray) -> FloatArray:
        outputs = self.model.outputs(cross(self._both, rows, self._background, kept), self.unit)
        return np.asarray(outputs.reshape(len(rows), self._background, -1).mean(axis=1))

    def __repr__(self) -> str:
        return f"SageGame({len(self.players)} players, {self.loss}, {self._rows} rows × {self._background} background rows)"


def cross(both: Table, rows: IntArray, background: int, kept: BoolArray) -> Table:
    """Every row with every background row: kept columns from the row, the others from the background: (R · m, d)."""
    if isinstance(both, np.ndarray):
        return np.where(kept, both[rows][:, None], both[None, :background]).reshape(-1, both.shape[1])
    mine, theirs = np.repeat(rows, background), np.tile(np.arange(background), len(rows))
    return take_cells(both, np.where(kept, mine[:, None], theirs[:, None]))


def sage_game(
    model: object,
    rows: object,
    truth: Sequence[object] | npt.NDArray[np.generic],
    background: object = None,
    *,
    players: Mapping[str, Iterable[str | int]] | None = None,
    most_rows: int = SAGE_ROWS,
    most_background: int = SAGE_BACKGROUND,
    seed: int = 0,
) -> tuple[SageGame, tuple[str, ...]]:
    """The game of a model's quality on some rows with known answers, and what was drawn to make it affordable.

    `truth` holds a class per row for a classifier, a number for a regression. Without a `background` the rows are their own.
    At most `most_rows` rows and `most_background` background rows are used, drawn by `seed`; the notes say so.

    >>> rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> game, notes = sage_game(lambda x: x @ [2.0, 0.0], rows, rows @ [2.0, 0.0])
    >>> game.payoff(np.array([[False, False], [True, False], [False, True]])), notes
    (array([-1., -0., -1.]), ())
    """
    asked = as_row_model(model)
    if asked.classifies and "probability" not in asked.units:
        raise InvalidInput(
            f"{asked.name} gives no probabilities, and the loss of a classifier needs them; give a model that does",
            argument="model",
            code="unsupported",
        )
    compared = rows_of(rows if background is None else background, what="rows" if background is None else "background")
    given = align(rows, compared)
    if len(truth) != len(given):
        raise InvalidInput(
            f"truth has {len(truth)} answers for {len(given)} rows; give one each", argument="truth", code="shape"
        )
    rng = np.random.default_rng(check_seed(seed))
    few, notes = _some(len(given), most_rows, "rows", rng)
    other, more = _some(len(compared), most_background, "background rows", rng)
    both, widened = join(
        type(given)(given.take(few), given.columns, ()), type(compared)(compared.take(other), compared.columns, ())
    )
    answers = _truth(asked, np.asarray(truth)[few])
    partition = columns_as_players(compared.columns, players)
    return SageGame(asked, both, len(few), len(other), answers, partition), (*notes, *more, *widened)


def _some(count: int, most: int, what: str, rng: np.random.Generator) -> tuple[IntArray, tuple[str, ...]]:
    if count <= most:
        return np.arange(count), ()
    return np.sort(rng.choice(count, most, replace=False)), (f"{most:,} of {count:,} {what} were drawn at random",)


def _truth(model: RowModel, answers: npt.NDArray[np.generic]) -> FloatArray | IntArray:
    if not model.classifies:
        return real_numbers(answers, "truth")
    labels = model.labels(0)
    place = {label: k for k, label in enumerate(labels)}
    unknown = [str(a) for a in answers if str(a) not in place]
    if unknown:
        raise InvalidInput(
            f"truth holds {unknown[0]!r}, which is not a class of {model.name}: {', '.join(labels[:8])}",
            argument="truth",
            code="unknown",
        )
    return np.array([place[str(a)] for a in answers])


def _losses(outputs: FloatArray, truth: FloatArray | IntArray, classes: bool) -> FloatArray:
    if classes:
        return np.asarray(-np.log(np.maximum(outputs[np.arange(len(outputs)), truth], LEAST_PROBABILITY)))
    if outputs.shape[1] != 1:
        raise InvalidInput(
            f"the model gives {outputs.shape[1]} numbers per row; the loss needs one, so give a function of one output",
            argument="model",
            code="unsupported",
        )
    return np.asarray((outputs[:, 0] - truth) ** 2)
