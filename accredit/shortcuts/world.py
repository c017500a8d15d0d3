r"""A world small enough to know everything: binary features, a label, and the probability of every case.

Trained explainers are judged by quantities that nobody can compute on real data: what the chosen values really say,
$P(y \mid x_S)$; which choice is best; how much the choice itself gives away, $I(Y; M)$; and how much it gives away
*beyond the values it shows*, the encode-meter. With d ≤ 6 features they are sums over at most 64 cases, exact up to
rounding. Every detector and every trainer is first tried here.

Features are −1 or +1, so that 0 can stand for a removed one and x ⊙ m shows which those are. Cases and masks are
numbered by bits: feature i of case (or mask) b is on when bit i of b is set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.coalitions import from_index, to_index
from accredit.errors import InvalidInput

MOST_FEATURES = 6


@dataclass(frozen=True, eq=False)
class World:
    r"""P(x, y) of d binary features and a label. The label may be the truth, or what a black box says (`decided`).

    >>> xor = World.of(2, lambda x: (x[:, 0] * x[:, 1] + 1) / 2)  # y = 1 where the two agree
    >>> round(xor.information([True, False]), 3), round(xor.information([True, True]), 3)  # nats
    (0.0, 0.693)
    >>> xor.answer(np.array([[1.0, 1.0], [1.0, 0.0]]))  # the second row shows one feature only
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    joint: FloatArray  # (2^d, classes)

    def __post_init__(self) -> None:
        table = np.asarray(self.joint, dtype=np.float64)
        d = int(table.shape[0]).bit_length() - 1 if table.ndim == 2 else -1
        if not 1 <= d <= MOST_FEATURES or table.shape[0] != 1 << d or table.shape[1] < 2:
            raise InvalidInput(
                f"joint must be (2^d, classes) with 1 ≤ d ≤ {MOST_FEATURES} and two classes or more, got {table.shape}",
                argument="joint",
                code="shape",
            )
        if not np.isfinite(table).all() or table.min() < 0 or abs(table.sum() - 1) > 1e-9:
            raise InvalidInput(
                f"joint must be probabilities that sum to 1; they sum to {table.sum():g}", argument="joint", code="range"
            )
        table.setflags(write=False)
        object.__setattr__(self, "joint", table)

    @classmethod
    def of(cls, features: int, chance: Callable[[FloatArray], npt.ArrayLike]) -> World:
        """Independent fair features, and `chance(x)`: P(y = 1 | x), or one column per class, for all cases x (2^d, d)."""
        p = np.asarray(chance(_signs(features)), dtype=np.float64)
        return cls((np.stack([1 - p, p], axis=1) if p.ndim == 1 else p) / (1 << features))

    @property
    def features(self) -> int:
        return int(self.joint.shape[0]).bit_length() - 1

    @property
    def classes(self) -> int:
        return int(self.joint.shape[1])

    @cached_property
    def x(self) -> FloatArray:
        """Every case: (2^d, d) of ±1."""
        return _signs(self.features)

    @cached_property
    def masks(self) -> BoolArray:
        """Every mask: (2^d, d)."""
        return from_index(np.arange(1 << self.features), self.features)

    @property
    def prior(self) -> FloatArray:
        """P(y): (classes,)."""
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def given(self) -> FloatArray:
        """P(y | x_S) for every mask S and case x: (masks, cases, classes). What an honest reader of x_S believes.

        This is E[Y | X_S], with the values seen and the choice of S meaning nothing. Where x_S cannot occur: P(y).
        """
        cases = np.arange(len(self.joint))
        believed = np.empty((len(cases), *self.joint.shape))
        for mask in range(len(cases)):
            together = np.zeros_like(self.joint)
            np.add.at(together, cases & mask, self.joint)  # cases that look alike through the mask
            believed[mask] = _rows(together, self.prior)[cases & mask]
        return believed

    def answer(self, shown: npt.ArrayLike) -> FloatArray:
        """P(y | x_S) of rows in which a removed feature is 0: (N, d) -> (N, classes). EVAL-X with perfect training."""
        case, mask = _read(shown, self.features)
        return np.asarray(self.given[mask, case])

    def information(self, mask: npt.ArrayLike) -> float:
        """I(Y; X_S) in nats: what the features of one mask (d,) tell about the label."""
        believed = self.given[to_index(np.asarray(mask, dtype=bool)[None])[0]]
        return _mean_log_ratio(self.joint, believed, self.prior)

    def best_mask(self, k: int) -> BoolArray:
        """The k features that tell most about the label, the same for every case: (d,); ties to the lowest indices."""
        return _first_best([(mask, self.information(mask)) for mask in self._of_size(k)])

    def best_masks(self, k: int) -> BoolArray:
        """For every case its own k features of highest E[log P(Y | x_S) | x] (Chen et al., 2018, Theorem 1): (2^d, d).

        The choice may give something away: a reader who knows it can learn more than the values say; see `Choices`.
        """
        sized = self._of_size(k)
        likely = _rows(self.joint, self.prior)
        gains = np.einsum("mxy,xy->xm", _log(self.given[to_index(sized)]), likely)
        best = np.isclose(gains, gains.max(axis=1, keepdims=True), rtol=0, atol=1e-12).argmax(axis=1)
        return np.asarray(sized[best])

    def _of_size(self, k: int) -> BoolArray:
        if not 1 <= k <= self.features:
            raise InvalidInput(f"k must lie in 1..{self.features}, the number of features; got {k}", argument="k", code="range")
        sized = self.masks[self.masks.sum(axis=1) == k]
        return np.asarray(sized[np.lexsort((~sized).T[::-1])])  # lowest indices first

    def decide(self) -> World:
        """The same features with the label that the most probable answer gives, argmax P(y | x): what ŷ is to Y."""
        hard = np.zeros_like(self.joint)
        hard[np.arange(len(hard)), self.joint.argmax(axis=1)] = self.joint.sum(axis=1)
        return World(hard)

    def choose(self, masks: npt.ArrayLike) -> Choices:
        """The world together with an explainer: one mask per case (2^d, d), or one for all (d,)."""
        picked = np.broadcast_to(np.asarray(masks, dtype=bool), self.x.shape)
        law = np.zeros((len(self.joint), len(self.masks)))
        law[np.arange(len(law)), to_index(picked)] = 1.0
        return self.draw(law)

    def draw(self, law: npt.ArrayLike) -> Choices:
        """The world together with an explainer that draws its mask from P(m | x): (cases, masks)."""
        return Choices(self, self.joint[:, :, None] * np.asarray(law, dtype=np.float64)[:, None, :])

    def sample(self, rows: int, seed: int) -> tuple[FloatArray, IntArray]:
        """Independent draws: features (rows, d) of ±1 and labels (rows,)."""
        drawn = np.random.default_rng(seed).choice(self.joint.size, size=rows, p=self.joint.ravel())
        return self.x[drawn // self.classes], drawn % self.classes


@dataclass(frozen=True, eq=False)
class Choices:
    r"""P(x, y, m): a world and the masks that an explainer chooses in it, and what the choice gives away.

    `cheat` shows feature 0 for one label and feature 1 for the other, whatever their values. Both are noise here, yet
    the mask reveals everything:

    >>> world = World.of(3, lambda x: (x[:, 2] + 1) / 2)
    >>> cheat = world.choose(np.where(world.x[:, 2:] > 0, [True, False, False], [False, True, False]))
    >>> round(cheat.information, 3), round(cheat.encoding, 3)  # nats: I(Y; M) and the encode-meter
    (0.693, 0.693)
    >>> honest = world.choose(world.best_mask(1))
    >>> round(honest.information, 3), round(honest.encoding, 3)
    (0.0, 0.0)
    """

    world: World
    joint: FloatArray  # (cases, classes, masks)

    def __post_init__(self) -> None:
        table = np.asarray(self.joint, dtype=np.float64)
        cases, classes = self.world.joint.shape
        if table.shape != (cases, classes, cases) or table.min() < 0 or abs(table.sum() - 1) > 1e-9:
            raise InvalidInput(
                f"joint must be probabilities of shape ({cases}, {classes}, {cases}) that sum to 1, got {table.shape} "
                f"with sum {table.sum():g}",
                argument="joint",
                code="shape",
            )
        object.__setattr__(self, "joint", table)

    @property
    def of_masks(self) -> FloatArray:
        """P(m): (masks,)."""
        return np.asarray(self.joint.sum(axis=(0, 1)))

    @property
    def labels_given_mask(self) -> FloatArray:
        """P(y | m): (masks, classes); P(y) where the mask never occurs."""
        return _rows(self.joint.sum(axis=0).T, self.joint.sum(axis=(0, 2)))

    @property
    def information(self) -> float:
        """I(Y; M) in nats: what the mask alone says about the label, whatever it shows."""
        return _mean_log_ratio(self.joint.sum(axis=0).T, self.labels_given_mask, self.joint.sum(axis=(0, 2)))

    @cached_property
    def read(self) -> FloatArray:
        """P(y | x_S, M = S), (masks, cases, classes): the best answer from x ⊙ m when the choice is read as well.

        A pair that never occurs is answered by P(y | m): all that is left of what was learned.
        """
        cases = np.arange(len(self.joint))
        believed = np.empty((len(cases), *self.joint.shape[:2]))
        for mask in range(len(cases)):
            together = np.zeros(self.joint.shape[:2])
            np.add.at(together, cases & mask, self.joint[:, :, mask])
            believed[mask] = _rows(together, self.labels_given_mask[mask])[cases & mask]
        return believed

    def answer(self, shown: npt.ArrayLike) -> FloatArray:
        """P(y | x_S, M = S) of rows in which a removed feature is 0: (N, d) -> (N, classes). The perfect surrogate."""
        case, mask = _read(shown, self.world.features)
        return np.asarray(self.read[mask, case])

    @property
    def encoding(self) -> float:
        r"""The encode-meter in nats: $E[\log P(Y \mid X_S, M{=}S) - \log P(Y \mid X_S)]$, what the choice of S adds to
        the values that it shows. It is at least 0, and 0 exactly if the choice is *non-encoding* (Puli et al., 2024).
        """
        flat = self.joint.transpose(2, 0, 1)
        return _mean_log_ratio(flat, self.read, self.world.given)

    @property
    def weights(self) -> FloatArray:
        """w = P(y) / P(y | m): (classes, masks), 0 where a pair never occurs (Bai et al., 2020)."""
        prior = self.joint.sum(axis=(0, 2))[:, None]
        likely = self.labels_given_mask.T
        return np.asarray(np.divide(prior, likely, out=np.zeros_like(likely), where=likely > 0))

    def expectation(self, loss: FloatArray, weights: FloatArray | float = 1.0) -> float:
        """E[w · loss] with loss (cases, classes, masks) and weights that broadcast to it."""
        return float((self.joint * loss * weights).sum())

    def neutral(self) -> Choices:
        """The mask-neutral world: the same masks as often, drawn without looking, P(x, y) P(m)."""
        return Choices(self.world, self.world.joint[:, :, None] * self.of_masks)

    def select(self, kept: npt.ArrayLike) -> Choices:
        """What is seen when a row survives with probability `kept`, which broadcasts to (cases, classes, masks)."""
        left = self.joint * np.asarray(kept, dtype=np.float64)
        return Choices(self.world, left / left.sum())

    def sample(self, rows: int, seed: int) -> tuple[FloatArray, BoolArray, IntArray]:
        """Independent draws: features (rows, d), masks (rows, d) and labels (rows,)."""
        drawn = np.random.default_rng(seed).choice(self.joint.size, size=rows, p=self.joint.ravel() / self.joint.sum())
        case, label, mask = np.unravel_index(drawn, self.joint.shape)
        return self.world.x[case], self.world.masks[mask], np.asarray(label, dtype=np.int64)


def look_at(world: World) -> IntArray:
    """The number of x ⊙ m among all 3^d, for every case and mask: (cases, masks). A function of x ⊙ m is a table of them."""
    shown = world.x[:, None, :] * world.masks[None]
    return np.asarray((shown + 1) @ 3 ** np.arange(world.features), dtype=np.int64)


def _signs(features: int) -> FloatArray:
    return np.where(from_index(np.arange(1 << features), features), 1.0, -1.0)


def _read(shown: npt.ArrayLike, features: int) -> tuple[IntArray, IntArray]:
    """Case and mask numbers of rows of −1, 0, +1."""
    rows = np.asarray(shown, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != features or not np.isin(rows, (-1.0, 0.0, 1.0)).all():
        raise InvalidInput(
            f"rows must be (N, {features}) of −1, 0 (removed) and +1, got shape {rows.shape}", argument="rows", code="shape"
        )
    return to_index(rows > 0), to_index(rows != 0)


def _rows(table: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Every row scaled to sum 1; rows without mass become `otherwise`."""
    mass = table.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(mass > 0, table / np.where(mass > 0, mass, 1.0), otherwise))


def _log(p: FloatArray) -> FloatArray:
    return np.log(np.maximum(p, 1e-300))


def _mean_log_ratio(weight: FloatArray, over: FloatArray, under: FloatArray) -> float:
    """Σ weight · log(over / under), cases without weight left out."""
    return float((weight * (_log(over) - _log(np.broadcast_to(under, over.shape))) * (weight > 0)).sum())


def _first_best(worth: list[tuple[BoolArray, float]]) -> BoolArray:
    """The first mask whose worth is the largest, up to rounding."""
    most = max(value for _, value in worth)
    return next(mask for mask, value in worth if value >= most - 1e-12)
