r"""Networks that give every player of an input its credit, and the weighted least squares that they learn it from.

The Shapley value is the efficient φ that fits payoffs best under the Shapley kernel (Charnes et al., 1988). FastSHAP (Jethani
et al., 2022) lets one network fit it for all inputs at once:

$$\min_\theta\; E_x\, E_{S \sim \mathrm{kernel}}
  \bigl(v_x(S) - v_x(\emptyset) - \textstyle\sum_{i \in S} \phi_i(x;\theta)\bigr)^2$$

A network's numbers are made efficient by construction: what they miss of v(N) − v(∅) is divided equally. Coalitions come in
pairs with their complements. Since Σφ is known, both halves of a pair ask for the same sum, and only their mean target
$(v(S) - v(S^c) + v(N) - v(\emptyset))/2$ is kept: the same slope, without the constant part of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.errors import InvalidInput
from accredit.learned.epochs import Ending, batches, downhill, finite, train
from accredit.learned.inputs import SEEDS_BELOW, Array, whole
from accredit.learned.networks import Windows

INPUTS_PER_PASS = 2048  # inputs of one forward pass
HELD_OUT_SHARE = 0.1  # share of the rows that decides when training stops
SQUARES_SEEN = 14  # of a picture, down and across, that a network sees
DROPPED = 0.3  # of the hidden units of a network of pictures, in every step: it has more inputs than there are pictures


@final
@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """Inputs as a network reads them, and whose each place is.

    `x` is (N, d) for rows, (N, T, d) for texts, (N, C, H, W) for pictures; `owner` (N, places) is the player of each place, −1
    for nobody's. All inputs are padded to the same number of places.
    """

    x: Array  # float32
    owner: IntArray

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: IntArray | BoolArray | slice) -> NetworkInputs:
        return NetworkInputs(self.x[rows], self.owner[rows])

    @property
    def players(self) -> int:
        """The largest number of players of an input."""
        return int(self.owner.max()) + 1

    @property
    def present(self) -> BoolArray:
        """Which players each input has: (N, n)."""
        there = np.zeros((len(self), self.players + 1), dtype=bool)
        np.put_along_axis(there, self.owner, True, axis=1)  # −1, nobody, is the last column
        return there[:, :-1]


@final
@dataclass(frozen=True, eq=False)
class CoalitionTargets:
    """What was asked about some inputs: coalitions, and the sum of credits that each of them calls for."""

    coalitions: BoolArray  # (N, m, n)
    wanted: FloatArray  # (N, m, outputs): (v(S) − v(Sᶜ) + v(N) − v(∅)) / 2
    total: FloatArray  # (N, outputs): v(N) − v(∅)
    blur: float = 0.0  # how far rounding may have moved a payoff


def draw_coalitions(present: BoolArray, pairs: int, rng: np.random.Generator) -> BoolArray:
    """One of each of `pairs` complementary pairs per row, sizes k drawn ∝ 1/(k(n−k)): (N, n) -> (N, pairs, n).

    A row with one player has only the coalition of that player.

    >>> drawn = draw_coalitions(np.ones((4, 3), dtype=bool), 50, np.random.default_rng(0))
    >>> sorted(set(drawn.sum(axis=2).ravel().tolist()))
    [1, 2]
    """
    rows, n = present.shape
    counts = present.sum(axis=1)
    if (counts == 0).any():
        raise InvalidInput(f"input {int((counts == 0).argmax())} has no players", code="empty")
    sizes = np.ones((rows, pairs), dtype=np.int64)
    for count in np.unique(counts[counts > 1]):
        k = np.arange(1, count)
        mine = counts == count
        kernel = 1 / (k * (count - k))
        sizes[mine] = rng.choice(k, size=(int(mine.sum()), pairs), p=kernel / kernel.sum())
    keys = np.where(present[:, None], rng.random((rows, pairs, n)), 2.0)
    return np.asarray(keys.argsort(axis=2).argsort(axis=2) < sizes[:, :, None])


def efficient(raw: FloatArray, present: BoolArray, total: FloatArray) -> FloatArray:
    """Credits (N, n, outputs) that sum to the total (N, outputs): what is missing is divided among those present; NaN: absent.

    >>> efficient(np.array([[[1.0], [2.0], [9.0]]]), np.array([[True, True, False]]), np.array([[5.0]]))[0, :, 0]
    array([ 2.,  3., nan])
    """
    kept = np.where(present[:, :, None], raw, 0.0).astype(np.float64)
    short = (total - kept.sum(axis=1)) / present.sum(axis=1, keepdims=True)
    return np.asarray(np.where(present[:, :, None], kept + short[:, None], np.nan))


class ColumnValuer(nn.Module):
    """Credit of columns from all of them: two hidden layers beside a linear map, which is all that an additive model needs."""

    def __init__(self, features: int, players: int, outputs: int, width: int, dropped: float = 0.0) -> None:
        super().__init__()
        self.players, self.outputs = players, outputs
        self.line = nn.Linear(features, players * outputs)
        self.layers = nn.Sequential(
            nn.Linear(features, width),
            nn.GELU(),
            nn.Dropout(dropped),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Dropout(dropped),
            nn.Linear(width, players * outputs),
        )

    def forward(self, x: Tensor, owner: Tensor, players: int) -> Tensor:
        found: Tensor = self.line(x) + self.layers(x)
        return found.reshape(len(x), self.players, self.outputs)


class TokenValuer(nn.Module):
    """Credit of tokens from their vectors, their neighbours and the whole text, summed over each player's own tokens."""

    def __init__(self, features: int, outputs: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(features, width), Windows(width, width)
        self.whole = nn.Linear(2 * width, width)
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, outputs))

    def forward(self, x: Tensor, owner: Tensor, players: int) -> Tensor:
        there = x.ne(0).any(dim=2, keepdim=True).to(x.dtype)  # padding has zero vectors
        near = nn.functional.gelu(self.first(x)) * there
        near = near + nn.functional.gelu(self.second(near)) * there
        mean = near.sum(dim=1) / there.sum(dim=1).clamp(min=1)
        text = nn.functional.gelu(self.whole(torch.cat([near.amax(dim=1), mean], dim=1)))
        each = self.head(torch.cat([near, text[:, None].expand_as(near)], dim=2))  # (N, T, outputs)
        return deal(each, owner, players)


class PatchValuer(nn.Module):
    """Credit of patches from the whole picture in `SQUARES_SEEN`² squares: two hidden layers beside a linear map.

    On 28 × 28 pixels this came closer to exact values than filters of pixels did in twice the CPU time.
    """

    def __init__(self, channels: int, players: int, outputs: int, width: int) -> None:
        super().__init__()
        self.columns = ColumnValuer(channels * SQUARES_SEEN**2, players, outputs, width, DROPPED)

    def forward(self, x: Tensor, owner: Tensor, players: int) -> Tensor:
        found: Tensor = self.columns(nn.functional.adaptive_avg_pool2d(x, SQUARES_SEEN).flatten(1), owner, players)
        return found


def deal(places: Tensor, owner: Tensor, players: int) -> Tensor:
    """Numbers of places summed over each player's own: (N, places, d), (N, places) -> (N, players, d)."""
    to = torch.where(owner < 0, players, owner)[:, :, None].expand(-1, -1, places.shape[2])
    sums = places.new_zeros(len(places), players + 1, places.shape[2])
    return sums.scatter_add(1, to, places)[:, :players]


def fit(
    network: nn.Module,
    seen: NetworkInputs,
    asked: CoalitionTargets,
    *,
    epochs: int,
    patience: int,
    batch: int,
    rate: float,
    seed: int,
    passed: Callable[[int], None] = lambda epoch: None,
) -> tuple[Ending, list[float]]:
    """Train a network in place on the squared error of sums of credit; the rate falls to zero along half a cosine.

    A tenth of the rows decides when to stop, and the best weights on them are kept. Returns how it ended, and the losses on
    those rows: shares of the variance of the total.
    """
    rng = np.random.default_rng(whole("seed", seed, 0, SEEDS_BELOW))
    order = rng.permutation(len(seen))
    held, kept = np.split(order, [max(1, round(HELD_OUT_SHARE * len(seen)))])
    if len(kept) < 2:
        raise InvalidInput(f"{len(seen)} rows are too few to learn from; give hundreds, or at least ten", code="range")
    players = asked.coalitions.shape[2]
    x, owner = torch.from_numpy(seen.x), torch.from_numpy(seen.owner)
    shown, wanted, total = (torch.from_numpy(part).float() for part in (asked.coalitions, asked.wanted, asked.total))
    present = torch.zeros(len(seen), players)  # the input with the most players may not be among these
    present[:, : seen.players] = torch.from_numpy(seen.present).float()
    spread = wanted.reshape(-1, wanted.shape[2]).var(dim=0)
    varies = spread > (2 * asked.blur) ** 2  # half of a sum of four payoffs
    if not varies.any():
        raise InvalidInput(
            "every coalition that was asked earns the same: the model does not depend on these players, whose values are "
            "all 0, and there is nothing to learn",
            code="undefined",
        )
    spread = torch.where(varies, spread, spread.max())  # an output that never changes is learned to be 0
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    losses: list[float] = []

    def loss(rows: IntArray) -> Tensor:
        at = torch.from_numpy(rows)
        raw = network(x[at], owner[at], players) * present[at, :, None]
        short = (total[at] - raw.sum(dim=1)) / present[at].sum(dim=1, keepdim=True)
        credit = (raw + short[:, None]) * present[at, :, None]
        missed = torch.bmm(shown[at], credit) - wanted[at]  # (rows, pairs, outputs)
        return (missed.square() / spread).mean()

    def epoch(number: int) -> float:
        network.train()
        for part in batches(rng.permutation(kept), batch):
            downhill(loss(part), optimiser)
        slower.step()
        network.eval()
        with torch.no_grad():
            seen_now = finite(float(sum(float(loss(p)) * len(p) for p in batches(held, INPUTS_PER_PASS)) / len(held)))
        losses.append(seen_now)
        passed(number)
        return seen_now

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        ended = train([network], epochs, epoch, patience)
    ended.warn("fast Shapley values")
    network.eval()
    return ended, losses


def raw_credit(network: nn.Module, seen: NetworkInputs) -> FloatArray:
    """A network's numbers before they are made efficient: (N, n, outputs)."""
    players = seen.players
    with torch.inference_mode():
        parts = [
            network(
                torch.from_numpy(seen.x[k : k + INPUTS_PER_PASS]),
                torch.from_numpy(seen.owner[k : k + INPUTS_PER_PASS]),
                players,
            )
            for k in range(0, len(seen), INPUTS_PER_PASS)
        ]
        return torch.cat(parts).double().numpy()
