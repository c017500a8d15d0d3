"""An audit on a terminal and as a page: one line per check, then what each verdict means and what the check cannot see."""

from __future__ import annotations

import textwrap

from accredit.audit.finding import AuditFinding, Findings
from accredit.checks.json_data import round_off
from accredit.views.columns import printable, table
from accredit.views.engine import render
from accredit.views.numbers import BRIEF, estimate, fix, percent
from accredit.views.page import page
from accredit.views.words import sentence, without_folders

MARKS = {"flagged": "✗", "passes": "✓", "unclear": "?"}
UNITS = {"share": " points", "nats": " nats", "τ": " τ", "distance": ""}  # of a difference
RANDOM = "random"  # what a random selector of the same size gets
HEADER = ["check", "good is", "value", "chance", "excess, 95% interval", RANDOM, "verdict"]
WIDE = 110  # cells of a line of prose
ONE = "one input"  # instead of an interval


def audit_text(report: Findings) -> str:
    """The whole audit as lines of text."""
    lines = [printable(report.subject), *(f"  {printable(note)}" for note in report.notes), ""]
    lines += table(*_table(report))
    said: set[str] = set()
    for finding in report:
        lines += ["", f"{MARKS[finding.verdict]} {finding.name}: {finding.reading}"]
        for label, words in (("asks", finding.asks), ("cannot see", finding.blind), ("also", _details(finding))):
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
    where = f" on this {ONE}" if _alone(report) else ""
    if report.flagged:
        return f"flagged{where}: {'; '.join(report.flagged)}"
    unclear = [finding.name for finding in report if finding.verdict == "unclear"]
    return f"nothing flagged{where}" + (f"; unclear: {'; '.join(unclear)}" if unclear else "")


def verdict(report: Findings) -> str:
    """The verdict on everything in one sentence, for the head of a page."""
    if report.conclusion is not None:
        said = summary(report)
        return f"{said[0].upper()}{said[1:]}."
    count = f"{len(report.found)} check{'s' * (len(report.found) != 1)}"
    unclear = sum(finding.verdict == "unclear" for finding in report)
    where, others = (f"On this {ONE}, ", " What they would find on others is not known.") if _alone(report) else ("", "")
    if not report.found:
        return "No check could be run."
    if report.flagged:
        said = f"{where}{len(report.flagged)} of {count} found a fault: {', '.join(report.flagged)}."
    else:
        said = f"No fault was found by {count}" + (f"; {unclear} cannot tell: more rows are needed." if unclear else ".")
    return f"{said}{others}"


def _alone(report: Findings) -> bool:
    """Does every number stand for one input, so that nothing is known of others?"""
    return bool(report.found) and all(finding.rows == 1 for finding in report)


def audit_page(report: Findings) -> str:
    """The whole audit as one self-contained page."""
    header, checks = _table(report)
    who, _, how = without_folders(report.subject).partition("; ")  # a long subject says how it was made
    notes = [sentence(note) for note in (how, *report.notes) if note]
    verdicts = [
        (f"{MARKS[each.verdict]} {each.name}", *map(sentence, (each.reading, each.asks, each.blind)), _details(each))
        for each in report
    ]
    body = render(
        "audit",
        "body",
        answer=verdict(report),
        notes=notes,
        header=header,
        checks=checks,
        verdicts=verdicts,
        not_run=list(report.not_run.items()),
        one=ONE if any(finding.rows == 1 for finding in report) else "",
    )
    return page(f"Can it be trusted: {who}?", body, script_of="sorting")


def _table(report: Findings) -> tuple[list[str], list[list[str]]]:
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


def _details(finding: AuditFinding) -> str:
    return ", ".join(f"{printable(name)} {round_off(value, BRIEF)}" for name, value in finding.details.items())


def _fold(label: str, words: str) -> list[str]:
    return textwrap.wrap(
        f"{label}: {printable(words)}",
        WIDE,
        initial_indent="    ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )
