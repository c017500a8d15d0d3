"""Beside today's peers: each in its newest version and its own environment, ratios of CPU seconds and of errors in one run.

    python -m benchmarks.beside [--only estimators,trees,forests,labels,networks,metrics,neighbours] [--quick]

`make peers` says which environments are here; a peer without one is left out and named. A figure is a peer's CPU seconds,
or its error, over ours: above 1 we are ahead. CPU seconds are those of one thread, without starting a process and importing.

* `estimators`: Shapley values of games held out from every choice, equal payoffs; squared errors and the seconds outside of the
  payoffs (`arithmetic`), geometric means over games.
* `trees`, `forests`: exact values of 100 boosted trees of depth 6, and of forests grown to purity, 12 columns. Ours are served
  by a prepared explainer, as theirs. `agreement` is the largest difference from shap, relative to the largest value.
* `labels`: what is wrong with a list of wrong labels, 1 − F1, of digits with 10 % wrong labels of four kinds.
* `networks`: influence of 500 rows on 50 targets by EK-FAC, or what comes nearest to it.
* `metrics`: deletion by single pixels and sensitivity-n of pictures, equal model passes.
* `neighbours`: KNN-Shapley of 10,000 rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from benchmarks.apart import apart
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import Answer, PeerFailed, interpreter_of, side
from benchmarks.record import record

GAMES = ("svm15", "knn13", "graph14", "facility15", "dnf15", "capped16", "noise12", "facility60")
BUDGET = 1000
COLUMNS, TREES, DEPTH, BACKGROUND = 12, 100, 6, 100
FOREST = {"n_estimators": 100, "random_state": 0}
TREE_PEERS = {"shap": "shap_trees", "shapiq": "shapiq_trees", "woodelf-explainer": "woodelf_trees"}
DRAWS = 3  # of wrong labels, numbered from 900 on


def least(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """A result and the least CPU seconds of a call."""
    found, seconds = None, float("inf")
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        seconds = min(seconds, time.process_time() - began)
    return found, seconds


def estimators(quick: bool) -> dict[str, Any]:
    """Errors, and seconds outside of the payoffs, of every estimator on the same games with the same payoffs."""
    from accredit.values.surrogate import Surrogate
    from benchmarks.games import HELD_OUT
    from benchmarks.peers.shapley import MOST_PLAYERS, PEERS, missing_libraries, peers

    left_out(missing_libraries())
    seeds = 1 if quick else 3
    errors: dict[str, dict[str, float]] = {}
    arithmetic: dict[str, list[float]] = {}
    for name in GAMES[:2] if quick else GAMES:
        known = HELD_OUT[name]()
        floor = 1e-9 * float(np.mean(known.values**2))
        own, seconds = mean_error(lambda game, budget, seed: Surrogate(budget, seed).solve(game).credit, known, seeds)
        told = [f"  {name}: ours {own:.2e}"]
        for peer, run in peers().items():
            if known.players > MOST_PLAYERS.get(peer, known.players):
                continue
            try:
                error, _ = mean_error(run, known, seeds)
            except PeerFailed as failure:
                print(f"  {name}: {peer} failed: {str(failure).splitlines()[0]}", flush=True)
                continue
            errors.setdefault(peer, {})[name] = max(error, floor) / max(own, floor)
            arithmetic.setdefault(peer, []).append(PEERS[peer].seconds / seconds)
            told.append(f"{peer} {errors[peer][name]:.3g}")
        print(", ".join(told), flush=True)
    return {
        peer: {"error": geometric(list(each.values())), "least": min(each.values()), "games": len(each)}
        | {"arithmetic": geometric(arithmetic[peer])}
        for peer, each in errors.items()
    }


def mean_error(run: Any, known: Any, seeds: int) -> tuple[float, float]:
    """Mean squared error over players and seeds, and the least CPU seconds in this process outside of the payoffs."""
    from accredit.games import FunctionGame, counted

    errors, spent = [], []
    for seed in range(seeds):
        inside = 0.0

        def payoff(coalitions: Any) -> FloatArray:
            nonlocal inside
            began = time.process_time()
            paid = known.game.payoff(coalitions)
            inside += time.process_time() - began
            return np.asarray(paid)

        ledger = counted(FunctionGame(known.game.players, payoff))
        began = time.process_time()
        values = run(ledger, BUDGET, seed)
        spent.append(time.process_time() - began - inside)
        if ledger.payoffs > BUDGET:
            raise RuntimeError(f"{ledger.payoffs} payoffs were asked, of {BUDGET}")
        errors.append(float(np.mean((values - known.values) ** 2)))
    return float(np.mean(errors)), min(spent)


def trees(quick: bool) -> dict[str, Any]:
    """Exact values of a boosted model by cover ratios and with a background."""
    import xgboost

    from accredit.trees import forest_of

    rng = np.random.default_rng(0)
    x, y = tree_rows(rng, 2000 if quick else 10_000)
    settings = {"max_depth": DEPTH, "eta": 0.1, "nthread": 1, "min_child_weight": 0, "lambda": 0.1}
    booster = xgboost.train(settings, xgboost.DMatrix(x, y), TREES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        booster.save_model(file)
        return exact_values(forest_of(booster), {"file": str(file)}, x, tree_rows(rng, 1000)[0], quick)


def forests(quick: bool) -> dict[str, Any]:
    """Exact values of a forest grown to purity, whose leaves are as many as its rows."""
    from sklearn.ensemble import RandomForestRegressor

    from accredit.trees import forest_of

    rng = np.random.default_rng(1)
    x, y = tree_rows(rng, 200 if quick else 1000)
    model = RandomForestRegressor(**FOREST, n_jobs=1).fit(x, y)
    return exact_values(forest_of(model), {"forest": FOREST, "x": x, "y": y}, x, x[:20], quick)


def tree_rows(rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    """Rows in single precision, as xgboost reads them, and a target with interactions."""
    x = rng.normal(size=(count, COLUMNS)).astype(np.float32).astype(np.float64)
    y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] * (x[:, 4] > 0) + 0.3 * x[:, 5:].sum(axis=1)
    return x, y + 0.3 * rng.normal(size=count)


def exact_values(forest: Any, model: dict[str, Any], train: FloatArray, rows: FloatArray, quick: bool) -> dict[str, Any]:
    """Peers' seconds over ours, by way of leaving and number of rows."""
    from accredit.trees.credit import TreeShares

    found: dict[str, Any] = {}
    for way, background in (("cover", None), ("background", train[:BACKGROUND])):
        for count in (1, 100) if len(rows) >= 100 else (1, len(rows)):
            shares, some = TreeShares(forest, background), rows[:count]
            _, first = least(lambda shares=shares, some=some: shares.credit(some), 1)
            shares.credit(some)
            own, served = least(lambda shares=shares, some=some: shares.credit(some))
            reference: FloatArray | None = None
            for package, function in TREE_PEERS.items():
                lacking = package == "shapiq" and background is not None  # it has no background
                slow = package == "woodelf-explainer" and "forest" in model  # minutes for trees beyond depth 8
                if lacking or slow or not ready(PINS[package]):
                    continue
                asked = model | ({} if background is None else {"background": background})
                try:
                    answer = side(package, "trees").call(function, rows=some, repeats=1 if quick else 3, **asked)
                except PeerFailed as error:
                    print(f"  {package} failed: {str(error).splitlines()[0]}", flush=True)
                    continue
                place = found.setdefault(f"{package.partition('-')[0]}_{way}", {})
                place[str(count)] = answer.seconds / served
                place[f"{count}_first"] = answer.seconds / first
                reference = answer["values"] if package == "shap" else reference
            if reference is not None:
                off = np.abs(own.credit[..., 0] - reference.reshape(own.credit[..., 0].shape)).max()
                found["agreement"] = max(found.get("agreement", 0.0), float(off / np.abs(reference).max()))
            print(f"  {way}, {count} rows: first {first:.4g}, served {served:.4g} CPU s; {found}", flush=True)
    return found


def labels(quick: bool) -> dict[str, Any]:
    """1 − F1 of cleanlab's lists over that of ours, by kind of noise."""
    from benchmarks.labels import ours, peers
    from benchmarks.noisy_labels import NOISES, draw

    if left_out(["cleanlab"]):
        return {}
    python, found = str(interpreter_of(PINS["cleanlab"])), {}
    for noise in NOISES:
        own, theirs = [], []
        for seed in range(900, 901 if quick else 900 + DRAWS):
            drawn = draw("digits", noise, seed)
            own.append(1 - ours(drawn, seed)[0]["F1"])
            theirs.append({name: 1 - said["F1"] for name, said in peers(drawn, seed, python).items()})
        best = min(theirs[0], key=lambda name: float(np.mean([said[name] for said in theirs])))
        found[noise] = {best: float(np.mean([said[best] for said in theirs]) / max(np.mean(own), 1e-3))}
        print(f"  {noise}: ours {np.mean(own):.3f}, {found[noise]}", flush=True)
    return found


def networks(quick: bool) -> dict[str, Any]:
    """CPU seconds of peers' influence over ours, and the rank correlation of both."""
    import torch
    from scipy.stats import spearmanr

    from accredit.influence.kfac import network_influence
    from accredit.influence.network import network
    from benchmarks.networks import DECAY, batch, digits
    from benchmarks.peers.influence import network_peers

    torch.set_num_threads(1)
    data, sizes = digits(), (64, 64, 10)
    torch.manual_seed(0)
    layers = [part for pair in pairwise(sizes) for part in (torch.nn.Linear(*pair), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers[:-1])
    train, tests = batch(data.x, data.y), batch(data.test_x, data.test_y)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3, weight_decay=DECAY)
    for _ in range(20 if quick else 200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(train["x"]), train["labels"]).backward()
        optimizer.step()
    model.eval()
    net = network(model, loss="classification", weight_decay=DECAY)
    own, seconds = least(lambda: network_influence(net, train, tests, curvature="ekfac").matrix, 1 if quick else 3)
    found = {}
    for name, peer in network_peers().items():
        peer([model], train, tests)
        scores = peer([model], train, tests)
        found[name] = {"seconds": peer.seconds / seconds, "rank correlation": float(spearmanr(own.ravel(), scores.ravel())[0])}
        print(f"  ours {seconds:.3f} CPU s; {name} {found[name]}", flush=True)
    return found


def metrics(quick: bool) -> dict[str, Any]:
    """CPU seconds of Quantus over ours, equal model passes."""
    from benchmarks.arena import theirs

    if left_out(["quantus"]):
        return {}
    mine, peer = apart("benchmarks.arena", "ours"), theirs()
    gap = float(np.abs(np.array(mine["curve"]) - peer["curve"]).max())
    return {name: peer[f"{name}_s"] / mine[f"{name}_s"] for name in ("deletion", "sensitivity")} | {"curve_gap": gap}


def neighbours(quick: bool) -> dict[str, Any]:
    """CPU seconds of pyDVL's nearest-neighbour values over ours."""
    from accredit.valuation import knn_shapley, split

    if left_out(["pyDVL"]):
        return {}
    rng, rows = np.random.default_rng(0), 1000 if quick else 10_000
    x, y, test, test_y = (
        rng.normal(size=(rows, 64)),
        rng.integers(0, 10, rows),
        rng.normal(size=(100, 64)),
        rng.integers(0, 10, 100),
    )
    own, seconds = least(lambda: knn_shapley(split(x, y, test, test_y), 5).credit)
    answer: Answer = side("pyDVL", "data").call("pydvl_knn", k=5, x=x, y=y, test=test, test_y=test_y)
    return {"seconds": answer.seconds / seconds, "largest_difference": float(np.abs(answer["values"] - own).max())}


def geometric(ratios: list[float]) -> float:
    """Geometric mean.

    >>> geometric([1.0, 4.0])
    2.0
    """
    return float(np.exp(np.mean(np.log(ratios))))


def left_out(packages: list[str]) -> list[str]:
    """Those without an environment, which are named."""
    gone = [name for name in packages if not ready(PINS[name])]
    if gone:
        print(f"  without an environment and left out: {', '.join(gone)} (make peers)", flush=True)
    return gone


SECTIONS = (estimators, trees, forests, labels, networks, metrics, neighbours)


def main(arguments: list[str] | None = None) -> None:
    """Run the sections, and keep their figures in one line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAMES", help="some sections, with commas between them")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat")
    asked = parser.parse_args(arguments)
    names = asked.only.split(",") if asked.only else [section.__name__ for section in SECTIONS]
    figures = {}
    for section in SECTIONS:
        if section.__name__ in names:
            print(section.__name__, flush=True)
            figures[section.__name__] = rounded(section(asked.quick))
    record(figures)


def rounded(figures: Any) -> Any:
    """Three digits of everything."""
    if isinstance(figures, dict):
        return {name: rounded(value) for name, value in figures.items()}
    return float(f"{figures:.3g}") if isinstance(figures, float) else figures


if __name__ == "__main__":
    main()
