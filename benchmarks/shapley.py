"""Shapley values against shap, shapiq and captum: exact speed, overhead, error at equal budget, interval coverage.

    python -m benchmarks.shapley            # everything, about half an hour on one core
    python -m benchmarks.shapley --quick    # fewer games and seeds, under three minutes

Peers run in environments of their own, which `make peers` makes; those without one are skipped and named. Times are process CPU
seconds on one thread. The last line is one JSON object of ratios. Mean squared errors are averaged over players and seeds, and
floored at 1e-9 of the mean squared value so that two exact answers tie.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from accredit.checks.numbers import BoolArray, FloatArray
from accredit.games import FunctionGame, counted
from accredit.values import Exact
from accredit.values.orders import Permutations
from accredit.values.semivalues import shapley_from_table
from accredit.values.surrogate import Surrogate
from benchmarks.games import DEVELOPMENT, HELD_OUT, Known
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side
from benchmarks.peers.shapley import MOST_PLAYERS, Estimator, leverage, missing_libraries, ours, peers, same_pairs
from benchmarks.record import record

SINGLE_AND = "corner16_one"  # recovered exactly; left out of geometric means, which it would dominate
QUICK_GAMES = (
    "rf_bc14",
    "mlp_fried12",
    "text14",
    "corner16_any",
    "corner16_one",
    "unan16",
    "vote16",
    "airport100",
    "vote50",
    "svm15",
    "facility15",
    "capped16",
    "knn70",
)

QUICK_BUDGETS, QUICK_COVERAGE = [250, 1000], {250: 10}  # coverage: budget -> runs
EXACT_PLAYERS = 20

# The published accuracy of this estimator on games of the same kinds, by budget; ours are other games of these kinds.
REFERENCE = {
    250: {"rf_bc14": 8.6e-7, "mlp_bc14": 1.3e-5, "mlp_fried12": 3.6e-5, "datval12": 2.5e-5, "text14": 9.7e-5,
          "corner16_any": 1.4e-3, "unan16": 1.2e-2, "vote16": 1.1e-3, "unan60": 1.2e-1, "airport100": 6.7e-3,
          "vote50": 1.9e-4, "rf_bc30": 1.6e-5, "product80": 2.0e-3},
    1000: {"rf_bc14": 4.4e-9, "mlp_bc14": 1.1e-6, "mlp_fried12": 8.6e-7, "datval12": 5.9e-7, "text14": 5.7e-6,
           "corner16_any": 2.5e-4, "unan16": 3.7e-4, "vote16": 2.3e-4, "unan60": 1.9e-2, "airport100": 2.7e-3,
           "vote50": 1.4e-4, "rf_bc30": 2.5e-7, "product80": 2.4e-4},
}  # fmt: skip

REGRESSIONS: dict[str, Estimator] = {
    "leverage": leverage,
    "regression, same pairs": same_pairs,
}  # cheap: 8 times the seeds
OWN: dict[str, Estimator] = {"ours": ours} | REGRESSIONS
Errors = dict[int, dict[str, dict[str, float]]]  # budget -> method -> game -> mean squared error


def cpu_seconds(run: Callable[[], object], repeats: int = 1) -> float:
    """Least process CPU time of a call."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


# --- exact values and overhead ----------------------------------------------------------------------------------------


def exact_section(n: int, with_shapiq: bool) -> dict[str, float]:
    """Exact values from a table of 2ⁿ payoffs."""
    table = np.random.default_rng(0).normal(size=1 << n)
    seconds = {"accredit": cpu_seconds(lambda: shapley_from_table(table), repeats=5)}
    tracemalloc.start()
    values = shapley_from_table(table)
    extra = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()

    asked = {"shap": ("shap Exact", "shap_exact"), "shapiq": ("shapiq ExactComputer", "shapiq_exact")}
    for package, (name, function) in asked.items():
        if ready(PINS[package]) and (with_shapiq or package != "shapiq"):
            answer = side(package, "estimators").call(function, n=n, table=table)
            if np.abs(answer["values"] - values).max() > 1e-9:
                raise RuntimeError(f"{package} and accredit disagree on an exact value")
            seconds[name] = answer.seconds
    print(f"\nExact from a table, n = {n}: extra memory {extra:.1f} MB")
    for name, took in seconds.items():
        print(f"  {name:24s} {took:10.4f} CPU-s  x{took / seconds['accredit']:.0f}")
    ratios = {f"exact_{name.split()[0]}_over_ours": took / seconds["accredit"] for name, took in seconds.items()}
    return ratios | {"exact_players": n, "exact_extra_mb": extra}


def overhead_section(n: int) -> dict[str, float]:
    """CPU time outside the payoff, per payoff, at n players."""

    def payoff(rows: BoolArray) -> FloatArray:
        return rows[:, 0].astype(float) * rows[:, 1] * rows[:, 2] + rows[:, 3] * rows[:, 4]

    game = FunctionGame([f"p{i}" for i in range(n)], payoff)
    batch = np.random.default_rng(0).random((10_000, n)) < 0.5
    alone = cpu_seconds(lambda: payoff(batch), repeats=5) / len(batch)
    solvers = {"exact": Exact(), "permutations": Permutations(500, seed=0), "surrogate": Surrogate(1000)}
    found = {}
    print(f"\nOverhead at n = {n}, µs CPU per payoff outside the payoff")
    for name, solver in solvers.items():
        ledger = counted(game)
        took = cpu_seconds(lambda s=solver, g=ledger: s.solve(g), repeats=1)  # type: ignore[misc]
        found[f"overhead_us_{name}"] = 1e6 * (took / ledger.payoffs - alone)
        print(f"  {name:14s} {found[f'overhead_us_{name}']:8.3f}   ({ledger.payoffs} payoffs in {ledger.calls} calls)")
    return found


# --- error at equal budget --------------------------------------------------------------------------------------------


def mean_squared_error(run: Estimator, known: Known, budget: int, seeds: int) -> float | None:
    """Mean over players and seeds, floored; None where the method cannot run at this budget."""
    errors = []
    for seed in range(seeds):
        ledger = counted(known.game)
        values = run(ledger, budget, seed)
        if ledger.payoffs > budget:
            raise RuntimeError(f"{known.name}: {ledger.payoffs} payoffs asked with a budget of {budget}")
        if values is None:
            return None
        errors.append(np.mean((values - known.values) ** 2))
    return max(float(np.mean(errors)), 1e-9 * float(np.mean(known.values**2)))


def accuracy_section(games: list[Known], budgets: list[int], seeds: int, methods: dict[str, Estimator]) -> Errors:
    """Errors of every method on every game."""
    errors: Errors = {}
    for budget in budgets:
        errors[budget] = {name: {} for name in methods}
        for known in games:
            for name, run in methods.items():
                if known.players > MOST_PLAYERS.get(name, known.players):
                    continue
                error = mean_squared_error(run, known, budget, seeds * (8 if name in REGRESSIONS else 1))
                if error is not None:
                    errors[budget][name][known.name] = error
        print_errors(budget, errors[budget], [known.name for known in games])
    return errors


def print_errors(budget: int, errors: dict[str, dict[str, float]], names: list[str]) -> None:
    """One table: methods down, games across."""
    print(f"\nMean squared error at {budget} payoffs")
    for at in range(0, len(names), 8):
        part = names[at : at + 8]
        print(f"  {'':28s}" + "".join(f"{name:>13s}" for name in part))
        for method, row in errors.items():
            print(f"  {method:28s}" + "".join(f"{row[name]:13.1e}" if name in row else f"{'-':>13s}" for name in part))


def geometric_ratio(mine: dict[str, float], other: dict[str, float], names: list[str]) -> float | None:
    """Geometric mean over the games both have of mine/other."""
    both = [name for name in names if name in mine and name in other and name != SINGLE_AND]
    return float(np.exp(np.mean([np.log(mine[name] / other[name]) for name in both]))) if both else None


def ratio_section(errors: Errors, groups: dict[str, list[str]]) -> dict[str, Any]:
    """Our error over each other method's, by group of games; the best single peer; the worst game against leverage."""
    out: dict[str, Any] = {}
    for budget, by_method in errors.items():
        mine = by_method["ours"]
        print(f"\nOur error over theirs at {budget} payoffs, geometric mean over games (single AND left out)")
        print(f"  {'':28s}" + "".join(f"{group:>16s}" for group in groups))
        for method, theirs in by_method.items():
            if method == "ours":
                continue
            ratios = {group: geometric_ratio(mine, theirs, names) for group, names in groups.items()}
            print(f"  {method:28s}" + "".join(f"{r:16.3f}" if r is not None else f"{'-':>16s}" for r in ratios.values()))
        for group, names in groups.items():
            rivals = {
                method: ratio
                for method, theirs in by_method.items()
                if method not in OWN
                and all(name in theirs for name in names)
                and (ratio := geometric_ratio(mine, theirs, names)) is not None
            }
            if rivals:
                best = max(rivals, key=lambda method: rivals[method])
                out[f"mse_{budget}_{group}"] = {"best_peer": best, "ours_over_best_peer": rivals[best]}
        for own in REGRESSIONS:
            against = {name: mine[name] / error for name, error in by_method[own].items()}
            worst = max(against, key=lambda name: against[name])
            out[f"mse_{budget}_worst_over_{own.split(',')[0]}"] = {"game": worst, "ratio": against[worst]}
        reference = geometric_ratio(mine, REFERENCE.get(budget, {}), list(mine))
        if reference is not None:
            out[f"mse_{budget}_over_reference"] = reference
    return out


# --- intervals --------------------------------------------------------------------------------------------------------


def coverage_section(games: list[Known], budget: int, runs: int, level: float = 0.95) -> dict[str, Any]:
    """How often the interval holds the truth, by game; seeds differ from those of the errors."""
    shares: dict[str, float] = {}
    print(f"\nCoverage of the {level:.0%} interval at {budget} payoffs, {runs} runs a game")
    for known in games:
        held = []
        for seed in range(1000, 1000 + runs):
            values = Surrogate(budget, seed, level).solve(known.game)
            if values.interval is not None:
                low, high = values.interval.T
                held.append(np.mean((low <= known.values) & (known.values <= high)))
        if held:
            shares[known.name] = float(np.mean(held))
            print(f"  {known.name:16s} {shares[known.name]:.3f}")
    worst = min(shares, key=lambda name: shares[name])
    return {
        f"coverage_{budget}_mean": float(np.mean(list(shares.values()))),
        f"coverage_{budget}_worst": {"game": worst, "share": shares[worst]},
    }


# --- the command ------------------------------------------------------------------------------------------------------


def build(names: list[str]) -> list[Known]:
    """Games by name."""
    return [(DEVELOPMENT | HELD_OUT)[name]() for name in names]


def grouped_names(games: list[Known]) -> dict[str, list[str]]:
    """All games, then small and large ones, development and held-out ones."""
    names = [known.name for known in games]
    groups = {
        "all": names,
        "n<=16": [known.name for known in games if known.players <= 16],
        "n>=30": [known.name for known in games if known.players >= 30],
        "development": [name for name in names if name in DEVELOPMENT],
        "held_out": [name for name in names if name in HELD_OUT],
    }
    return {group: members for group, members in groups.items() if members}


def run(
    names: list[str],
    budgets: list[int],
    seeds: int,
    coverage_runs: dict[int, int],
    with_shapiq: bool,
) -> dict[str, Any]:
    """All sections, printed; returns the ratios."""
    if missing_libraries():
        print("skipped, without an environment:", ", ".join(missing_libraries()), "(make peers)")
    ratios: dict[str, Any] = exact_section(EXACT_PLAYERS, with_shapiq) | overhead_section(20)
    games = build(names)
    errors = accuracy_section(games, budgets, seeds, OWN | peers())
    ratios |= ratio_section(errors, grouped_names(games))
    for budget, runs in coverage_runs.items():
        ratios |= coverage_section(games, budget, runs)
    return ratios


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, print the JSON line last."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapley", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer games and seeds, under three minutes")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # tables appear as they are measured
    if options.quick:
        ratios = run(list(QUICK_GAMES), QUICK_BUDGETS, 2, QUICK_COVERAGE, with_shapiq=False)
    else:
        ratios = run(list(DEVELOPMENT | HELD_OUT), [250, 1000], 6, {250: 60, 1000: 12}, with_shapiq=True)
    print()
    record(ratios)


if __name__ == "__main__":
    main()
