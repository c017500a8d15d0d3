"""Games of different kinds for the sampled values, small enough that the truth is known from the table."""

from __future__ import annotations

import numpy as np

from accredit.core.coalitions import from_index
from accredit.games import FunctionGame, TableGame


def names(n):
    return tuple(f"p{i}" for i in range(n))


def members(n):
    return from_index(np.arange(1 << n), n)


def voting(n=12, seed=0):
    """Weighted majority: 0/1 payoffs."""
    weights = np.random.default_rng(seed).integers(1, 10, n)
    return TableGame(names(n), (members(n) @ weights > weights.sum() / 2).astype(float))


def airport(n=11, seed=1):
    """The longest runway anyone needs: max-like payoffs with a closed form."""
    cost = np.sort(np.random.default_rng(seed).exponential(1, n))
    return TableGame(names(n), (members(n) * cost).max(axis=1))


def text(n=13, seed=2):
    """Token-like: single effects, ANDs and ORs of pairs, through a sigmoid."""
    rng, x = np.random.default_rng(seed), members(n)
    score = x @ rng.normal(0, 0.6, n)
    for _ in range(5):
        i, j, k, m = rng.choice(n, 4, replace=False)
        score = score + rng.normal(0, 1.5) * (x[:, i] & x[:, j]) + rng.normal(0, 1.5) * (x[:, k] | x[:, m])
    return TableGame(names(n), 1 / (1 + np.exp(-score)))


def unanimity(n=12, seed=3, terms=30):
    """A random sum of unanimity games of up to five players."""
    rng, x = np.random.default_rng(seed), members(n)
    v = np.zeros(1 << n)
    for _ in range(terms):
        v += rng.normal() * x[:, rng.choice(n, rng.integers(1, 6), replace=False)].all(axis=1)
    return TableGame(names(n), v)


def net(n=10, seed=4):
    """A small neural net whose absent features are zero."""
    rng = np.random.default_rng(seed)
    x = members(n) * rng.normal(size=n)
    hidden = np.tanh(x @ rng.normal(0, 1, (n, 24)) + rng.normal(size=24))
    return TableGame(names(n), np.tanh(hidden @ rng.normal(0, 0.5, 24)))


def ridge(n=12, seed=5):
    """Data valuation: test fit of a ridge regression trained on the points that play."""
    rng = np.random.default_rng(seed)
    x, slope = rng.normal(size=(n, 4)), rng.normal(size=4)
    y = x @ slope + rng.normal(0, 1, n)
    test = rng.normal(size=(100, 4))
    truth = test @ slope + rng.normal(0, 0.5, 100)
    play = members(n).astype(float)
    gram = (play @ np.einsum("ij,ik->ijk", x, x).reshape(n, 16)).reshape(-1, 4, 4) + 0.5 * np.eye(4)
    fitted = np.linalg.solve(gram, (play @ (x * y[:, None]))[..., None])[..., 0]
    return TableGame(names(n), 1 - ((fitted @ test.T - truth) ** 2).mean(axis=1) / (truth**2).mean())


KINDS = {"voting": voting, "airport": airport, "text": text, "unanimity": unanimity, "net": net, "ridge": ridge}


def runway(cost):
    """The airport game of many players, not tabulated."""
    return FunctionGame(names(len(cost)), lambda coalitions: (coalitions * cost).max(axis=1))


def runway_shapley(cost):
    """Each piece of runway is shared equally by those who need it; `cost` is ascending."""
    n = len(cost)
    return np.cumsum(np.diff(cost, prepend=0.0) / np.arange(n, 0, -1))
