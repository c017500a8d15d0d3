r"""Intervals for predicted credit that hold over rows: split-conformal calibration on rows whose values are known.

With scores $s_r = |\phi_r - \hat\phi_r| / \sigma_r$ of m calibration rows, the interval $\hat\phi \pm \sigma\, s_{(k)}$,
$k = \lceil (m + 1)\,\ell \rceil$, holds $\phi$ with probability at least ℓ when a new row is exchangeable with the
calibration rows (Vovk et al., 2005; Lei et al., 2018). It is a statement about rows drawn like those, on average; not about
each row.

Four statements can be asked for (`per`):

- "player": each player's interval holds in a share ℓ of rows. Needs the same players in every row.
- "rank": where rows have players of their own, such as words: the interval of the player with the largest predicted credit
  holds in a share ℓ of rows, likewise that of the second largest, and so on, each among the rows that have so many players.
  Ranks that too few calibration rows reach share one width, for a player drawn from them.
- "drawn player": that of a player drawn at random from a new row does (every calibration row counts once, whatever its
  number of players: Lee, Barber and Willett, 2023). It may hold less often for large credits than for small ones.
- "row": all players of a row hold at once, in a share ℓ of rows.

**Calibration values that are estimates themselves** have an error. Let $e_r$ be the half-width of an interval that misses the
value of a calibration row with probability at most δ. Scores $(|\tilde\phi_r - \hat\phi_r| + e_r)/\sigma_r$ are
exchangeable too, and each is at least the true score but for a chance of δ. So their quantile at level ℓ + δ gives an interval
that holds with probability at least ℓ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict, final

import numpy as np
from scipy.special import ndtri

from accredit import defaults
from accredit.core import BoolArray, FloatArray, IntArray
from accredit.core.estimate import check_level
from accredit.errors import InvalidInput

Per = Literal["player", "rank", "drawn player", "row"]
PER: tuple[Per, ...] = ("player", "rank", "drawn player", "row")
SPENT = 0.2  # of 1 − level that goes to the error of estimated calibration values
REPORTED_LEVEL = 0.95  # the level of the intervals that estimators report
WORTH = 0.95  # a difficulty is used if it makes intervals narrower than this share
TUNED = 60  # calibration rows from which a third is set aside to learn the difficulty
ASIDE = 100  # at most: more rows would not learn three numbers much better, and every row set aside blurs the quantile
FINEST_CREDIT = 0.1  # of a typical credit: no row is predicted to be easier than a credit of this size


@final
@dataclass(frozen=True, eq=False)
class Reference:
    """Values of calibration rows, and how far off they may be: 0 where they are exact, infinite where nobody knows, which
    counts as a miss. Players that a row lacks are NaN."""

    values: FloatArray  # (m, n, outputs)
    reach: FloatArray  # (m, n, outputs): half-width of the reported 95 % interval

    def __post_init__(self) -> None:
        if self.values.shape != self.reach.shape or self.values.ndim != 3:
            raise InvalidInput(
                f"values {self.values.shape} and reach {self.reach.shape} must be (rows, players, outputs)",
                argument="values",
                code="shape",
            )

    @property
    def exact(self) -> bool:
        return not np.nan_to_num(self.reach).any()

    def __getitem__(self, rows: IntArray | BoolArray | slice) -> Reference:
        return Reference(self.values[rows], self.reach[rows])


@final
@dataclass(frozen=True, eq=False)
class Difficulty:
    """How hard a credit is to predict: log σ is linear in the logarithms of its own size and of its row's mean size.

    `slopes` (outputs, 3) hold the constant and both slopes; `typical` (outputs,) is the mean size of a credit.
    """

    slopes: FloatArray
    typical: FloatArray

    @classmethod
    def even(cls, outputs: int) -> Difficulty:
        """The same for every credit."""
        return cls(np.zeros((outputs, 3)), np.ones(outputs))

    @classmethod
    def learn(cls, credit: FloatArray, missed: FloatArray) -> Difficulty:
        """From predictions and how far each of them was off: (m, n, outputs) both."""
        outputs = credit.shape[2]
        typical = np.maximum(np.nanmean(np.abs(credit), axis=(0, 1)), 1e-12)
        even = cls(np.zeros((outputs, 3)), typical)
        slopes = np.zeros((outputs, 3))
        for k, terms in enumerate(np.moveaxis(even._terms(credit), -2, 0)):  # (m, n, 3) each
            wanted = np.log(missed[..., k] / typical[k] + 1e-3)
            known = np.isfinite(wanted)
            slopes[k] = np.linalg.lstsq(terms[known], wanted[known], rcond=1e-9)[0]
        return cls(slopes, typical)

    def of(self, credit: FloatArray) -> FloatArray:
        """σ of every predicted credit: (N, n, outputs) -> the same."""
        return np.asarray(np.exp(np.clip(np.einsum("...kt,kt->...k", self._terms(credit), self.slopes), -20, 20)))

    def _terms(self, credit: FloatArray) -> FloatArray:
        size = np.abs(credit) / self.typical
        own = np.log(size + FINEST_CREDIT)
        mean = np.log(np.nanmean(size, axis=1, keepdims=True) + FINEST_CREDIT)
        return np.stack([np.ones_like(own), own, np.broadcast_to(mean, own.shape)], axis=-1)


class WrittenCalibration(TypedDict):
    """A `ConformalWidths` as JSON."""

    level: float
    per: Per
    radius: list[list[float]]
    slopes: list[list[float]]
    typical: list[float]
    rows: int
    exact: bool
    narrower: float | None


@final
@dataclass(frozen=True, eq=False)
class ConformalWidths:
    """Half-widths that hold, for the level and the statement they were made for."""

    level: float
    per: Per
    radius: FloatArray  # (n, outputs) for "player"; (ranks, outputs) for "rank"; (1, outputs) else
    difficulty: Difficulty
    rows: int  # that calibrated it
    exact: bool  # whether their values were exact
    narrower: float | None = None  # width with a difficulty over width without, on rows set aside; None: not tried

    def half_widths(self, credit: FloatArray) -> FloatArray:
        """Half the width of every interval: predicted credit (N, n, outputs) -> the same."""
        radius = self.radius
        if self.per == "rank":
            radius = radius[np.minimum(ranks(credit), len(radius) - 1), np.arange(radius.shape[1])]
        return np.asarray(radius * self.difficulty.of(credit))

    @property
    def because(self) -> str:
        """What the intervals rest on, in one sentence."""
        whom = {
            "player": "each player's interval holds",
            "row": "all intervals of a row and output hold at once",
            "drawn player": "the interval of a player drawn from a row holds",
            "rank": "the interval of each rank (the largest credit, the second largest, …) holds",
        }[self.per]
        values = "exact values" if self.exact else "estimated values, whose own error is added"
        return (
            f"split conformal: {whom} in {self.level:.0%} of rows drawn like the {self.rows} calibration rows with {values}; "
            "on average over rows, not for each one"
        )

    def to_plain(self) -> WrittenCalibration:
        """Everything as JSON types."""
        return {
            "level": self.level,
            "per": self.per,
            "radius": self.radius.tolist(),
            "slopes": self.difficulty.slopes.tolist(),
            "typical": self.difficulty.typical.tolist(),
            "rows": self.rows,
            "exact": self.exact,
            "narrower": self.narrower,
        }

    @classmethod
    def from_plain(cls, data: WrittenCalibration) -> ConformalWidths:
        """Inverse of `to_plain`."""
        difficulty = Difficulty(np.array(data["slopes"], dtype=float), np.array(data["typical"], dtype=float))
        return cls(
            float(data["level"]),
            data["per"],
            np.array(data["radius"], dtype=float),
            difficulty,
            int(data["rows"]),
            bool(data["exact"]),
            data["narrower"],
        )


def rows_needed(level: float, exact: bool = True) -> int:
    """The fewest calibration rows with which an interval of this level is finite.

    >>> rows_needed(0.9), rows_needed(0.95), rows_needed(0.95, exact=False)
    (9, 19, 24)
    """
    reached = level if exact else level + SPENT * (1 - level)
    return math.ceil(round(reached / (1 - reached), 9))


def calibrate(
    credit: FloatArray, known: Reference, level: float = defaults.LEVEL, per: Per = "player", seed: int = 0
) -> ConformalWidths:
    """Intervals around predictions (m, n, outputs) from the known values of the same m rows.

    With 60 rows or more, a third of them (100 at most) learns how hard a credit is to predict; the difficulty is used if it
    makes intervals narrower on those rows, by halves. The other rows alone decide the width.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(99, 2, 1))
    >>> exact = Reference(truth, np.zeros_like(truth))
    >>> calibrate(truth + 0.1 * rng.normal(size=truth.shape), exact, level=0.9).radius.shape
    (2, 1)
    """
    if per not in PER:
        raise InvalidInput(f"per is {per!r}; write one of {', '.join(map(repr, PER))}", argument="per", code="unknown")
    if check_level(level) is None:
        raise InvalidInput("level is missing; write a share between 0 and 1 such as 0.95", argument="level", code="missing")
    if credit.shape != known.values.shape:
        raise InvalidInput(
            f"credit has shape {credit.shape} and the known values {known.values.shape}; they must match",
            argument="credit",
            code="shape",
        )
    if per == "player" and np.isnan(known.values).any():
        raise InvalidInput(
            "per is 'player', and some rows lack players; write per='rank', per='drawn player' or per='row'",
            argument="per",
            code="conflict",
        )
    order = np.random.default_rng(seed).permutation(len(credit))
    aside = min(len(credit) // 3, ASIDE) if len(credit) >= TUNED else 0
    tuned, rest = order[:aside], order[aside:]
    needed = rows_needed(level, known.exact)
    if len(rest) < needed:
        raise InvalidInput(
            f"{len(rest)} calibration rows are too few for intervals at level {level:g}; give {needed} or more, or a lower "
            "level",
            code="range",
        )
    difficulty, narrower = _useful(credit[tuned], known[tuned], level, per)
    radius = _radius(credit[rest], known[rest], difficulty, level, per)
    if not np.isfinite(radius).all():
        unknown = int(np.isinf(known.reach).any(axis=(1, 2)).sum())
        raise InvalidInput(
            f"the error of {unknown} of {len(credit)} calibration values is unknown, too many for an interval; raise the "
            "budget of each",
            code="too-many",
        )
    return ConformalWidths(level, per, radius, difficulty, len(rest), known.exact, narrower)


def _useful(credit: FloatArray, known: Reference, level: float, per: Per) -> tuple[Difficulty, float | None]:
    """A learned difficulty, if it narrows intervals: learned on one half and tried on the other, both ways."""
    even = Difficulty.even(known.values.shape[2])
    if not len(credit):
        return even, None
    missed = np.abs(known.values - credit)
    halves = np.arange(len(credit)) % 2 == 0
    widths = []
    for learn, test in ((halves, ~halves), (~halves, halves)):
        found = Difficulty.learn(credit[learn], missed[learn])
        widths.append([_width(credit[test], missed[test], one, level) for one in (found, even)])
    with_it, without = np.sum(widths, axis=0)
    narrower = float(with_it / without) if without > 0 else 1.0
    return (Difficulty.learn(credit, missed) if narrower < WORTH else even), narrower


def _width(credit: FloatArray, missed: FloatArray, difficulty: Difficulty, level: float) -> float:
    """The geometric mean of the half-widths: a few large credits with wide intervals do not decide it."""
    sigma = np.where(np.isnan(missed), np.nan, difficulty.of(credit))
    return float(np.nanquantile(missed / sigma, level) * np.exp(np.nanmean(np.log(sigma))))


def _radius(credit: FloatArray, known: Reference, difficulty: Difficulty, level: float, per: Per) -> FloatArray:
    reached = level if known.exact else level + SPENT * (1 - level)
    missed = np.abs(known.values - credit)
    if not known.exact:
        many = np.isfinite(known.values).sum(axis=1, keepdims=True) if per == "row" else 1  # all must hold at once
        missed = missed + known.reach * ndtri(1 - SPENT * (1 - level) / (2 * many)) / ndtri((1 + REPORTED_LEVEL) / 2)
    scores = missed / difficulty.of(credit)
    if per == "row":
        scores = np.nanmax(scores, axis=1, keepdims=True)
    if per == "drawn player":
        return np.stack([pooled_quantile(scores[..., k], reached) for k in range(scores.shape[2])], axis=-1)[None]
    if per == "rank":
        return _by_rank(np.take_along_axis(scores, ranks(credit).argsort(axis=1), axis=1), reached)
    return conformal_quantile(scores, reached)


def ranks(credit: FloatArray) -> IntArray:
    """The place of every credit among those of its row and output by size, from 0; absent players come last.

    >>> ranks(np.array([[[1.0], [-3.0], [np.nan], [2.0]]]))[0, :, 0]
    array([2, 0, 3, 1])
    """
    size = np.where(np.isnan(credit), -1.0, np.abs(credit))
    return (-size).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")


def _by_rank(scores: FloatArray, level: float) -> FloatArray:
    """A quantile for every rank that enough rows reach, the last of them for all ranks from there on: (ranks, outputs)."""
    there = ~np.isnan(scores[..., 0])  # (m, n)
    enough = int((there.sum(axis=0) >= rows_needed(level)).sum())  # fewer rows reach every further rank
    last = max(enough - 1, 0)
    own = [conformal_quantile(scores[there[:, r], r], level) for r in range(last)]
    rest = scores[there[:, last], last:]
    return np.stack([*own, [pooled_quantile(rest[..., k], level) for k in range(scores.shape[2])]])


def conformal_quantile(scores: FloatArray, level: float) -> FloatArray:
    """The ⌈(m + 1) level⌉-th smallest of m scores, along the first axis.

    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9)
    array(9.)
    """
    rank = math.ceil(round((len(scores) + 1) * level, 9))
    if rank > len(scores):
        raise InvalidInput(
            f"{len(scores)} scores have no quantile at level {level:g}; give {rows_needed(level)} or more",
            argument="scores",
            code="range",
        )
    return np.asarray(np.sort(scores, axis=0)[rank - 1])


def pooled_quantile(scores: FloatArray, level: float) -> float:
    """The same over players of rows that have different numbers of them (NaN: absent); every row counts once. A score may be
    infinite: a miss.

    A new row, of which nothing is known yet, counts as one more with infinite scores.

    >>> pooled_quantile(np.array([[1.0, 3.0], [2.0, np.nan]]), 0.5)
    2.0
    """
    there = ~np.isnan(scores)
    counts = there.sum(axis=1, keepdims=True)
    if (counts == 0).any():
        raise InvalidInput("a calibration row has no players; leave it out", code="empty")
    weight = np.broadcast_to(1 / counts, scores.shape)[there] / (len(scores) + 1)
    order = np.argsort(scores[there], kind="stable")
    reached = np.cumsum(weight[order])
    place = int(np.searchsorted(reached, level - 1e-12))
    if place == len(reached):
        raise InvalidInput(
            f"{len(scores)} rows have no quantile at level {level:g}; give {rows_needed(level)} or more",
            argument="scores",
            code="range",
        )
    return float(scores[there][order][place])
