r"""Shapley by random orders: what each player adds on arrival, averaged.

$$\phi_i = \mathbb{E}_\pi\,[v(\pi_{<i} \cup i) - v(\pi_{<i})]$$

over uniformly random orders π, π_{<i} being those who come before i. One order costs n − 1 payoffs (v(∅) and v(N)
are shared) and gives every player one gain. All coalitions of many orders go into one payoff call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, Claim, FloatArray, Game, Holds, Procedure
from accredit.values.every_output import solves_every_output
from accredit.values.intervals import Moments
from accredit.values.sampling import (
    Ledger,
    Sampled,
    SampledEstimate,
    check,
    in_expectation,
    known_whole,
    linearity,
    mean_because,
    mean_half_widths,
    report,
    run,
)


def random_places(rng: np.random.Generator, orders: int, players: int) -> npt.NDArray[np.int32]:
    """Uniformly random orders, each given by the place 0 … n−1 at which each player arrives: (orders, n)."""
    return rng.permuted(np.tile(np.arange(players, dtype=np.int32), (orders, 1)), axis=1)


def gains_on_arrival(ledger: Ledger, places: npt.NDArray[np.int32]) -> FloatArray:
    """What each player adds when arriving at its place: (orders, n) -> (orders, n), for two players or more."""
    orders, n = places.shape
    arrivals = np.arange(1, n, dtype=np.int32)
    arrived = places[:, None, :] < arrivals[:, None]  # (orders, n − 1, n): after 1, 2, … arrivals
    v = np.empty((orders, n + 1))
    v[:, 0], v[:, n] = 0.0, ledger.total
    v[:, 1:n] = ledger.ask(arrived.reshape(-1, n)).reshape(orders, n - 1)
    return np.take_along_axis(np.diff(v, axis=1), places, axis=1)


@dataclass(frozen=True)
class RandomOrders(Sampled):
    """Shapley by random orders, with or without the reverse of each."""

    reverse: ClassVar[bool]

    orders: int | None = None
    seed: int = 0
    budget: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed, orders=self.orders)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        return _solve(game, self, None if self.orders is None else -(-self.orders // (1 + self.reverse)))


@dataclass(frozen=True)
class Permutations(RandomOrders):
    """Shapley by random orders: what each player adds on arrival, averaged (Castro, Gómez & Tejada, 2009).

    Unbiased, efficient in every run, and null players get exactly nothing. Variance of a credit: Var(gain)/orders. Stop after a
    number of `orders`, a `budget` of payoffs, `seconds`, or at a `half_width`. Cost: 2 + orders·(n − 1) payoffs.

    The interval is a Student t on the gains, widened by the rule of three: a gain that was seen in none of m orders may still
    have a chance of about 3/m. It is taken to be as large as the range of gains the player has shown, or, if they were all
    alike, as the largest gain of anybody: "no gain was seen" is not "there is none". It is too wide on smooth games.

    >>> from accredit.games import TableGame
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> share = Permutations(orders=400, seed=1).solve(cookies)
    >>> share.credit.round(), share.payoffs, share.unshared
    (array([6., 4.]), 402, 0.0)
    """

    reverse = False


@dataclass(frozen=True)
class Antithetic(RandomOrders):
    """Shapley by random orders, each followed by its reverse (Mitchell et al., 2022).

    Whoever comes early in an order comes late in its reverse, so the two gains of a player tend to err in opposite
    directions: exact where the gain is linear in the number already there, better than `Permutations` on most
    smooth payoffs, worse on voting games, where a player is pivotal in both directions or in neither. `orders`
    counts both directions and is rounded up to even. An order and its reverse are one draw for the interval, which
    is otherwise that of `Permutations`.

    >>> from accredit.games import FunctionGame
    >>> squares = FunctionGame("abcd", lambda coalitions: coalitions.sum(axis=1) ** 2.0)
    >>> Antithetic(orders=2).solve(squares).credit
    array([4., 4., 4., 4.])
    """

    reverse = True


def _solve(game: Game, settings: RandomOrders, units: int | None) -> Attribution:
    """Both estimators: a unit is one order, or one order and its reverse."""
    n, confidence = len(game.players), settings.confidence
    method = Procedure.by("shapley", settings)
    ledger = Ledger(game, confidence.payoff_range)
    if n == 1:
        return known_whole(game, ledger, np.ones(1), method, None, settings.seed)
    rng, moments = np.random.default_rng(settings.seed), Moments(n)

    def draw(count: int) -> None:
        places = random_places(rng, count, n)
        gains = gains_on_arrival(ledger, np.concatenate([places, n - 1 - places]) if settings.reverse else places)
        moments.add((gains[:count] + gains[count:]) / 2 if settings.reverse else gains)

    def half_widths(share: float) -> FloatArray | None:
        return mean_half_widths(moments, confidence, share, ledger.blur)

    unit = "order pair" if settings.reverse else "order"
    cost = (n - 1) * (1 + settings.reverse)
    ended = run(settings, settings.budget, ledger, draw, half_widths, cost=cost, unit=unit, units=units)
    widths, because = half_widths(ended.share), mean_because(moments, confidence, unit, ledger.blur)
    claims, certificate = _claims(settings), {"draws": moments.count}
    found = SampledEstimate(moments.mean, moments.stderr, widths, because)
    return report(game, ledger, method, claims, found, confidence, ended, settings.seed, certificate)


def _claims(settings: Sampled) -> tuple[Claim, ...]:
    return (
        Claim("efficiency", Holds.EXACTLY, "gains along one order telescope to v(N) − v(∅)"),
        Claim("symmetry", *in_expectation(settings, "unbiased; equal players meet different random orders")),
        Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
        linearity(settings),
    )
