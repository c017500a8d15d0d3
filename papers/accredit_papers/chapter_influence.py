"""Section 10.1 of the chapter: influence functions, and the power series that inverts a Hessian."""

from __future__ import annotations

import math

import numpy as np

from accredit.core import FloatArray
from accredit.influence import neumann_error
from accredit_papers.report import Report, Whose


def influence_theorem(report: Report, seed: int) -> None:
    """Theorem 10.1.2 against the definition, by retraining a ridge regression with one weight moved."""
    report.heading("10.1.2 Influence is a slope")
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(40, 5)), rng.normal(size=5)
    y, target, decay = x @ rng.normal(size=5) + rng.normal(size=40), 0.3, 0.1

    def fit(weights: FloatArray) -> FloatArray:
        """Minimiser of Σ wᵢ ½(xᵢθ − yᵢ)² + ½ decay ‖θ‖²."""
        return np.asarray(np.linalg.solve((x * weights[:, None]).T @ x + decay * np.eye(5), x.T @ (weights * y)))

    def loss(theta: FloatArray) -> float:
        return 0.5 * float((z @ theta - target) ** 2)

    even = np.full(40, 1 / 40)
    theta = fit(even)
    hessian = x.T @ x / 40 + decay * np.eye(5)
    gradient = (z @ theta - target) * z
    by_formula = -(x * (x @ theta - y)[:, None]) @ np.linalg.solve(hessian, gradient)
    step = 1e-5
    by_definition = np.array([(loss(fit(even + step * row)) - loss(fit(even - step * row))) / (2 * step) for row in np.eye(40)])
    gap = float(np.abs(by_formula - by_definition).max() / np.abs(by_definition).max())
    off_without = _without_decay(x, theta, y, gradient, by_definition)
    removed = np.array([loss(fit(even - row / 40)) - loss(theta) for row in np.eye(40)])
    agreement = float(np.corrcoef(-by_formula / 40, removed)[0, 1])
    report.verdict(
        "Theorem 10.1.2: the influence is −∇ℓ(z)ᵀH⁻¹∇ℓ(x)",
        gap < 1e-6,
        f"ridge regression, 40 rows: largest relative gap to the definition by retraining is {gap:.1e}. The Hessian is that of "
        f"the whole objective, decay included; without it the formula is off by {off_without:.0%}",
    )
    report.say(
        f"The slope is not the effect of leaving a row out, but it predicts it: −I/n correlates {agreement:.4f} with "
        "retraining without each row."
    )


def _without_decay(x: FloatArray, theta: FloatArray, y: FloatArray, gradient: FloatArray, truth: FloatArray) -> float:
    wrong = -(x * (x @ theta - y)[:, None]) @ np.linalg.solve(x.T @ x / len(x), gradient)
    return float(np.abs(wrong - truth).max() / np.abs(truth).max())


def remainder(eigenvalues: FloatArray, r: int) -> float:
    """Largest |eigenvalue| of A⁻¹ − S_r, where S_r is the first r terms of Σ (I−A)ⁱ: each is (1−λ)^r/λ."""
    return float(np.abs((1 - eigenvalues) ** r / eigenvalues).max())


def printed_bound(eigenvalues: FloatArray, r: int) -> float:
    """The bound as the chapter prints it, governed by λ_max."""
    largest = float(eigenvalues.max())
    return abs(1 - largest) ** (r + 1) / largest


def contraction(eigenvalues: FloatArray) -> float:
    """‖I − A‖."""
    return float(np.abs(1 - eigenvalues).max())


def _bound(eigenvalues: FloatArray, r: int) -> float:
    """The error of r terms by the library, which is given the ends of the spectrum alone."""
    return neumann_error(float(eigenvalues.min()), float(eigenvalues.max()), r)


def terms_needed(eigenvalues: FloatArray, epsilon: float) -> int:
    """The fewest terms r with ρ^r ≤ ε: then ‖S_r v − A⁻¹v‖ ≤ ε ‖A⁻¹v‖ for every v.

    >>> terms_needed(np.array([0.5, 1.0]), 0.01)
    7
    """
    rho = contraction(eigenvalues)
    return 1 if rho == 0 else max(1, math.ceil(math.log(epsilon) / math.log(rho) - 1e-12))


def series(report: Report, seed: int, matrices: int) -> None:
    """Problems 10.1.3 and 10.1.4."""
    report.heading("10.1.3 The inverse as a power series")
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(matrices):
        eigenvalues = rng.uniform(0.3, 1.7, size=6)
        worst = max(worst, _series_error(rotate(rng, eigenvalues), 200))
    outside = _series_error(rotate(rng, np.array([0.5, 1.0, 2.1])), 200)
    report.verdict(
        "Problem 10.1.3: A⁻¹ = Σ (I−A)ⁱ for positive definite A with λ_max < 2",
        worst < 1e-9 and outside > 1,
        f"{matrices} random matrices: largest relative error after 200 terms {worst:.1e}; with λ_max = 2.1 the sum diverges "
        f"(error {outside:.1e}). What is needed is ‖I − A‖ < 1",
    )
    report.heading("10.1.4 How many terms")
    report.say(
        "S_r is the first r terms, Σ (I−A)ⁱ for i from 0 to r − 1, as the problem says; the text below it sums to r. "
        "The remainder has the eigenvalues (1−λ)^r/λ, one for each eigenvalue λ of A. As long as λ_max ≤ 1 the largest "
        "belongs to the *smallest* λ: slow directions are the ones that the series has not reached."
    )
    two = np.array([0.1, 0.9])
    report.table(
        ["r", "remainder", "printed bound (λ_max)", "corrected bound (λ_min)"],
        [[r, remainder(two, r), printed_bound(two, r), _bound(two, r)] for r in (1, 2, 5, 10, 50)],
        detail=True,  # the figure shows it
    )
    report.verdict(
        "Problem 10.1.4 as printed: λ_max(A⁻¹ − S_r) ≤ λ_max(A)⁻¹(1 − λ_max(A))^{r+1}",
        all(remainder(two, r) <= printed_bound(two, r) for r in (1, 2, 5, 10, 50)),
        f"A = diag(0.1, 0.9), r = 5: the remainder is {remainder(two, 5):.3g}, the printed bound {printed_bound(two, 5):.3g}",
    )
    kept = True
    for _ in range(matrices):
        eigenvalues = rng.uniform(0.05, 1.95, size=6)
        a = rotate(rng, eigenvalues)
        for r in (1, 3, 10, 30):
            left = float(np.linalg.norm(np.linalg.inv(a) - partial_sum(a, r), 2))
            kept &= left <= _bound(eigenvalues, r) + 1e-12 / float(eigenvalues.min())  # rounding
    report.verdict(
        "Problem 10.1.4, corrected: ‖A⁻¹ − S_r‖ is the larger of |1 − λ|^r/λ at λ_min and at λ_max",
        kept,
        f"{matrices} random matrices with eigenvalues in (0.05, 1.95), r = 1, 3, 10, 30: never above what `neumann_error` says",
        whose=Whose.OURS,
    )
    eigenvalues = np.geomspace(0.01, 1.0, 6)
    a, v = rotate(rng, eigenvalues), rng.normal(size=6)
    rows, enough = [], True
    for epsilon in (0.1, 0.01, 0.001):
        r = terms_needed(eigenvalues, epsilon)
        truth = np.linalg.solve(a, v)
        off = float(np.linalg.norm(partial_sum(a, r) @ v - truth) / np.linalg.norm(truth))
        enough = enough and off <= epsilon
        rows.append([epsilon, r, math.log(1 / epsilon) / 0.01, off])
    report.table(["ε", "r", "ln(1/ε)/λ_min", "relative error measured"], rows, detail=True)
    report.verdict(
        "Problem 10.1.4: r = ⌈ln ε / ln ρ⌉ ≈ ln(1/ε)/λ_min terms give H⁻¹v within a factor 1 ± ε, ρ = ‖I − A‖",
        enough,
        "six eigenvalues from 0.01 to 1; the remainder is (I−A)^r A⁻¹v, so the relative error is at most ρ^r",
        whose=Whose.OURS,
    )
    report.figure(
        "series",
        "A = diag(0.1, 0.9): the remainder follows the smallest eigenvalue; the printed bound is crossed at once.",
        lambda axes: _draw_series(axes, two),
    )


def rotate(rng: np.random.Generator, eigenvalues: FloatArray) -> FloatArray:
    """A random symmetric matrix with the given eigenvalues."""
    basis = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    return np.asarray((basis * eigenvalues) @ basis.T)


def partial_sum(a: FloatArray, r: int) -> FloatArray:
    """S_r, the first r terms of Σ (I − A)ⁱ, by Horner's rule."""
    identity = np.eye(len(a))
    total = np.zeros_like(a)
    for _ in range(r):
        total = identity + (identity - a) @ total
    return total


def _series_error(a: FloatArray, r: int) -> float:
    inverse = np.linalg.inv(a)
    return float(np.linalg.norm(partial_sum(a, r) - inverse, 2) / np.linalg.norm(inverse, 2))


def _draw_series(axes: object, eigenvalues: FloatArray) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    r = np.arange(1, 41)
    axes.semilogy(r, [remainder(eigenvalues, int(k)) for k in r], "k-", label="remainder")
    axes.semilogy(r, [_bound(eigenvalues, int(k)) for k in r], "C0--", label="corrected bound")
    axes.semilogy(r, [printed_bound(eigenvalues, int(k)) for k in r], "C1:", label="printed bound")
    axes.set(xlabel="terms r", ylabel="spectral norm", ylim=(1e-12, 30))
    axes.legend(frameon=False)
