"""Results as HTML: fragments for notebooks, self-contained pages for everyone else. No script, no outside request."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.core import Attribution, Selection
from accredit.core.plain import rounded
from accredit.values.report import GameReport
from accredit.views.escape import escape
from accredit.views.palette import css, shade

STYLE = """
:root{color-scheme:light dark;--ink:#1d1f24;--soft:#5b616e;--line:#d9dce3;--paper:#fff;--panel:#f6f7f9;--up:#2166ac;--down:#b8500a}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a2a9b6;--line:#3a3f4a;--paper:#16181d;--panel:#20232a;
--up:#6fa8dc;--down:#e8924f}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.accredit table{border-collapse:collapse;font-variant-numeric:tabular-nums;max-width:100%}
.accredit th,.accredit td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
.accredit th:first-child,.accredit td:first-child{text-align:left;overflow-wrap:anywhere}
.accredit th{font-weight:600;color:var(--soft)}.accredit .soft,.accredit small{color:var(--soft)}
.accredit svg{vertical-align:middle}.accredit .wide{overflow-x:auto}
.accredit ul.reading{padding-left:1.2rem}.accredit details{margin:.5rem 0}.accredit summary{cursor:pointer}
.accredit .claims td{text-align:left;vertical-align:top}
"""


def fragment(result: Attribution | Selection | GameReport) -> str:
    """An HTML piece that a notebook can show; every name in it is escaped."""
    if isinstance(result, GameReport):
        body = _game(result)
    elif isinstance(result, Selection):
        body = _selection(result)
    else:
        body = attribution_table(result) + claims_table(result)
    return f'<div class="accredit"><style>{STYLE_INLINE}</style>{body}</div>'


def page(title: str, body: str) -> str:
    """A whole document around HTML that is already safe."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f'<body><main class="accredit"><h1>{escape(title)}</h1>{body}</main></body></html>\n'
    )


def game_page(report: GameReport, title: str) -> str:
    """A game report as one file."""
    return page(title, _game(report))


STYLE_INLINE = "\n".join(line for line in STYLE.splitlines() if not line.startswith(("body", "main", "h1")))


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of cells that are already HTML."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def attribution_table(result: Attribution) -> str:
    """Credit per player with signed bars and, where known, intervals drawn over them."""
    low = [x for x, _ in result.interval.tolist()] if result.interval is not None else result.credit.tolist()
    high = [x for _, x in result.interval.tolist()] if result.interval is not None else result.credit.tolist()
    span = (min(0.0, *low, *result.credit.tolist()), max(0.0, *high, *result.credit.tolist()))
    header = ["player", "credit" if result.total is not None else "score", ""]
    if result.interval is not None:
        header.insert(2, f"{result.level or 0.95:.0%} interval")
    rows = []
    for i, (name, credit) in enumerate(zip(result.players, result.credit.tolist(), strict=True)):
        row = [escape(name), rounded(credit), bar(credit, span, (low[i], high[i]))]
        if result.interval is not None:
            row.insert(2, f"{rounded(low[i])} … {rounded(high[i])}")
        rows.append(row)
    shared = "scores; nothing is divided" if result.total is None else f"{rounded(result.total)} shared"
    notes = " · ".join(escape(note) for note in (result.interval_because, result.stopped) if note)
    cost = f" · {result.payoffs:,} payoffs" if result.payoffs is not None else ""
    return f"<p>{escape(result.method)}: {shared}</p>{grid(header, rows)}<p class='soft'>{notes}{cost}</p>"


def bar(value: float, span: tuple[float, float], interval: tuple[float, float], width: int = 200) -> str:
    """A signed bar from zero, with its interval as a thin line."""
    low, high = span
    scale = (width - 4) / ((high - low) or 1.0)

    def x(v: float) -> float:
        return 2 + (v - low) * scale

    left, right = sorted((x(0.0), x(value)))
    colour = "var(--up)" if value >= 0 else "var(--down)"
    whisker = ""
    if interval[1] > interval[0]:
        whisker = (
            f'<path d="M{x(interval[0]):.1f} 9H{x(interval[1]):.1f}M{x(interval[0]):.1f} 5v8M{x(interval[1]):.1f} 5v8" '
            'stroke="currentColor" fill="none"/>'
        )
    return (
        f'<svg width="{width}" height="18" role="img" aria-label="{rounded(value)}">'
        f'<rect x="{left:.1f}" y="3" width="{max(right - left, 0.5):.1f}" height="12" fill="{colour}"/>'
        f'<path d="M{x(0.0):.1f} 0v18" stroke="currentColor" stroke-opacity=".5"/>{whisker}</svg>'
    )


def claims_table(result: Attribution) -> str:
    """Which axioms hold, and why."""
    if not result.claims:
        return ""
    rows = [[escape(c.axiom), escape(c.holds), escape(c.because)] for c in result.claims]
    return f"<details open><summary>Why trust this?</summary>{grid(['axiom', 'holds', 'because'], rows, 'claims')}</details>"


def _selection(result: Selection) -> str:
    rows = [[escape(p), "chosen" if c else "—"] for p, c in zip(result.players, result.chosen, strict=True)]
    return f"<p>{escape(result.method)}: {escape(result.rule)}</p>{grid(['player', ''], rows)}"


def _game(report: GameReport) -> str:
    reading = "".join(f"<li>{escape(line)}</li>" for line in report.reading)
    parts = [f'<ul class="reading">{reading}</ul>', "<h2>Values</h2>", attribution_table(report.values), claims_table(report.values)]
    if report.interactions:
        parts += ["<h2>Interactions</h2>", "<p class='soft'>Positive: the two complement each other; negative: they replace "
                  "each other.</p>", heat_map(report), "<h2>What each adds, given</h2>", _conditional(report)]  # fmt: skip
    best = [[str(k), escape(" + ".join(who) or "nobody"), rounded(x)] for k, (who, x) in report.best.items()]
    parts += ["<h2>Best coalition of each size</h2>", grid(["size", "coalition", "payoff"], best)]
    return "".join(parts)


def heat_map(report: GameReport) -> str:
    """Pairwise interactions as a coloured square."""
    if report.interactions is None:
        return ""
    square = report.interactions.matrix()
    largest = float(abs(square).max())
    players = report.values.players
    rows = []
    for i, name in enumerate(players):
        cells = []
        for j in range(len(players)):
            colour, white = shade(square[i, j], largest)
            ink = "#fff" if white else "#1d1f24"
            number = "" if i == j else rounded(square[i, j], 3)
            background = "transparent" if i == j else css(colour)
            cells.append(f'<span style="display:block;background:{background};color:{ink};padding:.1rem .4rem">{number}</span>')
        rows.append([escape(name), *cells])
    return grid(["", *(escape(p) for p in players)], rows)


def _conditional(report: GameReport) -> str:
    players = report.values.players
    header = ["what it adds", "to nobody", *(f"given {escape(j)}" for j in players), "to all others"]
    rows = []
    for i in players:
        given = ["—" if i == j else rounded(report.given[i][j]) for j in players]
        rows.append([escape(i), rounded(report.alone[i]), *given, rounded(report.last[i])])
    return grid(header, rows)
