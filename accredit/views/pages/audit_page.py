"""An audit as a page: the verdict, one line per check, then what each of them means."""

from __future__ import annotations

from dataclasses import replace

from accredit.audit.finding import Findings
from accredit.views.language.headlines import audit_headline
from accredit.views.language.phrases import sentence, without_folders
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit.views.terminal.audit_text import MARKS, ONE, details_of, table_of


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
        answer=audit_headline(replace(report, subject=without_folders(report.subject))).text,
        notes=notes,
        header=header,
        checks=checks,
        verdicts=verdicts,
        not_run=list(report.not_run.items()),
        one=ONE if any(finding.rows == 1 for finding in report) else "",
    )
    return page(f"Can it be trusted: {who}?", body, script_of="sorting")
