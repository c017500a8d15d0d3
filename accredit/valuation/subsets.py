"""Random parts of the rows, on which models are trained to learn what each row does."""

from __future__ import annotations

import numpy as np

from accredit.checks import check_seed
from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import whole_number
from accredit.core import BoolArray
from accredit.errors import InvalidInput


@check_arguments
def random_subsets(players: int, subsets: int, fraction: float, seed: int) -> BoolArray:
    """Each row is in each subset with chance `fraction`: (subsets, N). More subsets begin with the same ones.

    >>> random_subsets(players=4, subsets=100, fraction=0.5, seed=0).shape
    (100, 4)
    """
    if not 0 < fraction < 1:
        raise InvalidInput(
            f"fraction must lie between 0 and 1, got {fraction!r}; 0.5 is usual", argument="fraction", code="range"
        )
    if subsets < 10:
        raise InvalidInput(
            f"subsets must be at least 10, got {subsets!r}; a few times the number of rows is usual",
            argument="subsets",
            code="range",
        )
    whole_number(players, "players")
    drawn = np.asarray(np.random.default_rng(check_seed(seed)).random((subsets, players)) < fraction)
    if drawn.all() or not drawn.any():
        raise InvalidInput(
            f"fraction is {fraction!r}, so that all {subsets} subsets are the same; 0.5 is usual",
            argument="fraction",
            code="range",
        )
    return drawn
