"""A report that is written by running it: every number and figure in it comes from the run that wrote it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accredit.checks import needs
from accredit.checks.files import put
from accredit.checks.json_data import round_off
from accredit.core import FloatArray
from accredit_papers.verdicts import Found, Judgement

if TYPE_CHECKING:
    import matplotlib.axes

Draw = Callable[["matplotlib.axes.Axes"], None]


@dataclass(frozen=True)
class Verdict:
    """One statement, put to the test: it holds, is refuted, or these runs cannot tell."""

    statement: str
    found: Found
    evidence: str
    needs: str = ""  # what it would take to tell
    paper: str = ""  # the paper's own figure
    ours: bool = False  # the statement, or its threshold, is ours and not the paper's
    sampled: bool = False  # told by an interval

    @property
    def said(self) -> str:
        """The statement, marked where it is ours."""
        return f"{self.statement} (our threshold)" if self.ours else self.statement

    @property
    def because(self) -> str:
        """The evidence, the paper's figure and what it would take."""
        parts = [
            self.evidence,
            f"paper: {self.paper}" if self.paper else "",
            f"to tell: {self.needs}" if self.needs else "",
        ]
        return "; ".join(part for part in parts if part)


@dataclass
class Report:
    """Markdown that grows as the experiment runs, with its figures and its verdicts."""

    name: str
    title: str
    command: str = ""  # what was typed; the command fills it in, a call of Python leaves it empty
    verdicts: list[Verdict] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _figures: dict[str, str] = field(default_factory=dict)  # file name -> SVG

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"## {text}")

    def say(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(" ".join(text.split()))

    def block(self, markdown: str) -> None:
        """Markdown that is already laid out."""
        self._parts.append(markdown)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; numbers are rounded to four digits, first column to the left."""
        lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
        lines += ["| " + " | ".join(cell(x) for x in row) + " |" for row in rows]
        self._parts.append("\n".join(lines))

    def verdict(
        self,
        statement: str,
        holds: bool | np.bool_ | Found | Judgement | None,
        evidence: str,
        *,
        paper: str = "",
        ours: bool = False,
    ) -> None:
        """Say whether a statement survived, and what it was tested on; None, or a judgement, where the runs cannot tell."""
        judged = Judgement.of(holds)
        found = Verdict(_plain(statement), judged.found, _plain(evidence), judged.needs, paper, ours, judged.sampled)
        self.verdicts.append(found)
        mark = {Found.HOLDS: "Holds", Found.REFUTED: "Refuted", Found.OPEN: "Cannot tell"}[found.found]
        self._parts.append(f"> **{mark}.** {found.said} — {found.because}")

    def figure(self, name: str, caption: str, draw: Draw, size: tuple[float, float] = (6.0, 3.2)) -> None:
        """A figure, drawn by `draw(axes)` and kept as SVG."""
        file = f"{self.name}_{name}.svg"
        self._figures[file] = svg(draw, size)
        self._parts.append(f"![{caption}]({file})\n\n*{caption}*")

    def markdown(self) -> str:
        """The whole report."""
        counts = {found: sum(v.found is found for v in self.verdicts) for found in Found}
        summary = ["| statement | verdict |", "|---|---|"]
        summary += [f"| {cell(v.said)} | {v.found} |" for v in self.verdicts]
        by = f"`{self.command}`" if self.command else "a call of Python, not by a command"
        head = [f"# {self.title}", f"Written by {by} ({versions()}). No number in it was typed."]
        if self.verdicts:
            told = (
                f"Of {len(self.verdicts)} statements, as written here, {counts[Found.HOLDS]} hold, {counts[Found.REFUTED]} are "
                f"refuted, and {counts[Found.OPEN]} cannot be told from these runs."
            )
            by_interval = sum(v.sampled for v in self.verdicts)
            if by_interval:
                told += (
                    f" By intervals of 95 % {by_interval} {'was' if by_interval == 1 else 'were'} told: "
                    "one such verdict in twenty may be wrong."
                )
            head += [told, "\n".join(summary)]
        return "\n\n".join([*head, *self._parts]) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the Markdown and its figures; returns the files."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        files = {f"{self.name}.md": self.markdown(), **self._figures}
        for file, content in files.items():
            put(target / file, content.encode())
        return [target / file for file in files]


def _plain(text: str) -> str:
    return " ".join(text.split())


def cell(value: object) -> str:
    """One table cell.

    >>> cell(1 / 3), cell(True), cell("a|b")
    ('0.3333', 'yes', 'a\\\\|b')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return round_off(float(value))
    return str(value).replace("|", "\\|").replace("\n", " ")


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
