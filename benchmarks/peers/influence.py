"""Other libraries' influence of networks behind one signature: kronfluence, TRAK and dattri, as their authors ship them.

Each runs in its own environment; one that is not there is left out and named. Scores are (rows, targets); positive: the row
helps. bergson takes language models of Hugging Face only, so that it cannot be asked about these networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.influence.losses import Batch
from benchmarks.peers.environments import PINS, ready
from benchmarks.peers.pipe import side

DIMENSIONS = 128  # of TRAK's projection; no other number was tried here
DAMPING = 5e-4  # of dattri: the weight decay of the networks in benchmarks/networks.py


@dataclass
class NetworkPeer:
    """Scores by another library: (trained stacks of linear layers, training rows, targets) -> (rows, targets)."""

    package: str
    function: str
    settings: dict[str, Any] = field(default_factory=dict)
    several: bool = False  # of several models it makes more than the mean of their scores
    seconds: float = 0.0  # CPU seconds of the last call, in the peer's process

    def __call__(self, models: Sequence[Any], train: Batch, tests: Batch) -> FloatArray:
        arrays = {"x": train["x"], "y": train["labels"], "test_x": tests["x"], "test_y": tests["labels"]}
        given = {name: values.numpy() for name, values in arrays.items()} | weights_of(models)
        answer = side(self.package, "networks").call(self.function, **self.settings, **given)
        self.seconds = answer.seconds
        return np.asarray(answer["scores"], dtype=np.float64)


def weights_of(models: Sequence[Any]) -> dict[str, Any]:
    """The weights of stacks of linear layers, as MODEL.LAYER.weight and MODEL.LAYER.bias."""
    return {
        f"{number}.{layer // 2}.{name}": getattr(part, name).detach().numpy()
        for number, model in enumerate(models)
        for layer, part in enumerate(model)
        if hasattr(part, "weight")
        for name in ("weight", "bias")
    }


PEERS = {
    "kronfluence EK-FAC": NetworkPeer("kronfluence", "kronfluence_ekfac"),
    f"TRAK, {DIMENSIONS} dimensions": NetworkPeer("traker", "trak", {"dimensions": DIMENSIONS}, several=True),
    "dattri EK-FAC": NetworkPeer("dattri", "dattri", {"kind": "ekfac", "damping": DAMPING}),
    "dattri CG": NetworkPeer("dattri", "dattri", {"kind": "cg", "damping": DAMPING}),
}


def network_peers() -> dict[str, NetworkPeer]:
    """The peers whose environments are here; the others are named."""
    for package in sorted({peer.package for peer in PEERS.values() if not ready(PINS[peer.package])}):
        print(f"{package} has no environment here and is left out; make peers makes one")
    return {name: peer for name, peer in PEERS.items() if ready(PINS[peer.package])}
