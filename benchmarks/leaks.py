"""How often is the leakage verdict right? Rates over a zoo of explainers that cheat on purpose and of honest ones.

    python -m benchmarks.leaks [--groups tuned,second,new] [--rows 40,150,600,1500,4000,10000] [--deciding] [--quick]

`tuned`: the kinds and the seed by which the rule was chosen. `second`: the same kinds with another seed. `new`: kinds of cheats,
of honest explainers and a world that were left out of tuning. Two to ten classes and numbers of rows are dealt out in turn.
Prints one line per explainer; the last line is one JSON object with the rates of every detector and of the verdict, in all
and by number of rows, with 95 % intervals (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from accredit.audit import leakage_report
from accredit.audit.names import NAMES
from accredit.audit.verdict import DECIDING
from benchmarks.leak_zoo import CHEATS, HONEST, NEW_CHEATS, NEW_HONEST, NEW_WORLDS, WORLDS, Shown, World
from benchmarks.record import record

ANSWERS = ("leaks", "cannot tell", "does not leak")
GROUPS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {  # worlds, explainers, seeds
    "tuned": (WORLDS, HONEST | CHEATS, (0,)),
    "second": (WORLDS, HONEST | CHEATS, (3,)),
    "new": (NEW_WORLDS, NEW_HONEST | NEW_CHEATS, (2,)),
}
CLASSES = (2, 5, 3, 10)
HOLES = ("strongest", "best", "varying", "noisy")  # every other of these meets a black box that reads holes badly


@dataclass(frozen=True)
class Judged:
    """One report, and whether its explainer cheats."""

    group: str
    cheats: bool
    rows: int
    answer: str
    flagged: tuple[str, ...]


def cases(group: str, rows: list[int]) -> Iterator[tuple[str, World, Shown, int]]:
    """Every explainer in every world, with classes and rows dealt out in turn."""
    worlds, explainers, seeds = GROUPS[group]
    turn = 0
    for seed in seeds:
        for made in worlds.values():
            for name, explainer in explainers.items():
                classes, many = CLASSES[turn % len(CLASSES)], rows[(turn + turn // 12) % len(rows)]
                holes = 3.0 if name in HOLES and turn % 2 else 0.0
                world = made(classes, many, seed * 1000 + turn, holes)
                turn += 1
                yield name, world, explainer(world, np.random.default_rng(seed)), seed


def judged(group: str, rows: list[int], tests: tuple[str, ...]) -> Iterator[Judged]:
    for name, world, shown, seed in cases(group, rows):
        cheats, began = name in CHEATS | NEW_CHEATS, time.process_time()
        report = leakage_report(
            world.inputs, world.x, shown.masks, world.labels, world.black_box, shown.reads, scores=shown.scores, tests=tests,
            width=32, seed=seed,
        )  # fmt: skip
        about = f"{world.classes} classes, {len(world.x)} rows" + ", holes" * bool(world.holes)
        took = f"{time.process_time() - began:.0f} s"
        kind = "cheat " if cheats else "honest"
        print(f"{group:6} {kind} {name:10} {world.name:10} {about:28} {took:5} {report.conclusion}"[:220], flush=True)
        yield Judged(group, cheats, len(world.x), report.conclusion.answer, report.flagged)


def share(found: Iterable[bool]) -> dict[str, Any]:
    """How many of how many, with the 95 % interval of Clopper and Pearson.

    >>> share([True] * 9 + [False])
    {'of': 10, 'count': 9, 'interval': [0.555, 0.997]}
    """
    each = list(found)
    n, k = len(each), sum(each)
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    return {"of": n, "count": k, "interval": [round(low, 3), round(high, 3)]}


def rates(found: list[Judged]) -> dict[str, Any]:
    """Of cheats and of honest explainers: the answers, and how many each detector flagged."""
    told: dict[str, Any] = {}
    for name, cheats in (("cheats", True), ("honest", False)):
        mine = [one for one in found if one.cheats is cheats]
        if mine:
            told[name] = {answer: share(one.answer == answer for one in mine) for answer in ANSWERS}
            told[name]["flagged"] = {test: sum(test in one.flagged for one in mine) for test in NAMES}
    return told


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--rows", default="40,150,600,1500,4000,10000")
    parser.add_argument("--quick", action="store_true", help="150 rows, kinds left out of tuning only")
    parser.add_argument("--deciding", action="store_true", help="only the detectors that decide: half of the cost")
    asked = parser.parse_args()
    groups = ["new"] if asked.quick else asked.groups.split(",")
    rows = [150] if asked.quick else [int(r) for r in asked.rows.split(",")]
    began = time.process_time()
    found = [one for group in groups for one in judged(group, rows, DECIDING if asked.deciding else NAMES)]
    every = {group: rates([one for one in found if one.group == group]) for group in groups}
    every |= {f"{many} rows": rates([one for one in found if one.rows == many]) for many in rows}
    record({"leaks": every, "cpu_seconds": round(time.process_time() - began)})


if __name__ == "__main__":
    main()
