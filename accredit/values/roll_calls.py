r"""Votes with several levels of approval: who settles the outcome when everybody is called in turn.

Voters are called in random order, and each gives any of its levels with equal chance. Before anybody has spoken the outcome
may be anything from v(0), if all give the lowest level, to v(m). A vote is credited with how much it narrows that range:

$$\phi_i = E\,[U(S, x_S) - U(S \cup i, x_{S \cup i})], \quad U(S, x_S) = v(x_S, m_{-S}) - v(x_S, 0_{-S})$$

over orders, S being those who were called before i, and over votes x. This is the Shapley–Shubik index of games with j levels
in and k levels out (Freixas, 2005; for yes, abstention and no: Felsenthal and Machover, 1998), which counts how often a vote
clinches a level; here it is not divided by v(m) − v(0), and payoffs may be of any kind. It is the Shapley value of the game
v(m) − v(0) − E[U(S, x_S)], and with two levels that of v.
"""

from __future__ import annotations

from math import prod

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.core.choices import ChoiceGame, shape_of, tabulate_choices, worths
from accredit.errors import InvalidInput
from accredit.values.intervals import Moments, PayoffRange
from accredit.values.sampling import Sampled, check, mean_of_orders
from accredit.values.semivalues import shapley_from_table


@check_arguments
def roll_calls(game: ChoiceGame, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL) -> Attribution:
    """The credit of every player, whose levels are in order from the lowest to the highest (see the module).

    Exact from all joint choices, if these fit the `budget` or, where none is stated, are at most 4,096; otherwise estimated
    from random roll calls, with intervals.

    >>> from accredit.games import ChoiceTable
    >>> v = np.zeros((3, 3, 3))
    >>> v[2, 1:, :] = v[2, :, 1:] = 1  # passes if the first says yes and one of the others does not say no
    >>> (roll_calls(ChoiceTable("abc", v)).credit * 54).round(9).tolist()
    [44.0, 5.0, 5.0]
    """
    check(Sampled(level=level), defaults.BUDGET if budget is None else budget, seed)
    cells = prod(shape_of(game))
    if isinstance(getattr(game, "table", None), np.ndarray) or cells <= (
        1 << defaults.AUTO_EXACT if budget is None else budget
    ):
        return _exact(game)
    return _sample(game, defaults.BUDGET if budget is None else budget, seed, level)


def open_range(v: FloatArray) -> FloatArray:
    """E[U(S, x_S)] as a table of 2ⁿ numbers in table order: what is still open when S has voted."""
    high = low = v
    for axis in range(v.ndim):
        high, low = (
            np.concatenate([np.take(w, [end], axis=axis), w.mean(axis=axis, keepdims=True)], axis=axis)
            for w, end in ((high, -1), (low, 0))
        )
    return (high - low).transpose().ravel()  # the first player is the lowest bit


def _claims(holds: Holds) -> tuple[Claim, ...]:
    return (
        Claim("efficiency", Holds.EXACTLY, "in every roll call the range closes from v(m) − v(0) to nothing"),
        Claim("symmetry", holds, "orders and votes are equally likely for all"),
        Claim("null player", Holds.EXACTLY, "a vote that never matters narrows nothing"),
        Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs, drawn or not"),
    )


def _exact(game: ChoiceGame) -> Attribution:
    v = tabulate_choices(game)
    still = open_range(v)
    return Attribution(
        game.players,
        shapley_from_table(still[0] - still),
        float(still[0]),
        Procedure("roll-calls"),
        _claims(Holds.EXACTLY),
        precision=Precision.exact(),
        baseline=float(v.flat[0]),
        payoffs=v.size,
        stopped="all joint choices evaluated",
    )


def _sample(game: ChoiceGame, budget: int, seed: int, level: float) -> Attribution:
    top = np.array(shape_of(game)) - 1
    n = len(top)
    draws = (budget - 2) // (2 * n - 1)  # both ends of the range after each call but the last, where they are one
    if draws < 2:
        raise InvalidInput(
            f"budget={budget} pays for fewer than two roll calls; give at least budget={4 * n}", argument="budget", code="range"
        )
    rng, moments, seen = np.random.default_rng(seed), Moments(n), PayoffRange(game)
    lowest, highest = seen.look(worths(game, np.stack([np.zeros_like(top), top])))
    for _ in range(draws):
        order, votes = rng.permutation(n), rng.integers(top + 1)
        called = np.argsort(order) < np.arange(1, n + 1)[:, None]  # (n, n): who has voted after each call
        ends = np.concatenate([np.where(called, votes, top)[:-1], np.where(called, votes, 0)])
        paid = seen.look(worths(game, ends))
        still = np.concatenate([[highest - lowest], paid[: n - 1] - paid[n - 1 : -1], [0.0]])
        gains = np.empty(n)
        gains[order] = -np.diff(still)
        moments.add(gains[None])
    return mean_of_orders(
        game.players,
        moments,
        float(highest - lowest),
        Procedure("roll-calls", settings={"calls": draws}),
        _claims(Holds.IN_EXPECTATION),
        baseline=float(lowest),
        seen=seen,
        payoffs=2 + draws * (2 * n - 1),
        seed=seed,
        level=level,
        unit="roll call",
    )
