"""Many rows of a table, explained: one credit per row, column and output, with what is needed to read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accredit import defaults
from accredit.core import (
    Attribution,
    Claim,
    FloatArray,
    Interactions,
    InvalidInput,
    Known,
    Precision,
    checked_players,
    checked_text,
    needs,
    real_number,
    shown,
    whole_number,
)
from accredit.core.attribution import frozen
from accredit.core.claims import checked_claims, no_division
from accredit.core.drawn import Drawn, drawings
from accredit.core.estimate import checked_level
from accredit.core.files import check_writable, put
from accredit.core.plain import damaged, fields_of, listed, plain, plain_mapping, read_object
from accredit.explanation.row_pairs import pair_claims, pair_means, row_interactions

if TYPE_CHECKING:
    import pandas

FORMAT = 1
NAMED = 12  # outputs that a message names
Cell = str | float | int | bool | None


@dataclass(frozen=True, eq=False)
class TableExplanation(Drawn):
    """What each column earned in each row of a table, for one or several outputs of a model.

    `credit[r, i, k]` is what player i earned in row r for output k. Base value and credits of a row add up to its
    prediction where the method is efficient: `unshared` is what they miss.

    >>> e = TableExplanation(("age", "pay"), ("price",), [[[2.0], [-1.0]]], base=[3.0], prediction=[[4.0]],
    ...                      values=[[41], [1200.5]], method="by hand")
    >>> e.row(0).as_dict(), float(e.unshared.max())
    ({'age': 2.0, 'pay': -1.0}, 0.0)
    """

    players: tuple[str, ...]
    outputs: tuple[str, ...]
    credit: FloatArray  # (rows, players, outputs)
    base: FloatArray  # (outputs,): the payoff when nobody plays
    prediction: FloatArray  # (rows, outputs): the payoff of the row as it is
    values: tuple[tuple[Cell, ...], ...]  # for each player its value in every row; None where it is missing
    method: str
    target: str = ""  # the output that is shown first; the first one if empty
    rows: tuple[str, ...] = ()  # names of the rows; their numbers if empty
    payoff: str = ""  # what of the output is shared: margin, log-odds, probability, value
    model: str = ""
    dependence: str = ""  # what stands in for absent columns, in one sentence
    precision: Precision = field(default_factory=Precision.unknown)  # exact, within the intervals, or unknown; and why
    interval: FloatArray | None = None  # (rows, players, outputs, 2)
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    pairs: FloatArray | None = None  # (rows, players, players, outputs): interactions, if they were asked for
    pairs_index: str = ""  # which interaction index
    pairs_precision: Precision = field(default_factory=Precision.unknown)
    pairs_interval: FloatArray | None = None  # (rows, players, players, outputs, 2)
    level: float = defaults.LEVEL  # of the intervals of the credits
    apart: tuple[
        tuple[int, Precision], ...
    ] = ()  # rows, by position, whose numbers are known in another way than the others'

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "players", checked_players(self.players))
        put(self, "outputs", checked_players(self.outputs))
        count = len(self.credit) if isinstance(self.credit, list | tuple | np.ndarray) else 0
        if count == 0:
            raise InvalidInput("credit holds no rows; explain at least one row")
        shape = count, len(self.players), len(self.outputs)
        put(self, "credit", frozen(self.credit, shape, "credit"))
        put(self, "base", frozen(self.base, shape[2:], "base"))
        put(self, "prediction", frozen(self.prediction, (count, shape[2]), "prediction"))
        for name in ("precision", "pairs_precision"):
            if not isinstance(getattr(self, name), Precision):
                raise InvalidInput(f"{name} is {shown(getattr(self, name))}; write for example Precision.exact()")
        if (self.interval is not None) != (self.precision.known is Known.INTERVAL):
            raise InvalidInput(
                f"precision is {self.precision.known}; intervals are given if, and only if, it is interval"
            )
        if self.interval is not None:
            put(self, "interval", frozen(self.interval, (*shape, 2), "interval"))
        self._check_pairs((count, shape[1], *shape[1:]))
        if not all(isinstance(column, list | tuple) for column in self.values):
            raise InvalidInput(f"values is {shown(self.values)}; give the cells of each player's column")
        put(self, "values", tuple(tuple(column) for column in self.values))
        if len(self.values) != len(self.players) or {len(column) for column in self.values} != {count}:
            raise InvalidInput(f"values must hold {count} cells for each of the {len(self.players)} players")
        put(self, "rows", tuple(map(str, self.rows)) or tuple(map(str, range(count))))
        if len(self.rows) != count:
            raise InvalidInput(f"rows has {len(self.rows)} names for {count} rows")
        for name in ("method", "target", "payoff", "model", "dependence", "pairs_index"):
            put(self, name, checked_text(getattr(self, name), name))
        put(self, "target", self.target or self.outputs[0])
        self.place(self.target)
        put(self, "apart", self._checked_apart(count))
        put(self, "level", checked_level(real_number(self.level, "level", 0, 1, example=defaults.LEVEL)))
        put(self, "claims", checked_claims(self.claims))
        put(self, "notes", tuple(checked_text(note, "notes") for note in self.notes))
        put(self, "provenance", plain_mapping(self.provenance, "provenance"))

    def _checked_apart(self, count: int) -> tuple[tuple[int, Precision], ...]:
        for row, precision in self.apart:
            whole_number(row, "a row of apart", 0, count - 1)
            if not isinstance(precision, Precision) or (precision.known is Known.INTERVAL and self.interval is None):
                raise InvalidInput(
                    f"apart says {shown(precision)} of row {row}; write Precision.exact(), or give intervals"
                )
        return tuple((int(row), precision) for row, precision in self.apart)

    def _check_pairs(self, shape: tuple[int, ...]) -> None:
        put, ends = object.__setattr__, self.pairs_interval
        if (self.pairs is None) != (not self.pairs_index):
            raise InvalidInput("pairs and pairs_index belong together; give both or neither")
        if (ends is not None) != (self.pairs_precision.known is Known.INTERVAL):
            raise InvalidInput(f"pairs_precision is {self.pairs_precision.known}; pairs_interval must fit it")
        if self.pairs is not None:
            put(self, "pairs", frozen(self.pairs, shape, "pairs"))
        if ends is not None:
            put(self, "pairs_interval", frozen(ends, (*shape, 2), "pairs_interval"))

    def __len__(self) -> int:
        return len(self.credit)

    def place(self, output: str | None = None) -> int:
        """The position of an output by name; of the target when None."""
        name = self.target if output is None else output
        if name not in self.outputs:
            more = f" and {len(self.outputs) - NAMED} more" * (len(self.outputs) > NAMED)
            known = ", ".join(self.outputs[:NAMED])
            raise InvalidInput(f"output {shown(name)} was not explained; write one of {known}{more}", argument="output")
        return self.outputs.index(name)

    @property
    def unshared(self) -> FloatArray:
        """What base value and credits miss of each prediction: (rows, outputs)."""
        return np.asarray(self.prediction - self.base - self.credit.sum(axis=1))

    def of(self, output: str) -> TableExplanation:
        """The same explanation with another output shown first."""
        self.place(output)
        return replace(self, target=output)

    def __getitem__(self, which: slice | Sequence[int]) -> TableExplanation:
        """Some of the rows."""
        chosen = np.arange(len(self))[which]
        if chosen.ndim != 1 or len(chosen) == 0:
            raise InvalidInput(
                f"{which!r} picks no rows of {len(self)}; write a slice such as [:10] or a list of positions"
            )
        return replace(
            self,
            credit=self.credit[chosen],
            prediction=self.prediction[chosen],
            interval=None if self.interval is None else self.interval[chosen],
            pairs=None if self.pairs is None else self.pairs[chosen],
            pairs_interval=None if self.pairs_interval is None else self.pairs_interval[chosen],
            values=tuple(tuple(column[r] for r in chosen.tolist()) for column in self.values),
            rows=tuple(self.rows[r] for r in chosen.tolist()),
            apart=tuple(
                (place, dict(self.apart)[r]) for place, r in enumerate(chosen.tolist()) if r in dict(self.apart)
            ),
        )

    def row(self, row: int, output: str | None = None) -> Attribution:
        """One row's credit for one output, with the value of every column beside it."""
        k = self._place_of(row, output)
        precision = dict(self.apart).get(row % len(self), self.precision)
        ends = self.interval[row, :, k] if self.interval is not None and precision.known is Known.INTERVAL else None
        facts = {"row": self.rows[row], "model": self.model, "target": self.outputs[k], "payoff": self.payoff,
                 "prediction": float(self.prediction[row, k]), "dependence": self.dependence,
                 "values": {p: column[row] for p, column in zip(self.players, self.values, strict=True)}}  # fmt: skip
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
        k, pairs, ends = self._place_of(row, output), self._asked_pairs(), self.pairs_interval
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
        sizes = np.abs(self._asked_pairs()[:, :, :, self.place(output)])
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

    def _asked_pairs(self) -> FloatArray:
        if self.pairs is None:
            raise InvalidInput("interactions were not asked for; write explain(rows, model, …, interactions=True)")
        return self.pairs

    def __iter__(self) -> Iterator[Attribution]:
        """The rows' credit for the target, one attribution each."""
        return (self.row(r) for r in range(len(self)))

    def importance(self, output: str | None = None) -> Attribution:
        """Mean |credit| of every column over the rows, with a 95 % interval for the mean over such rows (Student's t).

        Scores, not shares: nothing is divided. With one row there is no interval.
        """
        sizes = np.abs(self.credit[:, :, self.place(output)])
        mean, interval, precision = _over_rows(sizes)
        return Attribution(
            self.players,
            mean,
            None,
            f"mean |credit| over {len(sizes)} rows, {self.method}",
            no_division("mean sizes of credit rank columns, they do not share anything"),
            interval=interval,
            level=None if interval is None else defaults.LEVEL,
            precision=precision,
        )

    # In and out

    def to_pandas(self, output: str | None = None) -> pandas.DataFrame:
        """One line per row: each column's credit, the base value and the prediction."""
        with needs("data", "to_pandas"):
            import pandas
        k = self.place(output)
        frame = pandas.DataFrame(
            self.credit[:, :, k], index=pandas.Index(self.rows, name="row"), columns=list(self.players)
        )
        frame["(base value)"], frame["(prediction)"] = float(self.base[k]), self.prediction[:, k]
        return frame

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON types."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["precision"], data["pairs_precision"] = self.precision.as_plain(), self.pairs_precision.as_plain()
        data["apart"] = [[row, precision.as_plain()] for row, precision in self.apart]
        data["claims"] = [[c.axiom, str(c.holds), c.because] for c in self.claims]
        return {"kind": "table explanation", "format": FORMAT, **plain(data, "table explanation")}

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back an equal explanation to the last bit."""
        return json.dumps(self.to_plain(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> TableExplanation:
        """Read what `to_json` wrote; anything else is refused."""
        data = fields_of(cls, read_object(text, "table explanation"), "table explanation", FORMAT)
        with damaged("table explanation"):
            listed(
                data, "players", "outputs", "credit", "base", "prediction", "values", "rows", "claims", "notes", "apart"
            )
            data["rows"] = [checked_text(name, "rows") for name in data["rows"]]
            for name in ("precision", "pairs_precision"):
                data[name] = Precision.from_plain(data[name])
            data["apart"] = tuple(_row_apart(entry) for entry in data["apart"])
            data["claims"] = tuple(Claim.from_plain(claim) for claim in data["claims"])
            return cls(**data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableExplanation) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained page: all columns over all rows, then any row."""
        put(check_writable(path), drawings().to_page(self).encode())


def _over_rows(sizes: FloatArray) -> tuple[FloatArray, FloatArray | None, Precision]:
    """Means over rows, (rows, …) -> (…), and Student's interval for the mean over such rows, (…, 2); sizes are not negative."""
    from scipy.stats import t

    count, mean = len(sizes), sizes.mean(axis=0)
    if count == 1:
        return mean, None, Precision.unknown("one row says nothing about others")
    reach = t.ppf((1 + defaults.LEVEL) / 2, count - 1) * sizes.std(axis=0, ddof=1) / np.sqrt(count)
    because = f"Student's t over {count} rows, as if they were drawn at random"
    return mean, np.stack([np.maximum(mean - reach, 0.0), mean + reach], axis=-1), Precision.interval(because)


def _row_apart(entry: Any) -> tuple[int, Precision]:
    """A row whose numbers are known in another way, as it is written: its position, and how."""
    if not isinstance(entry, list) or len(entry) != 2:
        raise InvalidInput(f"apart holds {shown(entry)}; an entry is a row's position and how its numbers are known")
    return entry[0], Precision.from_plain(entry[1])
