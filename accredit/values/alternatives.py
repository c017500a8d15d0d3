r"""Players with several alternatives and no order among them: kept, masked, replaced by this word or by that.

For one alternative j, let v_j(S) be what is earned on average when the players of S choose j and the others choose any of
*their* other alternatives, all equally likely. Bolger's value of alternative j is the Shapley value of v_j (Bolger, 1993):
what choosing j, rather than anything else, adds. With two alternatives each, v_j has nothing to average, and the value of the
second is Shapley's.
"""

from __future__ import annotations

import numpy as np

from accredit import defaults
from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Attributions, Claim, FloatArray, Holds, IntArray, Precision, Procedure
from accredit.core.choices import ChoiceGame, shape_of, tabulate_choices, worths
from accredit.errors import InvalidInput
from accredit.values.intervals import Moments, PayoffRange
from accredit.values.sampling import Sampled, check, mean_of_orders
from accredit.values.semivalues import shapley_from_table


@check_arguments
def bolger(game: ChoiceGame, *, budget: int | None = None, seed: int = 0, level: float = defaults.LEVEL) -> Attributions:
    """The credit of every player for every alternative, one output per alternative; all players must have the same ones.

    Exact from all joint choices, if these fit the `budget` or, where none is stated, are at most 4,096. Otherwise each
    alternative is estimated from its share of the budget: players turn to it one by one, in random orders, from random other
    alternatives.

    >>> from accredit.games import ChoiceTable
    >>> word = ["masked", "replaced", "kept"]
    >>> text = ChoiceTable(("not", "good"), [[0, 0, 1], [0, 0, 1], [0, 0, -2]], [word, word])
    >>> bolger(text)["kept"].as_dict()
    {'not': -1.5, 'good': -0.5}
    """
    names = game.levels[0]
    other = next((p for p, levels in zip(game.players, game.levels, strict=True) if levels != names), None)
    if other is not None:
        raise InvalidInput(
            f"players {game.players[0]!r} and {other!r} have different alternatives; Bolger's value needs the same. If choices "
            "are levels in order, call them 0, 1, 2, … for each player, and use the rules for levels",
            argument="game",
            code="conflict",
        )
    check(Sampled(level=level), defaults.BUDGET if budget is None else budget, seed)
    cells = int(np.prod(shape_of(game), dtype=object))
    if isinstance(getattr(game, "table", None), np.ndarray) or cells <= (
        1 << defaults.AUTO_EXACT if budget is None else budget
    ):
        v = tabulate_choices(game)
        return Attributions({name: _exact(game, v, j) for j, name in enumerate(names)}, payoffs=v.size)
    spend = (defaults.BUDGET if budget is None else budget) // len(names)
    every = {name: _sample(game, j, spend, seed, level) for j, name in enumerate(names)}
    return Attributions(every, payoffs=sum(one.payoffs or 0 for one in every.values()))


def average(v: FloatArray, alternative: int) -> FloatArray:
    """v_j as a table of 2ⁿ payoffs in table order: on every axis, the mean of the other alternatives, then alternative j."""
    for axis in range(v.ndim):
        own = np.take(v, [alternative], axis=axis)
        others = np.delete(v, alternative, axis=axis).mean(axis=axis, keepdims=True)
        v = np.concatenate([others, own], axis=axis)
    return v.transpose().ravel()  # the first player is the lowest bit


def _claims(holds: Holds) -> tuple[Claim, ...]:
    all_of_it = "gains telescope from nobody choosing the alternative to everybody"
    return (
        Claim("efficiency", Holds.EXACTLY if holds is Holds.EXACTLY else holds, all_of_it),
        Claim("symmetry", holds, "a Shapley value of the averaged game, which treats players alike"),
        Claim("null player", Holds.EXACTLY, "whose choice never matters adds nothing to any joint choice"),
        Claim("linearity", Holds.EXACTLY, "a fixed linear function of the payoffs, drawn or not"),
    )


def _exact(game: ChoiceGame, v: FloatArray, alternative: int) -> Attribution:
    table = average(v, alternative)
    return Attribution(
        game.players,
        shapley_from_table(table),
        float(table[-1] - table[0]),
        Procedure("bolger", game.levels[0][alternative]),
        _claims(Holds.EXACTLY),
        precision=Precision.exact(),
        baseline=float(table[0]),
        payoffs=v.size,
        stopped="all joint choices evaluated",
    )


def _sample(game: ChoiceGame, alternative: int, budget: int, seed: int, level: float) -> Attribution:
    n, r = len(game.players), len(game.levels[0])
    draws = budget // (n + 1)
    if draws < 2:
        raise InvalidInput(
            f"budget={budget * r} pays for fewer than two orders; give at least budget={2 * (n + 1) * r}",
            argument="budget",
            code="range",
        )
    rng, moments, start, seen = np.random.default_rng([seed, alternative]), Moments(n), Moments(1), PayoffRange(game)
    for _ in range(draws):
        gains, nobody = _gains(game, alternative, rng.integers(r - 1, size=n), rng.permutation(n), seen)
        moments.add(gains[None])
        start.add(np.array([[nobody]]))
    return mean_of_orders(
        game.players,
        moments,
        float(moments.mean.sum()),
        Procedure("bolger", game.levels[0][alternative], {"orders": draws}),
        _claims(Holds.IN_EXPECTATION),
        baseline=float(start.mean[0]),
        seen=seen,
        payoffs=draws * (n + 1),
        seed=seed,
        level=level,
    )


def _gains(
    game: ChoiceGame, alternative: int, others: IntArray, order: IntArray, seen: PayoffRange
) -> tuple[FloatArray, float]:
    """What each player adds by turning to the alternative in this order, and what is earned before anybody does."""
    n = len(order)
    begin = others + (others >= alternative)  # skips the alternative itself
    turned = np.empty(n, dtype=np.int64)
    turned[order] = np.arange(n)
    moments = np.arange(n + 1)[:, None]
    paid = seen.look(worths(game, np.where(turned < moments, alternative, begin)))
    gains = np.empty(n)
    gains[order] = np.diff(paid)
    return gains, float(paid[0])
