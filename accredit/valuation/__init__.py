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
from accredit.valuation.datamodels import Datamodels, datamodels, fit_datamodels
from accredit.valuation.gradient_store import GradientStore
from accredit.valuation.harmonics import Harmonics, harmonics
from accredit.valuation.influence import Influences, influence
from accredit.valuation.kfac import mean_influence, network_influence
from accredit.valuation.knn import KNNUtility, knn_shapley
from accredit.valuation.knn_numbers import KNNRegression, knn_regression_shapley
from accredit.valuation.label_result import WrongLabels
from accredit.valuation.labels import wrong_labels
from accredit.valuation.network import Network, network
from accredit.valuation.objectives import Objective, Ridge, Softmax, TorchObjective
from accredit.valuation.out_of_bag import data_oob
from accredit.valuation.retraining import Retraining
from accredit.valuation.ridge import RidgeUtility
from accredit.valuation.rules import data_banzhaf, data_beta, data_shapley
from accredit.valuation.split import Split, groups_of, split
from accredit.valuation.subsets import random_subsets
from accredit.valuation.text import text_features
from accredit.valuation.torch_training import Recipe, TorchTraining
from accredit.valuation.trace import Trace, trace
from accredit.valuation.tracin import tracin

__all__ = [
    "ConjugateGradients", "Datamodels", "ExactHessian", "GaussNewton", "GradientStore", "Harmonics", "Influences",
    "KNNRegression", "KNNUtility", "Network", "Neumann", "Objective", "Recipe", "Retraining", "Ridge", "RidgeUtility",
    "Softmax", "Split", "TorchObjective", "TorchTraining", "Trace", "WrongLabels", "data_banzhaf", "data_beta",
    "data_oob", "data_shapley", "datamodels", "fit_datamodels", "groups_of", "harmonics", "influence",
    "knn_regression_shapley", "knn_shapley", "mean_influence", "network", "network_influence", "neumann_error",
    "neumann_terms", "random_subsets", "spectrum", "split", "text_features", "trace", "tracin", "wrong_labels",
]  # fmt: skip
