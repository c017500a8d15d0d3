"""Other libraries' Shapley estimators behind one signature, each in its own process, with fixed seeds.

Every peer gets the same game, the same number of payoffs and a ledger that counts what it really asked. `seconds` of a
peer is the CPU time of its last run, without the payoffs, which are computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.core import Game
from accredit.values.regression import Leverage
from accredit.values.surrogate import Surrogate
from accredit.values.surrogate.estimate import PairedPayoffs
from accredit.values.surrogate.estimator import ask_pairs
from accredit.values.surrogate.intervals import Regression
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side

Estimator = Callable[[Game, int, int], FloatArray | None]  # (game, budget, seed) -> values, or None where it cannot run


def ours(game: Game, budget: int, seed: int) -> FloatArray | None:
    """The default estimator."""
    return Surrogate(budget, seed).solve(game).credit


def leverage(game: Game, budget: int, seed: int) -> FloatArray | None:
    """Leverage regression: every size equally often."""
    return None if budget < 2 * len(game.players) + 2 else Leverage(budget, seed).solve(game).credit


def same_pairs(game: Game, budget: int, seed: int) -> FloatArray | None:
    """Weighted least squares on the very pairs that the default estimator asks."""
    asked: PairedPayoffs = ask_pairs(game, None, (budget - 2) // 2, np.random.default_rng(seed))
    if len(asked.design) < len(game.players):
        return None  # fewer equations than players
    return asked.total / len(game.players) + Regression(asked.design).apply(asked.uneven)


@dataclass
class PeerEstimator:
    """An estimator of another library: a function of `sides/estimators.py` in that library's environment."""

    package: str
    function: str
    settings: dict[str, Any] = field(default_factory=dict)
    orders: int = 0  # the payoffs of its smallest run are this many times the players, and one
    takes_seconds: bool = False  # seconds of its own at 1,000 payoffs: asked by name only
    seconds: float = 0.0

    def __call__(self, game: Game, budget: int, seed: int) -> FloatArray | None:
        n = len(game.players)
        if budget < self.orders * n + 1:
            return None
        asked = {"n": n, "budget": budget, "seed": seed} | self.settings
        answer = side(self.package, "estimators").call(self.function, game.payoff, **asked)
        self.seconds = answer.seconds
        return np.asarray(answer["values"], dtype=np.float64)


def _shapiq(name: str, takes_seconds: bool = False, **settings: Any) -> PeerEstimator:
    return PeerEstimator("shapiq", "shapiq_estimate", {"name": name, "settings": settings}, takes_seconds=takes_seconds)


PEERS = {
    "shapiq KernelSHAP": _shapiq("KernelSHAP"),
    "shapiq KernelSHAP paired": _shapiq("KernelSHAP", pairing_trick=True),
    "shapiq kADDSHAP": _shapiq("kADDSHAP", max_order=2, pairing_trick=True),
    "shapiq SVARM": _shapiq("SVARM"),
    "shapiq UnbiasedKernelSHAP": _shapiq("UnbiasedKernelSHAP", pairing_trick=True),
    "shapiq PermutationSampling": _shapiq("PermutationSamplingSV"),
    "shapiq StratifiedSampling": _shapiq("StratifiedSamplingSV"),
    "shapiq OwenSampling": _shapiq("OwenSamplingSV"),
    "shapiq LeverageSHAP": _shapiq("LeverageSHAP"),
    "shapiq OddSHAP": _shapiq("OddSHAP"),
    "shapiq PolySHAP": _shapiq("PolySHAP"),
    "shapiq ProxySHAP": _shapiq("ProxySHAP", max_order=1, index="SV"),
    "shapiq RegressionMSR": _shapiq("RegressionMSR", index="SV"),
    "shapiq ProxySPEX": _shapiq("ProxySPEX", takes_seconds=True, max_order=1, index="SV"),
    "shapiq SPEX": _shapiq("SPEX", takes_seconds=True, max_order=1, index="SV"),
    "shap Kernel": PeerEstimator("shap", "shap_kernel"),
    "shap Permutation": PeerEstimator("shap", "shap_permutation", orders=2),
    "captum ShapleyValueSampling": PeerEstimator("captum", "captum_estimate", {"name": "ShapleyValueSampling"}, orders=1),
    "captum KernelShap": PeerEstimator("captum", "captum_estimate", {"name": "KernelShap"}),
}
MOST_PLAYERS = {"shapiq kADDSHAP": 60}  # with pairs of 100 players as unknowns one run takes minutes


def peers(names: tuple[str, ...] | None = None) -> dict[str, Estimator]:
    """Peers whose environments are here (`make peers` makes them); `names` picks some."""
    chosen = {name: run for name, run in PEERS.items() if (not run.takes_seconds if names is None else name in names)}
    return {name: run for name, run in chosen.items() if ready(PINS[run.package])}


def missing_libraries() -> list[str]:
    """Peer libraries without an environment."""
    return sorted({run.package for run in PEERS.values() if not ready(PINS[run.package])})
