"""Who is suspect, decided here for the command, the page and the JSON: of a wrong label, or of doing harm.

These are two questions. A row that the model does better without need not be labelled wrongly, and a wrong label need not do
harm; neither list is drawn up from the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from accredit.core import Attribution, BoolArray
from accredit.core.statistics import ALIKE
from accredit.labels.result import WrongLabels
from accredit.valuation.certainty import below_zero

ROWS_LISTED, FEWEST_ROWS = 20, 10  # rows that are listed; rows that it takes to find a middle and a spread
OUTSTANDING = 2.0  # standard deviations below the middle


class Sureness(StrEnum):
    """Is the worth below zero beyond its own error, for all rows at once?"""

    SURE = "sure"  # below zero whichever test rows are drawn, but for a stated share of the rows that are named
    CANNOT_TELL = "cannot tell"  # the result has no interval, or one that does not cover the choice of test rows


@dataclass(frozen=True)
class Suspect:
    """A row whose label is likely wrong, and what it would rather be."""

    row: str
    given: str
    suggested: str
    probability: float = 0.0  # that the label is wrong
    text: str = ""  # how the row looks


@dataclass(frozen=True)
class Harmful:
    """A row that the model does better without."""

    player: str
    credit: float
    surely: Sureness
    label: str = ""
    text: str = ""  # what the row says, or its first cells


@dataclass(frozen=True)
class RowFacts:
    """What is known of the rows of a run: their labels, and texts or first cells, by name, and the groups that play."""

    labels: Mapping[str, str]
    texts: Mapping[str, str]
    groups: Mapping[str, Sequence[str]] | None = None
    classes: bool = True  # labels are classes, not numbers
    silent: str = ""  # why no row is named: the features say nothing about the labels

    @classmethod
    def of(cls, facts: Mapping[str, object], rows: Sequence[str]) -> RowFacts:
        """From what a journal keeps; a list that does not fit the rows is left out."""

        def by_row(key: str) -> dict[str, str]:
            listed = facts.get(key)
            if not isinstance(listed, Sequence) or len(listed) != len(rows):
                return {}
            return dict(zip(rows, map(str, listed), strict=True))

        groups = facts.get("groups")
        named = groups if isinstance(groups, Mapping) else None
        return cls(by_row("labels"), by_row("texts"), named, bool(facts.get("classes", True)), str(facts.get("silent", "")))


def suspects(found: WrongLabels) -> tuple[Suspect, ...]:
    """The rows of the list, most suspect first; nobody where nobody is accused."""
    chances = np.zeros(len(found.names)) if found.probability is None else found.probability
    return tuple(
        Suspect(found.names[i], found.given[i], found.suggested[i], float(chances[i]), found.excerpts.get(found.names[i], ""))
        for i in found.suspects
    )


def harmful(values: Attribution | None, facts: RowFacts) -> tuple[Harmful, ...]:
    """Rows that the model does better without, worst first. Only single rows of a class are named, and nobody where the
    features say nothing about the labels.

    Where the interval covers the choice of the test rows, these are the rows below zero beyond it (`below_zero`). Where
    nothing is known of that, they are the rows below zero that are far below the middle, if there are ten rows to tell what is
    usual.

    >>> values = Attribution(tuple("abcdefghij"), [1, 2, 1, 2, 1, -9, 2, 1, 2, 1], None, "by hand")
    >>> harmful(values, RowFacts({"f": "spam"}, {}))
    (Harmful(player='f', credit=-9.0, surely=<Sureness.CANNOT_TELL: 'cannot tell'>, label='spam', text=''),)
    >>> harmful(values, RowFacts({"f": "spam"}, {}, silent="these features are at chance"))
    ()
    """
    if values is None or not judges_rows(facts):
        return ()
    named = below_zero(values)
    surely = Sureness.CANNOT_TELL if named is None else Sureness.SURE
    below = _outstanding(values) if named is None else named
    worst = [values.players[i] for i in np.argsort(values.credit, kind="stable").tolist() if below[i]]
    return tuple(
        Harmful(name, values[name], surely, facts.labels.get(name, ""), facts.texts.get(name, ""))
        for name in worst[:ROWS_LISTED]
    )


def judges_rows(facts: RowFacts) -> bool:
    """Whether rows may be called harmful at all: single rows of a class, seen by features that say something."""
    return facts.groups is None and facts.classes and not facts.silent


def _outstanding(values: Attribution) -> BoolArray:
    """Who is below zero and far below the middle; rounding accuses nobody."""
    if len(values) < FEWEST_ROWS:
        return np.zeros(len(values), dtype=bool)
    middle = float(np.median(values.credit))
    spread = 1.4826 * float(np.median(np.abs(values.credit - middle)))  # a standard deviation, if most rows are alike
    return np.asarray(values.credit < min(-ALIKE * float(np.abs(values.credit).max()), middle - OUTSTANDING * spread))
