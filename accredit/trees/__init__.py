"""Tree ensembles: read from the library that grew them, and credited exactly."""

from accredit.trees.credit import TreeCredit, tree_credit
from accredit.trees.forest import Forest, Tree

__all__ = ["Forest", "Tree", "TreeCredit", "tree_credit"]
