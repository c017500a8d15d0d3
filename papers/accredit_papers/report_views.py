"""Reports on a terminal, verdict by verdict, and as one self-contained HTML page with all tables and figures."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from accredit.views.language.printable import printable
from accredit.views.pages.document import page
from accredit.views.pages.engine import render
from accredit_papers.report import MARKS, Heading, MarkdownBlock, Paragraph, Part, Report, ReportFigure, ReportTable, Verdict

if TYPE_CHECKING:
    from markupsafe import Markup

INLINE = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>.+?)`|(?<!\w)\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*(?!\w)")
WIDTH = 80  # columns of a terminal
DIVIDERS = re.compile(r"[\s|:-]+")  # the second line of a Markdown table


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


# The page


class StyledWords(NamedTuple):
    """Words and how they stand out: not at all, `strong`, `em` or `code`."""

    kind: str
    text: str


def report_page(reports: Sequence[Report]) -> str:
    """One file for one report or several; everything in it is escaped, and figures are held inside.

    >>> report = Report("demo", "A <demonstration>")
    >>> report.verdict("Two and two are four", True, "2 + 2 = 4")
    >>> made = report_page([report])
    >>> made.startswith("<!doctype html>"), "A &lt;demonstration&gt;" in made, "2 + 2 = 4" in made
    (True, True, True)
    """
    title = reports[0].title if len(reports) == 1 else "What holds of the texts"
    bodies = [_body(report, alone=len(reports) == 1) for report in reports]
    contents = [(f"#{report.name}", report.title, report.counts) for report in reports] if len(reports) > 1 else []
    return page(title, render("statements", "body", contents=contents, bodies=bodies))


def _body(report: Report, alone: bool) -> Markup:
    """One report; its statements come first, each linked to where it is tested."""
    return render(
        "statements",
        "report",
        name=report.name,
        title="" if alone else report.title,
        counts=report.counts,
        origin=spans(report.origin),
        statements=[
            (MARKS[verdict.found], str(verdict.found), spans(verdict.said), f"#{report.name}-{k}")
            for k, verdict in enumerate(report.verdicts)
        ],
        legend=report.legend,
        parts=_parts(report, alone),
    )


def _parts(report: Report, alone: bool) -> list[Markup]:
    drawn, verdicts = [], 0
    for part in report.parts:
        drawn.append(_part(part, f"{report.name}-{verdicts}", alone))
        verdicts += isinstance(part, Verdict)
    return drawn


def _part(part: Part, anchor: str, alone: bool) -> Markup:
    match part:
        case Heading(text):
            return render("statements", "heading", text=text, alone=alone)
        case Paragraph(text):
            return render("statements", "paragraph", words=spans(text))
        case ReportTable(header, rows):
            return _table(header, rows)
        case MarkdownBlock(text):
            return _block(text)
        case ReportFigure(_, caption, svg):
            source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
            return render("statements", "picture", source=source, caption=caption)
        case Verdict():
            return render(
                "statements",
                "verdict",
                anchor=anchor,
                mark=MARKS[part.found],
                found=str(part.found),
                said=spans(part.said),
                because=spans(part.because),
            )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    return render("statements", "figures", header=list(header), rows=[[spans(cell) for cell in row] for row in rows])


def _block(markdown: str) -> Markup:
    """Tables and lists of Markdown, whose other lines are paragraphs."""
    pieces: list[Markup] = []
    for part in markdown.strip().split("\n\n"):
        lines = part.splitlines()
        if all(line.startswith("|") for line in lines):
            header, *rows = ([_cell(cell) for cell in _cells(line)] for line in lines if not DIVIDERS.fullmatch(line))
            pieces.append(_table(header, rows))
        elif all(line.startswith("- ") for line in lines):
            pieces.append(render("statements", "items", items=[spans(line[2:]) for line in lines]))
        else:
            pieces.append(render("statements", "paragraph", words=spans(" ".join(lines))))
    return render("parts", "joined", pieces=pieces)


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def _cell(text: str) -> str:
    return text.strip().replace("\\|", "|")


def spans(text: str) -> list[StyledWords]:
    """Prose with Markdown's emphasis and code, as pieces that a template lays out.

    >>> spans("the *best* of 2 * 3")
    [StyledWords(kind='', text='the '), StyledWords(kind='em', text='best'), StyledWords(kind='', text=' of 2 * 3')]
    """
    found, at = [], 0
    for match in INLINE.finditer(text):
        kind = str(match.lastgroup)
        found += [StyledWords("", text[at : match.start()]), StyledWords(kind, match[kind])]
        at = match.end()
    return [span for span in [*found, StyledWords("", text[at:])] if span.text]
