"""What training rows, sources or data sets are worth: splits, utilities, and the values that rest on them."""

from accredit.valuation.datamodels import Datamodels, datamodels, fit_datamodels
from accredit.valuation.finetuning import fine_tuning
from accredit.valuation.harmonics import Harmonics, harmonics
from accredit.valuation.knn import KNNUtility, knn_shapley
from accredit.valuation.knn_numbers import KNNRegression
from accredit.valuation.out_of_bag import data_oob
from accredit.valuation.retraining import Retraining
from accredit.valuation.ridge import RidgeUtility
from accredit.valuation.split import Split, groups_of, split
from accredit.valuation.subsets import random_subsets
from accredit.valuation.text import text_features
from accredit.valuation.torch_training import Recipe, TorchTraining

__all__ = [
    "Datamodels",
    "Harmonics",
    "KNNRegression",
    "KNNUtility",
    "Recipe",
    "Retraining",
    "RidgeUtility",
    "Split",
    "TorchTraining",
    "data_oob",
    "datamodels",
    "fine_tuning",
    "fit_datamodels",
    "groups_of",
    "harmonics",
    "knn_shapley",
    "random_subsets",
    "split",
    "text_features",
]
