"""LIME for many inputs of one black box: a local line per row, and the players of largest slope (Ribeiro et al., 2016)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np
import numpy.typing as npt

from accredit.core import BoolArray, FloatArray, Procedure, Selection
from accredit.errors import InvalidInput
from accredit.learned.black_boxes import BlackBox, answers_of
from accredit.learned.inputs import Array, Inputs, one_input
from accredit.learned.masks import check_k, top
from accredit.values.lime import LAWS, Lime, draw, fit_of, proximity, ridge_readout
from accredit.values.solver import progress as progress_bar

RANKS = ("magnitude", "support")
ASKED_AT_ONCE = 4096  # masked inputs in one call of the black box


@final
class LimeExplainer:
    """LIME for many inputs of one black box: a line per row, and the `k` players of largest slope.

    v(S) is the probability of the class that the black box gives the whole input. `rank` "magnitude" chooses by |β|, as
    LIME does; "support" by β, so that players that support the answer come first. Nothing is trained: `fit` takes the
    black box. Rows of one size share their coalitions and so one factorisation; cost: `lime.budget` calls per row.

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
            raise InvalidInput(f"rank must be one of {', '.join(RANKS)}, got {rank!r}", argument="rank", code="unknown")
        if lime.features is not None:
            raise InvalidInput(
                f"lime.features={lime.features}: the number of players chosen is k; leave features out",
                argument="lime",
                code="conflict",
            )
        self.inputs, self.k, self.lime, self.rank = inputs, check_k(k, inputs.n), lime, rank
        self.black_box: BlackBox | None = None
        self.history: dict[str, object] = {}

    def fit(
        self, x: npt.ArrayLike, black_box: BlackBox, labels: npt.ArrayLike | None = None, seed: int = 0, progress: bool = False
    ) -> LimeExplainer:
        """Take the black box and the seed; `x` is only checked, `labels` are not needed."""
        self.inputs.check(x)
        self.black_box, self.lime = black_box, replace(self.lime, seed=seed)
        self.history = {"seconds": 0.0, "stopped_because": "LIME trains nothing: every input gets its own line"}
        return self

    def lines(self, x: npt.ArrayLike, progress: bool = False) -> tuple[FloatArray, FloatArray]:
        """Slopes (N, n), zero for players that do not exist, and the R² of every line (N,)."""
        if self.black_box is None:
            raise InvalidInput("this explainer has no black box yet; call fit(x, black_box) first", code="not-fitted")
        rows = self.inputs.check(x)
        there = self.inputs.present(rows)
        counts, began = there.sum(axis=1), time.monotonic()
        slopes, fits = np.zeros(there.shape), np.ones(len(rows))
        with progress_bar("lime", len(rows) if progress else 0) as bar:
            done = 0
            for count in np.unique(counts[counts > 0]):
                coalitions = draw(count, self.lime.budget, self.lime.law, np.random.default_rng(self.lime.seed))
                near = proximity(coalitions, self.lime.width)
                readout = ridge_readout(coalitions, near, self.lime.ridge)
                for row in np.flatnonzero(counts == count):
                    earned = self._earn(rows[row], there[row], coalitions)
                    line = readout @ earned
                    slopes[row, there[row]] = line[:-1]
                    fits[row] = fit_of(earned, coalitions @ line[:-1] + line[-1], near)
                    done += 1
                    bar.update(done)
        self.history["seconds"] = time.monotonic() - began
        return slopes, fits

    def scores(self, x: npt.ArrayLike) -> FloatArray:
        """What players are chosen by: |slope| or slope, (N, n)."""
        return self._rank(self.lines(x)[0])

    def select(self, x: npt.ArrayLike, k: int | None = None) -> BoolArray:
        """The k players of highest score in every row: (N, n)."""
        return top(self.scores(x), self.k if k is None else k, self.inputs.present(self.inputs.check(x)))

    def explain(self, one: npt.ArrayLike, names: Sequence[str] | None = None) -> Selection:
        """The players chosen for one input, with their slopes and how well the line fits."""
        row, named, present = one_input(self.inputs, one, names)
        slopes, fits = self.lines(row)
        chosen = top(self._rank(slopes), self.k, present[None])[0, present]
        return Selection(
            named,
            chosen,
            Procedure.by("lime", self.lime),
            f"{int(chosen.sum())} players by {self.rank} of slope; coalitions: {LAWS[self.lime.law]}; {self.inputs.describe()}",
            slopes[0, present],
            self.lime.seed,
            certificate={"fit": float(fits[0])},
        )

    def _rank(self, slopes: FloatArray) -> FloatArray:
        return np.abs(slopes) if self.rank == "magnitude" else slopes

    def _earn(self, one: Array, there: BoolArray, coalitions: BoolArray) -> FloatArray:
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
