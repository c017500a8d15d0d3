r"""Influence functions: what removing a training row would do to the loss at a test point, to first order.

**Sign and scale, everywhere:** influence[i, t] estimates how much the loss at test point t *rises* when training row i
is removed and the model is trained again; positive means that row i helps.

With J = (1/N)Σℓ_i + α/2‖θ‖² at its minimum θ* and H = ∇²J,

$$I_{it} = \frac1N\, \nabla\ell(z_t)^\top H^{-1} g_i, \qquad g_i = \nabla\ell(x_i) \;\text{ or }\; \nabla\ell(x_i) -
\tfrac1N\textstyle\sum_j \nabla\ell(x_j).$$

The first g_i is for a penalty that stays as it is when a row leaves (scikit-learn's C: the *sum* of losses); the second
for weight decay beside a *mean* of losses, which is averaged anew over the rows that remain. This is −1/N times the
derivative ∂ℓ(z)/∂ε of Koh and Liang (2017).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from accredit.checks.arguments import check_arguments
from accredit.checks.numbers import a_type, real_number
from accredit.core import Attribution, Claim, FloatArray, Holds, Precision, Procedure
from accredit.core.procedure import check_procedure
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.curvature import Curvature, ExactHessian
from accredit.influence.objectives import LinearObjective, Objective

NUMBERS_PER_CHUNK = 1 << 22  # numbers held by one chunk of rows
STATIONARY_SHARE = 0.1  # ‖∇J‖ beside the norm of a typical row's gradient, above which θ is not called a minimum
UNLEARNED_SHARE = 0.1  # of what chance leaves, above which a model no better than a constant answer is not called trained
DIVIDES_NOTHING = "a slope where all rows play: it divides nothing"
AT_A_MINIMUM = (  # what slopes at the end of training keep
    Claim("efficiency", Holds.NO, DIVIDES_NOTHING),
    Claim("symmetry", Holds.EXACTLY, "equal rows have equal gradients"),
    Claim("null player", Holds.UNKNOWN, "a row without gradient gets zero, others that never matter may not"),
    Claim("linearity", Holds.NO, "the minimum θ* depends on the objective, not on a payoff that could be added"),
)


@dataclass(frozen=True, eq=False)
class Influences:
    """Influence of every training row on every test point; positive: the row helps there.

    >>> from accredit.influence import Softmax
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1])
    >>> found = influence(Softmax(data, weight_decay=0.1))
    >>> found.matrix.shape, found.targets, found.certificate["stationary"]
    ((4, 1), ('test 0',), True)
    """

    players: tuple[str, ...]
    targets: tuple[str, ...]
    matrix: FloatArray  # (N, M)
    method: Procedure  # a text names one
    certificate: dict[str, object] = field(default_factory=dict)
    claims: tuple[Claim, ...] = AT_A_MINIMUM

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", check_procedure(self.method))

    def attribution(self, target: str | None = None) -> Attribution:
        """Scores of the rows for one test point, or averaged over all: estimated leave-one-out values of minus the loss."""
        if target is not None and target not in self.targets:
            raise InvalidInput(
                f"unknown target {target!r}; the targets are {', '.join(self.targets[:5])}, …",
                argument="target",
                code="unknown",
            )
        column = self.matrix.mean(axis=1) if target is None else self.matrix[:, self.targets.index(target)]
        return Attribution(
            self.players,
            column,
            total=None,
            method=self.method if target is None else self.method.with_settings(target=target),
            claims=self.claims,
            precision=Precision.unknown("the error is that of the first order, not of sampling"),
            certificate=self.certificate,
        )


@check_arguments
def influence(
    objective: Objective,
    curvature: Curvature = ExactHessian(),
    *,
    damping: float = 0.0,
    averaged: bool = True,
    leverage: bool = False,
) -> Influences:
    """Estimate the effect of leaving out each training row on the loss at each test point, without retraining.

    `damping` is added to the diagonal of the Hessian and recorded; a Hessian that is not positive is refused, since its
    inverse would reverse signs. `averaged` says that the losses were averaged, not summed, beside the penalty. Costs one solve
    with min(N, M) right-hand sides.

    `leverage` takes the row's own curvature out of the Hessian as well, which is one Newton step towards the model without it:
    of linear models with few rows, influences of first order are too small. It costs a solve with P right-hand sides, and is
    for `Softmax` and `RidgeObjective`.

    All of it assumes that θ is a minimum: the certificate holds ‖∇J‖ beside the norm of a typical row's gradient, and
    `stationary` is false where the first is more than a tenth of the second, or more than N unrelated rows leave by chance.

    >>> from accredit.influence import Softmax
    >>> from accredit.valuation import split
    >>> data = split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1])
    >>> scores = influence(Softmax(data, weight_decay=0.1)).attribution()
    >>> scores.ranked().players[-1]  # the row with the odd label hurts most
    'row 3'
    """
    if not 0 <= damping < np.inf:
        raise InvalidInput(f"damping must be a number ≥ 0, got {damping!r}", argument="damping", code="range")
    train, test = objective.train_gradients(), objective.test_gradients()
    settled = stationarity(objective.stationarity(), float(np.sqrt((train**2).sum(axis=1).mean())), len(train))
    if averaged:
        train = train - train.mean(axis=0)
    if leverage:
        if not isinstance(objective, LinearObjective):
            raise InvalidInput(
                f"leverage is known of linear models, and objective is {a_type(objective)}; leave it out",
                argument="leverage",
                code="unsupported",
            )
        train = train + leverage_terms(objective, curvature.solve(objective, np.eye(objective.parameters), damping)[0], train)
    fewer, more = (test, train) if len(test) <= len(train) else (train, test)
    solved, certificate = curvature.solve(objective, np.ascontiguousarray(fewer.T), damping)
    products = more @ solved  # (more, fewer)
    matrix = (products if len(test) <= len(train) else products.T) / len(train)
    facts = {
        "damping": damping,
        "weight decay": objective.weight_decay,
        "averaged": averaged,
        "leverage": leverage,
        **settled,
    } | certificate
    data = objective.data
    return Influences(data.names, data.targets, matrix, Procedure.by("influence", curvature), facts)


def leverage_terms(objective: LinearObjective, inverse: FloatArray, train: FloatArray) -> FloatArray:
    r"""What is added to every row's gradient (N, P) so that H⁻¹ of the sum is (H − h_i/N)⁻¹g_i, by Woodbury: (N, P).

    A row's curvature is $h_i = A_i S_i A_i^\top$ with $A_i = x_i \otimes I$, so that it takes C × C systems only:
    $A_i\,(I - S_i Q_i/N)^{-1} S_i A_i^\top H^{-1} g_i / N$ with $Q_i = A_i^\top H^{-1} A_i$.
    """
    x, curvature = objective.rows_and_curvatures()  # (N, D), (N, C, C)
    (n, d), c = x.shape, curvature.shape[1]
    moved = np.einsum("nd,ndc->nc", x, (train @ inverse).reshape(n, d, c))
    terms = np.empty((n, d * c))
    for start in range(0, n, step := max(1, NUMBERS_PER_CHUNK // (c * d * c))):
        rows = slice(start, start + step)
        half = (x[rows] @ inverse.reshape(d, -1)).reshape(-1, c, d, c)  # Aᵢᵀ H⁻¹
        own = np.einsum("ncde,nd->nce", half, x[rows])
        pulled = np.linalg.solve(np.eye(c) - curvature[rows] @ own / n, curvature[rows] @ moved[rows, :, None] / n)
        terms[rows] = (x[rows, :, None] * pulled[:, None, :, 0]).reshape(-1, d * c)
    return terms


Stationarity = TypedDict(
    "Stationarity",
    {
        "gradient norm": float,
        "gradient norm of a row": float,
        "gradient norm by chance": float,
        "mean loss": float | None,
        "mean loss of a constant": float | None,
        "stationary": bool,
    },
)


def stationarity(
    gradient: float, typical: float, rows: int, loss: float | None = None, constant: float | None = None
) -> Stationarity:
    """‖∇J‖ over the layers looked at, beside the root mean square of one row's gradient; influence assumes it to be zero.

    The mean of N unrelated gradients has 1/√N of the size of one, so that a tenth says nothing where N is large. Where rows
    have something in common that a network has yet to learn, its gradient is larger than that; training brings it below.
    Where they have nothing in common, a network at random weights has no more than chance either: a mean `loss` that is not
    below the best `constant` answer's says that nothing was learned, and then ‖∇J‖ must be far below chance.

    >>> stationarity(2.0, 1.0, rows=4)["stationary"], stationarity(0.0, 1.0, rows=4)["stationary"]
    (False, True)
    >>> stationarity(0.05, 1.0, rows=1000)["stationary"]
    False
    >>> [stationarity(0.03, 1.0, rows=1000, loss=loss, constant=2.30)["stationary"] for loss in (2.31, 0.01)]
    [False, True]
    """
    if not math.isfinite(gradient) or not math.isfinite(typical):
        raise NotConverged("the gradients are not finite: give the model in float32, and check its loss", code="not-finite")
    chance = typical / math.sqrt(rows)
    learned = loss is None or constant is None or loss < constant
    return {
        "gradient norm": gradient,
        "gradient norm of a row": typical,
        "gradient norm by chance": chance,
        "mean loss": loss,
        "mean loss of a constant": constant,
        "stationary": gradient <= min(STATIONARY_SHARE * typical, chance if learned else UNLEARNED_SHARE * chance),
    }


def moving(certificate: Mapping[str, object]) -> str:
    """What to say where θ is not nearly a minimum; empty where it is, or where nothing is known."""
    if certificate.get("stationary", True):
        return ""
    norm, typical, chance = (
        real_number(certificate[name], name) for name in ("gradient norm", "gradient norm of a row", "gradient norm by chance")
    )
    loss, constant = certificate.get("mean loss"), certificate.get("mean loss of a constant")
    if isinstance(loss, float) and isinstance(constant, float) and loss >= constant:
        return (
            f"the model has learned nothing from these rows: their mean loss is {loss:.3g}, and one answer for all of them "
            f"would have {constant:.3g}. Give the weights after training"
        )
    small = min(STATIONARY_SHARE, chance / (typical or 1.0))
    return (
        f"the model is not at a minimum: ‖∇J‖ is {norm / (typical or 1.0):.2g} of a typical row's gradient, where "
        f"{small:.2g} would be small; the scores are about a model that was still moving. Train on, or follow its checkpoints "
        "(tracin)"
    )
