"""Damaged and random input, by the million.

    python -m tools.fuzz                                 # every target at its full size
    python -m tools.fuzz "table files" --from 10000 --runs 5000

Execution number k of a target is the same in every run. Prints executions and findings per target and one JSON line; exits 1 on
findings. A finding shows what was given; make it a test.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.record import keep
from tools.proof.pool import Worker
from tools.proof.tables import markdown
from tools.proof.targets import CRASHING, TARGETS, Wrong, scratch


def attempt(target: str, k: int) -> str | None:
    """Execution k of a target: what it found, or None."""
    try:
        TARGETS[target][0](random.Random(f"{target} {k}"))
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({last.filename.rsplit('/', 1)[-1]}:{last.lineno})"
    return None


def executed(target: str, first: int, runs: int) -> list[tuple[int, str]]:
    """Findings among executions `first` … `first + runs`."""
    if target not in CRASHING:
        return [(k, found) for k in range(first, first + runs) if (found := attempt(target, k)) is not None]
    import_module("lightgbm"), import_module("xgboost"), scratch()  # shared by workers that are started again
    worker = Worker(lambda k: attempt(target, k))
    try:
        return [(k, found) for k in range(first, first + runs) if (found := worker.tried(k, 60.0)) is not None]
    finally:
        worker.stop()


def kinds(found: list[tuple[int, str]]) -> dict[str, list[Any]]:
    """Findings that read alike, with the first that showed each and how many there are."""
    by: dict[str, list[Any]] = {}
    for k, text in found:
        key = "".join(c for c in text if not c.isdigit())[:50]
        by.setdefault(key, [k, text, 0])[2] += 1
    return by


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help=f"one of: {', '.join(TARGETS)}; all without a name")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first execution")
    parser.add_argument("--runs", type=int, help="executions of each target")
    parser.add_argument("--lines", type=Path, help="append the figures to this file, for tools.reliability_page")
    options = parser.parse_args(arguments)
    done: dict[str, int] = {}
    findings: dict[str, int] = {}
    shown: list[str] = []
    began = time.process_time()
    for target in options.target or TARGETS:
        done[target] = options.runs or TARGETS[target][1]
        found = executed(target, options.first, done[target])
        findings[target] = len(found)
        shown += [f"{target}, execution {k} ({count} alike): {text[:400]}" for k, text, count in kinds(found).values()]
    line = {
        "part": "fuzz",
        "from": options.first,
        "executions": done,
        "findings": findings,
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    print(table(line))
    for text in shown[:60]:
        print(f"FINDING {text}")
    print(json.dumps(line))
    if options.lines:
        keep(line, options.lines)
    return 1 if sum(findings.values()) else 0


def table(figures: dict[str, Any]) -> str:
    """Executions and findings by target.

    >>> print(table({"executions": {"game files": 60_000}, "findings": {"game files": 0}}))
    | target | executions | findings |
    |---|---|---|
    | game files | 60,000 | 0 |
    """
    rows = [(target, f"{runs:,}", f"{figures['findings'][target]:,}") for target, runs in figures["executions"].items()]
    return markdown(("target", "executions", "findings"), rows)


if __name__ == "__main__":
    sys.exit(main())
