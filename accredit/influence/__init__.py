"""Influence: how an output would change had a training row weighed more, from gradients and curvature instead of retraining."""

from accredit.influence.curvature import (
    ConjugateGradients,
    ExactHessian,
    GaussNewton,
    Neumann,
    neumann_error,
    neumann_terms,
    spectrum,
)
from accredit.influence.functions import Influences, influence
from accredit.influence.gradient_store import GradientStore
from accredit.influence.kfac import mean_influence, network_influence
from accredit.influence.network import Network, network
from accredit.influence.objectives import Objective, RidgeObjective, Softmax, TorchObjective
from accredit.influence.through_training import training_influence
from accredit.influence.trace import Trace, trace
from accredit.influence.tracin import tracin
from accredit.influence.training_runs import TrainingRun, training_run

__all__ = [
    "ConjugateGradients",
    "ExactHessian",
    "GaussNewton",
    "GradientStore",
    "Influences",
    "Network",
    "Neumann",
    "Objective",
    "RidgeObjective",
    "Softmax",
    "TorchObjective",
    "Trace",
    "TrainingRun",
    "influence",
    "mean_influence",
    "network",
    "network_influence",
    "neumann_error",
    "neumann_terms",
    "spectrum",
    "trace",
    "tracin",
    "training_influence",
    "training_run",
]
