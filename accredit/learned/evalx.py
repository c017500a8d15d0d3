"""EVAL-X: an independent judge of selections, trained on random masks alone (Jethani et al., 2021).

A surrogate that was trained together with its selector may have agreed with it on a code. This one cannot have: it has
seen every input under masks drawn blindly, so the best it can learn is P(y | x_S). It is used for scoring only, it does
not depend on any explainer, and one serves all explainers of the same data.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from accredit.core import FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, answers_of, check_answers, check_labels
from accredit.learned.epochs import batches, downhill, finite, train
from accredit.learned.folders import DAMAGE, read, tensors, write
from accredit.learned.inputs import SEEDS_BELOW, Array, Inputs, inputs_from, whole
from accredit.learned.masks import check_k, check_mask
from accredit.learned.networks import network_for
from accredit.values.solver import progress as progress_bar

KIND = "judge"
INPUTS_PER_PASS = 2048  # inputs of one forward pass
HELD_OUT_SHARE = 0.1  # share of the rows that decides when training stops
Masks = Callable[[np.random.Generator, IntArray], FloatArray]  # a generator and row numbers -> (rows, n)


@final
class EvalX:
    """q(y | x_S), learned under random masks.

    A player is kept with probability `keep`; with `k`, half of the masks keep exactly k players instead, as the explainers
    to be judged do: far from k an answer would be a guess. Training stops when the loss on a tenth of the rows has not
    improved for `patience` epochs, and the best weights are kept. One epoch costs one pass over the data.

    >>> from accredit.learned.inputs import Tabular
    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1.0, 1.0], size=(800, 3))
    >>> judge = EvalX(Tabular(3), width=32).fit(x, (x[:, 0] > 0).astype(int), seed=0)
    >>> judge.accuracy(x, np.tile([1, 0, 0], (800, 1)), x[:, 0] > 0)  # the label is there
    1.0
    >>> judge.accuracy(x, np.tile([0, 1, 1], (800, 1)), x[:, 0] > 0) < 0.6  # it is not
    True
    """

    def __init__(
        self,
        inputs: Inputs,
        network: str = "auto",
        *,
        width: int | None = None,
        keep: float = 0.5,
        k: int | None = None,
        epochs: int = 40,
        patience: int = 5,
        batch: int = 128,
        rate: float = 1e-3,
    ) -> None:
        if not 0 < keep < 1:
            raise InvalidInput(f"keep must lie between 0 and 1, got {keep!r}; write 0.5", argument="keep", code="range")
        self.inputs, self.kind, self.width, self.keep = inputs, network, width, keep
        self.k = None if k is None else check_k(k, inputs.n)
        self.epochs, self.patience = whole("epochs", epochs), whole("patience", patience)
        self.batch, self.rate = whole("batch", batch, 2), rate  # batch normalisation needs two rows
        if not 0 < rate < np.inf:
            raise InvalidInput(f"rate must be a positive number, got {rate!r}; write 1e-3", argument="rate", code="range")
        self.classes = 0  # known once it has learned
        self._network: nn.Module | None = None

    def fit(self, x: npt.ArrayLike, target: npt.ArrayLike | BlackBox, seed: int = 0, progress: bool = False) -> EvalX:
        """Learn to answer `target`, which is labels (N,), probabilities (N, classes) or a black box to ask."""
        rows = self.inputs.check(x)
        wanted = targets(target, rows)
        network = network_for(self.inputs, wanted.shape[1], width=self.width, kind=self.kind, seed=seed)
        present = self.inputs.present(rows)
        with progress_bar("judge", self.epochs if progress else 0) as bar:
            train_masked(
                network,
                rows,
                wanted,
                lambda rng, index: self.masks(present[index], rng),
                epochs=self.epochs,
                patience=self.patience,
                batch=self.batch,
                rate=self.rate,
                seed=seed,
                passed=bar.update,
            )
        self._network, self.classes = network, wanted.shape[1]
        return self

    def masks(self, present: npt.NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
        """Random masks over the players that are there: (N, n)."""
        drawn = rng.random(present.shape)
        kept = drawn < self.keep
        if self.k is not None:
            rank = np.where(present, drawn, 2.0).argsort(axis=1).argsort(axis=1)
            exact = rng.random(len(present)) < 0.5
            kept[exact] = rank[exact] < self.k
        return np.asarray(kept & present, dtype=np.float64)

    def predict(self, x: npt.ArrayLike, mask: npt.ArrayLike) -> FloatArray:
        """Probabilities (N, classes) from what the mask leaves of x."""
        if self._network is None:
            raise InvalidInput("this EvalX has learned nothing yet; call .fit(x, labels) first", code="not-fitted")
        rows = self.inputs.check(x)
        return answers(self._network, rows, check_mask(mask, len(rows), self.inputs.n))

    def save(self, folder: str | Path) -> None:
        """Settings as JSON and weights as safetensors, into `folder`; read them with `EvalX.load`."""
        if self._network is None:
            raise InvalidInput("this EvalX has learned nothing yet; call .fit(x, labels) first", code="not-fitted")
        named = ("width", "keep", "k", "epochs", "patience", "batch", "rate")
        settings = {
            "inputs": self.inputs.settings(),
            "network": self.kind,
            **{name: getattr(self, name) for name in named},
        }
        write(folder, KIND, {"settings": settings, "classes": self.classes}, self._network.state_dict())

    @classmethod
    def load(cls, folder: str | Path) -> EvalX:
        """Read what `save` wrote; anything else is refused."""
        about, place = read(folder, KIND)
        try:
            given = dict(about["settings"])
            judge = cls(inputs_from(given.pop("inputs")), given.pop("network"), **given)
            judge.classes = whole("classes", about["classes"], 2)
            with torch.device("meta"):  # shapes without memory
                network = network_for(judge.inputs, judge.classes, width=judge.width, kind=judge.kind)
        except (*DAMAGE, ValueError) as error:
            raise InvalidInput(f"{place.with_suffix('.json')} is damaged: {error}", code="unreadable") from None
        network.load_state_dict(tensors(place, network.state_dict()), assign=True)
        judge._network = network.eval()
        return judge

    def accuracy(self, x: npt.ArrayLike, mask: npt.ArrayLike, labels: npt.ArrayLike) -> float:
        """Share of rows in which the most probable answer is the label."""
        return float((self.predict(x, mask).argmax(axis=1) == np.asarray(labels)).mean())


def targets(target: npt.ArrayLike | BlackBox, rows: Array) -> FloatArray:
    """What is to be learned as probabilities (N, classes): from labels, from probabilities, or from a black box."""
    if callable(target):
        return answers_of(target, rows)
    if np.ndim(target) == 2:
        return check_answers(target, len(rows), "target")
    labels = check_labels(target, len(rows))
    return np.asarray(np.eye(int(labels.max()) + 1)[labels])


def train_masked(
    network: nn.Module,
    x: Array,
    wanted: FloatArray,
    masks: Masks,
    *,
    epochs: int,
    patience: int,
    batch: int,
    rate: float,
    seed: int,
    passed: Callable[[int], None] = lambda epoch: None,
) -> None:
    """Train `network(x, mask)` in place on cross-entropy to `wanted`, with masks drawn anew in every epoch.

    A tenth of the rows, under masks drawn once, decides when to stop; the weights that did best on them are kept. A loss
    that is not finite ends training too, at the last good weights, with a warning. Random numbers depend on `seed` alone.
    """
    rng = np.random.default_rng(whole("seed", seed, 0, SEEDS_BELOW))
    order = rng.permutation(len(x))
    cut = max(1, round(HELD_OUT_SHARE * len(x)))
    held, kept = order[:cut], order[cut:]
    if len(kept) < 2:
        raise InvalidInput(f"{len(x)} rows are too few to learn from; give ten or more", code="range")
    data, goal = torch.from_numpy(x), torch.from_numpy(wanted).float()
    judged = _numbers(masks(np.random.default_rng(seed + 1), held))
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)

    def epoch(number: int) -> float:
        network.train()
        passed(number)
        shuffled = rng.permutation(kept)
        drawn = _numbers(masks(rng, shuffled))
        for at in batches(np.arange(len(shuffled)), batch, fewest=2):
            part = shuffled[at]
            downhill(_cross_entropy(network(data[part], drawn[at]), goal[part]), optimiser)
        network.eval()
        with torch.inference_mode():
            return finite(float(_cross_entropy(network(data[held], judged), goal[held])))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        train([network], epochs, epoch, patience).warn()
    network.eval()


def answers(network: nn.Module, x: Array, mask: FloatArray) -> FloatArray:
    """Probabilities of a trained network, a few thousand rows at a time: (N, classes)."""
    given = _numbers(mask)
    with torch.inference_mode():
        parts = [
            network(torch.tensor(x[k : k + INPUTS_PER_PASS]), given[k : k + INPUTS_PER_PASS])
            for k in range(0, len(x), INPUTS_PER_PASS)
        ]
        return torch.cat(parts).double().softmax(dim=1).numpy()


def _cross_entropy(logits: Tensor, goal: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits, goal)


def _numbers(masks: npt.ArrayLike) -> Tensor:
    return torch.tensor(np.asarray(masks, dtype=np.float32))
