"""Kinds of games, as tables of 2ⁿ payoffs drawn from a seed: each has its own way of being hard to estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.core.coalitions import from_index
from accredit.games import FunctionGame

Draw = Callable[[np.random.Generator, int], FloatArray]
NOISE = 0.1  # of the spread of the payoffs: standard deviation of what a noisy game adds to each answer


def members(n: int) -> FloatArray:
    """Every coalition as a row of zeros and ones, in table order: (2ⁿ, n)."""
    return from_index(np.arange(1 << n), n).astype(np.float64)


def additive(rng: np.random.Generator, n: int) -> FloatArray:
    """Every player brings a number."""
    return members(n) @ rng.normal(size=n) + rng.normal()


def threshold(rng: np.random.Generator, n: int) -> FloatArray:
    """1 where real weights reach a quota anywhere between nothing and everything."""
    weights = rng.exponential(size=n)
    return np.asarray(members(n) @ weights >= rng.uniform(0.1, 0.9) * weights.sum(), dtype=np.float64)


def voting(rng: np.random.Generator, n: int) -> FloatArray:
    """1 where whole votes have the majority."""
    votes = rng.integers(1, 10, size=n)
    return np.asarray(members(n) @ votes > votes.sum() / 2, dtype=np.float64)


def sparse(rng: np.random.Generator, n: int) -> FloatArray:
    """A few unanimity games of up to four players, of either sign."""
    index, v = np.arange(1 << n), np.zeros(1 << n)
    for _ in range(int(rng.integers(2, n + 2))):
        team = int(sum(1 << i for i in rng.choice(n, size=min(n, int(rng.integers(1, 5))), replace=False)))
        v += rng.normal() * (index & team == team)
    return v


def random(rng: np.random.Generator, n: int) -> FloatArray:
    """No structure at all."""
    return rng.normal(size=1 << n)


def smooth(rng: np.random.Generator, n: int) -> FloatArray:
    """A sigmoid of an additive game, as classifiers pay."""
    return np.asarray(1 / (1 + np.exp(-(members(n) @ rng.normal(scale=1.5, size=n) + rng.normal()))))


def capped(rng: np.random.Generator, n: int) -> FloatArray:
    """What all bring, up to a cap."""
    brought = members(n) @ rng.exponential(size=n)
    return np.minimum(brought, rng.uniform(0.2, 0.8) * brought[-1])


def largest(rng: np.random.Generator, n: int) -> FloatArray:
    """The largest of what the members bring (an airport)."""
    return np.asarray((members(n) * rng.exponential(size=n)).max(axis=1))


def steep(rng: np.random.Generator, n: int) -> FloatArray:
    """A threshold with a narrow slope instead of a step."""
    weights = rng.exponential(size=n)
    quota = rng.uniform(0.1, 0.9) * weights.sum()
    return np.asarray(1 / (1 + np.exp(-20 * (members(n) @ weights - quota) / weights.sum())))


KINDS: dict[str, Draw] = {
    "additive": additive,
    "threshold": threshold,
    "voting": voting,
    "steep": steep,
    "sparse interactions": sparse,
    "capped": capped,
    "largest": largest,
    "smooth": smooth,
    "random": random,
}


def asked_game(v: FloatArray, noise: float = 0.0, seed: int = 0) -> FunctionGame:
    """The game of a table, without the table: solvers must ask. `noise` is added to every answer, independently."""
    n = v.size.bit_length() - 1
    rng, place = np.random.default_rng(seed), 1 << np.arange(n)

    def payoff(coalitions: FloatArray) -> FloatArray:
        earned = v[coalitions @ place]
        return earned if noise == 0 else earned + rng.normal(scale=noise, size=len(earned))

    return FunctionGame([f"p{i}" for i in range(n)], payoff)
