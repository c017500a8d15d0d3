"""Values by name, within a budget: exact where all the payoffs are affordable, else estimated.

Without a budget, exact means few players, or a game that knows its table; estimates then ask 2,000 payoffs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accredit.core import Attribution, Game, Tabulated
from accredit.methods import DEFAULT_BUDGET, EXACT_LIMIT, affordable, find
from accredit.values.exact import banzhaf, beta, leave_one_out, semivalue
from accredit.values.owen import EXACT_COALITIONS, coalitions_needed, owen, tree_of
from accredit.values.shapley import shapley


def value_of(
    game: Game, method: str = "shapley", *, budget: int | None = None, seed: int = 0, groups: Any = None
) -> Attribution:
    """The credit of a game's players by any method that `accredit methods` lists for a game.

    >>> from accredit.games import TableGame
    >>> value_of(TableGame(("alice", "bob"), [0, 5, 3, 10]), "loo").credit
    array([7., 5.])
    """
    credit: Attribution = find(method, "game").solver(budget, seed, groups).solve(game)
    return credit


def _exact(game: Game, budget: int | None) -> bool:
    n = len(game.players)
    return affordable(n, budget) or (isinstance(game, Tabulated) and n <= EXACT_LIMIT)


@dataclass(frozen=True)
class ShapleyWithin:
    """Shapley values."""

    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or by the default estimator."""
        return shapley(game, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class LeaveOneOut:
    """What is lost when one player leaves; always exact."""

    def solve(self, game: Game) -> Attribution:
        """n + 2 payoffs."""
        return leave_one_out(game)


@dataclass(frozen=True)
class BanzhafWithin:
    """Banzhaf values."""

    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or by maximum sample reuse."""
        if _exact(game, self.budget):
            return banzhaf(game)
        from accredit.values.sampled_semivalue import SampledBanzhaf

        return SampledBanzhaf(budget=self.budget or DEFAULT_BUDGET, seed=self.seed).solve(game)


@dataclass(frozen=True)
class BetaWithin:
    """Beta(α, β) values."""

    alpha: float
    beta: float
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or from independent pairs."""
        if _exact(game, self.budget):
            return beta(game, self.alpha, self.beta)
        from accredit.values.sampled_semivalue import SampledBeta

        return SampledBeta(self.alpha, self.beta, budget=self.budget or DEFAULT_BUDGET, seed=self.seed).solve(game)


@dataclass(frozen=True)
class SemivalueWithin:
    """The semivalue with weights p(0), …, p(n − 1)."""

    weights: tuple[float, ...]
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or from independent pairs."""
        if _exact(game, self.budget):
            return semivalue(game, np.array(self.weights))
        from accredit.values.sampled_semivalue import SampledSemivalue

        return SampledSemivalue(self.weights, budget=self.budget or DEFAULT_BUDGET, seed=self.seed).solve(game)


@dataclass(frozen=True)
class OwenWithin:
    """Owen values inside nested groups."""

    groups: Any
    budget: int = DEFAULT_BUDGET
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact where the tree is narrow enough, else from random orders in which groups arrive together."""
        free = EXACT_COALITIONS if isinstance(game, Tabulated) else self.budget
        if coalitions_needed(tree_of(game, self.groups)) <= free:
            return owen(game, self.groups)
        orders = max(2, self.budget // (len(game.players) + 1))
        return owen(game, self.groups, orders=orders, seed=self.seed)
