"""Credit from slopes: saliency, input × gradient, SmoothGrad, integrated gradients and their kin, AttnLRP, concepts (TCAV)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accredit.core import MissingExtra

if TYPE_CHECKING:
    from accredit.gradients.concepts import tcav
    from accredit.gradients.discretised import discretised_integrated_gradients
    from accredit.gradients.expected import gradient_shap
    from accredit.gradients.integrated import integrated_gradients
    from accredit.gradients.relevance import attn_lrp
    from accredit.gradients.sequential import sequential_integrated_gradients
    from accredit.gradients.slopes import input_x_gradient, saliency, smoothgrad

_HOME = {
    "attn_lrp": "relevance",
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
    "discretised_integrated_gradients",
    "gradient_shap",
    "input_x_gradient",
    "integrated_gradients",
    "saliency",
    "sequential_integrated_gradients",
    "smoothgrad",
    "tcav",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "captum", "transformers"):
            raise MissingExtra(error.name, "text", f"accredit.gradients.{name}") from None
        raise
