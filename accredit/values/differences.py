r"""Shapley values through their differences.

$$\phi_i - \phi_j = \frac{1}{n-1} \sum_{S \subseteq N \setminus \{i,j\}} \frac{v(S \cup i) - v(S \cup j)}{\binom{n-2}{|S|}}$$

Two estimators follow from this identity. `DifferencesHint` compares one fixed player with all others, as the textbook hint has
it. `Differences` averages the identity over j, after which one payoff v(T) serves every player at once:

$$\phi_i = \frac{D}{n} + \sum_{1 \le |T| \le n-1} \frac{1[i \in T] - |T|/n}{(n-1)\binom{n-2}{|T|-1}}\, v(T),
  \qquad D = v(N) - v(\emptyset)$$
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from accredit.checks.arguments import check_fields
from accredit.core import Attribution, BoolArray, Claim, FloatArray, Game, Holds, Procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.values.control_variate import semivalue_of_pairs
from accredit.values.every_output import solves_every_output
from accredit.values.intervals import Moments
from accredit.values.orders import random_places
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


@dataclass(frozen=True)
class Differences(Sampled):
    r"""Shapley by differences of all pairs of players, with a cross-fitted linear control variate. Unbiased.

    Coalitions are drawn as independent complementary pairs {T, Tᶜ}, sizes with chance q(k) ∝ 1/√(k(n−k)); a pair scores

    $$x_i = \frac{n}{k(n-k)\,q(k)}\,\Big(1[i \in T] - \frac{k}{n}\Big)\,\frac{u(T) - u(T^c)}{2}, \qquad u = v - f,$$

    and the estimate is φ(f) + (D − D_f)/n + mean x, with f additive and fitted to other pairs (`control`). The sum
    of the variances is about π² n σ²/m for m pairs, σ² being the spread of u at one size; so an error ε in the
    Euclidean norm takes m = O(n σ²/ε²) payoffs where random orders take O(n² R²/ε²). The factor n is won only when
    σ is of the order of one gain R, which is what f is for: an additive game comes out exactly.

    The interval is a Student t on the pair scores, with degrees of freedom lowered for heavy tails. It is asymptotic, and the
    recommended one: near its level from about 100 pairs on. Events that no pair has shown are invisible to it.

    >>> from accredit.games import FunctionGame
    >>> weights = np.arange(30.0)
    >>> additive = FunctionGame([f"player {i}" for i in range(30)], lambda coalitions: coalitions @ weights)
    >>> bool(np.allclose(Differences(budget=202).solve(additive).credit, weights))
    True
    """

    budget: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed)

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        n = len(game.players)
        claims = (
            Claim("efficiency", Holds.EXACTLY, "every pair's scores sum to zero; the known part sums to v(N) − v(∅)"),
            Claim("symmetry", *in_expectation(self, "unbiased: every control was fixed before the pairs it serves")),
            Claim("null player", *in_expectation(self, "unbiased: every control was fixed before the pairs it serves")),
            linearity(self),
        )
        return semivalue_of_pairs(game, self, self.budget, self.seed, "shapley", np.full(n, 1 / n), claims)


@dataclass(frozen=True)
class DifferencesHint(Sampled):
    r"""Shapley by differences from one reference player: the textbook hint, taken literally. For teaching; use `Differences`.

    Fix the first player i. Draw a size k with chance p(k) ∝ 1/(n−1−k), k = 0 … n−2, and a k-subset S of the others. Ask
    v(S ∪ i), and v(S ∪ j) for every j outside. Given j ∉ S, the size is uniform on 0 … n−2 and S uniform given its size, so the
    mean of v(S ∪ i) − v(S ∪ j) over the draws that leave j out estimates φᵢ − φⱼ without bias. Efficiency then gives
    φᵢ = (D + Σⱼ (φᵢ − φⱼ))/n, so no separate estimate of φᵢ is needed.

    **What it costs.** A draw leaves j out with chance 1/H, H = 1 + 1/2 + … + 1/(n−1), and costs 1 + (n−1)/H payoffs on average.
    One payoff still buys about one difference, and differences lie in [−2R, 2R] where gains lie in [−R, R]: the
    order O(R² n² log n/ε²) is that of random orders. One set S does serve all j at once, as the hint says, but a
    payoff for each j must be asked. The saving of a factor n comes from using v(T) for *all* pairs of players:
    `Differences`. Measured error relative to `Permutations` at equal payoffs is 0.7 to 1.6 (mean squares; voting
    and airport games gain, neural nets lose).

    The number of draws within a budget depends on their sizes, so the estimate is unbiased only in the limit. The interval is a
    Student t on linearised scores, widened by the rule of three as in `Permutations`; none is given before the empty set, which
    serves all players at once, can be expected three times, after 3(n−1)H draws: in trials with fewer it fell to 76 %.

    >>> from accredit.games import FunctionGame
    >>> majority = FunctionGame("abcde", lambda coalitions: coalitions.sum(axis=1) > 2)
    >>> values = DifferencesHint(budget=5000).solve(majority)
    >>> bool(np.abs(values.credit - 0.2).max() < 0.05), values.payoffs <= 5000
    (True, True)
    """

    budget: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check(self, self.budget, self.seed)
        if self.certify:
            raise InvalidInput(
                "certify=True is not offered by DifferencesHint; write Differences(..., certify=True)",
                argument="certify",
                code="unsupported",
            )

    @solves_every_output
    def solve(self, game: Game) -> Attribution:
        """Shapley values of `game`, estimated."""
        n, confidence, method = len(game.players), self.confidence, Procedure.by("shapley", self)
        ledger = Ledger(game, confidence.payoff_range)
        if n <= 2:
            return known_whole(game, ledger, np.full(n, 1 / n), method, self.budget, self.seed)
        hint = _Hint(ledger, n, self.seed)

        def half_widths(share: float) -> FloatArray | None:
            if hint.draws < hint.needed:
                return None
            return mean_half_widths(hint.moments(), confidence, share, ledger.blur, hint.weight)

        ended = run(self, self.budget, ledger, hint.draw, half_widths, cost=n, unit="draw")
        moments, widths = hint.moments(), half_widths(ended.share)
        because = mean_because(moments, confidence, "draw", ledger.blur)
        if hint.draws < hint.needed:
            because = f"{hint.draws} draws may miss the small sets, which weigh most; {hint.needed} are needed"
        claims = (
            Claim("efficiency", Holds.EXACTLY, "the reference player's credit is chosen so that all sum to v(N) − v(∅)"),
            Claim("symmetry", Holds.IN_THE_LIMIT, "consistent; the number of draws depends on their sizes"),
            Claim("null player", Holds.IN_THE_LIMIT, "consistent; the number of draws depends on their sizes"),
            linearity(self),
        )
        found = SampledEstimate(moments.mean, moments.stderr, widths, because)
        return report(game, ledger, method, claims, found, confidence, ended, self.seed, {"draws": ended.units})


class _Hint:
    """Draws of the hint and the differences they showed; player 0 is the reference."""

    def __init__(self, ledger: Ledger, players: int, seed: int) -> None:
        self._ledger, self._n = ledger, players
        self._of_sizes, self._of_members = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
        self._outside: list[BoolArray] = []  # (draws, n−1): whether j was left out
        self._differences: list[FloatArray] = []  # (draws, n−1): v(S ∪ i) − v(S ∪ j), zero where j ∈ S
        self.draws = 0
        harmonic = sum(1 / k for k in range(1, players))
        self.needed = ceil(3 * (players - 1) * harmonic)  # draws after which S = ∅ is expected three times
        self.weight = harmonic  # only one draw in so many compares a player with the first, and its difference counts as all

    def draw(self, count: int) -> None:
        """Ask for `count` more sets S."""
        others = self._n - 1
        steps = np.cumsum(1 / np.arange(others, 0, -1))
        sizes = np.searchsorted(steps / steps[-1], self._of_sizes.random(count), side="right")
        members = random_places(self._of_members, count, others) < sizes[:, None]
        which, who = np.nonzero(~members)  # one payoff v(S ∪ j) each
        asked = np.zeros((count + len(which), self._n), dtype=bool)
        asked[:count, 0], asked[:count, 1:] = True, members
        asked[count:, 1:] = members[which]
        asked[np.arange(count, len(asked)), who + 1] = True
        earned = self._ledger.ask(asked)
        differences = np.zeros((count, others))
        differences[which, who] = earned[which] - earned[count:]
        self.draws += count
        self._outside.append(~members)
        self._differences.append(differences)

    def moments(self) -> Moments:
        """The estimate, as the mean of scores linearised around it."""
        outside, differences = np.concatenate(self._outside), np.concatenate(self._differences)
        self._outside, self._differences = [outside], [differences]
        times = outside.sum(axis=0)
        if times.min() == 0:
            raise NotConverged(
                f"{len(outside)} draws never compared player {int(times.argmin()) + 1} with the first; give a larger budget",
            )
        mean = differences.sum(axis=0) / times
        change = outside * (differences - mean) * (len(outside) / times)  # (draws, n−1), mean zero
        compared = mean + change
        first = (self._ledger.total + compared.sum(axis=1, keepdims=True)) / self._n
        moments = Moments(self._n)
        moments.add(np.concatenate([first, first - compared], axis=1))
        return moments
