"""Training data on a terminal: which labels are wrong, what each row is worth, and removal curves in eight heights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, Known
from accredit.evaluate.data import Curve
from accredit.training_data.report import DataReport, Valuation
from accredit.training_data.suspects import ROWS_LISTED, Harmful, RowFacts, Sureness, judges_rows
from accredit.valuation.certainty import FALSE_HARMFUL, covers_test_rows
from accredit.valuation.harmonics import READING
from accredit.valuation.purchases import Purchase, Purchases
from accredit.views.language.headlines import purchase_headline, worth_headline
from accredit.views.language.numbers import BRIEF, between
from accredit.views.language.phrases import PAIRS
from accredit.views.language.printable import excerpt, printable, width
from accredit.views.terminal.columns import table
from accredit.views.terminal.labels_text import labels_text
from accredit.views.terminal.screen import ROWS_OF_A_SCREEN, WIDTH, clip, fold, fold_all, screen
from accredit.views.terminal.text import credit_table, facts

WORTH = "worth"  # what the number of a row is called
HARMFUL = {
    Sureness.SURE: "The model does better without these rows: their worth is below zero beyond what other test rows would "
    f"change. On average, at most {FALSE_HARMFUL:.0%} of the rows named are named wrongly.",
    Sureness.CANNOT_TELL: "These rows have the lowest worth: below zero, and far below that of the others. Whether other test "
    "rows would say so is not known.",
}
PURCHASES = "What to buy: the best of all sets of groups for the money"
LISTED = f"The worst are listed, {ROWS_LISTED} at most; they need not be labelled wrongly."
SHOWN = 20  # players in the terminal
TEXT = 48  # characters of a row's text
LEAST_TEXT = 16  # characters, below which a text beside a table says nothing
DOTS = "▁▂▃▄▅▆▇█"


def report_text(report: DataReport, rows: int = SHOWN, more: bool = True) -> str:
    """Both answers for a terminal: each in a sentence, then its table; what else is known, on request."""
    answers: list[tuple[str, list[str], list[str]]] = []
    rows = rows if more else ROWS_OF_A_SCREEN - 2
    if report.labels is not None or report.unanswered:
        answers.append(labels_text(report.labels, report.unanswered, rows))
    if report.worth is not None:
        answers.append(_worth(report.worth, rows if more or not answers else rows // 2))
    if report.labels is None or (report.worth is not None and report.worth.purchases is not None):  # what was asked comes first
        answers.reverse()
    (first, body, details), *others = answers
    warnings = [f"warning: {w}" for w in (report.worth.warnings if report.worth is not None else ())]
    warnings += [f"note: {note}" for note in report.notes]  # what was cut, moved, left out or gives the label away
    if more and others:
        body, details = [*body, *fold_all(details)], []
    for said, lines, told in others:
        body, details = [*body, "", *fold(said), *lines], [*details, *told]
    return screen(first, body, details, more, warnings)


def _worth(report: Valuation, rows: int) -> tuple[str, list[str], list[str]]:
    """What the rows are worth: the answer, the table and what goes with it, what else is known."""
    lines = ["", *_rank(report, rows)]
    details = [f"payoff: {report.payoff}", *facts(report.values)]
    if said := harm_words(report.values, report.harmful, report.rows):
        details.append(said)
    if report.harmful:
        cells = [[s.player, printable(s.label), round_off(s.credit), str(s.surely)] for s in report.harmful]
        head, *listed = table(["row", "label", WORTH, "certainty"], cells)
        texts = [excerpt(s.text, TEXT) for s in report.harmful]
        lines += ["", head, *clip(f"{line}  {text}".rstrip() for line, text in zip(listed, texts, strict=True))]
    if report.silent:
        details.append(f"no row is called harmful: {report.silent}")
    if report.purchases is not None:
        header, cells = purchase_cells(report.purchases)
        lines += ["", PURCHASES, *clip(table(header, cells, left=True)), *fold_all(redundancy(report.purchases))]
    if report.synergy:
        pairs = [[printable(" + ".join(pair)), round_off(index)] for pair, index in report.synergy]
        lines += ["", *fold(PAIRS), *clip(table(["pair", "index"], pairs, [index for _, index in report.synergy]))]
    if report.curves:
        lines += ["", "payoff while players are removed, from all (left) to none (right)"]
        lines += table(["", "", "mean"], [[c.label, spark(c, report.curves), round_off(c.area)] for c in report.curves])
    if said := linear_words(report.values):
        details.append(said)
    if report.trained or report.recalled:
        found = f", {report.recalled:,} found in the journal" if report.recalled else ""
        details.append(f"{report.trained:,} trainings paid for{found}")
    return first_words(report), lines, details


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
        rows = f"; {one.copied:.0%} of its rows are rows of {beside}, too" if one.copied else ""
        said.append(
            f"{source} {'is a copy of' if one.is_copy else 'adds little beside'} {beside}: there it adds "
            f"{one.adds_beside:.3f} on average, without {beside} {one.adds_without:.3f}{rows}."
        )
        if one.is_copy:
            money = f"{found.prices[one.source]:g} for {source}, {found.prices[one.beside]:g} for {beside}"
            said[-1] += (
                f" Buy one of the two ({money}): what a copy adds, it adds by counting the same rows twice. No "
                "purchase holds both."
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
        "More test rows would tell; folds make every row a test row once."
    )


def first_words(report: Valuation) -> str:
    """What to buy, where there are prices; else who is worth more than the others, and how many rows do harm where that is
    sure."""
    if report.purchases is not None:
        return purchase_headline(report.purchases).text
    return leaders_words(report.values, report.harmful)


def leaders_words(values: Attribution, harmful: Sequence[Harmful]) -> str:
    """Who is worth more than the others, in a sentence, and how many rows do harm where that is sure."""
    return worth_headline(values, sum(row.surely is Sureness.SURE for row in harmful)).text


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
    """The highest and the lowest credits."""
    values = report.values.ranked()
    texts = {} if report.rows.groups else report.rows.texts
    who = "group" if report.rows.groups else "row"
    if len(values) <= rows:
        return _beside_texts(credit_table(values, rows, who), values.players, texts)
    low = rows // 3
    kept = values[[*range(rows - low), *range(len(values) - low, len(values))]]
    lines = _beside_texts(credit_table(kept, rows, who), kept.players, texts)
    ends = 1 + rows - low
    return [*lines[:ends], f"… {len(values) - rows} more …", *lines[ends:]]


def _beside_texts(lines: Sequence[str], players: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Every line of a table with the text of its row, where there is room; the first line is the header.

    >>> _beside_texts(["row    credit", "row 1  0.5"], ["row 1"], {"row 1": "A gripping film."})
    ['row    credit', 'row 1  0.5     A gripping film.']
    """
    room = max(map(width, lines))
    if not texts or room > WIDTH - LEAST_TEXT:
        return list(lines)
    said = [excerpt(texts.get(player, ""), TEXT) for player in players]
    return [
        lines[0],
        *clip(f"{line}{' ' * (room - width(line))}  {text}".rstrip() for line, text in zip(lines[1:], said, strict=True)),
    ]


def spark(curve: Curve, among: Sequence[Curve]) -> str:
    """A curve in eight heights, on the scale of all curves."""
    low, high = extent_of(among)
    heights = (curve.payoffs - low) / ((high - low) or 1.0)
    return "".join(DOTS[min(7, int(8 * h))] for h in heights)


def extent_of(curves: Sequence[Curve]) -> tuple[float, float]:
    """The lowest and the highest payoff of all curves."""
    every = np.concatenate([c.payoffs for c in curves])
    return float(every.min()), float(every.max())
