r"""CXPlain: a network learns how much the black box's loss grows when each player is removed (Schwab & Karlen, 2019).

$$\Delta_i = L\bigl(y, f(x \text{ without } i)\bigr) - L\bigl(y, f(x)\bigr), \qquad
  \omega_i = \frac{\max(\Delta_i, \varepsilon)}{\sum_j \max(\Delta_j, \varepsilon)}, \qquad
  \min_A \; \mathrm{KL}\bigl(\omega \,\Vert\, \mathrm{softmax}\,A(x)\bigr)$$

L is the cross-entropy of the **true** label y, so training needs labels (explaining does not). Networks trained on
resampled rows give an interval for every share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from accredit.core import BoolArray, FloatArray, IntArray, Procedure, Selection
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, answers_of, check_labels
from accredit.learned.epochs import batches, downhill, finite, train
from accredit.learned.folders import DAMAGE, read, tensors, write
from accredit.learned.inputs import SEEDS_BELOW, Array, Inputs, PixelGrid, inputs_from, one_input, whole
from accredit.learned.masks import check_k, top
from accredit.learned.networks import selector_for
from accredit.values.solver import progress as progress_bar

KIND = "cxplain explainer"
ASKED_AT_ONCE = 4096  # inputs in one call of the black box
LEAST_LOSS = 1e-6  # ε: what a player whose removal costs nothing counts as
MOST_MODELS = 1000
LEAST_PROBABILITY = 1e-7  # probabilities are kept this far from 0, so that losses are finite


def removal_losses(inputs: Inputs, x: Array, black_box: BlackBox, labels: IntArray, progress: bool = False) -> FloatArray:
    """How much the loss at the true label grows without each player: (N, n), zero for players that do not exist.

    A player whose removal leaves the input as it is (a pixel that already has the replacement's colour) is not asked for:
    its Δ is 0. Cost: at most n + 1 calls per row.

    >>> from accredit.learned import Tabular
    >>> black_box = lambda x: np.stack([1 - x[:, 0], x[:, 0]], axis=1)  # P(1) is the first column
    >>> removal_losses(Tabular(2, replace=0.5), np.array([[0.8, 0.3]]), black_box, np.array([1])).round(3)
    array([[0.47, 0.  ]])
    """
    n = inputs.n
    found = np.zeros((len(x), n))
    base = _losses(black_box, x, labels)
    alone = ~np.eye(n, dtype=bool)
    with progress_bar("removals", len(x) if progress else 0) as bar:
        rows = max(1, ASKED_AT_ONCE // n)
        for start in range(0, len(x), rows):
            part = slice(start, start + rows)
            one_less = np.repeat(x[part], n, axis=0)
            removed = inputs.keep(one_less, np.tile(alone, (len(x[part]), 1))).astype(x.dtype)
            changed = (removed != one_less).reshape(len(removed), -1).any(axis=1)
            grown = np.zeros(len(removed))
            if changed.any():
                again = np.repeat(labels[part], n)[changed]
                grown[changed] = _losses(black_box, removed[changed], again) - np.repeat(base[part], n)[changed]
            found[part] = grown.reshape(-1, n)
            bar.update(start + rows)
    return found


def shares(grown: FloatArray, present: BoolArray, least: float = LEAST_LOSS) -> FloatArray:
    """ω: removal losses as shares of those players that exist, (N, n).

    >>> shares(np.array([[3.0, -2.0, 1.0]]), np.array([[True, True, True]])).round(3)
    array([[0.75, 0.  , 0.25]])
    """
    kept = np.where(present, np.maximum(grown, least), 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(kept, total, out=np.zeros_like(kept), where=total > 0))


def _losses(black_box: BlackBox, x: Array, labels: IntArray) -> FloatArray:
    """Cross-entropy of the black box at the true labels: (N,)."""
    found = np.empty(len(x))
    for start in range(0, len(x), ASKED_AT_ONCE):
        part = slice(start, start + ASKED_AT_ONCE)
        answers = answers_of(black_box, x[part])
        if labels[part].max(initial=0) >= answers.shape[1]:
            raise InvalidInput(
                f"labels go up to {labels.max()}, but the black box knows {answers.shape[1]} classes from 0",
                argument="labels",
                code="range",
            )
        found[part] = -np.log(np.clip(answers[np.arange(len(answers)), labels[part]], LEAST_PROBABILITY, 1.0))
    return found


@final
class CXPlain:
    """Shares of the removal loss, predicted; the `k` players of largest share are chosen.

    `block` (pictures only) removes squares with that many players on a side, which then share one number: fewer calls, and less
    noise. `models` networks, each trained on rows drawn with replacement, give the mean share and an interval from
    their quantiles: it shows how far the rows and the starting weights matter, not errors that all networks share.
    One network alone gives a point, so `models=1` has no interval. Training stops when the loss on a tenth of the rows
    has not improved for `patience` epochs; the best weights are kept. Cost: n + 1 calls of the black box per training row.

    >>> from accredit.learned import Tabular
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> labels = (x[:, 1] > 0).astype(int)
    >>> def black_box(x):
    ...     p = 1 / (1 + np.exp(-4 * x[:, 1]))
    ...     return np.stack([1 - p, p], axis=1)
    >>> explainer = CXPlain(Tabular(3), k=1, epochs=20).fit(x, black_box, labels)
    >>> bool(explainer.select(x)[:, 1].mean() > 0.95)
    True
    """

    def __init__(
        self,
        inputs: Inputs,
        k: int,
        *,
        block: int = 1,
        models: int = 1,
        width: int | None = None,
        level: float = 0.9,
        epochs: int = 100,
        patience: int = 12,
        batch: int = 64,
        rate: float = 1e-3,
    ) -> None:
        if not 0 < level < 1:
            raise InvalidInput(f"level must lie between 0 and 1, got {level!r}; write 0.9", argument="level", code="range")
        if not 0 < rate < np.inf:
            raise InvalidInput(f"rate must be a positive number, got {rate!r}; write 1e-3", argument="rate", code="range")
        self.inputs, self.k, self.block, self.width = inputs, check_k(k, inputs.n), whole("block", block), width
        self.models, self.epochs = whole("models", models, 1, MOST_MODELS), whole("epochs", epochs)
        self.patience, self.batch = whole("patience", patience), whole("batch", batch)
        self.level, self.rate = level, rate
        self.removed = _blocks(inputs, block)
        self.seed: int | None = None
        self.history: dict[str, object] = {}
        self.explains = ""  # a digest of the model, where it is known; another model is then refused
        self._networks: list[nn.Module] = []

    def fit(
        self,
        x: npt.ArrayLike,
        black_box: BlackBox,
        labels: npt.ArrayLike | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> CXPlain:
        """Ask the black box for every removal and learn the shares; `labels` (N,) are the true ones."""
        rows = self.inputs.check(x)
        if labels is None:
            raise InvalidInput(
                "CXPlain learns from losses at the true labels; call fit(x, black_box, labels)",
                argument="labels",
                code="missing",
            )
        true = check_labels(labels, len(rows))
        began = time.monotonic()
        grown = removal_losses(self.removed, rows, black_box, true, progress)
        return self.learn(rows, shares(grown, self.removed.present(rows)), seed, progress, time.monotonic() - began)

    def learn(self, x: npt.ArrayLike, wanted: FloatArray, seed: int = 0, progress: bool = False, asked: float = 0.0) -> CXPlain:
        """Learn given shares (N, removed players), as `shares(removal_losses(...))` gives them."""
        rows = self.inputs.check(x)
        if wanted.shape != (len(rows), self.removed.n):
            raise InvalidInput(
                f"wanted must have shape ({len(rows)}, {self.removed.n}), got {wanted.shape}", argument="wanted", code="shape"
            )
        rng, began = np.random.default_rng(whole("seed", seed, 0, SEEDS_BELOW)), time.monotonic()
        order = rng.permutation(len(rows))
        held, kept = np.split(order, [max(1, len(rows) // 10)])
        if len(kept) < 2:
            raise InvalidInput(
                f"x has {len(rows)} rows; CXPlain learns from 3 or more, and usefully from hundreds", argument="x", code="range"
            )
        networks: list[nn.Module] = []
        losses: list[list[float]] = []
        stops: list[str] = []
        with progress_bar("cxplain", self.models * self.epochs if progress else 0) as bar:
            for member in range(self.models):
                drawn = rng.choice(kept, len(kept)) if self.models > 1 else kept
                start = int(rng.integers(2**31))
                network = selector_for(self.removed, width=self.width, seed=start)

                def passed(epoch: int, before: int = member * self.epochs) -> None:
                    bar.update(before + epoch)

                loss, stop = self._train(network, rows, wanted, drawn, held, start, passed)
                networks.append(network)
                losses.append(loss)
                stops.append(stop)
        self.seed, self._networks = seed, networks
        self.history = {
            "losses": losses,
            "seconds": asked + time.monotonic() - began,
            "seconds_asking": asked,
            "stopped_because": stops[0] if len(set(stops)) == 1 else "; ".join(stops),
        }
        return self

    def _train(
        self,
        network: nn.Module,
        x: Array,
        wanted: FloatArray,
        drawn: IntArray,
        held: IntArray,
        seed: int,
        passed: Callable[[int], None],
    ) -> tuple[list[float], str]:
        """Train one network in place; returns the held-out losses (KL, in nats) and why it ended."""
        data, goal = torch.from_numpy(x), torch.from_numpy(wanted).float()
        entropy = float(torch.special.entr(goal[held]).sum(dim=1).mean())
        optimiser = torch.optim.Adam(network.parameters(), lr=self.rate)
        rng = np.random.default_rng(seed)
        losses: list[float] = []

        def epoch(number: int) -> float:
            network.train()
            for part in batches(rng.permutation(drawn), self.batch):
                downhill(nn.functional.cross_entropy(network(data[part]), goal[part]), optimiser)
            with torch.inference_mode():
                network.eval()
                seen = finite(float(nn.functional.cross_entropy(network(data[held]), goal[held])) - entropy)
            losses.append(seen)
            passed(number)
            return seen

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            ended = train([network], self.epochs, epoch, self.patience)
        ended.warn(stacklevel=5)
        network.eval()
        return losses, str(ended)

    def each(self, x: npt.ArrayLike) -> FloatArray:
        """Shares that every network predicts: (models, N, n); those of a block are spread evenly over its players."""
        if not self._networks:
            raise InvalidInput(
                "this explainer has learned nothing yet; call fit(x, black_box, labels) first", code="not-fitted"
            )
        rows = self.inputs.check(x)
        if len(rows) == 0:
            raise InvalidInput("x holds no rows", argument="x", code="empty")
        with torch.inference_mode():
            found = np.stack([_softmaxes(network, rows) for network in self._networks])
        if self.block == 1:
            return np.asarray(found * self.inputs.present(rows))  # a text without words has no shares
        assert isinstance(self.removed, PixelGrid) and isinstance(self.inputs, PixelGrid)
        down, across = self.removed.grid
        squares = found.reshape(*found.shape[:2], down, across) / self.block**2
        return squares.repeat(self.block, axis=2).repeat(self.block, axis=3).reshape(*found.shape[:2], -1)

    def scores(self, x: npt.ArrayLike) -> FloatArray:
        """Mean predicted share of every player: (N, n), rows summing to 1 (to 0 for a text without words)."""
        return np.asarray(self.each(x).mean(axis=0))

    def intervals(self, x: npt.ArrayLike) -> FloatArray:
        """Quantiles of the shares over the networks: (N, n, 2), low and high."""
        if self.models == 1:
            raise InvalidInput("one network has no spread; train CXPlain(..., models=10) for intervals", code="unsupported")
        return self._quantiles(self.each(x))

    def _quantiles(self, each: FloatArray) -> FloatArray:
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        return np.moveaxis(np.quantile(each, tails, axis=0), 0, -1)

    def select(self, x: npt.ArrayLike, k: int | None = None) -> BoolArray:
        """The k players of largest share in every row: (N, n)."""
        return top(self.scores(x), self.k if k is None else k, self.inputs.present(self.inputs.check(x)))

    def explain(self, one: npt.ArrayLike, names: Sequence[str] | None = None) -> Selection:
        """The players chosen for one input, with their shares and, from several networks, their intervals."""
        row, named, present = one_input(self.inputs, one, names)
        each = self.each(row)
        chosen = top(each.mean(axis=0), self.k, present[None])[0, present]
        certificate: dict[str, object] = {"models": self.models}
        if self.models > 1:
            certificate |= {
                "interval": self._quantiles(each)[0, present],
                "level": self.level,
                "interval_because": "quantiles over networks trained on rows drawn with replacement",
            }
        return Selection(
            named,
            chosen,
            Procedure("cxplain", "CXPlain", {"k": self.k, "block": self.block, "models": self.models, "seed": self.seed}),
            self.rule(),
            each.mean(axis=0)[0, present],
            self.seed,
            certificate=certificate,
        )

    def rule(self) -> str:
        """How many are chosen, by what, and what replaces a removed player."""
        return (
            f"the {self.k} highest of {self.inputs.n} by predicted removal loss; mask law: one removed at a time; "
            f"{self.removed.describe()}"
        )

    def settings(self) -> dict[str, object]:
        """Everything but the weights, as plain JSON."""
        named = ("k", "block", "models", "width", "level", "epochs", "patience", "batch", "rate")
        return {"inputs": self.inputs.settings()} | {name: getattr(self, name) for name in named}

    def save(self, folder: str | Path) -> None:
        """Settings and history as JSON, weights as safetensors, into `folder`; read them with `CXPlain.load`."""
        if not self._networks:
            raise InvalidInput(
                "this explainer has learned nothing yet; call fit(x, black_box, labels) first", code="not-fitted"
            )
        about = {"settings": self.settings(), "seed": self.seed, "history": self.history, "explains": self.explains}
        write(folder, KIND, about, nn.ModuleList(self._networks).state_dict())

    @classmethod
    def load(cls, folder: str | Path) -> CXPlain:
        """Read what `save` wrote; anything else is refused."""
        about, place = read(folder, KIND)
        try:
            given = dict(about["settings"])
            explainer = cls(inputs_from(given.pop("inputs")), **given)
            explainer.seed, explainer.history = whole("seed", about["seed"], 0, SEEDS_BELOW), dict(about["history"])
            explainer.explains = str(about["explains"])
            with torch.device("meta"):  # shapes without memory
                networks = nn.ModuleList(
                    selector_for(explainer.removed, width=explainer.width) for _ in range(explainer.models)
                )
        except (*DAMAGE, ValueError) as error:
            raise InvalidInput(f"{place.with_suffix('.json')} is damaged: {error}", code="unreadable") from None
        networks.load_state_dict(tensors(place, networks.state_dict()), assign=True)
        explainer._networks = [network.eval() for network in networks]
        return explainer


def _blocks(inputs: Inputs, block: int) -> Inputs:
    """What is removed at once: the inputs' own players, or squares of them."""
    if block == 1:
        return inputs
    if not isinstance(inputs, PixelGrid):
        raise InvalidInput(
            f"block={block} is for pictures; {type(inputs).__name__} inputs need block=1", argument="block", code="misplaced"
        )
    return PixelGrid(inputs.shape, inputs.block * block, inputs.replace)


def _softmaxes(network: nn.Module, x: Array) -> FloatArray:
    parts = [network(torch.tensor(x[k : k + ASKED_AT_ONCE])) for k in range(0, len(x), ASKED_AT_ONCE)]
    return torch.cat(parts).double().softmax(dim=1).numpy()
