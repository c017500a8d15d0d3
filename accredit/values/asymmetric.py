r"""Asymmetric Shapley values: credit when some players are known to come before others (Frye, Rowat & Feige, 2020).

$$\phi_i = \frac{1}{|\Pi|} \sum_{\pi \in \Pi} [v(\pi_{<i} \cup i) - v(\pi_{<i})]$$

over the orders Π that respect a partial order of the players, all equally likely. Causes that come before their effects are
credited with what they bring through them. The value is efficient, linear and gives null players nothing; it is not
symmetric, and is not meant to be.

For players in stages (all of one before all of the next) the value of a stage is the Shapley value of the game that it plays
after all earlier stages have come. A cube $w\,1[A \subseteq S,\ B \cap S = \varnothing]$ is then decided by two stages: by the
last one that A reaches, k, and the first one that B reaches, l. With a = |A in stage k| and c = |B in stage l|: for k < l each
of those a players earns w/a and each of those c loses w/c; for k = l they earn and lose as in a cube of their own; for k > l
the cube pays nothing in any order.
"""

from __future__ import annotations

import numpy as np

from accredit import defaults
from accredit.checks import check_seed, optional_whole
from accredit.core import (
    Attribution,
    BoolArray,
    Claim,
    FloatArray,
    Game,
    Holds,
    IntArray,
    Precision,
    Procedure,
    Tabulated,
    payoffs,
)
from accredit.core.estimate import check_level
from accredit.errors import InvalidInput
from accredit.values.cubes import Cubed, Cubes, cube_ends
from accredit.values.every_output import every_output
from accredit.values.intervals import Moments, PayoffRange
from accredit.values.orders import gains_on_arrival
from accredit.values.precedence import MOST_CLOSED, JoiningStep, Precedence, Stages, precedence_of
from accredit.values.sampling import BATCH_BYTES, Ledger, check_spread, mean_of_orders
from accredit.values.semivalue_rules import SHAPLEY

NAME = "asymmetric"
CLAIMS = (
    Claim("efficiency", Holds.EXACTLY, "gains along every order telescope to v(N) − v(∅)"),
    Claim("symmetry", Holds.NO, "who comes earlier by the given order may earn more than an equal player who comes later"),
    Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
    Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs: the orders do not depend on the game"),
)


@every_output
def asymmetric(
    game: Game, order: object, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL
) -> Attribution:
    r"""Share the payoff by average marginal contribution over the orders in which some players come before others.

    `order` says who: groups in order (`[["age", "sex"], "income"]`), pairs (`[("age", "income")]`), a mapping from players to
    those before them, or a text (`"age, sex < income"`). Players that it does not name may come at any time. A circle is
    refused.

    Exact in closed form for a game that knows its cubes, if all players stand in stages; exact from the payoffs of all
    coalitions that can be met on the way, if these fit the `budget` or, where none is stated, are at most 4,096 (131,072 for
    a game that knows its table). Otherwise estimated from random orders, all equally likely, with intervals.

    >>> from accredit.games import TableGame
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> asymmetric(cookies, "alice < bob").credit, asymmetric(cookies, "bob < alice").credit
    (array([5., 5.]), array([7., 3.]))
    """
    precedence = precedence_of(game.players, order)
    spend = optional_whole(budget, "budget", example=1000)
    check_seed(seed)
    check_level(level)
    if isinstance(game, Cubed) and precedence.stages is not None:
        return _of_cubes(game, precedence.stages)
    free = MOST_CLOSED if isinstance(game, Tabulated) else 1 << defaults.AUTO_EXACT if spend is None else spend
    steps = precedence.steps(min(free, MOST_CLOSED))
    if steps is not None:
        return _exact(game, steps)
    return _sample(game, precedence, defaults.BUDGET if spend is None else spend, seed, level)


def _exact(game: Game, steps: list[JoiningStep]) -> Attribution:
    """From all closed coalitions: the walk's chance of every step, times what the step adds."""
    n = len(game.players)
    v = payoffs(game, np.concatenate([*(step.held for step in steps), np.ones((1, n), dtype=bool)]))
    credit, first = np.zeros(n), 0
    reach: FloatArray = np.ones(1)
    for step in steps:
        here, following = v[first : first + len(step.held)], v[first + len(step.held) :]
        chance = reach[step.source] * step.chance
        credit += np.bincount(step.player, chance * (following[step.target] - here[step.source]), n)
        reach = np.asarray(np.bincount(step.target, chance), dtype=np.float64)
        first += len(step.held)
    return Attribution(
        game.players,
        credit,
        total=float(v[-1] - v[0]),
        method=Procedure(NAME, "exact"),
        claims=CLAIMS,
        precision=Precision.exact(),
        baseline=float(v[0]),
        payoffs=len(v),
        stopped="all coalitions that the order allows were evaluated",
    )


def _sample(game: Game, precedence: Precedence, budget: int, seed: int, level: float) -> Attribution:
    n, ledger = len(game.players), Ledger(game)
    draws = (budget - 2) // (n - 1)
    if draws < 2:
        raise InvalidInput(
            f"budget={budget} pays for fewer than two orders of {n} players; give at least budget={2 * n}",
            argument="budget",
            code="range",
        )
    rng, moments, batch = np.random.default_rng(seed), Moments(n), max(1, BATCH_BYTES // n**2)
    for start in range(0, draws, batch):
        moments.add(gains_on_arrival(ledger, precedence.draw(rng, min(batch, draws - start))))
    check_spread(ledger.spread)
    seen = PayoffRange(game)
    seen.low, seen.high = ledger.low + ledger.nobody, ledger.high + ledger.nobody
    return mean_of_orders(
        game.players,
        moments,
        ledger.total,
        Procedure(NAME, settings={"orders": draws}),
        CLAIMS,
        baseline=ledger.nobody,
        seen=seen,
        payoffs=ledger.payoffs,
        seed=seed,
        level=level,
    )


def _of_cubes(game: Cubed, stages: Stages) -> Attribution:
    nobody, everybody = cube_ends(game.cubes)
    return Attribution(
        game.players,
        staged_credit(game.cubes, np.array(stages.of)),
        total=everybody - nobody,
        method=Procedure(NAME, "cubes", closed_form=True),
        claims=CLAIMS,
        precision=Precision.exact(),
        baseline=nobody,
        payoffs=0,
        stopped="solved in closed form",
    )


def staged_credit(cubes: Cubes, stage: IntArray) -> FloatArray:
    """Credit of every player of cubes whose players come in stages: (n,)."""
    _, weight, present, absent = cubes
    earning, losing, gain, loss = share_in_stages(present, absent, np.broadcast_to(stage, present.shape))
    return np.asarray((weight * gain) @ earning - (weight * loss) @ losing)


def share_in_stages(
    present: BoolArray, absent: BoolArray, stage: IntArray
) -> tuple[BoolArray, BoolArray, FloatArray, FloatArray]:
    """Who earns and who loses in cubes of weight 1, (cubes, n) each, and how much each of them: (cubes,) each.

    `stage` is that of the player in every place: (cubes, n).
    """
    last = np.where(present, stage, -1).max(axis=1, initial=-1)
    nowhere = int(stage.max(initial=0)) + 1
    first = np.where(absent, stage, nowhere).min(axis=1, initial=nowhere)
    earning = present & (stage == last[:, None])
    losing = absent & (stage == first[:, None])
    a, c = earning.sum(axis=1), losing.sum(axis=1)
    moments = SHAPLEY.moments(int((a + c).max(initial=1)))
    together = last == first
    gain = np.where(together, moments[a - 1, c], moments[a - 1, 0]) * ((a > 0) & (last <= first))
    loss = np.where(together, moments[a, c - 1], moments[0, c - 1]) * ((c > 0) & (last <= first))
    return earning, losing, gain, loss
