"""What went wrong in training without an error: said in the result, as a warning, and by the command."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor, nn

from accredit.core.statistics import spreads
from accredit.learned.inputs import Array, Inputs, Tabular
from accredit.learned.masks import random_masks
from accredit.learned.stages import Batch, History, surprise

UNEVEN = 100.0  # times as spread as another: then a network hears one column only
WORSE = 0.05  # nats that hard masks may cost beyond relaxed ones
ROWS_TO_JUDGE = 20  # rows kept aside that say nothing about accuracy
STEPS_TO_MOVE = 50  # of an optimiser: fewer have hardly moved a network
MASKS_PER_ROW = 8  # random masks per row kept aside
FALSE = 0.01  # at most: how often an explainer that chooses no better than chance is let pass
BARELY = 0.02  # share of rows by which a useful surrogate beats the commonest answer


def uneven_columns(inputs: Inputs, x: Array) -> list[str]:
    """Columns of very different sizes, which networks that do not scale them cannot read together."""
    if not isinstance(inputs, Tabular) or inputs.centre is not None or len(x) < 2:
        return []
    spread = spreads(np.asarray(x, dtype=np.float64))
    known = np.flatnonzero(spread > 0)
    if len(known) < 2:
        return []
    small, large = known[spread[known].argmin()], known[spread[known].argmax()]
    if spread[large] < UNEVEN * spread[small]:
        return []
    names = inputs.names(x[0])
    return [
        f"column {names[large]!r} varies {spread[large] / spread[small]:,.0f} times as much as {names[small]!r}; networks "
        "will only notice the larger one; scale the columns: Tabular.of(x)"
    ]


def doubts(surrogate: nn.Module, watched: Batch, shown: Tensor, history: History) -> list[str]:
    """What rows kept aside say against an explainer that has just been trained; `shown` (N, n) is what it shows of them."""
    said = [
        f"stage {stage!r} kept the weights of its first epoch of {many}: on rows kept aside every later one was worse; lower "
        "the rate, or what a choice costs"
        for stage, kept, many, _steps in history.kept
        if kept <= 1 < many
    ]
    said += [
        f"stage {stage!r} kept weights that are close to their random start (steps of the optimiser: {steps}); give more rows, "
        "smaller batches or more epochs"
        for stage, _kept, _many, steps in history.kept
        if steps < STEPS_TO_MOVE
    ]
    said += no_better_than_chance(surrogate, watched, shown, history)
    if len(watched) < ROWS_TO_JUDGE:
        return said
    relaxed, used = history.as_trained, history.as_used
    if relaxed is not None and used is not None and used > relaxed + WORSE and used > 1.1 * relaxed:
        said.append(
            f"trained with soft masks (loss {relaxed:.3f}), used with hard ones (loss {used:.3f}): the surrogate reads what is "
            "shown less well than what it learned from; lower the temperature, or train longer"
        )
    with torch.no_grad():
        answers = surrogate(watched.x, shown)
    said += _useless_number(answers, watched) if watched.target.shape[1] == 1 else _useless_class(answers, watched)
    if not (shown > 0).any():
        said.append("nobody is chosen in any row kept aside; lower what a choice costs")
    return said


def no_better_than_chance(surrogate: nn.Module, watched: Batch, shown: Tensor, history: History) -> list[str]:
    """Whether what is shown serves the surrogate better than random players, as many and as sharp, on rows kept aside.

    A one-sided paired t-test of the losses. The same rows chose the epoch that is kept, so the level is divided by the number
    of epochs: an explainer whose choice is no better than chance passes in at most 1 of 100 trainings.
    """
    present = watched.present.numpy() > 0
    if bool(((shown == 1) | (watched.present == 0)).all()):  # everybody is shown
        return []
    if len(watched) < 2:
        return ["one row is kept aside, which cannot tell whether the choice is better than chance; give more rows"]
    with torch.no_grad():
        ours = surprise(surrogate(watched.x, shown), watched.target)
        masks = [random_masks(shown.numpy(), present, seed) for seed in range(MASKS_PER_ROW)]
        blind = torch.stack([surprise(surrogate(watched.x, torch.from_numpy(m)), watched.target) for m in masks]).mean(dim=0)
    history.by_chance = float(blind.mean())
    better = (blind - ours).double().numpy()
    spread = better.std(ddof=1) / np.sqrt(len(better))
    least = stdtrit(len(better) - 1, 1 - FALSE / max(1, len(history.validation))) * spread
    if better.mean() > least:
        return []
    return [
        f"on {len(watched)} rows kept aside the surrogate reads the chosen players (loss {ours.mean():.3g}) not clearly better "
        f"than random ones (loss {blind.mean():.3g}): the choice may mean nothing; give more rows, or train longer"
    ]


def _useless_class(answers: Tensor, watched: Batch) -> list[str]:
    right = float((answers.argmax(dim=1) == watched.choice).double().mean())
    common = float(torch.bincount(watched.choice).max()) / len(watched)
    if right >= common + BARELY:
        return []
    return [
        f"from what is chosen the surrogate finds {right:.0%} of the answers, and the commonest answer alone is "
        f"{common:.0%}: nothing useful was learned"
    ]


def _useless_number(answers: Tensor, watched: Batch) -> list[str]:
    spread = float(watched.target.var(correction=0))
    left = float((answers - watched.target).square().mean())
    if left < (1 - BARELY) * spread:
        return []
    return [
        f"from what is chosen the surrogate is off by {left:.3g} (mean square), and the mean answer alone by {spread:.3g}: "
        "nothing useful was learned"
    ]
