"""Intervals over test rows, tested on thousands of fresh ones: rows, groups and vendors valued by the doors of the command.

    python -m benchmarks.fresh_tests [--seeds FIRST COUNT] [--sets NAME ...] [--tests COUNT] [--parts FILE]

Each draw has 400 training rows (a tenth of the labels wrong) of five vendors, one of whom resells rows of another and one of
whom labels carelessly, 150 test rows or COUNT, and up to 3,000 others of the same population. `covered` is the share of
intervals (95 %) that hold what the fresh rows say; they are a sample, too, so that a little less is to be expected. Of rows
called harmful, purchases called the best and values that their interval puts above or below zero, it counts those that are not
so on the fresh rows. Nothing was chosen on any of these draws. Ends with one JSON line.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray, IntArray
from accredit.core import Attribution
from accredit.core.coalitions import all_coalitions
from accredit.games import grouped
from accredit.training_data.report import Valuation
from accredit.training_data.rules import KNN_NEIGHBOURS
from accredit.training_data.tables import Table, table
from accredit.training_data.worth import utility, value_table
from accredit.valuation import KNNUtility
from benchmarks.noisy_labels import rows_of
from benchmarks.record import record

SETS = (
    "SST-2",
    "film sentences",
    "Yelp",
    "AG News",
    "MNIST",
    "Fashion-MNIST",
    "digits",
    "2 % made",
    "20 classes made",
    "quantiles",
)
TRAIN, TESTS, FRESH = 400, 150, 3000
COLUMNS = 50  # of pictures, their strongest directions: tables are written and read
PRICES = {"acme": 120.0, "bits": 60.0, "cheap": 15.0, "echo": 50.0, "tiny": 20.0}
SIZES = {"acme": 140, "bits": 90, "cheap": 90, "echo": 50, "tiny": 30}  # rows; those of echo are rows of acme
CARELESS = {"cheap": 0.4}
WRONG = 0.1  # of the labels of the others
ASKED = {"rows": ("knn-shapley", "logistic"), "groups": ("knn-shapley", "logistic"), "retrained groups": ("shapley", "ridge")}


def write_draw(name: str, seed: int, tests: int, folder: Path) -> tuple[Path, Path, Path]:
    """Training rows with vendors, test rows and fresh rows of a data set, as tables."""
    import pandas

    rng = np.random.default_rng([seed, SETS.index(name)])
    x, y = rows_of(name)
    order = rng.permutation(len(y))[: TRAIN + tests + FRESH]
    if x.shape[1] > COLUMNS:
        middle = x[order] - x[order].mean(axis=0)
        x = middle @ np.linalg.svd(middle, full_matrices=False)[2][:COLUMNS].T
    else:
        x = x[order]
    classes, y = int(y.max()) + 1, y[order]
    place, given, vendors = offers(rng, y[:TRAIN], classes)
    files = []
    for part, rows, labels in (
        ("train", place, given),
        ("test", np.arange(TRAIN, TRAIN + tests), y[TRAIN : TRAIN + tests]),
        ("fresh", np.arange(TRAIN + tests, len(order)), y[TRAIN + tests :]),
    ):
        frame = pandas.DataFrame(x[rows], columns=[f"c{i}" for i in range(x.shape[1])])
        frame["kind"] = [f"class {label}" for label in labels]
        frame["vendor"] = vendors if part == "train" else "none"
        if part != "train":
            frame = frame[frame["kind"].isin({f"class {label}" for label in given})]
        files.append(folder / f"{part}.csv")
        frame.to_csv(files[-1], index=False)
    return files[0], files[1], files[2]


def offers(rng: np.random.Generator, y: IntArray, classes: int) -> tuple[IntArray, IntArray, list[str]]:
    """Which rows each vendor sells, with which labels: echo sells rows of acme again."""
    place: list[int] = []
    given: list[int] = []
    vendors: list[str] = []
    first = 0
    for name, size in SIZES.items():
        if name == "echo":
            copied = rng.permutation(SIZES["acme"])[:size]
            place += copied.tolist()
            given += [given[i] for i in copied]
        else:
            rows = np.arange(first, first + size)
            wrong = rng.random(size) < CARELESS.get(name, WRONG)
            place += rows.tolist()
            given += np.where(wrong, (y[rows] + rng.integers(1, classes, size)) % classes, y[rows]).tolist()
            first += size
        vendors += [name] * size
    return np.array(place), np.array(given), vendors


def compare(stated: Attribution, fresh: Attribution) -> dict[str, float]:
    """How many intervals hold what fresh test rows say, how wide they are, and how many signs they get wrong."""
    assert stated.interval is not None
    low, high = stated.interval.T
    signs = (low > 0) | (high < 0)
    return {
        "values": len(stated),
        "covered": int(((low <= fresh.credit) & (fresh.credit <= high)).sum()),
        "half width over spread": float(np.median(high - low) / 2 / max(float(fresh.credit.std()), 1e-12)),
        "signs": int(signs.sum()),
        "wrong signs": int((signs & (np.sign(stated.credit) != np.sign(fresh.credit))).sum()),
    }


def of_rows(stated: Valuation, fresh: Valuation) -> dict[str, float]:
    """Of rows called harmful, how many are not."""
    named = [row.player for row in stated.harmful if row.surely == "sure"]
    return {"harmful": len(named), "not harmful": sum(fresh.values[name] >= 0 for name in named)}


def of_purchases(stated: Valuation, payoffs: FloatArray, names: tuple[str, ...]) -> dict[str, float]:
    """Of purchases called the best, how many are not, and how many of their payoffs are covered. `payoffs` (2ⁿ,) are those
    of all sets of vendors at fresh test rows."""
    assert stated.purchases is not None
    bit = {name: 1 << i for i, name in enumerate(names)}
    found: dict[str, float] = defaultdict(float)
    cost = np.array([sum(PRICES[n] for n in names if row & bit[n]) for row in range(len(payoffs))])
    for one in stated.purchases.best:
        row = sum(bit[name] for name in one.sources)
        others = payoffs[(cost <= cost[row]) & (np.arange(len(payoffs)) != row)]
        if one.surely and len(others):
            found["best"] += 1
            found["not best"] += float(others.max()) > payoffs[row]
        if one.payoff.low is not None and one.payoff.high is not None and row:
            found["payoffs"] += 1
            found["payoffs covered"] += one.payoff.low <= payoffs[row] <= one.payoff.high
    for said in stated.purchases.redundant:
        found["redundant"] += 1
        found["redundant, no copies"] += {said.source, said.beside} != {"echo", "acme"}
    return dict(found)


def all_payoffs(read: Table, asked: str) -> tuple[FloatArray, tuple[str, ...]]:
    """What every set of vendors pays at the test rows of a table."""
    assert read.groups is not None
    game = grouped(KNNUtility(read.data, KNN_NEIGHBOURS) if asked == "groups" else utility(read.data, "ridge"), read.groups)
    return game.payoff(np.concatenate(list(all_coalitions(len(game.players))))), game.players


def measure(name: str, seed: int, tests: int) -> dict[str, dict[str, float]]:
    """One draw: rows, groups by neighbours, groups by retraining."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        train, test, fresh = write_draw(name, seed, tests, Path(folder))
        for asked, (method, model) in ASKED.items():
            prices = None if asked == "rows" else PRICES
            players = "row" if asked == "rows" else "vendor"
            seen, unseen = (
                table(
                    train,
                    "kind",
                    test=str(file),
                    players=players,
                    prices=prices,
                    annotator="vendor" if asked == "rows" else None,
                )
                for file in (test, fresh)
            )
            stated, truth = (value_table(read, method, model, curves=False) for read in (seen, unseen))
            found[asked] = compare(stated.values, truth.values)
            found[asked] |= of_rows(stated, truth) if prices is None else of_purchases(stated, *all_payoffs(unseen, asked))
    return found


def summarise(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums over draws, as shares."""
    results: dict[str, Any] = {}
    for asked, tests in product(ASKED, sorted({part["tests"] for part in parts})):
        some = [part for part in parts if part["tests"] == tests]
        runs = [part["figures"][asked] for part in some]
        total = {key: sum(run.get(key, 0.0) for run in runs) for key in sorted({key for run in runs for key in run})}
        worst = min(some, key=lambda part: part["figures"][asked]["covered"] / part["figures"][asked]["values"])
        shares = {"covered": total["covered"] / total["values"]}
        shares["worst draw"] = worst["figures"][asked]["covered"] / worst["figures"][asked]["values"]
        shares["half width over spread"] = total.pop("half width over spread") / len(runs)
        figures: dict[str, Any] = {"draws": len(some)} | shares | {"counts": total}
        results[f"{asked}, {tests} test rows"] = figures
        for name in SETS:
            mine = [part["figures"][asked] for part in some if part["name"] == name]
            if mine:
                figures[name] = sum(run["covered"] for run in mine) / sum(run["values"] for run in mine)
        print(asked, tests, json.dumps(figures), flush=True)
    return results


def main() -> None:
    """All draws, then sums over them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 20), metavar=("FIRST", "COUNT"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="NAME")
    parser.add_argument("--tests", type=int, default=TESTS, metavar="COUNT")
    parser.add_argument("--parts", type=Path, metavar="FILE")
    asked = parser.parse_args()
    parts = [json.loads(line) for line in asked.parts.read_text().splitlines()] if asked.parts and asked.parts.exists() else []
    done = {(part["name"], part["seed"], part["tests"]) for part in parts}
    for name in asked.sets:
        for seed in range(asked.seeds[0], sum(asked.seeds)):
            if (name, seed, asked.tests) in done:
                continue
            parts.append({"name": name, "seed": seed, "tests": asked.tests, "figures": measure(name, seed, asked.tests)})
            print(json.dumps(parts[-1]), flush=True)
            if asked.parts:
                with asked.parts.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(parts[-1]) + "\n")
    record(summarise(parts))


if __name__ == "__main__":
    main()
