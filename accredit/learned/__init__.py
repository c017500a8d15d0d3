"""Trained explainers: a network learns to choose the players that reveal the black box's answer, and how to keep it honest."""

from accredit.checks.lazy import lazy
from accredit.learned.black_boxes import BlackBox
from accredit.learned.inputs import Inputs, PixelGrid, Tabular, Words

HOMES = {
    "CXPlain": "accredit.learned.cxplain",
    "EvalX": "accredit.learned.evalx",
    "FastShapley": "accredit.learned.fast",
    "Gradient": "accredit.learned.gradient",
    "LimeExplainer": "accredit.learned.lime",
    "MaskLabels": "accredit.learned.weighting",
    "RECIPES": "accredit.learned.recipes",
    "TrainedExplainer": "accredit.learned.trainer",
    "Training": "accredit.learned.stages",
    "as_black_box": "accredit.learned.networks",
    "effective_sample_size": "accredit.learned.weighting",
    "explain_rows_fast": "accredit.learned.fast_results",
    "fit_fast_inputs": "accredit.learned.fast_results",
    "fit_fast_rows": "accredit.learned.fast_results",
    "invase": "accredit.learned.recipes",
    "l2x": "accredit.learned.recipes",
    "l2x_pretrained": "accredit.learned.recipes",
    "l2x_weighted": "accredit.learned.recipes",
    "load": "accredit.learned.saving",
    "network_for": "accredit.learned.networks",
    "realx": "accredit.learned.recipes",
    "recipe": "accredit.learned.recipes",
    "vibi": "accredit.learned.recipes",
}
__getattr__ = lazy(__name__, HOMES, extra="text")

__all__ = ["BlackBox", "Inputs", "PixelGrid", "Tabular", "Words", *HOMES]
