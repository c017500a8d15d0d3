"""How likely an answer is, with the whole prompt and without the parts that play, in words and numbers."""

from __future__ import annotations

import math

from accredit.checks.json_data import round_off
from accredit.explanation.result import WHOLE, Explanation, Said
from accredit.methods import named
from accredit.views.language.numbers import fix, percent

READABLE = 0.001  # probability below which its logarithm says more
Moved = tuple[str, float, float]  # a target, its log-probability with the whole prompt, and with nobody's part


def likelihood(log_probability: float) -> str:
    """A log-probability, and the probability where that can be read.

    >>> likelihood(-0.105), likelihood(-40.0), likelihood(-1e-9)
    ('−0.105 (90%)', '−40.000', '0.000 (100%)')
    """
    p = math.exp(min(log_probability, 0.0))
    return fix(log_probability, 3) + (f" ({percent(p, 0 if p >= 0.1 else 1)})" if p >= READABLE else "")


def payoff_words(explanation: Explanation) -> str:
    """What is credited: of two answers that are compared, a difference."""
    if explanation.said is not None and explanation.said.rather_than is not None and explanation.target == WHOLE:
        return f"difference in {explanation.payoff}"
    return "mean log-probability per token" if explanation.payoff == "mean" else explanation.payoff


def players_word(explanation: Explanation) -> str:
    """What plays, one of them: a word, a passage, a patch."""
    found = explanation.provenance.get("players")
    return found if isinstance(found, str) and found.isalpha() else "part" if explanation.said else "player"


def player_noun(explanation: Explanation) -> str:
    """The same for a column's head: of a picture, whatever its parts are, a patch."""
    return "patch" if explanation.picture is not None else players_word(explanation)


def worth_words(explanation: Explanation) -> str:
    """What the explained target is worth with the whole prompt, and with nobody's part."""
    ends = payoff_ends(explanation)
    if ends is None:
        return ""
    plain = payoff_words(explanation) == "log-probability"
    with_all, without = (likelihood(x) if plain else round_off(x, 3) for x in ends)
    count, who = len(explanation.players), explanation.provenance.get("players", "player")
    none = f"none of the {count} {who}s" if count > 1 else f"that one {who} left out"
    return f"{payoff_words(explanation)} {with_all} with the whole prompt, {without} with {none}"


def payoff_ends(explanation: Explanation) -> tuple[float, float] | None:
    """The payoff with everybody and with nobody: as a game paid it; of an answer also from its log-probabilities. What a flow
    or an integral shares is something else."""
    for name, result in explanation:
        method = named(name.partition(":")[0])
        if method and method.kind == "game" and result.total is not None and result.baseline is not None:
            return result.baseline + result.total, result.baseline
    said = explanation.said
    place = next((t for t in said.targets if t[0] == explanation.target), None) if said is not None else None
    if said is None or place is None or (said.rather_than is not None and explanation.target == WHOLE):
        return None
    _, with_all, without = move(said, place)
    if explanation.payoff == "probability":
        return math.exp(with_all), math.exp(without)
    count = place[2] - place[1] if explanation.payoff == "mean" else 1
    return with_all / count, without / count


def move(said: Said, target: tuple[str, int, int]) -> Moved:
    """A part of the answer: its log-probability with the whole prompt, and with nobody's part."""
    name, start, stop = target
    return name, float(said.likely[start:stop].sum()), float(said.base[start:stop].sum())
