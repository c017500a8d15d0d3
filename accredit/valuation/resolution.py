"""What a budget of trainings can tell: rows apart, a few of them, or only groups."""

from __future__ import annotations

import numpy as np

from accredit.core import Attribution
from accredit.core.statistics import ALIKE
from accredit.valuation.forecast import Forecast


def resolution(values: Attribution) -> tuple[str, ...]:
    """A sentence for values whose intervals are wider than what there is to tell apart; nothing where they are not.

    The measure is an even share, v(N) − v(∅) over the number of players. What it would take, and how many groups these
    trainings could tell apart, follows as in a forecast.

    >>> wide = Attribution(("a", "b"), [0.1, 0.2], 0.3, "by hand", interval=np.array([[-1, 1.2], [-1, 1.4]]), payoffs=100)
    >>> print(resolution(wide)[0])
    half of the intervals are wider than ±1.1, and an even share is 0.15: rows can hardly be told apart. ±0.15 would take \
about 5,900 trainings; these tell 0 of 2 rows surely from zero
    """
    if values.interval is None or values.total is None or values.payoffs is None:
        return ()
    if abs(values.total) <= ALIKE * float(np.abs(values.credit).max()):  # no share to measure by
        return ()
    n = len(values)
    half = float(np.median(np.diff(values.interval, axis=1))) / 2
    seen = Forecast(n, values.payoffs, half, values.total)
    share = seen.even_share
    if half <= share:
        return ()
    sure = int(((values.interval[:, 0] > 0) | (values.interval[:, 1] < 0)).sum())
    groups = seen.groups(values.payoffs)
    instead = f", and might tell {groups} groups apart (players=COLUMN)" if 2 <= groups < n else ""
    return (
        f"half of the intervals are wider than ±{half:.2g}, and an even share is {share:.2g}: rows can hardly be told apart. "
        f"±{share:.2g} would take about {seen.budget(share):,} trainings; these tell {sure:,} of {n:,} rows surely from zero"
        f"{instead}",
    )
