"""A report that is written by running it: every number and figure in it comes from the run that wrote it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accredit.core import needs
from accredit.core.files import put
from accredit.core.plain import rounded

Draw = Callable[[Any], None]  # draws onto a matplotlib Axes


@dataclass(frozen=True)
class Verdict:
    """One statement, put to the test."""

    statement: str
    holds: bool
    evidence: str


@dataclass
class Report:
    """Markdown that grows as the experiment runs, with its figures and its verdicts."""

    name: str
    title: str
    command: str
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

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table; numbers are rounded to four digits, first column to the left."""
        lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
        lines += ["| " + " | ".join(cell(x) for x in row) + " |" for row in rows]
        self._parts.append("\n".join(lines))

    def verdict(self, statement: str, holds: bool | np.bool_, evidence: str) -> None:
        """Say whether a statement survived, and what it was tested on."""
        found = Verdict(" ".join(statement.split()), bool(holds), " ".join(evidence.split()))
        self.verdicts.append(found)
        mark = "**Holds.**" if found.holds else "**Does not hold.**"
        self._parts.append(f"> {mark} {found.statement} — {found.evidence}")

    def figure(self, name: str, caption: str, draw: Draw, size: tuple[float, float] = (6.0, 3.2)) -> None:
        """A figure, drawn by `draw(axes)` and kept as SVG."""
        file = f"{self.name}_{name}.svg"
        self._figures[file] = svg(draw, size)
        self._parts.append(f"![{caption}]({file})\n\n*{caption}*")

    def markdown(self) -> str:
        """The whole report."""
        kept = sum(v.holds for v in self.verdicts)
        summary = ["| statement | verdict |", "|---|---|"]
        summary += [f"| {v.statement} | {'holds' if v.holds else 'does not hold'} |" for v in self.verdicts]
        head = [f"# {self.title}", f"Written by `{self.command}` ({versions()}). No number in it was typed."]
        if self.verdicts:
            head += [f"{kept} of {len(self.verdicts)} statements hold as written here.", "\n".join(summary)]
        return "\n\n".join([*head, *self._parts]) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the Markdown and its figures; returns the files."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        files = {f"{self.name}.md": self.markdown(), **self._figures}
        for file, content in files.items():
            put(target / file, content.encode())
        return [target / file for file in files]


def cell(value: Any) -> str:
    """One table cell.

    >>> cell(1 / 3), cell(True), cell("a|b")
    ('0.3333', 'yes', 'a\\\\|b')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return rounded(float(value))
    return str(value).replace("|", "\\|").replace("\n", " ")


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
