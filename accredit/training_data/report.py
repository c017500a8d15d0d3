"""Two questions about training data, from one reading of a file: which labels are wrong, and what is each row worth?"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accredit.checks.json_data import cell, plain
from accredit.core import Attribution
from accredit.errors import InvalidInput
from accredit.evaluate.data import Curve
from accredit.labels.find import wrong_labels
from accredit.labels.result import WrongLabels
from accredit.labels.wrong_numbers import wrong_numbers
from accredit.training_data.suspects import Harmful, RowFacts
from accredit.training_data.tables import Table
from accredit.valuation.purchases import Purchases


@dataclass(frozen=True, eq=False)
class Valuation:
    """What each row, or group of rows, is worth."""

    values: Attribution
    harmful: tuple[Harmful, ...]  # rows that the model does better without
    curves: tuple[Curve, ...]
    payoff: str  # what is divided, in words
    trained: int  # payoffs evaluated in this run
    recalled: int  # payoffs found in the journal
    synergy: tuple[tuple[tuple[str, ...], float], ...] = ()  # pairs of groups, Shapley interaction, strongest first
    silent: str = ""  # why no row is called harmful: the features say nothing about the labels
    warnings: tuple[str, ...] = ()  # what makes the values doubtful
    rows: RowFacts = field(default_factory=lambda: RowFacts({}, {}))  # labels and texts of the rows, for whoever shows them
    purchases: Purchases | None = None  # what to buy for every amount of money, where groups have prices

    def to_plain(self) -> dict[str, object]:
        """Everything, as JSON types."""
        data = {
            "kind": "valuation",
            "format": 3,
            "payoff": self.payoff,
            "trained": self.trained,
            "recalled": self.recalled,
            "values": json.loads(self.values.to_json()),
            "harmful": [vars(row) for row in self.harmful],
            "silent": self.silent,
            "warnings": self.warnings,
            "synergy": [{"pair": pair, "index": index} for pair, index in self.synergy],
            "purchases": None if self.purchases is None else self.purchases.to_plain(),
            "curves": [{"label": c.label, "fractions": c.fractions, "payoffs": c.payoffs} for c in self.curves],
        }
        return dict(plain(data, "valuation"))

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(self.to_plain(), ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class DataReport:
    """The answers to both questions, each by itself."""

    labels: WrongLabels | None  # None: not asked, or it cannot be answered
    worth: Valuation | None  # None: not asked
    unanswered: str = ""  # why there is no answer about labels, where it was asked
    notes: tuple[str, ...] = ()  # what was cut, or not known, on the way to the features

    def to_json(self) -> str:
        """Everything, as JSON."""
        data = {
            "kind": "training data",
            "format": 1,
            "wrong_labels": None if self.labels is None else self.labels.to_plain(),
            "unanswered": self.unanswered,
            "worth": None if self.worth is None else self.worth.to_plain(),
            "notes": list(self.notes),
        }
        return json.dumps(data, ensure_ascii=False)


def labels_of(table: Table, seed: int = 0, watch: Callable[[float], None] | None = None) -> WrongLabels:
    """Which labels, or numbers, of the file are wrong? All its rows are judged, those set aside for testing among them."""
    whole = table.whole
    if table.data.classes is None:
        found = wrong_numbers(
            np.array(whole.labels, dtype=np.float64),
            texts=whole.texts,
            features=whole.views or None,
            names=whole.names,
            excerpts=whole.shown,
            seed=seed,
            watch=watch,
        )
        return replace(found, notes=(*found.notes, "the target is judged as a number; write task='class' if it is one"))
    return wrong_labels(
        whole.labels,
        texts=whole.texts,
        features=whole.views or None,
        names=whole.names,
        annotators=whole.annotators,
        excerpts=whole.shown,
        seed=seed,
        watch=watch,
    )


def labels_part(
    table: Table, only: str | None = None, seed: int = 0, watch: Callable[[float], None] | None = None
) -> DataReport:
    """The first question, unless `only` is "values". Why it has no answer is noted, or raised where it alone is asked."""
    if only == "values":
        return DataReport(None, None, notes=table.notes)
    try:
        return DataReport(labels_of(table, seed, watch), None, notes=table.notes)
    except InvalidInput as error:
        if only == "labels":
            raise
        return DataReport(None, None, str(error), table.notes)


def labels_csv(found: WrongLabels) -> str:
    """One line per label, most suspect first: what it would rather be, how likely it is wrong, and whether it is listed."""
    lines, listed = [["row", "label", "suggested", "probability_wrong", "listed"]], set(found.suspects)
    for i in found.ranking.tolist():
        words = [cell(word) for word in (found.names[i], found.given[i], found.suggested[i])]
        chance = "" if found.probability is None else f"{found.probability[i]:.6f}"
        lines.append([*words, chance, "yes" if i in listed else "no"])
    return _write(lines)


def _write(lines: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def as_csv(report: Valuation, labels: Sequence[str] | None = None) -> str:
    """One line per player: credit, and stderr, low and high where known."""
    values = report.values
    extra: dict[str, list[str] | list[float]] = {}
    if labels is not None and len(labels) == len(values):
        extra["label"] = [cell(label) for label in labels]
    if values.stderr is not None:
        extra["stderr"] = values.stderr.tolist()
    if values.interval is not None:
        extra |= {"low": values.interval[:, 0].tolist(), "high": values.interval[:, 1].tolist()}
    lines: list[Sequence[object]] = [["player", "credit", *extra]]
    for i in np.argsort(-values.credit, kind="stable").tolist():
        lines.append([cell(values.players[i]), float(values.credit[i]), *(column[i] for column in extra.values())])
    return _write(lines)
