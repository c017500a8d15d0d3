"""Values by name, within a budget: exact where all the payoffs are affordable, else estimated.

Without a budget, exact means few players, or a game that knows its table; estimates then ask 2,000 payoffs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.core import Attribution, Attributions, Game
from accredit.methods import find
from accredit.values.asymmetric import asymmetric
from accredit.values.averages import banzhaf, beta, normalised_banzhaf, semivalue
from accredit.values.exact import leave_one_out
from accredit.values.hierarchy import hierarchy
from accredit.values.nucleolus import nucleolus
from accredit.values.owen import Tree, banzhaf_owen, owen
from accredit.values.shapley import shapley


def value_of(
    game: Game,
    method: str = "shapley",
    *,
    budget: int | None = None,
    seed: int = 0,
    groups: Tree | None = None,
    order: object = None,
) -> Attribution:
    """The credit of a game's players by any method that `accredit methods` lists for a game.

    >>> from accredit.games import TableGame
    >>> value_of(TableGame(("alice", "bob"), [0, 5, 3, 10]), "loo").credit
    array([7., 5.])
    """
    credit: Attribution = find(method, "game").solver(budget, seed, groups, order).solve(game)
    return credit


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
        return banzhaf(game, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class NormalisedBanzhafWithin:
    """Banzhaf values scaled to add up."""

    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or scaled from an estimate."""
        return normalised_banzhaf(game, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class BetaWithin:
    """Beta(α, β) values."""

    alpha: float
    beta: float
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or from independent pairs."""
        return beta(game, self.alpha, self.beta, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class SemivalueWithin:
    """The semivalue with weights p(0), …, p(n − 1)."""

    weights: tuple[float, ...]
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact, or from independent pairs."""
        return semivalue(game, np.array(self.weights), budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class OwenWithin:
    """Owen values inside nested groups."""

    groups: Tree
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact where the tree is narrow enough, else from random orders in which groups arrive together."""
        return owen(game, self.groups, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class HierarchyWithin:
    """Owen values of the groups that earn most, and of what is inside them."""

    groups: Tree
    budget: int | None = None

    def solve(self, game: Game) -> Attribution | Attributions:
        """Payoffs are spent where credit is."""
        return hierarchy(game, self.groups, budget=self.budget)


@dataclass(frozen=True)
class AsymmetricWithin:
    """Shapley values over the orders in which some players come before others."""

    order: object
    budget: int | None = None
    seed: int = 0

    def solve(self, game: Game) -> Attribution:
        """Exact where the order leaves few coalitions, else from random orders that respect it."""
        return asymmetric(game, self.order, budget=self.budget, seed=self.seed)


@dataclass(frozen=True)
class BanzhafOwenWithin:
    """Banzhaf values between groups and inside them; always exact."""

    groups: Tree
    budget: int | None = None

    def solve(self, game: Game) -> Attribution:
        """As many payoffs as the groups need, refused beyond the budget."""
        return banzhaf_owen(game, self.groups, budget=self.budget)


@dataclass(frozen=True)
class Nucleolus:
    """The division whose largest complaint is smallest, then the next largest, and so on."""

    def solve(self, game: Game) -> Attribution:
        """All 2ⁿ payoffs and at most n linear programs."""
        return nucleolus(game)
