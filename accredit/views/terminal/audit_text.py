"""An audit on a terminal: the verdict, one line per check; then the numbers and what each check cannot see."""

from __future__ import annotations

from accredit.audit.finding import AuditFinding, Findings
from accredit.checks.json_data import round_off
from accredit.views.language.headlines import audit_headline
from accredit.views.language.numbers import BRIEF, estimate, fix, percent
from accredit.views.language.printable import printable, width
from accredit.views.terminal.columns import table
from accredit.views.terminal.screen import WIDTH, clip, fold, screen

MARKS = {"flagged": "✗", "passes": "✓", "unclear": "?"}
UNITS = {"share": " points", "nats": " nats", "τ": " τ", "distance": ""}  # of a difference
RANDOM = "random"  # what a random selector of the same size gets
HEADER = ["check", "good is", "value", "chance", "excess, 95% interval", RANDOM, "verdict"]
ONE = "one input"  # instead of an interval


def audit_text(report: Findings, more: bool = True) -> str:
    """The verdict, one line per check with what it means; then, on request, numbers and what each check cannot see."""
    lines = [""]
    for finding in report:
        lines += fold(f"{MARKS[finding.verdict]} {finding.name}: {finding.reading}", after="  ")
    details = ["", report.subject, *report.notes[:1], "", *narrow_table(report)]
    said: set[str] = set()
    for finding in report:
        known = (("asks", finding.asks), ("cannot see", finding.blind), ("also", details_of(finding)))
        told = [f"{label}: {words}" for label, words in known if words and words not in said]
        details += ["", f"{finding.name}", *told] if told else []
        said |= {finding.asks, finding.blind}
    by_reason: dict[str, list[str]] = {}
    for name, why in report.not_run.items():
        by_reason.setdefault(why, []).append(name)
    details += [f"not run: {', '.join(names)}: {why}" for why, names in by_reason.items()]
    return screen(audit_headline(report).text, lines, details, more, report.notes[1:])  # the first says what was read


def narrow_table(report: Findings) -> list[str]:
    """The numbers in 80 columns: two lines for what does not fit into one."""
    header, rows = table_of(report)
    lines = table(header, rows)
    if max(map(width, lines)) <= WIDTH:
        return lines
    first, second = [0, 2, 3, len(header) - 1], [0, 1, *range(4, len(header) - 1)]
    picked = [[[row[c] for c in columns] for row in (header, *rows)] for columns in (first, second)]
    return [*clip(table(picked[0][0], picked[0][1:])), "", *clip(table(picked[1][0], picked[1][1:]))]


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
