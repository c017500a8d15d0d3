"""Statements about numbers, tried at size: exact methods, intervals, flow certificates, claims.

    python -m tools.truth                        # everything, at the sizes that docs/reliability.md reports
    python -m tools.truth axioms --from 20000 --games 5000
    python -m tools.truth coverage --only Surrogate

Game number k is the same in every run, so a run may be cut into parts with --from and --games. Prints a table and one JSON line
per part; exits 1 where anything is wrong.

False alarms: axioms, flows and attacks compare with rounding in mind and have none by design. A kind of game raises an alarm
when the coverage of its 95 % intervals lies below 90 % by more than chance explains once in a million.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from typing import Any

from tools.proof import attacks, axioms, coverage, graphs

SIZES = {"axioms": 50_000, "coverage": 5_040, "flows": 2_000, "attacks": 300}


def run_axioms(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Every statement about exact methods: how often tried, and the largest relative error."""
    tried: Counter[str] = Counter()
    worst: dict[str, float] = {}
    for k in range(first, first + games):
        for name, off in axioms.statements(k):
            tried[name] += 1
            worst[name] = max(worst.get(name, 0.0), off if off == off else float("inf"))
    broken = sorted(name for name, off in worst.items() if off > axioms.TOLERANCE)
    rows = [(name, f"{tried[name]:,}", f"{worst[name]:.1e}") for name in tried]
    _table(("statement", "games", "largest relative error"), rows)
    return {"statements": sum(tried.values()), "largest": max(worst.values()), "faults": broken}


def run_coverage(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Coverage of 95 % intervals, estimator by estimator, by kind, players and share of the payoffs asked."""
    found: dict[str, Any] = {}
    faults = []
    for name in [only] if only else list(coverage.ESTIMATORS):
        by = coverage.tallies(list(coverage.trials(name, first, games)))
        found[name] = {way: {key: tally.plain() for key, tally in part.items()} for way, part in by.items()}
        faults += [
            f"{name} on {kind}: {tally.coverage:.3f}"
            for kind, tally in by["kind"].items()
            if tally.alarm and not kind.endswith("noise")  # the credit of random payoffs is not promised an interval
        ]
    kinds = ("all", *coverage.KIND_NAMES)
    rows = [
        (kind, *(_cover(found[name]["all" if kind == "all" else "kind"].get(kind)) for name in found)) for kind in kinds
    ]
    _table(("coverage of 95 % intervals", *found), rows)
    for way in ("players", "share"):
        keys = list(dict.fromkeys(key for name in found for key in found[name][way]))
        _table((way, *found), [(key, *(_cover(found[name][way].get(key)) for name in found)) for key in keys])
    return {"estimators": found, "faults": faults}


def _cover(tally: dict[str, Any] | None) -> str:
    if not tally or tally["coverage"] is None:
        return "—"
    given = "" if tally["intervals"] == tally["games"] else f" ({tally['intervals'] / tally['games']:.0%})"
    return f"{tally['coverage']:.3f}{given}"


def run_flows(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Max flows, cuts and certificates against whole-number augmenting paths, shape by shape."""
    ended: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    for k in range(first, first + games):
        try:
            shape, how, wrong = graphs.faults_of(k)
        except Exception as error:
            shape, how, wrong = graphs.SHAPES[k % len(graphs.SHAPES)], "raw", [f"{type(error).__name__}: {error}"]
        ended[shape, "fault" if wrong else how.split(":")[0]] += 1
        faults += [f"network {k} ({shape}): {text}" for text in wrong]
    ways = sorted({how for _, how in ended})
    _table(("shape", *ways), [(shape, *(f"{ended[shape, how]:,}" for how in ways)) for shape in graphs.SHAPES])
    return {"graphs": games, "ended": {f"{a}: {b}": n for (a, b), n in sorted(ended.items())}, "faults": faults}


def run_attacks(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Hostile games for every method, forged attributions for `check_claims`, planted witnesses for exact methods."""
    ended: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    for name in attacks.METHODS:
        for k in range(first, first + games):
            how, said = attacks.verdict(name, k)
            ended[name, how] += 1
            faults += [f"{name}, hostile game {k}: {said}"] if how == "fault" else []
    caught: Counter[tuple[str, bool]] = Counter()
    for k in range(first, first + games):
        for what, right in attacks.forged(k):
            caught[what, right] += 1
            faults += [] if right else [f"forged {k}: {what}"]
        for name in attacks.EXACT:
            faults += [f"{name}, planted {k}: {text}" for text in attacks.kept_whatever(name, k)]
    ways = ("kept", "refused", "fault")
    _table(("method", *ways), [(name, *(f"{ended[name, how]:,}" for how in ways)) for name in attacks.METHODS])
    whats = dict.fromkeys(what for what, _ in caught)
    _table(("forged", "caught", "missed"), [(w, f"{caught[w, True]:,}", f"{caught[w, False]:,}") for w in whats])
    tried = {how: sum(n for (_, h), n in ended.items() if h == how) for how in ways}
    return {"hostile": tried, "forged": sum(caught.values()), "faults": faults}


RUNS = {"axioms": run_axioms, "coverage": run_coverage, "flows": run_flows, "attacks": run_attacks}


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*RUNS, []], help="which part; all without a name")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first game")
    parser.add_argument("--games", type=int, help="how many games")
    parser.add_argument("--only", choices=list(coverage.ESTIMATORS), help="one estimator of `coverage`")
    options = parser.parse_args(arguments)
    wrong = 0
    for part in options.part or RUNS:
        began, games = time.process_time(), options.games or SIZES[part]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # an overflow that nobody mentions is a fault
            found = RUNS[part](options.first, games, options.only)
        wrong += len(found["faults"])
        for text in found["faults"][:40]:
            print(f"FAULT {text}")
        line = {
            "part": part,
            "from": options.first,
            "games": games,
            "cpu_seconds": round(time.process_time() - began, 1),
        }
        print(json.dumps(line | found | {"faults": len(found["faults"])}, ensure_ascii=False), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
