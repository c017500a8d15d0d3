"""The two ends of every scale: an explanation that knows nothing, and one that is told the answers."""

from __future__ import annotations

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, Game, Holds, Procedure, no_division
from accredit.evaluate.metric import Metric, Result


@check_arguments
def random_scores(game: Game, seed: int = 0) -> Attribution:
    """A random order of the players: what a method must beat.

    >>> from accredit.games import TableGame
    >>> print(random_scores(TableGame(("a", "b"), [0, 1, 2, 3]), seed=1).method)
    random(seed=1)
    """
    scores = np.random.default_rng(seed).permutation(np.arange(1.0, len(game.players) + 1.0))
    claims = (*no_division("drawn at random"), Claim("null player", Holds.NO, "drawn at random"))
    return Attribution(
        game.players, scores, total=None, method=Procedure("random", settings={"seed": seed}), claims=claims, seed=seed
    )


@check_arguments
def oracle(metric: Metric, game: Game) -> Result:
    """The result that scores best on `metric`, found by looking at the game itself: the top of the scale, not an explanation.

    Orders are optimal up to 12 players and greedy beyond; for sums of credit the oracle is a least-squares fit to the
    very removals that the metric looks at. An explanation may beat the oracle where the oracle is greedy.

    >>> from accredit.games import TableGame
    >>> from accredit.evaluate import Deletion
    >>> oracle(Deletion(), TableGame(("a", "b"), [0, 0, 1, 1])).ranked().players  # only b matters
    ('b', 'a')
    """
    return metric.oracle(game)
