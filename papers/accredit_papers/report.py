"""A report that is written by running it: every number and figure in it comes from the run that wrote it.

Its Markdown is short: verdicts first, then prose, tables and figures that are not marked as details. `report_page` shows all.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.checks.files import put
from accredit.checks.json_data import round_off
from accredit.core import FloatArray
from accredit_papers.verdicts import FigureJudgement, Found

if TYPE_CHECKING:
    import matplotlib.axes

Draw = Callable[["matplotlib.axes.Axes"], None]


class Whose(StrEnum):
    """Who makes a statement, which is written behind it where it is not a text."""

    TEXT = ""
    THRESHOLD = "our threshold"  # a text makes it without a number; the number is ours
    OURS = "ours"  # no text makes it


MARKS = {Found.HOLDS: "✓", Found.REFUTED: "✗", Found.OPEN: "?"}
LEGEND = {
    "✓": "holds here",
    "✗": "is refuted here",
    "?": "these runs cannot tell",
    "(ours)": "no text says so",
    "(our threshold)": "a text says so without a number",
}


@dataclass(frozen=True)
class Verdict:
    """One statement, put to the test: it holds, is refuted, or these runs cannot tell."""

    statement: str
    found: Found
    evidence: str
    needs: str = ""  # what it would take to tell
    paper: str = ""  # the paper's own figure
    whose: Whose = Whose.TEXT
    sampled: bool = False  # told by an interval
    section: str = ""  # the heading that it stands under

    @property
    def said(self) -> str:
        """The statement, marked where it is ours."""
        return f"{self.statement} ({self.whose})" if self.whose else self.statement

    @property
    def because(self) -> str:
        """The evidence, the paper's figure and what it would take."""
        parts = [
            self.evidence,
            f"paper: {self.paper}" if self.paper else "",
            f"to tell: {self.needs}" if self.needs else "",
        ]
        return "; ".join(part for part in parts if part)

    def markdown(self) -> str:
        """Its line in the table at the head of a report."""
        return f"| {_keep_bars(self.said)} | {self.found} | {_keep_bars(self.because)} |"


@dataclass(frozen=True)
class Heading:
    """Where a section begins."""

    text: str

    def markdown(self) -> str:
        return f"## {self.text}"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, with Markdown's emphasis and code."""

    text: str
    detail: bool = False  # on the page of --html alone

    def markdown(self) -> str:
        return self.text


@dataclass(frozen=True)
class MarkdownBlock:
    """Tables and lists that are already laid out as Markdown."""

    text: str
    detail: bool = False  # on the page of --html alone

    def markdown(self) -> str:
        return self.text


@dataclass(frozen=True)
class ReportTable:
    """Cells as they are printed, first column to the left."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    detail: bool = False  # on the page of --html alone

    def markdown(self) -> str:
        lines = ["| " + " | ".join(self.header) + " |", "|---" + "|---:" * (len(self.header) - 1) + "|"]
        return "\n".join([*lines, *("| " + " | ".join(map(_keep_bars, row)) + " |" for row in self.rows)])


@dataclass(frozen=True)
class ReportFigure:
    """A figure as SVG, the file that it is written to, and what it shows."""

    file: str
    caption: str
    svg: str = field(repr=False)
    detail: bool = False  # on the page of --html alone

    def markdown(self) -> str:
        return f"![]({self.file})\n\n*{self.caption}*"


Part = Heading | Paragraph | MarkdownBlock | ReportTable | ReportFigure | Verdict


@dataclass
class Report:
    """What an experiment found, part by part as it runs: prose, tables, figures and verdicts."""

    name: str
    title: str
    command: str = ""  # what was typed; the command fills it in, a call of Python leaves it empty
    parts: list[Part] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        return [part for part in self.parts if isinstance(part, Verdict)]

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.parts.append(Heading(text))

    def say(self, text: str, *, detail: bool = False) -> None:
        """A paragraph."""
        self.parts.append(Paragraph(_plain(text), detail))

    def block(self, markdown: str, *, detail: bool = False) -> None:
        """Tables and lists that are already laid out."""
        self.parts.append(MarkdownBlock(markdown, detail))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]], *, detail: bool = False) -> None:
        """A table; numbers are rounded to four digits, first column to the left."""
        self.parts.append(ReportTable(tuple(header), tuple(tuple(map(cell, row)) for row in rows), detail))

    def verdict(
        self,
        statement: str,
        holds: bool | np.bool_ | Found | FigureJudgement | None,
        evidence: str,
        *,
        paper: str = "",
        whose: Whose = Whose.TEXT,
    ) -> None:
        """Say whether a statement survived, and what it was tested on; None, or a judgement, where the runs cannot tell."""
        judged = FigureJudgement.of(holds)
        under = next((part.text for part in reversed(self.parts) if isinstance(part, Heading)), "")
        found = judged.found, _plain(evidence), judged.needs
        self.parts.append(Verdict(_plain(statement), *found, paper, whose, judged.sampled, under))

    def figure(
        self, name: str, caption: str, draw: Draw, size: tuple[float, float] = (6.0, 3.2), *, detail: bool = False
    ) -> None:
        """A figure, drawn by `draw(axes)` and kept as SVG."""
        self.parts.append(ReportFigure(f"{self.name}_{name}.svg", caption, svg(draw, size), detail))

    @property
    def origin(self) -> str:
        """What wrote it, with which versions."""
        by = f"`{self.command}`" if self.command else "a call of Python, not by a command"
        return f"Written by {by} ({versions()}). No number in it was typed."

    @property
    def counts(self) -> str:
        """How many statements hold, those of the texts and ours apart, and how many verdicts rest on an interval."""
        ours = [v for v in self.verdicts if v.whose is Whose.OURS]
        counted = [_count([v for v in self.verdicts if v not in ours], "of the texts"), _count(ours, "of ours")]
        sampled = sum(v.sampled for v in self.verdicts)
        if sampled:
            rest = "1 verdict rests" if sampled == 1 else f"{sampled} verdicts rest"
            counted.append(f"{rest} on an interval of 95 %: one such verdict in twenty may be wrong.")
        return " ".join(part for part in counted if part)

    @property
    def legend(self) -> str:
        """What the marks mean that this report uses."""
        used = {mark for v in self.verdicts for mark in (MARKS[v.found], f"({v.whose})")}
        return "; ".join(f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in used)

    def markdown(self) -> str:
        """Verdicts with their evidence, then what is shown of each section; details are left to `report_page`."""
        head = [f"# {self.title}", self.counts, _listing(self.verdicts), self.origin]
        shown = [part for part in self.parts if not isinstance(part, Verdict) and not getattr(part, "detail", False)]
        body = [
            part.markdown()
            for part, after in zip(shown, [*shown, None][1:], strict=True)
            if not isinstance(part, Heading) or not isinstance(after, Heading | None)
        ]
        return "\n\n".join(part for part in [*head, *body] if part) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the Markdown and its figures; returns the files."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        drawn = {part.file: part.svg for part in self.parts if isinstance(part, ReportFigure) and not part.detail}
        files = {f"{self.name}.md": self.markdown(), **drawn}
        for file, content in files.items():
            put(target / file, content.encode())
        return [target / file for file in files]


def _count(verdicts: Sequence[Verdict], of_whom: str) -> str:
    """How many of some statements hold, are refuted, or are open; nothing where there are none.

    >>> _count([Verdict("One", Found.HOLDS, "seen"), Verdict("Two", Found.OPEN, "seen")], "of the texts")
    'Of 2 statements of the texts 1 holds, 0 are refuted, and 1 cannot be told from these runs.'
    """
    if not verdicts:
        return ""
    holds, refuted, open_ = (sum(v.found is found for v in verdicts) for found in Found)
    return (
        f"Of {len(verdicts)} statement{'s' * (len(verdicts) > 1)} {of_whom} {holds} {'holds' if holds == 1 else 'hold'}, "
        f"{refuted} {'is' if refuted == 1 else 'are'} refuted, and {open_} cannot be told from these runs."
    )


def _listing(verdicts: Sequence[Verdict]) -> str:
    """Every statement with its verdict and evidence; nothing where there are none."""
    return "\n".join(
        ["| statement | verdict | evidence |", "|---|---|---|", *(v.markdown() for v in verdicts)] if verdicts else []
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def cell(value: object) -> str:
    """One table cell.

    >>> cell(1 / 3), cell(True)
    ('0.3333', 'yes')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return round_off(float(value))
    return str(value).replace("\n", " ")


def _keep_bars(text: str) -> str:
    """A cell as Markdown writes it."""
    return text.replace("|", "\\|")


def mean_error(values: FloatArray, digits: int) -> str:
    """Mean ± standard error; the mean alone for one value, a dash for none.

    >>> mean_error(np.array([1.0, 3.0]), 1), mean_error(np.array([]), 1)
    ('2.0 ± 1.0', '–')
    """
    if not len(values):
        return "–"
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {values.std(ddof=1) / len(values) ** 0.5:.{digits}f}"


def versions() -> str:
    """What the numbers were computed with."""
    from accredit.core.version import __version__

    return f"accredit {__version__}, Python {platform.python_version()}, numpy {np.__version__}"


def svg(draw: Draw, size: tuple[float, float]) -> str:
    """One figure as SVG text; the same data give the same bytes."""
    with needs("plot", "drawing a report's figures"):
        import matplotlib
    from io import StringIO

    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "accredit", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
