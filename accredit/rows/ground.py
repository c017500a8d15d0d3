"""What rows are compared with, as the model reads it, and all that follows from it alone: made once for many questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from accredit.core import Claim, FloatArray
from accredit.methods import ChosenMethod
from accredit.models.categories import as_categories
from accredit.models.cells import columns_of
from accredit.models.partition import Partition
from accredit.models.rows import RowModel
from accredit.rows.backgrounds import Compared
from accredit.rows.frames import Rows, join, part, type_of
from accredit.rows.game import check_reads
from accredit.trees.closed_form import NO_FORM, ClosedForm, Linked, Reading, RowCredit
from accredit.trees.linked import Worth
from accredit.values.asymmetric import CLAIMS as ASYMMETRIC_CLAIMS
from accredit.values.exact import semivalue_claims
from accredit.values.precedence import Precedence, Stages
from accredit.values.semivalue_rules import semivalue_of

if TYPE_CHECKING:
    from accredit.models.row_types import Table

ROWS_FOR_UNIT = 1000  # rows by which the unit of the payoff is chosen
CORRELATED = 0.7  # from which two columns are named
CHANCE_ERRORS = 4.5  # standard errors (Fisher's z) that no pair among hundreds reaches by chance


class NoClosedForm(Exception):
    """Why a question has no closed form."""

    def __init__(self, why: str, instead: str = "", *, tried: bool = True, of_unit: bool = False) -> None:
        super().__init__(why.rstrip("; ,"))
        self.instead = instead  # what to write to have one
        self.of_unit = of_unit  # there is one, of another payoff
        self._tried = tried

    @property
    def note(self) -> str:
        """What a result says where one was tried and left; empty where none was tried."""
        if not self._tried:
            return ""
        said = str(self)
        return f"{said[0].upper()}{said[1:]}" if self.of_unit else f"No closed form could be used: {said}"


@dataclass(frozen=True, eq=False)
class Sharing:
    """How a closed form is to share: by which value, among whom."""

    value: object  # as trees take it; None where they do not
    interactions: bool
    partition: Partition
    order: Precedence | None = None  # who comes before whom, where it was said


def closed_value(method: ChosenMethod, order: Precedence | None) -> object:
    """The method as trees take it: a value, ("beta", α, β), one weight per size, or the stages in which players come; None
    where they do not."""
    match method.method.name:
        case "asymmetric":
            return None if order is None else order.stages
        case "shapley" | "banzhaf":
            return method.method.name
        case "beta":
            return "beta", method.parameters["alpha"], method.parameters["beta"]
        case "semivalue":
            return method.parameters["weights"]
    return None


class Ground:
    """A model and background rows, both as they are beside explained rows of certain types.

    What rests on the background alone is found out once: whether the model reads it, the unit of the payoff, the columns that
    go together, the closed form with everything that it prepares.
    """

    def __init__(
        self, model: RowModel, compared: Compared, given: Rows, learned: Mapping[str, list[object]], sharing: Sharing
    ) -> None:
        self.model, self.compared, self.sharing, self._learned = model, compared, sharing, dict(learned)
        self._like: Table | None = None  # the background in the types that it shares with the rows
        self.background: Table | None = None  # the same as the model reads it; None: there is none
        self.widened: tuple[str, ...] = ()
        if compared.rows is not None:
            both, self.widened = join(given, compared.rows)
            self._like = part(both, 0, len(compared.rows))
            self.background, _ = self._categorise(self._like)
        self._lock = RLock()  # rows may be asked about from several threads; what is prepared for them is made once
        self._read: dict[str, tuple[FloatArray, float]] = {}  # outputs of the background and seconds per row, by unit
        self._forms: dict[str, ClosedForm] = {}  # by the unit that was asked for
        self._linked: dict[str, tuple[ClosedForm, Worth]] = {}  # for functions of the raw output, by the same
        self._why: dict[str, NoClosedForm] = {}  # there is no closed form, by the same

    def table(self, rows: Rows) -> tuple[Table, tuple[str, ...]]:
        """Rows of these types as the model reads them, and what had to be done for that. No value changes, or it is refused."""
        table = rows.table if self._like is None else type_of(rows.table, self._like)
        if table is None:
            assert self.compared.rows is not None
            both, _ = join(rows, self.compared.rows)  # which refuses what changes a value
            table = part(both, len(self.compared.rows), len(both))
        table, remembered = self._categorise(table)
        return table, (*self.widened, *remembered)

    def _categorise(self, table: Table) -> tuple[Table, tuple[str, ...]]:
        return as_categories(table, self._learned) if hasattr(table, "iloc") else (table, ())

    def unit(self, named: str | None, table: Table) -> tuple[str, str]:
        """The unit of the payoff for such rows beside this background, and what to say about it."""
        if named is not None:
            return self.model.unit(named), ""
        size = 0 if self.background is None else len(self.background)
        found = self._own_unit if size else None
        if found is not None and (found[1] or size >= ROWS_FOR_UNIT):
            return found
        return self.model.unit_for(None, part(table, 0, ROWS_FOR_UNIT - size))

    @cached_property
    def _own_unit(self) -> tuple[str, str]:
        return self.model.unit_for(None, part(self.background, 0, ROWS_FOR_UNIT))

    def check_reads(self, unit: str) -> None:
        """Refuse a background that the model cannot read."""
        if self.background is not None:
            self._ask_background(unit)

    def _ask_background(self, unit: str) -> tuple[FloatArray, float]:
        """The model is asked once."""
        assert self.background is not None
        if unit not in self._read:
            began = time.monotonic()
            outputs = check_reads(partial(self.model.outputs, unit=unit), self.background)
            self._read[unit] = outputs, (time.monotonic() - began) / len(self.background)
        return self._read[unit]

    def background_outputs(self, unit: str) -> FloatArray:
        """What the model says about the background: (background rows, outputs)."""
        return self._ask_background(unit)[0]

    def seconds_per_row(self, unit: str) -> float:
        """How long the model takes for a row, by how long it took for the background."""
        return self._ask_background(unit)[1]

    # The closed form

    def form(self, unit: str) -> ClosedForm:
        """The closed form of the model beside this background, read when it is first asked for; in this unit, if there are
        several."""
        with self._lock:
            if unit in self._why:
                raise self._why[unit]
            if unit not in self._forms:
                try:
                    self._forms[unit] = self._read_form(unit)
                except NO_FORM as why:
                    self._why[unit] = NoClosedForm(str(why), getattr(why, "instead", ""))
                    raise self._why[unit] from None
            return self._forms[unit]

    def _read_form(self, unit: str) -> ClosedForm:
        return ClosedForm(
            self.model.model,
            self.background,
            value=self.sharing.value,
            interactions=self.sharing.interactions,
            weight=None if self.background is None else self.compared.weights,
            players=self.sharing.partition.owner,
            unit=unit,
        )

    def reading(self, table: Table, unit: str) -> Reading | None:
        """What the closed form says about rows for which it may stand for the model; None where the model must be asked."""
        form = self._forms.get(unit)
        return None if form is None else form.read(table)

    def share(self, table: Table, unit: str, said: FloatArray | None, reading: Reading | None) -> RowCredit:
        """The credit of rows in closed form. A reading that the model no longer agrees with is made anew, once."""
        before = self._forms.get(unit)
        try:
            return self.form(unit).share(table, said, reading)
        except NO_FORM as why:
            if before is None:
                raise NoClosedForm(str(why)) from None
        with self._lock:
            if self._forms.get(unit) is before:
                del self._forms[unit]
        return self.share(table, unit, said, None)

    def link(self, unit: str, make: Callable[[ClosedForm], Linked]) -> tuple[ClosedForm, Worth]:
        """The closed form for a function of its own output, which is made when it is first asked for, and that function."""
        with self._lock:
            if unit not in self._linked:
                form = self.form(unit)
                linked = make(form)
                self._linked[unit] = form.link(linked), linked.worth
            return self._linked[unit]

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the closed form's credit satisfies."""
        if isinstance(self.sharing.value, Stages):
            return ASYMMETRIC_CLAIMS
        n = len(self.sharing.partition.players)
        return semivalue_claims(semivalue_of(self.sharing.value, n).weights(n), "computed in closed form")

    @cached_property
    def correlated(self) -> tuple[str, ...]:
        """Columns that go together: there interventional and conditional answers part."""
        table = self.background
        if table is None or len(table) < 3:
            return ()
        columns = columns_of(table)
        usable = [i for i, c in enumerate(columns) if getattr(c.dtype, "kind", "O") in "biuf"]
        numbers = np.array([np.asarray(columns[i], dtype=np.float64) for i in usable]).reshape(len(usable), len(table))
        steady = np.isfinite(numbers).all(axis=1) & (np.ptp(numbers, axis=1) > 0) if len(usable) else np.zeros(0, dtype=bool)
        if steady.sum() < 2:
            return ()
        together = np.abs(np.corrcoef(numbers[steady]))
        np.fill_diagonal(together, 0.0)
        a, b = np.unravel_index(int(together.argmax()), together.shape)
        beyond_chance = np.arctanh(min(together[a, b], 1 - 1e-12)) * np.sqrt(len(table) - 3) > CHANCE_ERRORS
        if together[a, b] < CORRELATED or not beyond_chance:
            return ()
        assert self.compared.rows is not None
        names = [self.compared.rows.columns[usable[i]] for i in np.flatnonzero(steady)[[a, b]].tolist()]
        return (
            f"Columns “{names[0]}” and “{names[1]}” go together (correlation {together[a, b]:.2f} in size): the credit says "
            "what the model does with each, not what each says about the other. The dependence “empirical” answers that "
            "instead.",
        )
