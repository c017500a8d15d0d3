"""Which rule values the rows: Shapley, Banzhaf, Beta, leave-one-out, all from the same retrainings."""

from __future__ import annotations

from accredit.core import Attribution, Game, InvalidInput
from accredit.valuation.truncated import Truncated
from accredit.values import banzhaf, beta, leave_one_out, shapley
from accredit.values.exact import EXACT_LIMIT
from accredit.values.sampled_semivalue import SampledBanzhaf, SampledBeta


def data_shapley(game: Game, budget: int, seed: int = 0, *, truncation: float | None = None) -> Attribution:
    """Data Shapley values: whole coalitions, an interval for every row, exact when 2ⁿ fits the budget of payoffs.

    `truncation` opts in to TMC, which stops each order near v(N): cheaper, **biased**, and without an interval.

    >>> from accredit.games import TableGame
    >>> data_shapley(TableGame(("web", "maths", "code"), [0, 50, 20, 75, 25, 80, 90, 100]), budget=8).credit.round(2)
    array([38.33, 28.33, 33.33])
    """
    if truncation is not None:
        return Truncated(budget, truncation, seed).solve(game)
    return shapley(game, budget=budget, seed=seed)


def data_banzhaf(game: Game, budget: int, seed: int = 0) -> Attribution:
    """Data Banzhaf values, the semivalue least upset by noisy training; exact when 2ⁿ fits the budget."""
    return banzhaf(game) if _fits(game, budget) else SampledBanzhaf(budget=budget, seed=seed).solve(game)


def data_beta(game: Game, alpha: float, beta_: float, budget: int, seed: int = 0) -> Attribution:
    """Beta(α, β) values: α > β listens to small coalitions, where a row's own merit shows most."""
    if _fits(game, budget):
        return beta(game, alpha, beta_)
    return SampledBeta(alpha, beta_, budget=budget, seed=seed).solve(game)


def rule_named(rule: str, game: Game, budget: int, seed: int = 0) -> Attribution:
    """A value by name: shapley, banzhaf, beta:16,1, loo, or tmc:0.01 (truncated, biased).

    >>> from accredit.games import TableGame
    >>> rule_named("loo", TableGame(("alice", "bob"), [0, 5, 3, 10]), budget=4).credit
    array([7., 5.])
    """
    kind, _, detail = rule.partition(":")
    try:
        numbers = [float(word) for word in detail.split(",")] if detail else []
    except ValueError:
        raise InvalidInput(f"rule {rule!r}: {detail!r} is not numbers; write for example beta:16,1") from None
    match kind, numbers:
        case "shapley", []:
            return data_shapley(game, budget, seed)
        case "tmc", [tolerance]:
            return data_shapley(game, budget, seed, truncation=tolerance)
        case "banzhaf", []:
            return data_banzhaf(game, budget, seed)
        case "beta", [alpha, beta_]:
            return data_beta(game, alpha, beta_, budget, seed)
        case "loo", []:
            return leave_one_out(game)
    raise InvalidInput(f"unknown rule {rule!r}; write shapley, banzhaf, beta:16,1, loo or tmc:0.01")


def _fits(game: Game, budget: int) -> bool:
    n = len(game.players)
    return n <= EXACT_LIMIT and 2**n <= budget
