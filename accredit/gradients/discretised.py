r"""Discretised integrated gradients (Sanyal & Ren, 2021): a path through words instead of a straight line.

From a word the path goes to a near word, from there to another, and so on to the baseline; each is bent so that every
coordinate moves one way only. With points $x^1 = x', \dots, x^m = x$ of all tokens together,

$$\phi_i = \sum_{c \in C_i} \sum_{k=1}^{m-1} (x^{k+1}_c - x^k_c)\, \frac{\partial f}{\partial x_c}(x^k)$$

Slopes are taken near words, where the model was trained. The sum is a left Riemann sum and misses f(x) − f(x′) by a gap
that is reported and cannot be closed by a finer grid: more points are more words, not smaller steps.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import InvalidInput
from accredit.gradients.integrated import ON_THE_LINE
from accredit.gradients.point import Point, point

PATH_POINTS = 30
NEAREST_WORDS = 50
Strategy = Literal["greedy", "maxcount"]


@check_arguments
def discretised_integrated_gradients(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    points: int = PATH_POINTS,
    neighbours: int = NEAREST_WORDS,
    strategy: Strategy = "greedy",
) -> Attribution:
    """Share f(input) − f(baseline), up to a reported gap, by slopes along a path of words; see the formula above.

    Each next word is among the `neighbours` nearest of the last: the one that has to be bent least (`strategy="greedy"`), or
    the one with the most coordinates between the last word and the baseline ("maxcount"). One backward pass per point.

    >>> from accredit.models import builtin, load_text_model
    >>> found = discretised_integrated_gradients(load_text_model(builtin.text_folder()), "A gripping film.", points=5)
    >>> found.players, str(found.claim("efficiency").holds)
    (('A', 'gripping', 'film', '.'), 'no')
    """
    at = point(model, given, target=target, payoff=payoff, players=players, baseline=baseline)
    return discretised_integrated_gradients_at(at, points, neighbours, strategy)


def discretised_integrated_gradients_at(
    at: Point, points: int = PATH_POINTS, neighbours: int = NEAREST_WORDS, strategy: Strategy = "greedy"
) -> Attribution:
    """Discretised integrated gradients of any payoff of a text, where its word embeddings are moved."""
    if points < 2 or neighbours < 1 or strategy not in ("greedy", "maxcount"):
        raise InvalidInput(
            f"points={points}, neighbours={neighbours}, strategy={strategy!r}: give points ≥ 2, neighbours ≥ 1 and "
            "the strategy greedy or maxcount",
            argument="points",
            code="range",
        )
    path = _path(at, points, neighbours, strategy)
    credit = at.shares(((path[1:] - path[:-1]) * at.slopes(path[:-1])).double().sum(dim=0, keepdim=True))
    return _attribution(at, credit, {"points": points, "strategy": strategy}, points)


def _path(at: Point, points: int, neighbours: int, strategy: Strategy) -> torch.Tensor:
    """From the baseline to the input; tokens that do not play stay where they are: (points, T, D)."""
    if at.ids is None:
        raise InvalidInput(
            "a path through words needs the word embeddings of a text; use integrated_gradients", code="unsupported"
        )
    embedding: torch.nn.Embedding = at.module.get_input_embeddings()  # type: ignore[operator]
    with torch.no_grad():
        words = embedding(torch.arange(embedding.num_embeddings, device=at.here.device)).cpu()
    table = (words if words.dtype == torch.float64 else words.float()).numpy()  # a vocabulary is large: not in float64
    path = at.here.repeat(points, 1, 1)
    for i in np.flatnonzero(at.partition.owned):
        end = at.baseline[0, i].double().cpu().numpy()
        line = word_path(table, int(at.ids[i]), end, points, neighbours, strategy)
        path[:-1, i] = torch.from_numpy(line[:-1].copy()).to(path)
    return path


def word_path(table: FloatArray, word: int, end: FloatArray, points: int, neighbours: int, strategy: Strategy) -> FloatArray:
    """From the baseline `end` to a word, every coordinate one way only: (V, D), (D,) -> (points, D)."""
    first = table[word].astype(np.float64)
    path, passed, anchor = [first], [word], first
    lengths, count = np.einsum("vd,vd->v", table, table), min(neighbours + 1, len(table))
    for _ in range(points - 2):
        far = lengths - 2 * (table @ anchor.astype(table.dtype))  # squared distances, up to a constant
        near = np.argpartition(far, count - 1)[:count]
        near = near[~np.isin(near, passed) & (table[near] != end).any(axis=1)]
        words = table[near].astype(np.float64)
        chosen = _next(words, anchor, end, points, strategy) if len(near) else None
        anchor = end if chosen is None else words[chosen]
        passed += [] if chosen is None else [int(near[chosen])]
        path.append(_bend(anchor, path[-1], end, points))
        if chosen is None:
            path += [end] * (points - 1 - len(path))
            break
    return np.stack([*path, end])[::-1]


def _next(near: FloatArray, here: FloatArray, end: FloatArray, points: int, strategy: Strategy) -> int:
    """Which of some words comes next: (K, D) -> an index."""
    if strategy == "maxcount":
        return int(_between(near, here, end).sum(axis=1).argmax())
    return int(((near - _bend(near, here, end, points)) ** 2).sum(axis=1).argmin())


def _bend(word: FloatArray, here: FloatArray, end: FloatArray, points: int) -> FloatArray:
    """A word with the coordinates that leave the way from `here` to `end` put a step of that way ahead instead: (..., D)."""
    return np.where(_between(word, here, end), word, here - (here - end) / points)


def _between(word: FloatArray, here: FloatArray, end: FloatArray) -> BoolArray:
    return (np.minimum(here, end) <= word) & (word <= np.maximum(here, end))


def _attribution(at: Point, credit: FloatArray, settings: dict[str, object], points: int) -> Attribution:
    low, high = at.worth(at.baseline), at.worth(at.here)
    gap = abs(float(credit.sum()) - (high - low))
    claims = (
        Claim("efficiency", Holds.NO, f"the sum over {points} words misses f(input) − f(baseline) by {gap:.2g}"),
        Claim("symmetry", Holds.NO, ON_THE_LINE),
        Claim("null player", Holds.NO, ON_THE_LINE),
        Claim("linearity", Holds.EXACTLY, "the path does not depend on the payoff, and slopes of a sum add up"),
    )
    return Attribution(
        at.partition.players,
        credit,
        high - low,
        Procedure("discretised integrated gradients", settings=settings),
        claims,
        baseline=low,
        payoffs=points - 1,
        certificate={"completeness gap": gap, "points": points},
        precision=Precision.unknown("the error is that of the path; see the completeness gap"),
        provenance=at.provenance,
    )
