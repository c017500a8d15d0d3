"""Which training texts made a language model say this, on a terminal: texts with their scores, then what is not known."""

from __future__ import annotations

from accredit.checks.json_data import round_off
from accredit.influence.trace import Trace, WordsAlone
from accredit.views.language.headlines import trace_headline
from accredit.views.language.numbers import BRIEF
from accredit.views.language.phrases import counted
from accredit.views.language.printable import short, width
from accredit.views.terminal.columns import bar as cells
from accredit.views.terminal.screen import WIDTH, screen

TEXT = 100  # characters of a text in the terminal
AGAINST = 3  # texts that are listed at the other end
CANNOT = (
    "These are slopes at the model as it is, seen through a random projection: they rank texts, and do not add up to anything. "
    "What the "
    "model would have said without a text is not known from them; a text that has a twin, or that was known before this "
    "training, may have made no difference."
)


def ends_of(found: Trace, shown: int) -> tuple[list[int], list[int]]:
    """The texts most responsible, and the few that most spoke against the answer."""
    towards = [i for i in found.order[:shown] if found.scores[i] > 0]
    return towards, [i for i in reversed(found.order) if found.scores[i] < 0][:AGAINST]


def words_alone(found: Trace) -> str:
    """What BM25, the words alone, says beside the gradients, as one sentence."""
    first = int(found.bm25.argmax())
    return {
        WordsAlone.ENOUGH: f"BM25 alone is enough here: shared words put row {first + 1} first, too.",
        WordsAlone.NARROW: "BM25 puts this text first, too, beside others that share as many words.",
        WordsAlone.TELLING: f"BM25 puts row {first + 1} first, which says the answer and shares a rare word with the question: "
        "on planted facts such a text was the right one, whatever gradients said. Read it first.",
        WordsAlone.DIFFERENT: f"BM25 puts row {first + 1} first, for the words it shares with the question: read both.",
        WordsAlone.SILENT: "BM25 says nothing: no training text shares a word with the question.",
    }[found.words_alone]


def word_ranks(found: Trace) -> list[str]:
    """The place of every text among all by BM25, as #1; a dash where it shares no word."""
    return [f"#{1 + int((found.bm25 > score).sum())}" if score > 0 else "–" for score in found.bm25]


def trace_text(found: Trace, shown: int = 10, more: bool = True) -> str:
    """The answer for a terminal."""
    towards, against = ends_of(found, shown)
    largest = float(abs(found.scores).max())
    first = "those that made it likelier first:" if towards else "none of which made it likelier"
    lines = ["", f"{counted(len(found.texts), 'training text')}, {first}"]
    scores = [round_off(float(found.scores[i]), BRIEF) for i in (*towards, *against)]
    wide, rows = max(map(width, scores), default=0), len(str(len(found.texts)))
    ranks = word_ranks(found)
    for number, (i, score) in enumerate(zip((*towards, *against), scores, strict=True)):
        if number == len(towards):
            lines.append("against it:")
        drawn = cells(float(found.scores[i]), largest)
        by_words = f"BM25 {ranks[i]:<{rows + 1}}"
        row = f"  {' ' * (wide - width(score))}{score}  {drawn:12}  row {i + 1:<{rows}}  {by_words}  "
        lines.append(row + short(found.texts[i], WIDTH - width(row)))
    facts = found.facts
    looked = f"‖∇J‖ is {gradient(found)}; looked at {len(facts['layers'])} layers, {facts['parameters']:,} parameters"
    details = ["", looked, *[f"not looked at: {left_out(found)}"] * bool(facts["left out"]), CANNOT]
    warnings = [words_alone(found), *(f"warning: {warning}" for warning in found.warnings)]
    return screen(trace_headline(found).text, lines, details, more, warnings)


def gradient(found: Trace) -> str:
    """How far the model is from a minimum."""
    norm, typical = (round_off(found.facts[name], BRIEF) for name in ("gradient norm", "gradient norm of a row"))
    return f"{norm}, a typical text's gradient {typical}"


def left_out(found: Trace) -> str:
    names = found.facts["left out"]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
