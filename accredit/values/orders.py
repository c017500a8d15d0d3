r"""Shapley by random orders: what each player adds on arrival, averaged.

$$\phi_i = \mathbb{E}_\pi\,[v(\pi_{<i} \cup i) - v(\pi_{<i})]$$

over uniformly random orders π, π_{<i} being those who come before i. One order costs n − 1 payoffs (v(∅) and v(N)
are shared) and gives every player one gain. All coalitions of many orders go into one payoff call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accredit.core import Attribution, Claim, FloatArray, Game, Holds
from accredit.values.intervals import Moments
from accredit.values.sampling import (
    Ledger,
    Sampled,
    checked,
    described,
    in_expectation,
    known_whole,
    linearity,
    mean_half_widths,
    reported,
    run,
)

FEW_ORDERS = 30  # with fewer scores a Student t is not to be trusted


def random_places(rng: np.random.Generator, orders: int, players: int) -> npt.NDArray[np.int32]:
    """Uniformly random orders, told by the place 0 … n−1 at which each player arrives: (orders, n)."""
    return rng.permuted(np.tile(np.arange(players, dtype=np.int32), (orders, 1)), axis=1)


def gains_on_arrival(ledger: Ledger, places: npt.NDArray[np.int32]) -> FloatArray:
    """What each player adds when arriving at its place: (orders, n) -> (orders, n), for two players or more."""
    orders, n = places.shape
    arrived = (
        places[:, None, :] < np.arange(1, n, dtype=np.int32)[:, None]
    )  # (orders, n − 1, n): after 1, 2, … arrivals
    v = np.empty((orders, n + 1))
    v[:, 0], v[:, n] = ledger.nobody, ledger.everybody
    v[:, 1:n] = ledger.ask(arrived.reshape(-1, n)).reshape(orders, n - 1)
    return np.take_along_axis(np.diff(v, axis=1), places, axis=1)


@dataclass(frozen=True)
class Permutations(Sampled):
    """Shapley by random orders: what each player adds on arrival, averaged (Castro, Gómez & Tejada, 2009).

    Unbiased, efficient in every run, and null players get exactly nothing. Variance of a credit: Var(gain)/orders. Stop after a
    number of `orders`, a `budget` of payoffs, `seconds`, or at a `half_width`. Cost: 2 + orders·(n − 1) payoffs.

    The interval is a Student t on the gains, widened by the rule of three: a gain that was seen in none of m orders
    may still have a chance of about 3/m, and is taken to be as large as the largest gain seen (or the declared
    range). A player whose gains were all alike thus keeps an interval; "no gain was seen" is not "there is none".

    >>> from accredit.games import TableGame
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> share = Permutations(orders=400, seed=1).solve(cookies)
    >>> share.credit.round(), share.payoffs, share.unshared
    (array([6., 4.]), 402, 0.0)
    """

    orders: int | None = None
    seed: int = 0
    budget: int | None = None

    def __post_init__(self) -> None:
        checked(self, self.budget, self.seed, orders=self.orders)

    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        return _solved(game, self, self.orders, reverse=False)


@dataclass(frozen=True)
class Antithetic(Sampled):
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

    orders: int | None = None
    seed: int = 0
    budget: int | None = None

    def __post_init__(self) -> None:
        checked(self, self.budget, self.seed, orders=self.orders)

    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        return _solved(game, self, None if self.orders is None else -(-self.orders // 2), reverse=True)


def _solved(game: Game, settings: Permutations | Antithetic, units: int | None, reverse: bool) -> Attribution:
    """Both estimators: a unit is one order, or one order and its reverse."""
    n, confidence = len(game.players), settings.confidence
    method = described("shapley", settings)
    ledger = Ledger(game, confidence.payoff_range)
    if n == 1:
        return known_whole(game, ledger, np.ones(1), method, confidence, None, settings.seed)
    rng, moments, largest = np.random.default_rng(settings.seed), Moments(n), 0.0

    def draw(count: int) -> None:
        nonlocal largest
        places = random_places(rng, count, n)
        gains = gains_on_arrival(ledger, np.concatenate([places, n - 1 - places]) if reverse else places)
        largest = max(largest, float(np.abs(gains).max()))
        moments.add((gains[:count] + gains[count:]) / 2 if reverse else gains)

    def half_widths(share: float) -> FloatArray | None:
        event = largest if confidence.span is None else confidence.span
        return mean_half_widths(
            moments, confidence, share, None if confidence.span is None else 2 * confidence.span, event
        )

    unit = "order and reverse" if reverse else "order"
    ended = run(
        settings, settings.budget, ledger, draw, half_widths, cost=(n - 1) * (1 + reverse), unit=unit, units=units
    )
    widths = half_widths(ended.share) if confidence.certify or moments.count >= FEW_ORDERS else None
    return reported(
        game,
        ledger,
        method,
        _claims(settings),
        moments,
        widths,
        _because(moments.count, confidence.certify, widths is not None, unit),
        confidence,
        ended,
        settings.seed,
        {"draws": moments.count, "largest gain": largest},
    )


def _claims(settings: Sampled) -> tuple[Claim, ...]:
    return (
        Claim("efficiency", Holds.EXACTLY, "gains along one order telescope to v(N) − v(∅)"),
        Claim("symmetry", *in_expectation(settings, "unbiased; equal players meet different random orders")),
        Claim("null player", Holds.EXACTLY, "a null player adds nothing in any order"),
        linearity(settings),
    )


def _because(draws: int, certify: bool, kept: bool, unit: str) -> str:
    if certify and kept:
        return "empirical Bernstein on gains within the declared payoff range: holds at every number of orders"
    if kept:
        return (
            f"Student t on {draws} independent gains, widened by the rule of three for gains that no {unit} has shown"
        )
    if draws < FEW_ORDERS:
        return f"none: {draws} draws are too few for a Student t; {FEW_ORDERS} are needed, or certify=True with a payoff_range"
    return "none: every payoff seen is the same, so there is no scale for what was not seen"
