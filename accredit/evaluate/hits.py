"""Is the right player credited, where it is known who earned the payoff?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, FloatArray, Game, Procedure
from accredit.core.statistics import top_chances
from accredit.errors import InvalidInput
from accredit.evaluate.erasure import rank
from accredit.evaluate.metric import Better, Ends, NotApplicable, Result, rounding_of, scores_of


@dataclass(frozen=True)
class HitAt:
    r"""The share of the first k players that are among those who are known to have earned the payoff.

    $$\frac{|\mathrm{top}_k \cap \mathrm{truth}|}{\min(k, |\mathrm{truth}|)}$$

    So k = 1 asks whether the player with the most credit is one of them, and k = 2, where two share the truth, whether both
    are found. Players whose credit is equal up to rounding take the places that are left among them with equal chance, so
    credit that is zero for everybody scores what a blind guess does. Without a truth it does not apply.

    >>> from accredit.games import TableGame
    >>> from accredit.evaluate import measure
    >>> from accredit.values import leave_one_out, shapley
    >>> either = TableGame(("a", "b", "c"), [0, 1, 1, 1, 0, 1, 1, 1])  # a or b is enough, c is idle
    >>> measure(HitAt(1, truth=(0, 1)), either, shapley(either)), measure(HitAt(1, (0, 1)), either, leave_one_out(either))
    (1.0, 0.6666666666666666)
    """

    k: int
    truth: tuple[int, ...] = ()  # numbers of players
    better: Better = "higher"
    paper: str = ""
    within: ClassVar[Ends | None] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        whole_number(self.k, "k")

    @property
    def name(self) -> str:
        return f"hit@{self.k}"

    def plan(self, result: Result) -> BoolArray:
        if not self.truth:
            raise NotApplicable(
                f"{self.name} needs to know who earned the payoff, and nobody does for this input", code="missing"
            )
        n = len(scores_of(result, self.name))
        if not all(0 <= i < n for i in self.truth):
            raise InvalidInput(
                f"truth is {self.truth}, and there are {n} players; count them from 0", argument="truth", code="range"
            )
        return np.ones((1, n), dtype=bool)

    def score(self, result: Result, earned: FloatArray) -> float:
        scores = scores_of(result, self.name)
        chance = top_chances(scores, self.k, rounding_of(result, scores))
        return float(chance[list(self.truth)].sum() / min(self.k, len(self.truth)))

    def oracle(self, game: Game) -> Attribution:
        if not self.truth:
            raise NotApplicable(
                f"{self.name} needs to know who earned the payoff, and nobody does for this input", code="missing"
            )
        others = [i for i in range(len(game.players)) if i not in self.truth]
        return rank(game, np.array([*self.truth, *others]), Procedure("oracle", "the truth"))
