"""Fast Shapley values on a table, on texts and on pictures: how close, how quick, and whether their intervals hold.

    python -m benchmarks.learned [--only table,texts,pictures] [--data FOLDER] [--quick | --coverage | --untuned]
                                 [--page docs/learned.md]

One thread, CPU seconds. Some inputs are learned from. Of all others every payoff is asked once, so that their values are known
exactly; five times (`SEEDS`) a network is fitted anew, and they are dealt out anew: some calibrate 90 % intervals, the rest is
counted.

- `r2`, `top1`: predictions against exact values.
- `us`: CPU microseconds per input: one pass of the network, the whole call with the payoffs of everybody and nobody, the exact
  value, and shap's KernelExplainer.
- `coverage`: how often intervals hold, by player (each over all five refits), in all, by refit, and for all players of an
  input at once (`row`, calibrated on half of the counted inputs). Texts have players of their own; there a player is a rank:
  the word with the largest predicted credit, the second largest, and so on; `by_place` tells how the same intervals fare by
  place in the text. `estimated`: the same by player where the calibration values are estimates, which are counted against exact
  values.
- `se`: standard error of a coverage, by player. Each refit deals calibration and counted inputs from one pool, so its expected
  coverage is the level, whatever the pool, and it scatters by the quantile of m scores and the count of t inputs:
  √(0.09 (1/m + 1/t) / refits), as for inputs that count once. Of a rank only texts that reach it count. `refits_sd` is the
  spread over refits that was seen, averaged over players.
- `width`: mean half-width, as a share of a typical largest credit. `fallen_back`: share of inputs it was unsure of.

The run ends with one JSON object. Texts are SST-2 phrases (sst2.tsv.gz) of four to seven words, pictures are Fashion-MNIST
(fashion_mnist.npz) in 3 × 3 patches, in FOLDER or $ACCREDIT_DATA, by the built-in models. With `--coverage` phrases have at
most five words and pictures six patches, and fits are short: values are cheap then, so that a minute of CPU shows whether
intervals hold, and nothing about accuracy. With `--untuned` three refits are counted on models and data on which nothing was
chosen (`learned_untuned.py`); `--page` writes their coverage into a page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from accredit.core import FloatArray, IntArray
from accredit.explanation.loading import builtin_model
from accredit.explanation.requests import RowRequest
from accredit.learned.columns import Columns
from accredit.learned.conformal import ASIDE, TUNED, Reference, calibrate, ranks
from accredit.learned.fast import FastShapley, Values, fit_fast
from accredit.learned.input_sets import Family, InputFamily, RowFamily
from accredit.learned.valuers import NetworkInputs, raw_credit
from accredit.values.exact import shapley_from_table
from benchmarks.record import command, into_page, record

LEVEL, SEEDS = 0.9, 5
SIZES = {  # learned from, calibrated on, counted, epochs
    ("table", "full"): (2500, 1100, 1100, 120), ("table", "coverage"): (500, 900, 900, 20),
    ("table", "quick"): (300, 100, 100, 20),
    ("texts", "full"): (3000, 1400, 1400, 40), ("texts", "coverage"): (200, 900, 900, 10),
    ("texts", "quick"): (150, 50, 50, 20),
    ("pictures", "full"): (2500, 850, 750, 50), ("pictures", "coverage"): (120, 750, 750, 8),
    ("pictures", "quick"): (120, 50, 50, 20),
    ("untuned", "full"): (500, 500, 500, 30),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tabled:
    """A game whose payoffs were all asked before."""

    players: tuple[str, ...]
    table: FloatArray  # (2ⁿ, outputs); bit i of the place says whether i plays

    def payoff(self, coalitions: Any) -> FloatArray:
        return self.table[np.asarray(coalitions) @ (1 << np.arange(len(self.players)))]


class Pool:
    """Inputs to learn from, the first ones, and inputs of which everything is known."""

    def __init__(self, family: Family, learned: int) -> None:
        self.family, self.learned = family, learned
        began = time.process_time()
        self.tabled = {at: _tabled(family.game(at)) for at in range(learned, len(family))}
        most = max(len(family.game(at).players) for at in range(len(family)))
        self.values = np.full((len(family), most, len(family.outputs)), np.nan)
        for at, game in self.tabled.items():
            for k in range(len(family.outputs)):
                self.values[at, : len(game.players), k] = shapley_from_table(np.ascontiguousarray(game.table[:, k]))
        self.exact = (time.process_time() - began) / len(self.tabled) * 1e6  # µs per input
        self.nobody, self.everybody = family.ends()


def _tabled(game: Any) -> Tabled:
    n = len(game.players)
    return Tabled(game.players, game.payoff((np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)))


class Part:
    """Some inputs of a pool, as a family."""

    def __init__(self, pool: Pool, at: IntArray) -> None:
        self.pool, self.at = pool, at
        self.kind, self.outputs, self.targets = pool.family.kind, pool.family.outputs, pool.family.targets

    def __len__(self) -> int:
        return len(self.at)

    def game(self, at: int) -> Any:
        one = int(self.at[at])
        return self.pool.tabled.get(one) or self.pool.family.game(one)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        return self.pool.nobody[self.at], self.pool.everybody[self.at]

    def columns(self, at: IntArray) -> Columns | None:
        return self.pool.family.columns(self.at[at])

    def network_inputs(self, columns: Columns | None) -> NetworkInputs:
        return self.pool.family.network_inputs(columns)[self.at]

    def reference(self, at: IntArray, budget: int | None, seed: int) -> Reference:
        if budget is not None:
            return self.pool.family.reference(self.at[at], budget, seed)
        values = self.pool.values[self.at[at]]
        assert np.isfinite(values[:, 0]).all(), "an input to learn from was dealt out to calibrate"
        return Reference(values, np.zeros_like(values))

    def marks(self) -> dict[str, str]:
        return self.pool.family.marks()

    def probe(self) -> FloatArray:
        return self.pool.family.probe()


def microseconds(run: Callable[[], Any], inputs: int) -> float:
    """Of CPU per input, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return round(min(times) / inputs * 1e6, 1)


@dataclass(frozen=True, eq=False)
class Counted:
    """One refit, judged on inputs that it has not seen."""

    r2: float
    top1: float
    held: FloatArray  # (n,): by player, of texts by rank, over inputs and outputs
    by_place: FloatArray  # (n,)
    reached: FloatArray  # (n,): share of the inputs that have such a player
    every: float
    row: float
    estimated: FloatArray | None  # (n,)
    width: float
    fallen_back: float
    fit_seconds: float


def refit(pool: Pool, calibration: int, seed: int, budget: int | None, **settings: Any) -> tuple[Counted, FastShapley]:
    known, counted_on = np.split(np.random.default_rng(1000 + seed).permutation(list(pool.tabled)), [calibration])
    dealt = np.random.default_rng(seed).permutation(pool.learned + calibration)  # as `fit_fast` will deal: first calibrates
    at = np.empty_like(dealt)
    at[dealt] = np.concatenate([known, np.arange(pool.learned)])
    used, rest = Part(pool, at), Part(pool, counted_on)
    began = time.process_time()
    fast = fit_fast(used, level=LEVEL, calibration=calibration, seed=seed, **settings)
    took = time.process_time() - began
    found = fast.values(rest, fallback=0)
    truth = pool.values[rest.at]
    there = np.isfinite(truth)
    held = np.where(there, (found.interval[..., 0] <= truth) & (truth <= found.interval[..., 1]), np.nan)
    missed = ((found.credit - truth)[there] ** 2).sum()
    spread = ((truth - np.nanmean(truth, axis=(0, 1)))[there] ** 2).sum()
    same = np.nanargmax(np.abs(found.credit), axis=1) == np.nanargmax(np.abs(truth), axis=1)
    half = (found.interval[..., 1] - found.interval[..., 0]) / 2
    by_rank = np.take_along_axis(held, ranks(found.credit).argsort(axis=1), axis=1)
    counted = Counted(
        float(1 - missed / spread),
        float(same.mean()),
        np.nanmean(by_rank if pool.family.kind == "texts" else held, axis=(0, 2)),
        np.nanmean(held, axis=(0, 2)),
        there.mean(axis=(0, 2)),
        float(np.nanmean(held, axis=(1, 2)).mean()),
        _whole_rows(found, truth, seed),
        _estimated(rest, found, truth, budget, seed),
        float(np.nanmean(half) / fast.typical.mean()),
        float((found.far | found.wide).mean()),
        took,
    )
    return counted, fast


def _whole_rows(found: Values, truth: FloatArray, seed: int) -> float:
    """How often all intervals of an input and output hold at once: half of the inputs calibrates, the other half counts."""
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(truth)), 2)
    exact = Reference(truth[first], np.zeros_like(truth[first]))
    half = calibrate(found.credit[first], exact, LEVEL, "row", seed).half_widths(found.credit[second])
    held = (np.abs(found.credit - truth)[second] <= half) | np.isnan(truth[second])
    return float(held.all(axis=1).mean())


def _estimated(rest: Part, found: Values, truth: FloatArray, budget: int | None, seed: int) -> FloatArray | None:
    """Coverage by player where calibration values are estimated from `budget` payoffs: half calibrates, half counts."""
    if budget is None:
        return None
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(truth)), 2)
    half = calibrate(found.credit[first], rest.reference(first, budget, seed), LEVEL, "player", seed)
    held = np.abs(found.credit - truth)[second] <= half.half_widths(found.credit[second])
    return np.asarray(held.mean(axis=(0, 2)))


def judged(
    family: Family,
    learned: int,
    calibration: int,
    shap: Callable[[], float] | None = None,
    *,
    refits: int = SEEDS,
    budget: int | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Some refits in one table row."""
    pool = Pool(family, learned)
    runs = [refit(pool, calibration, seed, budget, **settings) for seed in range(refits)]
    counted, fast = [run[0] for run in runs], runs[0][1]
    by_player, seen = np.mean([one.held for one in counted], axis=0), family.network_inputs(fast.columns)
    reached, by_place = (np.mean([getattr(one, name) for one in counted], axis=0) for name in ("reached", "by_place"))
    known = [one.estimated for one in counted if one.estimated is not None]
    return {
        "inputs": len(family),
        "learned_from": learned,
        "calibration": calibration,
        "refits": refits,
        "r2": _mean(one.r2 for one in counted),
        "top1": _mean(one.top1 for one in counted),
        "coverage": {
            "all": _mean(one.every for one in counted),
            "refits": sorted(round(one.every, 3) for one in counted),
            "row": _mean(one.row for one in counted),
            "players": by_player.round(3).tolist(),
            "se": _standard_error(calibration, len(pool.tabled) - calibration, reached, refits),
            "refits_sd": _mean(np.std([one.held for one in counted], axis=0, ddof=1)),
        }
        | ({"by_place": by_place.round(3).tolist()} if family.kind == "texts" else {})
        | ({"estimated": _ends(np.mean(known, axis=0)), "budget": budget} if known else {}),
        "width": _mean(one.width for one in counted),
        "fallen_back": _mean(one.fallen_back for one in counted),
        "fit_seconds": round(float(np.mean([one.fit_seconds for one in counted])), 1),
        "us": {
            "network": microseconds(lambda: raw_credit(fast.network, seen), len(family)),
            "in_all": microseconds(lambda: fast.values(_some(family), fallback=0), len(_some(family))),
            "exact": round(pool.exact, 1),
            **({"shap_kernel": round(shap(), 1)} if shap is not None else {}),
        },
    }


def _standard_error(calibration: int, counted: int, reached: FloatArray, refits: int) -> list[float]:
    """Of the coverage of every player, over all refits."""
    deciding = calibration - (min(calibration // 3, ASIDE) if calibration >= TUNED else 0)
    found = np.sqrt(LEVEL * (1 - LEVEL) * (1 / deciding + 1 / counted) / reached / refits)
    return [round(one, 4) for one in found.tolist()]


def _mean(numbers: Any) -> float:
    return round(float(np.mean(list(numbers))), 3)


def _ends(numbers: FloatArray) -> list[float]:
    return [round(float(numbers.min()), 3), round(float(numbers.max()), 3)]


def _some(family: Any) -> Family:
    """The first inputs of a family, asked again from the model."""
    if isinstance(family, InputFamily):
        return InputFamily(family.subjects[:200], family.targets)
    assert isinstance(family, RowFamily)
    return family


def on_a_table(mode: str) -> dict[str, Any]:
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    learned, calibration, counted, epochs = SIZES["table", mode]
    x = rng.normal(size=(4720, 10))
    y = (x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] + 0.3 * x[:, 4:7].sum(axis=1) > 0).astype(int)
    model = MLPClassifier((32, 32), max_iter=60, alpha=0.01, random_state=0).fit(x[:3000], y[:3000])
    background, rows = x[:20], x[20 : 20 + learned + calibration + counted]
    family = RowFamily.of(rows, model, RowRequest(background=background, payoff="probability"))

    def kernel() -> float:
        return _shap(model.predict_proba, background, list(rows[:3]), 1022)

    return judged(family, learned, calibration, kernel, budget=256, epochs=epochs)


def on_texts(folder: Path, mode: str) -> dict[str, Any]:
    with gzip.open(folder / "sst2.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[2] for line in file][1:]
    longest = 5 if mode == "coverage" else 7
    plain = (text for text in texts if text.replace(" ", "").isalpha())  # every word is one player
    texts = list(dict.fromkeys(text for text in plain if 4 <= len(text.split()) <= longest))
    learned, calibration, counted, epochs = SIZES["texts", mode]
    return _on_inputs(texts[: learned + calibration + counted], builtin_model("text"), learned, calibration, epochs)


def on_pictures(folder: Path, mode: str) -> dict[str, Any]:
    learned, calibration, counted, epochs = SIZES["pictures", mode]
    with np.load(folder / "fashion_mnist.npz", allow_pickle=False) as arrays:
        pictures = list(arrays["x_train"][: learned + calibration + counted])
    grid, budget = ((2, 3), None) if mode == "coverage" else ((3, 3), 128)
    return _on_inputs(pictures, builtin_model("image"), learned, calibration, epochs, budget, target=[0, 6], players=grid)


def _on_inputs(
    inputs: list[Any], model: Any, learned: int, calibration: int, epochs: int, budget: int | None = None, **about: Any
) -> dict[str, Any]:
    family = InputFamily.of(inputs, model, **about)

    def kernel() -> float:
        spent = []
        for game in family.games[:3]:
            nobody = np.zeros((1, len(game.players)))
            spent.append(_shap(lambda rows, g=game: g.payoff(rows > 0.5), nobody, [nobody[0] + 1], 2 ** len(game.players)))
        return float(np.mean(spent))

    return judged(family, learned, calibration, kernel, budget=budget, epochs=epochs)


def on_the_untuned(folder: Path, name: str) -> dict[str, Any]:
    """Three refits of one of the models that nothing was chosen by."""
    from benchmarks.learned_untuned import UNTUNED

    learned, calibration, counted, epochs = SIZES["untuned", "full"]
    family = UNTUNED[name](folder, learned + calibration + counted)
    return judged(family, learned, calibration, refits=3, epochs=epochs)


def untuned_page(every: dict[str, Any], written_by: str) -> str:
    """Coverage by player with its standard error, as a table of Markdown."""
    head = "| | R² | 90 % intervals held | by player, or by rank of a text; standard error |"
    lines = [f"Written by `{written_by}`:", "", head, "|---|---|---|---|"]
    for name, found in every.items():
        held = found["coverage"]
        players = ", ".join(f"{100 * one:.1f}" for one in held["players"])
        error = " to ".join(f"{100 * one:.1f}" for one in sorted({min(held["se"]), max(held["se"])}))
        lines.append(f"| {name} | {found['r2']:.2f} | {100 * held['all']:.1f} % | {players}; {error} points |")
    return "\n".join(lines) + "\n"


def _shap(model: Callable[[Any], Any], background: Any, rows: list[Any], samples: int) -> float:
    import shap  # type: ignore[import-untyped]

    explainer = shap.KernelExplainer(model, background)
    began = time.process_time()
    for row in rows:
        explainer.shap_values(row, nsamples=samples, silent=True)
    return (time.process_time() - began) / len(rows) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="table,texts,pictures")
    parser.add_argument("--data", default=os.environ.get("ACCREDIT_DATA", "."))
    parser.add_argument("--quick", action="store_true", help="a few hundred inputs and few epochs: does it run?")
    parser.add_argument("--coverage", action="store_true", help="few players, short fits, many inputs: do intervals hold?")
    parser.add_argument("--untuned", action="store_true", help="models and data on which nothing was chosen")
    parser.add_argument("--page", type=Path, help="with --untuned: write the coverage into this page")
    asked = parser.parse_args()
    mode = "quick" if asked.quick else "coverage" if asked.coverage else "full"
    torch.set_num_threads(1)
    runs: dict[str, Callable[[], dict[str, Any]]] = {
        "table": lambda: on_a_table(mode),
        "texts": lambda: on_texts(Path(asked.data), mode),
        "pictures": lambda: on_pictures(Path(asked.data), mode),
    }
    names = asked.only.split(",")
    if asked.untuned:
        from benchmarks.learned_untuned import UNTUNED

        names = [name for name in UNTUNED if name in names] or list(UNTUNED)
        runs = {name: partial(on_the_untuned, Path(asked.data), name) for name in names}
    every = {}
    for name in names:
        began = time.process_time()
        every[name] = runs[name]() | {"cpu_seconds": round(time.process_time() - began)}
        print(json.dumps({name: every[name]}), flush=True)
    record({"untuned" if asked.untuned else "learned": every})
    if asked.page:
        into_page(asked.page, "coverage on what nothing was chosen by", untuned_page(every, command(sys.argv)))


if __name__ == "__main__":
    main()
