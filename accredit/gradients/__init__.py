"""Credit from slopes: saliency, input × gradient, SmoothGrad, integrated gradients and kin, DeepLIFT, AttnLRP, TCAV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.checks.lazy import lazy

if TYPE_CHECKING:
    from accredit.gradients.concepts import tcav
    from accredit.gradients.deeplift import deep_lift
    from accredit.gradients.discretised import discretised_integrated_gradients
    from accredit.gradients.expected import gradient_shap
    from accredit.gradients.integrated import integrated_gradients
    from accredit.gradients.relevance import attn_lrp
    from accredit.gradients.sequential import sequential_integrated_gradients
    from accredit.gradients.slopes import input_x_gradient, saliency, smoothgrad

_HOME = {
    "attn_lrp": "relevance",
    "deep_lift": "deeplift",
    "discretised_integrated_gradients": "discretised",
    "gradient_shap": "expected",
    "input_x_gradient": "slopes",
    "integrated_gradients": "integrated",
    "saliency": "slopes",
    "sequential_integrated_gradients": "sequential",
    "smoothgrad": "slopes",
    "tcav": "concepts",
}

__all__ = [
    "attn_lrp",
    "deep_lift",
    "discretised_integrated_gradients",
    "gradient_shap",
    "input_x_gradient",
    "integrated_gradients",
    "saliency",
    "sequential_integrated_gradients",
    "smoothgrad",
    "tcav",
]

__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()}, extra="text")
