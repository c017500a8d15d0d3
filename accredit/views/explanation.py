"""An explanation as HTML: the text coloured by its first method, all methods side by side, the flow, and what to trust."""

from __future__ import annotations

from accredit.core import AXIOMS, Attribution, Holds
from accredit.core.plain import rounded
from accredit.explanation.result import Explanation
from accredit.views.escape import escape
from accredit.views.flow import flow_svg
from accredit.views.palette import LEVELS, level
from accredit.views.parts import bar, bounds, grid, hue, number, span
from accredit.views.segments import Segment, segments
from accredit.views.words import duration, in_words, title

OPEN_ROWS = 60  # players up to which the table of numbers is open when the page loads
MANY = 80  # players from which the first drawing is set smaller
TOGETHER = 28  # characters that stay on one line when no space parts them
MARKS = {Holds.EXACTLY: "●", Holds.IN_EXPECTATION: "◐", Holds.IN_THE_LIMIT: "◐", Holds.NO: "○", Holds.UNKNOWN: "?"}


def headline(explanation: Explanation) -> str:
    """The question that the page answers."""
    predicted = explanation.prediction[0][0] if explanation.prediction else explanation.target
    return f"Why {explanation.target}?" if explanation.target == predicted else f"What speaks for {explanation.target}?"


def explanation_body(explanation: Explanation, live: bool = False) -> str:
    """Everything but the document and the headline; `live` makes tokens links to their numbers and adds the inspector."""
    drawer = _Drawer(explanation, live)
    parts = [_intro(explanation), _prediction(explanation)]
    parts += [f'<p class="small soft">{escape(note)}</p>' for note in explanation.notes]
    if explanation.attributions:
        parts += [drawer.lead(), _legend(explanation), drawer.side_by_side()]
    if explanation.refused:
        told = "".join(f"<dt>{escape(title(m))}</dt><dd>{escape(why)}</dd>" for m, why in explanation.refused.items())
        parts.append(f'<h2>Methods that do not apply</h2><div class="why"><dl>{told}</dl></div>')
    if explanation.flow is not None:
        parts.append(_flow(explanation))
    if explanation.attributions:
        parts += [drawer.numbers(), _trust(explanation)]
    parts.append(_footer(explanation))
    if live and explanation.attributions:
        parts.append(INSPECTOR)
    return "".join(parts)


INSPECTOR = (
    '<aside class="inspector" hidden aria-live="polite" aria-label="One token in every method"><h2></h2><dl></dl>'
    '<button type="button" aria-label="Close">✕</button></aside>'
)


def _intro(explanation: Explanation) -> str:
    count, ran = len(explanation.players), len(explanation.attributions)
    who = "patch" if explanation.picture else explanation.provenance.get("players", "player")
    who = who if isinstance(who, str) else "player"
    several = f"{count} {who}{'s' if who != 'patch' else 'es'}" if count > 1 else f"one {who}"
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


class _Drawer:
    """Draws one explanation; remembers where its segments are and how players are numbered."""

    def __init__(self, explanation: Explanation, live: bool) -> None:
        self.explanation, self.live = explanation, live
        self.segments = segments(explanation)
        extra = dict.fromkeys(p for _, a in explanation for p in a.players if p not in explanation.players)
        self.everyone = [*explanation.players, *extra]
        self.number = {player: k for k, player in enumerate(self.everyone)}

    def lead(self) -> str:
        """The first method that ran, large, with a bar and its interval over every token."""
        method, result = next(iter(self.explanation))
        signed = method not in self.explanation.unsigned
        caption = f'<p class="small soft">{escape(title(method))}: {escape(in_words(result))}</p>'
        if self.explanation.picture:
            return f'<div class="plate">{self._image()}{self._image(result, signed)}</div>{caption}'
        many = " many" if len(self.everyone) > MANY else ""
        return f'<div class="strip lead{many}">{self._running(result, signed, sky=True)}</div>{caption}'

    def side_by_side(self) -> str:
        """Every method as a strip of coloured tokens, or as a coloured picture."""
        rows = []
        for method, result in self.explanation:
            signed = method not in self.explanation.unsigned
            costs = [f"{result.payoffs:,} payoffs"] if result.payoffs is not None else []
            if method in self.explanation.seconds:
                costs.append(duration(self.explanation.seconds[method]))
            about = f"<h3>{escape(title(method))}</h3><p class='small'>{escape(in_words(result))}</p>"
            about += f"<p class='small soft'>{' · '.join(costs)}</p>" if costs else ""
            if self.explanation.picture:
                rows.append(f"<div>{self._image(result, signed)}{about}</div>")
            else:
                strip = self._running(result, signed, sky=False)
                rows.append(f'<div class="method"><div>{about}</div><p class="strip">{strip}</p></div>')
        inner = f'<div class="pictures">{"".join(rows)}</div>' if self.explanation.picture else "".join(rows)
        return f"<section><h2>Side by side</h2>{inner}</section>"

    def _running(self, result: Attribution, signed: bool, sky: bool) -> str:
        """The text with its tokens coloured; with `sky`, pieces without a space between them stay on one line."""
        parts: list[str] = []
        together: list[Segment] = []

        def flush() -> None:
            drawn = "".join(self._token(s, result, signed, sky) for s in together)
            short = sum(len(s.text) for s in together) <= TOGETHER
            parts.append(f'<span class="nb">{drawn}</span>' if sky and len(together) > 1 and short else drawn)
            together.clear()

        for segment in self.segments:
            if segment.special and segment.player not in result.players:
                continue
            if segment.player is None:
                flush()
                parts.append(escape(segment.text))
            else:
                if segment.special or (together and together[-1].special):
                    flush()
                    parts.append(" " if parts and not parts[-1].endswith(" ") else "")
                together.append(segment)
        flush()
        return "".join(parts)

    def _token(self, segment: Segment, result: Attribution, signed: bool, sky: bool) -> str:
        assert segment.player is not None
        at = result.players.index(segment.player)
        credit, (low, high) = float(result.credit[at]), bounds(result)
        colour = level(credit, float(abs(result.credit).max()), signed)
        kind = (
            f"t {'special ' if segment.special else ''}{colour}"
            if not sky
            else f"t{' special' if segment.special else ''}"
        )
        told = escape(f"{segment.text.strip()}: {number(credit, signed)}")
        if self.live:
            k = self.number[segment.player]
            opened = f'<a class="{kind}" href="#p{k}" data-p="{k}" aria-label="{told}"'
        else:
            opened = f'<span class="{kind}" title="{told}"'
        inner = escape(segment.text)
        if sky:
            inner = f'{_sky(credit, (low[at], high[at]), span(result), signed)}<span class="{colour}">{inner}</span>'
        return f"{opened}>{inner}</{'a' if self.live else 'span'}>"

    def _image(self, result: Attribution | None = None, signed: bool = True) -> str:
        """The picture, with patches coloured by their credit."""
        picture = self.explanation.picture
        assert picture is not None
        (height, width), (down, across) = picture.size, picture.grid
        patches = ""
        if result is not None:
            tall, wide = height / down, width / across
            largest = float(abs(result.credit).max())
            for k, player in enumerate(self.explanation.players):
                credit = result[player]
                told = escape(f"{player}: {number(credit, signed)}")
                rect = (
                    f'<rect x="{k % across * wide:.2f}" y="{k // across * tall:.2f}" width="{wide:.2f}" height="{tall:.2f}" '
                    f'class="t patch {level(credit, largest, signed)}" data-p="{k}"><title>{told}</title></rect>'
                )
                patches += f'<a href="#p{k}" tabindex="-1" aria-label="{told}">{rect}</a>' if self.live else rect
        name = "the picture" if result is None else f"the picture, coloured by {result.method}"
        return (
            f'<svg viewBox="0 0 {width} {height}" role="group" aria-label="{escape(name)}">'
            f'<image href="{escape(picture.data)}" width="{width}" height="{height}"/>{patches}</svg>'
        )

    def numbers(self) -> str:
        """Every number in one table: players down, methods across. Tokens link to its rows, the inspector copies from it."""
        columns = [(m, result, span(result), *bounds(result)) for m, result in self.explanation]
        head = "".join(f'<th scope="col">{escape(title(m))}</th>' for m, *_ in columns)
        rows = []
        for k, player in enumerate(self.everyone):
            cells = []
            for method, result, reach, low, high in columns:
                signed = method not in self.explanation.unsigned
                if player not in result.players:
                    cells.append("<td>—</td>")
                    continue
                at = result.players.index(player)
                credit = float(result.credit[at])
                drawing = bar(credit, reach, (low[at], high[at]), 44, 14, signed)
                tip = f' title="{number(low[at])} … {number(high[at])}"' if high[at] > low[at] else ""
                cells.append(f'<td><span class="cell"{tip}>{number(credit, signed)} {drawing}</span></td>')
            anchor = f' id="p{k}"' if self.live else ""
            rows.append(f'<tr{anchor}><th scope="row">{escape(player)}</th>{"".join(cells)}</tr>')
        body = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        opened = " open" if len(rows) <= OPEN_ROWS else ""
        count = len(rows)
        return (
            "<section><h2>Every number</h2>"
            f'<details{opened}><summary class="soft">{count} rows; thin lines are intervals, where a method has them</summary>'
            f'<div class="numbers" tabindex="0" role="region" aria-label="Every number">{body}</div></details></section>'
        )


def _sky(credit: float, interval: tuple[float, float], reach: tuple[float, float], signed: bool) -> str:
    """A bar over a token, as wide as the token: up raises, down lowers; its interval is a thin line."""
    low, high = reach
    scale = 46 / ((high - low) or 1.0)

    def y(value: float) -> float:
        return 49 - (value - low) * scale

    top, bottom = sorted((y(0.0), y(credit)))
    line = (
        f'<path class="whisker" d="M50 {y(interval[0]):.1f}V{y(interval[1]):.1f}"/>'
        if interval[1] > interval[0]
        else ""
    )
    return (
        '<svg class="sky" viewBox="0 0 100 52" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{hue(credit, signed)}" x="8" y="{top:.1f}" width="84" height="{max(bottom - top, 0.4):.1f}"/>'
        f'<path class="axis" d="M0 {y(0.0):.1f}H100"/>{line}</svg>'
    )


def _flow(explanation: Explanation) -> str:
    flow = explanation.flow
    assert flow is not None
    notes = "".join(f"<p>{escape(note)}</p>" for note in flow.notes)
    cut = '<span class="key cut"></span>minimum cut: no flow can be larger than what these let through'
    return (
        "<section><h2>How attention flows</h2><p class='soft'>From the output, above, through the layers down to the text. "
        f"Width is flow, {rounded(flow.value)} in all. Method: {escape(title(flow.method))}.</p>"
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="Drawing of the flow">{flow_svg(flow)}</div>'
        f'<figcaption class="small"><p><span class="key edge"></span>flow &nbsp; {cut}</p>{notes}</figcaption>'
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
