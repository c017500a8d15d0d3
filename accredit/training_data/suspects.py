"""Who is suspect, decided here for the command, the page and the JSON: of a wrong label, or of doing harm.

These are two questions. A row that the model does better without need not be labelled wrongly, and a wrong label need not do
harm; neither list is drawn up from the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from accredit.core import Attribution
from accredit.core.statistics import ALIKE
from accredit.labels.result import WrongLabels

ROWS_LISTED, FEWEST_ROWS = 20, 10  # rows that are listed; rows that it takes to find a middle and a spread
OUTSTANDING = 2.0  # standard deviations below the middle


class Sureness(StrEnum):
    """Is the credit below zero beyond its own error?"""

    SURE = "sure"  # it is exact, or its whole interval is below zero
    UNSURE = "unsure"  # the interval reaches zero
    CANNOT_TELL = "cannot tell"  # the result has no interval


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
    text: str = ""  # what the row says, where it is a text


@dataclass(frozen=True)
class RowFacts:
    """What is known of the rows of a run: their labels and texts by name, and the groups that play."""

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
    """Rows with negative credit far below the middle, worst first. Only single rows of a class are named, it takes ten of them
    to tell what is usual, and nobody is named where the features say nothing about the labels.

    >>> values = Attribution(tuple("abcdefghij"), [1, 2, 1, 2, 1, -9, 2, 1, 2, 1], None, "by hand")
    >>> harmful(values, RowFacts({"f": "spam"}, {}))
    (Harmful(player='f', credit=-9.0, surely=<Sureness.CANNOT_TELL: 'cannot tell'>, label='spam', text=''),)
    >>> harmful(values, RowFacts({"f": "spam"}, {}, silent="these features are at chance"))
    ()
    """
    if values is None or len(values) < FEWEST_ROWS or facts.groups is not None or not facts.classes or facts.silent:
        return ()
    middle = float(np.median(values.credit))
    spread = 1.4826 * float(np.median(np.abs(values.credit - middle)))  # a standard deviation, if most rows are alike
    bound = min(-ALIKE * float(np.abs(values.credit).max()), middle - OUTSTANDING * spread)  # rounding accuses nobody
    worst = [values.players[i] for i in np.argsort(values.credit, kind="stable")[:ROWS_LISTED] if values.credit[i] < bound]
    return tuple(
        Harmful(name, values[name], sureness(values, name), facts.labels.get(name, ""), facts.texts.get(name, ""))
        for name in worst
    )


def sureness(values: Attribution, player: str) -> Sureness:
    """How surely a player's credit is below zero."""
    below = values.estimate(player).below(0.0)
    return Sureness.CANNOT_TELL if below is None else Sureness.SURE if below else Sureness.UNSURE
