"""docs/reports/wheels.md from the lines of tools/release_check.py: `python -m tools.wheel_page`.

The newest line that tried an extra on a Python counts; `make release-check` and `make oldest` append lines and write the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINES = ROOT / "benchmarks" / "results" / "wheels.jsonl"
PAGE = ROOT / "docs" / "reports" / "wheels.md"
MARKS = {True: "✓", False: "✗", None: "–"}
HEADER = "| Python | extra | works | seconds to install | megabytes | |\n|---|---|:-:|---:|---:|---|"


def table(lines: list[dict[str, Any]]) -> str:
    """One row per Python and extra, as the newest line found it."""
    tried = {(t["python"], t["extra"]): t for line in lines for t in line["trials"]}
    order = sorted(tried.values(), key=lambda t: [int(part) for part in t["python"].split(".")])
    return "\n".join([HEADER, *map(_row, order)])


def _row(trial: dict[str, Any]) -> str:
    cells = (
        trial["python"],
        trial["extra"],
        MARKS[trial["works"]],
        _number(trial, "seconds"),
        _number(trial, "megabytes"),
    )
    return "| " + " | ".join((*cells, trial["said"])) + " |"


def _number(trial: dict[str, Any], name: str) -> str:
    return f"{trial[name]:.0f}" if trial["works"] is not None else ""


def lowest(lines: list[dict[str, Any]]) -> str:
    """The versions that were tried as the lowest ones."""
    pins = {pin for line in lines for extra in line["lowest"].values() for pin in extra}
    return ", ".join(f"`{pin}`" for pin in sorted(pins))


def page(text: str) -> str:
    """The page of these JSON lines."""
    lines = [json.loads(line) for line in text.splitlines()]
    last = lines[-1]
    found = last["faults"] or ["none: the sdist builds the same wheel, twine accepts the metadata, mypy sees the types"]
    parts = [
        "# The wheel, tried",
        "Made by `make release-check` and `make oldest`: each extra alone, in an empty environment, then used in an empty "
        "folder by the commands that need it. Seconds are on the clock of a busy machine, with downloads; megabytes are of the "
        "whole environment, in which pip, numpy and scipy take about 250.",
        f"`{last['wheel']}`, {last['megabytes']:.1f} MB, {last['date']}, {last['machine']}. Faults: {'; '.join(found)}.",
        "## With the versions that the tests use",
        table([line for line in lines if not line["oldest"]]),
    ]
    if oldest := [line for line in lines if line["oldest"]]:
        parts += ["## With the lowest versions that are allowed", f"Pinned: {lowest(oldest)}.", table(oldest)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(LINES.read_text(encoding="utf-8")), encoding="utf-8")
