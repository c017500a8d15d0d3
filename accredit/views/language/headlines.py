"""The first sentence of every kind of result: the answer, as far as the numbers support it. One home for every medium.

What may be said is decided in `leaders`, as records; here it becomes words. The rules, which tests hold against thousands of
made results: nobody is named first whom an interval does not set apart; "most" is said only of more than half of a whole that
nothing is taken from; "x of y" only where x is a part of y; what is nothing is said to be nothing; and where there is a
probability, it comes first, with the exact scale beside it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from accredit.answers.verdicts import Origin
from accredit.checks.json_data import round_off
from accredit.core import Attribution, Attributions, FloatArray, Interactions, Known, NoteKind, Precision, Procedure, Selection
from accredit.explanation.citations import Citations
from accredit.explanation.refits import RefitExplanation
from accredit.explanation.result import WHOLE, Explanation
from accredit.models.encoded import visible
from accredit.rows.result import TableExplanation
from accredit.series.result import SeriesExplanation
from accredit.values.report import GameReport
from accredit.views.language.answer_words import READABLE, payoff_ends, payoff_words, players_word
from accredit.views.language.leaders import HALF, Lead, Leaders, Support, lead, leaders, reaches
from accredit.views.language.numbers import NOISE, ROUNDING, between, brief, chance_words, fix, part_of, percent
from accredit.views.language.phrases import chance, counted, interactions_headline, place_name, title, together, unit
from accredit.views.language.printable import short

if TYPE_CHECKING:
    from accredit.arena.standings import Standings
    from accredit.audit.finding import Findings
    from accredit.flow.graph import GraphFlow
    from accredit.influence.trace import Trace
    from accredit.labels.result import WrongLabels
    from accredit.valuation.purchases import Purchase, Purchases

NAMED = 3  # players that a sentence names at one end
NODES = 4  # of a cut that a sentence names
NAME = 40  # cells of a player's name in a sentence
WORDS_OF_A_NAME = 3  # beyond which rows are called by their texts, which are quoted
SAID_FIRST = (NoteKind.NOTHING_KNOWN, NoteKind.NOTHING_EARNED)  # notes that are the answer
NO_ERROR = "the error of these numbers is not known"
OWN_WORDS = re.compile(r"(no|none|nobody|all|over) |row \d")  # how a clause begins that does not begin with a name
# Names that would not be seen to be names: no letter, or like the beginning or the end of a sentence.
UNLIKE_A_NAME = re.compile(r"[\W\d_]*|(no|none|nobody|all|over)\b.*|.*[.?!:;,…]", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Voice:
    """How players of one kind are spoken of: the noun, and what one, and several, of them do above and below zero."""

    noun: str
    up: tuple[str, str] = ("raises it", "raise it")
    down: tuple[str, str] = ("lowers it", "lower it")
    whole: str = "accounts for {} of it"  # most, nearly all or all
    sum: str = "whole change"  # what all credit may add up to
    unit: str = ""  # of credit, written behind it
    quoted: bool = False

    def verb(self, end: Lead) -> str:
        """What those at one end do."""
        one, several = self.up if end.sign > 0 else self.down
        return one if len(end.players) == 1 else several


EARN = Voice("player", ("earns", "earn"), ("loses", "lose"), "earns {} of it", "total")
WORTH = Voice("row", ("is worth", "are worth"), ("costs", "cost"), "is worth {} of it", "total")


@dataclass(frozen=True)
class Move:
    """An output with and without what plays: as probabilities where there are some, else on the scale that is credited."""

    label: str
    after: str
    before: str = ""  # "" where that is not known
    rises: bool | None = None  # None: the same as far as it is written
    without: str = ""  # with no words

    def __str__(self) -> str:
        is_number = bool(self.label) and not any(letter.isalpha() for letter in self.label)
        name = f"Output “{self.label.strip('“”')}” is" if is_number else self.label  # “0 8” would be a riddle
        if not self.before:
            return f"{name} {self.after}".strip()
        if self.rises is None:
            return f"{name} {self.after}, as {self.without}"
        return f"{name} {self.after}, {'up' if self.rises else 'down'} from {self.before} {self.without}".strip()


@dataclass(frozen=True)
class Headline:
    """A first sentence, and the records that it was made from."""

    kind: str
    text: str
    leaders: Leaders | None = None  # None: nobody is ranked
    move: Move | None = None

    def __str__(self) -> str:
        return self.text


@singledispatch
def headline(result: object) -> Headline:
    """The first sentence of a result.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> for worth in ([0, 60, -20, 40], [0, 1.9, 0.05, 1.95], [0, 1, 1, 2], [0, 0, 0, 0]):
    ...     print(headline(shapley(TableGame(("TV", "radio"), worth))))
    TV earns (+60), radio loses (−20); together +40.
    TV earns most of it: 1.90 of 1.95.
    TV and radio earn the same: 1 each of 2.
    No player is credited with anything: all credit is 0.
    """
    raise TypeError(f"there is no headline for {type(result).__name__}")  # pragma: no cover: a programming error


# From records to words


def write(told: Leaders, voice: Voice, count: int) -> str:
    """Who is first above zero and below it among `count` players, as a clause.

    >>> known = Attribution(("a", "b"), [3, 2.5], 5.5, "m", interval=[[2, 4], [1.9, 3]])
    >>> write(leaders(known), Voice("word", unit="log-odds"), 2)
    'a and b raise it (+3 and +2.5 log-odds), but their intervals overlap; together +5.5 log-odds'
    """
    first, second = told.first, told.second
    if first is None:
        stands = "stands out" if told.reach > told.largest else "is credited with anything"
        return f"no {voice.noun} {stands}: {_nothing(told)}"
    doubt = f"; {NO_ERROR}" if told.known is Known.UNKNOWN else ""
    if not _may_name(first):
        return _unnamed(first, voice, count) + doubt
    if told.total is None:
        return _rank(told, voice, count) + doubt
    if told.share is not None and first.support is not Support.OVERLAP:
        return _part(first, told, voice, count) + doubt
    pair = count == 2 and second is not None and _may_name(second)  # each goes its own way: neither is more of anything
    said = _end(first, voice, count, again=pair)
    if second is not None and _may_name(second):
        said += ", " + _end(second, replace(voice, unit=""), count, again=True)
    return said + _sum(told, voice, count) + doubt


def _nothing(told: Leaders) -> str:
    if told.reach > told.largest:
        return f"the largest credit is {round_off(told.largest, 2)}, and may be {round_off(told.reach, 2)} by its interval"
    return f"the largest credit is {round_off(told.largest, 2)}, which may be rounding" if told.largest else "all credit is 0"


def _may_name(end: Lead) -> bool:
    """Are they few enough, and sure enough, to be named, and do they all go the way that is said of them?"""
    if any(end.sign * x <= 0 for x in end.credit):
        return False
    return end.support is not Support.UNCERTAIN and (len(end.players) <= NAMED or end.support is Support.TIED)


def _unnamed(end: Lead, voice: Voice, count: int) -> str:
    if end.support is Support.UNCERTAIN:
        assert end.ends is not None
        largest = f"{brief(end.credit[0])}, may be nothing (interval {between(*end.ends, 3)})"
        return f"no {voice.noun} stands out: the largest credit, {largest}"
    which = f"all {count:,}" if len(end.players) == count else f"the {len(end.players):,} largest"
    return f"no single {voice.noun} leads: the intervals of {which} overlap"


def _end(end: Lead, voice: Voice, count: int, again: bool = False) -> str:
    """Those at one end of signed credit, and how much they have."""
    who, verb, behind = _names(end, voice, count), voice.verb(end), f" {voice.unit}" if voice.unit else ""
    if end.support is Support.OVERLAP:
        beyond = "" if len(end.players) == count else " more than the others"
        return f"{who} {verb}{beyond} ({_and([brief(x) for x in end.credit])}{behind}), but their intervals overlap"
    if end.support is Support.TIED:
        return f"{who} {verb} equally ({brief(end.credit[0])}{behind} each)"
    return f"{who} {verb}{_beyond(end, voice, count, again)} ({_amount(end)}{behind})"


def _beyond(end: Lead, voice: Voice, count: int, again: bool = False) -> str:
    """Whom the first is ahead of; nobody where there are one or two players of whom each goes its own way."""
    if count <= len(end.players) or (count == 2 and again):
        return ""
    return f" more than {'the' if count == 2 else 'any'} other{f' {voice.noun}' * (not again)}"


def _part(first: Lead, told: Leaders, voice: Voice, count: int) -> str:
    """The first, where nobody's credit counts against the total: a part of it."""
    assert told.total is not None
    part, whole = part_of(abs(first.credit[0]), abs(told.total))
    who, verb, behind = _names(first, voice, count), voice.verb(first), f" {voice.unit}" if voice.unit else ""
    if first.support is Support.TIED:
        beyond = "" if len(first.players) == count else ", and more than the others"
        return f"{who} {verb} the same{beyond}: {part} each of {whole}{behind}"
    error = "" if first.ends is None or first.ends[0] == first.ends[1] else f" (interval {between(*first.ends, 3)})"
    if told.is_most and first.sign > 0 and float(part) > HALF * float(whole):  # as they are written, too
        much = "all" if told.only else "nearly all" if part == whole else "most"
        return f"{who} {voice.whole.format(much)}: {part} of {whole}{behind}{error}"
    if count == 1:
        return _end(first, voice, count)
    return f"{who} {verb}{_beyond(first, voice, count)}: {part} of {whole}{behind}{error}"


def _rank(told: Leaders, voice: Voice, count: int) -> str:
    """The first of scores, which add up to nothing; of signed ones, the highest and the lowest.

    >>> _rank(leaders(Attribution(("a", "b", "c"), [2, -3, 1], None, "m")), EARN, 3)
    'b scores lowest (−3), a highest (+2)'
    """
    first, behind = told.first, f" {voice.unit}" if voice.unit else ""
    assert first is not None
    if told.down is not None:
        return ", ".join(_extreme(end, voice, again=end is not first) for end in (first, told.second) if end and _may_name(end))
    who = _names(first, voice, count)
    if first.support is Support.OVERLAP:
        ahead = "score" if len(first.players) == count else "lead"
        return f"{who} {ahead} ({_and([brief(x, False) for x in first.credit])}{behind}), but their intervals overlap"
    if first.support is Support.TIED:
        ahead = "score the same" if len(first.players) == count else "rank first together"
        return f"{who} {ahead} ({brief(first.credit[0], False)}{behind} each)"
    if count == 1:
        return f"{who} scores {_amount(first, False)}{behind}"
    return f"{who} ranks first ({_amount(first, False)}{behind})"


def _extreme(end: Lead, voice: Voice, again: bool) -> str:
    """Those at one end of signed scores."""
    verb = "" if again else "scores " if len(end.players) == 1 else "score "
    behind = f" {voice.unit}" if voice.unit else ""
    which = f"{_names(end, voice)} {verb}{'highest' if end.sign > 0 else 'lowest'}"
    if end.support is Support.OVERLAP:
        return f"{which} ({_and([brief(x) for x in end.credit])}{behind}), but their intervals overlap"
    return f"{which} ({_amount(end)}{behind}{' each' * (end.support is Support.TIED)})"


def _amount(end: Lead, signed: bool = True) -> str:
    """Credit, with what is known of its error."""
    credit = end.credit[0]
    if end.ends is None or end.ends[0] == end.ends[1]:
        return brief(credit, signed)
    above, below = end.ends[1] - credit, credit - end.ends[0]
    if min(above, below) >= 0.9 * max(above, below):
        return f"{brief(credit, signed)} ±{round_off(max(above, below), 1)}"
    return f"{brief(credit, signed)}, interval {between(*end.ends, 3)}"


def _sum(told: Leaders, voice: Voice, count: int) -> str:
    """What signed credit adds up to: of all, whether they were named or not."""
    if told.total is None or not told.adds_up:
        return ""
    behind = f" {voice.unit}" if voice.unit else ""
    named = sum(len(end.players) for end in (told.first, told.second) if end is not None)
    who = "together" if named == count else f"all {plural(voice.noun)} together"
    nearly = "nearly " * (abs(told.total) > ROUNDING * told.largest)
    return f"; {who} {brief(told.total)}{behind}" + f", as they {nearly}cancel out" * told.cancels


def _not_the_whole(told: Leaders, voice: Voice) -> str:
    """That credit does not add up to what there was to share, where any is credited."""
    if told.adds_up or told.total is None:
        return ""
    return f"; credit adds up to {round_off(told.sum, 3)}, not to the {voice.sum} of {round_off(told.total, 3)}"


def _names(end: Lead, voice: Voice, count: int = 0) -> str:
    """Players in a row; how many of `count`, where they are more than a sentence names."""
    if len(end.players) > NAMED:
        return f"{'all ' * (len(end.players) == count)}{len(end.players):,} {plural(voice.noun)}"
    return _and([_name(player, voice.quoted) for player in end.players])


def _name(player: str, quoted: bool = False) -> str:
    """A player's name inside a sentence.

    >>> _name("age"), _name("-3.5"), _name("")
    ('age', '“-3.5”', '“”')
    """
    shown = short(player, NAME)
    return f"“{shown.strip('“”') or shown}”" if quoted or UNLIKE_A_NAME.fullmatch(shown) else shown


def _are_texts(players: Sequence[str]) -> bool:
    """Whether players are called by their texts, which would run into the sentence."""
    return any(len(name.split()) > WORDS_OF_A_NAME for name in players)


def _and(words: Sequence[str]) -> str:
    """Words in a row.

    >>> _and(["a"]), _and(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def plural(noun: str) -> str:
    """Several of something.

    >>> plural("word"), plural("patch"), plural("series")
    ('words', 'patches', 'series')
    """
    return noun if noun.endswith("s") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def _full(clause: str) -> str:
    """A clause as a sentence; a name that somebody gave keeps its first letter."""
    start = clause[:1].upper() + clause[1:] if OWN_WORDS.match(clause) else clause
    return start if start.endswith((".", "?", "!")) else f"{start}."


# Games and scores


@headline.register
def _(result: Attribution) -> Headline:
    return credit_headline(result)


@headline.register
def _(report: GameReport) -> Headline:
    values = report.values
    found = replace(credit_headline(values), kind="game")
    if values.total is None or values.baseline is None or abs(values.baseline) <= values.rounding:
        return found
    ends = f"(nobody earns {round_off(values.baseline)}, everybody {round_off(values.baseline + values.total)})"
    return replace(found, text=f"{found.text.removesuffix('.')} {ends}.")


def credit_headline(result: Attribution, voice: Voice = EARN) -> Headline:
    """Of credit that has no model behind it: who earns how much of a total, or how scores rank."""
    told = leaders(result)
    voice = replace(voice, quoted=voice.quoted or _are_texts(result.players))
    said = write(told, voice, len(result))
    if told.first is not None and told.total is None:
        said += "; a ranking, which does not add up to a total"
    said += _not_the_whole(told, voice)
    return Headline("credit", _full(said), told)


@headline.register
def _(result: Attributions) -> Headline:
    each = [f"{_first_of(one)} in “{short(name, NAME)}”" for name, one in result.items()]
    more = f"; … {counted(len(each) - NAMED, 'more output')}" if len(each) > NAMED else ""
    doubt = f"; {NO_ERROR}" if any(leaders(one).known is Known.UNKNOWN for _, one in result.items()) else ""
    where = f"each of {counted(len(each), 'output')}" if len(each) > 1 else "the one output"
    return Headline("outputs", f"Largest in {where}: {'; '.join(each[:NAMED])}{more}{doubt}.")


def _first_of(result: Attribution) -> str:
    """Whose credit is largest, whichever way it goes, in few words; at both ends where neither is surely larger."""
    told = leaders(result)
    if told.first is None:
        return f"nobody ({_nothing(told)})"
    ends = [end for end in (told.up, told.down) if end and told.first and reaches(end, told.first)]
    return " and ".join(map(_largest, ends)) if ends and all(map(_may_name, ends)) else "nobody surely"


def _largest(end: Lead) -> str:
    shared = {Support.OVERLAP: ", intervals overlap", Support.TIED: " each"}.get(end.support, "")
    return f"{_names(end, EARN)} ({brief(end.credit[0])}{shared})"


@headline.register
def _(result: Interactions) -> Headline:
    """Which coalition has the highest and which the lowest number, then what such a number is."""
    found = {together(who): (x, k) for k, (who, x) in enumerate(result) if who}
    interval = None if result.interval is None else result.interval[[k for _, k in found.values()]]
    numbers = np.array([0.0 if abs(x) <= NOISE * abs(result.total or 0.0) else x for x, _ in found.values()])
    how = Procedure(result.index)
    told = leaders(Attribution(tuple(found), numbers, None, how, interval=interval, precision=result.precision))
    kind = "pair" if {len(who) for who, _ in result if who} == {2} else "coalition"
    said = write(told, Voice(kind), len(found)) if told.reach else f"no {kind} interacts: all numbers are 0"
    return Headline("interactions", f"{_full(said)[:-1]}; {interactions_headline(result)}.", told)


@headline.register
def _(result: Selection) -> Headline:
    """Who was chosen, of how many."""
    chosen, of = list(result.names), counted(len(result), "player")
    if not chosen:
        return Headline("selection", f"Nobody is chosen, of {of}.")
    who = _and([_name(player, _are_texts(chosen)) for player in chosen]) if len(chosen) <= NAMED else f"{len(chosen):,} players"
    rule = f" ({result.rule})" if result.rule else ""
    return Headline("selection", f"{_full(who)[:-1]} {'is' if len(chosen) == 1 else 'are'} chosen, of {of}{rule}.")


# Texts, pictures, answers


@headline.register
def _(explanation: Explanation) -> Headline:
    """The output with and without what plays, then who raised and lowered it, by the first method that tells which way."""
    kind = "answer" if explanation.said else "picture" if explanation.picture else "pair" if explanation.pair else "text"
    for note in explanation.notes:
        if note.kind in SAID_FIRST:
            return Headline(kind, _full(note.text))
    output = output_move(explanation)
    for method, result in explanation:
        if method not in explanation.unsigned:
            told, voice = leaders(_placed(explanation, result)), _voice(explanation)
            return Headline(kind, _with_output(output, told, voice, len(result)), told, output)
    return Headline(kind, f"{output}. {_unsigned(explanation)}".strip(), None, output)


def many_headline(found: Sequence[Explanation], refused: int = 0) -> Headline:
    """Of many inputs of one model: how many are predicted as what, most first."""
    noun = "picture" if found and found[0].picture is not None else "text"
    of = Counter(visible(short(each.target, NAME)) for each in found).most_common()
    told = [f"{count:,} {label}" for label, count in of[:NAMED]]
    told += [f"{sum(count for _, count in of[NAMED:]):,} other"] * (len(of) > NAMED)
    told += [f"{refused:,} not explained"] * bool(refused)
    return Headline("many", f"{counted(len(found) + refused, noun)}: {', '.join(told)}.")


def _with_output(output: Move, told: Leaders, voice: Voice, count: int) -> str:
    """The output, then who moved it; that nobody did is a sentence of its own."""
    said = write(told, voice, count) + _not_the_whole(told, voice)
    return f"{output}: {said}." if told.first is not None and _may_name(told.first) else f"{output}. {_full(said)}"


def _voice(explanation: Explanation) -> Voice:
    scale = payoff_words(explanation)
    return Voice(
        players_word(explanation) if explanation.picture is None else "part",
        unit=scale if scale == "log-odds" else f"in {scale}",
        quoted=explanation.picture is None,
    )


def parts_headline(read: str, parts: Sequence[Explanation]) -> str:
    """The first sentence of a text that was read in parts: how it was read, then which words of all parts raised and lowered
    each output. An output's parts are compared by the first method that tells which way in all of them."""
    outputs = Counter(part.target for part in parts)
    clauses = [read.rstrip(".")]
    for output, _ in outputs.most_common():
        own = [(number, part) for number, part in enumerate(parts, 1) if part.target == output]
        signed = [name for name in own[0][1].methods if all(name in {*part.methods} - {*part.unsigned} for _, part in own)]
        if not signed:
            continue
        results = [part[signed[0]] for _, part in own]
        joined = _joined([number for number, _ in own], results)
        told, label = leaders(joined), short(output, NAME)
        voice = replace(
            _voice(own[0][1]),
            up=(f"raises {label}", f"raise {label}"),
            down=(f"lowers {label}", f"lower {label}"),
            quoted=False,
        )
        ends = [end for end in (told.first, told.second) if end is not None and _may_name(end)]
        clauses += [_end(end, voice, len(joined), again=end is not ends[0]) for end in ends]
        clauses += [NO_ERROR] * (bool(ends) and any(result.interval is None and not result.exact for result in results))
    return "; ".join(clauses) + "."


def _joined(numbers: Sequence[int], results: Sequence[Attribution]) -> Attribution:
    """The words of several parts as one ranking: what one part divides is no share of another's."""
    ends = [result.estimate(player).ends for result in results for player in result.players]
    return Attribution(
        tuple(f"“{short(p, NAME)}” in part {k}" for k, result in zip(numbers, results, strict=True) for p in result.players),
        np.concatenate([result.credit for result in results]),
        None,
        results[0].method,
        interval=None if all(result.interval is None for result in results) else np.array(ends),
        precision=Precision.exact() if all(result.exact for result in results) else None,
        blur=max(result.rounding for result in results),
    )


def _placed(explanation: Explanation, result: Attribution) -> Attribution:
    """Patches of a picture by their places."""
    if explanation.picture is None:
        return result
    return replace(result, players=tuple(place_name(player) for player in result.players))


def _unsigned(explanation: Explanation) -> str:
    """What methods can say that tell how much, and not which way."""
    for method, result in explanation:
        if explanation.flow is not None and any(note.kind is NoteKind.NOT_UNIQUE for note in explanation.flow.notes):
            return f"{next(note.text for note in explanation.flow.notes if note.kind is NoteKind.NOT_UNIQUE)}"
        first = leaders(_placed(explanation, result)).first
        if first is None or not _may_name(first):
            return f"{title(method)} sets no {_voice(explanation).noun} apart."
        who = _names(first, _voice(explanation), len(result))
        return f"{title(method)} ranks {who} first; it does not tell which way."
    return ""


def output_move(explanation: Explanation) -> Move:
    """The explained output: a probability where there is one, and what it is without any player."""
    label = visible(short(explanation.target, NAME))
    without = f"with no {plural(players_word(explanation) if explanation.picture is None else 'part')}"
    ends = payoff_ends(explanation)
    if explanation.said is not None:
        return _answer_move(explanation, label, ends, without)
    found = next((p for name, p in explanation.prediction if name == explanation.target), None)
    probability = found is not None and explanation.unit == "probability"
    shown = "" if found is None else chance_words(found) if probability else round_off(found)
    chances: dict[str, Callable[[float], float]] = {"log-odds": sigmoid, "probability": float}
    to_chance = chances.get(explanation.payoff)
    if ends is None:
        return Move(label, shown)
    if to_chance is not None and (probability or found is None):
        before = to_chance(ends[1])
        after = to_chance(ends[0]) if found is None else found
        return _moved(label, after, before, chance_words, without)
    if not probability and explanation.payoff == "logit":  # a regression: the output itself
        return _moved(label, *ends, round_off, without)
    return _moved(f"{label} {shown}; {explanation.payoff}", *ends, lambda x: round_off(x, 3), without)


def _answer_move(explanation: Explanation, label: str, ends: tuple[float, float] | None, without: str) -> Move:
    said, scale = explanation.said, payoff_words(explanation)
    label = "This answer" if explanation.target == WHOLE else f"“{label}”"
    label += (
        f" rather than “{short(said.rather_than.strip(), NAME)}”"
        if said and said.rather_than and scale.startswith("diff")
        else ""
    )
    if ends is None:
        return Move(label, "")
    if scale in ("log-probability", "probability"):
        chances = [math.exp(min(x, 0.0)) for x in ends] if scale == "log-probability" else list(ends)
        if max(chances) >= READABLE:
            return _moved(f"{label} has probability", chances[0], chances[1], likely, without)
    return _moved(f"{label}: {scale}", *ends, lambda x: fix(x, 2), without)


def likely(p: float) -> str:
    """A probability of an answer.

    >>> likely(0.987), likely(0.0833), likely(1e-9), likely(0.9999)
    ('98.7%', '8.3%', 'below 0.1%', 'above 99.9%')
    """
    return "below 0.1%" if p < READABLE else "above 99.9%" if p > 1 - READABLE else percent(p, 1)


def _moved(label: str, after: float, before: float, write: Callable[[float], str], without: str) -> Move:
    texts = write(after), write(before)
    return Move(label, texts[0], texts[1], None if texts[0] == texts[1] else after > before, without)


def sigmoid(score: float) -> float:
    """The probability that log-odds stand for.

    >>> sigmoid(0.0), round(sigmoid(1.937), 3)
    (0.5, 0.874)
    """
    return 1 / (1 + math.exp(-score)) if score > -700 else 0.0


# Rows of tables and series


@headline.register
def _(explanation: TableExplanation) -> Headline:
    if len(explanation) == 1:
        return row_headline(explanation, 0)
    several = len(explanation.outputs) > 2
    found = explanation.overall_importance() if several else explanation.importance()
    moved = f"all {len(explanation.outputs)} outputs" if several else _output(explanation)
    over = f"over {len(explanation):,} rows"
    return _over(found, over, "column", moved, unit(explanation), explanation.precision.known, several)


@headline.register
def _(explanation: SeriesExplanation) -> Headline:
    if len(explanation) == 1:
        return replace(row_headline(explanation.table, 0, "part", explanation.row(0)), kind="series")
    over = f"over {len(explanation):,} series"
    table = explanation.table
    found = _over(explanation.importance(), over, "part", _output(table), unit(table), table.precision.known)
    return replace(found, kind="series")


def _output(explanation: TableExplanation) -> str:
    if explanation.target == "prediction":
        return "the prediction"
    name = f"“{short(explanation.target, NAME)}”"
    return name if any(letter.isalpha() for letter in name) else f"output {name}"


def row_headline(explanation: TableExplanation, row: int, noun: str = "column", credit: Attribution | None = None) -> Headline:
    """One row: its output beside the base value, and the columns that raised and lowered it."""
    k, scale = explanation.place(), unit(explanation)
    ends = float(explanation.prediction[row, k]), float(explanation.base[k])
    chances = chance(explanation, row), chance(explanation, None)
    label = _output(explanation)
    label = "Prediction" if label == "the prediction" else label.removeprefix("output ")
    without = "at the base value"
    if all(chances):
        rises = None if chances[0] == chances[1] else ends[0] > ends[1]
        output = Move(label, chances[0], chances[1], rises, without)
    elif explanation.payoff == "probability":
        output = _moved(label, *ends, chance_words, without)
    else:
        output = _moved(label, *ends, round_off, without)
    result = explanation.row(row) if credit is None else credit
    told = leaders(result)
    named = "" if scale == "value" else scale if scale == "log-odds" else f"in {scale}"
    voice = Voice(noun, unit=named, quoted=_are_texts(result.players))
    return Headline("row", _with_output(output, told, voice, len(result)), told, output)


def _over(
    found: Attribution, over: str, noun: str, moved: str, scale: str, rows_known: Known, several: bool = False
) -> Headline:
    """Mean sizes of credit over many inputs: which column moves the output, on average."""
    told = leaders(found)
    first, behind = told.first, "" if scale == "value" else f" {scale}" if scale == "log-odds" else f" in {scale}"
    if first is None:
        said = f"no {noun} moves {moved}: {_nothing(told)}"
    elif not _may_name(first):
        said = _unnamed(first, Voice(noun), len(found))
    else:
        one, voice = len(first.players) == 1, Voice(noun, quoted=_are_texts(found.players))
        sizes = _and([brief(x, False) for x in first.credit]) if first.support is Support.OVERLAP else _amount(first, False)
        average = "on average, added over them" if several else "on average"
        others = "" if len(first.players) == len(found) else " more than the others"
        beyond = _beyond(first, voice, len(found)) if one else others
        beyond += " the same" * (first.support is Support.TIED and not others)
        said = f"{_names(first, voice, len(found))} {'moves' if one else 'move'} {moved}{beyond}, by {sizes}{behind} {average}"
        said += ", but their intervals overlap" if first.support is Support.OVERLAP else ""
        if scale == "log-odds" and len(first.players) == 1:
            said += f" (enough to take 50% to {chance_words(sigmoid(first.credit[0]))})"
        said += "; the error of a row's own numbers is not known" * (rows_known is Known.UNKNOWN)
    return Headline("rows", _full(f"{over}, {said}"), told)


@headline.register
def _(found: RefitExplanation) -> Headline:
    shares = found.share_in_top(1)
    order = sorted(shares, key=lambda player: -shares[player])
    over = f"Over {len(found.refits)} refits"
    if shares[order[0]] > HALF and (len(order) == 1 or shares[order[1]] < shares[order[0]]):
        return Headline("refits", f"{over}, {short(order[0], NAME)} ranks first in {percent(shares[order[0]])} of them.")
    listed = _and([f"{short(player, NAME)} in {percent(shares[player])}" for player in order[:NAMED] if shares[player] > 0])
    return Headline("refits", f"{over}, no column ranks first in more than half of them: {listed}.")


# Answers with their sources


@headline.register
def _(found: Citations) -> Headline:
    """How many sentences have which verdict."""
    counts = {origin: sum(each.verdict is origin for each in found) for origin in Origin}
    told = [
        f"{counts[Origin.PASSAGES]} of {counted(len(found), 'sentence')} supported by the passages",
        *[f"{counts[Origin.MEMORY]} from the model's own memory"] * bool(counts[Origin.MEMORY]),
        *[f"{counts[Origin.NOWHERE]} unsupported"] * bool(counts[Origin.NOWHERE]),
        *[f"{counts[Origin.UNTOLD]} undecided"] * bool(counts[Origin.UNTOLD]),
    ]
    return Headline("citations", f"{', '.join(told)}.")


def trace_headline(found: Trace) -> Headline:
    """What the model said, and which training text made it likelier by the largest score."""
    after = f" after “{short(found.prompt, NAME)}”" if found.prompt else ""
    said = f"The model says “{short(found.answer, NAME)}”{after} with probability {likely(found.probability)}"
    best = int(np.argmax(found.scores))
    if found.scores[best] <= 0:
        return Headline("trace", f"{said}; none of {counted(len(found.texts), 'training text')} made it likelier.")
    first = np.flatnonzero(found.scores >= found.scores[best] * (1 - ROUNDING)) + 1
    if len(first) > NAMED:
        return Headline("trace", f"{said}; {len(first):,} training rows made it likelier by the same score, the highest.")
    who = f"training row {first[0]} ranks" if len(first) == 1 else f"training rows {_and(first.astype(str).tolist())} rank"
    return Headline("trace", f"{said}; {who} first among those that made it likelier.")


# Flows


def flow_headline(credit: Attribution, whole: float, where: str, ranges: FloatArray | None = None) -> Headline:
    """What an attention flow says of the tokens of a layer. `ranges` are the least and the most that each token has over all
    maximum flows, (tokens, 2): a leader is named only where every one of them agrees.

    >>> even = Attribution(("a", "b"), [0.5, 0.5], 1.0, "flow")
    >>> print(flow_headline(even, 1.0, "input", np.array([[0.0, 1.0], [0.0, 1.0]])))
    Attention flow cannot rank these tokens: other maximum flows give each of them anything from 0 to 1.
    """
    if not whole > 0:
        return Headline("flow", "Nothing flows: no path of positive weights leads from the output to the input.")
    voice = Voice("token", ("carries", "carry"), quoted=True, whole="carries {} of it")
    if ranges is None:
        told = replace(leaders(replace(credit, total=whole)), known=Known.EXACT)  # of this flow
        said = write(told, voice, len(credit))
        return Headline("flow", f"At the {where}, {said}; other maximum flows may rank them otherwise.", told)
    known = replace(credit, interval=ranges, stderr=None, precision=None, level=None)
    first = lead(known, 1)
    told = leaders(known)
    if first is not None and first.support in (Support.ALONE, Support.TIED):
        low, high = (round_off(x, 3) for x in ranges[credit.place(first.players[0])].tolist())
        span = low if low == high else f"{low} to {high}"
        one, count = len(first.players) == 1, len(credit)
        beyond = (_beyond(first, voice, count) or " it") if one else " the same"
        said = f"{_names(first, voice, count)} {voice.verb(first)}{beyond}"
        part = f"{span}{' each' * (not one)} of {round_off(whole, 3)}"
        return Headline("flow", f"At the {where}, {said} in every maximum flow: {part}.", told)
    alike = first.players if first is not None else credit.players
    return Headline("flow", f"{_cannot_rank(ranges[[credit.place(player) for player in alike]], alike, len(credit))}.", told)


def _cannot_rank(ranges: FloatArray, alike: Sequence[str], count: int) -> str:
    """That maximum flows disagree on which of these tokens, of `count`, comes first, and how far.

    >>> _cannot_rank(np.array([[0.0, 1.0], [0.0, 0.6]]), "ab", 2)
    'Attention flow cannot rank these tokens: maximum flows disagree, and give a token as little as 0 and as much as 1'
    >>> _cannot_rank(np.array([[0.2, 1.0], [0.1, 0.6]]), "ab", 3)
    'Attention flow cannot tell which of “a” and “b” comes first: maximum flows give them anything from 0.1 to 1'
    """
    low, high = round_off(float(ranges[:, 0].min()), 2), round_off(float(ranges[:, 1].max()), 2)
    if len(alike) == count:
        known = {(round_off(least, 2), round_off(most, 2)) for least, most in ranges.tolist()}
        same = f"other maximum flows give each of them anything from {low} to {high}"
        differ = f"maximum flows disagree, and give a token as little as {low} and as much as {high}"
        return f"Attention flow cannot rank these tokens: {same if len(known) == 1 else differ}"
    who = _and([_name(player, quoted=True) for player in alike]) if len(alike) <= NAMED else f"{len(alike):,} tokens"
    return f"Attention flow cannot tell which of {who} comes first: maximum flows give them anything from {low} to {high}"


def edges_headline(found: GraphFlow) -> Headline:
    """How much flows through a table of edges, and what proves that no more can, or at no less cost."""
    if found.cut is None:
        proof = f"proved by prices, gap {round_off(found.certificate['gap'], 1)}"
        return Headline("edges", f"Least cost {round_off(found.cost)}; {proof}.")
    shown, more = [_name(node) for node in found.source_side[:NODES]], len(found.source_side) - NODES
    around = ", ".join(shown) + f" and {more:,} more" * (more > 0)
    side = f"around {around}" if around else "at the sources"
    if found.value == 0:
        return Headline("edges", f"Nothing can flow: the cut {side} lets nothing through.")
    most = f"the cut {side} lets no more than {round_off(found.cut)} through"
    return Headline("edges", f"Maximum flow {round_off(found.value)}; {most}.")


# Training data


def worth_headline(values: Attribution, harmful: int = 0) -> Headline:
    """Which training row, or group, is worth more than the others, and how many surely do harm."""
    told = leaders(values)
    up = told.up
    voice = replace(WORTH, quoted=_are_texts(values.players))
    if up is None and told.down is not None and _may_name(told.down):
        said = f"no row is worth more than nothing; {write(replace(told, up=None), voice, len(values))}"
    elif up is None or not _may_name(up):
        said = _unnamed(up, voice, len(values)) if up is not None else f"no row adds anything: {_nothing(told)}"
    else:
        said = write(replace(told, down=None), voice, len(values))
    harm = f"; {counted(harmful, 'row')} surely {'do' if harmful != 1 else 'does'} harm" if harmful else ""
    return Headline("worth", _full(said + harm), told)


def purchase_headline(found: Purchases) -> Headline:
    """What to buy: the best set of all that are for sale, or the cheapest that is not surely worse; and what is a copy."""
    best = found.best[-1]
    known = {one.sources: _payoff(one) for one in found.best}
    if not best.sources:
        return Headline("purchase", f"Buy nothing: no set of the {len(found.prices)} groups is better than none.")
    named = f"{_bundle(best.sources)} for {best.price:g}{known[best.sources]}"
    copies = [f"{short(one.source, NAME)} is a copy of {short(one.beside, NAME)}" for one in found.redundant if one.is_copy]
    every = "all sets without copies" if copies else "all sets"
    if best.instead is not None:
        take = f"{_bundle(best.instead)} for {best.instead_price:g}{known.get(best.instead, '')}"
        said = f"Buy {take}; the best of {every}, {named}, is not surely better"
    elif best.surely is None:
        said = f"Buy {named}: the best of {every}, how surely is not known"
    else:
        said = f"Buy {named}: {f'surely the best of {every}' if best.surely else 'others for as much money may do as well'}"
    return Headline("purchase", "; ".join([said, *copies]) + ".")


def _bundle(names: Sequence[str]) -> str:
    return " + ".join(short(name, NAME) for name in names) or "nothing"


def _payoff(one: Purchase) -> str:
    """A payoff with its interval, where there is one."""
    inside = f", 95% interval {between(*one.payoff.ends, 3)}" if one.payoff.precision.known is Known.INTERVAL else ""
    return f" (payoff {brief(one.payoff.value, signed=False)}{inside})"


def labels_headline(found: WrongLabels) -> Headline:
    """How many labels look wrong, with intervals."""
    return Headline("labels", _sentence(found.verdict))


def suspects_headline(found: WrongLabels) -> Headline:
    """How many labels are listed, and how many of them to expect to be wrong; where none is listed, why."""
    if not found.suspects or found.precision is None:
        return Headline("labels", _sentence(found.verdict))
    listed = f"{len(found.suspects):,} of {len(found.names):,} labels are suspect"
    if found.may_be_clean:
        return Headline("labels", f"{listed}; all of these may be right: the data cannot tell wrong labels from hard rows.")
    return Headline("labels", f"{listed}; about {percent(found.precision)} of these should really be wrong.")


# Which explanation to trust


def compare_headline(table: Standings) -> Headline:
    """Which method comes closest to the oracle, and which cannot be told from it on these inputs."""
    from accredit.arena.contest import ORACLE, RANDOM

    ranked = [s for s in table.standings if s.share is not None and s.method not in (ORACLE, RANDOM)]
    if not ranked:
        return Headline("compare", "No method is ranked: no metric tells the oracle from chance on these inputs.")
    best, inputs = ranked[0], counted(table.rows, "input")
    assert best.share is not None
    way = f"{fix(best.share.value, 2)} of the way from random to the oracle"
    alike = [s.method for s in ranked[1:] if s.p_best is None or s.p_best >= 1 - table.level]
    if not alike:
        said = "is more faithful than every other method" if len(ranked) > 1 else "alone is ranked"
        return Headline("compare", f"{best.method} {said} on {inputs}: {way}.")
    some = _and(alike) if len(alike) <= NAMED else f"{', '.join(alike[:NAMED])} and {len(alike) - NAMED} more"
    return Headline("compare", f"Cannot tell {best.method} ({way}) from {some} on {inputs}; it ranks first, perhaps by chance.")


def audit_headline(report: Findings) -> Headline:
    """The verdict of an audit; that checks pass is not a proof."""
    if report.conclusion is not None:
        return Headline("audit", _sentence(str(report.conclusion)))
    if not report.found:
        return Headline("audit", "No check could be run.")
    one = all(finding.rows == 1 for finding in report)
    who, where = _sentence(report.subject.partition(";")[0]).rstrip("."), " on this one input" * one
    count, unclear = counted(len(report.found), "check"), [f.name for f in report if f.verdict == "unclear"]
    if report.flagged:
        said = f"{who} fails {len(report.flagged)} of {count}{where}: {', '.join(report.flagged)}"
    else:
        said = f"{who} fails none of {count}{where}"
    said += f"; undecided: {', '.join(unclear)}" if unclear else ""
    return Headline("audit", f"{said}.{' What they would find on other inputs is not known.' * one}")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
