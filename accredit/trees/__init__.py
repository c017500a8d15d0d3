"""Tables: tree ensembles and linear models read from their libraries, and credited exactly."""

from accredit.trees.closed_form import RowCredit, closed_form
from accredit.trees.credit import TreeCredit, tree_credit
from accredit.trees.forest import Forest, Tree
from accredit.trees.linear import NotLinear, linear_of
from accredit.trees.reading import Ensemble, NotTrees, ensemble_of, forest_of, load_ensemble
from accredit.trees.separable import NotSeparable, owners

__all__ = [
    "Ensemble",
    "Forest",
    "NotLinear",
    "NotSeparable",
    "NotTrees",
    "RowCredit",
    "Tree",
    "TreeCredit",
    "closed_form",
    "ensemble_of",
    "forest_of",
    "linear_of",
    "load_ensemble",
    "owners",
    "tree_credit",
]
