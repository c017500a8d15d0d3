"""An explanation as HTML: the text coloured by its first method, all methods side by side, the flow, and what to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accredit.checks.json_data import round_off
from accredit.core import AXIOMS, Attribution, NoteKind
from accredit.explanation.result import WHOLE, Explanation
from accredit.models.encoded import visible
from accredit.views.language.answer_words import payoff_words, player_noun
from accredit.views.language.headlines import SAID_FIRST, plural, sigmoid
from accredit.views.language.headlines import headline as first_sentence
from accredit.views.language.largest import Step, climb, largest
from accredit.views.language.numbers import column, percent
from accredit.views.language.palette import LEVELS
from accredit.views.language.phrases import ALL, duration, error_bars, speak, title, without_folders
from accredit.views.pages.answer_page import answer_blocks
from accredit.views.pages.answer_page import headline as answer_headline
from accredit.views.pages.engine import render
from accredit.views.pages.flow_drawing import flow_svg, left_out
from accredit.views.pages.parts import step_bar
from accredit.views.pages.token_strips import Drawer, Live

if TYPE_CHECKING:
    from markupsafe import Markup


# From the base value to the output: what each player adds to the sum, in the order in which the text is read.

STEPS = 16  # players that are steps of their own; of more, those of largest credit, and the others together


def adds_up(explanation: Explanation) -> tuple[str, Attribution] | None:
    """The first method whose credit leads from a base value to the output."""
    for method, result in explanation:
        if result.baseline is None or result.total is None or result.unshared is None or method in explanation.unsigned:
            continue
        if abs(result.unshared) <= ALL * max(abs(result.total), float(np.abs(result.credit).sum())):
            return method, result
    return None


def running_sum(explanation: Explanation, names: dict[str, str]) -> Markup | None:
    """The steps from the base value to the output, if there is a method that has them; `names` are those of players."""
    found = adds_up(explanation)
    if found is None:
        return None
    method, result = found
    base, end = float(result.baseline or 0.0), float((result.baseline or 0.0) + (result.total or 0.0))
    steps = _steps(result, base, names)
    places = [base, *(step.end for step in steps)]
    reach, credits, sums = (min(places), max(places)), [s.credit for s in steps], [base, end, *places[1:]]
    added = column(credits, signed=True, beside=sums)
    first, last, *reached = column(sums, beside=credits)
    lines = [(s.name, a, b, step_bar(s, reach)) for s, a, b in zip(steps, added, reached, strict=True)]
    return render(
        "running",
        "running",
        lines=lines,
        base=_with_chance(explanation, first, base),
        end=_with_chance(explanation, last, end),
        payoff=f"{explanation.payoff} of {explanation.target}",
        method=title(method),
        player=player_noun(explanation),
        players=plural(player_noun(explanation)),
        whole="picture" if explanation.picture else "text",
    )


def _with_chance(explanation: Explanation, written: str, score: float) -> str:
    """A payoff, and the probability that it stands for."""
    return f"{written} ({percent(sigmoid(score), 1)})" if explanation.payoff == "log-odds" else written


def _steps(result: Attribution, base: float, names: dict[str, str]) -> list[Step]:
    """Players in the order of the text; beyond the largest the others together."""
    kept, rest = largest(result.credit, STEPS)
    own = np.sort(kept)
    named = [(names.get(result.players[i], result.players[i]), "", float(result.credit[i])) for i in own.tolist()]
    if len(rest):
        named.append((f"{len(rest)} others together", "", float(result.credit[rest].sum())))
    return climb(base, named)


LONG = 80  # characters of a fact in the footer or in a certificate
SIGNED = [*(f"d{k}" for k in range(LEVELS, 0, -2)), "z", *(f"u{k}" for k in range(2, LEVELS + 1, 2))]
UNSIGNED = [f"n{k}" for k in range(2, LEVELS + 1, 2)]


def headline(explanation: Explanation) -> str:
    """The question that the page answers."""
    if explanation.said is not None:
        return answer_headline(explanation)
    predicted = explanation.prediction[0][0] if explanation.prediction else explanation.target
    asked = visible(explanation.target)
    return f"Why {asked}?" if explanation.target == predicted else f"What supports {asked}?"


def explanation_body(explanation: Explanation, live: Live = "") -> Markup:
    """Everything but the document and the headline; `live` lets tokens tell their numbers and adds the inspector."""
    return render("parts", "joined", pieces=list(explanation_blocks(explanation, live).values()))


def explanation_blocks(explanation: Explanation, live: Live = "") -> dict[str, str]:
    """The body in pieces, by name and in order, so that a page that is shown can renew only what has changed."""
    drawer = Drawer(explanation, live)
    notes = render("explanation", "notes", lines=[str(note) for note in explanation.notes if note.kind not in SAID_FIRST])
    blocks: dict[str, str] = {"intro": _intro(explanation), "prediction": _prediction(explanation), "notes": notes}
    if explanation.said is not None:
        del blocks["prediction"], blocks["notes"]
        blocks |= answer_blocks(explanation, drawer) | {"legend": _legend(explanation), "notes": notes}
    elif explanation.attributions:
        blocks |= {"lead": drawer.lead(), "legend": _legend(explanation)}
        if (steps := running_sum(explanation, drawer.called)) is not None:
            blocks["sum"] = steps
        blocks["side"] = render("explanation", "side")
        blocks |= {f"method {name}": strip for name, strip in drawer.side_by_side().items()}
    if explanation.refused:
        refused = [(title(method), why) for method, why in explanation.refused.items()]
        blocks["refused"] = render("explanation", "refused", methods=refused)
    if explanation.flow is not None:
        blocks["flow"] = _flow(explanation, drawer.many)
    if explanation.attributions:
        blocks |= {"numbers": drawer.numbers(), "trust": _trust(explanation)}
    blocks["footer"] = _footer(explanation)
    if live and explanation.attributions and explanation.said is None:
        blocks["inspector"] = render("explanation", "inspector")
    return blocks


def _intro(explanation: Explanation) -> Markup:
    count, ran = len(explanation.players), len(explanation.attributions)
    who = explanation.provenance.get("players", "patch" if explanation.picture else "player")
    who = who if isinstance(who, str) else "player"
    several = f"{count} {who}{'s' if who != 'patch' else 'es'}" if count > 1 else f"one {who}"
    took = sum(explanation.seconds.values())
    return render(
        "explanation",
        "intro",
        answer=first_sentence(explanation).text,
        several=several + " of two texts" * (explanation.pair is not None),
        payoff=_payoff(explanation),
        target=_ask(explanation),
        methods="one method" if ran == 1 else f"{ran} methods",
        cost=duration(took) if took else "",
        model=without_folders(str(explanation.provenance.get("model") or "")),
    )


def _payoff(explanation: Explanation) -> str:
    return explanation.payoff if explanation.said is None else payoff_words(explanation)


def _ask(explanation: Explanation) -> str:
    return f"the {WHOLE}" if explanation.said is not None and explanation.target == WHOLE else visible(explanation.target)


def _prediction(explanation: Explanation) -> Markup:
    rows = []
    for label, p in explanation.prediction:
        share = explanation.unit == "probability"
        number = percent(p, 1) if share else round_off(p)
        rows.append((visible(label), label == explanation.target, f"{100 * p:.2f}" if share else "", number))
    return render("explanation", "prediction", rows=rows)


def _legend(explanation: Explanation) -> Markup:
    return render(
        "explanation",
        "legend",
        signed=SIGNED,
        unsigned=UNSIGNED if explanation.unsigned else [],
        up_to_certain=explanation.said is not None and payoff_words(explanation) == "log-probability",
    )


def _flow(explanation: Explanation, many: bool) -> Markup:
    flow = explanation.flow
    assert flow is not None
    return render(
        "explanation",
        "flow",
        drawing=flow_svg(flow),
        many=many,
        whole=round_off(flow.value),
        method=title(flow.method),
        left_out=left_out(flow),
        verdict=" ".join(note.text for note in flow.notes if note.kind is NoteKind.NOT_UNIQUE),
        notes=[str(note) for note in flow.notes if note.kind is not NoteKind.NOT_UNIQUE],
    )


class Trusted(NamedTuple):
    """What one method claims: how strictly each axiom holds, what is left over, what is known of its error."""

    method: str
    claims: list[str]
    unshared: str
    error_bars: str


def _trust(explanation: Explanation) -> Markup:
    rows = []
    for method, result in explanation:
        holds = [str(result.claim(axiom).holds) for axiom in AXIOMS]
        rows.append(Trusted(title(method), holds, _left(result), error_bars(result)))
    reasons = [(title(method), _reasons(result)) for method, result in explanation]
    return render("explanation", "trust", axioms=list(AXIOMS), rows=rows, reasons=reasons)


def _left(result: Attribution) -> str:
    """What is left over; what summing numbers leaves behind is nothing."""
    if result.unshared is None or result.total is None:
        return "—"
    return round_off(result.unshared, 2) if abs(result.unshared) > result.rounding else "0"


def _reasons(result: Attribution) -> list[tuple[str, str]]:
    facts = [(f"{c.axiom}: {c.holds}", c.because) for c in result.claims]
    if result.baseline is not None:
        facts.append(("with nothing there", f"{round_off(result.baseline)}, which is not shared"))
    if result.interval_because:
        facts.append(("error bars", result.interval_because))
    if result.stopped:
        facts.append(("stopped", result.stopped))
    if result.certificate:
        facts.append(("certificate", "; ".join(f"{k} {_short(v)}" for k, v in result.certificate.items())))
    facts.append(("method", speak(result.method) + (f", seed {result.seed}" if result.seed is not None else "")))
    return facts


def _short(value: object) -> str:
    if isinstance(value, float):
        return round_off(value)
    text = str(value)
    return text if len(text) <= LONG else text[: LONG - 1] + "…"


def _footer(explanation: Explanation) -> Markup:
    kept = explanation.provenance.items()
    facts = [f"{k.replace('_', ' ')} {without_folders(_short(v))}" for k, v in kept if k != "command" and v not in (None, "")]
    typed = str(explanation.provenance.get("command") or "")
    command = without_folders(typed)
    return render("explanation", "footer", facts=facts, command=command, cut=command != typed)
