r"""When leave-one-out is enough: how far it is from the Shapley value, and what that distance is made of.

With dividends m(S),

$$\phi_i - \mathrm{LOO}_i = -\sum_{S \ni i} m(S)\,(1 - 1/|S|),$$

so the two agree where nobody interacts, and the error of a player is bounded by its dividends of two players and more.
Leave-one-out asks n + 2 payoffs. n more, what each player earns alone, show for free whether the game can be additive at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.core import FloatArray, Game, Known, payoffs, tabulate
from accredit.core.coalitions import from_index
from accredit.core.rounding import blur_of
from accredit.values.exact import exactly, leave_one_out
from accredit.values.interactions import mobius_from_table
from accredit.values.intervals import blur_between
from accredit.values.shapley import shapley

CREDIT_ROUNDING = 1e-9  # of the largest credit: what solving may lose
CLOSE = 0.1  # of the largest credit: errors below it, and the same player first, are called enough


@dataclass(frozen=True, eq=False)
class LeavingOut:
    """Leave-one-out beside the Shapley value of one game.

    >>> from accredit.games import TableGame
    >>> found = leaving_out(TableGame(("alice", "bob"), [0, 5, 3, 10]))
    >>> found.loo, found.shapley, found.enough
    (array([7., 5.]), array([6., 4.]), False)
    """

    players: tuple[str, ...]
    loo: FloatArray  # (n,)
    shapley: FloatArray  # (n,)
    bound: FloatArray | None  # (n,): Σ |m(S)|(1 − 1/|S|) over S ∋ i; None where dividends were not computed
    share_above: float | None  # of Σ |m(S)|, what belongs to two players and more
    missing: float  # v(N) − v(∅) less the sum of leave-one-out: 0 in an additive game
    lonely: float  # largest |LOO_i − what i earns alone|: 0 in an additive game
    doubt: float  # half-width of the widest interval of the Shapley values; 0 where they are exact
    blur: float = 0.0  # by how much rounding of the payoffs may part credits that are equal

    @property
    def error(self) -> FloatArray:
        """φ − LOO, player by player."""
        return self.shapley - self.loo

    @property
    def same_order(self) -> bool:
        """Whether both rank the players alike; credits that differ by rounding are equal."""
        ahead = [credit[:, None] > credit + self._rounding for credit in (self.loo, self.shapley)]
        return bool((ahead[0] == ahead[1]).all())

    @property
    def _rounding(self) -> float:
        """By how much rounding may part credits that are equal."""
        return self.blur + CREDIT_ROUNDING * float(max(np.abs(self.loo).max(), np.abs(self.shapley).max()))

    @property
    def enough(self) -> bool | None:
        """Whether every error is small against the largest credit and the same player comes first. None: nobody can tell."""
        largest = float(np.abs(self.shapley).max())
        room, worst = CLOSE * largest, float(np.abs(self.error).max())
        first = float(self.shapley[self.loo >= self.loo.max() - self._rounding].max()) >= self.shapley.max() - self._rounding
        if worst + self.doubt <= room and first:
            return True
        return None if worst - self.doubt <= room and self.doubt > 0 else False

    @property
    def because(self) -> str:
        """The rule, with its numbers."""
        answer = {True: "is enough here", False: "is not enough here", None: "may or may not be enough here"}[self.enough]
        worst = int(np.abs(self.error).argmax())
        above = "" if self.share_above is None else f"; {self.share_above:.0%} of all dividends belong to two players or more"
        return (
            f"leave-one-out {answer}: its largest error is {abs(self.error[worst]):.3g} ({self.players[worst]}), the largest "
            f"credit {np.abs(self.shapley).max():.3g}{above}"
        )


@check_arguments
def leaving_out(game: Game, *, budget: int | None = None, seed: int = 0) -> LeavingOut:
    """Compare leave-one-out with the Shapley value. Exact, with dividends, where 2ⁿ payoffs are affordable; else estimated.

    >>> from accredit.games import TableGame
    >>> spare = leaving_out(TableGame(("key", "spare key"), [0, 1, 1, 1]))
    >>> spare.enough, spare.loo.tolist(), spare.bound.tolist(), round(spare.share_above, 3)
    (False, [0.0, 0.0], [0.5, 0.5], 0.333)
    """
    n = len(game.players)
    out = leave_one_out(game)
    alone = payoffs(game, np.eye(n, dtype=bool)) - (out.baseline or 0.0)
    value = shapley(game, budget=budget, seed=seed)
    bound, above = None, None
    if exactly(game, budget):
        bound, above = _dividends(tabulate(game), n, blur_of(game))
    widths = np.ptp(value.interval, axis=1) / 2 if value.interval is not None else np.zeros(n)
    unknown = value.interval is None and value.precision is not None and value.precision.known is Known.UNKNOWN
    return LeavingOut(
        game.players,
        out.credit,
        value.credit,
        bound,
        above,
        float(out.unshared or 0.0),
        float(np.abs(out.credit - alone).max()),
        np.inf if unknown else float(widths.max()),
        max(out.rounding, value.rounding),
    )


def _dividends(v: FloatArray, n: int, moved: float) -> tuple[FloatArray, float]:
    """The bound of every player, and the share of dividends above single players."""
    m = np.abs(mobius_from_table(v - v[0]))
    members = from_index(np.arange(v.size), n)
    size = members.sum(axis=1)
    weight = np.where(size > 1, m * (1 - 1 / np.maximum(size, 1)), 0.0)
    total = float(m[1:].sum())
    nothing = blur_between(float(v.min()), float(v.max()), moved)
    return weight @ members, float(m[size > 1].sum()) / total if total > nothing else 0.0
