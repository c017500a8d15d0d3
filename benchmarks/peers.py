"""Other libraries' Shapley estimators behind one signature, run one after another with fixed seeds.

Every peer gets the same game, the same number of payoffs and a ledger that counts what it really asked. A library that is not
installed is left out and named.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.core import Game
from accredit.values.regression import Leverage
from accredit.values.surrogate import Surrogate
from accredit.values.surrogate.estimate import PairedPayoffs
from accredit.values.surrogate.estimator import ask_pairs
from accredit.values.surrogate.intervals import Regression

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


def _shapiq(name: str, **settings: Any) -> Estimator:
    def estimate(game: Game, budget: int, seed: int) -> FloatArray | None:
        import shapiq.approximator as approximators

        n = len(game.players)
        approximator = getattr(approximators, name)(n, random_state=seed, **settings)
        found = approximator.approximate(budget, lambda rows: game.payoff(np.atleast_2d(np.asarray(rows, dtype=bool))))
        return np.array([found[(i,)] for i in range(n)], dtype=np.float64)

    return estimate


def _as_model(game: Game) -> Callable[[Any], FloatArray]:
    return lambda rows: game.payoff(np.asarray(rows) > 0.5)


def _shap_kernel(game: Game, budget: int, seed: int) -> FloatArray | None:
    import shap

    n = len(game.players)
    np.random.seed(seed)  # shap's kernel explainer knows no other randomness
    explainer = shap.KernelExplainer(_as_model(game), np.zeros((1, n)))
    found = explainer.shap_values(np.ones((1, n)), nsamples=budget - 2, l1_reg=0, silent=True)
    return np.asarray(found, dtype=np.float64).reshape(n)


def shap_permutation(game: Game, budget: int, seed: int) -> FloatArray | None:
    """shap's Permutation explainer on a game, every call of it one batch; None where the budget is too small for one order."""
    import shap

    n = len(game.players)
    if budget < 2 * n + 1:
        return None
    masker = shap.maskers.Independent(np.zeros((1, n)), max_samples=1)
    explainer = shap.explainers.Permutation(_as_model(game), masker, seed=seed)
    return np.asarray(explainer(np.ones((1, n)), max_evals=budget, silent=True).values, dtype=np.float64).reshape(n)


def _captum(name: str) -> Estimator:
    def estimate(game: Game, budget: int, seed: int) -> FloatArray | None:
        import captum.attr
        import torch

        n = len(game.players)
        torch.manual_seed(seed)
        np.random.seed(seed)
        method = getattr(captum.attr, name)(lambda x: torch.as_tensor(game.payoff(x.numpy() > 0.5), dtype=torch.float64))
        samples = (budget - 1) // n if name == "ShapleyValueSampling" else budget - 2
        if samples < 1:
            return None
        x = torch.ones((1, n), dtype=torch.float64)
        found = method.attribute(x, baselines=torch.zeros_like(x), n_samples=samples, perturbations_per_eval=64)
        return np.asarray(found.detach().numpy(), dtype=np.float64).reshape(n)

    return estimate


_PEERS: dict[str, tuple[str, Estimator]] = {
    "shapiq KernelSHAP": ("shapiq", _shapiq("KernelSHAP")),
    "shapiq KernelSHAP paired": ("shapiq", _shapiq("KernelSHAP", pairing_trick=True)),
    "shapiq kADDSHAP": ("shapiq", _shapiq("kADDSHAP", max_order=2, pairing_trick=True)),
    "shapiq SVARM": ("shapiq", _shapiq("SVARM")),
    "shapiq UnbiasedKernelSHAP": ("shapiq", _shapiq("UnbiasedKernelSHAP", pairing_trick=True)),
    "shapiq PermutationSampling": ("shapiq", _shapiq("PermutationSamplingSV")),
    "shapiq StratifiedSampling": ("shapiq", _shapiq("StratifiedSamplingSV")),
    "shapiq OwenSampling": ("shapiq", _shapiq("OwenSamplingSV")),
    "shap Kernel": ("shap", _shap_kernel),
    "shap Permutation": ("shap", shap_permutation),
    "captum ShapleyValueSampling": ("captum", _captum("ShapleyValueSampling")),
    "captum KernelShap": ("captum", _captum("KernelShap")),
}
MOST_PLAYERS = {"shapiq kADDSHAP": 60}  # with pairs of 100 players as unknowns one run takes minutes


def peers(names: tuple[str, ...] | None = None) -> dict[str, Estimator]:
    """Peers that are installed; `names` picks some."""
    chosen = {name: entry for name, entry in _PEERS.items() if names is None or name in names}
    return {name: _quiet(run) for name, (library, run) in chosen.items() if importlib.util.find_spec(library)}


def missing_libraries() -> list[str]:
    """Peer libraries that are not installed."""
    return sorted({library for library, _ in _PEERS.values() if not importlib.util.find_spec(library)})


def _quiet(run: Estimator) -> Estimator:
    def estimate(game: Game, budget: int, seed: int) -> FloatArray | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(game, budget, seed)

    return estimate
