"""Credit from slopes: saliency, input × gradient, SmoothGrad, integrated gradients, and concepts (TCAV)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accredit.core.lazy import lazy

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

__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()}, extra="text")
