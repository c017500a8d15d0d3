"""Citations on a terminal and as Markdown: the answer with numbered notes, then what shows each verdict."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from accredit.answers.verdicts import Origin
from accredit.core import NoteKind
from accredit.explanation.citations import Citation, Citations, Pass, Quote
from accredit.views.language.headlines import headline
from accredit.views.language.numbers import fix, percent
from accredit.views.language.printable import printable, short
from accredit.views.terminal.screen import screen

LINE = 78  # cells of a line
QUOTE = 52  # cells of a passage beside its number
UNSAID = 0.05  # nats of surprise below which no word is to blame
MARKS = {Origin.PASSAGES: "", Origin.MEMORY: "m", Origin.NOWHERE: "!", Origin.UNTOLD: "?"}
SAID = {
    Origin.PASSAGES: "supported by {by}",
    Origin.MEMORY: "from the model's own memory: it says this without any passage",
    Origin.NOWHERE: "unsupported: neither a passage nor the model alone says this",
    Origin.UNTOLD: "cannot tell: no verdict keeps the error rate",
}


def numbers(passages: tuple[int, ...]) -> str:
    """Passages as people count them.

    >>> numbers((0, 2))
    '[1][3]'
    """
    return "".join(f"[{i + 1}]" for i in passages)


def mark(citation: Citation) -> str:
    """What stands behind a sentence: the numbers of passages, or a sign."""
    return numbers(citation.cited) or f"[{MARKS[citation.verdict]}]"


def verdict(citation: Citation) -> str:
    """The verdict in words.

    Groups that are enough each are joined by "or", passages that are needed together by "with".
    """
    groups = [" with ".join(f"[{i + 1}]" for i in group) for group in citation.support]
    if citation.because:
        return f"cannot tell: {citation.because}"
    return SAID[citation.verdict].format(by=", or by ".join(groups))


def evidence(found: Citations, citation: Citation) -> list[str]:
    """The passes that show a verdict, one line each."""
    whole, none = citation.whole, citation.none
    lines = [f"with all passages {_said(whole)}; with none {_said(none)}"]
    for group in citation.support:
        share = citation.sufficiency(group)
        kept = f", keeps {_share(share)} of what passages add" if share is not None else ""
        lines.append(f"with {numbers(group)} alone {_said(citation.with_only(group))}{kept}")
    if citation.support:
        left = citation.with_only(set(whole.passages) - set(citation.cited))
        share = citation.necessity
        lost = f", loses {_share(share)}" if share is not None else ""
        lines += [f"what says it in [{one.passage + 1}]: “{quote(found, one)}”" for one in citation.quotes]
        lines.append(f"without {numbers(citation.cited)} {_said(left)}{lost}")
    elif closest := closest_pass(citation):
        lines.append(f"nearest: with {numbers(closest.passages)} alone {_said(closest)}")
    return lines


def _share(share: float) -> str:
    """A share of what passages add, as people say it: some passages alone may do better than all of them."""
    return "all" if share >= 1 else percent(max(share, 0.0), 0)


def quote(found: Citations, one: Quote) -> str:
    """The words of a quote."""
    return " ".join(printable(found.passages[one.passage][one.start : one.stop]).split())


def closest_pass(citation: Citation) -> Pass | None:
    """The pass over some passages alone that comes nearest to saying it."""
    alone = [each for each in citation.passes[2:] if each.passages]
    return min(alone, key=lambda each: (each.surprise, len(each.passages)), default=None)


def _said(one: Pass) -> str:
    word = f" at “{printable(one.worst)}”" if one.worst and one.surprise >= UNSAID else ""
    return f"surprise {fix(one.surprise, 1)}{word} (log p of the sentence {fix(one.log_probability, 1)})"


def promise(found: Citations) -> str:
    """What the error rate says, and what was measured on other prompts; of another model than the calibrated one, nothing."""
    calibrated = found.provenance.get("calibration")
    if isinstance(calibrated, dict) and not calibrated.get("is of this model", True):
        return "No error rate is stated: no calibration of this model was given."
    told = (
        f"Calibrated on planted facts: of sentences like those, at most {percent(found.error, 0)} of an origin are misjudged."
    )
    written = found.provenance.get("answer from")
    if isinstance(written, dict) and written.get("name") == "generated":
        told += " Their answers were given; the model wrote this one, and what it misread counts as supported."
    measured = found.provenance.get("measured")
    if isinstance(measured, dict) and measured.get("error") == found.error:
        told += f" Of {measured['sentences']} other planted sentences {measured['wrong']} got a wrong verdict, "
        told += f"{measured['untold']} got none."
        for origin, (wrong, count) in measured.get("by origin", {}).items():
            if wrong > found.error * count:
                told += f" Of those {origin} {wrong} of {count} were judged wrong: more than {percent(found.error, 0)}."
    return told


def citations_text(found: Citations, more: bool = True) -> str:
    """The answer with its notes, for a terminal: a verdict per sentence; what shows it, on request."""
    body = " ".join(f"{printable(found.text_of(each))} {mark(each)}" for each in found)
    lines = ["", *(f"  {line}" for line in textwrap.wrap(body, LINE - 2))]
    shown = sorted({i for each in found for i in each.cited})
    lines += [""] * bool(shown) + [f"  [{i + 1}] {short(_source(found, i, found), LINE - 8)}" for i in shown]
    lines += [] if more else [""]
    for each in found:
        lines += [""] * more + _wrap(f"“{short(printable(found.text_of(each)), QUOTE)}”: {verdict(each)}", "")
        lines += [part for line in evidence(found, each) for part in _wrap(line, "  ")] if more else []
    hidden = [] if more else [line for each in found for line in evidence(found, each)]
    warnings = [str(note) for note in found.notes if note.kind is NoteKind.WARNING]
    notes = [str(note) for note in found.notes if note.kind is not NoteKind.WARNING]
    return screen(headline(found).text, lines, [*hidden, "", promise(found), *notes], more, warnings)


def _source(found: Citations, passage: int, cited_by: Iterable[Citation]) -> str:
    """What is shown of a cited passage: the sentences that say it, or all of it where none says it alone."""
    quotes = {one for each in cited_by for one in each.quotes if one.passage == passage}
    return " … ".join(quote(found, one) for one in sorted(quotes, key=lambda one: one.start)) or printable(
        found.passages[passage]
    )


def _in_short(citation: Citation) -> str:
    """The surprise with all passages, with none, and with what is cited alone."""
    read = {"all passages": citation.whole, "none": citation.none}
    read |= {f"{numbers(group)} alone": citation.with_only(group) for group in citation.support}
    return "surprise " + ", ".join(f"{fix(one.surprise, 1)} with {what}" for what, one in read.items())


def _wrap(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, LINE, initial_indent=indent, subsequent_indent=indent + "  ")


def citations_markdown(found: Citations) -> str:
    """The answer with footnotes; what could be read as Markdown is escaped.

    >>> from accredit import cite
    >>> found = cite(context=["Anna lives in Rome .", "Boris owns a dog ."], query="Where does Anna live ?")
    >>> print(citations_markdown(found).splitlines()[0])
    Anna lives in Rome .[^1]
    """
    body, notes = [], []
    for number, each in enumerate(found, 1):
        body.append(f"{_escape(found.text_of(each))}[^{number}]")
        quoted = "".join(f" \\[{i + 1}\\] “{_escape(_source(found, i, [each]))}”" for i in each.cited)
        notes.append(f"[^{number}]: {_escape(verdict(each)).capitalize()}.{quoted} ({_escape(_in_short(each))})")
    ends = [promise(found), *map(str, found.notes)]
    return "\n".join([" ".join(body), "", *notes, "", *(_escape(line) + "\n" for line in ends)])


def _escape(text: str) -> str:
    flat = " ".join(printable(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|!&~$])", r"\\\1", flat)
