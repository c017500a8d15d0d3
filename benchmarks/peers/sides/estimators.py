"""Shapley values of games as other libraries estimate them: shap, shapiq, captum. Runs in their environments."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from side import serve


def shapiq_estimate(name: str, n: int, budget: int, seed: int, payoff: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """An approximator of shapiq by its name, as it ships but for `settings`."""
    import shapiq.approximator as approximators

    approximator = getattr(approximators, name)(n=n, random_state=seed, **settings)
    found = approximator.approximate(budget, payoff)
    return {"values": np.array([found[(i,)] for i in range(n)], dtype=np.float64)}


def shapiq_approximators() -> dict[str, Any]:
    """The names of everything that can be asked for values."""
    import shapiq.approximator as approximators

    return {"names": sorted(name for name in dir(approximators) if name[0].isupper())}


def shapiq_exact(n: int, table: Any) -> dict[str, Any]:
    """Exact values from a table of 2ⁿ payoffs."""
    from shapiq.game_theory.exact import ExactComputer

    bits = 1 << np.arange(n)

    def look(rows: Any) -> Any:
        return table[(np.asarray(rows) > 0.5) @ bits]

    began = time.process_time()
    values = ExactComputer(look, n_players=n)("SV", 1)
    took = time.process_time() - began
    return {"values": np.array([values[(i,)] for i in range(n)], dtype=np.float64), "cpu": took}


def _as_model(payoff: Any) -> Any:
    return lambda rows: payoff(np.asarray(rows) > 0.5)


def shap_kernel(n: int, budget: int, seed: int, payoff: Any) -> dict[str, Any]:
    """shap's kernel explainer; it knows no other randomness than numpy's."""
    import shap

    np.random.seed(seed)
    explainer = shap.KernelExplainer(_as_model(payoff), np.zeros((1, n)))
    found = explainer.shap_values(np.ones((1, n)), nsamples=budget - 2, l1_reg=0, silent=True)
    return {"values": np.asarray(found, dtype=np.float64).reshape(n)}


def shap_permutation(n: int, budget: int, seed: int, payoff: Any) -> dict[str, Any]:
    """shap's Permutation explainer, every call of it one batch."""
    import shap

    masker = shap.maskers.Independent(np.zeros((1, n)), max_samples=1)
    explainer = shap.explainers.Permutation(_as_model(payoff), masker, seed=seed)
    found = explainer(np.ones((1, n)), max_evals=budget, silent=True).values
    return {"values": np.asarray(found, dtype=np.float64).reshape(n)}


def shap_exact(n: int, table: Any) -> dict[str, Any]:
    """Exact values from a table of 2ⁿ payoffs; the second call, since the first may compile."""
    import shap

    bits = 1 << np.arange(n)

    def look(rows: Any) -> Any:
        return table[(np.asarray(rows) > 0.5) @ bits]

    explainer = shap.explainers.Exact(look, shap.maskers.Independent(np.zeros((1, n)), max_samples=1))
    explainer(np.ones((1, n)), max_evals=1 << n, silent=True)
    began = time.process_time()
    values = explainer(np.ones((1, n)), max_evals=1 << n, silent=True).values
    return {"values": np.asarray(values, dtype=np.float64).reshape(n), "cpu": time.process_time() - began}


def captum_estimate(name: str, n: int, budget: int, seed: int, payoff: Any) -> dict[str, Any]:
    """captum's perturbation methods on a game."""
    import captum.attr
    import torch

    torch.manual_seed(seed)
    np.random.seed(seed)
    method = getattr(captum.attr, name)(lambda x: torch.as_tensor(payoff(x.numpy() > 0.5), dtype=torch.float64))
    samples = (budget - 1) // n if name == "ShapleyValueSampling" else budget - 2
    x = torch.ones((1, n), dtype=torch.float64)
    found = method.attribute(x, baselines=torch.zeros_like(x), n_samples=samples, perturbations_per_eval=64)
    return {"values": np.asarray(found.detach().numpy(), dtype=np.float64).reshape(n)}


if __name__ == "__main__":
    serve({name: f for name, f in globals().items() if name.startswith(("shap", "captum")) and callable(f)})
