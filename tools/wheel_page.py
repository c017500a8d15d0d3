"""docs/reports/wheels.md from the lines of tools/release_check.py: `python -m tools.wheel_page`.

A table shows one wheel: the one that was tried last with those versions, and named above it. `make release-check` and
`make oldest` append lines and write the page.
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


def table(lines: list[dict[str, Any]]) -> str:
    """One row per extra, one column per Python, as the newest line found it; extras in the order of their trials."""
    tried = {(trial["python"], trial["extra"]): trial for trial in (line["trial"] for line in lines)}
    pythons = sorted({python for python, _ in tried}, key=lambda version: tuple(map(int, version.split("."))))
    extras = [extra for extra in TRIALS if any((python, extra) in tried for python in pythons)]
    rows = [["extra", *pythons], ["---"] * (1 + len(pythons))]
    rows += [[extra, *(_cell(tried.get((python, extra))) for python in pythons)] for extra in extras]
    reasons = dict.fromkeys(trial["said"] for trial in tried.values() if trial["works"] is None)
    said = f"\n\n{MARKS[None]}: {'; '.join(reasons)}." if reasons else ""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + said


def _cell(trial: dict[str, Any] | None) -> str:
    if trial is None or trial["works"] is None:
        return MARKS[None]
    return f"{MARKS[trial['works']]} {trial['seconds']:.0f}s, {trial['megabytes']:.0f}MB {trial['said']}".rstrip()


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


def tried_last(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the wheel that the last of these lines is about."""
    return [line for line in lines if line["digest"] == lines[-1]["digest"]]


def about(line: dict[str, Any]) -> str:
    """The wheel of a line: its name, size, day and machine, and what is wrong with it."""
    found = line["faults"] or ["none: the sdist builds the same wheel, twine accepts the metadata, mypy sees the types"]
    return (
        f"`{line['wheel']}` ({line['digest']}), {line['megabytes']:.1f} MB, {line['date']}, {line['machine']}. "
        f"Faults: {'; '.join(found)}."
    )


def page(text: str) -> str:
    """The page of these JSON lines: one table for the usual versions, one for the lowest, each about one wheel."""
    every = [json.loads(line) for line in text.splitlines()]
    usual, oldest = (tried_last([line for line in every if line["oldest"] == old]) for old in (False, True))
    parts = [
        "# The wheel, tried",
        "Made by `make release-check` and `make oldest`: each extra alone, in an empty environment, then used in an empty "
        "folder by the commands that need it; `papers` is the wheel of accredit-papers beside this one. Seconds to install are "
        "on the clock of a busy machine, with downloads; megabytes are of the whole environment.",
    ]
    if usual:
        parts += ["## With the versions that the tests use", about(usual[-1]), table(usual), untried(usual)]
    if oldest:
        torch = f"`{TORCH}` is not the lowest: older builds for CPUs could not be had." if TORCH in lowest(oldest) else ""
        earlier = "" if not usual or usual[-1]["digest"] == oldest[-1]["digest"] else "Another wheel than the one above. "
        parts += [
            "## With the lowest versions that are allowed",
            earlier + about(oldest[-1]),
            f"Pinned: {lowest(oldest)}. {torch}".rstrip(),
            table(oldest),
        ]
    else:
        parts.append("The lowest versions that are allowed were not tried (`make oldest`).")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(LINES.read_text(encoding="utf-8")), encoding="utf-8")
