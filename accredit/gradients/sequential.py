r"""Sequential integrated gradients (Enguehard, 2023): one line for each player, on which everybody else stays.

$$\phi_i = \sum_{c \in C_i} (x_c - x'_c) \int_0^1
    \frac{\partial f}{\partial x_c}\bigl(x + (\alpha - 1)(x - x')_{C_i}\bigr)\, d\alpha = f(x) - f(x \text{ with } x'_{C_i})$$

The second equality is the fundamental theorem of calculus: summed over a player's coordinates, this is its leave-one-out value
under the removal of the same name. Two payoffs give what the integral gives with many slopes; each player's gap is the check.
"""

from __future__ import annotations

import numpy as np
import torch

from accredit.checks.arguments import check_arguments
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.errors import NotConverged
from accredit.gradients.integrated import COMPLETENESS_TOLERANCE, FIRST_STEPS, MOST_STEPS, check_steps, few_digits
from accredit.gradients.point import Point, point

ALONE = "each player's line adds up to its leave-one-out value"


@check_arguments
def sequential_integrated_gradients(
    model: object,
    given: object,
    *,
    target: str | int | None = None,
    payoff: str | None = None,
    players: object = None,
    baseline: object = None,
    tolerance: float = COMPLETENESS_TOLERANCE,
    steps: int = FIRST_STEPS,
    most_steps: int = MOST_STEPS,
) -> Attribution:
    """Integrated gradients of each player on a line of its own; the formula is in the module's docstring.

    The steps are doubled, for the players that need it, until no player misses its own difference by more than `tolerance`
    times Σ |credit|. `steps` forward and backward passes per player, or more.

    >>> import torch
    >>> class Product(torch.nn.Module):
    ...     def forward(self, rows):
    ...         return rows.prod(dim=1, keepdim=True)
    >>> sequential_integrated_gradients(Product(), [2.0, 3.0], target=0).credit.round(6)  # leave-one-out
    array([6., 6.])
    """
    at = point(model, given, target=target, payoff=payoff, players=players, baseline=baseline)
    return sequential_integrated_gradients_at(at, tolerance, most_steps, steps)


def sequential_integrated_gradients_at(
    at: Point, tolerance: float = COMPLETENESS_TOLERANCE, most_steps: int = MOST_STEPS, steps: int = FIRST_STEPS
) -> Attribution:
    """Sequential integrated gradients of any differentiable payoff."""
    check_steps(steps, most_steps, tolerance)
    moves = _moves(at)
    alone = at.worth(at.here) - np.array([at.worth(at.here - move) for move in moves])
    credit, used = np.array([_along(at, move, steps) for move in moves]), np.full(len(moves), steps)
    while (off := np.abs(credit - alone) > tolerance * np.abs(credit).sum()).any():
        if 2 * used.max() > most_steps:
            worst = int(np.abs(credit - alone).argmax())
            raise NotConverged(
                f"sequential integrated gradients of {at.partition.players[worst]!r} miss {alone[worst]:.6g} by "
                f"{abs(credit[worst] - alone[worst]):.3g} after {used.max()} steps; raise most_steps to {2 * used.max()} or "
                f"more, raise tolerance above {tolerance}, or ask for leave-one-out, which is what they converge to"
                f"{few_digits(at)}"
            )
        used[off] *= 2
        credit[off] = [_along(at, moves[i], int(used[i])) for i in np.flatnonzero(off)]
    return _attribution(at, credit, alone, used, tolerance)


def _moves(at: Point) -> list[torch.Tensor]:
    """For each player, how far its coordinates are from the baseline; 0 elsewhere."""
    owner = torch.from_numpy(at.partition.owner).to(at.here.device)
    return [(at.here - at.baseline) * at.coordinates(owner == i) for i in range(len(at.partition.players))]


def _along(at: Point, move: torch.Tensor, steps: int) -> float:
    """Slopes times the move, averaged on the line by a Gauss–Legendre sum."""
    places, weights = np.polynomial.legendre.leggauss(steps)
    back = torch.from_numpy((1 - places) / 2).to(at.here).reshape(-1, *(1 for _ in at.here.shape[1:]))
    gains = (at.slopes(at.here - back * move) * move).double().flatten(1).sum(dim=1)
    return float(gains.cpu().numpy() @ (weights / 2))


def _attribution(at: Point, credit: FloatArray, alone: FloatArray, used: FloatArray, tolerance: float) -> Attribution:
    gap = float(np.abs(credit - alone).max())
    game = f"of the game in which players leave for the baseline ({at.provenance['baseline']})"
    claims = (
        Claim("efficiency", Holds.NO, f"{ALONE}, and those do not share a total"),
        Claim("symmetry", Holds.IN_THE_LIMIT, f"{ALONE}, equal for equal players {game}"),
        Claim("null player", Holds.IN_THE_LIMIT, f"{ALONE}, 0 for a null player {game}"),
        Claim("linearity", Holds.IN_THE_LIMIT, "slopes of a sum add up; the step counts may differ"),
    )
    return Attribution(
        at.partition.players,
        credit,
        None,
        Procedure("sequential integrated gradients", settings={"steps": int(used.max())}),
        claims,
        payoffs=int(used.sum()) + len(credit) + 1,
        stopped="every player's gap met the tolerance",
        certificate={"largest gap": gap, "tolerance": tolerance, "steps": used.tolist(), "rule": "Gauss–Legendre"},
        precision=Precision.unknown("the error is that of the steps along each line; see the largest gap"),
        provenance=at.provenance,
    )
