"""Values: rules that turn a game into credit, exactly or estimated."""

from typing import TYPE_CHECKING

from accredit.checks.lazy import lazy
from accredit.core import Interactions
from accredit.values.alternatives import bolger
from accredit.values.asymmetric import asymmetric
from accredit.values.averages import banzhaf, beta, normalised_banzhaf, semivalue
from accredit.values.cubes import CubeGame, Cubes
from accredit.values.exact import Exact, leave_one_out
from accredit.values.hierarchy import hierarchy
from accredit.values.interactions import (
    banzhaf_interactions,
    best_subsets,
    interactions,
    mobius,
    payoff_of,
    shapley_interactions,
    value_given,
)
from accredit.values.leaving_out import LeavingOut, leaving_out
from accredit.values.multichoice import by_player, multichoice, multichoices
from accredit.values.nucleolus import LeastCore, least_core, nucleolus
from accredit.values.owen import banzhaf_owen, owen
from accredit.values.products import ProductGame, Products
from accredit.values.roll_calls import roll_calls
from accredit.values.shapley import shapley
from accredit.values.solver import Solver, Stop
from accredit.values.within import value_of

if TYPE_CHECKING:
    from accredit.values.ablations import Lasso
    from accredit.values.averages import SampledBanzhaf, SampledBeta, SampledSemivalue
    from accredit.values.differences import Differences, DifferencesHint
    from accredit.values.lime import Lime
    from accredit.values.orders import Antithetic, Permutations
    from accredit.values.plan import permutations_needed
    from accredit.values.regression import KernelShap, Leverage
    from accredit.values.surrogate import Surrogate
    from accredit.values.truncated import Truncated

ESTIMATORS = {  # name -> the module it lives in; imported when first used
    "Antithetic": "accredit.values.orders",
    "Differences": "accredit.values.differences",
    "DifferencesHint": "accredit.values.differences",
    "KernelShap": "accredit.values.regression",
    "Lasso": "accredit.values.ablations",
    "Lime": "accredit.values.lime",
    "Leverage": "accredit.values.regression",
    "Permutations": "accredit.values.orders",
    "SampledBanzhaf": "accredit.values.averages",
    "SampledBeta": "accredit.values.averages",
    "SampledSemivalue": "accredit.values.averages",
    "Surrogate": "accredit.values.surrogate",
    "Truncated": "accredit.values.truncated",
    "permutations_needed": "accredit.values.plan",
}
__getattr__ = lazy(__name__, ESTIMATORS)

__all__ = [
    "Antithetic", "CubeGame", "Cubes", "Differences", "DifferencesHint", "Exact", "Interactions", "KernelShap", "Lasso",
    "LeastCore", "LeavingOut", "Leverage", "Lime", "Permutations", "ProductGame", "Products", "SampledBanzhaf", "SampledBeta",
    "SampledSemivalue", "Solver", "Stop", "Surrogate", "Truncated", "asymmetric", "banzhaf", "banzhaf_interactions",
    "banzhaf_owen", "best_subsets", "beta", "bolger", "by_player", "hierarchy", "interactions", "least_core", "leave_one_out",
    "leaving_out", "mobius", "multichoice", "multichoices", "normalised_banzhaf", "nucleolus", "owen", "payoff_of",
    "permutations_needed", "roll_calls", "semivalue", "shapley", "shapley_interactions", "value_given", "value_of",
]  # fmt: skip
