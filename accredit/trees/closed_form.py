"""Exact credit of the columns of rows, for every model that has a closed form: trees, linear models, sums of products, weighted
means of such models, and pipelines that end in any of these.

The columns before a pipeline are the players: a one-hot block belongs to the column that it encodes. `closed_form` refuses
(one of `NO_FORM`, all of them `InvalidInput`) where there is none; another way must then be taken.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type, as_array
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.models.arrays import inner_model, votes_by_pairs
from accredit.models.cells import are_plain_numbers
from accredit.products.form import Form, NotProducts, plain_numbers
from accredit.products.linear import Linear, NotLinear, is_linear, linear_of
from accredit.products.reading import READERS, exponential_form, form_of
from accredit.products.shares import FormShares
from accredit.trees.credit import TreeCredit, TreeShares, background_of, check_owners, check_weight
from accredit.trees.linked import LinkedShares, Worth
from accredit.trees.members import Members, members_of
from accredit.trees.reading import Ensemble, NotTrees, ensemble_of
from accredit.trees.separable import NotSeparable, any_mixtures, mixtures, owners, still_own
from accredit.trees.sloped import SlopedShares
from accredit.trees.terms import Terms, TermShares, has_terms, terms_of
from accredit.values.precedence import Stages
from accredit.values.semivalue_rules import semivalue_of

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from accredit.models.row_types import Table

NO_FORM = (NotTrees, NotLinear, NotProducts, NotSeparable)  # why there is none
MEMBERS_CLOSE = 1e-6  # how far a mean of members, each compared by itself, may be from the model, relative to their sizes
FEATURE_MAPS = (
    "RBFSampler",
    "Nystroem",
    "PolynomialFeatures",
)  # steps that are read together with the linear model behind them
UNSHARED = 1e-7  # how far Shapley values may be from the raw output, relative to all that is summed


@dataclass(frozen=True, eq=False)
class RowCredit:
    """Credit of the columns of some rows, and what it is about.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    >>> found = closed_form(model, np.array([[2.0, 2.0]]), np.array([[0.0, 0.0]]))
    >>> found.payoff, found.base.round(9), found.margin.round(9), found.credit[0, :, 0].round(9)
    ('value', array([1.]), array([[3.]]), array([ 4., -2.]))
    """

    credit: FloatArray  # (rows, columns, outputs)
    base: FloatArray  # (outputs,) what nobody earns
    margin: FloatArray  # (rows, outputs) what the model gives
    pairs: FloatArray | None  # (rows, columns, columns, outputs)
    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    payoff: str  # what is shared: margin, probability, value, log of the value, log-joint, path length, …
    model: str
    means: str  # what it means that a column does not play
    half_width: FloatArray | None = None  # (rows, columns, outputs) of intervals at the usual level; None: exact


@check_arguments
def closed_form(
    model: object,
    rows: object,
    background: object = None,
    *,
    value: object = "shapley",
    interactions: bool = False,
    weight: object = None,
    players: object = None,  # (columns,) the player of each column; None: every column plays for itself
    unit: str | None = None,  # the scale that is shared, where a model has a closed form on several
) -> RowCredit:
    """Exact credit of every column of every row in every output of a tree ensemble, a linear model, a sum of products, a mean
    of such models, or a pipeline.

    `rows` and `background` are as the model takes them (array or frame), and both are checked against the model's own raw
    output. Columns of one player (`players`) come and go together. Without a background, trees use cover ratios; other
    models need one.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    >>> closed_form(model, np.array([[2.0, 2.0]]), np.array([[0.0, 0.0], [2.0, 0.0]])).credit[0, :, 0].round(9)
    array([ 2., -2.])
    """
    table, compared = _table(rows, "rows"), None if background is None else _table(background, "background")
    _check_widths(table, compared)
    form = ClosedForm(model, compared, value=value, interactions=interactions, weight=weight, players=players, unit=unit)
    return form.share(table)


class ClosedForm:
    """A model with a closed form and the rows that others are compared with: read, checked and prepared once, asked about rows
    as often as needed.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    >>> form = ClosedForm(model, np.array([[0.0, 0.0], [2.0, 0.0]]))
    >>> [form.share(np.array([[x, 2.0]])).credit[0, 0, 0].round(9).item() for x in (2.0, 3.0)]
    [2.0, 4.0]
    """

    def __init__(
        self,
        model: object,
        background: object = None,
        *,
        value: object = "shapley",
        interactions: bool = False,
        weight: object = None,
        players: object = None,
        count: int | None = None,  # how many players there are, where some have no column
        unit: str | None = None,
    ) -> None:
        self.model, self._players, self._value, self._interactions, self._count = model, players, value, interactions, count
        self._linked: Linked | None = None
        self._final, self._before = _steps(model)
        self._solver = _solver(self._final, unit)
        self._background = None if background is None else _table(background, "background")
        self._weight = None
        if self._background is not None:
            self._weight = None if weight is None else check_weight(weight, len(self._background))
            self._compared = self._solver.read(self._before(self._background))[0]
        self._shares: tuple[IntArray, Shares] | None = None  # who owns the encoded columns, and what is prepared for them

    def link(self, linked: Linked) -> ClosedForm:
        """The same model and background, with credit in a function of the raw output: trees beside a background."""
        if not isinstance(self._solver, _Trees) or self._background is None or self._solver.is_sloped:
            raise NotTrees(f"{_words(self.model)} is not a sum of trees of constants beside background rows")
        other = copy(self)
        other._linked, other._shares = linked, None
        return other

    def compare(self, rows: Table) -> Reading:
        """Rows as numbers and their raw output as it was read, compared with the model's own."""
        table = _table(rows, "rows")
        _check_widths(table, self._background)
        return self._solver.read(self._before(table))

    @property
    def payoff(self) -> str:
        """What the raw output is: margin, probability, value, log of the value."""
        return self._solver.payoff

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the numbers that the raw output of a row has."""
        return self._solver.outputs

    def read(self, rows: Table) -> Reading | None:
        """What the reading gives for rows about which the model need not be asked; None where it must be.

        The reading stands for a model that is slow to answer, after the two were compared on thresholds and background, and
        where there is nothing but finite numbers to read.
        """
        if self._final is not self.model or self._background is None or self._shares is None:
            return None
        table = _table(rows, "rows")
        _check_widths(table, self._background)
        return self._solver.stands_for(table)

    def margin(self, rows: Table) -> FloatArray:
        """The output of rows, checked against the model's own: (rows, outputs)."""
        return self._solver.read(self._before(_table(rows, "rows")))[1]

    def share(self, rows: Table, said: FloatArray | None = None, reading: Reading | None = None) -> RowCredit:
        """The credit of these rows.

        The reading is compared with the model's own raw output of them, `said` (rows, outputs), for which the model is asked
        where it is None. A `reading` that `read` or `compare` gave stands as it is.
        """
        table = _table(rows, "rows")
        _check_widths(table, self._background)
        matrix, margin = self._solver.read(self._before(table), said) if reading is None else reading
        try:
            prepared = self.prepare(table, matrix)
        except NotSeparable:
            if not self._add_columns(table):
                raise
            return self.share(rows, said)
        got = prepared.credit(matrix)
        self._check_sum(got, margin)
        return RowCredit(
            got.credit,
            got.base,
            margin,
            got.pairs,
            _columns(table),
            self._solver.outputs,
            self.payoff,
            _words(self.model),
            got.means,
            got.half_width,
        )

    def _add_columns(self, rows: Table) -> bool:
        """Read a linear model behind steps that mix columns as a sum of one function of each column, if it is one."""
        if not isinstance(self._solver, _Weighted) or self._background is None:
            return False
        terms = self._solver.terms(self._before, self._background)
        try:
            terms.read(any_mixtures(_stack(rows, self._background)), None)
        except NotProducts:
            return False
        self._final, self._before, self._shares = self.model, lambda rows: rows, None
        self._solver, self._compared = _Termwise(terms), self._background
        return True

    def _check_sum(self, got: TreeCredit, margin: FloatArray) -> None:
        """Refuse Shapley values of the raw output that do not add up to it."""
        if self._value != "shapley" or self._linked is not None or not len(margin):
            return
        size = np.abs(got.credit).sum(axis=1) + np.abs(got.base)
        gap = np.abs(got.credit.sum(axis=1) + got.base - margin)
        if not (gap <= UNSHARED * (size + np.abs(margin))).all():
            row, output = np.argwhere(gap == gap.max())[0]
            total = got.base[output] + got.credit[row, :, output].sum()
            raise NotTrees(
                f"the credit of {_words(self.model)} adds up to {total:.9g} where its raw output is {margin[row, output]:.9g} "
                f"(row {row}, output {output})"
            )

    def prepare(self, rows: Table, matrix: Numbers) -> Shares:
        """What shares among the owners of the encoded columns, which rows never seen before may show to be others."""
        kept = self._shares  # read once: another thread may exchange it
        if kept is not None and self._owns(rows, matrix, kept[0]):
            return kept[1]
        mine = check_owners(self._players, rows.shape[1])
        encoded = np.arange(rows.shape[1])
        if self._final is not self.model:
            encoded = owners(self._encode, _stack(rows, self._background))
        compared = None if self._background is None else self._compared
        count = max(int(mine.max()) + 1, self._count or 0)
        asked = CreditRequest(mine[encoded], count, self._value, self._interactions, self._weight, self._linked)
        prepared = self._solver.prepare(compared, asked)
        self._shares = encoded, prepared
        return prepared

    def _owns(self, rows: Table, matrix: Numbers, encoded: IntArray) -> bool:
        """Do the columns before a pipeline still own the same encoded columns, beside these rows?"""
        if self._final is self.model:
            return len(encoded) == int(rows.shape[1])
        if self._background is None:
            return False
        both = np.concatenate([matrix, self._compared])
        return still_own(self._encode, _stack(rows, self._background), both, encoded, len(rows))

    def _encode(self, some: Table) -> FloatArray:
        return self._solver.numbers(self._before(some))


def has_closed_form(model: object) -> bool:
    """Does this model look as if it had a closed form? Rows may still show that it has none."""
    try:
        _solver(_steps(model)[0], None)
    except NO_FORM:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Linked:
    """A payoff that is a function of the raw output, and how it is estimated where it cannot be exact."""

    worth: Worth  # raw outputs (m, outputs) -> payoffs (m, payoffs)
    orders: int | None = None  # of each background row; None: as many as serve a few digits
    seed: int = 0
    opposite: bool = False  # of two payoffs the first earns the opposite of the second


@dataclass(frozen=True, eq=False)
class CreditRequest:
    """What is wanted of a model: whose columns, which value."""

    players: IntArray  # (encoded columns,) the player of each
    count: int  # players
    value: object
    interactions: bool
    weight: FloatArray | None
    linked: Linked | None = None  # None: the raw output itself is shared


Numbers = Any  # rows as numbers (rows, encoded); where members of a model read rows each in a way of its own, as they are
Reading = tuple[Numbers, FloatArray]  # these, and the raw output (rows, outputs)


class Shares(Protocol):
    """What credits rows of numbers."""

    def credit(self, rows: Numbers) -> TreeCredit: ...


class ClosedFormSolver(Protocol):
    """A model with a closed form: reads rows, and prepares their sharing."""

    outputs: tuple[str, ...]
    payoff: str

    def numbers(self, rows: Table) -> FloatArray:
        """Rows as numbers: (rows, encoded)."""
        ...

    def stands_for(self, rows: Table) -> Reading | None:
        """What rows give that need not be asked of the model; None: ask it."""
        ...

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        """What rows give, compared with what the model said, or says when it is asked."""
        ...

    def prepare(self, background: Numbers | None, asked: CreditRequest) -> Shares: ...


class _Trees:
    """Trees behind the one signature."""

    def __init__(self, read: Ensemble) -> None:
        self._read, self.outputs, self.payoff = read, read.outputs, read.payoff
        self.is_sloped = read.forest.slopes is not None  # are there linear models in the leaves?

    def numbers(self, rows: Table) -> FloatArray:
        return self._read.forest.matrix(self._read.encode(rows))

    def stands_for(self, rows: Table) -> Reading | None:
        if not self._read.slow or not are_plain_numbers(rows):
            return None
        matrix = self.numbers(rows)
        return (matrix, self._read.forest.margin(matrix)) if np.isfinite(matrix).all() else None

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        return self._read.read(rows, said)

    def prepare(self, background: FloatArray | None, asked: CreditRequest) -> Shares:
        forest = self._read.forest
        if self.is_sloped:
            if background is None:
                raise NotTrees(
                    f"{forest.source} has linear models in its leaves, of which cover ratios say nothing; give a background"
                )
            if isinstance(asked.value, Stages):
                raise NotTrees(
                    f"{forest.source} has linear models in its leaves; they have no form for players that come in order"
                )
            compared, rule = background_of(forest, background, asked.weight), semivalue_of(asked.value, asked.count)
            return SlopedShares(forest, compared, asked.players, asked.count, rule, asked.interactions)
        if asked.linked is not None:
            how, rule = asked.linked, semivalue_of(asked.value, asked.count)
            compared = background_of(forest, background, asked.weight)
            return LinkedShares(
                forest,
                compared,
                how.worth,
                asked.players,
                asked.count,
                rule=rule,
                orders=how.orders,
                seed=how.seed,
                opposite=how.opposite,
            )
        return TreeShares(
            forest,
            background,
            value=asked.value,
            interactions=asked.interactions,
            players=asked.players,
            count=asked.count,
            weight=asked.weight,
        )


class _Weighted:
    """A linear model behind the same signature."""

    def __init__(self, linear: Linear) -> None:
        self._linear, self.outputs, self.payoff = linear, linear.outputs, linear.payoff

    def numbers(self, rows: Table) -> FloatArray:
        return self._linear.numbers(rows)

    def stands_for(self, rows: Table) -> Reading | None:
        return None  # such a model is asked in a moment

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        matrix = self.numbers(rows)
        self._linear.check(rows, matrix)
        return matrix, self._linear.margin(matrix)

    def terms(self, before: Callable[[Table], Table], background: Table) -> Terms:
        """One function of each column of the rows before the steps: what it adds when it alone leaves a background row."""
        linear, start = self._linear, background.iloc[:1] if hasattr(background, "iloc") else background[:1]

        def margin(rows: Table) -> FloatArray:
            return linear.margin(self.numbers(before(rows)))

        def evaluate(rows: Table) -> FloatArray:
            count, width = rows.shape
            both, all_rows = _stack(rows, start), np.arange(count)
            alone = [
                mixtures(both, all_rows, np.full(count, count), np.tile(np.arange(width) == j, (count, 1)))
                for j in range(width)
            ]
            return np.stack([margin(some) for some in alone], axis=1) - margin(start)[:, None]

        own = lambda rows: linear.own(before(rows))  # noqa: E731
        columns = tuple((j,) for j in range(background.shape[1]))
        return Terms(linear.source, columns, margin(start)[0], evaluate, own, self.outputs, self.payoff)

    def prepare(self, background: Numbers | None, asked: CreditRequest) -> Shares:
        if background is None:
            raise InvalidInput(
                "a linear model needs a background to compare with; pass background=rows of the training data",
                argument="background",
                code="missing",
            )
        return LinearShares(self._linear, background, asked)


class _Multiplied:
    """A sum of products behind the same signature."""

    def __init__(self, form: Form) -> None:
        self._form, self.outputs, self.payoff = form, form.outputs, form.payoff

    def numbers(self, rows: Table) -> FloatArray:
        try:
            return self._form.numbers(rows)
        except (TypeError, ValueError) as error:
            raise NotProducts(f"{self._form.source} reads numbers; the rows hold something else: {error}") from None

    def stands_for(self, rows: Table) -> Reading | None:
        return None

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        matrix = self.numbers(rows)
        if matrix.shape[1] != self._form.columns:
            raise NotProducts(f"{self._form.source} reads {self._form.columns} columns; the rows have {matrix.shape[1]}")
        margin = self._form.value(matrix)
        self._form.check(rows, matrix, margin, said)
        return matrix, margin

    def prepare(self, background: Numbers | None, asked: CreditRequest) -> Shares:
        if background is None:
            raise NotProducts(f"{self._form.source} is a sum of products, which needs background rows to compare with")
        _refuse_stages(self._form.source, asked)
        return _ProductShares(self._form, background, asked)


class _ProductShares:
    """Products as trees share."""

    def __init__(self, form: Form, background: FloatArray, asked: CreditRequest) -> None:
        self._means = f"background of {len(background)} rows"
        self._shares = FormShares(
            form,
            background,
            players=asked.players,
            count=asked.count,
            value=asked.value,
            interactions=asked.interactions,
            weight=asked.weight,
        )

    def credit(self, rows: Numbers) -> TreeCredit:
        found = self._shares.credit(rows)
        return TreeCredit(found.credit, found.base, found.pairs, self._means)


def _refuse_stages(source: str, asked: CreditRequest) -> None:
    if isinstance(asked.value, Stages):
        raise NotProducts(f"{source} has no closed form for players that come in order")


class _Termwise:
    """Terms of one or two columns behind the same signature; they are asked of the model, which reads rows as they are."""

    def __init__(self, terms: Terms) -> None:
        self._terms, self.outputs, self.payoff = terms, terms.outputs, terms.payoff

    def numbers(self, rows: Table) -> FloatArray:
        return plain_numbers(rows)

    def stands_for(self, rows: Table) -> Reading | None:
        return None

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        return rows, self._terms.read(rows, said)

    def prepare(self, background: Numbers | None, asked: CreditRequest) -> Shares:
        if background is None:
            raise NotProducts(f"{self._terms.source} is a sum of terms, which needs background rows to compare with")
        _refuse_stages(self._terms.source, asked)
        return TermShares(self._terms, background, asked.players, asked.count, asked.value, asked.interactions, asked.weight)


class _Sum:
    """A weighted sum of models, each of which has a closed form of its own, behind the same signature."""

    def __init__(self, model: object, members: Members) -> None:
        self._name, self._members = type(model).__name__, members
        self._forms: list[ClosedForm] = []
        for member in members.each:
            try:
                self._forms.append(ClosedForm(member.model, unit=member.unit))
            except NO_FORM as why:
                raise NotProducts(f"{self._name} adds up {a_type(member.model)}, which has none: {why}") from None
        unit = members.each[0].unit
        shapes = {(_of_regression(form.payoff, unit), len(form.outputs)) for form in self._forms}
        if len(shapes) > 1:
            said = " and ".join(sorted(f"{count} × {payoff}" for payoff, count in shapes))
            raise NotProducts(f"{self._name} adds up members with closed forms of different outputs: {said}")
        ((self.payoff, count),) = shapes
        if members.outputs is not None and count > 1:
            raise NotProducts(f"the members of {self._name} have {count} outputs each, where one is needed")
        self.outputs = self._forms[0].outputs if members.outputs is None else members.outputs
        if unit == "probability" and self.payoff != "probability":
            raise NotProducts(f"{self._name} averages probabilities, and its members have a closed form of their {self.payoff}")

    def numbers(self, rows: Table) -> FloatArray:
        return plain_numbers(rows)

    def stands_for(self, rows: Table) -> Reading | None:
        return None

    def read(self, rows: Table, said: FloatArray | None = None) -> Reading:
        members = self._members
        each = [form.margin(member.rows(rows)) for member, form in zip(members.each, self._forms, strict=True)]
        margin = members.start + members.add_up(each)
        sizes = [
            abs(member.weight) * np.abs(one).max(axis=1, keepdims=True) for member, one in zip(members.each, each, strict=True)
        ]
        size = abs(members.start) + sum(sizes, np.zeros((len(margin), 1)))
        own = np.asarray(members.own(rows) if said is None else said, dtype=np.float64).reshape(len(margin), -1)
        if own.shape != margin.shape or not (np.abs(own - margin) <= MEMBERS_CLOSE * size + 1e-12).all():
            raise NotProducts(f"the sum of the members of {self._name} is not what it gives; explain it as a function of rows")
        return rows, margin

    def prepare(self, background: Numbers | None, asked: CreditRequest) -> Shares:
        return SumShares(self._members, background, asked)


def _of_regression(payoff: str, unit: str) -> str:
    """The raw score of a regression is its value; where it is not, the sum of the members is not what the model gives."""
    return "value" if (payoff, unit) == ("margin", "value") else payoff


class SumShares:
    """Members of a weighted sum, each with its own closed form: their credits are added up as their outputs are."""

    def __init__(self, members: Members, background: Numbers | None, asked: CreditRequest) -> None:
        self._members = members
        self._forms = [
            ClosedForm(
                member.model,
                None if background is None else member.rows(background),
                value=asked.value,
                interactions=asked.interactions,
                weight=asked.weight,
                players=asked.players if member.columns is None else asked.players[member.columns],
                count=asked.count,
                unit=member.unit,
            )
            for member in members.each
        ]

    def credit(self, rows: Numbers) -> TreeCredit:
        found = [form.share(member.rows(rows)) for member, form in zip(self._members.each, self._forms, strict=True)]
        pairs = [one.pairs for one in found if one.pairs is not None]
        return TreeCredit(
            self._members.add_up([one.credit for one in found]),
            self._members.start + self._members.add_up([one.base for one in found]),
            self._members.add_up(pairs) if pairs else None,
            found[0].means,
        )


class LinearShares:
    """A linear model and the mean of its background: what credits rows by their distance from it."""

    def __init__(self, linear: Linear, background: FloatArray, asked: CreditRequest) -> None:
        if not isinstance(asked.value, Stages):
            semivalue_of(asked.value, asked.count)  # they all agree here, but one that does not exist is refused
        self._linear, self._asked, self._means = linear, asked, f"background of {len(background)} rows"
        self._mean = np.average(background, axis=0, weights=asked.weight)
        self._base = linear.margin(self._mean[None])[0]
        self._belongs = np.zeros((len(asked.players), asked.count))
        self._belongs[np.arange(len(asked.players)), asked.players] = 1.0

    def credit(self, rows: FloatArray) -> TreeCredit:
        shares = (rows - self._mean)[:, None, :] * self._linear.weights  # (rows, outputs, encoded)
        credit = np.moveaxis(shares @ self._belongs, 1, 2)
        count, outputs = self._asked.count, credit.shape[2]
        nothing = np.zeros((len(rows), count, count, outputs)) if self._asked.interactions else None
        return TreeCredit(credit, self._base, nothing, self._means)


def _solver(model: object, unit: str | None) -> ClosedFormSolver:
    """The way to share the output of a model without a pipeline: in this unit if there are several, else in the model's own."""
    found = members_of(model, unit)
    if found is not None:
        return _Sum(model, found)
    name = type(model).__name__
    if has_terms(model):
        return _Termwise(terms_of(model))
    if is_linear(model) and not votes_by_pairs(model):
        linear = linear_of(model)
        exponential = unit == "value" and linear.payoff == "log of the value"
        return _Multiplied(exponential_form(linear)) if exponential else _Weighted(linear)
    if name in READERS:
        return _Multiplied(form_of(model, unit))
    return _Trees(ensemble_of(model))


def _steps(model: object) -> tuple[object, Callable[[Table], Table]]:
    """The last step of a pipeline and the function of rows before it; a plain model and the rows themselves. A map into
    features of all columns is one step with the model behind it."""
    steps = _flatten(model)
    if len(steps) == 1:
        return steps[0], lambda rows: rows
    from sklearn.pipeline import Pipeline

    pipeline: Pipeline = Pipeline([(str(i), step) for i, step in enumerate(steps)])
    tail = _tail(pipeline)
    if tail == len(steps):
        return (model if hasattr(model, "steps") and len(model.steps) == len(steps) else pipeline), lambda rows: rows
    before = pipeline[:-tail]

    def encode(rows: Table) -> Table:
        encoded: Table = before.transform(rows)
        return encoded.toarray() if hasattr(encoded, "toarray") else encoded

    return (steps[-1] if tail == 1 else pipeline[-tail:]), encode


def _flatten(model: object) -> list[object]:
    """The steps of a pipeline whose last step may be a pipeline, or pass on the scores of a model inside."""
    inner = inner_model(model)
    if inner is not None:
        return _flatten(inner)
    if type(model).__name__ != "Pipeline" or not hasattr(model, "steps"):
        return [model]
    *before, last = (step for _, step in model.steps)
    return [*before, *_flatten(last)]


def _tail(pipeline: Pipeline) -> int:
    """How many of the last steps are one model: a map into features, perhaps scaled, with what reads them."""
    names = [type(step).__name__ for _, step in pipeline.steps]
    if len(names) > 2 and names[-3] in FEATURE_MAPS and names[-2] == "StandardScaler":
        return 3
    return 2 if len(names) > 1 and names[-2] in FEATURE_MAPS else 1


def _table(rows: object, what: str) -> Table:
    table: Table = rows if hasattr(rows, "iloc") else as_array(rows, what)
    if len(table.shape) != 2 or not len(table):
        raise InvalidInput(
            f"{what} has shape {table.shape}; give rows × columns with at least one row", code="shape", argument=what
        )
    return table


def _stack(rows: Table, background: Table | None) -> Table:
    if background is None:
        return rows
    if hasattr(rows, "iloc"):
        import pandas

        return pandas.concat([rows, background], ignore_index=True)
    return np.concatenate([rows, background])


def _check_widths(rows: Table, background: Table | None) -> None:
    if background is not None and background.shape[1] != rows.shape[1]:
        raise InvalidInput(
            f"rows have {rows.shape[1]} columns and the background {background.shape[1]}; they must match",
            argument="rows",
            code="shape",
        )


def _columns(rows: Table) -> tuple[str, ...]:
    names = rows.columns if hasattr(rows, "columns") else (f"x{i}" for i in range(rows.shape[1]))
    return tuple(str(n) for n in names)


def _words(model: object) -> str:
    steps = [type(step).__name__ for _, step in model.steps] if hasattr(model, "steps") else [type(model).__name__]
    return " → ".join(steps)
