"""The Shapley value: one function, exactly where that is affordable, estimated with intervals where it is not."""

from __future__ import annotations

from accredit import defaults
from accredit.checks import check_seed, optional_whole
from accredit.core import Attribution, Game
from accredit.core.attribution import returned
from accredit.core.estimate import check_level
from accredit.errors import InvalidInput
from accredit.values.every_output import every_output
from accredit.values.exact import Exact, exactly, in_closed_form
from accredit.values.semivalue_rules import SHAPLEY
from accredit.values.solver import Solver, Stop


@every_output
def shapley(
    game: Game,
    solver: Solver | None = None,
    *,
    budget: int | None = None,
    seconds: float | None = None,
    half_width: float | None = None,
    seed: int = 0,
    level: float = defaults.LEVEL,
) -> Attribution:
    r"""Share the payoff by average marginal contribution.

    $$\phi_i = \sum_{S \subseteq N \setminus i} \frac{|S|!\,(n-|S|-1)!}{n!}\,[v(S \cup i) - v(S)]$$

    The one rule that is efficient, symmetric, linear and gives null players nothing (Shapley, 1953). Linearity is about
    adding games; it does not assume that players never interact.

    With a `solver`, that solver decides. Otherwise: exact for a game that knows its table, cubes, products or votes, for at
    most 12 players when no limit is given, and whenever 2ⁿ fits the `budget`; beyond that the default estimator `Surrogate`,
    stopped by whichever of `budget` (payoffs), `seconds` and `half_width` (of the interval at `level`) comes first, 2,000
    payoffs when none is given.

    Games that pay several outputs get one attribution per output, all from the evaluations of one: `Attributions`.

    >>> from accredit.games import TableGame
    >>> shapley(TableGame(("alice", "bob"), [0, 5, 3, 10])).credit
    array([6., 4.])
    """
    budget, seed = optional_whole(budget, "budget", example=1000), check_seed(seed)
    check_level(level)
    Stop(budget or 1, seconds, half_width)
    limits = {"budget": budget, "seconds": seconds, "half_width": half_width}
    unlimited = all(limit is None for limit in limits.values())
    if solver is not None:
        others = limits | {"seed": seed or None, "level": None if level == defaults.LEVEL else level}
        if given := next((name for name, value in others.items() if value is not None), None):
            raise InvalidInput(
                f"{given} and solver are both given; put {given} into the solver, for example {solver!r}",
                argument="solver",
                code="conflict",
            )
        return returned(solver.solve(game), f"solve() of {type(solver).__name__}")
    solved = in_closed_form(game, SHAPLEY)
    if solved is not None:
        return solved
    if exactly(game, 0 if budget is None and not unlimited else budget):
        return Exact().solve(game)
    from accredit.values.surrogate import Surrogate

    return Surrogate(defaults.BUDGET if unlimited else budget, seed, level, seconds, half_width).solve(game)
