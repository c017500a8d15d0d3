"""Credit from slopes: saliency, input × gradient, SmoothGrad, integrated gradients, and concepts (TCAV)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accredit.core import MissingExtra

if TYPE_CHECKING:
    from accredit.gradients.concepts import tcav
    from accredit.gradients.integrated import integrated_gradients
    from accredit.gradients.slopes import input_x_gradient, saliency, smoothgrad

_HOME = {
    "tcav": "concepts",
    "integrated_gradients": "integrated",
    "input_x_gradient": "slopes",
    "saliency": "slopes",
    "smoothgrad": "slopes",
}

__all__ = ["input_x_gradient", "integrated_gradients", "saliency", "smoothgrad", "tcav"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "captum", "transformers"):
            raise MissingExtra(error.name, "text", f"accredit.gradients.{name}") from None
        raise
