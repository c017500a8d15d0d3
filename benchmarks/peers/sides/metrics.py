"""Metrics of explanations of pictures by Quantus: pixel flipping and faithfulness correlation. Runs in its environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from side import serve, timed


def quantus_metrics(x: Any, y: Any, a: Any, runs: int, size: int, **weights: Any) -> dict[str, Any]:
    """Both metrics of a small convolutional net, whose weights come along; CPU seconds of each."""
    import quantus

    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 10),
    ).eval()
    net.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    common: dict[str, Any] = {"normalise": False, "abs": False, "perturb_baseline": "black", "disable_warnings": True}
    flip = quantus.PixelFlipping(features_in_step=1, **common)
    faithful = quantus.FaithfulnessCorrelation(nr_runs=runs, subset_size=size, return_aggregate=False, **common)

    def run(metric: Any) -> Any:
        return metric(model=net, x_batch=x, y_batch=y, a_batch=a, device="cpu", softmax=True, channel_first=True)

    curve, flipped = timed(lambda: run(flip), 2)
    _, correlated = timed(lambda: run(faithful), 2)
    return {"curve": np.array(curve), "deletion_s": flipped, "sensitivity_s": correlated}


if __name__ == "__main__":
    serve({"quantus_metrics": quantus_metrics})
