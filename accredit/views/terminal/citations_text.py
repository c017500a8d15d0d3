"""Citations on a terminal and as Markdown: the answer with numbered notes, then what shows each verdict."""

from __future__ import annotations

import re
import textwrap

from accredit.answers.verdicts import Origin
from accredit.explanation.citations import Citation, Citations, Pass
from accredit.views.language.numbers import fix, percent
from accredit.views.language.phrases import counted
from accredit.views.language.printable import printable, short

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
    return SAID[citation.verdict].format(by=", or by ".join(groups))


def headline(found: Citations) -> str:
    """How many sentences have which verdict, in one line."""
    kinds = [(origin, sum(each.verdict is origin for each in found)) for origin in Origin]
    told = ", ".join(f"{count} {origin.value}" for origin, count in kinds if count)
    return f"{counted(len(found), 'sentence')} of the answer: {told}."


def evidence(found: Citations, citation: Citation) -> list[str]:
    """The passes that show a verdict, one line each."""
    whole, none = citation.whole, citation.none
    lines = [f"with all passages {_said(whole)}; with none {_said(none)}"]
    for group in citation.support:
        share = citation.sufficiency(group)
        kept = f", keeps {percent(share, 0)} of what passages add" if share is not None else ""
        lines.append(f"with {numbers(group)} alone {_said(citation.with_only(group))}{kept}")
    if citation.support:
        left = citation.with_only(set(whole.passages) - set(citation.cited))
        share = citation.necessity
        lost = f", loses {percent(share, 0)}" if share is not None else ""
        lines.append(f"without {numbers(citation.cited)} {_said(left)}{lost}")
    elif closest := closest_pass(citation):
        lines.append(f"nearest: with {numbers(closest.passages)} alone {_said(closest)}")
    return lines


def closest_pass(citation: Citation) -> Pass | None:
    """The pass over some passages alone that comes nearest to saying it."""
    alone = [each for each in citation.passes[2:] if each.passages]
    return min(alone, key=lambda each: (each.surprise, len(each.passages)), default=None)


def _said(one: Pass) -> str:
    word = f", most of it “{printable(one.worst)}”" if one.worst and one.surprise >= UNSAID else ""
    return f"surprise {fix(one.surprise, 1)}{word} (log p of the sentence {fix(one.log_probability, 1)})"


def promise(found: Citations) -> str:
    """What the error rate says, and what was measured on other prompts."""
    told = f"Calibrated so that at most {percent(found.error, 0)} of sentences of each origin get a wrong verdict."
    measured = found.provenance.get("measured")
    if isinstance(measured, dict) and measured.get("error") == found.error:
        told += f" On {measured['sentences']} other planted sentences {measured['wrong']} verdicts were wrong, "
        told += f"{measured['untold']} were “cannot tell”."
    return told


def citations_text(found: Citations) -> str:
    """The answer with its notes, for a terminal."""
    lines = [headline(found), ""]
    body = " ".join(f"{printable(found.text_of(each))} {mark(each)}" for each in found)
    lines += [f"  {line}" for line in textwrap.wrap(body, LINE - 2)]
    shown = sorted({i for each in found for i in each.cited})
    lines += [""] * bool(shown) + [f"  [{i + 1}] {short(printable(found.passages[i]), LINE - 8)}" for i in shown]
    for each in found:
        lines += ["", *_wrap(f"“{short(printable(found.text_of(each)), QUOTE)}”: {verdict(each)}", "")]
        lines += [part for line in evidence(found, each) for part in _wrap(line, "  ")]
    lines += ["", *_wrap(promise(found), "")]
    return "\n".join([*lines, *(part for note in found.notes for part in _wrap(printable(str(note)), ""))])


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
        quoted = "".join(f" [{i + 1}] “{_escape(found.passages[i])}”" for i in each.cited)
        shown = "; ".join(evidence(found, each))
        notes.append(f"[^{number}]: {_escape(verdict(each)).capitalize()}.{quoted} ({_escape(shown)})")
    ends = [promise(found), *map(str, found.notes)]
    return "\n".join([" ".join(body), "", *notes, "", *(_escape(line) + "\n" for line in ends)])


def _escape(text: str) -> str:
    flat = " ".join(printable(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|!&~$])", r"\\\1", flat)
