"""Which labels are wrong: the list, what to expect of it, and what was seen beside it. As JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from accredit.checks.json_data import fields_of, plain
from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.labels.annotators import Annotator, Consensus
from accredit.labels.duplicates_outliers import Oddities

EXCERPT = 200  # characters
NOBODY = "nobody is accused: "  # before the reason
KIND, LABELS_FORMAT = "wrong labels", 4  # of the JSON


@dataclass(frozen=True)
class Evidence:
    """How well one model, or all together, tell a label that is moved at random from one as given: ROC area, ½ being chance."""

    score: str
    area: float


@dataclass(frozen=True)
class Confusion:
    """One class that is written as another."""

    true: str
    given: str
    share: float  # of the rows that truly are of the first class
    rows: float  # expected number of them

    def __str__(self) -> str:
        return f"{self.true} labelled {self.given}: {self.share:.0%}"


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """Suspects and what is known about the list.

    >>> from accredit.labels import wrong_labels
    >>> y = np.arange(60) % 2
    >>> x = np.random.default_rng(0).normal(size=(60, 2)) + 6 * y[:, None]
    >>> y[0] = 1
    >>> found = wrong_labels(y, features=x)
    >>> found.suspects[0], found.given[0], found.suggested[0]
    (0, '1', '0')
    """

    names: tuple[str, ...]  # of all rows
    given: tuple[str, ...]  # their labels
    suggested: tuple[str, ...]  # what out-of-fold models would say instead
    probability: FloatArray | None  # (N,), that each label is wrong; None: nobody is accused, the features say nothing
    suspects: tuple[int, ...]  # rows of the list, most suspect first; empty where nobody is accused
    rate: float | None  # estimated share of wrong labels among all rows, if any is wrong
    rate_interval: tuple[float, float] | None  # 90 %; from 0 on, where all labels may be right
    precision: float | None  # expected share of the list that is wrong; None: there is no list
    precision_interval: tuple[float, float] | None  # 90 %
    confusions: tuple[Confusion, ...]  # which class is written as which, most rows first
    evidence: tuple[Evidence, ...]  # of all models together, then of each, best first
    agreement: float  # share of rows whose label out-of-fold models predict
    majority: float  # share of the largest class
    verdict: str  # in words
    oddities: Oddities  # near-duplicates and outliers
    seen_as: tuple[str, ...]  # the views by which labels were judged
    notes: tuple[str, ...] = ()  # what is odd about the labels, or was not tried
    annotators: tuple[Annotator, ...] = ()  # the worst first, where it is known who gave which label
    consensus: tuple[Consensus, ...] = ()  # of rows that several annotators labelled
    excerpts: Mapping[str, str] = field(default_factory=dict)  # how the rows named here look
    rows: tuple[str, ...] = ()  # names of the rows, where `names` are of single labels of them; oddities count rows

    @property
    def may_be_clean(self) -> bool:
        """Whether hard rows explain all that is seen as well as wrong labels do."""
        return self.rate_interval is not None and self.rate_interval[0] == 0

    @property
    def refusal(self) -> str:
        """Why nobody is accused; empty where somebody may be."""
        return "" if self.probability is not None else self.verdict.removeprefix(NOBODY)

    @property
    def is_of_numbers(self) -> bool:
        """Whether targets are numbers, which have no largest class."""
        return self.majority == 0

    @property
    def ranking(self) -> IntArray:
        """All rows, most suspect first; in their own order where nobody is accused."""
        return np.argsort(np.zeros(len(self.names)) if self.probability is None else -self.probability, kind="stable")

    def to_plain(self) -> dict[str, object]:
        """Everything, as JSON types."""
        data = dict(vars(self)) | {
            "kind": KIND,
            "format": LABELS_FORMAT,
            "oddities": vars(self.oddities),
        }
        data |= {
            name: [vars(one) for one in getattr(self, name)] for name in ("evidence", "confusions", "annotators", "consensus")
        }
        return dict(plain(data, KIND))

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(self.to_plain(), ensure_ascii=False)

    @classmethod
    def from_plain(cls, data: Mapping[str, object]) -> WrongLabels:
        """What `to_plain` gave."""
        if data.get("kind") != KIND:
            raise InvalidInput(f"expected {KIND!r}, got {data.get('kind')!r}; write it with .to_json()", code="type")
        known = fields_of(cls, data, KIND, LABELS_FORMAT)
        known |= {
            name: _tuples(known[name]) for name in ("names", "given", "suggested", "suspects", "notes", "seen_as", "rows")
        }
        for name, kind in (
            ("evidence", Evidence),
            ("confusions", Confusion),
            ("annotators", Annotator),
            ("consensus", Consensus),
        ):
            known[name] = tuple(kind(**one) for one in known[name])
        known["oddities"] = Oddities(**{name: _tuples(rows) for name, rows in known["oddities"].items()})
        for name, made in (("probability", np.array), ("precision_interval", tuple), ("rate_interval", tuple)):
            known[name] = None if known[name] is None else made(known[name])
        return cls(**known)

    def odd_row(self, row: int) -> tuple[str, str]:
        """Name and label of a row that `oddities` counts: of several labels what they say together, of tags none."""
        if not self.rows:
            return self.names[row], self.given[row]
        return self.rows[row], self.consensus[row].label if self.consensus else ""

    def expected(self, size: int) -> float | None:
        """The expected share of wrong labels among the `size` most suspect rows; None where nobody is accused."""
        if not 1 <= size <= len(self.names):
            raise InvalidInput(f"size must be from 1 to {len(self.names)}, got {size!r}", argument="size", code="range")
        return None if self.probability is None else float(self.probability[self.ranking[:size]].mean())


def _tuples(rows: Sequence[object]) -> tuple[Any, ...]:
    return tuple(tuple(row) if isinstance(row, list) else row for row in rows)


def expected_of(size: int, precision: float | None, interval: tuple[float, float] | None) -> str:
    """What to expect of a list, in words; nothing, where there is none. Where all of it may be right, no share is expected.

    >>> expected_of(84, 0.6, (0.24, 0.9))
    'of the 84 listed, about 60% (90% interval 24% to 90%) should really be wrong'
    >>> expected_of(9, 0.6, (0.0, 0.9))
    'of the 9 listed, none to 90% may be wrong'
    """
    if precision is None or interval is None:
        return ""
    low, high = interval
    if not low:
        return f"of the {size} listed, none to {high:.0%} may be wrong"
    return f"of the {size} listed, about {precision:.0%} (90% interval {low:.0%} to {high:.0%}) should really be wrong"


def with_excerpts(found: WrongLabels, shown: Sequence[str] | None, row_of: Sequence[int] | None = None) -> WrongLabels:
    """The same with the beginning of every row that it names, as `shown` has them. `row_of` says to which row each label
    belongs, where a row has several."""
    if shown is None:
        return found
    odd = found.oddities
    odd_rows = {*odd.outliers, *(row for pair in odd.duplicates for row in pair)}
    lines = {found.names[label]: _line(shown[label if row_of is None else row_of[label]]) for label in sorted(found.suspects)}
    return replace(found, excerpts=lines | {found.odd_row(row)[0]: _line(shown[row]) for row in sorted(odd_rows)})


def _line(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 2 * EXCERPT].split())[:EXCERPT]
