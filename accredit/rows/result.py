"""Many rows of a table, explained: one credit per row, column and output, with what is needed to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np

from accredit import defaults
from accredit.checks import check_text, needs, real_number, shown, whole_number
from accredit.checks.json_data import damaged, fields_of, plain, plain_mapping, read_list, read_object
from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    IntArray,
    Interactions,
    Known,
    Note,
    Precision,
    Procedure,
    check_players,
)
from accredit.core.attribution import frozen
from accredit.core.claims import checked_claims, claims_of_part, no_division
from accredit.core.estimate import check_level
from accredit.core.notes import check_notes, read_notes
from accredit.core.procedure import check_procedure, read_procedure
from accredit.core.shap_form import shap_explanation
from accredit.errors import InvalidInput
from accredit.results import Result
from accredit.rows.indexing import EVERY, Picked, positions, split_index
from accredit.rows.pairs import pair_claims, pair_means, row_interactions

if TYPE_CHECKING:
    import pandas
    import shap

LINKS = ("", "sigmoid", "softmax")
FORMAT = 2  # 1: `method` and the notes were lines of text
CELLS_IN_JSON = "values"  # files keep this name of `cells`, which in shap's objects means credit
Cell = str | float | int | bool | None


class PairFields(TypedDict, total=False):
    """What a result of rows keeps of interactions; nothing where they were not asked for."""

    pairs: FloatArray
    pairs_index: str
    pairs_precision: Precision
    pairs_interval: FloatArray | None


@dataclass(frozen=True, eq=False)
class TableExplanation(Result):
    """What each column earned in each row of a table, for one or several outputs of a model.

    `credit[r, i, k]` is what player i earned in row r for output k. Base value and credits of a row add up to its
    prediction where the method is efficient: `unshared` is what they miss.

    >>> e = TableExplanation(("age", "pay"), ("price", "risk"), [[[2.0, 0.5], [-1.0, 0.0]], [[0.0, 0.1], [1.0, 0.2]]],
    ...                      base=[3.0, 0.0], prediction=[[4.0, 0.5], [4.0, 0.3]], cells=[[41, 30], [1200.5, 900.0]],
    ...                      method="by hand")
    >>> e.row(0).as_dict(), float(abs(e.unshared).max().round(9))
    ({'age': 2.0, 'pay': -1.0}, 0.0)

    A string in brackets is a method, as in every result: `e["shapley"]`. Everything else picks rows, then columns, then
    outputs. One row, by its position, is an `Attribution` (about `target`, unless the third place names an output), and
    with one column it is a number. Slices and lists of rows are explanations again; of a part of the columns they no
    longer claim to add up.

    >>> e[0].as_dict() == e.row(0).as_dict(), e[0, "age"], e[0, "age", "risk"], e[0, :, "risk"].credit.tolist()
    (True, 2.0, 0.5, [0.5, 0.0])
    >>> e[:1].rows, e[:, "age"].players, e[[1, 0], ["pay", "age"], "risk"].credit[..., 0].tolist()
    (('0',), ('age',), [[0.2, 0.1], [0.0, 0.5]])

    Iteration gives the rows' attributions, `len` is the number of rows, `in` asks for methods.

    >>> len(e), [one["pay"] for one in e], "by hand" in e, e.methods
    (2, [-1.0, 1.0], True, ('by hand',))

    Rows that were explained by several methods hold the first in these fields and the others in `by_other_methods`;
    parts are parts of all of them.
    """

    players: tuple[str, ...]
    outputs: tuple[str, ...]
    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,): the payoff when nobody plays
    prediction: FloatArray  # (rows, outputs): the payoff of the row as it is
    cells: tuple[tuple[Cell, ...], ...]  # for each player what stands in every row; None where it is missing
    method: Procedure  # how it was computed; a text names it
    target: str = ""  # the output that is shown first; the first one if empty
    rows: tuple[str, ...] = ()  # names of the rows; their numbers if empty
    payoff: str = ""  # what of the output is shared: margin, log-odds, probability, value
    model: str = ""
    dependence: str = ""  # what stands in for absent columns, in one sentence
    precision: Precision = field(default_factory=Precision.unknown)  # exact, within the intervals, or unknown; and why
    interval: FloatArray | None = None  # (rows, players, outputs, 2)
    claims: tuple[Claim, ...] = ()
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, object] = field(default_factory=dict)
    pairs: FloatArray | None = None  # (rows, players, players, outputs): interactions, if they were asked for
    pairs_index: str = ""  # which interaction index
    pairs_precision: Precision = field(default_factory=Precision.unknown)
    pairs_interval: FloatArray | None = None  # (rows, players, players, outputs, 2)
    level: float = defaults.LEVEL  # of the intervals of the credits
    apart: tuple[tuple[int, Precision], ...] = ()  # rows, by position, whose numbers are known in another way than the others'
    method_name: str = ""  # as in `methods`, for example "shapley"; `method` also says how it was computed
    by_other_methods: Mapping[str, TableExplanation] = field(default_factory=dict)  # the same rows, by further methods
    link: str = ""  # what makes a probability of base value and prediction: "sigmoid", "softmax"; "" where nothing is known to

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "players", check_players(self.players))
        put(self, "outputs", check_players(self.outputs))
        count = len(self.credit) if isinstance(self.credit, list | tuple | np.ndarray) else 0
        if count == 0:
            raise InvalidInput("credit holds no rows; explain at least one row", argument="credit", code="empty")
        shape = count, len(self.players), len(self.outputs)
        put(self, "credit", frozen(self.credit, shape, "credit"))
        put(self, "base", frozen(self.base, shape[2:], "base"))
        put(self, "prediction", frozen(self.prediction, (count, shape[2]), "prediction"))
        for name in ("precision", "pairs_precision"):
            if not isinstance(getattr(self, name), Precision):
                raise InvalidInput(
                    f"{name} is {shown(getattr(self, name))}; write for example Precision.exact()", argument=name, code="type"
                )
        if (self.interval is not None) != (self.precision.known is Known.INTERVAL):
            raise InvalidInput(
                f"precision is {self.precision.known}; intervals are given if, and only if, it is interval",
                argument="precision",
                code="conflict",
            )
        if self.interval is not None:
            put(self, "interval", frozen(self.interval, (*shape, 2), "interval"))
        self._check_pairs((count, shape[1], *shape[1:]))
        if not all(isinstance(column, list | tuple) for column in self.cells):
            raise InvalidInput(
                f"cells is {shown(self.cells)}; give those of each player's column", argument="cells", code="type"
            )
        put(self, "cells", tuple(tuple(column) for column in self.cells))
        if len(self.cells) != len(self.players) or {len(column) for column in self.cells} != {count}:
            raise InvalidInput(
                f"cells must hold {count} for each of the {len(self.players)} players", argument="cells", code="shape"
            )
        put(self, "rows", tuple(map(str, self.rows)) or tuple(map(str, range(count))))
        if len(self.rows) != count:
            raise InvalidInput(f"rows has {len(self.rows)} names for {count} rows", argument="rows", code="shape")
        put(self, "method", check_procedure(self.method))
        for name in ("target", "payoff", "model", "dependence", "pairs_index", "method_name", "link"):
            put(self, name, check_text(getattr(self, name), name))
        if self.link not in LINKS:
            raise InvalidInput(f"link is {self.link!r}; write one of {LINKS}", argument="link", code="unknown")
        put(self, "method_name", self.method_name or self.method.name)
        put(self, "target", self.target or self.outputs[0])
        self.place(self.target)
        put(self, "apart", self._check_apart(count))
        put(self, "level", check_level(real_number(self.level, "level", 0, 1, example=defaults.LEVEL)))
        put(self, "claims", checked_claims(self.claims))
        put(self, "notes", check_notes(self.notes))
        put(self, "provenance", plain_mapping(self.provenance, "provenance"))
        put(self, "by_other_methods", self._check_others())

    def _check_others(self) -> dict[str, TableExplanation]:
        """Explanations of the same rows, columns and outputs by other methods, each by its name."""
        if not isinstance(self.by_other_methods, Mapping):
            raise InvalidInput(
                f"by_other_methods is {shown(self.by_other_methods)}; write a mapping from names to explanations",
                argument="by_other_methods",
                code="type",
            )
        for name, other in self.by_other_methods.items():
            if not isinstance(other, TableExplanation) or other.by_other_methods:
                raise InvalidInput(
                    f"by_other_methods[{shown(name)}] is {shown(other)}; give a TableExplanation by one method",
                    argument="by_other_methods",
                    code="type",
                )
            same = (other.players, other.outputs, other.rows, other.target) == (
                self.players,
                self.outputs,
                self.rows,
                self.target,
            )
            if not same or name != other.method_name or name == self.method_name:
                raise InvalidInput(
                    f"by_other_methods[{shown(name)}] is by {other.method_name!r}; it must be about the same rows, columns, "
                    "outputs and target, by the method that it is named after, and by another than this one",
                    argument="by_other_methods",
                    code="conflict",
                )
        return dict(self.by_other_methods)

    def _check_apart(self, count: int) -> tuple[tuple[int, Precision], ...]:
        for row, precision in self.apart:
            whole_number(row, "a row of apart", 0, count - 1)
            if not isinstance(precision, Precision) or (precision.known is Known.INTERVAL and self.interval is None):
                raise InvalidInput(
                    f"apart says {shown(precision)} of row {row}; write Precision.exact(), or give intervals",
                    argument="apart",
                    code="conflict",
                )
        return tuple((int(row), precision) for row, precision in self.apart)

    def _check_pairs(self, shape: tuple[int, ...]) -> None:
        put, ends = object.__setattr__, self.pairs_interval
        if (self.pairs is None) != (not self.pairs_index):
            raise InvalidInput("pairs and pairs_index belong together; give both or neither", argument="pairs", code="conflict")
        if (ends is not None) != (self.pairs_precision.known is Known.INTERVAL):
            raise InvalidInput(
                f"pairs_precision is {self.pairs_precision.known}; pairs_interval must fit it",
                argument="pairs_precision",
                code="conflict",
            )
        if self.pairs is not None:
            put(self, "pairs", frozen(self.pairs, shape, "pairs"))
        if ends is not None:
            put(self, "pairs_interval", frozen(ends, (*shape, 2), "pairs_interval"))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.credit)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in the order asked."""
        return (self.method_name, *self.by_other_methods)

    def _answer(self) -> tuple[str, ...]:
        return self.methods

    def _by_method(self, name: str) -> TableExplanation:
        return replace(self, by_other_methods={}) if name == self.method_name else self.by_other_methods[name]

    def _no_method(self, method: object) -> str:
        if method in self.players:
            return f"{method!r} is a column, and a string alone names a method; write [:, {method!r}]"
        if method in self.outputs:
            return f"{method!r} is an output, and a string alone names a method; write .of({method!r})"
        if method in self.rows:
            return f"{method!r} is a row, and rows are picked by position; write [{self.rows.index(str(method))}]"
        return super()._no_method(method)

    @property
    def unshared(self) -> FloatArray:
        """What base value and credits miss of each prediction: (rows, outputs)."""
        return np.asarray(self.prediction - self.base - self.credit.sum(axis=1))

    def of(self, output: str) -> TableExplanation:
        """The same explanation with another output shown first."""
        self.place(output)
        others = {name: replace(other, target=output) for name, other in self.by_other_methods.items()}
        return replace(self, target=output, by_other_methods=others)

    def top(self, count: int) -> Attribution:
        """The `count` columns that matter most over all rows: those of largest mean |credit|. Of one row: `e[0].top(count)`."""
        return self.importance().top(count)

    @overload
    def __getitem__(self, index: str | slice | list[int] | list[bool] | IntArray | BoolArray) -> TableExplanation: ...
    @overload
    def __getitem__(self, index: int) -> Attribution: ...
    @overload
    def __getitem__(self, index: tuple[object, ...]) -> Any: ...
    def __getitem__(self, index: object) -> TableExplanation | Attribution | float:
        """A method by name, or rows, columns and outputs: see the class."""
        if isinstance(index, str):
            return self._by_method(self._method_named(index))
        said_rows, said_columns, said_outputs = split_index(index)
        rows = positions(said_rows, self.rows, "rows")
        columns = positions(said_columns, self.players, "columns")
        outputs = positions(EVERY if said_outputs is None else said_outputs, self.outputs, "outputs")
        if isinstance(rows, list):
            return self._part(rows, columns, outputs)
        one = self.row(rows, None if said_outputs is None else self.outputs[self._only(outputs, rows)])
        return one[columns] if isinstance(columns, list) else one[self.players[columns]]

    def _only(self, outputs: Picked, row: int) -> int:
        """The one output that a row's attribution is about."""
        if isinstance(outputs, list) and len(outputs) > 1:
            raise InvalidInput(
                f"outputs picks {len(outputs)}, and one row's attribution is about one; write [{row}, :, "
                f"{self.outputs[outputs[0]]!r}], or [[{row}]] for an explanation of that row in all of them",
                argument="outputs",
                code="shape",
            )
        return outputs[0] if isinstance(outputs, list) else outputs

    def _part(self, rows: list[int], columns: Picked, outputs: Picked) -> TableExplanation:
        """Some rows, columns and outputs, by every method."""
        some = [columns] if isinstance(columns, int) else columns
        outs = [outputs] if isinstance(outputs, int) else outputs
        three, four = np.ix_(rows, some, outs), np.ix_(rows, some, some, outs)
        names, apart = tuple(self.outputs[k] for k in outs), dict(self.apart)
        whole = len(some) == len(self.players)
        paired = self.pairs is not None and len(some) > 1
        return replace(
            self,
            players=tuple(self.players[i] for i in some),
            outputs=names,
            credit=self.credit[three],
            base=self.base[outs],
            prediction=self.prediction[np.ix_(rows, outs)],
            cells=tuple(tuple(self.cells[i][r] for r in rows) for i in some),
            target=self.target if self.target in names else names[0],
            rows=tuple(self.rows[r] for r in rows),
            interval=None if self.interval is None else self.interval[three],
            claims=self.claims if whole else claims_of_part(self.claims, "the columns"),
            pairs=self.pairs[four] if self.pairs is not None and paired else None,
            pairs_index=self.pairs_index if paired else "",
            pairs_precision=self.pairs_precision if paired else Precision.unknown(),
            pairs_interval=self.pairs_interval[four] if self.pairs_interval is not None and paired else None,
            apart=tuple((place, apart[r]) for place, r in enumerate(rows) if r in apart),
            by_other_methods={name: other._part(rows, some, outs) for name, other in self.by_other_methods.items()},
            link=self.link if self.link != "softmax" or len(outs) == len(self.outputs) else "",  # it reads all outputs
        )

    def row(self, row: int, output: str | None = None) -> Attribution:
        """One row's credit for one output, with the value of every column beside it."""
        k = self._place_of(row, output)
        precision = dict(self.apart).get(row % len(self), self.precision)
        ends = self.interval[row, :, k] if self.interval is not None and precision.known is Known.INTERVAL else None
        facts = {
            "row": self.rows[row],
            "model": self.model,
            "target": self.outputs[k],
            "payoff": self.payoff,
            "prediction": float(self.prediction[row, k]),
            "dependence": self.dependence,
            "values": {p: column[row] for p, column in zip(self.players, self.cells, strict=True)},
        }
        return Attribution(
            self.players,
            self.credit[row, :, k],
            float(self.prediction[row, k] - self.base[k]),
            self.method,
            self.claims,
            interval=ends,
            level=None if ends is None else self.level,
            precision=precision,
            baseline=float(self.base[k]),
            provenance=facts | dict(self.provenance),
        )

    def _place_of(self, row: int, output: str | None) -> int:
        """The position of an output, of a row that is there."""
        whole_number(row, "row", -len(self), len(self) - 1)
        return self.place(output)

    def interactions(self, row: int, output: str | None = None) -> Interactions:
        """One row's interactions of every two columns, for one output."""
        k, pairs, ends = self._place_of(row, output), self._ask_pairs(), self.pairs_interval
        exact = self.pairs_precision.known is Known.EXACT
        return row_interactions(
            self.players,
            pairs[row, :, :, k],
            None if ends is None else ends[row, :, :, k],
            index=self.pairs_index,
            means=pair_means(self.pairs_index),
            claims=pair_claims(self.pairs_index, len(self.players), exact),
            level=None if ends is None else defaults.LEVEL,
            precision=self.pairs_precision,
            total=float(self.prediction[row, k] - self.base[k]),
        )

    def interaction_importance(self, output: str | None = None) -> Interactions:
        """Mean |interaction| of every two columns over the rows, with a 95 % interval for the mean over such rows."""
        sizes = np.abs(self._ask_pairs()[:, :, :, self.place(output)])
        mean, ends, precision = _over_rows(sizes)
        return row_interactions(
            self.players,
            mean,
            ends,
            index=f"mean |{self.pairs_index}| over {len(sizes)} rows",
            means="how large the interaction is on average, whatever its sign",
            claims=no_division("mean sizes rank pairs, they do not share anything"),
            level=None if ends is None else defaults.LEVEL,
            precision=precision,
        )

    def _ask_pairs(self) -> FloatArray:
        if self.pairs is None:
            raise InvalidInput(
                "there are no interactions here: they were not asked for, or one column is left; write explain(rows, model, …, "
                "interactions=True)",
                argument="interactions",
                code="missing",
            )
        return self.pairs

    def __iter__(self) -> Iterator[Attribution]:
        """The rows' credit for the target, one attribution each."""
        return (self.row(r) for r in range(len(self)))

    def importance(self, output: str | None = None) -> Attribution:
        """Mean |credit| of every column over the rows, with a 95 % interval for the mean over such rows (Student's t).

        Scores, not shares: nothing is divided. With one row there is no interval.
        """
        return self._importance(np.abs(self.credit[:, :, self.place(output)]), "")

    def _importance(self, sizes: FloatArray, added: str) -> Attribution:
        """Mean sizes of the columns, (rows, players), as scores."""
        mean, interval, precision = _over_rows(sizes)
        return Attribution(
            self.players,
            mean,
            None,
            self.method.then(f"mean |credit| over {len(sizes)} rows{added}"),
            no_division("mean sizes of credit rank columns, they do not share anything"),
            interval=interval,
            level=None if interval is None else defaults.LEVEL,
            precision=precision,
        )

    def overall_importance(self) -> Attribution:
        """Mean |credit| of every column, added over all outputs, with a 95 % interval for the mean over such rows: one ranking
        of the columns for all classes.

        >>> e = TableExplanation(("x",), ("a", "b", "c"), [[[1.0, -2.0, 0.5]]], [0, 0, 0], [[1, -2, 0.5]], [[7]], "m")
        >>> e.overall_importance().credit
        array([3.5])
        """
        return self._importance(np.abs(self.credit).sum(axis=2), f", added over {len(self.outputs)} outputs")

    def chance(self, row: int | None = None, output: str | None = None) -> float | None:
        """The probability that goes with a row's prediction, or, without a row, with the base value; None where the payoff is
        not known to be the score of a probability. Of a base value it is the probability at that score, not a mean over rows.

        >>> e = TableExplanation(("x",), ("no", "yes"), [[[-1.0, 1.0]]], [0, 0], [[-1, 1]], [[7]], "m", "yes", link="sigmoid")
        >>> round(e.chance(0), 3), e.chance()
        (0.731, 0.5)
        """
        k = self.place(output) if row is None else self._place_of(row, output)
        at = self.base if row is None else self.prediction[row]
        if self.payoff == "probability":
            return float(at[k])
        if self.link == "sigmoid":
            return float(self._chances(at[k]))
        return float(np.exp(at - at.max())[k] / np.exp(at - at.max()).sum()) if self.link == "softmax" else None

    @staticmethod
    def _chances(score: FloatArray) -> FloatArray:
        from scipy.special import expit

        return np.asarray(expit(score))

    def cohorts(self, by: str | int | Sequence[object] | BoolArray) -> dict[str, TableExplanation]:
        """The rows in groups: by a column (numbers are split at their median), by one label or truth value per row, or, given
        a number, in as many groups as differ most in their credit.

        >>> e = TableExplanation(("x",), ("y",), [[[1.0]], [[2.0]], [[3.0]]], [0], [[1], [2], [3]], [[5, 6, 9]], "m")
        >>> {name: part.rows for name, part in e.cohorts("x").items()}
        {'x ≤ 6': ('0', '1'), 'x > 6': ('2',)}
        >>> list(e.cohorts([True, False, True])), list(e.cohorts(["a", "b", "a"]))
        (['chosen', 'the others'], ['a', 'b'])
        """
        from accredit.rows.cohorts import split

        return {name: self[rows] for name, rows in split(self, by)}

    # In and out

    def to_pandas(self, output: str | None = None) -> pandas.DataFrame:
        """One line per row: each column's credit, the base value and the prediction; of several methods one below another,
        with the name of the method before that of the row."""
        with needs("data", "to_pandas"):
            import pandas
        if self.by_other_methods:
            each = {name: one.to_pandas(output) for name, one in self.items()}
            return pandas.concat(each, names=["method"])
        k = self.place(output)
        frame = pandas.DataFrame(self.credit[:, :, k], index=pandas.Index(self.rows, name="row"), columns=list(self.players))
        frame["(base value)"], frame["(prediction)"] = float(self.base[k]), self.prediction[:, k]
        return frame

    def to_plain(self) -> dict[str, object]:
        """Everything as JSON types."""
        data = {f.name if f.name != "cells" else CELLS_IN_JSON: getattr(self, f.name) for f in fields(self)}
        data["precision"], data["pairs_precision"] = self.precision.as_plain(), self.pairs_precision.as_plain()
        data["apart"] = [[row, precision.as_plain()] for row, precision in self.apart]
        data["method"], data["notes"] = self.method.as_plain(), [note.as_plain() for note in self.notes]
        data["claims"] = [[c.axiom, str(c.holds), c.because] for c in self.claims]
        data["by_other_methods"] = {name: other.to_plain() for name, other in self.by_other_methods.items()}
        if not self.by_other_methods:
            del data["by_other_methods"]
        return {"kind": "table explanation", "format": FORMAT, **plain(data, "table explanation")}

    @classmethod
    def from_json(cls, text: str) -> TableExplanation:
        """Read what `to_json` wrote; anything else is refused."""
        return cls.from_plain(read_object(text, "table explanation"))

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> TableExplanation:
        """Read what `to_plain` gave."""
        later = ("method_name", "by_other_methods", "link")  # not known of files that were written before they were
        if isinstance(given, Mapping):
            given = {key if key != CELLS_IN_JSON else "cells": value for key, value in given.items()}
        data = fields_of(cls, given, "table explanation", FORMAT, optional=later, before=True)
        with damaged("table explanation"):
            others = plain_mapping(data.get("by_other_methods", {}), "by_other_methods")
            data["by_other_methods"] = {name: cls.from_plain(other) for name, other in others.items()}
            read_list(data, "players", "outputs", "credit", "base", "prediction", "cells", "rows", "claims", "apart")
            older = given["format"] < FORMAT
            data["method"] = read_procedure(data["method"], is_line=older)
            data["notes"] = read_notes(data["notes"], are_lines=older)
            data["rows"] = [check_text(name, "rows") for name in data["rows"]]
            for name in ("precision", "pairs_precision"):
                data[name] = Precision.from_plain(data[name])
            data["apart"] = tuple(_row_apart(entry) for entry in data["apart"])
            data["claims"] = tuple(Claim.from_plain(claim) for claim in data["claims"])
            return cls(**data)

    def to_shap(self) -> shap.Explanation:
        """The credit by the first method as a `shap.Explanation`, for shap's plots: values (rows, columns) of one output,
        (rows, columns, outputs) of several, as shap's explainers give them. Of another method: `e["banzhaf"].to_shap()`;
        of one output: `e[:, :, "yes"].to_shap()`.

        Intervals and claims stay behind. A missing cell is NaN.
        """
        cells = [[column[r] for column in self.cells] for r in range(len(self))]
        if len(self.outputs) == 1:
            return shap_explanation(self.credit[..., 0], np.full(len(self), self.base[0]), cells, self.players)
        return shap_explanation(self.credit, np.tile(self.base, (len(self), 1)), cells, self.players, self.outputs)


def beside(explained: Sequence[TableExplanation]) -> TableExplanation:
    """The same rows by several methods, as one explanation; the first method's numbers come first.

    >>> one = TableExplanation(("x",), ("y",), [[[2.0]]], [0.0], [[2.0]], [[1]], "shapley")
    >>> both = beside([one, replace(one, method="lime", method_name="lime")])
    >>> both.methods, str(both["lime"].method)
    (('shapley', 'lime'), 'lime')
    """
    first, *others = explained
    return replace(first, by_other_methods={other.method_name: other for other in others})


def _over_rows(sizes: FloatArray) -> tuple[FloatArray, FloatArray | None, Precision]:
    """Means over rows, (rows, …) -> (…), and Student's interval for the mean over such rows, (…, 2); sizes are not negative."""
    from scipy.stats import t

    count, mean = len(sizes), sizes.mean(axis=0)
    if count == 1:
        return mean, None, Precision.unknown("one row says nothing about others")
    reach = t.ppf((1 + defaults.LEVEL) / 2, count - 1) * sizes.std(axis=0, ddof=1) / np.sqrt(count)
    because = f"Student's t over {count} rows, as if they were drawn at random"
    return mean, np.stack([np.maximum(mean - reach, 0.0), mean + reach], axis=-1), Precision.interval(because)


def _row_apart(entry: object) -> tuple[int, Precision]:
    """A row whose numbers are known in another way, as it is written: its position, and how."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise InvalidInput(
            f"apart holds {shown(entry)}; an entry is a row's position and how its numbers are known",
            argument="apart",
            code="type",
        )
    return entry[0], Precision.from_plain(entry[1])
