"""Which labels are wrong: the list, what to expect of it, and what was seen beside it. As JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from accredit.checks.json_data import fields_of, plain
from accredit.core import FloatArray
from accredit.errors import InvalidInput
from accredit.labels.duplicates_outliers import Oddities

EXCERPT = 200  # characters
KIND, LABELS_FORMAT = "wrong labels", 2  # of the JSON


@dataclass(frozen=True)
class Evidence:
    """How well one score found the planted flips: the area under the ROC curve, ½ being chance."""

    score: str
    area: float
    stderr: float  # over plantings


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
    suspicion: FloatArray  # (N,), 1 for the most suspect row, 0 for the least: a rank
    suspects: tuple[int, ...]  # rows of the list, most suspect first; empty where nobody is accused
    rate: float | None  # estimated share of wrong labels among all rows
    chosen: str  # the score that ranks
    evidence: tuple[Evidence, ...]  # all scores tried on planted flips, best first
    agreement: float  # share of rows whose label out-of-fold models predict
    majority: float  # share of the largest class, what they must beat
    verdict: str  # in words
    oddities: Oddities  # near-duplicates and outliers
    seen_as: tuple[str, ...]  # the views by which labels were judged
    precision: float | None = None  # expected share of the list that is wrong; None: there is no list
    precision_interval: tuple[float, float] | None = None  # 90 %: of the rate, and of rows that are few
    left_out: tuple[str, ...] = ()  # what was not tried, and why
    precision_at: FloatArray | None = None  # (N,), by length of the list
    excerpts: Mapping[str, str] = field(default_factory=dict)  # how the texts of the rows named here begin

    def to_plain(self) -> dict[str, object]:
        """Everything, as JSON types."""
        data = dict(vars(self)) | {
            "kind": KIND,
            "format": LABELS_FORMAT,
            "evidence": [vars(e) for e in self.evidence],
            "oddities": vars(self.oddities),
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
        known |= {name: _tuples(known[name]) for name in ("names", "given", "suggested", "suspects", "left_out", "seen_as")}
        known["evidence"] = tuple(Evidence(**one) for one in known["evidence"])
        known["oddities"] = Oddities(**{name: _tuples(rows) for name, rows in known["oddities"].items()})
        known["suspicion"] = np.array(known["suspicion"], dtype=np.float64)
        for name, made in (("precision_at", np.array), ("precision_interval", tuple)):
            known[name] = None if known[name] is None else made(known[name])
        return cls(**known)

    def expected(self, size: int) -> float | None:
        """The expected share of wrong labels among the `size` most suspect rows; None where nobody is accused."""
        if not 1 <= size <= len(self.names):
            raise InvalidInput(f"size must be from 1 to {len(self.names)}, got {size!r}", argument="size", code="range")
        return None if self.precision_at is None else float(self.precision_at[size - 1])


def _tuples(rows: Sequence[object]) -> tuple[Any, ...]:
    return tuple(tuple(row) if isinstance(row, list) else row for row in rows)


def with_excerpts(found: WrongLabels, texts: Sequence[str] | None) -> WrongLabels:
    """The same with the beginning of every text that it names."""
    if texts is None:
        return found
    odd = found.oddities
    named = {*found.suspects, *odd.outliers, *(row for pair in odd.duplicates for row in pair)}
    return replace(found, excerpts={found.names[row]: _line(texts[row]) for row in sorted(named)})


def _line(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 2 * EXCERPT].split())[:EXCERPT]
