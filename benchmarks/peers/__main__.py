"""Peers and their versions, and whether figures are those of the code: `python -m benchmarks.peers [--make NAME ...]`.

Lists every pinned peer beside its newest version, and every kept run whose code has changed since. Ends with an error if a page
names such a run. `--make` makes the environments first, all of them or those that are named.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.peers.environments import PINS, folder, made, newest, ready
from benchmarks.peers.freshness import CODE, Stale, stale
from benchmarks.record import ROOT
from tools.benchmarks_page import newest as newest_lines


def versions_told() -> list[str]:
    """One line per peer: what is pinned, what is newest, and whether its environment is here."""
    told = []
    for pin in PINS.values():
        latest = newest(pin.package)
        state = "newest" if latest == pin.version else f"BEHIND {latest}" if latest else "the package index cannot be reached"
        told.append(f"{pin.package:18} {pin.version:8} {state:36} {'ready' if ready(pin) else 'no environment yet'}")
    return told


def figures_that_are_stale() -> list[Stale]:
    """Kept runs, the newest of each command, whose code has changed."""
    results = ROOT / "benchmarks" / "results"
    return [old for name in CODE for line in newest_lines(name, results) if (old := stale(name, line)) is not None]


def main(arguments: list[str] | None = None) -> int:
    """Print both lists; 1 if a page names a figure that is older than its code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--make", nargs="*", metavar="NAME", help="make these environments, or all of them")
    asked = parser.parse_args(arguments)
    for name in PINS if asked.make == [] else asked.make or ():
        made(PINS[name])
    print(f"Peers, in {folder()}")
    print("\n".join(versions_told()))
    found = figures_that_are_stale()
    print(f"\nFigures that are older than their code: {len(found)}")
    for old in found:
        changed = ", ".join(old.files[:3]) + (f" and {len(old.files) - 3} more" if len(old.files) > 3 else "")
        where = f"; named on {', '.join(old.named_on)}" if old.named_on else "; named on no page"
        print(f"{old.benchmark:18} {old.date} {old.commit}: {changed}{where}")
    return int(any(old.named_on for old in found))


if __name__ == "__main__":
    sys.exit(main())
