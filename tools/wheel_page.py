"""docs/reports/wheels.md from the lines of tools/release_check.py: `python -m tools.wheel_page`.

Only the wheel that was tried last is shown. `make release-check` and `make oldest` append lines and write the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.release_check import TORCH, TRIALS, supported

ROOT = Path(__file__).parent.parent
LINES = ROOT / "benchmarks" / "results" / "wheels.jsonl"
PAGE = ROOT / "docs" / "reports" / "wheels.md"
MARKS = {True: "✓", False: "✗", None: "–"}
HEADER = "| Python | extra | works | seconds to install | megabytes | |\n|---|---|:-:|---:|---:|---|"


def table(lines: list[dict[str, Any]]) -> str:
    """One row per Python and extra, as the newest line found it; extras in the order of their trials."""
    tried = {(trial["python"], trial["extra"]): trial for trial in (line["trial"] for line in lines)}
    place = {extra: number for number, extra in enumerate(TRIALS)}
    order = sorted(tried.values(), key=lambda each: (*map(int, each["python"].split(".")), place[each["extra"]]))
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
    pins = {pin for line in lines for pin in line["lowest"]}
    return ", ".join(f"`{pin}`" for pin in sorted(pins))


def untried(lines: list[dict[str, Any]]) -> str:
    """Extras that no line has, for each Python that is supported."""
    known = {(trial["python"].rpartition(".")[0], trial["extra"]) for trial in (line["trial"] for line in lines)}
    missing = {name: [extra for extra in TRIALS if (name, extra) not in known] for name in supported()}
    listed = "; ".join(f"Python {name}: {', '.join(extras)}" for name, extras in missing.items() if extras)
    return f"Not tried with this wheel: {listed}." if listed else "Every extra was tried on every supported Python."


def page(text: str) -> str:
    """The page of these JSON lines: those of the wheel that was tried last, and of no other."""
    every = [json.loads(line) for line in text.splitlines()]
    last = every[-1]
    lines = [line for line in every if line["digest"] == last["digest"]]
    found = last["faults"] or ["none: the sdist builds the same wheel, twine accepts the metadata, mypy sees the types"]
    parts = [
        "# The wheel, tried",
        "Made by `make release-check` and `make oldest`: each extra alone, in an empty environment, then used in an empty "
        "folder by the commands that need it. Seconds are on the clock of a busy machine, with downloads; megabytes are of the "
        "whole environment, in which pip, numpy and scipy take about 250.",
        f"`{last['wheel']}` ({last['digest']}), {last['megabytes']:.1f} MB, {last['date']}, {last['machine']}. "
        f"Faults: {'; '.join(found)}.",
        "## With the versions that the tests use",
        table([line for line in lines if not line["oldest"]]),
        untried([line for line in lines if not line["oldest"]]),
    ]
    if not any(line["oldest"] for line in lines):
        parts.append("The lowest versions that are allowed were not tried with this wheel (`make oldest`).")
    if oldest := [line for line in lines if line["oldest"]]:
        torch = (
            f"`{TORCH}` is not the lowest: older builds for CPUs could not be had." if TORCH in lowest(oldest) else ""
        )
        parts += [
            "## With the lowest versions that are allowed",
            f"Pinned: {lowest(oldest)}. {torch}".rstrip(),
            table(oldest),
        ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(LINES.read_text(encoding="utf-8")), encoding="utf-8")
