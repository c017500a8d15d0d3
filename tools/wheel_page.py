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
        "folder by the commands that need it; `papers` is the wheel of accredit-papers beside this one. Seconds are on the "
        "clock of a busy machine, with downloads; megabytes are of the whole environment, in which pip, numpy and scipy take "
        "about 250.",
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
