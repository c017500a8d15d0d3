"""Tree ensembles: read from the library that grew them, and credited exactly."""

from accredit.trees.credit import TreeCredit, tree_credit
from accredit.trees.forest import Forest, Tree
from accredit.trees.reading import Ensemble, NotTrees, ensemble_of, forest_of, load_ensemble

__all__ = ["Ensemble", "Forest", "NotTrees", "Tree", "TreeCredit", "ensemble_of", "forest_of", "load_ensemble", "tree_credit"]
