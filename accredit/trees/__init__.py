"""Tables: tree ensembles read from their libraries, and exact credit for every model that has a closed form."""

from accredit.trees.closed_form import RowCredit, closed_form
from accredit.trees.credit import TreeCredit, tree_credit
from accredit.trees.forest import Forest, Tree
from accredit.trees.reading import Ensemble, NotTrees, ensemble_of, forest_of, load_ensemble
from accredit.trees.separable import NotSeparable, owners

__all__ = [
    "Ensemble",
    "Forest",
    "NotSeparable",
    "NotTrees",
    "RowCredit",
    "Tree",
    "TreeCredit",
    "closed_form",
    "ensemble_of",
    "forest_of",
    "load_ensemble",
    "owners",
    "tree_credit",
]
