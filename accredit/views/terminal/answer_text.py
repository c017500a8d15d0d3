"""An explained answer on a terminal: the answer, the parts of the prompt with their credit, then sentences and tokens."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from accredit.checks.json_data import round_off
from accredit.core import Attribution, NoteKind
from accredit.explanation.result import LITTLE, WHOLE, Explanation, Said
from accredit.methods import named
from accredit.views.language.notation import LEGEND, claim_letters
from accredit.views.language.numbers import between, brief, credit_number, fix, percent, rounding
from accredit.views.language.phrases import costs, error_bars, in_words, origin, title
from accredit.views.language.printable import printable, short
from accredit.views.terminal.columns import table
from accredit.views.terminal.explanation_text import another_target, paint

NAME = 44  # cells of a part's name
LINE = 88  # cells of a line of text
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
Moved = tuple[str, float, float]  # a target, its log-probability with the whole prompt, and with nobody's part


def answer_text(explanation: Explanation, rows: int, colour: bool) -> str:
    """The whole explanation as lines of text."""
    said = explanation.said
    assert said is not None
    lines = [*_answer(explanation, said), "", *_parts(explanation, rows, colour)]
    for kind, targets in (("sentence", sentences(said)[:SENTENCES]), ("token", move_tokens(said)[:TOKENS])):
        if targets and explanation.others:
            lines += ["", *_targets(explanation, kind, targets)]
    lines += ["", *(f"{method}: {in_words(result)}{_cost(explanation, method)}" for method, result in explanation)]
    lines += [f"{method}: does not apply; {printable(why)}" for method, why in explanation.refused.items()]
    lines += [printable(str(note)) for note in explanation.notes if note.kind is not NoteKind.NOTHING_EARNED]
    lines += another_target(explanation)
    return "\n".join([*lines, *map(printable, reading(explanation)), f"claims: {LEGEND}"])


def likelihood(log_probability: float) -> str:
    """A log-probability, and the probability where that can be read.

    >>> likelihood(-0.105), likelihood(-40.0), likelihood(-1e-9)
    ('−0.105 (90%)', '−40.000', '0.000 (100%)')
    """
    p = math.exp(min(log_probability, 0.0))
    return fix(log_probability, 3) + (f" ({percent(p, 0 if p >= 0.1 else 1)})" if p >= 0.001 else "")


def worth_words(explanation: Explanation) -> str:
    """What the explained target is worth with the whole prompt, and with nobody's part."""
    ends = _ends(explanation)
    if ends is None:
        return ""
    plain = payoff_words(explanation) == "log-probability"
    with_all, without = (likelihood(x) if plain else round_off(x, 3) for x in ends)
    who = explanation.provenance.get("players", "player")
    count = len(explanation.players)
    none = f"none of the {count} {who}s" if count > 1 else f"that one {who} left out"
    return f"{payoff_words(explanation)} {with_all} with the whole prompt, {without} with {none}"


def _ends(explanation: Explanation) -> tuple[float, float] | None:
    """The payoff with the whole prompt and with nobody's part: as a game shared it, else from the log-probabilities. What a
    flow or an integral shares is something else."""
    for name, result in explanation:
        method = named(name.partition(":")[0])
        if method and method.kind == "game" and result.total is not None and result.baseline is not None:
            return result.baseline + result.total, result.baseline
    said = explanation.said
    place = next((t for t in said.targets if t[0] == explanation.target), None) if said is not None else None
    if said is None or place is None or (said.rather_than is not None and explanation.target == WHOLE):
        return None
    _, with_all, without = _move(said, place)
    if explanation.payoff == "probability":
        return math.exp(with_all), math.exp(without)
    count = place[2] - place[1] if explanation.payoff == "mean" else 1
    return with_all / count, without / count


def payoff_words(explanation: Explanation) -> str:
    """What is shared: of two answers that are compared, a difference."""
    if explanation.said is not None and explanation.said.rather_than is not None and explanation.target == WHOLE:
        return f"difference in {explanation.payoff}"
    return "mean log-probability per token" if explanation.payoff == "mean" else explanation.payoff


def sentences(said: Said) -> list[Moved]:
    """The sentences of an answer of several."""
    return [_move(said, each) for each in said.targets[1:] if each[2] - each[1] > 1]


def move_tokens(said: Said) -> list[Moved]:
    """The tokens of an answer of several that the prompt moves, those first that it moves most."""
    tokens = [_move(said, each) for each in said.targets[1:] if each[2] - each[1] == 1]
    return sorted((t for t in tokens if abs(t[1] - t[2]) >= MOVED), key=lambda each: -abs(each[1] - each[2]))


def _move(said: Said, target: tuple[str, int, int]) -> Moved:
    name, start, stop = target
    return name, float(said.likely[start:stop].sum()), float(said.base[start:stop].sum())


def reading(explanation: Explanation) -> Iterator[str]:
    """How the answer came about and how it was read: the facts that somebody who repeats the run needs."""
    facts = explanation.provenance
    if words := ABSENT.get(facts.get("removal", "")):
        yield words + (f" “{facts['filler']}”." if facts.get("filler") is not None else ".")
    counts = [f"{facts[name]:,} {name}" for name in ("prompt tokens", "answer tokens", "passes") if name in facts]
    if counts:
        yield f"{', '.join(counts)}. How they were read: {facts.get('reading') or 'one after the other'}."


def _answer(explanation: Explanation, said: Said) -> Iterator[str]:
    what = "this answer" if explanation.target == said.targets[0][0] else f"“{printable(explanation.target)}” in this answer"
    yield f"Which {explanation.provenance.get('players', 'part')}s of the prompt earned {what}?"
    shown = [line for part in said.text.strip().splitlines() for line in textwrap.wrap(printable(part), LINE) or [""]]
    yield from (f"  {line}" for line in shown[:ANSWER_LINES])
    if len(shown) > ANSWER_LINES:
        yield f"  … {len(shown) - ANSWER_LINES} more lines"
    if said.rather_than is not None:
        yield f"rather than  {printable(said.rather_than.strip())[:LINE]}"
    yield f"{printable(str(explanation.provenance.get('model', '')))}; the answer is {printable(origin(said.source))}"
    if words := worth_words(explanation):
        yield words
    yield from (note.text for note in explanation.notes if note.kind is NoteKind.NOTHING_EARNED)


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
    if colour:
        lines = table(header, cells, values, full=largest)
        lines[1:] = [
            paint(line, x, largest, method not in explanation.unsigned) for line, x in zip(lines[1:], values, strict=True)
        ]
    else:
        lines = table(header, cells, values, full=largest)
    hidden = len(explanation.players) - len(names)
    letters = ", ".join(f"{name} {claim_letters(result) or 'none'}" for name, result in explanation)
    return [*lines, *[f"… {hidden} more of smaller credit"] * bool(hidden), f"claims kept: {letters}"]


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
    """Sentences or tokens of the answer: how likely they are, and the parts that earned most of that."""
    method = next((m for m, _ in explanation if m in explanation.others.get(targets[0][0], {})), "")
    rows = []
    for name, with_all, without in targets:
        result = explanation.others.get(name, {}).get(method)
        if result is None:
            continue
        best = result.top(min(STRONGEST, len(result.players)))
        named = ", ".join(f"{shorten(p)} {brief(x)}" for p, x in best if abs(x) > 5e-4)
        rows.append([shorten(name), likelihood(with_all), likelihood(without), named or "nobody"])
    every = [row[0] for row in rows]
    if not every:
        return []
    heading = f"{kind}s of the answer" + (", the most moved" if kind == "token" else "")
    return table([heading, "with all", "with none", f"most credit ({method})"], rows, left=True)


def _cost(explanation: Explanation, method: str) -> str:
    paid = costs(explanation[method], explanation.seconds.get(method))
    return f" ({', '.join(paid)})" if paid else ""
