"""Who may be called first, as a record: what the numbers of a result support saying before any word of it is written.

A sentence that names a leader is made from these records (`headlines`), never from the largest number alone. Credit may have
both signs, be nearly equal, be known only within intervals, or be nothing but rounding; each of these is a field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from accredit.core import Attribution, FloatArray, Known
from accredit.views.language.numbers import ROUNDING, unnoticed

HALF = 0.5  # of the whole, above which a part is most of it
CANCELS = 0.1  # of all credit, taken without its sign, below which the sum is what is left of it
NOTABLE = 0.05  # of the largest credit: the other end is not worth a word below it
MISSING = 2e-3  # of the whole: what may be missing from credit that adds up


class Support(StrEnum):
    """What speaks for those who are named first at one end."""

    ALONE = "alone"  # one player, beyond what is known of any other
    TIED = "tied"  # several of the same credit, but for rounding
    OVERLAP = "overlap"  # several whose intervals reach that of the first
    UNCERTAIN = "uncertain"  # the interval of the first holds 0: which way it goes is not known


@dataclass(frozen=True)
class Lead:
    """Those who are first at one end of the credit: above zero (`sign` 1) or below it (−1).

    >>> known = Attribution(("a", "b", "c"), [3, 2.5, 1], 6.5, "m", interval=[[2, 4], [1.9, 3], [0.5, 1.5]])
    >>> lead(known, 1)
    Lead(support=<Support.OVERLAP: 'overlap'>, sign=1, players=('a', 'b'), credit=(3.0, 2.5), ends=(2.0, 4.0))
    """

    support: Support
    sign: int
    players: tuple[str, ...]  # largest first
    credit: tuple[float, ...]  # of each of them
    ends: tuple[float, float] | None  # the interval of the first; None where there is none


@dataclass(frozen=True)
class Leaders:
    """What may be said of a result in one sentence.

    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> told = leaders(shapley(TableGame(("TV", "radio"), [0, 60, -20, 40])))
    >>> told.up.players, told.down.players, told.share, told.is_most
    (('TV',), ('radio',), None, False)
    >>> leaders(shapley(TableGame("ab", [0, 1.9, 0.05, 1.95]))).is_most
    True
    """

    nothing: bool  # no credit is more than rounding
    up: Lead | None  # None: nobody has credit above zero
    down: Lead | None  # None: nobody has credit below zero
    largest: float  # credit, without its sign
    reach: float  # the largest credit that there may be, without its sign, by the intervals
    total: float | None  # what there was to share; None: scores, which add up to nothing
    sum: float  # of all credit
    adds_up: bool  # to the total
    share: float | None  # of the total that the first has, in (0, 1]; only where all credit has the sign of the total
    surely: float | None  # the least that this share may be, by the interval; None where that is not known
    only: bool  # one player has all that is credited
    cancels: bool  # credit up and down leaves next to nothing of itself
    known: Known  # how well the numbers are known

    @property
    def is_most(self) -> bool:
        """Has one player more than half of a whole that nobody's credit is taken from?"""
        first = self.first
        alone = first is not None and first.support is Support.ALONE
        return alone and self.surely is not None and self.surely > HALF

    @property
    def first(self) -> Lead | None:
        """The end with the larger credit; above zero where both are equal."""
        ends = [end for end in (self.up, self.down) if end is not None]
        return max(ends, key=lambda end: abs(end.credit[0]), default=None)

    @property
    def second(self) -> Lead | None:
        """The other end, if it is worth a word."""
        other = self.down if self.first is self.up else self.up
        return other if other is not None and abs(other.credit[0]) >= NOTABLE * self.largest else None


def leaders(result: Attribution) -> Leaders:
    """What the numbers of a result support saying."""
    largest = float(np.abs(result.credit).max(initial=0.0))
    nothing = largest <= unnoticed(result)
    reach = largest if result.interval is None else max(largest, float(np.abs(result.interval).max(initial=0.0)))
    up, down = (None, None) if nothing else (lead(result, 1), lead(result, -1))
    share, surely = _share(result, up, down)
    total = result.total
    return Leaders(
        nothing=nothing,
        up=up,
        down=down,
        largest=largest,
        reach=reach,
        total=total,
        sum=float(result.credit.sum()),
        adds_up=_adds_up(result),
        share=share,
        surely=surely,
        only=result.exact and int((np.abs(result.credit) > indistinct(result)).sum()) == 1,
        cancels=total is not None and abs(total) < CANCELS * float(np.abs(result.credit).sum()),
        known=Known.EXACT if result.exact else Known.UNKNOWN if result.interval is None else Known.INTERVAL,
    )


def lead(result: Attribution, sign: int) -> Lead | None:
    """Those who are first at one end, as far as that is known; None where nobody's credit has this sign."""
    credit = sign * result.credit
    order = np.argsort(-credit, kind="stable")
    first = int(order[0])
    same = indistinct(result)
    if credit[first] <= same:
        return None
    alike = np.flatnonzero(credit >= credit[first] - same).tolist()  # in the order in which they play
    if result.interval is None:
        return _lead(result, Support.TIED if len(alike) > 1 else Support.ALONE, sign, alike)
    low, high = _ends(result.interval, sign)
    least = min(float(low[first]), float(credit[first]))
    with_it = [int(i) for i in order if i == first or max(high[i], credit[i]) >= least]
    if len(alike) > 1 and sorted(with_it) == alike and bool((high[alike] - low[alike] <= same).all()):
        return _lead(result, Support.TIED, sign, alike)  # nothing is left open
    support = Support.UNCERTAIN if least <= 0 else Support.OVERLAP if len(with_it) > 1 else Support.ALONE
    return _lead(result, support, sign, with_it)


def reaches(other: Lead, first: Lead) -> bool:
    """May the credit of one end be as large, without its sign, as that of the first?

    >>> up = Lead(Support.ALONE, 1, ("a",), (3.0,), (2.0, 4.0))
    >>> [reaches(Lead(Support.ALONE, -1, ("b",), (-1.8,), ends), up) for ends in [(-2.5, -1.5), (-1.9, -1.5)]]
    [True, False]
    """
    low = abs(first.credit[0]) if first.ends is None else min(abs(x) for x in (*first.ends, first.credit[0]))
    high = abs(other.credit[0]) if other.ends is None else max(abs(x) for x in (*other.ends, other.credit[0]))
    return high >= low * (1 - ROUNDING)


def indistinct(result: Attribution) -> float:
    """Credits that differ by no more read the same, or are the same but for rounding."""
    return max(ROUNDING * float(np.abs(result.credit).max(initial=0.0)), result.rounding)


def _lead(result: Attribution, support: Support, sign: int, places: Sequence[int]) -> Lead:
    ends = None if result.interval is None else tuple(float(x) for x in result.interval[places[0]])
    players = tuple(result.players[i] for i in places)
    return Lead(support, sign, players, tuple(float(result.credit[i]) for i in places), ends)  # type: ignore[arg-type]


def _ends(interval: FloatArray, sign: int) -> tuple[FloatArray, FloatArray]:
    """The low and the high ends as seen from the end that is asked about."""
    return (interval[:, 0], interval[:, 1]) if sign > 0 else (-interval[:, 1], -interval[:, 0])


def _adds_up(result: Attribution) -> bool:
    if result.total is None or result.unshared is None:
        return False
    missing = MISSING * max(abs(result.total), float(np.abs(result.credit).sum()))
    return abs(result.unshared) <= max(missing, unnoticed(result))


def _share(result: Attribution, up: Lead | None, down: Lead | None) -> tuple[float | None, float | None]:
    """The share of the total that the first has, and the least that it may be: only where nobody's credit counts against it."""
    total, one = result.total, up if down is None else down if up is None else None
    if total is None or one is None or not _adds_up(result) or one.sign * total <= 0:
        return None, None
    share = min(one.credit[0] / total, 1.0)
    if one.ends is not None:
        return share, min(share, min(one.sign * end for end in one.ends) / abs(total))
    return share, share if result.exact else None
