"""A report on a terminal: the counts, what the marks mean, then section by section the verdicts, each with its evidence."""

from __future__ import annotations

import textwrap
from itertools import groupby

from accredit.views.language.printable import printable
from accredit_papers.report import MARKS, Report

WIDTH = 80  # columns


def report_text(report: Report) -> str:
    """The verdicts of a report, at most 80 columns wide; tables and figures are in its file.

    >>> report = Report("demo", "A demonstration")
    >>> report.heading("Proposition 1")
    >>> report.verdict("Two and two are four", True, "2 + 2 = 4")
    >>> print(report_text(report))
    A demonstration
    Of 1 statement of the texts 1 holds, 0 are refuted, and 0 cannot be told from
    these runs.
    ✓ holds here
    <BLANKLINE>
    Proposition 1
      ✓ Two and two are four
          2 + 2 = 4
    """
    lines = [report.title, *_fold(report.counts)]
    lines += _fold(report.legend)
    for section, verdicts in groupby(report.verdicts, key=lambda verdict: verdict.section):
        lines += ["", *_fold(section)]
        for verdict in verdicts:
            lines += _fold(f"{MARKS[verdict.found]} {verdict.said}", "  ", "    ")
            lines += _fold(verdict.because, "      ", "      ")
    return "\n".join(lines)


def _fold(words: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        printable(words), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
