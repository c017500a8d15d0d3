"""What an estimate costs beside its payoffs, and which solver reaches an error soonest.

    python -m benchmarks.estimation           # a CPU-minute
    python -m benchmarks.estimation --quick   # a third of it
    python -m benchmarks.estimation --clock   # only the third section below
    python -m benchmarks.estimation --fresh   # only the fourth

Times are process CPU seconds on one thread; run it with OMP_NUM_THREADS=1, so that the models too keep to one. The last line is
one JSON object.

*Arithmetic*: µs per payoff outside the payoffs, by players and budget; for models that people explain, also as a ratio to what
their payoffs cost, and per output when several are explained at once.

*Time to error*: the default estimator with 1,000 payoffs takes 1,000·c plus its arithmetic, where c is what one payoff costs.
Regression (`Leverage`) and random orders (`Permutations`) are granted as many payoffs as fit the same time, and a table of all
payoffs is exact where it fits. Ratios of mean squared errors, theirs over ours: above 1 the default spends its time better.

*On the clock*: cheap payoffs and `seconds=`, for the default estimator and for those of our own that draw until time is up;
squared errors times the CPU seconds they took, because on a busy machine they end late.

*Fresh games* (`benchmarks.fresh`): squared error of a regression over ours, coverage of the interval and its width.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.core import Game
from accredit.games import FunctionGame, FunctionGames
from accredit.values import Differences, Permutations, Surrogate
from accredit.values.regression import Leverage
from benchmarks.fresh import FRESH
from benchmarks.games import DEVELOPMENT, HELD_OUT, Known, masked
from benchmarks.record import record

PLAYERS, BUDGETS = (8, 12, 16, 30, 60, 200), (100, 300, 1000, 3000)
TIMED_GAMES = ("text14", "svm15", "knn13", "facility15", "unan16", "vote16", "unan60", "vote50", "airport100", "knn70")
COSTS = (1.0, 10.0, 100.0, 1000.0)  # µs per payoff
BUDGET = 1000
MOST = 40_000  # payoffs of a rival; beyond this its error is scaled by 1/payoffs
CLOCK_GAMES = ("unan60", "vote50", "airport100", "product80", "facility60", "coverage80", "knn70", "gloves90")
SECONDS = (0.1, 1.0)
FLOOR = 1e-9  # of the mean squared value: smaller errors tie


class Timed:
    """A game that adds up what its payoffs cost."""

    def __init__(self, game: Game) -> None:
        self.game, self.players, self.seconds = game, game.players, 0.0

    def payoff(self, coalitions: BoolArray) -> FloatArray:
        """The payoffs of the game."""
        began = time.process_time()
        earned = self.game.payoff(coalitions)
        self.seconds += time.process_time() - began
        return earned


def cost(game: Game, solve: Callable[[Game], Any], repeats: int) -> tuple[float, float]:
    """CPU seconds of a solve outside and inside the payoffs: medians."""
    found = []
    for _ in range(repeats):
        timed, began = Timed(game), time.process_time()
        solve(timed)
        found.append((time.process_time() - began - timed.seconds, timed.seconds))
    outside, inside = np.median(found, axis=0)
    return float(outside), float(inside)


def wavy(n: int) -> Game:
    """A small random network of memberships: cheap for any number of players, and no kernel holds it."""
    rng = np.random.default_rng(n)
    inner = rng.normal(size=(n, 12)) * (rng.random((n, 1)) < 0.6)
    outer = rng.normal(size=12)
    shift = 0.15 * inner.sum(axis=0)
    return FunctionGame([f"p{i}" for i in range(n)], lambda s: np.tanh(s @ inner - shift) @ outer)


def models() -> dict[str, Game]:
    """Models that answer in microseconds, each row against a background of ten."""
    import warnings

    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    warnings.simplefilter("ignore")  # a network that has not converged is a model like any other
    found: dict[str, Game] = {}
    for name, load, wanted in (
        ("cancer30", load_breast_cancer, 1),
        ("wine13", load_wine, 1),
        ("digits64", load_digits, 3),
    ):
        data = load()
        x, y = StandardScaler().fit_transform(data.data), data.target == wanted
        svc = SVC().fit(x, y)
        net = MLPClassifier((32,), max_iter=300, random_state=0).fit(x, y)
        names = [str(feature) for feature in data.feature_names]
        found[f"svc {name}"] = FunctionGame(names, masked(svc.decision_function, x[0], x[20:120:10]))
        found[f"mlp {name}"] = FunctionGame(
            names, masked(lambda rows, net=net: net.predict_proba(rows)[:, 1], x[0], x[20:120:10])
        )
    return found


def arithmetic_section(repeats: int) -> dict[str, Any]:
    """µs of own arithmetic per payoff."""
    out: dict[str, Any] = {}
    print("own arithmetic, µs of CPU per payoff\n  players " + "".join(f"{budget:>9d}" for budget in BUDGETS))
    for n in PLAYERS:
        found = {
            budget: 1e6 * cost(wavy(n), Surrogate(budget).solve, repeats)[0] / budget
            for budget in BUDGETS
            if n > 20 or budget < 2**n
        }
        out |= {f"arithmetic_us_{n}_{budget}": round(took, 1) for budget, took in found.items()}
        print(f"  {n:7d} " + "".join(f"{found[b]:9.0f}" if b in found else f"{'exact':>9s}" for b in BUDGETS))
    print(f"\nown arithmetic over the cost of the payoffs, {BUDGET} payoffs")
    for name, game in models().items():
        outside, inside = cost(game, Surrogate(BUDGET).solve, repeats)
        out[f"arithmetic_over_payoffs_{name.replace(' ', '_')}"] = round(outside / inside, 2)
        print(f"  {name:14s} {outside / inside:6.2f}   (payoffs {1e6 * inside / BUDGET:.0f} µs each)")
    return out | several_section(repeats)


def several_section(repeats: int) -> dict[str, float]:
    """CPU of ten outputs at once over ten times that of one."""
    games = [
        wavy(12),
        *(FunctionGame(wavy(12).players, lambda s, k=k: np.tanh(s @ np.arange(12) / k)) for k in range(1, 10)),
    ]
    both = FunctionGames(
        games[0].players, [f"o{k}" for k in range(10)], lambda s: np.column_stack([g.payoff(s) for g in games])
    )
    began = time.process_time()
    for _ in range(repeats):
        Surrogate(500).solve(both)
    together = (time.process_time() - began) / repeats
    alone = sum(cost(game, Surrogate(500).solve, repeats)[0] for game in games)
    print(f"\nten outputs at once, 500 payoffs: {100 * together:.0f} ms per output, {together / alone:.2f} of ten single runs")
    return {"output_ms_500": round(100 * together, 1), "outputs_over_single": round(together / alone, 3)}


def mean_squared_error(known: Known, solve: Callable[[int], FloatArray], seeds: int) -> float:
    """Over players and seeds, floored."""
    error = np.mean([np.mean((solve(seed) - known.values) ** 2) for seed in range(seeds)])
    return max(float(error), FLOOR * float(np.mean(known.values**2)))


def rival_error(known: Known, name: str, payoffs: int, seeds: int) -> float | None:
    """Error of a rival with so many payoffs; None where it cannot run."""
    n, asked = known.players, min(payoffs, MOST)
    if n <= 20 and payoffs >= 2**n:
        return FLOOR * float(np.mean(known.values**2))
    if asked < 2 * n + 2:
        return None
    rivals = {
        "regression": lambda seed: Leverage(asked, seed).solve(known.game).credit,
        "orders": lambda seed: Permutations(budget=asked, seed=seed).solve(known.game).credit,
    }
    return mean_squared_error(known, rivals[name], seeds) * asked / payoffs


def time_section(names: tuple[str, ...], costs: tuple[float, ...], seeds: int) -> dict[str, Any]:
    """Errors of rivals over ours at equal time, geometric means, by what a payoff costs."""
    games = [(DEVELOPMENT | HELD_OUT)[name]() for name in names]
    extra = {"regression": 3.0, "orders": 0.2}  # µs per payoff of the rivals' own; measured below for the first
    own, error = {}, {}
    for known in games:
        own[known.name] = 1e6 * cost(known.game, Surrogate(BUDGET).solve, 1)[0]
        error[known.name] = mean_squared_error(known, lambda seed, g=known.game: Surrogate(BUDGET, seed).solve(g).credit, seeds)
    extra["regression"] = 1e6 * cost(games[-1].game, Leverage(4000, 0).solve, 1)[0] / 4000
    out: dict[str, Any] = {"regression_us_per_payoff": round(extra["regression"], 2)}
    print(f"\nerror at equal time over that of the default with {BUDGET} payoffs, geometric mean (on how many smaller)")
    for price in costs:
        for name in extra:
            ratios = []
            for known in games:
                affordable = int((BUDGET * price + own[known.name]) / (price + extra[name]))
                theirs = rival_error(known, name, affordable, seeds)
                if theirs is not None:
                    ratios.append(theirs / error[known.name])
            mean = float(np.exp(np.mean(np.log(ratios))))
            wins = sum(ratio < 1 for ratio in ratios)
            out[f"{name}_over_ours_{price:g}us"] = round(mean, 3)
            print(f"  {price:6g} µs per payoff  {name:12s} {mean:9.2f}   ({wins} of {len(ratios)})")
    return out


def error_by_time(known: Known, kind: type[Surrogate | Permutations | Differences], seconds: float, seeds: int) -> float:
    """Squared error times the CPU seconds that it took: a solver may end early or late, and errors fall like one over time."""
    errors, spent = [], 0.0
    for seed in range(seeds):
        began = time.process_time()
        credit = kind(seed=seed, seconds=seconds).solve(known.game).credit
        spent += time.process_time() - began
        errors.append(np.mean((credit - known.values) ** 2))
    return max(float(np.mean(errors)), FLOOR * float(np.mean(known.values**2))) * spent / seeds


def clock_section(names: tuple[str, ...], clock: tuple[float, ...], seeds: int) -> dict[str, Any]:
    """Errors of our other solvers over that of the default within the same seconds, by the time each took, geometric means."""
    games = [(DEVELOPMENT | HELD_OUT)[name]() for name in names]
    out: dict[str, Any] = {}
    print("\nerror within the same seconds over that of the default, geometric mean (on how many smaller)")
    for seconds in clock:
        ratios: dict[str, list[float]] = {"orders": [], "differences": []}
        for known in games:
            ours, *theirs = (error_by_time(known, kind, seconds, seeds) for kind in (Surrogate, Permutations, Differences))
            for found, error in zip(ratios.values(), theirs, strict=True):
                found.append(error / ours)
        for name, found in ratios.items():
            mean = float(np.exp(np.mean(np.log(found))))
            out[f"{name}_over_ours_in_{seconds:g}s"] = round(mean, 3)
            print(f"  {seconds:6g} s  {name:12s} {mean:9.2f}   ({sum(ratio < 1 for ratio in found)} of {len(found)})")
    return out


def fresh_section(seeds: int) -> dict[str, Any]:
    """Errors and intervals on games that nothing was chosen by, at 250 and 1,000 payoffs."""
    out: dict[str, Any] = {}
    built = {}
    for name, build in FRESH.items():
        try:
            built[name] = build()
        except FileNotFoundError:
            print(f"{name} is left out: its sentences are not in ACCREDIT_DATA")
    for budget in (250, BUDGET):
        errors, covered, widths = {}, {}, {}
        print(f"\nfresh games, {budget} payoffs: squared error, regression over ours, coverage, relative width")
        for name, known in built.items():
            runs = [Surrogate(budget, seed).solve(known.game) for seed in range(seeds)]
            scale = float(np.mean(known.values**2))
            errors[name] = max(float(np.mean([(run.credit - known.values) ** 2 for run in runs])), FLOOR * scale)
            held = [
                (run.interval[:, 0] <= known.values) & (known.values <= run.interval[:, 1])
                for run in runs
                if run.interval is not None
            ]
            wide = [np.diff(run.interval).mean() / 2 for run in runs if run.interval is not None]
            covered[name], widths[name] = float(np.mean(held)), float(np.mean(wide) / scale**0.5)
            theirs = rival_error(known, "regression", budget, seeds)
            ratio = float("nan") if theirs is None else theirs / errors[name]
            print(f"  {name:16s} {errors[name]:9.1e} {ratio:8.2f} {covered[name]:7.3f} {widths[name]:9.2e}")
            out[f"fresh_{budget}_{name}"] = errors[name]
        out[f"fresh_{budget}_coverage_mean"] = round(float(np.mean(list(covered.values()))), 4)
        worst = min(covered, key=lambda name: covered[name])
        out[f"fresh_{budget}_coverage_worst"] = {"game": worst, "share": round(covered[worst], 4)}
        out[f"fresh_{budget}_half_width"] = float(np.exp(np.mean(np.log(list(widths.values())))))
    return out


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, print the JSON line last."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimation", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, ten CPU seconds")
    parser.add_argument("--clock", action="store_true", help="only what a number of seconds buys")
    parser.add_argument("--fresh", action="store_true", help="only the fresh games")
    options = parser.parse_args(arguments)
    quick = options.quick
    Surrogate(100).solve(wavy(12))  # imports
    if options.clock or options.fresh:
        found = clock_section(CLOCK_GAMES, SECONDS, 2) if options.clock else {}
        record(found | (fresh_section(4) if options.fresh else {}))
        return
    found = arithmetic_section(1 if quick else 5)
    found |= time_section(TIMED_GAMES[:5] if quick else TIMED_GAMES, COSTS, 1 if quick else 3)
    record(found)


if __name__ == "__main__":
    main()
