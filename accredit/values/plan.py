r"""How many random orders are enough, before any payoff is asked."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from numbers import Real
from typing import Literal

from accredit.checks import whole_number
from accredit.checks.arguments import check_arguments
from accredit.errors import InvalidInput


@dataclass(frozen=True)
class Plan:
    """A number of orders that is enough, and what they cost."""

    permutations: int
    payoffs: int  # v(∅) and v(N) once, and n − 1 coalitions per order


@check_arguments
def permutations_needed(
    players: int, largest_gain: float, epsilon: float, delta: float, norm: Literal["l2", "max"] = "l2"
) -> Plan:
    r"""Orders after which the Shapley estimate is within ε of the truth, except with probability δ.

    $$m \ge \frac{2 R^2 n}{\epsilon^2} \ln\frac{2n}{\delta} \;\text{ for } \lVert\hat\phi-\phi\rVert_2 \le \epsilon,
      \qquad m \ge \frac{2 R^2}{\epsilon^2} \ln\frac{2n}{\delta} \;\text{ for } \max_i|\hat\phi_i-\phi_i| \le \epsilon$$

    R = `largest_gain` bounds |v(S ∪ i) − v(S)| for every S and i. Derivation: a player's gains along m independent
    orders are independent, lie in [−R, R] and average to φᵢ in expectation, so Hoeffding's inequality gives P(|φ̂ᵢ
    − φᵢ| ≥ t) ≤ 2 exp(−2mt²/(2R)²) = 2 exp(−mt²/(2R²)). The union bound over n players makes the chance that any is
    off by t at most 2n exp(−mt²/(2R²)), which is δ at m = 2R² ln(2n/δ)/t². In the maximum norm t = ε; an error of t
    = ε/√n in every coordinate is an error of at most ε in the Euclidean norm. (Players need not be independent of
    one another.)

    With payoffs in [low, high], R = high − low always works. For monotone games gains lie in [0, R] and a quarter of the
    orders is enough: give R/2. The bound knows nothing of the game, so sampling with `half_width` usually stops far earlier.

    >>> permutations_needed(players=10, largest_gain=1, epsilon=0.5, delta=0.05)
    Plan(permutations=480, payoffs=4322)
    """
    whole_number(players, "players", example="len(game.players)")
    for name, value in (("largest_gain", largest_gain), ("epsilon", epsilon)):
        if not isinstance(value, Real) or not 0 < value < float("inf"):
            raise InvalidInput(
                f"{name} must be positive and finite, got {value!r}; write for example {name}=0.1", argument=name, code="range"
            )
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise InvalidInput(
            f"delta must lie between 0 and 1, got {delta!r}; write for example delta=0.05", argument="delta", code="range"
        )
    each = epsilon / players**0.5 if norm == "l2" else epsilon
    if not 2 * largest_gain < 1e100 * each or delta < 1e-300:
        raise InvalidInput(
            f"largest_gain={largest_gain:g}, epsilon={epsilon:g} and delta={delta:g} need more orders than can be counted; ask "
            "for a larger epsilon or delta",
            argument="largest_gain",
            code="range",
        )
    permutations = ceil(2 * (largest_gain / each) ** 2 * log(2 * players / delta))
    return Plan(permutations, 2 + permutations * (players - 1))
