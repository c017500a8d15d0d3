"""An audit on a terminal: one line per check, then what each verdict means and what the check cannot see."""

from __future__ import annotations

import textwrap

from accredit.audit.finding import AuditFinding, Findings
from accredit.checks.json_data import round_off
from accredit.views.language.numbers import BRIEF, estimate, fix, percent
from accredit.views.language.printable import printable
from accredit.views.terminal.columns import table

MARKS = {"flagged": "✗", "passes": "✓", "unclear": "?"}
UNITS = {"share": " points", "nats": " nats", "τ": " τ", "distance": ""}  # of a difference
RANDOM = "random"  # what a random selector of the same size gets
HEADER = ["check", "good is", "value", "chance", "excess, 95% interval", RANDOM, "verdict"]
WIDE = 110  # cells of a line of prose
ONE = "one input"  # instead of an interval


def audit_text(report: Findings) -> str:
    """The whole audit as lines of text."""
    lines = [printable(report.subject), *(f"  {printable(note)}" for note in report.notes), ""]
    lines += table(*table_of(report))
    said: set[str] = set()
    for finding in report:
        lines += ["", f"{MARKS[finding.verdict]} {finding.name}: {finding.reading}"]
        for label, words in (("asks", finding.asks), ("cannot see", finding.blind), ("also", details_of(finding))):
            if words and words not in said:
                lines += _fold(label, words)
        said |= {finding.asks, finding.blind}
    if report.not_run:
        lines += ["", "not run:"]
        by_reason: dict[str, list[str]] = {}
        for name, why in report.not_run.items():
            by_reason.setdefault(why, []).append(name)
        lines += [line for why, names in by_reason.items() for line in _fold(", ".join(names), why)]
    return "\n".join([*lines, "", summary(report)])


def summary(report: Findings) -> str:
    """The verdict in one line; that several checks pass is not a proof."""
    if report.conclusion is not None:
        return printable(str(report.conclusion))
    where = f" on this {ONE}" if only_one_input(report) else ""
    if report.flagged:
        return f"flagged{where}: {'; '.join(report.flagged)}"
    unclear = [finding.name for finding in report if finding.verdict == "unclear"]
    return f"nothing flagged{where}" + (f"; unclear: {'; '.join(unclear)}" if unclear else "")


def only_one_input(report: Findings) -> bool:
    """Does every number stand for one input, so that nothing is known of others?"""
    return bool(report.found) and all(finding.rows == 1 for finding in report)


def table_of(report: Findings) -> tuple[list[str], list[list[str]]]:
    """Header and rows; the column of the random selector only where there is one."""
    rows = [_cells(finding) for finding in report]
    if any(finding.random is not None for finding in report):
        return HEADER, rows
    return [h for h in HEADER if h != RANDOM], [[*row[:5], row[6]] for row in rows]


def _cells(finding: AuditFinding) -> list[str]:
    return [
        finding.name,
        "high ↑" if finding.wanted else "low ↓",
        _number(finding.value, finding.unit),
        _number(finding.chance, finding.unit),
        estimate(finding.excess, lambda x: _sign(x, finding.unit), UNITS[finding.unit]) + f" ({ONE})" * (finding.rows == 1),
        "—" if finding.random is None else _number(finding.random, finding.unit),
        f"{MARKS[finding.verdict]} {finding.verdict}",
    ]


def _number(value: float, unit: str) -> str:
    return percent(value, 1) if unit == "share" else fix(value, 3) + UNITS[unit]


def _sign(value: float, unit: str) -> str:
    return fix(100 * value, 1, signed=True) if unit == "share" else fix(value, 3, signed=True)


def details_of(finding: AuditFinding) -> str:
    return ", ".join(f"{printable(name)} {round_off(value, BRIEF)}" for name, value in finding.details.items())


def _fold(label: str, words: str) -> list[str]:
    return textwrap.wrap(
        f"{label}: {printable(words)}",
        WIDE,
        initial_indent="    ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )
