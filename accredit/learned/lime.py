r"""LIME: a ridge regression of the payoff on who plays, close to the whole input (Ribeiro, Singh & Guestrin, 2016).

$$\beta = \arg\min_{\beta, c} \sum_S \pi(S)\,\bigl(v(S) - c - \textstyle\sum_{i \in S} \beta_i\bigr)^2 + \lambda |\beta|^2,
  \qquad \pi(S) = e^{-d(S)^2 / 2\sigma^2}, \quad d(S) = 1 - \sqrt{|S| / n}$$

d is the cosine distance of a coalition from the whole. Coalitions lose a number of players drawn uniformly from 1 … n
(the law for texts) or every player by a fair coin (the law for pictures). β divides nothing: its entries are slopes of
one local line, and how well the line fits is reported with them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Holds,
    InvalidInput,
    Selection,
    payoffs,
)
from accredit.learned.inputs import SEEDS, Array, BlackBox, Inputs, answers_of, checked_k, one_input, top, whole
from accredit.values.sampling import described
from accredit.values.solver import progress as progress_bar

LAWS = {"sizes": "a uniform number of players removed", "coins": "every player removed with chance ½"}
RANKS = ("magnitude", "support")
ASKED_AT_ONCE = 4096  # masked inputs in one call of the black box
SCREEN = 0.01  # ridge of the first fit, which only chooses the features
NO_INTERVAL = (
    "none: the spread of the slopes over other draws of coalitions is not estimated; run another seed to see it"
)


def drawn(n: int, count: int, law: str, rng: np.random.Generator) -> BoolArray:
    """Coalitions to ask, the whole input first: (count, n)."""
    if law == "coins":
        kept = rng.random((count, n)) < 0.5
    else:
        removed = rng.integers(1, n + 1, size=count)
        kept = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1) >= removed[:, None]
    kept[0] = True
    return kept


def proximity(coalitions: BoolArray, width: float) -> FloatArray:
    """The kernel π: one weight a coalition, 1 for the whole.

    >>> proximity(np.array([[True, True], [False, False]]), width=1.0).round(4)
    array([1.    , 0.6065])
    """
    distance = 1 - np.sqrt(coalitions.mean(axis=1))
    return np.asarray(np.exp(-0.5 * (distance / width) ** 2))


def ridge_readout(coalitions: BoolArray, weights: FloatArray, ridge: float) -> FloatArray:
    """The matrix that turns payoffs into slopes and, in its last row, the intercept: (n + 1, count).

    The intercept is not shrunk, so the fit is that of centred data. The smaller of the two normal equations is solved:
    O(count·n·min(count, n)).

    >>> whole_and_parts = np.array([[True, True], [True, False], [False, True], [False, False]])
    >>> ridge_readout(whole_and_parts, np.ones(4), ridge=0.0) @ np.array([9.0, 4.0, 6.0, 1.0])
    array([3., 5., 1.])
    """
    share = weights / weights.sum()
    z = coalitions - share @ coalitions
    root = np.sqrt(weights)
    scaled = root[:, None] * z
    count, n = z.shape
    if n <= count:
        slopes = np.linalg.solve(scaled.T @ scaled + ridge * np.eye(n), scaled.T)
    else:
        slopes = np.linalg.solve(scaled @ scaled.T + ridge * np.eye(count), scaled).T
    slopes = slopes * root  # reads payoffs as they are: z is centred, so a constant payoff has no slopes
    intercept = share - (share @ coalitions) @ slopes
    return np.concatenate([slopes, intercept[None]])


@dataclass(frozen=True)
class Lime:
    """LIME of any game. `features` keeps only that many players, refitted; None keeps all.

    The players kept are those of largest |β| in a nearly unshrunk fit (ridge 0.01), then the line is fitted again to them
    with `ridge`. Cost: `budget` payoffs and O(budget·n·min(budget, n)) arithmetic.

    >>> from accredit.games import FunctionGame
    >>> additive = FunctionGame("abc", lambda coalitions: coalitions @ np.array([3.0, -1.0, 0.0]))
    >>> Lime(budget=200, ridge=1e-9).solve(additive).credit.round(6) + 0.0
    array([ 3., -1.,  0.])
    """

    budget: int = 1000
    features: int | None = None
    law: str = "sizes"
    width: float = 0.25
    ridge: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("budget", "features"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
                raise InvalidInput(f"{name} must be a whole number of at least 1, got {value!r}; write {name}=500")
        whole("seed", self.seed, 0, SEEDS)
        if self.law not in LAWS:
            raise InvalidInput(f"law must be one of {', '.join(LAWS)}, got {self.law!r}")
        if not self.width > 0 or not self.ridge > 0:
            raise InvalidInput(f"width and ridge must be positive, got {self.width!r} and {self.ridge!r}")

    def solve(self, game: Game) -> Attribution:
        """Slopes of the local line of `game`."""
        n = len(game.players)
        if self.features is not None and self.features > n:
            raise InvalidInput(f"features={self.features} is more than the {n} players; leave it out to keep all")
        coalitions = drawn(n, self.budget, self.law, np.random.default_rng(self.seed))
        earned, near = payoffs(game, coalitions), proximity(coalitions, self.width)
        kept = np.ones(n, dtype=bool)
        if self.features is not None and self.features < n:
            screen = ridge_readout(coalitions, near, SCREEN)[:-1] @ earned
            kept = top(np.abs(screen)[None], self.features)[0]
        fit = ridge_readout(coalitions[:, kept], near, self.ridge) @ earned
        credit = np.zeros(n)
        credit[kept] = fit[:-1]
        line = coalitions @ credit + fit[-1]
        return Attribution(
            game.players,
            credit,
            None,
            described("lime", self),
            _claims(self.features is None or self.features >= n),
            interval_because=NO_INTERVAL,
            payoffs=self.budget,
            seed=self.seed,
            stopped=f"the budget of {self.budget} payoffs is spent",
            certificate={
                "fit": fit_of(earned, line, near),
                "intercept": float(fit[-1]),
                "error at the input": float(line[0] - earned[0]),
            },
        )


def fit_of(earned: FloatArray, line: FloatArray, near: FloatArray) -> float:
    """Weighted R² of the line: 1 is perfect, 0 no better than a constant."""
    spread = float(near @ (earned - np.average(earned, weights=near)) ** 2)
    return 1.0 - float(near @ (earned - line) ** 2) / spread if spread > 0 else 1.0


def _claims(all_kept: bool) -> tuple[Claim, ...]:
    chosen = "which players are kept depends on the payoffs"
    return (
        Claim("efficiency", Holds.NO, "slopes of a local line do not add up to v(N) − v(∅)"),
        Claim("symmetry", Holds.IN_EXPECTATION, "the draw treats all players alike, and so does the fit")
        if all_kept
        else Claim("symmetry", Holds.NO, "of two equal players the line may keep one and drop the other"),
        Claim("null player", Holds.NO, "a line fitted to synergies leans on players that add nothing"),
        Claim(
            "linearity",
            Holds.EXACTLY,
            "a fixed linear function of the payoffs: the same seed draws the same coalitions",
        )
        if all_kept
        else Claim("linearity", Holds.NO, chosen),
    )


@final
class LimeExplainer:
    """LIME for many inputs of one black box: a line a row, and the `k` players of largest slope.

    v(S) is the probability of the class that the black box gives the whole input. `rank` "magnitude" chooses by |β|, as
    LIME does; "support" by β, so that only players speaking for the answer come first. Nothing is trained: `fit` takes the
    black box. Rows with as many players share their coalitions and so one factorisation; cost: `lime.budget` calls a row.

    >>> from accredit.learned import Tabular
    >>> def black_box(x):
    ...     p = 1 / (1 + np.exp(-x @ np.array([2.0, 0.0, -1.0])))
    ...     return np.stack([1 - p, p], axis=1)
    >>> explainer = LimeExplainer(Tabular(3), k=1).fit(np.ones((2, 3)), black_box)
    >>> explainer.select(np.ones((1, 3)))
    array([[ True, False, False]])
    """

    def __init__(self, inputs: Inputs, k: int, lime: Lime = Lime(), rank: str = "magnitude") -> None:
        if rank not in RANKS:
            raise InvalidInput(f"rank must be one of {', '.join(RANKS)}, got {rank!r}")
        if lime.features is not None:
            raise InvalidInput(f"lime.features={lime.features}: the number of players chosen is k; leave features out")
        self.inputs, self.k, self.lime, self.rank = inputs, checked_k(k, inputs.n), lime, rank
        self.black_box: BlackBox | None = None
        self.history: dict[str, Any] = {}

    def fit(
        self, x: npt.ArrayLike, black_box: BlackBox, labels: Any = None, seed: int = 0, progress: bool = False
    ) -> LimeExplainer:
        """Take the black box and the seed; `x` is only checked, `labels` are not needed."""
        self.inputs.check(x)
        self.black_box, self.lime = black_box, replace(self.lime, seed=seed)
        self.history = {"seconds": 0.0, "stopped_because": "LIME trains nothing: every input gets its own line"}
        return self

    def lines(self, x: npt.ArrayLike, progress: bool = False) -> tuple[FloatArray, FloatArray]:
        """Slopes (N, n), zero for players that do not exist, and the R² of every line (N,)."""
        if self.black_box is None:
            raise InvalidInput("this explainer has no black box yet; call fit(x, black_box) first")
        rows = self.inputs.check(x)
        there = self.inputs.present(rows)
        counts, began = there.sum(axis=1), time.monotonic()
        slopes, fits = np.zeros(there.shape), np.ones(len(rows))
        with progress_bar("lime", len(rows) if progress else 0) as bar:
            done = 0
            for count in np.unique(counts[counts > 0]):
                coalitions = drawn(count, self.lime.budget, self.lime.law, np.random.default_rng(self.lime.seed))
                near = proximity(coalitions, self.lime.width)
                readout = ridge_readout(coalitions, near, self.lime.ridge)
                for row in np.flatnonzero(counts == count):
                    earned = self._earned(rows[row], there[row], coalitions)
                    line = readout @ earned
                    slopes[row, there[row]] = line[:-1]
                    fits[row] = fit_of(earned, coalitions @ line[:-1] + line[-1], near)
                    done += 1
                    bar.update(done)
        self.history["seconds"] = time.monotonic() - began
        return slopes, fits

    def scores(self, x: npt.ArrayLike) -> FloatArray:
        """What players are chosen by: |slope| or slope, (N, n)."""
        return self._ranked(self.lines(x)[0])

    def select(self, x: npt.ArrayLike, k: int | None = None) -> BoolArray:
        """The k players of highest score in every row: (N, n)."""
        return top(self.scores(x), self.k if k is None else k, self.inputs.present(self.inputs.check(x)))

    def explain(self, one: npt.ArrayLike, names: Sequence[str] | None = None) -> Selection:
        """The players chosen for one input, with their slopes and how well the line fits."""
        row, named, present = one_input(self.inputs, one, names)
        slopes, fits = self.lines(row)
        chosen = top(self._ranked(slopes), self.k, present[None])[0, present]
        return Selection(
            named,
            chosen,
            described("lime", self.lime),
            f"{int(chosen.sum())} players by {self.rank} of slope; coalitions: {LAWS[self.lime.law]}; "
            f"{self.inputs.describe()}",
            slopes[0, present],
            self.lime.seed,
            certificate={"fit": float(fits[0])},
        )

    def _ranked(self, slopes: FloatArray) -> FloatArray:
        return np.abs(slopes) if self.rank == "magnitude" else slopes

    def _earned(self, one: Array, there: BoolArray, coalitions: BoolArray) -> FloatArray:
        """Probability of the whole input's class for every coalition of its players: (count, p) -> (count,)."""
        assert self.black_box is not None
        earned, target = np.empty(len(coalitions)), -1
        for start in range(0, len(coalitions), ASKED_AT_ONCE):
            part = coalitions[start : start + ASKED_AT_ONCE]
            masks = np.ones((len(part), self.inputs.n), dtype=bool)
            masks[:, there] = part
            many = np.broadcast_to(one, (len(part), *one.shape))
            answers = answers_of(self.black_box, self.inputs.keep(many, masks))
            target = int(answers[0].argmax()) if target < 0 else target  # the first coalition is the whole input
            earned[start : start + len(part)] = answers[:, target]
        return earned
