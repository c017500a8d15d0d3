"""An explanation on a terminal: the answer, the text in signed colours, methods side by side; then claims and seconds."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from typing import TextIO

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import Attribution, NoteKind
from accredit.explanation.result import Explanation
from accredit.models.encoded import visible
from accredit.views.language.headlines import SAID_FIRST, headline
from accredit.views.language.notation import LEGEND, claim_letters
from accredit.views.language.numbers import ROUNDING, fix, percent
from accredit.views.language.palette import DARK_INK, LIGHT_INK, shade, strength
from accredit.views.language.phrases import FLOW, costs, in_words, title
from accredit.views.language.printable import printable, short, width
from accredit.views.language.segments import segments
from accredit.views.terminal.screen import fold_painted, screen

NAME = 22  # cells of the longest player name shown
TEXT_LINES = 5  # of the text that one screen shows
HEAD = 12  # cells of a column's heading
WIDE = 80  # cells of the whole table; more methods go below
LABELS = 3  # labels of the prediction that are shown
TEXTS = ("first text", "second text")
MAP_WIDE, MAP_NARROW = 48, 18  # cells of a map on a terminal, and on one that a table follows
LITTLE, MUCH = 0.15, 0.5  # shares of the largest credit from which a cell has a light, and a heavy, sign
Paint = Callable[[str, float, float, bool], str]  # a sign, its value, the largest, whether values have a direction


def explanation_text(explanation: Explanation, rows: int, colour: bool, more: bool = True) -> str:
    """The whole explanation as lines of text: the answer, the picture, the table; then, on request, what each method is."""
    body: list[str] = []
    if explanation.attributions:
        if explanation.picture:
            drawn = picture_map(explanation, paint if colour else None, MAP_WIDE if more else MAP_NARROW)
        else:
            drawn = _paint(explanation, colour)
            if not more and len(drawn) > TEXT_LINES:
                drawn = [*drawn[: TEXT_LINES - 1], "…"]
        body = ["", *drawn, "", *_table(explanation, rows, colour, every=more)]
    whole = {method: [FLOW] for method in explanation.unsigned}
    details = [f"{m}: {in_words(result, *whole.get(m, []))}{_cost(explanation, m, result)}" for m, result in explanation]
    notes = [*explanation.notes, *(() if explanation.flow is None else explanation.flow.notes)]
    details += [str(note) for note in notes if note.kind not in (*SAID_FIRST, NoteKind.WARNING)]
    details += [_prediction(explanation), *another_target(explanation)]
    details += [f"claims: {LEGEND}"] * bool(explanation.attributions)
    warnings = [f"{method}: does not apply; {why}" for method, why in explanation.refused.items()]
    warnings += [str(note) for note in notes if note.kind is NoteKind.WARNING]
    return screen(headline(explanation).text, body, ["", *details], more, warnings)


def another_target(explanation: Explanation) -> list[str]:
    """How one of the other targets is asked for, where somebody reads who can type it."""
    return [f"One of them: explanation.of({printable(repr(name))}), in JSON under others." for name in explanation.others][:1]


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user did not refuse colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _prediction(explanation: Explanation) -> str:
    shown = [
        f"{printable(visible(label))} {percent(p, 1) if explanation.unit == 'probability' else round_off(p)}"
        for label, p in explanation.prediction[:LABELS]
    ]
    asked = f"credit is for the {explanation.payoff} of {printable(visible(explanation.target))}"
    return f"prediction: {', '.join(shown)}; {asked}" if shown else asked


def _paint(explanation: Explanation, colour: bool) -> list[str]:
    """The text, its players on the colours of the first method's credit; plain where there are no colours."""
    method, result = next(iter(explanation))
    largest, signed = float(np.abs(result.credit).max()), method not in explanation.unsigned

    def painted(part: int) -> str:
        pieces = []
        for segment in segments(explanation, part):
            shown = "\n".join(printable(line) for line in segment.text.split("\n"))
            if colour and segment.player is not None and segment.player in result.places:
                shown = paint(shown, result[segment.player], largest, signed)
            pieces.append(shown if segment.written else "")
        return "".join(pieces)

    if explanation.pair is None:
        return [line for written in painted(0).split("\n") for line in fold_painted(written)]
    return [line for part, name in enumerate(TEXTS) for line in fold_painted(f"{name + ':':<13}{painted(part)}")]


def paint(shown: str, value: float, largest: float, signed: bool = True) -> str:
    """Text on the colour of a value, for terminals with 24-bit colours."""
    if largest <= 0 or abs(value) < largest / 24:
        return shown
    background, white = shade(value, largest, signed=signed)
    ink = LIGHT_INK if white else DARK_INK
    return "\x1b[48;2;{};{};{};38;2;{};{};{}m".format(*background, *ink) + shown + "\x1b[0m"


def _table(explanation: Explanation, rows: int, colour: bool, every: bool = True) -> list[str]:
    """Players down, methods across, as many side by side as fit; below them what the credit adds up to, and claims. Methods
    that do not fit beside the first ones are left out unless `every` one is asked for."""
    names = _show_players(explanation, rows)
    left = max([width(_short(name)) for name in names] + [6])
    columns = [_Column(explanation, method, result, names) for method, result in explanation]
    lines: list[str] = []
    while columns:
        block = [columns.pop(0)]
        while columns and left + sum(c.width + 2 for c in [*block, columns[0]]) <= WIDE:
            block.append(columns.pop(0))
        lines += ([""] if lines else []) + _block(block, names, left, colour, headings(explanation, names), claims=every)
        if not every and columns:
            lines.append(f"also with --more: {', '.join(' '.join(column.head) for column in columns)}")
            break
    hidden = len(explanation.players) - len(set(explanation.players).intersection(names))
    return lines + ([f"… {hidden} more of smaller credit"] if hidden else [])


class _Column:
    """One method's numbers as cells."""

    def __init__(self, explanation: Explanation, method: str, result: Attribution, names: list[str]) -> None:
        self.head = textwrap.wrap(title(method).lower(), HEAD)
        self.largest = float(np.abs(result.credit).max())
        self.cells = [_number(result, name, self.largest) for name in names]
        self.values = [result[name] if name in result.places else 0.0 for name in names]
        self.signed = method not in explanation.unsigned
        self.feet = ["—" if result.total is None else _fix(float(result.credit.sum())), claim_letters(result)]
        self.width = max(width(cell) for cell in [*self.head, *self.cells, *self.feet])


def _block(
    columns: list[_Column], names: list[str], left: int, colour: bool, headings: dict[int, str], claims: bool = True
) -> list[str]:
    tall = max(len(column.head) for column in columns)
    heads = [[""] * (tall - len(column.head)) + column.head for column in columns]
    lines = [_row("", [pad(head[k], c.width) for head, c in zip(heads, columns, strict=True)], left) for k in range(tall)]
    for k, name in enumerate(names):
        lines += [f"{headings[k]}:"] if k in headings else []
        cells = [pad(column.cells[k], column.width) for column in columns]
        if colour:
            cells = [paint(x, c.values[k], c.largest, c.signed) for x, c in zip(cells, columns, strict=True)]
        lines.append(_row(_short(name), cells, left))
    lines += [""] if headings else []
    for k, foot in enumerate(("sum", "claims") if claims else ("sum",)):
        cells = [c.feet[k] for c in columns]
        if any(cell != "—" for cell in cells):  # the sum of scores would say nothing
            lines.append(_row(foot, [pad(cell, c.width) for cell, c in zip(cells, columns, strict=True)], left))
    return lines


def headings(explanation: Explanation, names: list[str]) -> dict[int, str]:
    """For a pair of texts, what stands above the rows at which each text, and the special tokens, begin."""
    if explanation.pair is None:
        return {}
    of = {token.player: "special tokens" if token.special else TEXTS[token.part] for token in explanation.tokens}
    kinds = [of.get(name, "") for name in names]
    return {k: kind for k, kind in enumerate(kinds) if k == 0 or kind != kinds[k - 1]}


def _show_players(explanation: Explanation, rows: int) -> list[str]:
    """All players in order, or those of largest credit in the first method; then special tokens that hold credit."""
    _, first = next(iter(explanation))
    names = list(explanation.players)
    if len(names) > rows:
        top = set(sorted(names, key=lambda name: -abs(first[name]))[:rows])
        names = [name for name in names if name in top]
    playing = set(explanation.players)
    return names + list(dict.fromkeys(p for _, a in explanation for p in a.players if p not in playing))


def _number(result: Attribution, name: str, largest: float) -> str:
    if name not in result.places:
        return "—"
    at = result.place(name)
    credit = float(result.credit[at])
    shown = _fix(credit if abs(credit) > largest * ROUNDING else 0.0)
    if result.interval is not None:
        low, high = result.interval[at].tolist()
        return f"{shown} ±{round_off((high - low) / 2, 2)}"
    return shown


def _fix(value: float) -> str:
    """A signed number of constant precision, so that columns can be read down."""
    if 0.0005 <= abs(value) < 1000:
        return fix(value, 3, signed=True)
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{abs(value):.1e}"


def _cost(explanation: Explanation, method: str, result: Attribution) -> str:
    paid = costs(result, explanation.seconds.get(method))
    return f" ({', '.join(paid)})" if paid else ""


def _row(name: str, cells: list[str], left: int) -> str:
    return "  ".join([name + " " * (left - width(name)), *cells]).rstrip()


def pad(cell: str, cells: int) -> str:
    """A cell moved to the right end of its column."""
    return " " * (cells - width(cell)) + cell


def _short(name: str) -> str:
    return short(name, NAME)


def picture_map(explanation: Explanation, paint: Paint | None, wide: int = MAP_WIDE) -> list[str]:
    """The picture in signs, as the first method credits its parts; with `paint`, in colours."""
    method, result = next(iter(explanation))
    assert explanation.picture is not None
    owner, signed = explanation.picture.owner, method not in explanation.unsigned
    height, width = owner.shape
    columns = min(width, wide)
    rows = max(1, round(columns * height / width / 2))  # a cell is about twice as high as wide
    down, across = (np.arange(rows) + 0.5) * height / rows, (np.arange(columns) + 0.5) * width / columns
    cells = owner[down.astype(np.int64)[:, None], across.astype(np.int64)]
    credit = [result[player] for player in explanation.players]
    largest = max(map(abs, credit), default=0.0)

    def shown(player: int) -> str:
        if player < 0:
            return " "
        if paint is not None:
            return paint(" ", credit[player], largest, signed)
        return _sign(credit[player], largest, signed)

    lines = ["".join(shown(player) for player in row) for row in cells.tolist()]
    legend = f"{method}: # and + {'raise it, = and - lower it' if signed else 'much and some'}, · little"
    return lines if paint is not None else [*lines, legend]


def _sign(value: float, largest: float, signed: bool) -> str:
    share = strength(value, largest)
    if share < LITTLE:
        return "·"
    light, heavy = "-=" if signed and value < 0 else "+#"
    return heavy if share >= MUCH else light
