"""What a second buys: how many pairs to ask, and how many of them to fit, when time is the limit.

Pairs that are not fitted still correct the fit, and cost a hundredth of one that is. Over six games of 30 to 60 players the
squared error fell like 1/(m·f^0.3) with m pairs asked and f of them fitted: where payoffs are cheap, many pairs and a small
fit are the better use of time; where they are dear, all pairs are fitted anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from accredit.values.surrogate.estimate import MOST_PAIRS

FITTED = (250, 500, 1000, MOST_PAIRS)  # pairs that a fit may take
REGRESSION_CELLS = 1 << 23  # pairs times players: the regression on all pairs holds a few matrices of so many numbers


@dataclass(frozen=True)
class PairCounts:
    """Pairs to ask in all, and how many of them to fit."""

    asked: int
    fitted: int


def fit_seconds(fitted: int, beyond: int = 0) -> float:
    """What an estimate costs with so many pairs fitted and others beyond: about twice what was measured on one core."""
    return 0.03 + 1.5 * float((fitted / 2000) ** 1.5) + beyond * (6e-6 + 7e-8 * fitted)


def best_split(have: int, most: int, rate: float, left: float, slowness: float) -> PairCounts:
    """The split of least expected error within `left` seconds.

    `have` pairs are there and `most` may be asked, `rate` of them per second. An estimate takes `slowness` times what
    `fit_seconds` says. Where no fit ends in time, the smallest does.

    >>> best_split(have=64, most=10**5, rate=1e5, left=1.0, slowness=1.0)  # cheap payoffs: ask many, fit few
    PairCounts(asked=27040, fitted=250)
    >>> best_split(have=64, most=10**5, rate=100, left=10.0, slowness=1.0)  # a payoff takes 5 ms: fit nearly all
    PairCounts(asked=1000, fitted=1000)
    """
    best, worth = PairCounts(have, FITTED[0]), 0.0
    for fitted in FITTED:
        spare = left - slowness * fit_seconds(fitted, max(have - fitted, 0))
        each = 1 / rate + slowness * (fit_seconds(fitted, 1) - fit_seconds(fitted))
        asked = min(most, have + int(spare / each))
        if spare >= 0 and asked * min(fitted, asked) ** 0.3 > worth:
            best, worth = PairCounts(asked, fitted), asked * min(fitted, asked) ** 0.3
    return best
