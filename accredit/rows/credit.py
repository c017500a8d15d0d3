"""The credit of rows: in closed form where the model's form allows it, else from one game per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Attributions, Claim, FloatArray, Game, Known, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.games import cached
from accredit.methods import Chosen
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff
from accredit.models.rows import RowModel, reads_rows
from accredit.rows.backgrounds import Compared
from accredit.rows.frames import Rows, stack
from accredit.rows.game import row_game
from accredit.rows.ground import Ground, NoClosedForm
from accredit.rows.pairs import RowPairs, join_known, join_pairs, least_known, pair_index, pairs_of_game, pairs_of_row
from accredit.trees.closed_form import Reading

if TYPE_CHECKING:
    from accredit.models.row_types import Table

IN_CLOSED_FORM = Precision.exact("in closed form, checked against the model's own output")
DRAWS = "absent columns were drawn from a normal distribution, and the error of the draws is not measured"
SINGLE_PRECISION = 1e-5  # how far apart two outputs of a model that computes in single precision may be
# What a closed form shares -> our word for it
UNIT = {"margin": "logit", "probability": "probability", "value": "value", "log of the value": "log"}


@dataclass(frozen=True, eq=False)
class RowQuestion:
    """Everything a way of solving needs."""

    ground: Ground  # the model, and what the rows are compared with
    unit: str  # the name of what is shared
    payoff: Payoff  # the same, or the function that computes it
    outputs: tuple[str, ...]
    rows: Rows
    table: Table  # the rows, as the model reads them
    method: Chosen
    dependence: str
    budget: int | None
    seed: int
    prediction: FloatArray  # (rows, outputs): what the model says about the rows
    said: tuple[str, ...]  # what had to be widened or chosen to ask it
    reading: Reading | None = None  # the closed form's own reading of the rows, where it gave the prediction

    @property
    def model(self) -> RowModel:
        return self.ground.model

    @property
    def compared(self) -> Compared:
        return self.ground.compared

    @property
    def background(self) -> Table | None:
        """The background rows, as the model reads them; None without."""
        return self.ground.background

    @property
    def partition(self) -> Partition:
        return self.ground.sharing.partition

    @property
    def interactions(self) -> bool:
        return self.ground.sharing.interactions

    @property
    def start(self) -> int:
        """Background rows, which come before the explained ones."""
        return 0 if self.background is None else len(self.background)

    @cached_property
    def both(self) -> Table:
        """Background and rows in one table; the rows alone without a background."""
        return self.table if self.background is None else stack(self.background, self.table)


@dataclass(frozen=True, eq=False)
class RowAnswer:
    """Credit of some rows, and how well it is known."""

    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,)
    method: Procedure
    precision: Precision
    claims: tuple[Claim, ...]
    interval: FloatArray | None = None
    pairs: RowPairs | None = None
    left: str = ""  # why a closed form was tried and left; empty: none was tried, or there is one
    instead: str = ""  # what to write to have one
    payoffs: int | None = None  # coalitions asked of the first row's game; None: there is none


def answer_rows(asked: RowQuestion) -> RowAnswer:
    """The credit of all rows."""
    return join(list(answers(asked)))


def answers(asked: RowQuestion) -> Iterator[RowAnswer]:
    """The credit of all rows at once, in closed form, or else of each row as its game is solved, in their order."""
    found = _close(asked)
    if isinstance(found, RowAnswer):
        yield found
    else:
        yield from (replace(answer, left=found.note, instead=found.instead) for answer in _games(asked))


def are_trees(model: RowModel) -> bool:
    """Can these be read as trees?"""
    from accredit.trees import NotTrees, ensemble_of

    try:
        ensemble_of(model.model)
    except NotTrees:
        return False
    return True


def _close(asked: RowQuestion) -> RowAnswer | NoClosedForm:
    """Exact credit of trees, linear models and pipelines of either, in the unit that they add up in; else why there is no
    closed form. Cover ratios have no other way, so there it is an error."""
    try:
        return _in_closed_form(asked)
    except NoClosedForm as why:
        if asked.dependence == "cover":
            cures = ", or ".join(filter(None, [why.instead, "give background=… instead"]))
            raise InvalidInput(
                f"dependence='cover' cannot be had here: {why}; {cures}", argument="dependence", code="unsupported"
            ) from None
        return why


def _in_closed_form(asked: RowQuestion) -> RowAnswer:
    rule = asked.ground.sharing.value
    if rule is None:
        raise NoClosedForm(f"{asked.method.name} has no closed form", tried=False)
    if asked.dependence not in ("interventional", "cover"):
        raise NoClosedForm(f"dependence {asked.dependence!r} has no closed form", tried=False)
    form = asked.ground.form()
    unit = UNIT.get(form.payoff)
    known = unit == asked.unit
    if not known and (unit, asked.unit) != ("logit", "value"):
        raise _other_unit(asked, form.payoff)
    got = asked.ground.share(asked.table, _raw(asked, len(form.outputs)) if known else None, asked.reading)
    if not known and not _predicts(asked, got.margin):
        raise _other_unit(asked, got.payoff)  # a regression with a link
    credit, base = (two_classes(found, len(asked.outputs)) for found in (got.credit, got.base))
    pairs = None
    if got.pairs is not None:
        pairs = RowPairs(pair_index(rule), two_classes(got.pairs, len(asked.outputs)), IN_CLOSED_FORM)
    return RowAnswer(
        credit,
        base,
        Procedure(asked.method.name, "closed form", closed_form=True),
        IN_CLOSED_FORM,
        asked.ground.claims,
        pairs=pairs,
    )


def _predicts(asked: RowQuestion, margin: FloatArray) -> bool:
    """Is the raw score of a regression, as its trees add it up, what it predicts? Where sums of many leaves in single
    precision leave a doubt, the model's own raw score tells."""
    if np.allclose(margin, asked.prediction, rtol=SINGLE_PRECISION, atol=SINGLE_PRECISION):
        return True
    return "logit" in asked.model.units and bool((asked.model.outputs(asked.table, "logit") == asked.prediction).all())


def _other_unit(asked: RowQuestion, payoff: str) -> NoClosedForm:
    unit = UNIT.get(payoff)
    instead = f"write payoff={unit!r}" if unit in asked.model.units else ""
    why = f"the closed form of {asked.model.name} shares its {unit or payoff}, not its {asked.unit}"
    return NoClosedForm(why, instead=instead, of_unit=True)


def _raw(asked: RowQuestion, outputs: int) -> FloatArray:
    """The prediction as the model's raw output: of two classes that share one score, that of the second."""
    return asked.prediction[:, 1:] if outputs == 1 and asked.prediction.shape[1] == 2 else asked.prediction


def read_prediction(ground: Ground, unit: str, table: Table) -> tuple[FloatArray, Reading] | None:
    """What a closed form that stands for the model says about rows, in this unit: (rows, outputs); None: ask the model."""
    reading = ground.reading(table)
    if reading is None or UNIT.get(ground.form().payoff) != unit:
        return None
    return two_classes(reading[1], len(ground.model.known_labels or ())), reading


def two_classes(found: FloatArray, outputs: int) -> FloatArray:
    """One score for two classes, on the last axis, speaks for the second; for the first it is its opposite."""
    return np.concatenate([-found, found], axis=-1) if found.shape[-1] == 1 and outputs == 2 else found


def way_left(asked: RowQuestion, answer: RowAnswer) -> tuple[str, ...]:
    """What to say where a closed form was tried and left: why, and what was done instead at which cost."""
    if not answer.left or not reads_rows(asked.model.model):
        return ()
    cost = "" if answer.payoffs is None else f", {answer.payoffs:,} coalitions × {asked.start:,} background rows for each"
    cure = f" For the closed form, {answer.instead}." if answer.instead else ""
    return (f"{answer.left}: one game per row was solved{cost}.{cure}",)


def _games(asked: RowQuestion) -> Iterator[RowAnswer]:
    """One game per row; every output from the same evaluations."""
    if asked.compared.rows is None:
        raise InvalidInput("background is missing; write background=some_training_rows", argument="background", code="missing")
    solver = asked.method.solver(asked.budget, asked.seed)
    for r in range(len(asked.rows)):
        game: Game = row_game(
            asked.model,
            asked.unit,
            asked.outputs,
            asked.both,
            asked.start + r,
            asked.compared.weights,
            asked.partition,
            dependence=asked.dependence,
            seed=asked.seed,
        )
        pairs = None
        if asked.interactions:
            game = cached(game)
            pairs = pairs_of_row(pairs_of_game(game, asked.method.name, asked.budget, asked.seed), asked.outputs)
        answer = replace(_of_row(solver.solve(game), asked.outputs), pairs=pairs)
        yield _draw(answer) if asked.dependence == "gaussian" else answer


def _draw(answer: RowAnswer) -> RowAnswer:
    """An answer whose payoffs rest on draws: nothing in it is exact, however many coalitions were asked."""
    pairs = answer.pairs and replace(answer.pairs, precision=_after_draws(answer.pairs.precision))
    return replace(answer, precision=_after_draws(answer.precision), pairs=pairs)


def _after_draws(precision: Precision) -> Precision:
    if precision.known is Known.EXACT:
        return Precision.unknown(f"all coalitions were asked, but {DRAWS}")
    return replace(precision, because=f"{precision.because}; {DRAWS}")


def _of_row(found: Attributions, outputs: tuple[str, ...]) -> RowAnswer:
    """The answer about one row; intervals only where every output has them."""
    every = [found[name] for name in outputs]
    return RowAnswer(
        found.credit[None],
        np.array([one.baseline or 0.0 for one in every]),
        every[0].method,
        least_known(one.precision for one in every),
        every[0].claims,
        None if (ends := join_known([one.interval for one in every], np.stack, 1)) is None else ends[None],
        payoffs=every[0].payoffs,
    )


def join(found: Sequence[RowAnswer]) -> RowAnswer:
    """Answers about rows below one another as one; intervals only where every one has them."""
    first = found[0]
    pairs = None if first.pairs is None else join_pairs([one.pairs for one in found if one.pairs is not None])
    return RowAnswer(
        np.concatenate([one.credit for one in found]),
        first.base,
        first.method,
        least_known(one.precision for one in found),
        first.claims,
        join_known([one.interval for one in found]),
        pairs,
        first.left,
        first.instead,
        first.payoffs,
    )
