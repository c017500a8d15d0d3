"""Tree ensembles from the libraries that grow them, each checked against the model's own raw output.

`ensemble_of(model)` reads fitted scikit-learn, xgboost, lightgbm and catboost estimators and their native boosters;
`load_ensemble(path)` reads the model files that are safe to open. Neither guesses: what they cannot read is refused.
"""

from accredit.trees.reading.ensemble import Ensemble, NotTrees
from accredit.trees.reading.finding import ensemble_of, forest_of, load_ensemble

__all__ = ["Ensemble", "NotTrees", "ensemble_of", "forest_of", "load_ensemble"]
