"""An explained answer as HTML: the prompt coloured for the part of the answer that one points at, and both as a matrix.

Python writes every number and every colour; the script of the page only chooses which of them are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.answers.said import SCORE
from accredit.checks.json_data import round_off
from accredit.core import Attribution
from accredit.explanation.result import Explanation, Said
from accredit.models.encoded import SHOWN_SPACE
from accredit.views.language.answer_words import likelihood, worth_words
from accredit.views.language.numbers import between, brief, credit_number, rounding
from accredit.views.language.palette import LEVELS, level
from accredit.views.language.phrases import origin, title
from accredit.views.pages.engine import render
from accredit.views.pages.token_strips import Drawer
from accredit.views.terminal.answer_text import darkest, reading

if TYPE_CHECKING:
    from markupsafe import Markup

CELLS = 400_000  # numbers that a page holds for its tokens; with more, tokens are left to JSON and pandas
ROWS, COLUMNS = 60, 60  # parts and tokens of the matrix
STRIPS = 6  # sentences that are drawn one below the other where no script runs
CODES = {f"d{k}": chr(ord("m") - k) for k in range(1, LEVELS + 1)} | {"z": "m"}
CODES |= {f"u{k}": chr(ord("m") + k) for k in range(1, LEVELS + 1)}
CODES |= {f"n{k}": chr(ord("A") + k - 1) for k in range(1, LEVELS + 1)}


class Piece(NamedTuple):
    """One token of the answer: the white space before it, what is shown, the white space after it, its target or none."""

    before: str
    shown: str
    after: str
    target: str
    label: str


class Credit(NamedTuple):
    """One method's numbers for one target: a letter per part for its colour, the numbers, and their intervals."""

    method: int
    target: str
    levels: str
    numbers: str
    intervals: str


def headline(explanation: Explanation) -> str:
    """The question that the page answers."""
    said = explanation.said
    assert said is not None
    if explanation.target != said.targets[0][0]:
        return f"Why “{explanation.target}”?"
    return "Why this answer?" if said.rather_than is None else "Why this answer rather than that one?"


def answer_blocks(explanation: Explanation, drawer: Drawer) -> dict[str, str]:
    """The answer, the prompt coloured for it, and the matrix of both."""
    said = explanation.said
    assert said is not None
    live = drawer.live
    shown = _targets(explanation, said)
    method = next(iter(explanation))[0]
    blocks: dict[str, str] = {
        "answer": render(
            "answer",
            "answer",
            lines=_lines(said, shown, explanation.payoff),
            live=live,
            source=_sentence(origin(said.source)),
            rather_than=said.rather_than or "",
            whole="0",
            several=len(shown) > 1,
        ),
        "prompt": render(
            "answer",
            "prompt",
            strip=drawer.strip(method),
            live=live,
            many=drawer.many,
            unit=str(explanation.provenance.get("players", "part")),
            methods=[title(name) for name, _ in explanation],
            spoken=_speak(explanation, said, shown),
        ),
    }
    if live:
        blocks["credit"] = render("answer", "credit", every=_credits(explanation, shown))
    else:
        blocks["sentences"] = _strips(explanation, said)
    if explanation.others:
        blocks["matrix"] = _matrix(explanation, said, shown)
    blocks["read"] = render("answer", "read", lines=list(reading(explanation)))
    return blocks


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _targets(explanation: Explanation, said: Said) -> dict[str, tuple[str, int, int]]:
    """The targets that the page holds, by number: all of them, or without tokens if those are too many."""
    there = [each for each in said.targets if each[0] in explanation.outputs] or [(explanation.target, 0, len(said.likely))]
    if len(there) * len(explanation.players) * len(explanation.attributions) > CELLS:
        there = [there[0], *(each for each in there[1:] if each[2] - each[1] > 1)]
    return {str(k): each for k, each in enumerate(there)}


def _lines(said: Said, shown: dict[str, tuple[str, int, int]], payoff: str) -> list[tuple[str, int, list[Piece]]]:
    """The answer sentence by sentence: the number of its target, which sentence it is, and its tokens."""
    sentences = [(k, a, b) for k, (_, a, b) in shown.items() if k != "0" and b - a > 1]
    tokens = {a: k for k, (_, a, b) in shown.items() if k != "0" and b - a == 1}
    if len(said.pieces) != len(said.likely):
        return [("", 0, [Piece("", said.text, "", "", "")])]
    whole = [(k, a, b) for k, a, b in sentences if b - a < len(said.pieces)]
    lines, at = [], 0
    for ordinal, (k, a, b) in enumerate([*whole, ("", len(said.pieces), len(said.pieces))], 1):
        if a > at:
            lines.append(("", 0, [_piece(said, i, tokens, payoff) for i in range(at, a)]))
        if b > a:
            pieces = [_piece(said, i, tokens, payoff) for i in range(a, b)]
            lines.append((k, ordinal, [pieces[0]._replace(before=pieces[0].before.lstrip(" ")), *pieces[1:]]))
        at = b
    return lines


def _piece(said: Said, i: int, tokens: dict[int, str], payoff: str) -> Piece:
    text = said.pieces[i]
    body = text.strip()
    start = text.index(body) if body else len(text)
    signs = body or "".join(SHOWN_SPACE.get(c, c) for c in text)
    ends = float(said.likely[i]), float(said.base[i])
    likely, base = (round_off(x, 3) if payoff == SCORE else likelihood(x) for x in ends)
    label = f"{signs or '∅'}: {SCORE if payoff == SCORE else 'log-probability'} {likely}, {base} with none"
    return Piece(text[:start], signs or "∅", text[start + len(body) :], tokens.get(i, ""), label)


def _speak(explanation: Explanation, said: Said, shown: dict[str, tuple[str, int, int]]) -> list[tuple[str, str]]:
    """What is said of each target above the prompt: its name and how likely it is."""
    found = []
    for k, (name, a, b) in shown.items():
        if k == "0":
            found.append(("the whole answer" if name == said.targets[0][0] else f"“{name}”", worth_words(explanation)))
        else:
            ends = (float(said.likely[a:b].sum()), float(said.base[a:b].sum()))
            found.append((f"“{name}”", f"log-probability {likelihood(ends[0])}, {likelihood(ends[1])} with none"))
    return found


def _credits(explanation: Explanation, shown: dict[str, tuple[str, int, int]]) -> list[Credit]:
    found = []
    for m, (method, main) in enumerate(explanation):
        signed = method not in explanation.unsigned
        for k, (name, _, _) in shown.items():
            result = main if name == explanation.target else explanation.others.get(name, {}).get(method)
            if result is not None:
                found.append(_credit(m, k, explanation.players, result, signed, darkest(explanation, result)))
    return found


def _credit(method: int, target: str, players: tuple[str, ...], result: Attribution, signed: bool, darkest: float) -> Credit:
    place = {player: i for i, player in enumerate(result.players)}
    order = [place[player] for player in players]
    credit = result.credit[order]
    largest = max(float(np.abs(credit).max(initial=0.0)), rounding(result))
    levels = "".join(CODES[level(x, max(largest, darkest), signed)] for x in credit.tolist())
    numbers = " ".join(credit_number(x, largest) if signed else brief(x, signed) for x in credit.tolist())
    ends = "" if result.interval is None else "|".join(between(a, b, 3) for a, b in result.interval[order].tolist())
    return Credit(method, target, levels, numbers, ends)


def _for_parts(explanation: Explanation) -> str:
    """The first method that has credit for parts of the answer; the first of all, if none has."""
    parts = next(iter(explanation.others.values()), {})
    return next((name for name, _ in explanation if name in parts), next(iter(explanation))[0])


def _strips(explanation: Explanation, said: Said) -> Markup:
    """The prompt once for every sentence, where no script can choose."""
    method = _for_parts(explanation)
    names = [name for name, a, b in said.targets[1:] if b - a > 1 and method in explanation.others.get(name, {})][:STRIPS]
    drawn = [(name, Drawer(explanation.of(name), "").strip(method)) for name in names]
    return render("answer", "strips", drawn=drawn)


def _matrix(explanation: Explanation, said: Said, shown: dict[str, tuple[str, int, int]]) -> Markup:
    """Parts of the prompt down, tokens of the answer across; of many, those of largest credit."""
    method = _for_parts(explanation)
    tokens = [(name, a) for k, (name, a, b) in shown.items() if k != "0" and b - a == 1 and name in explanation.others]
    tokens = tokens or [(name, a) for k, (name, a, b) in shown.items() if k != "0" and name in explanation.others]
    if not tokens:
        return render("parts", "joined", pieces=[])
    square = np.stack([[explanation.others[name][method][p] for p in explanation.players] for name, _ in tokens], axis=1)
    down = np.sort(np.argsort(-np.abs(square).max(axis=1), kind="stable")[:ROWS])
    across = np.sort(np.argsort(-np.abs(square).max(axis=0), kind="stable")[:COLUMNS])
    floor = max(rounding(explanation.others[name][method]) for name, _ in tokens)
    largest = max(float(np.abs(square).max(initial=0.0)), floor)
    rows = [
        (explanation.players[i], [(credit_number(x, largest), level(x, largest)) for x in square[i, across].tolist()])
        for i in down.tolist()
    ]
    left = []
    if len(down) < len(square):
        left.append(f"{len(down)} of {len(square):,} parts")
    if len(across) < len(tokens):
        left.append(f"{len(across)} of {len(tokens):,} tokens")
    return render(
        "answer",
        "matrix",
        names=[tokens[k][0] for k in across.tolist()],
        rows=rows,
        method=title(method),
        left=" and ".join(left),
    )
