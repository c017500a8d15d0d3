"""What erasing the credited players does to the payoff, and what they earn alone: the ERASER family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from accredit.checks import whole_number
from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, FloatArray, Game, IntArray, Procedure, Selection, payoffs
from accredit.core.rounding import SINGLE, blur
from accredit.core.statistics import top_chances
from accredit.errors import InvalidInput
from accredit.evaluate.chains import best_chain, check_fractions, sizes_of, tops
from accredit.evaluate.metric import Better, Ends, NotApplicable, Result, order_of, rounding_of, scores_of

EVERY_CHOICE = 2000  # choices of players to remove that are all tried
BINS = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the players; the thresholds of ERASER


def _choose(result: Result, fractions: Sequence[float]) -> BoolArray:
    """The players called important, one row per bin; a selection is its own single bin: (bins, n)."""
    if isinstance(result, Selection):
        return result.chosen[None]
    return tops(order_of(result, result.credit), sizes_of(fractions, len(result)))


def _bins(fractions: Sequence[float], players: int) -> FloatArray:
    """How often each coalition size k = 0..n is a bin, as shares: (n + 1,)."""
    return np.bincount(sizes_of(fractions, players), minlength=players + 1) / len(fractions)


def _without(chosen: BoolArray) -> BoolArray:
    """Everybody, then everybody but the chosen of each bin: (1 + bins, n)."""
    return np.vstack([np.ones_like(chosen[:1]), ~chosen])


def _alone(chosen: BoolArray) -> BoolArray:
    """Everybody, then the chosen of each bin alone: (1 + bins, n)."""
    return np.vstack([np.ones_like(chosen[:1]), chosen])


def _mean_loss(earned: FloatArray, empty_bin: bool) -> float:
    """What the bins lose of v(N), averaged; `empty_bin` counts one more that loses nothing."""
    return float((earned[0] - earned[1:]).sum() / (len(earned) - 1 + empty_bin))


def _least_left(game: Game, fractions: Sequence[float], worth: Callable[[FloatArray], FloatArray] = lambda v: v) -> Attribution:
    """The order whose first players, removed, leave the least."""
    bins = _bins(fractions, len(game.players))[::-1]
    return rank(game, best_chain(game, bins, grow=False, worth=worth)[::-1], Procedure("oracle", "least left"))


def _most_kept(game: Game, bins: FloatArray) -> Attribution:
    """The order whose first players, kept, keep the most."""
    return rank(game, best_chain(game, -bins, grow=True), Procedure("oracle", "most kept"))


def rank(game: Game, order: IntArray, method: Procedure) -> Attribution:
    """An order of the players as scores n, n−1, …, 1."""
    credit = np.empty(len(order))
    credit[order] = np.arange(len(order), 0, -1)
    return Attribution(game.players, credit, total=None, method=method)


@dataclass(frozen=True)
class Comprehensiveness:
    r"""How much is lost when the most credited players are removed.

    $$\frac{1}{|B|} \sum_{q \in B} \big[v(N) - v(N \setminus \mathrm{top}_q)\big]$$

    top_q holds the ⌈qn⌉ players of highest signed credit (ties by position). The average over the bins B is called AOPC in
    ERASER (DeYoung et al., 2020); bins are averaged as its released scorer does, where the printed formula also counts an
    empty bin worth 0 (`empty_bin=True`). A selection is measured on its chosen set alone. ERASER's payoff is the probability
    of the predicted class; any payoff works, in its own units. One payoff per bin.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(Comprehensiveness(fractions=(0.5,)), cookies, shapley(cookies))  # alice goes: 10 − 3
    7.0
    """

    fractions: tuple[float, ...] = BINS
    empty_bin: bool = False
    name: str = "comprehensiveness"
    better: Better = "higher"
    paper: str = "DeYoung et al. (2020)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_fractions(self.fractions)

    def plan(self, result: Result) -> BoolArray:
        return _without(_choose(result, self.fractions))

    def score(self, result: Result, earned: FloatArray) -> float:
        return _mean_loss(earned, self.empty_bin)

    def oracle(self, game: Game) -> Attribution:
        return _least_left(game, self.fractions)


@dataclass(frozen=True)
class Sufficiency:
    r"""How much is lost when only the most credited players are kept; near zero (or below) is good.

    $$\frac{1}{|B|} \sum_{q \in B} \big[v(N) - v(\mathrm{top}_q)\big]$$

    Conventions as in `Comprehensiveness` (DeYoung et al., 2020).

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(Sufficiency(fractions=(0.5,)), cookies, shapley(cookies))  # alice alone: 10 − 5
    5.0
    """

    fractions: tuple[float, ...] = BINS
    empty_bin: bool = False
    name: str = "sufficiency"
    better: Better = "lower"
    paper: str = "DeYoung et al. (2020)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_fractions(self.fractions)

    def plan(self, result: Result) -> BoolArray:
        return _alone(_choose(result, self.fractions))

    def score(self, result: Result, earned: FloatArray) -> float:
        return _mean_loss(earned, self.empty_bin)

    def oracle(self, game: Game) -> Attribution:
        return _most_kept(game, _bins(self.fractions, len(game.players)))


@dataclass(frozen=True)
class LogOdds:
    r"""Log of the probability that is left after the most credited players are removed, over the one before.

    $$\frac{1}{|B|} \sum_{q \in B} \log \frac{v(N \setminus \mathrm{top}_q)}{v(N)}$$

    The field calls it log-odds (Shrikumar et al., 2017; for text Chen, Zheng and Ji, 2020, with 20 % removed); as defined
    there it is a ratio of probabilities, not of odds. Lower is better. The payoff must be a probability: build the game with
    payoff="probability". Zero probabilities are refused rather than clipped.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> chance = TableGame(("a", "b"), [0.1, 0.4, 0.2, 0.8])
    >>> round(measure(LogOdds(fractions=(0.5,)), chance, shapley(chance)), 4)  # log of 0.2 / 0.8
    -1.3863
    """

    fractions: tuple[float, ...] = (0.2,)
    name: str = "log-odds"
    better: Better = "lower"
    paper: str = "Shrikumar et al. (2017); Chen, Zheng and Ji (2020)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_fractions(self.fractions)

    def plan(self, result: Result) -> BoolArray:
        return _without(_choose(result, self.fractions))

    def score(self, result: Result, earned: FloatArray) -> float:
        log = _log_probability(earned)
        return float((log[1:] - log[0]).mean())

    def oracle(self, game: Game) -> Attribution:
        return _least_left(game, self.fractions, _log_probability)


def _log_probability(earned: FloatArray) -> FloatArray:
    impossible = (earned <= 0) | (earned > 1 + blur(1.0, SINGLE))
    if impossible.any():
        bad = earned[impossible][0]
        raise NotApplicable(
            f"log-odds needs payoffs that are probabilities in (0, 1], and this game pays {bad:.4g}", code="unsupported"
        )
    return np.log(earned)


@dataclass(frozen=True)
class AOPC:
    r"""Area over the perturbation curve: the mean loss as players are removed one by one, most credited first.

    $$\frac{1}{K+1} \sum_{k=0}^{K} \big[v(N) - v(N \setminus \mathrm{top}_k)\big]$$

    with the term k = 0, which is zero, counted (Samek et al., 2017). K is `steps`, or all n players when None.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> cookies = TableGame(("alice", "bob"), [0, 5, 3, 10])
    >>> measure(AOPC(), cookies, shapley(cookies))  # losses of 0, 7 and 10
    5.666666666666667
    """

    steps: int | None = None
    name: str = "aopc"
    better: Better = "higher"
    paper: str = "Samek et al. (2017)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.steps is not None and self.steps < 1:
            raise InvalidInput(
                f"steps must be at least 1, got {self.steps!r}; leave it out to remove every player",
                argument="steps",
                code="range",
            )

    def _last(self, players: int) -> int:
        return players if self.steps is None else min(self.steps, players)

    def plan(self, result: Result) -> BoolArray:
        order = order_of(result, scores_of(result, self.name))
        return ~tops(order, np.arange(self._last(len(order)) + 1))

    def score(self, result: Result, earned: FloatArray) -> float:
        return float((earned[0] - earned).mean())

    def oracle(self, game: Game) -> Attribution:
        n = len(game.players)
        weights = np.zeros(n + 1)
        weights[n - self._last(n) :] = 1.0
        return rank(game, best_chain(game, weights, grow=False)[::-1], Procedure("oracle", "least left"))


@dataclass(frozen=True)
class DropAt:
    r"""What is lost when the k most credited players are removed: v(N) − v(N ∖ top_k); ties by position.

    A loss that is rounding counts as none. Of two players who can stand in for each other, removing one loses nothing: compare
    k = 1 with k = 2.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> either = TableGame(("a", "b"), [0, 1, 1, 1])
    >>> [measure(DropAt(k), either, shapley(either)) for k in (1, 2)]
    [0.0, 1.0]
    """

    k: int
    better: Better = "higher"
    paper: str = "Cohen-Wang et al. (2024)"
    within: ClassVar[Ends | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        whole_number(self.k, "k")

    @property
    def name(self) -> str:
        return f"drop@{self.k}"

    def plan(self, result: Result) -> BoolArray:
        order = order_of(result, scores_of(result, self.name))
        return ~tops(order, np.array([0, min(self.k, len(order)), len(order)]))

    def score(self, result: Result, earned: FloatArray) -> float:
        lost = float(earned[0] - earned[1])
        return lost if abs(lost) > rounding_of(result, earned) else 0.0

    def oracle(self, game: Game) -> Attribution:
        """The k players whose removal leaves the least, by trying all up to 2,000 choices, else by the best chain."""
        n = len(game.players)
        if comb(n, min(self.k, n)) > EVERY_CHOICE:
            bins = np.eye(n + 1)[n - min(self.k, n)]
            return rank(game, best_chain(game, bins, grow=False)[::-1], Procedure("oracle", "least left"))
        chosen = np.array(list(combinations(range(n), min(self.k, n))))
        stays = np.ones((len(chosen), n), dtype=bool)
        np.put_along_axis(stays, chosen, False, axis=1)
        first = chosen[int(payoffs(game, stays).argmin())]
        return rank(game, np.concatenate([first, np.setdiff1d(np.arange(n), first)]), Procedure("oracle", "least left"))


@dataclass(frozen=True)
class PostHocAccuracy:
    """Whether the most credited players alone lead to the same decision as everybody: 1 or 0 per input.

    The decision is `payoff > threshold`: 0.5 for the probability of one of two classes, 0 for a margin (which covers any
    number of classes). Averaged over inputs this is the post-hoc accuracy of L2X (Chen et al., 2018). A selection is measured
    on its chosen set, an order on its first ⌈fraction·n⌉ players. It can be gamed by encoding the decision in the choice
    itself: read it beside a leakage report.

    >>> from accredit.evaluate import measure
    >>> from accredit.games import TableGame
    >>> from accredit.values import shapley
    >>> chance = TableGame(("a", "b"), [0.1, 0.7, 0.2, 0.8])
    >>> measure(PostHocAccuracy(fraction=0.5), chance, shapley(chance))  # a alone decides as both do
    1.0
    """

    fraction: float = 0.2
    threshold: float = 0.5
    name: str = "post-hoc accuracy"
    better: Better = "higher"
    paper: str = "Chen et al. (2018)"
    within: ClassVar[Ends | None] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        check_fractions((self.fraction,))

    def plan(self, result: Result) -> BoolArray:
        return _alone(_choose(result, (self.fraction,)))

    def score(self, result: Result, earned: FloatArray) -> float:
        above = earned > self.threshold + rounding_of(result, earned)  # half of a vote, but for rounding, is not above half
        return float(above[0] == above[1])

    def oracle(self, game: Game) -> Attribution:
        """The keeping order that pushes the payoff furthest to the side of the decision."""
        n = len(game.players)
        everyone = payoffs(game, np.ones((1, n), dtype=bool))[0]
        side = 1.0 if everyone > self.threshold else -1.0
        return _most_kept(game, side * _bins((self.fraction,), n))


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
