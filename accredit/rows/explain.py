"""Rows of a table: the question, checked, and the result with everything that is needed to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import RLock
from typing import TypedDict, Unpack

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import FloatArray, Holds
from accredit.core.notes import check_notes
from accredit.core.version import __version__
from accredit.defaults import BackgroundBy
from accredit.errors import InvalidInput
from accredit.methods import find
from accredit.models.arrays import inner_model
from accredit.models.categories import learned_columns, remember
from accredit.models.labels import check_index, label_index
from accredit.models.partition import Partition
from accredit.models.payoffs import Payoff
from accredit.models.rows import RowModel, as_row_model
from accredit.rows.backgrounds import Compared, compare_with
from accredit.rows.credit import OPPOSITE, RowAnswer, RowQuestion, are_trees, read_prediction, way_left
from accredit.rows.frames import Rows, align, densify, fit, kinds_of, match_columns, rows_of
from accredit.rows.game import DEPENDENCE, columns_as_players, outputs_of_rows
from accredit.rows.ground import Ground, Sharing, closed_value
from accredit.rows.normal import stages_of_columns
from accredit.rows.pairs import RowPairs, check_pairs
from accredit.rows.result import Cell, PairFields, TableExplanation
from accredit.store.frames import notes_of
from accredit.values.precedence import precedence_of, write_order

SAME = 1e-4  # of the largest output: by how much answers to the same rows may differ without a word
LOOKED_AT = 8  # rows on which the model's probabilities are compared with its scores
MOST_GROUNDS = 4  # combinations of column types for which what was prepared is kept
COVER = "absent columns send the row down both sides of their tests, in the proportion of the training rows (cover ratios)"


def explanation_of(asked: RowQuestion, answer: RowAnswer, target: str | int | None) -> TableExplanation:
    """The answer with everything that is needed to read it."""
    shown, chosen = shown_first(asked.model, asked.outputs, asked.unit, asked.prediction, target)
    return TableExplanation(
        asked.partition.players,
        asked.outputs,
        answer.credit,
        answer.base,
        asked.prediction,
        player_cells(asked.rows, asked.partition),
        answer.method,
        shown,
        asked.rows.names,
        asked.unit,
        asked.model.name,
        COVER if asked.dependence == "cover" else DEPENDENCE[asked.dependence],
        answer.precision,
        answer.interval,
        answer.claims,
        check_notes(  # each once: rows and background may come from one file
            dict.fromkeys(
                (
                    *asked.compared.notes,
                    *asked.said,
                    *way_left(asked, answer),
                    *filter(None, [answer.spent, answer.conditional, _differs(asked, answer)]),
                    *_draws(asked),
                    *chosen,
                    *_correlate(asked),
                )
            )
        ),
        {
            **asked.compared.facts,
            "dependence": asked.dependence,
            **({} if asked.order is None else {"order": write_order(asked.order)}),
            "budget": asked.budget,
            **({} if asked.model_rows is None else {"model_rows": asked.model_rows}),
            "seed": asked.seed,
            "accredit": __version__,
        },
        **_pair_fields(answer.pairs),
        method_name=asked.method.name,
        link=asked.model.link(asked.unit, asked.table[:LOOKED_AT], asked.prediction[:LOOKED_AT]),
    )


def _differs(asked: RowQuestion, answer: RowAnswer) -> str:
    """What to say where credit that adds up misses the prediction: the model was asked at other times, beside other rows."""
    if not any(claim.axiom == "efficiency" and claim.holds is Holds.EXACTLY for claim in answer.claims):
        return ""
    gap = float(np.abs(answer.base + answer.credit.sum(axis=1) - asked.prediction).max())
    level = float(np.abs(asked.prediction).max() + np.abs(answer.credit).max())
    if gap <= SAME * level or gap <= asked.model.blur(asked.table, asked.unit):
        return ""
    return (
        f"The model answers differently when it is asked again: base value and credit miss its prediction by up to "
        f"{round_off(gap, 2)}. Turn off what is random in it, such as dropout."
    )


def _pair_fields(pairs: RowPairs | None) -> PairFields:
    """Interactions as a result keeps them."""
    if pairs is None:
        return {}
    return {
        "pairs": pairs.values,
        "pairs_index": pairs.index,
        "pairs_precision": pairs.precision,
        "pairs_interval": pairs.interval,
    }


class Questions:
    """A model, a background and settings, read once; asked about rows as often as needed.

    The bounds of settings are checked where they come in, by `RowRequest`; what they mean for this model is checked here.

    What does not depend on the rows is kept: the model as it is asked, the chosen background, and for every combination of
    column types a `Ground`.
    """

    def __init__(
        self,
        model: object,
        background: object = None,  # may have been chosen before
        *,
        method: str = "shapley",
        payoff: Payoff | None = None,
        players: Mapping[str, Iterable[str | int]] | None = None,
        dependence: str | None = None,
        weights: object = None,
        most_background: int | None = None,
        background_by: BackgroundBy | None = None,
        names: Iterable[str] | None = None,
        budget: int | None = None,
        seed: int = 0,
        interactions: bool = False,
        order: object = None,
        confounding: bool | Sequence[bool] = False,
        model_rows: int | None = None,
    ) -> None:
        self._given, (self._model, self._named) = model, as_row_model(model).paying(payoff)
        self._fit = Fit(self._model.model)
        if dependence is not None and dependence not in (*DEPENDENCE, "cover"):
            raise InvalidInput(
                f"dependence is {dependence!r}; write one of {', '.join(DEPENDENCE)}, or cover for trees",
                argument="dependence",
                code="unknown",
            )
        self._payoff, self._players, self._dependence, self._interactions = payoff, players, dependence, interactions
        self._budget, self._seed, self._method = budget, seed, find(method, "game")
        self._order, self._confounding = order, confounding if isinstance(confounding, bool) else tuple(confounding)
        self._model_rows = model_rows
        self._check_order()
        self._check_shared()
        self._names = None if names is None else tuple(names)
        self._compare = partial(
            compare_with,
            most=most_background,
            by=background_by,
            weights=weights,
            dependence=dependence,
            names=self._names,
            seed=seed,
            are_trees=self._are_trees,
        )
        self._compared: Compared | None = None  # None: the rows decide
        if isinstance(background, Compared):
            self._compared = background
        elif background is not None or dependence == "cover":
            background, said = self._match(background, "background")
            chosen = self._compare(None, background)
            self._compared = replace(chosen, notes=(*chosen.notes, *said))
        self._grounds: dict[tuple[object, ...], Ground] = {}
        self._lock = RLock()  # of the grounds

    def _check_order(self) -> None:
        """Refuse an order that nothing follows, and causes that no order names."""
        follows = "order" in self._method.method.takes
        if self._order is None and follows:
            raise InvalidInput(
                "method 'asymmetric' needs to know which columns come before which; write order='age, sex < income'",
                argument="order",
                code="missing",
            )
        if self._order is not None and not follows and self._dependence != "causal":
            raise InvalidInput(
                f"order is given, and neither the method {self._method.name!r} nor the dependence follows it; write "
                "methods='asymmetric', or dependence='causal'",
                argument="order",
                code="misplaced",
            )
        if self._confounding and self._dependence != "causal":
            raise InvalidInput(
                "confounding is about dependence='causal'; leave it out, or write that too",
                argument="confounding",
                code="misplaced",
            )

    def _check_shared(self) -> None:
        """Refuse a budget that rows share where only games of their own can answer."""
        if self._model_rows is None:
            return
        others = {
            "methods": self._method.name != "shapley" and f"methods is {self._method.name!r}",
            "dependence": self._dependence not in (None, "interventional") and f"dependence is {self._dependence!r}",
            "interactions": self._interactions and "interactions are asked for",
            "budget": self._budget is not None and f"budget is {self._budget:,} payoffs of every row",
        }
        for name, seen in others.items():
            if seen:
                raise InvalidInput(
                    f"{seen}, and model_rows is a budget that rows share, for interventional Shapley values; leave out one of "
                    "them",
                    argument=name,
                    code="conflict",
                )

    def is_of(self, model: object) -> bool:
        """Is this the model, and has it not been fitted again?"""
        return self._given is model and self._fit.is_of(self._model.model)

    def ask(self, rows: object) -> RowQuestion:
        """What is asked about some rows, checked. Rows that are refused may have been read wrongly from their file."""
        rows, said = self._match(rows, "rows")
        try:
            return self._ask(rows, said)
        except InvalidInput as error:
            read = (*(self._compared.notes if self._compared else ()), *notes_of(rows))
            if error.code not in ("failed", "conflict") or not read:
                raise
            raise InvalidInput(f"{error}. {' '.join(read)}", argument=error.argument, code=error.code) from error

    def _ask(self, rows: object, said: tuple[str, ...]) -> RowQuestion:
        compared = self._compared or self._compare(rows)
        given = rows_of(rows, self._names) if compared.rows is None else align(rows, compared.rows)
        typed = given if compared.rows is None else fit(given, compared.rows)
        ground = self._find_ground(compared, typed)
        table, changed = ground.table(typed)
        unit, because = ground.unit(self._named, table)
        read = read_prediction(ground, unit, table)
        if read is None:
            ground.check_reads(unit)
            prediction = outputs_of_rows(partial(self._model.outputs, unit=unit), table, given, ground.background)
        else:
            prediction = read[0]
        return RowQuestion(
            ground,
            unit,
            self._payoff if callable(self._payoff) else unit,
            self._model.labels(prediction.shape[1]),
            given,
            table,
            self._method,
            self._dependence or ("cover" if compared.rows is None else "interventional"),
            self._budget,
            self._seed,
            prediction,
            (*said, *changed, *filter(None, [because])),
            None if read is None else read[1],
            self._confounding,
            self._model_rows,
        )

    def _find_ground(self, compared: Compared, given: Rows) -> Ground:
        """What the rows are compared with, in types that go with theirs; rows that are their own background have their own."""
        if compared.rows is not None and self._compared is None:
            return self._make_ground(compared, given)
        key = given.columns, kinds_of(given.table)
        with self._lock:
            if key not in self._grounds:
                if len(self._grounds) >= MOST_GROUNDS:
                    del self._grounds[next(iter(self._grounds))]
                self._grounds[key] = self._make_ground(compared, given)
            return self._grounds[key]

    def _make_ground(self, compared: Compared, given: Rows) -> Ground:
        partition = columns_as_players(given.columns, self._players)
        if self._interactions:
            check_pairs(partition.players)
        order = None if self._order is None else precedence_of(partition.players, self._order)
        if self._dependence == "causal":
            stages_of_columns(partition, order)  # which refuses what it cannot use
        sharing = Sharing(closed_value(self._method, order), self._interactions, partition, order)
        return Ground(self._model, compared, given, self._learned if given.framed else {}, sharing)

    def _match(self, table: object, what: str) -> tuple[object, tuple[str, ...]]:
        """Rows as the model reads them: its columns, and absent cells of a sparse matrix as its library takes them."""
        is_xgboost = type(self._model.model).__module__.split(".")[0] == "xgboost"
        dense, filled = densify(table, np.nan if is_xgboost else 0.0, what)
        matched, said = match_columns(dense, self._columns, what)
        return matched, filled + said

    @cached_property
    def _columns(self) -> tuple[str, ...] | None:
        return learned_columns(self._model.model)

    @cached_property
    def _learned(self) -> dict[str, list[object]]:
        return remember(self._model.model)

    def _are_trees(self) -> bool:
        return self._trees

    @cached_property
    def _trees(self) -> bool:
        return are_trees(self._model)


class RowSettings(TypedDict, total=False):
    """Settings of a question about rows, as `Questions` takes them."""

    method: str
    payoff: Payoff | None
    players: Mapping[str, Iterable[str | int]] | None
    dependence: str | None
    weights: object
    most_background: int | None
    background_by: BackgroundBy | None
    names: Iterable[str] | None
    budget: int | None
    seed: int
    interactions: bool
    order: object
    confounding: bool | Sequence[bool]
    model_rows: int | None


def question(rows: object, model: object, background: object = None, **settings: Unpack[RowSettings]) -> RowQuestion:
    """What is asked about rows, checked, with the settings of `Questions`."""
    return Questions(model, background, **settings).ask(rows)


def _correlate(asked: RowQuestion) -> tuple[str, ...]:
    return asked.ground.correlated if asked.dependence == "interventional" else ()


def _draws(asked: RowQuestion) -> tuple[str, ...]:
    said = "What is drawn for absent columns is shared by all coalitions; the error of the draws is not in the intervals."
    return (said,) if asked.dependence in ("gaussian", "copula", "causal") else ()


# What the reader must know


def shown_first(
    model: RowModel, outputs: tuple[str, ...], unit: str, prediction: FloatArray, target: str | int | None
) -> tuple[str, tuple[str, ...]]:
    """The output that is shown first, and why it was chosen."""
    if isinstance(target, str):
        return outputs[label_index(target, outputs)], ()
    if target is not None:
        return outputs[check_index(target, len(outputs))], ()
    if len(outputs) == 1:
        return outputs[0], ()
    if not model.classifies:
        return outputs[0], (f"Shown first is {outputs[0]!r} of {len(outputs)} outputs.",)
    if len(outputs) == 2 and len(prediction) > 1 and unit in OPPOSITE:
        return outputs[1], (f"Shown is class {outputs[1]!r}; its credits are the opposite of the other's.",)
    commonest = int(np.bincount(model.predicted(prediction, unit), minlength=len(outputs)).argmax())
    why = "the predicted class" if len(prediction) == 1 else "the class predicted most often"
    return outputs[commonest], (f"Shown first is {outputs[commonest]!r}, {why}.",)


def player_cells(rows: Rows, partition: Partition) -> tuple[tuple[Cell, ...], ...]:
    """Each player's value in every row; several columns of one player as text."""
    cells = rows.cells()
    return tuple(
        cells[own[0]]
        if len(own) == 1
        else tuple(", ".join(f"{rows.columns[i]}={cells[i][r]}" for i in own) for r in range(len(rows)))
        for own in partition.places
    )


# Has a model changed since it was read? Told by what a new fit leaves behind, in microseconds and without asking the model


Attribute = tuple[str, object, int | None]  # its name, value and length
PLAIN = (str, int, float, bool, type(None))


class Fit:
    """One fit of a model, by its attributes: those of a pipeline's steps and of the best of a search included.

    A new fit makes new attributes, or longer ones; a booster that is trained on has more rounds. What a caller changes inside
    of an array does not show here.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> before = Fit(model)
    >>> before.is_of(model), before.is_of(model.fit([[0.0], [1.0]], [1.0, 4.0]))
    (True, False)
    """

    def __init__(self, model: object) -> None:
        self._seen = _attributes(model)

    def is_of(self, model: object) -> bool:
        """Is the model still the same one, with the same fit?"""
        now = _attributes(model)
        return len(now) == len(self._seen) and all(map(_same, now, self._seen))


def _attributes(model: object) -> list[Attribute]:
    """Name, value and length of every attribute."""
    found: list[Attribute] = []
    for one in _parts(model):
        found.append(("", one, _rounds(one)))
        found += [(k, v, len(v) if isinstance(v, list | dict) else None) for k, v in getattr(one, "__dict__", {}).items()]
    return found


def _parts(model: object) -> list[object]:
    inside = inner_model(model)
    steps = [step for _, step in model.steps] if hasattr(model, "steps") and hasattr(model, "fit") else []
    return [model, *(part for one in ([inside] if inside is not None else steps) for part in _parts(one))]


def _rounds(model: object) -> int | None:
    """How many rounds a booster has been trained."""
    for count in ("num_boosted_rounds", "current_iteration"):
        if hasattr(model, count):
            return int(getattr(model, count)())
    return getattr(model, "tree_count_", None)


def _same(now: Attribute, before: Attribute) -> bool:
    (name, value, size), (old_name, old, old_size) = now, before
    same = value is old or (type(value) is type(old) and isinstance(value, PLAIN) and value == old)
    return same and name == old_name and size == old_size
