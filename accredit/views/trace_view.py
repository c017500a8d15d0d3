"""Which training texts made a language model say this: the texts first, with their scores, then what cannot be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.checks.json_data import round_off
from accredit.influence.trace import Trace
from accredit.views.columns import bar as cells
from accredit.views.columns import printable, width
from accredit.views.engine import render
from accredit.views.labels_view import short
from accredit.views.numbers import BRIEF, column
from accredit.views.page import page
from accredit.views.parts import Bar, Who, bar
from accredit.views.words import counted, sentence

if TYPE_CHECKING:
    from markupsafe import Markup

TEXT = 100  # characters of a text in the terminal
AGAINST = 3  # texts that are listed at the other end
CANNOT = (
    "These are slopes at the model as it is, seen through a random projection: they rank texts, they divide nothing. What the "
    "model would have said without a text is not known from them; a text that has a twin, or that was known before this "
    "training, may have made no difference."
)


def headline(found: Trace) -> str:
    """What was asked, as one sentence."""
    after = f" after “{found.prompt}”" if found.prompt else ""
    return f"The model says “{found.answer}”{after} with probability {round_off(found.probability, 3)}."


def answer(found: Trace) -> str:
    """The text that made it likeliest, as one sentence."""
    first = found.order[0]
    if not found.scores[first] > 0:
        return "None of the training texts made it likelier."
    return f"Row {first + 1} made it likelier than any other: “{short(found.texts[first], TEXT)}”"


def _ends(found: Trace, shown: int) -> tuple[list[int], list[int]]:
    """The texts most responsible, and the few that most spoke against the answer."""
    towards = [i for i in found.order[:shown] if found.scores[i] > 0]
    return towards, [i for i in reversed(found.order) if found.scores[i] < 0][:AGAINST]


def trace_text(found: Trace, shown: int = 10) -> str:
    """The answer for a terminal."""
    towards, against = _ends(found, shown)
    largest = float(abs(found.scores).max())
    first = "those that made it likelier first:" if towards else "none of which made it likelier"
    lines = [printable(headline(found)), f"{counted(len(found.texts), 'training text')}, {first}"]
    scores = [round_off(float(found.scores[i]), BRIEF) for i in (*towards, *against)]
    wide, rows = max(map(width, scores), default=0), len(str(len(found.texts)))
    for number, (i, score) in enumerate(zip((*towards, *against), scores, strict=True)):
        if number == len(towards):
            lines.append("against it:")
        drawn = cells(float(found.scores[i]), largest)
        lines.append(f"  {' ' * (wide - width(score))}{score}  {drawn:12}  row {i + 1:<{rows}}  {short(found.texts[i], TEXT)}")
    facts = found.facts
    lines += ["", *(f"warning: {warning}" for warning in found.warnings)]
    lines.append(f"‖∇J‖ is {gradient(found)}; looked at {len(facts['layers'])} layers, {facts['parameters']:,} parameters")
    if facts["left out"]:
        lines.append(f"not looked at: {left_out(found)}")
    return "\n".join([*lines, CANNOT])


def gradient(found: Trace) -> str:
    """How far the model is from a minimum."""
    norm, typical = (round_off(found.facts[name], BRIEF) for name in ("gradient norm", "gradient norm of a row"))
    return f"{norm}, a typical text's gradient {typical}"


def left_out(found: Trace) -> str:
    names = found.facts["left out"]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def trace_page(found: Trace, shown: int = 10) -> str:
    """The answer as one self-contained HTML file."""
    return page("Which training texts made the model say this?", trace_body(found, shown), script_of="sorting")


def trace_body(found: Trace, shown: int = 10) -> Markup:
    """The answer as a piece of a page."""
    towards, against = _ends(found, shown)
    low, high = min(0.0, float(found.scores.min())), max(0.0, float(found.scores.max()))

    written = dict(zip((*towards, *against), column(found.scores[[*towards, *against]].tolist()), strict=True))

    def line(i: int) -> tuple[Who, str, Bar, str]:
        score = float(found.scores[i])
        strongest = found.tokens[int(found.by_token[i].argmax())].strip() if len(found.tokens) > 1 else ""
        return (
            Who(f"row {i + 1}", "", found.texts[i]),
            written[i],
            bar(score, (low, high), (score, score)),
            strongest,
        )

    looked = f"{len(found.facts['layers'])} layers, {found.facts['parameters']:,} parameters"
    return render(
        "trace",
        "body",
        answer=answer(found),
        headline=headline(found),
        count=f"{len(found.texts):,}",
        towards=[line(i) for i in towards],
        against=[line(i) for i in against],
        tokens=len(found.tokens) > 1,
        warnings=[sentence(warning) for warning in found.warnings],
        cannot=CANNOT,
        gradient=gradient(found),
        looked=looked,
        left_out=left_out(found),
        scale=found.facts["scale"],
    )
