"""Which rule values the rows: values of the game of retraining, and the rules that know the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Game, Holds, Precision
from accredit.errors import InvalidInput
from accredit.influence.curvature import ConjugateGradients, ExactHessian
from accredit.influence.functions import influence
from accredit.influence.objectives import Objective, RidgeObjective, Softmax
from accredit.store import Executor
from accredit.training_data.tables import Table
from accredit.valuation.datamodels import datamodels
from accredit.valuation.knn import knn_shapley
from accredit.valuation.out_of_bag import data_oob
from accredit.valuation.split import Split
from accredit.values import shapley
from accredit.values.truncated import Truncated
from accredit.values.within import BanzhafWithin, BetaWithin

KNN_NEIGHBOURS = 5
MOST_TREES = 1000  # after which the score of a row hardly moves
WEIGHT_DECAY = 0.01  # of the logistic model whose influence is asked
LEVERAGE_PARAMETERS = 1000  # above this the curvature of a row is not taken out of the Hessian
MATRIX_PARAMETERS = 3000  # above this the Hessian is not formed


@check_arguments
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


@check_arguments
def data_banzhaf(game: Game, budget: int, seed: int = 0) -> Attribution:
    """Data Banzhaf values, the semivalue least upset by noisy training; exact when 2ⁿ fits the budget.

    >>> from accredit.games import TableGame
    >>> data_banzhaf(TableGame(("web", "maths", "code"), [0, 50, 20, 75, 25, 80, 90, 100]), budget=8).credit
    array([42.5, 32.5, 37.5])
    """
    return BanzhafWithin(budget, seed).solve(game)


@check_arguments
def data_beta(game: Game, alpha: float, beta: float, budget: int, seed: int = 0) -> Attribution:
    """Beta(α, β) values: α > β listens to small coalitions, where a row's own merit shows most.

    >>> from accredit.games import TableGame
    >>> data_beta(TableGame(("web", "maths", "code"), [0, 50, 20, 75, 25, 80, 90, 100]), 4, 1, budget=8).credit
    array([48.66666667, 26.66666667, 31.66666667])
    """
    return BetaWithin(alpha, beta, budget, seed).solve(game)


# Rules that know the rows: what `accredit.methods` names for training data


def nearest_neighbours(table: Table, game: Game, budget: int, seed: int) -> Attribution:
    """Shapley values of the nearest-neighbour game: exact for rows. Groups of rows have no closed form, so they are valued
    as any other game."""
    if table.groups is not None:
        return shapley(game, budget=budget, seed=seed)
    return nearest_rows(table.data)


def nearest_rows(
    data: Split,
    within: float | None = None,
    executor: str | Executor = "serial",
    watch: Callable[[int], None] | None = None,
) -> Attribution:
    """Shapley values of single rows, of classes or of numbers, exactly or, of classes, within a bound."""
    if within is not None and not 0 < within < 1:
        raise InvalidInput(
            f"half_width is {within:g}, and with method='knn-shapley' values are shares between −1 and 1; "
            "write for example half_width=0.001",
            argument="half_width",
            code="range",
        )
    if within is not None and data.classes is None:
        raise InvalidInput(
            "half_width does not go with method='knn-shapley' where the target is a number: squared errors have no bound; "
            "leave it out",
            argument="half_width",
            code="conflict",
        )
    return knn_shapley(data, KNN_NEIGHBOURS, within=within, executor=executor, watch=watch)


def out_of_bag(table: Table, game: Game, budget: int, seed: int) -> Attribution:
    """Scores by trees that did not see a row; that of a group is the sum over its rows."""
    rows = data_oob(table.data, min(budget, MOST_TREES), seed)
    return rows if table.groups is None else sum_up(rows, table.groups)


def influences(table: Table, game: Game, budget: int, seed: int) -> Attribution:
    """Influence on the mean test loss; that of a group is the sum over its rows."""
    data = table.data
    objective: Objective = RidgeObjective(data, WEIGHT_DECAY) if data.classes is None else Softmax(data, WEIGHT_DECAY)
    curvature = ExactHessian() if objective.parameters <= MATRIX_PARAMETERS else ConjugateGradients()
    rows = influence(objective, curvature, leverage=objective.parameters <= LEVERAGE_PARAMETERS).attribution()
    return rows if table.groups is None else sum_up(rows, table.groups)


def sum_up(rows: Attribution, groups: Mapping[str, Sequence[str]]) -> Attribution:
    """The scores of groups: sums over their rows. Rows share trees, or a model, so errors do not add up to an interval."""
    place = {name: i for i, name in enumerate(rows.players)}
    sums = np.array([rows.credit[[place[m] for m in members]].sum() for members in groups.values()])
    kept = (c if c.axiom != "symmetry" else Claim("symmetry", Holds.UNKNOWN, "sums over groups") for c in rows.claims)
    known = (
        rows.precision if rows.interval is None else Precision.unknown("errors of rows that are summed depend on each other")
    )
    return replace(
        rows,
        players=tuple(groups),
        credit=sums,
        claims=tuple(kept),
        method=rows.method.then("summed"),
        stderr=None,
        interval=None,
        level=None,
        precision=known,
    )


def linear_fit(table: Table, game: Game, budget: int, seed: int) -> Attribution:
    """A lasso over random subsets of the rows or groups."""
    return datamodels(game, budget, seed=seed).attribution()
