"""Values: rules that turn a game into credit."""

from accredit.values.exact import Exact, banzhaf, beta, leave_one_out, semivalue
from accredit.values.interactions import (
    Interactions,
    banzhaf_interactions,
    best_subsets,
    mobius,
    payoff_of,
    shapley_interactions,
    value_given,
)
from accredit.values.owen import owen
from accredit.values.shapley import shapley
from accredit.values.solver import Solver, Stop

__all__ = [
    "Exact", "Interactions", "Solver", "Stop", "banzhaf", "banzhaf_interactions", "best_subsets", "beta", "leave_one_out",
    "mobius", "owen", "payoff_of", "semivalue", "shapley", "shapley_interactions", "value_given",
]  # fmt: skip
