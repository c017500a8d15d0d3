"""How often an interval at 95 % holds the truth: by estimator, kind of game, players and share of the 2ⁿ payoffs asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from accredit.core import FloatArray, Game
from accredit.values import (
    Antithetic,
    Differences,
    DifferencesHint,
    Permutations,
    SampledBanzhaf,
    SampledBeta,
    SampledSemivalue,
    Surrogate,
    interactions,
)
from accredit.values.semivalues import banzhaf_weights, beta_weights, semivalue_from_table, shapley_weights
from tools.proof.kinds import KINDS, NOISE, asked_game

PLAYERS = (5, 6, 7, 8, 9, 10)
SHARES = (0.25, 0.5, 0.75, 0.95)  # of the 2ⁿ payoffs
ALARM = 4.75  # standard errors below the level allowed: a normal mean is further off with chance 1e-6
LEAST = 0.90  # coverage that every kind of game must reach, up to chance

NOISY = ("additive + noise", "threshold + noise", "smooth + noise")
KIND_NAMES = (*KINDS, *NOISY)


@dataclass(frozen=True)
class Estimator:
    """How to estimate from a budget and a seed, which weights the truth has, and what one draw costs.

    Without weights the estimates are interactions of two players. Drawn values get at least 24 draws: below 20 they give no
    interval, and say so.
    """

    solve: Callable[[Game, int, int], Any]
    weights: Callable[[int], FloatArray] | None = None
    draw: Callable[[int], int] = lambda n: 2

    def budget(self, n: int, share: float) -> int:
        return max(round(share * 2**n), 2 + 24 * self.draw(n))


ESTIMATORS = {
    "Surrogate": Estimator(lambda g, b, s: Surrogate(b, s).solve(g), shapley_weights, lambda n: 0),
    "Permutations": Estimator(lambda g, b, s: Permutations(budget=b, seed=s).solve(g), shapley_weights, lambda n: n - 1),
    "Antithetic": Estimator(lambda g, b, s: Antithetic(budget=b, seed=s).solve(g), shapley_weights, lambda n: 2 * n - 2),
    "Differences": Estimator(lambda g, b, s: Differences(b, s).solve(g), shapley_weights),
    "DifferencesHint": Estimator(lambda g, b, s: DifferencesHint(b, s).solve(g), shapley_weights, lambda n: 2 * n),
    "SampledBanzhaf": Estimator(lambda g, b, s: SampledBanzhaf(b, s).solve(g), banzhaf_weights),
    "SampledBeta": Estimator(lambda g, b, s: SampledBeta(4, 1, b, s).solve(g), lambda n: beta_weights(n, 4, 1)),
    "SampledSemivalue": Estimator(
        lambda g, b, s: SampledSemivalue(tuple(_lopsided(len(g.players))), b, s).solve(g), lambda n: _lopsided(n)
    ),
    "interactions": Estimator(lambda g, b, s: interactions(g, "sii", 2, budget=b, seed=s)),
}


def _lopsided(n: int) -> FloatArray:
    """A semivalue that is neither Shapley's nor Banzhaf's: half of each."""
    return (shapley_weights(n) + banzhaf_weights(n)) / 2


@dataclass(frozen=True)
class Trial:
    """One game, one run."""

    kind: str
    players: int
    share: float
    inside: float | None  # share of the intervals that hold the truth; None: no interval was given
    exact: bool
    width: float  # mean half-width over the largest true credit


def trials(estimator: str, first: int, games: int) -> Iterator[Trial]:
    """Games `first` … `first + games` of one estimator; game number k is the same in every run."""
    for k in range(first, first + games):
        kind = KIND_NAMES[k % len(KIND_NAMES)]
        at = k // len(KIND_NAMES)
        n, share = PLAYERS[at % len(PLAYERS)], SHARES[at // len(PLAYERS) % len(SHARES)]
        yield _trial(ESTIMATORS[estimator], kind, n, share, k)


def _trial(estimator: Estimator, kind: str, n: int, share: float, k: int) -> Trial:
    rng = np.random.default_rng([7, k])
    v = KINDS[kind.removesuffix(" + noise")](rng, n)
    noise = NOISE * float(np.ptp(v)) if kind in NOISY else 0.0
    found = estimator.solve(asked_game(v, noise, seed=k), estimator.budget(n, share), k)
    truth, interval = _truth(estimator, v, found), found.interval
    if interval is None:
        return Trial(kind, n, share, None, bool(found.precision.known == "exact"), 0.0)
    slack = 1e-12 * float(np.abs(v).max())
    inside = (interval[:, 0] - slack <= truth) & (truth <= interval[:, 1] + slack)
    width = float(np.diff(interval).mean() / 2 / max(np.abs(truth).max(), 1e-300))
    return Trial(kind, n, share, float(inside.mean()), False, width)


def _truth(estimator: Estimator, v: FloatArray, found: Any) -> FloatArray:
    if estimator.weights is not None:
        return semivalue_from_table(v, estimator.weights(v.size.bit_length() - 1))
    from accredit.games import TableGame

    exact = interactions(TableGame(found.players, v), "sii", 2)
    return np.array([exact.values[coalition] for coalition in found.values])


@dataclass
class Tally:
    """Coverage of some trials; the unit of chance is the game, because players of one game err together."""

    games: int = 0
    given: int = 0
    exact: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, trial: Trial) -> None:
        self.games += 1
        self.exact += trial.exact
        if trial.inside is not None:
            self.given += 1
            self.total += trial.inside
            self.squares += trial.inside**2

    @property
    def coverage(self) -> float | None:
        return self.total / self.given if self.given else None

    @property
    def alarm(self) -> bool:
        """Whether coverage lies below `LEAST` by more than chance explains once in a million."""
        if self.given < 30 or self.coverage is None:
            return False
        spread = sqrt(max(self.squares / self.given - self.coverage**2, 1e-4) / self.given)
        return self.coverage + ALARM * spread < LEAST

    def plain(self) -> dict[str, Any]:
        cover = None if self.coverage is None else round(self.coverage, 4)
        return {"games": self.games, "intervals": self.given, "exact": self.exact, "coverage": cover}


def tallies(found: list[Trial]) -> dict[str, dict[str, Tally]]:
    """The trials of one estimator by kind, by players and by share of payoffs."""
    by: dict[str, dict[str, Tally]] = {"all": {}, "kind": {}, "players": {}, "share": {}}
    for trial in found:
        keys = {"all": "all", "kind": trial.kind, "players": str(trial.players), "share": f"{trial.share:g}"}
        for way, key in keys.items():
            by[way].setdefault(key, Tally()).add(trial)
    return by
