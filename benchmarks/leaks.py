"""How often is the leakage verdict right? Rates over a zoo of explainers that cheat on purpose and of honest ones.

    python -m benchmarks.leaks [--groups fresh] [--worlds table,words] [--rows 40,150,600,1500,4000,10000] [--follow]
                               [--deciding] [--quick]

`tuned`, `second`, `new`: the kinds, worlds and seeds by which the rule was chosen and mended. `last`: kinds of cheats, of
honest explainers, a world and a seed that nothing was chosen by when they were first tried; the mask transplant was mended
by what they showed. `again`: the same kinds with another seed, tried after that. `fresh`: kinds, a world and a seed that were
made after the judge and the swaps were improved. Classes (2 to 10) and rows are dealt out in turn, the same whichever
`--worlds` are asked. With `--follow`, a report that cannot tell and says that about N rows would, N at most 10,000, is made
again with N rows of the same world. Prints one line per explainer; the last line is one JSON object with the rates of every
detector and of the verdict, in all and by number of rows, with 95 % intervals (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from accredit.audit import Findings, leakage_report
from accredit.audit.names import NAMES
from accredit.audit.verdict import DECIDING
from benchmarks.leak_zoo import CHEATS, HONEST, NEW_CHEATS, NEW_HONEST, NEW_WORLDS, WORLDS, Shown, World
from benchmarks.leak_zoo_fresh import FRESH_CHEATS, FRESH_HONEST, FRESH_WORLDS
from benchmarks.leak_zoo_last import LAST_CHEATS, LAST_HONEST, LAST_WORLDS
from benchmarks.record import record

ANSWERS = ("leaks", "cannot tell", "does not leak")
GROUPS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {  # worlds, explainers, seeds
    "tuned": (WORLDS, HONEST | CHEATS, (0,)),
    "second": (WORLDS, HONEST | CHEATS, (3,)),
    "new": (NEW_WORLDS, NEW_HONEST | NEW_CHEATS, (2,)),
    "last": (LAST_WORLDS, LAST_HONEST | LAST_CHEATS, (7,)),
    "again": (LAST_WORLDS, LAST_HONEST | LAST_CHEATS, (8,)),
    "fresh": (FRESH_WORLDS, FRESH_HONEST | FRESH_CHEATS, (11,)),
}
EVERY_CHEAT = CHEATS | NEW_CHEATS | LAST_CHEATS | FRESH_CHEATS
FOLLOWED = 10_000  # rows, at most
CLASSES = (2, 5, 3, 10)
HOLES = (
    "strongest",
    "best",
    "varying",
    "noisy",
    "one",
    "side",
)  # every other of these meets one that reads holes badly


@dataclass(frozen=True)
class Case:
    """One explainer in one world, which can be made again with other rows."""

    name: str
    made: Callable[[int, int, int, float], World]
    explainer: Callable[[World, np.random.Generator], Shown]
    classes: int
    world_seed: int
    holes: float
    seed: int

    def reported(self, rows: int, tests: tuple[str, ...]) -> tuple[World, Findings]:
        world = self.made(self.classes, rows, self.world_seed, self.holes)
        shown = self.explainer(world, np.random.default_rng(self.seed))
        return world, leakage_report(
            world.inputs, world.x, shown.masks, world.labels, world.black_box, shown.reads, scores=shown.scores, tests=tests,
            width=32, seed=self.seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """One report, and whether its explainer cheats."""

    group: str
    cheats: bool
    rows: int
    answer: str
    flagged: tuple[str, ...]
    promised: int | None = None  # rows that would decide
    kept: str | None = None  # the answer with them


def cases(group: str, rows: list[int], wanted: list[str]) -> Iterator[tuple[Case, int]]:
    """Every explainer in every world, with classes and rows dealt out in turn."""
    worlds, explainers, seeds = GROUPS[group]
    turn = 0
    for seed in seeds:
        for world, made in worlds.items():
            for name, explainer in explainers.items():
                classes, many = CLASSES[turn % len(CLASSES)], rows[(turn + turn // 12) % len(rows)]
                holes = 3.0 if name in HOLES and turn % 2 else 0.0
                turn += 1
                if world in wanted:
                    yield Case(name, made, explainer, classes, seed * 1000 + turn - 1, holes, seed), many


def judged(group: str, rows: list[int], wanted: list[str], tests: tuple[str, ...], follow: bool) -> Iterator[Judged]:
    for case, many in cases(group, rows, wanted):
        cheats, began = case.name in EVERY_CHEAT, time.process_time()
        world, report = case.reported(many, tests)
        said, kept = report.conclusion, None
        about = f"{world.classes} classes, {many} rows" + ", holes" * bool(world.holes)
        kind = "cheat " if cheats else "honest"
        if follow and said.rows and many < said.rows <= FOLLOWED:
            kept = str(case.reported(said.rows, tests)[1].conclusion)
        took = f"{time.process_time() - began:.0f} s"
        print(f"{group:6} {kind} {case.name:10} {world.name:10} {about:28} {took:5} {said}"[:220], flush=True)
        if kept:
            print(f"       with {said.rows} rows: {kept}"[:220], flush=True)
        yield Judged(
            group, cheats, many, said.answer, report.flagged, said.rows, kept.partition(":")[0] if kept else None
        )


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
            again = [one for one in mine if one.kept]
            told[name]["asked again"] = {
                answer: sum(one.kept == answer for one in again) for answer in ANSWERS if again
            }
            told[name]["flagged"] = {test: sum(test in one.flagged for one in mine) for test in NAMES}
    return told


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", default="fresh")
    parser.add_argument("--rows", default="40,150,600,1500,4000,10000")
    parser.add_argument("--quick", action="store_true", help="150 rows")
    parser.add_argument("--deciding", action="store_true", help="only the detectors that decide: half of the cost")
    parser.add_argument("--worlds", default=",".join(FRESH_WORLDS))
    parser.add_argument("--follow", action="store_true", help="ask again with as many rows as were said to decide")
    asked = parser.parse_args()
    groups = ["fresh"] if asked.quick else asked.groups.split(",")
    rows = [150] if asked.quick else [int(r) for r in asked.rows.split(",")]
    began = time.process_time()
    tests, wanted = DECIDING if asked.deciding else NAMES, asked.worlds.split(",")
    found = [one for group in groups for one in judged(group, rows, wanted, tests, asked.follow)]
    every = {group: rates([one for one in found if one.group == group]) for group in groups}
    every |= {f"{many} rows": rates([one for one in found if one.rows == many]) for many in rows}
    record({"leaks": every, "cpu_seconds": round(time.process_time() - began)})


if __name__ == "__main__":
    main()
