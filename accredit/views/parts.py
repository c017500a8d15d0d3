"""Pieces that several views share: tables, signed bars, claims. Cells are HTML that is already safe."""

from __future__ import annotations

from collections.abc import Sequence

from accredit.core import Attribution
from accredit.core.plain import rounded
from accredit.views.escape import escape


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of cells that are already HTML."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide" tabindex="0">{table}</div>'


def number(value: float, signed: bool = True) -> str:
    """A number with its sign, if the sign means something, and a true minus.

    >>> number(0.51234), number(-2.0), number(0.0), number(0.51234, signed=False)
    ('+0.512', '−2', '0', '0.512')
    """
    return ("+" * (signed and value > 0) + rounded(value, 3)).replace("-", "−")


def bounds(result: Attribution) -> tuple[list[float], list[float]]:
    """Low and high ends of what is known about each credit: its interval, or the credit itself."""
    if result.interval is None:
        return result.credit.tolist(), result.credit.tolist()
    return result.interval[:, 0].tolist(), result.interval[:, 1].tolist()


def span(result: Attribution) -> tuple[float, float]:
    """The range that a drawing of all credits with their intervals needs; it always holds zero."""
    low, high = bounds(result)
    credit = result.credit.tolist()
    return min(0.0, *low, *credit), max(0.0, *high, *credit)


def bar(
    value: float,
    span: tuple[float, float],
    interval: tuple[float, float],
    width: int = 200,
    height: int = 18,
    signed: bool = True,
) -> str:
    """A bar from zero, with its interval as a thin line. The number stands beside it, so screen readers may pass over it."""
    low, high = span
    scale = (width - 4) / ((high - low) or 1.0)

    def x(v: float) -> float:
        return 2 + (v - low) * scale

    left, right = sorted((x(0.0), x(value)))
    whisker = ""
    if interval[1] > interval[0]:
        a, b, middle, reach = x(interval[0]), x(interval[1]), height / 2, height / 4
        ends = "".join(f"M{end:.1f} {middle - reach:g}v{2 * reach:g}" for end in (a, b))
        whisker = f'<path class="whisker" d="M{a:.1f} {middle:g}H{b:.1f}{ends}"/>'
    return (
        f'<svg width="{width}" height="{height}" aria-hidden="true"><path class="{hue(value, signed)}" '
        f'd="M{left:.1f} 3h{max(right - left, 0.5):.1f}v{height - 6}H{left:.1f}z"/>'
        f'<path class="axis" d="M{x(0.0):.1f} 0v{height}"/>{whisker}</svg>'
    )


def hue(value: float, signed: bool) -> str:
    """The class of a bar: what raises, what lowers, what only has a size."""
    return "size" if not signed else "up" if value >= 0 else "down"


def shared(result: Attribution) -> str:
    """What the method divides, in a few words."""
    if result.total is None:
        return "scores; nothing is divided"
    return f"{rounded(result.total)} shared"


def attribution_table(result: Attribution) -> str:
    """Credit per player with signed bars and, where known, intervals drawn over them."""
    low, high = bounds(result)
    header = ["player", "credit" if result.total is not None else "score", ""]
    if result.interval is not None:
        header.insert(2, f"{result.level or 0.95:.0%} interval")
    rows = []
    for i, (name, credit) in enumerate(zip(result.players, result.credit.tolist(), strict=True)):
        row = [escape(name), rounded(credit).replace("-", "−"), bar(credit, span(result), (low[i], high[i]))]
        if result.interval is not None:
            row.insert(2, f"{rounded(low[i])} … {rounded(high[i])}".replace("-", "−"))
        rows.append(row)
    notes = " · ".join(escape(note) for note in (result.interval_because, result.stopped) if note)
    cost = f" · {result.payoffs:,} payoffs" if result.payoffs is not None else ""
    return f"<p>{escape(result.method)}: {shared(result)}</p>{grid(header, rows)}<p class='soft'>{notes}{cost}</p>"


def claims_table(result: Attribution) -> str:
    """Which axioms hold, and why."""
    if not result.claims:
        return ""
    rows = [[escape(c.axiom), escape(c.holds), escape(c.because)] for c in result.claims]
    return f"<details open><summary>Why trust this?</summary>{grid(['axiom', 'holds', 'because'], rows, 'claims')}</details>"
