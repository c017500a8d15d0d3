"""Trained explainers: a network learns to choose the players that tell the black box's answer, and how to choose honestly."""

from accredit.core.lazy import lazy
from accredit.learned.inputs import BlackBox, Inputs, Pixels, Tabular, Words

__getattr__ = lazy(
    __name__,
    {},
)

__all__ = ["BlackBox", "Inputs", "Pixels", "Tabular", "Words"]
