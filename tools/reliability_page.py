"""The figures of docs/reliability.md from the lines that the tools kept: `python -m tools.reliability_page`.

`make matrix`, `make fuzz` and `make truth` append a line for each part to benchmarks/results/reliability.jsonl. The newest
whole run of a part goes between the comments that carry its name on the page: what was counted, by which command, when, where.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import filled
from tools import fuzz, matrix, truth
from tools.benchmarks_page import Line, circumstances
from tools.proof.targets import TARGETS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
LINES = ROOT / "benchmarks" / "results" / "reliability.jsonl"
TABLES: dict[str, Callable[[dict[str, Any]], str]] = {"matrix": matrix.table, "fuzz": fuzz.table, **truth.TABLES}
WITH_TABLE = {"coverage"}  # the first table of its part is on the page; the tools print the others
BETWEEN_TABLES = "\n\n"


def counted(figures: dict[str, Any]) -> str:
    """What was tried and what was wrong, in one sentence.

    >>> counted({"part": "flows", "games": 2_000, "faults": 0})
    '2,000 networks, 0 faults.'
    """
    match figures["part"]:
        case "matrix":
            tried = f"{figures['cells']:,} cells"
        case "fuzz":
            return f"{sum(figures['executions'].values()):,} executions, {sum(figures['findings'].values()):,} findings."
        case "axioms":
            tried = f"{figures['statements']:,} statements, largest relative error {figures['largest']:.1e}"
        case "coverage":
            tried = f"{figures['games']:,} games for each of {len(figures['estimators'])} estimators"
        case "flows":
            tried = f"{figures['games']:,} networks"
        case "graphs":
            tried = f"{figures['games']:,} graphs, each by four rules"
        case _:
            forged = sum(sum(ways.values()) for ways in figures["forged"].values())
            tried = f"{figures['games']:,} hostile games for each of {len(figures['ended'])} methods, {forged:,} attributions"
    return f"{tried}, {figures['faults']:,} faults."


def whole(line: Line) -> bool:
    """Whether a line is about all there is of its part."""
    figures = line["figures"]
    if figures["part"] == "fuzz":
        return figures["from"] == 0 and figures["executions"] == {name: runs for name, (_, runs) in TARGETS.items()}
    if figures["part"] == "matrix":
        return not {"--room", "--sample", "--cell"} & set(line["command"].split())
    return figures["from"] == 0 and figures["games"] == truth.SIZES[figures["part"]] and "--only" not in line["command"]


def page(text: str, lines: str) -> str:
    """The page with the newest whole run of every part that was kept."""
    newest = {line["figures"]["part"]: line for line in map(json.loads, lines.splitlines()) if whole(line)}
    for part, line in newest.items():
        table = f"\n{TABLES[part](line['figures']).partition(BETWEEN_TABLES)[0]}\n" if part in WITH_TABLE else ""
        text = filled(text, part, f"**{counted(line['figures'])}** {circumstances(line)}\n{table}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), LINES.read_text(encoding="utf-8")), encoding="utf-8")
