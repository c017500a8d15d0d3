r"""Solving with a Hessian: directly, by conjugate gradients, or by the Neumann series behind LiSSA.

For A ≻ 0 scaled so that its eigenvalues lie in (0, 2), A⁻¹ = Σ_i (I − A)^i. After r terms, i = 0 … r − 1, the error is exactly

$$\lVert A^{-1} - S_r \rVert = \max_\lambda \frac{|1 - \lambda|^r}{\lambda},$$

for eigenvalues in (0, 1] that is (1 − λ_min)^r/λ_min: the *smallest* eigenvalue decides. (A bound in terms of λ_max, as
is sometimes printed, is wrong: the slow direction is the flat one.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from accredit.checks.arguments import check_arguments, check_fields
from accredit.core import FloatArray
from accredit.errors import InvalidInput, NotConverged
from accredit.influence.objectives import Objective

MATRIX_LIMIT = 20_000  # parameters; a matrix of 3.2 GB

Products = Callable[[FloatArray], FloatArray]  # (P, k) -> (P, k)


@check_arguments
def neumann_error(low: float, high: float, terms: int) -> float:
    """‖A⁻¹ − S_r‖ of the first r = `terms` terms when the eigenvalues of A fill [low, high] ⊂ (0, 2).

    >>> neumann_error(0.5, 0.5, 1)  # A⁻¹ = 2, and one term is 1
    1.0
    >>> neumann_error(0.01, 0.58, 50) > 59  # of ‖A⁻¹‖ = 100: fifty terms have barely begun
    True
    """
    if not 0 < low <= high < 2:
        raise InvalidInput(
            f"eigenvalues in [{low}, {high}] do not lie in (0, 2): the series does not converge; scale A",
            argument="low",
            code="range",
        )
    error = float(max(abs(1 - e) ** terms / e for e in (low, high)))
    if not np.isfinite(error):
        raise InvalidInput(
            f"low is {low!r}, so small that the error is beyond numbers; give a larger low", argument="low", code="range"
        )
    return error


@check_arguments
def neumann_terms(low: float, high: float, relative: float) -> int:
    """The fewest terms r for which the error is at most `relative`·‖A⁻¹‖: about ln(1/relative) / −ln(1 − λ_min).

    >>> neumann_terms(0.01, 0.58, 0.01)
    459
    """
    if not 0 < relative < 1:
        raise InvalidInput(f"relative must lie between 0 and 1, got {relative!r}", argument="relative", code="range")
    neumann_error(low, high, 0)  # checks the range
    rate = max(abs(1 - low), abs(1 - high))
    terms = 1 if rate == 0 else int(np.ceil(np.log(relative) / np.log(rate))) - 1
    while neumann_error(low, high, terms) > relative / low:
        terms += 1
    return max(terms, 0)


@runtime_checkable
class Curvature(Protocol):
    """How to solve (∇²J + damping·I) U = V for many right-hand sides."""

    def solve(self, objective: Objective, right: FloatArray, damping: float) -> tuple[FloatArray, dict[str, object]]:
        """U (P, k), and figures to check it by."""
        ...


@dataclass(frozen=True)
class ExactHessian:
    """Form ∇²J and factor it. Costs P products, P³/3 operations and P² memory; refuses a matrix that is not positive.

    >>> from accredit.influence import Softmax, influence
    >>> from accredit.valuation import split
    >>> model = Softmax(split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1]), weight_decay=0.1)
    >>> print(influence(model, ExactHessian()).method)
    influence/ExactHessian()
    """

    def solve(self, objective: Objective, right: FloatArray, damping: float) -> tuple[FloatArray, dict[str, object]]:
        return _factor(objective.hessian_products, objective.parameters, right, damping, "Hessian")


@dataclass(frozen=True)
class GaussNewton:
    """Form the Gauss–Newton matrix, which is never negative, and factor it; with any weight decay it can be solved.

    >>> from accredit.influence import Softmax, influence
    >>> from accredit.valuation import split
    >>> model = Softmax(split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1]), weight_decay=0.1)
    >>> exact, solved = influence(model).matrix, influence(model, GaussNewton()).matrix
    >>> bool(np.abs(exact - solved).max() < 1e-9)  # for logistic regression it is the Hessian
    True
    """

    def solve(self, objective: Objective, right: FloatArray, damping: float) -> tuple[FloatArray, dict[str, object]]:
        return _factor(objective.gauss_newton_products, objective.parameters, right, damping, "Gauss–Newton matrix")


@dataclass(frozen=True)
class ConjugateGradients:
    """Solve by products alone, all right-hand sides at once, until every relative residual is below `tolerance`.

    Needs about √(λ_max/λ_min)·ln(2/tolerance)/2 steps. A direction of negative curvature is an error, not a step.

    >>> from accredit.influence import Softmax, influence
    >>> from accredit.valuation import split
    >>> model = Softmax(split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1]), weight_decay=0.1)
    >>> exact, solved = influence(model).matrix, influence(model, ConjugateGradients()).matrix
    >>> bool(np.abs(exact - solved).max() < 1e-6)
    True
    """

    tolerance: float = 1e-8
    steps: int | None = None  # at most; default: ten per parameter
    gauss_newton: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def solve(self, objective: Objective, right: FloatArray, damping: float) -> tuple[FloatArray, dict[str, object]]:
        products = _damp(objective.gauss_newton_products if self.gauss_newton else objective.hessian_products, damping)
        most = self.steps or 10 * objective.parameters
        size = np.linalg.norm(right, axis=0)
        u = np.zeros_like(right)
        residual = right.copy()
        direction = residual.copy()
        squares = (residual**2).sum(axis=0)
        active, step = np.flatnonzero(squares > 0), 0
        while len(active) and step < most:
            step += 1
            moved = products(direction[:, active])
            curvature = (direction[:, active] * moved).sum(axis=0)
            flat = curvature <= 1e-14 * (direction[:, active] ** 2).sum(axis=0)
            if flat.any():
                raise NotConverged(_not_positive("Hessian", float(curvature[flat].min()), damping))
            length = squares[active] / curvature
            u[:, active] += length * direction[:, active]
            residual[:, active] -= length * moved
            fresh = (residual[:, active] ** 2).sum(axis=0)
            direction[:, active] = residual[:, active] + (fresh / squares[active]) * direction[:, active]
            squares[active] = fresh
            active = active[np.sqrt(fresh) > self.tolerance * size[active]]
        worst = _worst(products, u, right)
        if worst > 10 * self.tolerance:
            raise NotConverged(
                f"conjugate gradients left a relative residual of {worst:.2g} after {step} steps (wanted "
                f"{self.tolerance:g}); raise damping above {damping:g}, or steps above {most}"
            )
        return u, {"steps": step, "relative residual": worst}


@dataclass(frozen=True)
class Neumann:
    """The series that LiSSA samples, with products over all rows: U ← V/s + (I − A/s)U, until every residual is small.

    The scale s is found by power iteration, so that I − A/s contracts; a residual that grows is an error. Needs about
    (λ_max/λ_min)·ln(1/tolerance) steps, which is why small damping is slow.

    >>> from accredit.influence import Softmax, influence
    >>> from accredit.valuation import split
    >>> model = Softmax(split([[-1.0], [1.0], [2.0], [1.5]], [0, 1, 1, 0], [[0.5]], [1]), weight_decay=0.1)
    >>> exact, solved = influence(model).matrix, influence(model, Neumann()).matrix
    >>> bool(np.abs(exact - solved).max() < 1e-4)
    True
    """

    tolerance: float = 1e-6
    steps: int = 20_000
    scale: float | None = None  # default: just above λ_max
    gauss_newton: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def solve(self, objective: Objective, right: FloatArray, damping: float) -> tuple[FloatArray, dict[str, object]]:
        products = _damp(objective.gauss_newton_products if self.gauss_newton else objective.hessian_products, damping)
        scale = self.scale if self.scale is not None else 1.05 * largest_eigenvalue(products, objective.parameters)
        size = np.linalg.norm(right, axis=0)
        size[size == 0] = 1.0
        u = right / scale
        worst = best = np.inf
        for step in range(1, self.steps + 1):
            residual = right - products(u)
            worst = float((np.linalg.norm(residual, axis=0) / size).max())
            if worst <= self.tolerance:
                return u, {"steps": step, "relative residual": worst, "scale": scale}
            if not np.isfinite(worst) or worst > 1e3 * max(best, 1.0):
                raise NotConverged(
                    f"the Neumann series diverges at step {step}: the residual is {worst:.3g}. The scale must exceed "
                    f"λ_max/2, it is {scale:.4g}, and the Hessian must be positive: raise damping above {damping:g}",
                )
            best = min(best, worst)
            u = u + residual / scale
        raise NotConverged(
            f"the Neumann series left a relative residual of {worst:.2g} after {self.steps} steps (wanted "
            f"{self.tolerance:g}); raise damping above {damping:g}, or use ConjugateGradients()"
        )


def largest_eigenvalue(products: Products, parameters: int, seed: int = 0) -> float:
    """λ_max by power iteration on products, to one part in a thousand."""
    vector = np.random.default_rng(seed).normal(size=(parameters, 1))
    vector /= np.linalg.norm(vector)
    value = 0.0
    for _ in range(1000):
        moved = products(vector)
        before, value = value, float(np.linalg.norm(moved))
        if value == 0 or abs(value - before) <= 1e-3 * value:
            break
        vector = moved / value
    if not value > 0:
        raise NotConverged("the Hessian is zero in a random direction; there is nothing to invert")
    return value


@check_arguments
def spectrum(objective: Objective) -> tuple[float, float]:
    """λ_min and λ_max of ∇²J by Lanczos on products alone: is it positive, and how many steps will a solver need?

    With more than λ_max as scale, `neumann_terms(λ_min/scale, λ_max/scale, 0.01)` terms bring the series within one per cent.

    >>> from accredit.influence import RidgeObjective
    >>> from accredit.valuation import split
    >>> data = split([[1.0], [2.0]], [1.5, 2.5], [[3.0]], [3.0], regression=True)
    >>> low, high = spectrum(RidgeObjective(data, weight_decay=0.1))
    >>> bool(0 < low < high)
    True
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    size = objective.parameters
    if size <= 64:
        values = np.linalg.eigvalsh(objective.hessian_products(np.eye(size)))
        return float(values[0]), float(values[-1])
    operator = LinearOperator((size, size), matvec=lambda v: objective.hessian_products(v.reshape(-1, 1))[:, 0], dtype=float)
    start = np.random.default_rng(0).normal(size=size)
    try:
        low, high = (eigsh(operator, k=1, which=end, v0=start, tol=1e-6, return_eigenvectors=False)[0] for end in ("SA", "LA"))
    except ArpackNoConvergence as error:
        raise NotConverged(f"the Lanczos iteration found no extreme eigenvalue: {error}") from None
    return float(low), float(high)


def _damp(products: Products, damping: float) -> Products:
    return lambda directions: products(directions) + damping * directions


def _factor(
    products: Products, parameters: int, right: FloatArray, damping: float, name: str
) -> tuple[FloatArray, dict[str, object]]:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    if parameters > MATRIX_LIMIT:
        raise InvalidInput(
            f"the {name} of {parameters} parameters is too large to form (limit {MATRIX_LIMIT}); use ConjugateGradients()",
            code="too-many",
        )
    matrix = _damp(products, damping)(np.eye(parameters))
    matrix = (matrix + matrix.T) / 2
    low, high = (float(e) for e in np.linalg.eigvalsh(matrix)[[0, -1]])
    if low <= 1e-12 * max(high, 0.0):
        raise NotConverged(_not_positive(name, low, damping))
    try:
        u = cho_solve(cho_factor(matrix), right)
    except LinAlgError:
        raise NotConverged(_not_positive(name, low, damping)) from None
    return u, {
        "smallest eigenvalue": low,
        "largest eigenvalue": high,
        "relative residual": _worst(lambda d: matrix @ d, u, right),
    }


def _worst(products: Products, u: FloatArray, right: FloatArray) -> float:
    size = np.linalg.norm(right, axis=0)
    size[size == 0] = 1.0
    return float((np.linalg.norm(products(u) - right, axis=0) / size).max())


def _not_positive(name: str, curvature: float, damping: float) -> str:
    return (
        f"the {name} is not positive definite: a curvature of {curvature:.3g} with damping {damping:g}. Its inverse "
        f"would reverse the sign of some influences. Raise damping to more than {damping + abs(min(curvature, 0.0)):.3g}, or "
        "use GaussNewton()"
    )
