"""The credit of rows: in closed form where the model's form allows it, else from one game per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from accredit import defaults
from accredit.core import Attributions, Claim, FloatArray, Game, Games, Holds, Known, Precision, Procedure, every_payoff
from accredit.errors import InvalidInput
from accredit.games import cached
from accredit.games.parts import PartsGames
from accredit.methods import ChosenMethod
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff
from accredit.models.rows import RowModel, reads_rows, softmax
from accredit.rows.backgrounds import Compared
from accredit.rows.conditional_error import CONDITIONAL, measure_conditional, model_rows
from accredit.rows.frames import Rows, part, stack
from accredit.rows.game import Completing, completing, row_game
from accredit.rows.ground import Ground, NoClosedForm
from accredit.rows.pairs import RowPairs, join_known, join_pairs, least_known, pair_index, pairs_of_game, pairs_of_row
from accredit.rows.pooled import spend
from accredit.trees.closed_form import NO_FORM, ClosedForm, Linked, Reading
from accredit.trees.linked import TABLE_PLAYERS, TooManyCubes, Worth, orders_for
from accredit.trees.tables import spans
from accredit.values.exact import semivalue_claims
from accredit.values.precedence import Precedence, Stages
from accredit.values.semivalue_rules import semivalue_of

if TYPE_CHECKING:
    from accredit.models.row_types import Table

IN_CLOSED_FORM = Precision.exact("in closed form, checked against the model's own output")
ALL_COALITIONS = Precision.exact("all coalitions of the columns in which a row and a background row differ, through the trees")
BY_ORDERS = (
    "Student t on {} draws, each a random order and its reverse for every background row; asymptotic, and blind to gains "
    "unlike any that came up"
)
OF_ORDERS = (
    Claim("efficiency", Holds.EXACTLY, "gains along one order telescope to v(N) − v(∅)"),
    Claim("symmetry", Holds.IN_EXPECTATION, "unbiased; equal players meet different random orders"),
    Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
    Claim("linearity", Holds.IN_EXPECTATION, "unbiased; with the same seed, the same orders are drawn for every payoff"),
)
BY_DIFFERENCES = (
    "Student t on differences between the model and surrogates that were not trained on them; asymptotic, and blind to "
    "differences unlike any that came up"
)
_POOL_LIMIT = "the surrogate's credit is corrected by sampled differences between model and surrogate"
OF_POOL = (
    Claim("efficiency", Holds.EXACTLY, "what a row's prediction leaves is divided, too"),
    Claim("symmetry", Holds.IN_THE_LIMIT, _POOL_LIMIT),
    Claim("null player", Holds.IN_THE_LIMIT, _POOL_LIMIT),
    Claim("linearity", Holds.IN_THE_LIMIT, _POOL_LIMIT),
)
OPPOSITE = ("logit", "log-odds", "probability", "margin")  # in which two classes earn opposite credits
ROWS_THROUGH_TREES = 64  # rows after which it is said how far a run is
BACKGROUND_ROWS_COMPARED = 1000  # on which the payoff as a function of the trees is compared with the model's own
ONE_BUDGET = "one budget of model rows was shared by all rows"
ONE_GAME, THROUGH_TREES = "one game per row was solved", "it was computed through the trees, as a function of what they add up"
DRAWS = "absent columns were drawn from {}, and the error of the draws is not measured"
UNMEASURED = {  # what no interval shows, by dependence
    "gaussian": DRAWS.format("a normal distribution"),
    "causal": DRAWS.format("a normal distribution"),
    "copula": DRAWS.format("a Gaussian copula"),
    "empirical": "absent columns were taken from background rows that resemble the row, and how far these are from the true "
    "conditional distribution is not measured",
}
SINGLE_PRECISION = 1e-5  # how far apart two outputs of a model that computes in single precision may be
UNIT = {"margin": "logit", "log of the value": "log"}  # what a closed form shares -> our word for it, where it is another


@dataclass(frozen=True, eq=False)
class RowQuestion:
    """Everything a way of solving needs."""

    ground: Ground  # the model, and what the rows are compared with
    unit: str  # the name of what is shared
    payoff: Payoff  # the same, or the function that computes it
    outputs: tuple[str, ...]
    rows: Rows
    table: Table  # the rows, as the model reads them
    method: ChosenMethod
    dependence: str
    budget: int | None
    seed: int
    prediction: FloatArray  # (rows, outputs): what the model says about the rows
    said: tuple[str, ...]  # what had to be widened or chosen to ask it
    reading: Reading | None = None  # the closed form's own reading of the rows, where it gave the prediction
    confounding: bool | tuple[bool, ...] = False  # of stages, with dependence "causal"
    model_rows: int | None = None  # that all rows share; None: every row's game has a budget of its own

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
    def order(self) -> Precedence | None:
        return self.ground.sharing.order

    @property
    def start(self) -> int:
        """Background rows, which come before the explained ones."""
        return 0 if self.background is None else len(self.background)

    @cached_property
    def both(self) -> Table:
        """Background and rows in one table; the rows alone without a background."""
        return self.table if self.background is None else stack(self.background, self.table)

    @cached_property
    def _absent(self) -> Completing:
        return completing(
            self.both,
            self.compared.weights,
            self.partition,
            dependence=self.dependence,
            seed=self.seed,
            order=self.order,
            confounding=self.confounding,
        )

    @property
    def spend(self) -> int | None:
        """Payoffs of a row's game; None: as many as its rule usually asks."""
        sampled = self.method.name == "shapley" and not defaults.affordable(len(self.partition.players), self.budget)
        return defaults.BUDGET_OF_ROWS if sampled and self.budget is None and not self.interactions else self.budget

    def game(self, row: int) -> PartsGames:
        """The games of one of the rows, one per output."""
        at = self.start + row
        return row_game(self.model, self.unit, self.outputs, self.both, at, self._absent, self.partition)


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
    done: str = ""  # what was done in its place
    instead: str = ""  # what to write to have one
    payoffs: int | None = None  # coalitions asked of the first row's game; None: there is none
    spent: str = ""  # how a budget that all rows share was spent
    conditional: str = ""  # how good the distribution is that absent columns were taken from


def answer_rows(asked: RowQuestion) -> RowAnswer:
    """The credit of all rows."""
    return join(list(answers(asked)))


def answers(asked: RowQuestion) -> Iterator[RowAnswer]:
    """The credit of all rows at once, in closed form, or else of each row as its game is solved, in their order."""
    found = _close(asked)
    if isinstance(found, RowAnswer):
        yield found
    elif (through := _through_trees(asked, found)) is not None:
        yield from (replace(answer, left=found.note, done=THROUGH_TREES, instead=found.instead) for answer in through)
    elif asked.model_rows is not None and not _asks_all(asked, asked.model_rows):
        yield replace(_pool(asked, asked.model_rows), left=found.note, done=ONE_BUDGET, instead=found.instead)
    else:
        yield from (replace(answer, left=found.note, done=ONE_GAME, instead=found.instead) for answer in _games(asked))


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
    if isinstance(rule, Stages) and asked.interactions:
        raise NoClosedForm("values that follow an order have no interactions", tried=False)
    if isinstance(rule, Stages) and asked.dependence == "cover":
        raise NoClosedForm("cover ratios have no closed form for players that come in order")
    if asked.dependence not in ("interventional", "cover"):
        raise NoClosedForm(f"dependence {asked.dependence!r} has no closed form", tried=False)
    form = asked.ground.form(asked.unit)
    unit = UNIT.get(form.payoff, form.payoff)
    known = unit == asked.unit
    if not known and (unit, asked.unit) != ("logit", "value"):
        raise _other_unit(asked, form.payoff)
    got = asked.ground.share(asked.table, asked.unit, _raw(asked, len(form.outputs)) if known else None, asked.reading)
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


def _through_trees(asked: RowQuestion, why: NoClosedForm) -> Iterator[RowAnswer] | None:
    """Credit in a function of what the model's trees add up, where that is not what is asked for; None: there is no such way.

    The function is compared with what the model says about background and rows.
    """
    if not why.of_unit or asked.background is None or asked.interactions or isinstance(asked.ground.sharing.value, Stages):
        return None
    try:
        form, worth = asked.ground.link(asked.unit, partial(_linked, asked))
        reading = form.compare(asked.table)
        form.prepare(asked.table, reading[0])
        return _answers_through_trees(asked, form, reading) if _same(worth(reading[1]), asked.prediction) else None
    except (NoClosedForm, *NO_FORM, TooManyCubes):
        return None


def _linked(asked: RowQuestion, form: ClosedForm) -> Linked:
    """The payoff as a function of sums of trees."""
    worth = worth_of(asked.model, asked.unit, form.payoff, UNIT.get(form.payoff, form.payoff))
    few = part(asked.background, 0, BACKGROUND_ROWS_COMPARED)
    if worth is None or not _same(worth(form.compare(few)[1]), asked.model.outputs(few, asked.unit)):
        raise NoClosedForm(f"{asked.unit} is not a known function of what the trees add up")
    opposite = len(asked.outputs) == 2 and asked.unit in OPPOSITE
    return Linked(worth, _orders(asked), asked.seed, opposite)


def _same(one: FloatArray, other: FloatArray) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=SINGLE_PRECISION, atol=SINGLE_PRECISION)


def _orders(asked: RowQuestion) -> int:
    return orders_for(asked.start, len(asked.partition.players), asked.budget)


def _answers_through_trees(asked: RowQuestion, form: ClosedForm, reading: Reading) -> Iterator[RowAnswer]:
    """Some rows at a time: exact where a row differs from all background rows in few columns, else estimated from orders."""
    n, orders = len(asked.partition.players), _orders(asked)
    for some in spans(len(asked.rows), ROWS_THROUGH_TREES):
        matrix, margin = reading
        got = form.share(part(asked.table, some.start, some.stop), reading=(matrix[some], margin[some]))
        if got.half_width is None and (len(asked.rows) == 1 or n <= TABLE_PLAYERS):  # every row is exact, not just these
            claims = semivalue_claims(semivalue_of(asked.ground.sharing.value, n).weights(n), "computed from all coalitions")
            yield RowAnswer(got.credit, got.base, Procedure(asked.method.name, "cubes of trees"), ALL_COALITIONS, claims)
            continue
        how = Procedure(asked.method.name, "orders through trees", {"orders": orders, "seed": asked.seed})
        width = 0.0 if got.half_width is None else got.half_width
        ends = np.stack([got.credit - width, got.credit + width], axis=-1)
        yield RowAnswer(got.credit, got.base, how, Precision.interval(BY_ORDERS.format(orders)), OF_ORDERS, ends)


def _predicts(asked: RowQuestion, margin: FloatArray) -> bool:
    """Is the raw score of a regression, as its trees add it up, what it predicts? Where sums of many leaves in single
    precision leave a doubt, the model's own raw score tells."""
    if np.allclose(margin, asked.prediction, rtol=SINGLE_PRECISION, atol=SINGLE_PRECISION):
        return True
    return "logit" in asked.model.units and bool((asked.model.outputs(asked.table, "logit") == asked.prediction).all())


def _other_unit(asked: RowQuestion, payoff: str) -> NoClosedForm:
    unit = UNIT.get(payoff, payoff)
    instead = f"write payoff={unit!r}" if unit in asked.model.units else ""
    why = f"the closed form of {asked.model.name} shares its {unit}, not its {asked.unit}"
    if (unit, asked.unit) == ("log", "value"):
        why += ", which is the exponential of a sum of trees and not a short sum of products"
    return NoClosedForm(why, instead=instead, of_unit=True)


def _raw(asked: RowQuestion, outputs: int) -> FloatArray:
    """The prediction as the model's raw output: of two classes that share one score, that of the second."""
    return asked.prediction[:, 1:] if outputs == 1 and asked.prediction.shape[1] == 2 else asked.prediction


def read_prediction(ground: Ground, unit: str, table: Table) -> tuple[FloatArray, Reading] | None:
    """What a closed form that stands for the model says about rows, in this unit: (rows, outputs); None: ask the model."""
    reading = ground.reading(table, unit)
    if reading is None:
        return None
    payoff = ground.form(unit).payoff
    if UNIT.get(payoff, payoff) != unit:
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
    return (f"{answer.left}: {answer.done}{cost}.{cure}",)


def _asks_all(asked: RowQuestion, model_rows: int) -> bool:
    """Is the budget enough for every coalition of every row?"""
    return len(asked.rows) * asked.start << len(asked.partition.players) <= model_rows


def _pool(asked: RowQuestion, model_rows: int) -> RowAnswer:
    """All rows by one budget and one surrogate."""
    _check_background(asked)
    background = asked.ground.background_outputs(asked.unit)
    found = spend(
        partial(asked.model.outputs, unit=asked.unit),
        asked.both,
        background,
        asked.prediction,
        asked.compared.weights,
        asked.partition,
        model_rows,
        asked.seed,
    )
    ends = np.stack([found.credit - found.half_width, found.credit + found.half_width], axis=-1)
    how = Procedure(asked.method.name, "shared budget", {"model_rows": model_rows, "seed": asked.seed})
    pairs, foreseen = 2 * found.pairs, max(0.0, found.explained)
    spent = (
        f"The model was asked about {int(pairs.sum()) + asked.start + len(asked.rows):,} rows for all {len(asked.rows):,} rows "
        f"together, {pairs.min():,} to {pairs.max():,} for each: more where the surrogate errs more. The surrogate foresees "
        f"{foreseen:.1%} of the variance of answers that it was not trained on."
    )
    base = asked.compared.weights @ background
    return RowAnswer(found.credit, base, how, Precision.interval(BY_DIFFERENCES), OF_POOL, ends, spent=spent)


def _check_background(asked: RowQuestion) -> None:
    if asked.compared.rows is None:
        raise InvalidInput("background is missing; write background=some_training_rows", argument="background", code="missing")


def _games(asked: RowQuestion) -> Iterator[RowAnswer]:
    """One game per row; every output from the same evaluations."""
    _check_background(asked)
    solver = asked.method.solver(asked.spend, asked.seed, order=asked.order if "order" in asked.method.method.takes else None)
    for r in range(len(asked.rows)):
        game: Game = asked.game(r)
        pairs = None
        if asked.interactions:
            game = cached(game)
            pairs = pairs_of_row(pairs_of_game(game, asked.method.name, asked.budget, asked.seed), asked.outputs)
        answer = replace(answer_of(solver.solve(game), asked.outputs, game), pairs=pairs)
        if r == 0:
            answer = replace(answer, conditional=_measure(asked, answer.payoffs))
        yield _doubt(answer, UNMEASURED[asked.dependence]) if asked.dependence in UNMEASURED else answer


def _measure(asked: RowQuestion, asked_payoffs: int | None) -> str:
    """How good a conditional distribution is, where finding out costs less than the answer."""
    if asked.dependence not in CONDITIONAL:
        return ""
    cost = (asked_payoffs or 1 << len(asked.partition.players)) * asked.start * len(asked.rows)
    if cost < model_rows(asked.start):
        return "How good the conditional distribution is was not measured: that would have cost more than the answer."
    return measure_conditional(
        asked.model,
        asked.unit,
        asked.outputs,
        asked.background,
        asked.ground.background_outputs(asked.unit),
        asked.compared.weights,
        asked.partition,
        asked.dependence,
        asked.seed,
    )


def _doubt(answer: RowAnswer, unmeasured: str) -> RowAnswer:
    """An answer whose payoffs are estimates themselves: nothing in it is exact, however many coalitions were asked."""
    pairs = answer.pairs and replace(answer.pairs, precision=_doubt_precision(answer.pairs.precision, unmeasured))
    return replace(answer, precision=_doubt_precision(answer.precision, unmeasured), pairs=pairs)


def _doubt_precision(precision: Precision, unmeasured: str) -> Precision:
    if precision.known is Known.EXACT:
        return Precision.unknown(f"all coalitions were asked, but {unmeasured}")
    return replace(precision, because=f"{precision.because}; {unmeasured}")


def answer_of(found: Attributions, outputs: tuple[str, ...], game: Game) -> RowAnswer:
    """The answer about one row; intervals only where every output has them. A method that does not ask what nobody earns
    gets it here: credit is shown between that and the prediction."""
    every = [found[name] for name in outputs]
    if all(one.baseline is not None for one in every):
        base = np.array([one.baseline for one in every])
    else:
        base = every_payoff(cast(Games, game), np.zeros((1, len(game.players)), dtype=bool))[0]
    return RowAnswer(
        found.credit[None],
        base,
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
        first.done,
        first.instead,
        first.payoffs,
        first.spent,
        first.conditional,
    )


# Payoffs that are functions of a raw score, shared through the trees


Link = Callable[[FloatArray], FloatArray]  # raw outputs (m, outputs) -> numbers in a unit of the model (m, outputs)


def worth_of(model: RowModel, unit: str, raw: str, raw_unit: str | None) -> Worth | None:
    """The payoff in a unit as a function of raw outputs, which are `raw` ("margin", "probability" …), in the model's words
    `raw_unit`. It is what the libraries usually do, to be compared with what the model says; None: it is not known.

    >>> boosted = RowModel({"logit": len, "probability": len}, ("no", "yes"), "boosted", None)
    >>> worth = worth_of(boosted, "probability", "margin", "logit")
    >>> worth(np.array([[0.0], [2.0]])).round(3).tolist()
    [[0.5, 0.5], [0.119, 0.881]]
    """
    source, compute = model.formula(unit)
    link = _link(source, raw, raw_unit)
    return None if link is None else lambda outputs: np.asarray(compute(link(outputs))).reshape(len(outputs), -1)


def _link(source: str, raw: str, raw_unit: str | None) -> Link | None:
    if (raw, source) == ("margin", "probability"):
        return chances_of
    if (raw, source) == ("log of the value", "value"):
        return np.exp
    return (lambda outputs: outputs) if raw_unit == source else None


def chances_of(scores: FloatArray) -> FloatArray:
    """Probabilities of two classes from one raw score, of several from one score each: (m, scores) -> (m, classes)."""
    from scipy.special import expit

    if scores.shape[1] > 1:
        return softmax(scores)
    second = expit(scores[:, 0])
    return np.stack([1 - second, second], axis=1)
