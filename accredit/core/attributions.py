"""The result of a method that shares several payoffs at once: one attribution per output."""

from __future__ import annotations

import json
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from accredit.checks.json_data import damaged, fields_of, read_list, read_object
from accredit.checks.lazy import needs
from accredit.checks.numbers import FloatArray, optional_whole, shown
from accredit.core.attribution import FORMAT, Attribution, largest
from accredit.core.display import Drawn
from accredit.core.game import check_names
from accredit.core.games import output_index
from accredit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Attributions(Drawn):
    """Credit of the same players in several outputs, from one set of evaluations: output -> `Attribution`.

    >>> shares = [Attribution(("alice", "bob"), credit, 10, "by hand") for credit in ([6, 4], [9, 1])]
    >>> grades = Attributions(dict(zip(("maths", "music"), shares)), payoffs=4)
    >>> grades["music"]["alice"], grades.credit.tolist()
    (9.0, [[6.0, 9.0], [4.0, 1.0]])
    >>> Attributions.from_json(grades.to_json()) == grades
    True
    """

    by_output: Mapping[str, Attribution]
    payoffs: int | None = None  # coalitions asked of the game, once for all outputs

    def __post_init__(self) -> None:
        if not isinstance(self.by_output, Mapping):
            raise InvalidInput(
                f"by_output is {shown(self.by_output)}; write a mapping from output to Attribution",
                argument="by_output",
                code="type",
            )
        outputs = check_names(list(self.by_output), "outputs")
        for name, credit in self.by_output.items():
            if not isinstance(credit, Attribution):
                raise InvalidInput(
                    f"by_output[{name!r}] is {shown(credit)}; give an Attribution", argument="by_output", code="type"
                )
        object.__setattr__(self, "payoffs", optional_whole(self.payoffs, "payoffs", 0))
        first = self.by_output[outputs[0]]
        for name in outputs:
            if self.by_output[name].players != first.players:
                raise InvalidInput(
                    f"outputs {outputs[0]!r} and {name!r} have different players; they must be the same",
                    argument="by_output",
                    code="conflict",
                )
        object.__setattr__(self, "by_output", dict(self.by_output))

    @property
    def players(self) -> tuple[str, ...]:
        return next(iter(self.by_output.values())).players

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.by_output)

    @property
    def credit(self) -> FloatArray:
        """One row per player, one column per output: (n, k)."""
        return np.column_stack([one.credit for one in self.by_output.values()])

    def __getitem__(self, output: str) -> Attribution:
        """The credit in one output."""
        return self.by_output[self.outputs[output_index(self.outputs, output)]]

    def __len__(self) -> int:
        return len(self.by_output)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_output)

    def keys(self) -> tuple[str, ...]:
        """The outputs."""
        return self.outputs

    def items(self) -> ItemsView[str, Attribution]:
        """Output and its attribution."""
        return self.by_output.items()

    def ranked(self, output: str) -> Attributions:
        """The same credit, with the players in the order of one output: highest first."""
        return self._pick(largest(self[output].credit, len(self.players)))

    def top(self, count: int) -> Attributions:
        """The `count` players whose credit is largest by magnitude in any output, largest first."""
        return self._pick(largest(np.abs(self.credit).max(axis=1), count))

    def _pick(self, rows: list[int]) -> Attributions:
        return Attributions({name: one[rows] for name, one in self.items()}, self.payoffs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attributions):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> str:
        """Everything, as JSON; `from_json` gives back equal attributions to the last bit."""
        each = [[name, one._as_plain()] for name, one in self.items()]
        data = {"kind": "attributions", "format": FORMAT, "payoffs": self.payoffs, "by_output": each}
        return json.dumps(data, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Attributions:
        """Read what `to_json` wrote; anything else is refused."""
        data = fields_of(cls, read_object(text, "attributions"), "attributions", FORMAT, before=True)
        with damaged("attributions"):
            read_list(data, "by_output")
            pairs = [_pair(entry) for entry in data["by_output"]]
            check_names([name for name, _ in pairs], "outputs")
            return cls({name: Attribution.from_plain(one) for name, one in pairs}, data["payoffs"])

    def to_pandas(self) -> pandas.DataFrame:
        """One row per player, one column of credit per output."""
        with needs("data", "to_pandas"):
            import pandas
        columns = pandas.Index(self.outputs, name="output")
        return pandas.DataFrame(self.credit, index=pandas.Index(self.players, name="player"), columns=columns)


def _pair(entry: object) -> tuple[str, Mapping[str, object]]:
    """[output, attribution] from JSON."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], dict):
        raise InvalidInput(
            f"by_output holds {shown(entry)}; an entry is [output, attribution]", argument="by_output", code="type"
        )
    return entry[0], entry[1]


def gather(answers: Mapping[str, Answer], payoffs: int) -> Attributions | dict[str, Answer]:
    """Answers by output: `Attributions` where each is an attribution, else a plain mapping.

    `payoffs` counts what was asked; games that know their table are not asked, and each answer says how much it read.
    """
    credit = {name: answer for name, answer in answers.items() if isinstance(answer, Attribution)}
    if len(credit) == len(answers):
        return Attributions(credit, payoffs or max(one.payoffs or 0 for one in credit.values()))
    return dict(answers)
