"""Training data on a terminal: which labels are wrong, what each row is worth, and removal curves in eight heights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, Known
from accredit.evaluate.data import Curve
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import ROWS_LISTED, Harmful, RowFacts, Sureness, judges_rows
from accredit.valuation.certainty import FALSE_HARMFUL, covers_test_rows
from accredit.valuation.harmonics import READING
from accredit.valuation.purchases import Purchase, Purchases
from accredit.views.language.numbers import BRIEF, between
from accredit.views.language.phrases import PAIRS, leaders
from accredit.views.language.printable import excerpt, printable
from accredit.views.terminal.columns import table
from accredit.views.terminal.labels_text import labels_text
from accredit.views.terminal.text import facts, text

if TYPE_CHECKING:
    pass

QUESTION = "What is each row worth?"
WORTH = "worth"  # what the number of a row is called
HARMFUL = {
    Sureness.SURE: "The model does better without these rows: their worth is below zero beyond what other test rows would "
    f"change. On average, at most {FALSE_HARMFUL:.0%} of the rows named are named wrongly.",
    Sureness.CANNOT_TELL: "These rows have the lowest worth: below zero, and far below that of the others. Whether other test "
    "rows would say so is not known.",
}
BEST_SO_FAR = "has the highest worth, though not surely"
MOST_ROWS = 0.9  # of a group: a copy has so many rows of another
PURCHASES = "What to buy: the best of all sets of groups for the money"
LISTED = f"The worst are listed, {ROWS_LISTED} at most; they need not be labelled wrongly."
SHOWN = 20  # players in the terminal
TEXT = 48  # characters of a row's text
DOTS = "▁▂▃▄▅▆▇█"


def report_text(report: DataReport, rows: int = SHOWN) -> str:
    """Both answers for a terminal, each under its question."""
    parts = []
    if report.labels is not None or report.unanswered:
        parts.append("\n".join(labels_text(report.labels, report.unanswered)))
    if report.worth is not None:
        parts.append(f"{QUESTION.upper()}\n{valuation_text(report.worth, rows)}")
    if report.notes:
        parts.append("\n".join(f"note: {printable(note)}" for note in report.notes))
    return "\n\n".join(parts)


def valuation_text(report: Valuation, rows: int = SHOWN) -> str:
    """What the rows are worth, for a terminal."""
    lines = [f"payoff: {report.payoff}", *(f"warning: {w}" for w in report.warnings), *_rank(report, rows)]
    if said := harm_words(report.values, report.harmful, report.rows):
        lines += ["", said]
    if report.harmful:
        cells = [[s.player, printable(s.label), round_off(s.credit), str(s.surely)] for s in report.harmful]
        head, *listed = table(["row", "label", WORTH, "certainty"], cells)
        texts = [excerpt(s.text, TEXT) for s in report.harmful]
        lines += [head, *(f"{line}  {text}".rstrip() for line, text in zip(listed, texts, strict=True))]
    if report.silent:
        lines += ["", f"no row is called harmful: {report.silent}"]
    if report.purchases is not None:
        header, cells = purchase_cells(report.purchases)
        lines += ["", PURCHASES, *table(header, cells, left=True), *redundancy(report.purchases)]
    if report.synergy:
        lines += ["", PAIRS]
        pairs = [[printable(" + ".join(pair)), round_off(index)] for pair, index in report.synergy]
        lines += table(["pair", "index"], pairs, [index for _, index in report.synergy])
    if report.curves:
        lines += ["", "payoff while players are removed, from all (left) to none (right)"]
        lines += table(["", "", "mean"], [[c.label, spark(c, report.curves), round_off(c.area)] for c in report.curves])
    if said := linear_words(report.values):
        lines += ["", said]
    if report.trained or report.recalled:
        found = f", {report.recalled:,} found in the journal" if report.recalled else ""
        lines.append(f"{report.trained:,} trainings paid for{found}")
    return "\n".join(lines)


def purchase_cells(found: Purchases) -> tuple[list[str], list[list[str]]]:
    """What to buy for every amount of money, as a table of words."""
    cells = []
    for one in found.best:
        ends = "" if one.payoff.precision.known is not Known.INTERVAL else between(*one.payoff.ends, BRIEF)
        cells.append([f"{one.price:g}", _sources(one.sources), round_off(one.payoff.value, BRIEF), ends, _surely(one)])
    return ["money", "buy", "payoff", "95% interval", "the best?"], cells


def _sources(names: Sequence[str]) -> str:
    return printable(" + ".join(names)) or "nothing"


def _surely(one: Purchase) -> str:
    if one.surely is None:
        return "cannot tell"
    if one.surely:
        return "surely"
    if one.instead is None:
        return "not surely"
    return f"not surely: {_sources(one.instead)} for {one.instead_price:g} may do"


def redundancy(found: Purchases) -> list[str]:
    """A sentence for every source that adds little beside another."""
    said = []
    for one in found.redundant:
        source, beside = printable(one.source), printable(one.beside)
        copies = one.copied >= MOST_ROWS
        rows = f"; {one.copied:.0%} of its rows are rows of {beside}, too" if one.copied else ""
        said.append(
            f"{source} {'is a copy of' if copies else 'adds little beside'} {beside}: there it adds "
            f"{one.adds_beside:.3f} on average, without {beside} {one.adds_without:.3f}{rows}."
        )
    return said


def harm_words(values: Attribution, harmful: Sequence[Harmful], rows: RowFacts) -> str:
    """What is said of rows that do harm, or of there being none that surely do; empty where it was not asked.

    >>> harm_words(Attribution(("a", "b"), [1.0, -1.0], None, "by hand"), (), RowFacts({}, {}))
    ''
    """
    if harmful:
        return f"{HARMFUL[harmful[0].surely]} {LISTED}"
    if not judges_rows(rows) or not covers_test_rows(values):
        return ""
    below = int((values.credit < -values.rounding).sum())
    if not below:
        return "No row is worth less than nothing."
    return (
        f"No row is surely harmful: {below:,} of {len(values):,} are below zero, none beyond what other test rows might say. "
        "More test rows would tell."
    )


def leaders_words(values: Attribution, harmful: Sequence[Harmful]) -> str:
    """Who is worth most and who least, in a sentence; that somebody is the best, or does harm, only where that is sure."""
    surely = any(row.surely is Sureness.SURE for row in harmful)
    alone = values.interval is None
    if values.interval is not None:
        first = int(np.argmax(values.credit))
        alone = bool((np.delete(values.interval[:, 1], first) < values.interval[first, 0]).all())
    return leaders(values, "is worth most" if alone else BEST_SO_FAR, "does most harm" if surely else "is worth least")


def linear_words(values: Attribution) -> str:
    """How much of what the model learns is linear in who takes part, where a datamodel read it; else empty."""
    found = values.certificate.get(READING)
    if not found:
        return ""
    linear, pairs = (_share(*found[degree]) for degree in ("linear", "pairs"))
    return (
        f"Of the variance over {found['subsets']:,} random parts, each player in them with chance {found['fraction']:g}, "
        f"{linear} is linear in who takes part, which is all that these scores can predict; {pairs} is of pairs. The rest "
        f"is of more players together, or noise of training. Intervals of {found['level']:.0%}."
    )


def _share(value: float, low: float, high: float) -> str:
    """A share as far as it is known: an estimate without bias may lie outside of 0 to 1, where no share does.

    >>> _share(0.988, 0.749, 1.23), _share(-0.2, -1.6, 1.2)
    ('0.988 (0.75 … 1.00)', 'an unknown share')
    """
    if low <= 0 and high >= 1:
        return "an unknown share"
    value, low, high = (min(max(number, 0.0), 1.0) for number in (value, low, high))
    return f"{round_off(value, BRIEF)} ({between(low, high, BRIEF)})"


def _rank(report: Valuation, rows: int) -> list[str]:
    """The highest and the lowest credits, and what is known about them."""
    values = report.values.ranked()
    if len(values) <= rows:
        return [text(values, rows)]
    low = rows // 3
    kept = values[[*range(rows - low), *range(len(values) - low, len(values))]]
    lines = text(kept, rows).split("\n")
    lines[0] = text(values, 1).split("\n")[0]
    ends = 2 + rows - low
    return [*lines[:ends], f"… {len(values) - rows} more …", *lines[ends : 2 + rows], *facts(values)]


def spark(curve: Curve, among: Sequence[Curve]) -> str:
    """A curve in eight heights, on the scale of all curves."""
    low, high = extent_of(among)
    heights = (curve.payoffs - low) / ((high - low) or 1.0)
    return "".join(DOTS[min(7, int(8 * h))] for h in heights)


def extent_of(curves: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest payoff of all curves."""
    every = np.concatenate([c.payoffs for c in curves])
    return float(every.min()), float(every.max())
