"""Training data: which rows, sources or data sets deserve credit for what a model learned."""

from accredit.valuation.curvature import (
    ConjugateGradients,
    ExactHessian,
    GaussNewton,
    Neumann,
    neumann_error,
    neumann_terms,
    spectrum,
)
from accredit.valuation.datamodels import Datamodels, datamodels, fit_datamodels, random_subsets
from accredit.valuation.influence import Influences, influence
from accredit.valuation.knn import KNNUtility, knn_shapley
from accredit.valuation.objectives import Objective, Ridge, Softmax, TorchObjective
from accredit.valuation.retraining import Retraining
from accredit.valuation.ridge import RidgeUtility
from accredit.valuation.rules import data_banzhaf, data_beta, data_shapley
from accredit.valuation.split import Split, groups_of, split
from accredit.valuation.text import text_features
from accredit.valuation.torch_training import Recipe, TorchTraining

__all__ = [
    "ConjugateGradients", "Datamodels", "ExactHessian", "GaussNewton", "Influences", "KNNUtility", "Neumann", "Objective",
    "Recipe", "Retraining", "Ridge", "RidgeUtility", "Softmax", "Split", "TorchObjective", "TorchTraining",
    "data_banzhaf", "data_beta", "data_shapley", "datamodels", "fit_datamodels", "groups_of", "influence", "knn_shapley",
    "neumann_error", "neumann_terms", "random_subsets", "spectrum", "split", "text_features",
]  # fmt: skip
