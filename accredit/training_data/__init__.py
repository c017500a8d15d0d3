"""A file of training data, judged: which labels are wrong, what rows, annotators or data sets are worth."""

from accredit.training_data.rules import data_banzhaf, data_beta, data_shapley

__all__ = ["data_banzhaf", "data_beta", "data_shapley"]
