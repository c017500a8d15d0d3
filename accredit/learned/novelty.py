"""How far an input lies from those that an explainer learned from: a Mahalanobis distance of a few summary numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from accredit.core import FloatArray
from accredit.learned.valuers import NetworkInputs

SQUARES_OF_SUMMARY = 8  # a picture is summarised by the means of this many squares down and across
VARIANCE_ADDED = 1e-3  # of the mean variance: no direction is taken for narrower
NEAR_SHARE = 0.99  # share of calibration inputs that count as near


@final
@dataclass(frozen=True, eq=False)
class Nearness:
    """The centre of the training inputs and the inverse root of their covariance; inputs beyond `limit` are far."""

    centre: Tensor  # (q,)
    root: Tensor  # (q, q)
    limit: float

    @classmethod
    def learn(cls, trained: NetworkInputs, others: NetworkInputs) -> Nearness:
        """From training inputs; the limit is a quantile of other inputs, so that about 1 in 100 alike is called far."""
        points = summary(trained)
        centre = points.mean(axis=0)
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        covariance += VARIANCE_ADDED * max(float(np.trace(covariance)) / len(centre), 1e-12) * np.eye(len(centre))
        values, vectors = np.linalg.eigh(covariance)
        made = cls(torch.from_numpy(centre).float(), torch.from_numpy(vectors / np.sqrt(values)).float(), 1.0)
        distances = np.sort(made.distance(others))
        place = min(len(distances), math.ceil((len(distances) + 1) * NEAR_SHARE)) - 1
        return cls(made.centre, made.root, max(float(distances[place]), 1e-12))

    def distance(self, seen: NetworkInputs) -> FloatArray:
        """Of each input from the centre: (N,)."""
        away = (torch.from_numpy(summary(seen)).float() - self.centre) @ self.root
        return np.asarray(away.norm(dim=1).double().numpy())


def summary(seen: NetworkInputs) -> FloatArray:
    """A few numbers per input: a row's own features, a text's mean vector and length, the means of a picture's squares."""
    if seen.x.ndim == 2:
        return seen.x.astype(np.float64)
    if seen.x.ndim == 3:
        lengths = (seen.x != 0).any(axis=2).sum(axis=1, keepdims=True)
        return np.concatenate([seen.x.sum(axis=1) / np.maximum(lengths, 1), np.log1p(lengths)], axis=1).astype(np.float64)
    means = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(seen.x), SQUARES_OF_SUMMARY)
    return means.flatten(1).double().numpy()
