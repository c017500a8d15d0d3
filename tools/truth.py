"""Statements about numbers, tried at size: exact methods, intervals, flow certificates, claims.

    python -m tools.truth                        # everything, at the sizes that docs/reliability.md reports
    python -m tools.truth axioms --from 20000 --games 5000
    python -m tools.truth coverage --only Surrogate

Game number k is the same in every run, so a run may be cut into parts with --from and --games. Prints a table and one JSON line
per part; exits 1 where anything is wrong.

False alarms: axioms, flows, graphs and attacks compare with rounding in mind and have none by design. A kind of game raises an
alarm when the coverage of its 95 % intervals lies below 90 % by more than chance explains once in a million.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import keep
from tools.proof import attacks, axioms, coverage, graphs, ordinary_graphs
from tools.proof.tables import markdown

WAYS, CAUGHT = ("kept", "refused", "fault"), ("caught", "missed")
SIZES = {"axioms": 50_000, "coverage": 5_040, "flows": 2_000, "graphs": 500, "attacks": 300}


def run_axioms(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Every statement about exact methods: how often tried, and the largest relative error."""
    tried: Counter[str] = Counter()
    worst: dict[str, float] = {}
    for k in range(first, first + games):
        for name, off in axioms.statements(k):
            tried[name] += 1
            worst[name] = max(worst.get(name, 0.0), off if off == off else float("inf"))
    broken = sorted(name for name, off in worst.items() if off > axioms.TOLERANCE)
    each = {name: {"tried": tried[name], "largest": worst[name]} for name in tried}
    return {"statements": sum(tried.values()), "largest": max(worst.values()), "each": each, "faults": broken}


def axioms_table(found: dict[str, Any]) -> str:
    """Every statement, how often it was tried and its largest error."""
    rows = [(name, f"{each['tried']:,}", f"{each['largest']:.1e}") for name, each in found["each"].items()]
    return markdown(("statement", "games", "largest relative error"), rows)


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
    return {"estimators": found, "faults": faults}


def coverage_table(figures: dict[str, Any]) -> str:
    """Three tables: by kind of game, by players, by share of the payoffs."""
    found = figures["estimators"]
    head = [f"`{name}`" for name in found]

    def row(way: str, key: str) -> tuple[str, ...]:
        return (key, *(_cover(found[name][way].get(key)) for name in found))

    def by(way: str) -> list[tuple[str, ...]]:
        return [row(way, key) for key in dict.fromkeys(key for name in found for key in found[name][way])]

    names = {"kind": "kind of game", "players": "players", "share": "share of 2ⁿ"}
    tables = {way: by(way) for way in names}
    tables["kind"].append(row("all", "all"))
    return "\n\n".join(markdown((names[way], *head), rows) for way, rows in tables.items())


def _cover(tally: dict[str, Any] | None) -> str:
    """Coverage, and how many runs gave an interval unless all did.

    >>> _cover({"games": 4, "intervals": 3, "exact": 0, "coverage": 0.9512})
    '0.951 (75\\xa0%)'
    """
    if not tally or tally["coverage"] is None:
        return "exact" if tally and tally["exact"] == tally["games"] else "none"
    given = "" if tally["intervals"] == tally["games"] else f" ({100 * tally['intervals'] / tally['games']:.0f}\u00a0%)"
    return f"{tally['coverage']:.3f}{given}"


def run_flows(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Max flows, cuts and certificates against whole-number augmenting paths, shape by shape."""
    return _judge(graphs.faults_of, graphs.SHAPES, "network", first, games)


def run_graphs(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Optimal flows of ordinary graphs, their ranges and every rule's choice, against dense programs, kind by kind."""
    return _judge(ordinary_graphs.faults_of, ordinary_graphs.KINDS, "graph", first, games)


def _judge(
    faults_of: Callable[[int], tuple[str, str, list[str]]], kinds: Sequence[str], what: str, first: int, games: int
) -> dict[str, Any]:
    """How problems ended, kind by kind, and what was wrong."""
    ended: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    for k in range(first, first + games):
        try:
            kind, how, wrong = faults_of(k)
        except Exception as error:
            kind, how, wrong = kinds[k % len(kinds)], "raw", [f"{type(error).__name__}: {error}"]
        ended[kind, "fault" if wrong else how.split(":")[0]] += 1
        faults += [f"{what} {k} ({kind}): {text}" for text in wrong]
    return {"ended": _nested(ended), "faults": faults}


def flows_table(found: dict[str, Any]) -> str:
    """How the networks of each shape ended."""
    return _ends("shape", found["ended"], sorted({how for ended in found["ended"].values() for how in ended}))


def run_attacks(first: int, games: int, only: str | None = None) -> dict[str, Any]:
    """Hostile games for every method, forged attributions for `check_claims`, planted witnesses for exact methods."""
    ended: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    for name in attacks.METHODS:
        for k in range(first, first + games):
            how, said = attacks.verdict(name, k)
            ended[name, how] += 1
            faults += [f"{name}, hostile game {k}: {said}"] if how == "fault" else []
    caught: Counter[tuple[str, str]] = Counter()
    for k in range(first, first + games):
        for what, right in attacks.forged(k):
            caught[what, CAUGHT[0] if right else CAUGHT[1]] += 1
            faults += [] if right else [f"forged {k}: {what}"]
        for name in attacks.EXACT:
            faults += [f"{name}, planted {k}: {text}" for text in attacks.kept_whatever(name, k)]
    return {"ended": _nested(ended), "forged": _nested(caught), "faults": faults}


def attacks_table(found: dict[str, Any]) -> str:
    """How every method met hostile games, and which forged attributions were caught."""
    judged = _ends("forged, or honest in another order", found["forged"], CAUGHT, ("judged rightly", "wrongly"))
    return f"{_ends('method', found['ended'], WAYS)}\n\n{judged}"


def _nested(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (what, how), count in counts.items():
        nested.setdefault(what, {})[how] = count
    return nested


def _ends(what: str, ended: dict[str, dict[str, int]], ways: Sequence[str], heads: Sequence[str] = ()) -> str:
    total = Counter[str]()
    for counts in ended.values():
        total.update(counts)
    rows = [(name, *(f"{counts.get(way, 0):,}" for way in ways)) for name, counts in (ended | {"all": total}).items()]
    return markdown((what, *(heads or ways)), rows)


RUNS = {"axioms": run_axioms, "coverage": run_coverage, "flows": run_flows, "graphs": run_graphs, "attacks": run_attacks}


TABLES = {
    "axioms": axioms_table,
    "coverage": coverage_table,
    "flows": flows_table,
    "graphs": flows_table,
    "attacks": attacks_table,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*RUNS, []], help="which part; all without a name")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first game")
    parser.add_argument("--games", type=int, help="how many games")
    parser.add_argument("--only", choices=list(coverage.ESTIMATORS), help="one estimator of `coverage`")
    parser.add_argument("--lines", type=Path, help="append the figures to this file, for tools.reliability_page")
    options = parser.parse_args(arguments)
    wrong = 0
    for part in options.part or RUNS:
        began, games = time.process_time(), options.games or SIZES[part]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # an overflow that nobody mentions is a fault
            found = RUNS[part](options.first, games, options.only)
        wrong += len(found["faults"])
        print(f"\n{TABLES[part](found)}")
        for text in found["faults"][:40]:
            print(f"FAULT {text}")
        line = {
            "part": part,
            "from": options.first,
            "games": games,
            "cpu_seconds": round(time.process_time() - began, 1),
            **found,
            "faults": len(found["faults"]),
        }
        print(json.dumps(line, ensure_ascii=False), flush=True)
        if options.lines:
            keep(line, options.lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
