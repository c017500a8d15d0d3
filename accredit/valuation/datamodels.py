r"""Datamodels: predict what a model trained on a random part of the rows will answer, from which rows they were.

$$f_t(S) \approx b_t + \sum_i w_{it}\,1[i \in S], \qquad S \sim \text{Bernoulli}(p)^N$$

(Ilyas et al., 2022). The weights depend on p, which is recorded. By plain least squares they are, in the limit of many
subsets, the semivalue that meets coalitions of Bernoulli(p) members; with a lasso or ridge, which need far fewer subsets, they
are that plus shrinkage. A lasso suits few rows that matter, ridge many that matter a little: held-out subsets say which.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Games,
    Holds,
    IntArray,
    Precision,
    Procedure,
    every_payoff,
    payoffs,
)
from accredit.core.game import check_coalitions, check_names, check_players
from accredit.core.multi_target import Predicting, retrain
from accredit.core.statistics import units
from accredit.errors import InvalidInput
from accredit.valuation.datamodel_ridge import MEMORY_AT_MOST, check_memory, ridge
from accredit.valuation.harmonics import harmonic_facts
from accredit.valuation.subsets import random_subsets
from accredit.values.lasso import gram, lasso

Shrinkage = Literal["least squares", "lasso", "ridge"]
LASSO_ROWS = 2_000  # beyond which a lasso, whose steps cost rows × rows, is not tried
PENALTIES = np.geomspace(1.0, 0.02, 12)  # of the smallest penalty that silences a target
SUBSETS_HELD_OUT = 0.2  # of the subsets, to choose the penalty


@dataclass(frozen=True, eq=False)
class Datamodels:
    """One linear model per target: which rows raise its output when they are in the training set.

    >>> from accredit.games import FunctionGame
    >>> fitted = datamodels(FunctionGame("abc", lambda coalitions: coalitions @ [3.0, 1.0, -2.0]), subsets=50, penalty=0)
    >>> fitted.targets, fitted.predict(np.array([[True, False, True]])).round(6).tolist()
    (('payoff',), [[1.0]])
    """

    players: tuple[str, ...]
    targets: tuple[str, ...]
    weights: FloatArray  # (N, T)
    intercepts: FloatArray  # (T,)
    fraction: float  # p: the chance that a row is in a subset
    shrinkage: Shrinkage
    penalties: FloatArray  # (T,); zero: plain least squares
    subsets: int
    held_out: FloatArray | None  # (T,) R² on subsets held out to choose by; None: none were
    seed: int
    certificate: dict[str, object] = field(default_factory=dict)

    def predict(self, coalitions: BoolArray) -> FloatArray:
        """Predicted outputs of models trained on these rows: (batch, N) -> (batch, T)."""
        return np.asarray(check_coalitions(coalitions, len(self.players)) @ self.weights + self.intercepts)

    def attribution(self, target: str | None = None) -> Attribution:
        """Scores of the rows for one target, or averaged over all; positive: having the row raises the output."""
        if target is not None and target not in self.targets:
            raise InvalidInput(
                f"unknown target {target!r}; the targets are {', '.join(self.targets[:5])}, …",
                argument="target",
                code="unknown",
            )
        column = self.weights.mean(axis=1) if target is None else self.weights[:, self.targets.index(target)]
        plain = self.shrinkage == "least squares"
        facts = {"fraction": self.fraction, "subsets": self.subsets}
        if self.held_out is not None:
            facts["held-out R²"] = float(np.median(self.held_out))
        return Attribution(
            self.players,
            column,
            total=None,
            method=Procedure("datamodel", settings={"shrinkage": self.shrinkage, "p": self.fraction, "subsets": self.subsets}),
            claims=CLAIMS[self.shrinkage](),
            precision=Precision.unknown("none is computed" if plain else "the weights are shrunk"),
            payoffs=self.subsets,
            seed=self.seed,
            stopped=f"{self.subsets} subsets",
            certificate=facts | self.certificate,
        )


def _least_squares_claims() -> tuple[Claim, ...]:
    limit = "tends to a binomial semivalue as the subsets grow in number"
    return (
        Claim("efficiency", Holds.NO, "a binomial semivalue does not share exactly v(N) − v(∅)"),
        Claim("symmetry", Holds.IN_THE_LIMIT, limit),
        Claim("null player", Holds.IN_THE_LIMIT, limit),
        Claim("linearity", Holds.EXACTLY, "for given subsets the weights are a fixed linear function of the outputs"),
    )


def _lasso_claims() -> tuple[Claim, ...]:
    return (
        Claim("efficiency", Holds.NO, "the weights are shrunk towards zero"),
        Claim("symmetry", Holds.UNKNOWN, "a lasso may pick one of two equal rows"),
        Claim("null player", Holds.UNKNOWN, "mostly set to zero, but noise may pick a row"),
        Claim("linearity", Holds.NO, "shrinkage is not linear in the outputs"),
    )


def _ridge_claims() -> tuple[Claim, ...]:
    return (
        Claim("efficiency", Holds.NO, "the weights are shrunk towards zero"),
        Claim("symmetry", Holds.IN_EXPECTATION, "random subsets treat equal rows alike, and so does the fit"),
        Claim("null player", Holds.UNKNOWN, "small, but noise is never shrunk to nothing"),
        Claim("linearity", Holds.NO, "the penalty is chosen by the outputs"),
    )


CLAIMS = {"least squares": _least_squares_claims, "lasso": _lasso_claims, "ridge": _ridge_claims}


@check_arguments
def datamodels(
    game: Game,
    subsets: int,
    *,
    fraction: float = 0.5,
    seed: int = 0,
    penalty: float | None = None,
    memory: float = MEMORY_AT_MOST,
) -> Datamodels:
    """Retrain on `subsets` random parts of the rows and fit one linear model for each target of the game.

    By lasso or ridge, whichever predicts a fifth of the subsets, held out, better; every target has its own penalty. Beyond
    2,000 rows only ridge is tried. `penalty` is that of a lasso; `penalty=0` asks for plain least squares, which needs more
    subsets than rows. Sizes are estimated, and refused before anything is trained where `memory` does not allow them. A game
    without targets has its outputs as targets, or itself as the only one. The certificate holds how much of the mean output is
    linear in who takes part, which is all that weights can predict. Costs `subsets` trainings, which a durable game keeps
    for every other method.

    >>> from accredit.games import FunctionGame
    >>> game = FunctionGame("abcd", lambda coalitions: coalitions @ np.array([3.0, 1.0, 0.5, -2.0]))
    >>> datamodels(game, subsets=200, penalty=0).attribution().credit.round(3)
    array([ 3. ,  1. ,  0.5, -2. ])
    """
    if penalty is None:
        check_memory(subsets, len(game.players), len(getattr(game, "targets", ())) or 1, memory)
    masks = random_subsets(len(game.players), subsets, fraction, seed)
    if isinstance(game, Predicting) and game.targets:
        outputs, targets = retrain(game, masks)[1], game.targets
    elif isinstance(game, Games):
        outputs, targets = every_payoff(game, masks), game.outputs
    else:
        outputs, targets = payoffs(game, masks)[:, None], ("payoff",)
    fitted = fit_datamodels(game.players, targets, masks, outputs, fraction=fraction, seed=seed, penalty=penalty, memory=memory)
    return replace(fitted, certificate=fitted.certificate | harmonic_facts(masks, outputs.mean(axis=1), fraction))


@check_arguments
def fit_datamodels(
    players: tuple[str, ...],
    targets: tuple[str, ...],
    masks: BoolArray,
    outputs: FloatArray,
    *,
    fraction: float,
    seed: int = 0,
    penalty: float | None = None,
    memory: float = MEMORY_AT_MOST,
) -> Datamodels:
    """Fit to given subsets (m, N) and outputs (m, T).

    >>> masks = random_subsets(3, 50, fraction=0.5, seed=0)
    >>> outputs = masks @ np.array([[3.0], [1.0], [-2.0]])
    >>> fitted = fit_datamodels(("a", "b", "c"), ("loss",), masks, outputs, fraction=0.5, penalty=0)
    >>> fitted.weights[:, 0].round(6)
    array([ 3.,  1., -2.])
    """
    players, targets, y = check_players(players), check_names(targets, "targets"), outputs
    masks = check_coalitions(masks, len(players))
    if y.shape != (len(masks), len(targets)):
        raise InvalidInput(
            f"outputs has shape {y.shape} for {len(masks)} masks and {len(targets)} targets; give one row per mask and one "
            "column for each of targets",
            argument="outputs",
            code="shape",
        )
    if not np.isfinite(y).all():
        raise InvalidInput(
            "outputs hold numbers that are not finite; a failed training must not be regressed on",
            argument="outputs",
            code="not-finite",
        )
    if penalty is not None and not 0 <= penalty < np.inf:
        raise InvalidInput(
            f"penalty must be a number ≥ 0, or None to have it chosen, got {penalty!r}", argument="penalty", code="range"
        )
    held_out: FloatArray | None = None
    if penalty is None:
        weights, chosen, held_out, shrinkage = _choose(masks, y, seed, memory)
    else:
        x, chosen = masks.astype(np.float64), np.full(len(targets), float(penalty))
        weights = lasso(gram(x, y), chosen) if penalty else _least_squares(x, y)
        shrinkage = "lasso" if penalty else "least squares"
    intercepts = y.mean(axis=0) - masks.mean(axis=0) @ weights
    return Datamodels(players, targets, weights, intercepts, fraction, shrinkage, chosen, len(masks), held_out, seed)


def _choose(masks: BoolArray, y: FloatArray, seed: int, memory: float) -> tuple[FloatArray, FloatArray, FloatArray, Shrinkage]:
    """Weights and penalties of lasso or ridge, R² of subsets that were not fitted, and which of the two it is."""
    spread = units(y) ** 2
    if masks.shape[1] > LASSO_ROWS:
        found = ridge(masks, y, memory)
        return found.weights, found.penalties, 1 - found.errors / spread, "ridge"
    x = masks.astype(np.float64)
    order = np.random.default_rng([seed, 1]).permutation(len(x))
    judge, teach = order[: max(2, int(SUBSETS_HELD_OUT * len(x)))], order[max(2, int(SUBSETS_HELD_OUT * len(x))) :]
    penalties, by_lasso = _lasso_penalties(x, y, teach, judge)
    tried = ridge(masks[teach], y[teach], memory)
    answers = y[teach].mean(axis=0) + (x[judge] - x[teach].mean(axis=0)) @ tried.weights
    by_ridge = ((y[judge] - answers) ** 2).mean(axis=0)
    here = units(y[judge]) ** 2
    if (by_lasso / here).mean() <= (by_ridge / here).mean():
        return lasso(gram(x, y), penalties), penalties, 1 - by_lasso / here, "lasso"
    found = ridge(masks, y, memory)
    return found.weights, found.penalties, 1 - by_ridge / here, "ridge"


def _least_squares(x: FloatArray, y: FloatArray) -> FloatArray:
    if len(x) <= x.shape[1] + 1:
        raise InvalidInput(
            f"plain least squares of {x.shape[1]} rows needs more than {x.shape[1] + 1} subsets, got {len(x)}; "
            "leave penalty out for a lasso",
            code="range",
        )
    return np.asarray(np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(axis=0), rcond=None)[0])


def _lasso_penalties(x: FloatArray, y: FloatArray, teach: IntArray, judge: IntArray) -> tuple[FloatArray, FloatArray]:
    """Penalty (T,) with the least error on held-out subsets, from a path of warm starts; and that error (T,)."""
    data = gram(x[teach], y[teach])
    silent = np.maximum(np.abs(data.products).max(axis=0), 1e-300)  # at this penalty every weight is zero
    best, penalties = np.full(y.shape[1], np.inf), silent.copy()
    weights = None
    for share in PENALTIES:
        weights = lasso(data, share * silent, weights, tolerance=1e-4)
        answers = data.means[1] + (x[judge] - data.means[0]) @ weights
        error = ((y[judge] - answers) ** 2).mean(axis=0)
        better = error < best
        best, penalties = np.where(better, error, best), np.where(better, share * silent, penalties)
    return penalties, best
