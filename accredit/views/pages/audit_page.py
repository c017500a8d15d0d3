"""An audit as a page: the verdict, one line per check, then what each of them means."""

from __future__ import annotations

from accredit.audit.finding import Findings
from accredit.views.language.phrases import sentence, without_folders
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.terminal.audit_text import MARKS, ONE, details_of, only_one_input, summary, table_of


def audit_page(report: Findings) -> str:
    """The whole audit as one self-contained page."""
    header, checks = table_of(report)
    who, _, how = without_folders(report.subject).partition("; ")  # a long subject says how it was made
    notes = [sentence(note) for note in (how, *report.notes) if note]
    verdicts = [
        (f"{MARKS[each.verdict]} {each.name}", *map(sentence, (each.reading, each.asks, each.blind)), details_of(each))
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


def verdict(report: Findings) -> str:
    """The verdict on everything in one sentence, for the head of a page."""
    if report.conclusion is not None:
        said = summary(report)
        return f"{said[0].upper()}{said[1:]}."
    count = f"{len(report.found)} check{'s' * (len(report.found) != 1)}"
    unclear = sum(finding.verdict == "unclear" for finding in report)
    where, others = (
        (f"On this {ONE}, ", " What they would find on others is not known.") if only_one_input(report) else ("", "")
    )
    if not report.found:
        return "No check could be run."
    if report.flagged:
        said = f"{where}{len(report.flagged)} of {count} found a fault: {', '.join(report.flagged)}."
    else:
        said = f"No fault was found by {count}" + (f"; {unclear} cannot tell: more rows are needed." if unclear else ".")
    return f"{said}{others}"
