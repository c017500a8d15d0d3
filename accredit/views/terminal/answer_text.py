"""An explained answer on a terminal: the answer, the parts of the prompt with their credit, then sentences and tokens."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from accredit.core import Attribution, NoteKind
from accredit.explanation.result import LITTLE, Explanation, Said
from accredit.views.language.answer_words import Moved, likelihood, move, payoff_words, worth_words
from accredit.views.language.headlines import SAID_FIRST, headline
from accredit.views.language.notation import LEGEND, claim_letters
from accredit.views.language.numbers import between, brief, credit_number, rounding
from accredit.views.language.phrases import costs, error_bars, in_words, origin, title
from accredit.views.language.printable import printable, short
from accredit.views.terminal.columns import table
from accredit.views.terminal.explanation_text import another_target, paint
from accredit.views.terminal.screen import clip, screen

NAME = 34  # cells of a part's name
LINE = 76  # cells of a line of text
ANSWER_LINES = 12  # of the answer that are shown
SENTENCES = 8  # of the answer that are listed
TOKENS = 5  # tokens that are listed: those that the prompt moves most
MOVED = 0.005  # log-probability from which a token counts as moved
ABSENT = {
    "rebuild": "Absent parts are left out of the prompt",
    "attention": "Absent parts stay in the prompt, unseen",
    "filler": "In the place of absent parts stands",
}
STRONGEST = 2  # parts named beside a sentence or a token


def answer_text(explanation: Explanation, rows: int, colour: bool, more: bool = True) -> str:
    """The whole explanation as lines of text: what was earned by which part, the answer, the parts; then the rest."""
    said = explanation.said
    assert said is not None
    body = ["", *_answer(said), "", *_parts(explanation, rows, colour)]
    for kind, targets in (("sentence", sentences(said)[:SENTENCES]), ("token", move_tokens(said)[:TOKENS])):
        if targets and explanation.others:
            body += ["", *_targets(explanation, kind, targets)]
    kept = [note for note in explanation.notes if note.kind not in SAID_FIRST]
    details = ["", f"{explanation.provenance.get('model', '')}; the answer is {origin(said.source)}", worth_words(explanation)]
    details += [f"{method}: {in_words(result)}{_cost(explanation, method)}" for method, result in explanation]
    details += [str(note) for note in kept if note.kind is not NoteKind.WARNING]
    details += [*another_target(explanation), *reading(explanation), _claims(explanation), f"claims: {LEGEND}"]
    warnings = [f"{method}: does not apply; {why}" for method, why in explanation.refused.items()]
    warnings += [str(note) for note in kept if note.kind is NoteKind.WARNING]
    return screen(headline(explanation).text, body, details, more, warnings)


def sentences(said: Said) -> list[Moved]:
    """The sentences of an answer of several."""
    return [move(said, each) for each in said.targets[1:] if each[2] - each[1] > 1]


def move_tokens(said: Said) -> list[Moved]:
    """The tokens of an answer of several that the prompt moves, those first that it moves most."""
    tokens = [move(said, each) for each in said.targets[1:] if each[2] - each[1] == 1]
    return sorted((t for t in tokens if abs(t[1] - t[2]) >= MOVED), key=lambda each: -abs(each[1] - each[2]))


def reading(explanation: Explanation) -> Iterator[str]:
    """How the answer came about and how it was read: the facts that somebody who repeats the run needs."""
    facts = explanation.provenance
    if words := ABSENT.get(facts.get("removal", "")):
        yield words + (f" “{facts['filler']}”." if facts.get("filler") is not None else ".")
    counts = [f"{facts[name]:,} {name}" for name in ("prompt tokens", "answer tokens", "passes") if name in facts]
    if counts:
        yield f"{', '.join(counts)}. How they were read: {facts.get('reading') or 'one after the other'}."


def _answer(said: Said) -> Iterator[str]:
    """What was said, and rather than what."""
    shown = [line for part in said.text.strip().splitlines() for line in textwrap.wrap(printable(part), LINE) or [""]]
    yield from (f"  {line}" for line in shown[:ANSWER_LINES])
    if len(shown) > ANSWER_LINES:
        yield f"  … {len(shown) - ANSWER_LINES} more lines"
    if said.rather_than is not None:
        yield f"rather than  {printable(said.rather_than.strip())[:LINE]}"


def _claims(explanation: Explanation) -> str:
    return "claims kept: " + ", ".join(f"{name} {claim_letters(result) or 'none'}" for name, result in explanation)


def _parts(explanation: Explanation, rows: int, colour: bool) -> list[str]:
    """Parts of the prompt down, methods across, with a bar for the first of them."""
    method, first = next(iter(explanation))
    names = list(explanation.players)
    if len(names) > rows:
        top = set(first.top(rows).players)
        names = [name for name in names if name in top]
    header = [str(explanation.provenance.get("players", "part"))]
    for name, result in explanation:
        header += [title(name).lower(), *[error_bars(result)] * (result.interval is not None)]
    cells = [
        [shorten(name), *(x for m, a in explanation for x in _cells(a, name, m not in explanation.unsigned))] for name in names
    ]
    least = float("inf") if explanation.earns_nothing else rounding(first)
    values = [first[name] if abs(first[name]) > least else 0.0 for name in names]
    largest = full_bar(explanation, first)
    lines = clip(table(header, cells, values, full=largest))
    if colour:
        signed = method not in explanation.unsigned
        lines[1:] = [paint(line, x, largest, signed) for line, x in zip(lines[1:], values, strict=True)]
    hidden = len(explanation.players) - len(names)
    return [*lines, *[f"… {hidden} more of smaller credit"] * bool(hidden)]


def full_bar(explanation: Explanation, result: Attribution) -> float:
    """The credit that a full bar stands for: what there was to earn, up to a probability of 1, or the largest credit if that is
    more. Of payoffs without such an end, and of scores, the largest."""
    largest = max(float(abs(result.credit).max(initial=0.0)), rounding(result))
    plain = payoff_words(explanation) == "log-probability" and result.total is not None and result.baseline is not None
    return max(largest, -(result.baseline or 0.0)) if plain else largest


def darkest(explanation: Explanation, result: Attribution) -> float:
    """The credit of the strongest colour: as `full_bar`, and none at all where next to nothing was earned."""
    plain = payoff_words(explanation) == "log-probability" and result.total is not None
    little = max(abs(result.total or 0.0), float(abs(result.credit).max(initial=0.0))) < LITTLE
    return math.inf if plain and little else full_bar(explanation, result)


def _cells(result: Attribution, name: str, signed: bool) -> list[str]:
    if name not in result.places:
        return ["—"]
    estimate = result.estimate(name)
    largest = max(float(abs(result.credit).max()), rounding(result))
    number = credit_number(estimate.value, largest) if signed else brief(estimate.value, signed)
    if result.interval is None or estimate.low is None or estimate.high is None:
        return [number]
    return [number, between(estimate.low, estimate.high, 3)]


def shorten(name: str) -> str:
    """A name that fits into its column."""
    return short(name, NAME)


def _targets(explanation: Explanation, kind: str, targets: list[Moved]) -> list[str]:
    """Sentences or tokens of the answer: how likely they are, and the parts of largest credit."""
    method = next((m for m, _ in explanation if m in explanation.others.get(targets[0][0], {})), "")
    rows = []
    for name, with_all, without in targets:
        result = explanation.others.get(name, {}).get(method)
        if result is None:
            continue
        best = result.top(min(STRONGEST, len(result.players)))
        named = ", ".join(f"{short(p, 20)} {brief(x)}" for p, x in best if abs(x) > 5e-4)
        rows.append([short(name, 24), likelihood(with_all), likelihood(without), named or "nobody"])
    every = [row[0] for row in rows]
    if not every:
        return []
    heading = f"{kind}s of the answer"
    return clip(table([heading, "with all", "with none", "largest credit"], rows, left=True))


def _cost(explanation: Explanation, method: str) -> str:
    paid = costs(explanation[method], explanation.seconds.get(method))
    return f" ({', '.join(paid)})" if paid else ""
