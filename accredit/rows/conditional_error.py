"""How good is a conditional distribution that absent columns are taken from? Measured on background rows, left out in turn.

What present columns say about the model's output f(x) is the conditional expectation v(S): of all functions of x_S, it comes
closest to f(x) in the mean square. So of two ways to complete rows, the one with the smaller E(f(x) − v(S))² is closer to the
true conditional (the criterion MSEv of Olsen et al., 2024). It needs no truth, only rows that were not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from accredit import defaults
from accredit.core import FloatArray
from accredit.models.partition import Partition
from accredit.rows.game import completing, row_game
from accredit.rows.normal import NORMAL_DRAWS

if TYPE_CHECKING:
    from accredit.models.row_types import Table
    from accredit.models.rows import RowModel

LEFT_OUT, COALITIONS = 24, 2  # background rows, and coalitions of each
CONDITIONAL = ("empirical", "gaussian", "copula")  # dependences, which are compared with one another


def model_rows(background: int) -> int:
    """Rows that the model is asked about for it."""
    return LEFT_OUT * COALITIONS * 2 * (background + NORMAL_DRAWS)


def measure_conditional(
    model: RowModel,
    unit: str,
    outputs: tuple[str, ...],
    background: Table,
    said: FloatArray,  # what the model says about the background: (b, outputs)
    weights: FloatArray,
    partition: Partition,
    dependence: str,
    seed: int,
) -> str:
    """How much of the output's variance present columns leave open: by this dependence, by the others, and by none."""
    rng, size, n = np.random.default_rng(seed), len(weights), len(partition.players)
    usable = np.flatnonzero(weights > 0)
    if n < 2 or len(usable) <= LEFT_OUT:
        return ""
    scale = weights @ (said - weights @ said) ** 2
    gaps: dict[str, list[float]] = {one: [] for one in (*CONDITIONAL, "interventional")}
    for row in rng.choice(usable, LEFT_OUT, replace=False):
        others = np.where(np.arange(size) == row, 0.0, weights)
        counts = rng.integers(1, n, COALITIONS)
        coalitions = rng.random((COALITIONS, n)).argsort(axis=1) < counts[:, None]
        for one in gaps:
            absent = completing(background, others / others.sum(), partition, dependence=one, seed=seed)
            game = row_game(model, unit, outputs, background, int(row), absent, partition)
            gap = ((game.payoff(coalitions) - said[row]) ** 2).mean(axis=0)
            gaps[one].append(float((gap[scale > 0] / scale[scale > 0]).mean()) if scale.any() else 0.0)
    open_by = {one: float(np.mean(gap)) for one, gap in gaps.items()}
    gain = np.array(gaps["interventional"]) - gaps[dependence]
    sure = abs(gain.mean()) > stdtrit(LEFT_OUT - 1, 0.5 + defaults.LEVEL / 2) * gain.std(ddof=1) / np.sqrt(LEFT_OUT)
    verdict = (
        f"{'' if gain.mean() > 0 else 'not '}closer to what the data say than columns that are taken as independent"
        if sure
        else "whether that is closer to what the data say than independent columns cannot be told"
    )
    others_said = " and ".join(f"{open_by[one]:.0%} by “{one}”" for one in CONDITIONAL if one != dependence)
    return (
        f"On {LEFT_OUT} background rows, left out in turn, some of the columns leave {open_by[dependence]:.0%} of the output's "
        f"variance open by the dependence “{dependence}” ({others_said}), and {open_by['interventional']:.0%} with columns "
        f"taken as independent: {verdict}."
    )
