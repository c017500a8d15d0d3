"""An explanation as HTML: the text coloured by its first method, all methods side by side, the flow, and what to trust."""

from __future__ import annotations

from accredit.core import AXIOMS, Attribution, Holds
from accredit.core.plain import rounded
from accredit.explanation.result import Explanation
from accredit.views.drawer import Drawer
from accredit.views.escape import escape
from accredit.views.flow import flow_svg, left_out
from accredit.views.palette import LEVELS
from accredit.views.parts import grid
from accredit.views.words import duration, title

MARKS = {Holds.EXACTLY: "●", Holds.IN_EXPECTATION: "◐", Holds.IN_THE_LIMIT: "◐", Holds.NO: "○", Holds.UNKNOWN: "?"}


def headline(explanation: Explanation) -> str:
    """The question that the page answers."""
    predicted = explanation.prediction[0][0] if explanation.prediction else explanation.target
    return f"Why {explanation.target}?" if explanation.target == predicted else f"What speaks for {explanation.target}?"


def explanation_body(explanation: Explanation, live: bool = False) -> str:
    """Everything but the document and the headline; `live` makes tokens links to their numbers and adds the inspector."""
    return "".join(explanation_blocks(explanation, live).values())


def explanation_blocks(explanation: Explanation, live: bool = False) -> dict[str, str]:
    """The body in pieces, by name and in order, so that a page that is shown can renew only what has changed."""
    drawer = Drawer(explanation, live)
    notes = "".join(f'<p class="small soft">{escape(note)}</p>' for note in explanation.notes)
    blocks = {"intro": _intro(explanation), "prediction": _prediction(explanation), "notes": notes}
    if explanation.attributions:
        blocks |= {"lead": drawer.lead(), "legend": _legend(explanation), "side": "<h2>Side by side</h2>"}
        blocks |= {f"method {name}": strip for name, strip in drawer.side_by_side().items()}
    if explanation.refused:
        told = "".join(f"<dt>{escape(title(m))}</dt><dd>{escape(why)}</dd>" for m, why in explanation.refused.items())
        blocks["refused"] = f'<h2>Methods that do not apply</h2><div class="why"><dl>{told}</dl></div>'
    if explanation.flow is not None:
        blocks["flow"] = _flow(explanation, drawer.many)
    if explanation.attributions:
        blocks |= {"numbers": drawer.numbers(), "trust": _trust(explanation)}
    blocks["footer"] = _footer(explanation)
    if live and explanation.attributions:
        blocks["inspector"] = INSPECTOR
    return blocks


INSPECTOR = (
    '<aside class="inspector" hidden aria-live="polite" aria-label="One token in every method"><h2></h2><dl></dl>'
    '<button type="button" aria-label="Close">✕</button></aside><p class="hint small soft">Point at a coloured piece, or walk '
    "along a strip with the arrow keys: its numbers in every method appear here.</p>"
)


def _intro(explanation: Explanation) -> str:
    count, ran = len(explanation.players), len(explanation.attributions)
    who = "patch" if explanation.picture else explanation.provenance.get("players", "player")
    who = who if isinstance(who, str) else "player"
    several = f"{count} {who}{'s' if who != 'patch' else 'es'}" if count > 1 else f"one {who}"
    several += " of two texts" * (explanation.pair is not None)
    took = sum(explanation.seconds.values())
    cost = f" in {duration(took)}" if took else ""
    model = explanation.provenance.get("model")
    by = f" Model: {escape(model)}." if model else ""
    methods = "one method" if ran == 1 else f"{ran} methods"
    return (
        f'<p class="lede">Credit of {several} for the {escape(explanation.payoff)} of {escape(explanation.target)}, '
        f"by {methods}{cost}.{by}</p>"
    )


def _prediction(explanation: Explanation) -> str:
    rows = []
    for label, p in explanation.prediction:
        asked = label == explanation.target
        if explanation.unit == "probability":
            drawing = (
                '<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
                '<rect class="track" width="100" height="6" rx="1"/>'
                f'<rect class="{"asked" if asked else "share"}" width="{100 * p:.2f}" height="6" rx="1"/></svg>'
            )
            told = f"{100 * p:.1f} %"
        else:
            drawing, told = "", rounded(p)
        rows.append(
            f"<dt{' class=now' * asked}>{escape(label)}</dt><dd>{drawing}</dd><dd{' class=now' * asked}>{told}</dd>"
        )
    return f'<dl class="prediction">{"".join(rows)}</dl>' if rows else ""


def _legend(explanation: Explanation) -> str:
    steps = [f"d{k}" for k in range(LEVELS, 0, -2)] + ["z"] + [f"u{k}" for k in range(2, LEVELS + 1, 2)]
    ramp, grey = (
        "".join(f'<i class="{s}"></i>' for s in row) for row in (steps, [f"n{k}" for k in range(2, LEVELS + 1, 2)])
    )
    sizes = (
        f'<span class="ramp" aria-hidden="true">{grey}</span><span>how much, not which way</span>'
        if explanation.unsigned
        else ""
    )
    return (
        f'<p class="legend"><span>lowers it</span><span class="ramp" aria-hidden="true">{ramp}</span><span>raises it</span>'
        f"{sizes}"
        "<span>Each method has its own scale: its strongest colour is its largest number.</span></p>"
    )


def _flow(explanation: Explanation, many: bool) -> str:
    flow = explanation.flow
    assert flow is not None
    notes = "".join(f"<p>{escape(note)}</p>" for note in flow.notes)
    cut = '<span class="key cut"></span>minimum cut: no flow can be larger than what these let through'
    return (
        f"<section{' class=aside' * many}><h2>How attention flows</h2><p class='soft'>From the output, above, through the "
        f"layers down to the text. Width is flow, {rounded(flow.value)} in all. Method: {escape(title(flow.method))}.</p>"
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="Drawing of the flow">{flow_svg(flow)}</div>'
        f'<figcaption class="small"><p><span class="key edge"></span>flow &nbsp; {cut}</p>{left_out(flow)}{notes}</figcaption>'
        "</figure></section>"
    )


def _trust(explanation: Explanation) -> str:
    header = ["method", *AXIOMS, "credited to nobody", "error bars"]
    rows, reasons = [], []
    for method, result in explanation:
        claims = [result.claim(axiom) for axiom in AXIOMS]
        marks = [
            f'<span class="holds {"yes" if c.holds is Holds.EXACTLY else "no"}">{MARKS[c.holds]} {escape(c.holds)}</span>'
            for c in claims
        ]
        left = "—" if result.unshared is None else rounded(result.unshared, 2).replace("-", "−")
        bars = (
            f"{result.level or 0.95:.0%} interval"
            if result.interval is not None
            else "± s.e."
            if result.stderr is not None
            else "—"
        )
        rows.append([escape(title(method)), *marks, left, bars])
        reasons.append(_reasons(method, result))
    return (
        "<section><h2>Why trust this?</h2><p class='soft'>Which axioms each credit provably keeps. Efficiency: everything is "
        "shared. Symmetry: equals get equal credit. Null player: who never matters gets nothing. Linearity: credit for a "
        f"sum is the sum of credits.</p>{grid(header, rows)}{''.join(reasons)}</section>"
    )


def _reasons(method: str, result: Attribution) -> str:
    facts = [(f"{c.axiom}: {c.holds}", c.because) for c in result.claims]
    if result.baseline is not None:
        facts.append(("nobody earns", f"{rounded(result.baseline)}, which is not shared"))
    if result.interval_because:
        facts.append(("error bars", result.interval_because))
    if result.stopped:
        facts.append(("stopped", result.stopped))
    if result.certificate:
        facts.append(("certificate", "; ".join(f"{k} {_told(v)}" for k, v in result.certificate.items())))
    facts.append(("method", result.method + (f", seed {result.seed}" if result.seed is not None else "")))
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return f'<details class="why"><summary>{escape(title(method))}: reasons and residuals</summary><dl>{told}</dl></details>'


def _told(value: object) -> str:
    if isinstance(value, float):
        return rounded(value)
    text = str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _footer(explanation: Explanation) -> str:
    facts = [
        f"{escape(k.replace('_', ' '))} {escape(_told(v))}"
        for k, v in explanation.provenance.items()
        if k != "command" and v not in (None, "")
    ]
    command = explanation.provenance.get("command")
    again = f"<p>Run it again: <code>{escape(command)}</code></p>" if command else ""
    return f"<footer><p>{' · '.join(facts)}</p>{again}<p>Made with accredit.</p></footer>"
