"""How often is the leakage verdict right? Rates over a zoo of explainers that cheat on purpose and of honest ones.

    python -m benchmarks.leaks [--groups fresh] [--worlds table,words] [--rows 40,150,600,1500,4000,10000] [--seeds 11,12]
                               [--minutes 60] [--kept FILE] [--follow] [--deciding] [--quick]
                               [--page docs/reports/leaks.md [--mark "rates of the verdict, mended"]]

`tuned`, `second`, `new`: the kinds, worlds and seeds by which the rule was chosen and mended. `last`: kinds of cheats, of
honest explainers, a world and a seed that nothing was chosen by when they were first tried; the mask transplant was mended
by what they showed. `again`: the same kinds with another seed, tried after that. `fresh`: kinds, a world and seeds that were
made after the judge and the swaps were improved. Classes (2 to 10) and rows are dealt out in turn, the same whichever
`--worlds` are asked; more than 1,500 rows with the first seed only. Explainers come in a shuffled order, seed by seed, so that
a run that `--minutes` ends has met a random part of them. `--kept` keeps every report in a file as it is made; the same
command goes on from there, and with `--minutes 0` only counts again.

With `--follow`, when all reports are made, those that cannot tell and say that about N rows would, N at most 25,000, are made
again with N rows of the same world. Prints one line per explainer; the last line is one JSON object with the rates of every
detector and of the verdict, in all and by rows, classes, worlds and seeds, with 95 % intervals (Clopper and Pearson). `--page`
writes them into a page, between the comments `<!-- MARK -->` and `<!-- end of MARK -->` (`--mark`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaincinv

from accredit.audit import Findings, leakage_report
from accredit.audit.finding import NAMES
from accredit.audit.leakage import DECIDING
from benchmarks.leak_zoo import CHEATS, HONEST, NEW_CHEATS, NEW_HONEST, NEW_WORLDS, WORLDS, Shown, World
from benchmarks.leak_zoo_fresh import FRESH_CHEATS, FRESH_HONEST, FRESH_WORLDS
from benchmarks.leak_zoo_last import LAST_CHEATS, LAST_HONEST, LAST_WORLDS
from benchmarks.record import command, into_page, record

ANSWERS = ("leaks", "cannot tell", "does not leak")
GROUPS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {  # worlds, explainers, seeds
    "tuned": (WORLDS, HONEST | CHEATS, (0,)),
    "second": (WORLDS, HONEST | CHEATS, (3,)),
    "new": (NEW_WORLDS, NEW_HONEST | NEW_CHEATS, (2,)),
    "last": (LAST_WORLDS, LAST_HONEST | LAST_CHEATS, (7,)),
    "again": (LAST_WORLDS, LAST_HONEST | LAST_CHEATS, (8,)),
    "fresh": (FRESH_WORLDS, FRESH_HONEST | FRESH_CHEATS, (11, 12, 13)),
}
EVERY_CHEAT = CHEATS | NEW_CHEATS | LAST_CHEATS | FRESH_CHEATS
FOLLOWED = 25_000  # rows, at most
LARGE = 1_500  # more rows than these are dealt with the first seed only
CLASSES = (2, 5, 3, 10)
HOLES = (  # every other of these meets a black box that reads holes badly
    "strongest",
    "best",
    "varying",
    "noisy",
    "one",
    "side",
    "any_size",
    "above",
    "half_blind",
)


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
            world.inputs,
            world.x,
            shown.masks,
            world.labels,
            world.black_box,
            shown.reads,
            scores=shown.scores,
            tests=tests,
            width=32,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Judged:
    """One report, and whether its explainer cheats."""

    group: str
    name: str
    world: str
    classes: int
    seed: int
    holes: bool
    cheats: bool
    rows: int
    answer: str
    flagged: tuple[str, ...]
    promised: int | None = None  # rows that would decide
    kept: str | None = None  # the answer with them

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return self.group, self.name, self.world, self.seed, self.rows


def cases(group: str, rows: list[int], wanted: list[str], seeds: tuple[int, ...]) -> Iterator[tuple[str, Case, int]]:
    """Every explainer in every world, with classes, rows and holes dealt out in turn, in a shuffled order."""
    worlds, explainers, _ = GROUPS[group]
    for nth, seed in enumerate(seeds):
        sizes = [many for many in rows if not nth or many <= LARGE] or rows
        dealt = []
        for row, (world, made) in enumerate(worlds.items()):
            for column, (name, explainer) in enumerate(explainers.items()):
                classes, many = CLASSES[(column + row // 2 + nth) % 4], sizes[(column + row + nth) % len(sizes)]
                holes = 3.0 if name in HOLES and (column + row) % 2 else 0.0
                world_seed = seed * 1000 + len(dealt)
                dealt.append((world, Case(name, made, explainer, classes, world_seed, holes, seed), many))
        for turn in np.random.default_rng(seed).permutation(len(dealt)):
            if dealt[turn][0] in wanted:
                yield dealt[turn]


def judged(group: str, world_name: str, case: Case, many: int, tests: tuple[str, ...]) -> Judged:
    """The report of one case, printed as one line."""
    cheats, began = case.name in EVERY_CHEAT, time.process_time()
    world, report = case.reported(many, tests)
    said = report.conclusion
    about = f"{world.classes} classes, {many} rows" + ", holes" * bool(world.holes)
    took = f"{time.process_time() - began:.0f} s"
    kind = "cheat " if cheats else "honest"
    print(f"{group:6} {kind} {case.name:11} {world.name:11} {about:28} {took:5} {said}"[:220], flush=True)
    return Judged(
        group,
        case.name,
        world_name,
        case.classes,
        case.seed,
        case.holes > 0,
        cheats,
        many,
        said.answer,
        report.flagged,
        said.rows,
    )


def followed(one: Judged, case: Case, tests: tuple[str, ...]) -> Judged:
    """The same with what became of its promise."""
    assert one.promised is not None
    said = case.reported(one.promised, tests)[1].conclusion
    kind = "cheat " if one.cheats else "honest"
    print(f"{kind} {one.name:11} {one.world:9} {one.rows} rows, then {one.promised}: {said}"[:220], flush=True)
    return replace(one, kept=said.answer)


def remembered(file: Path | None) -> list[Judged]:
    """The reports that an earlier part of the run kept."""
    if file is None or not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [Judged(**line | {"flagged": tuple(line["flagged"])}) for line in lines]
    return list({one.key: one for one in found}.values())  # a report that was followed is there twice


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
            told[name]["asked again"] = {answer: sum(one.kept == answer for one in again) for answer in ANSWERS if again}
            told[name]["flagged"] = {test: sum(test in one.flagged for one in mine) for test in NAMES}
    return told


def counted(found: list[Judged]) -> dict[str, Any]:
    """The rates in all, and by rows, classes and worlds."""
    told = {"all": rates(found)}
    for what, key in (("rows", "rows"), ("classes", "classes"), ("world", "world"), ("seed", "seed")):
        for value in sorted({getattr(one, key) for one in found}):
            told[f"{value:,} {what}" if what in ("rows", "classes") else f"{what} {value}"] = rates(
                [one for one in found if getattr(one, key) == value]
            )
    return told


def page(told: dict[str, Any], written_by: str) -> str:
    """The rates as tables of Markdown, with the command that wrote them."""
    head = "| | cheats | found | open | acquitted | honest | accused | open | acquitted |"
    lines = [f"Written by `{written_by}`:", "", head, "|---" * 9 + "|"]
    for where, rate in told.items():
        if where.startswith(("world", "seed")) or where.endswith("classes"):  # these are in the JSON line
            continue
        cells = [
            cell
            for kind in ("cheats", "honest")
            for cell in (
                [str(rate[kind]["leaks"]["of"]), *(_cell(rate[kind][a]) for a in ANSWERS)]
                if kind in rate
                else ["0", "", "", ""]
            )
        ]
        lines.append(f"| {where} | " + " | ".join(cells) + " |")
    every = told["all"]
    lines += ["", "| detector | cheats flagged | honest flagged |", "|---|---|---|"]
    lines += [
        f"| {test} | {every['cheats']['flagged'][test]} of {every['cheats']['leaks']['of']} | "
        f"{every['honest']['flagged'][test]} of {every['honest']['leaks']['of']} |"
        for test in NAMES
    ]
    return "\n".join(lines) + "\n"


def _cell(share: dict[str, Any]) -> str:
    low, high = (round(100 * bound) for bound in share["interval"])
    return f"{share['count']} [{low}, {high}] %"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", default="fresh")
    parser.add_argument("--rows", default="40,150,600,1500,4000,10000")
    parser.add_argument("--seeds", help="instead of the group's own")
    parser.add_argument("--quick", action="store_true", help="150 rows, one seed")
    parser.add_argument("--deciding", action="store_true", help="only the detectors that decide: half of the cost")
    parser.add_argument("--worlds", default=",".join(FRESH_WORLDS))
    parser.add_argument("--follow", action="store_true", help="ask again with as many rows as were said to decide")
    parser.add_argument("--minutes", type=float, help="begin no further report after this time")
    parser.add_argument("--kept", type=Path, help="keep reports in this file, and go on from it")
    parser.add_argument("--page", type=Path, help="write the rates into this page")
    parser.add_argument("--mark", default="rates of the verdict, mended", help="the comment between which they stand there")
    asked = parser.parse_args()
    rows = [150] if asked.quick else [int(r) for r in asked.rows.split(",")]
    tests, wanted = DECIDING if asked.deciding else NAMES, asked.worlds.split(",")
    began, done = time.monotonic(), {one.key: one for one in remembered(asked.kept)}

    def late() -> bool:
        return asked.minutes is not None and time.monotonic() - began >= 60 * asked.minutes

    def keep(one: Judged) -> None:
        done[one.key] = one
        if asked.kept:
            with asked.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(one)) + "\n")

    dealt = []
    for group in asked.groups.split(","):
        seeds = tuple(int(s) for s in asked.seeds.split(",")) if asked.seeds else GROUPS[group][2]
        dealt += [(group, *one) for one in cases(group, rows, wanted, seeds[:1] if asked.quick else seeds)]
    for group, world, case, many in dealt:
        if not late() and (group, case.name, world, case.seed, many) not in done:
            keep(judged(group, world, case, many, tests))
    for group, world, case, many in dealt:
        one = done.get((group, case.name, world, case.seed, many))
        promising = one is not None and one.kept is None and one.promised is not None
        if asked.follow and one is not None and promising and many < (one.promised or 0) <= FOLLOWED and not late():
            keep(followed(one, case, tests))
    told = counted(list(done.values()))
    record({"leaks": told})
    if asked.page:
        into_page(asked.page, asked.mark, page(told, command(sys.argv)))


if __name__ == "__main__":
    main()
