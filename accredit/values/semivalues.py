"""Semivalues from a full table: Shapley, Banzhaf, Beta and every other weighting of marginal contributions.

A semivalue credits player i with a weighted sum of what i adds,

    φ_i = Σ_{S ∌ i} p(|S|) [v(S ∪ i) − v(S)],   p ≥ 0,   Σ_k C(n−1, k) p(k) = 1,

so it is fixed by n numbers p(0..n−1). They differ in which coalition sizes count, and only Shapley's weights share out
exactly v(N) − v(∅) in every game.
"""

from __future__ import annotations

import numpy as np

from accredit.checks.numbers import FloatArray, real_numbers
from accredit.errors import InvalidInput


def shapley_weights(n: int) -> FloatArray:
    """p(k) = 1 / (n·C(n−1, k)): every coalition size counts the same in total.

    >>> shapley_weights(3)
    array([0.33333333, 0.16666667, 0.33333333])
    """
    weights, ways = np.empty(n), 1
    for k in range(n):
        weights[k] = 1 / (n * ways)
        ways = ways * (n - 1 - k) // (k + 1)  # C(n−1, k+1), a whole number: exact, and from one to the next in one step
    return weights


def banzhaf_weights(n: int) -> FloatArray:
    """p(k) = 2^{1−n}: every coalition counts the same."""
    return np.full(n, 0.5 ** (n - 1))


def beta_weights(n: int, alpha: float, beta: float) -> FloatArray:
    """p(k) of the Beta(α, β) semivalue: p(k) = B(k+β, n−1−k+α) / B(α, β) (Kwon and Zou, 2022).

    Beta(1, 1) is Shapley; α > β puts the weight on small coalitions.

    >>> bool(np.allclose(beta_weights(6, 1, 1), shapley_weights(6)))
    True
    """
    return beta_law(n, alpha, beta) / np.exp(log_binomial(n - 1))


def beta_law(n: int, alpha: float, beta: float) -> FloatArray:
    """How many others a player meets under Beta(α, β): the beta-binomial law s(k) = C(n−1, k)·p(k).

    Built from the ratios s(k)/s(k−1) = (β+k−1)(n−k) / (k(α+n−1−k)), which stay exact where Beta functions cancel.

    >>> beta_law(3, 1, 1).round(3)
    array([0.333, 0.333, 0.333])
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
            raise InvalidInput(
                f"{name} must be positive and finite, got {value!r}; beta(game, 16, 1) favours small sets",
                argument=name,
                code="range",
            )
    k = np.arange(1, n)
    steps = np.log((beta + (k - 1)) / k) - np.log((alpha + (n - 1 - k)) / (n - k))
    return law_of(np.concatenate([[0.0], np.cumsum(steps)]))


def log_binomial(n: int) -> FloatArray:
    """log C(n, k) for k = 0 … n.

    >>> np.exp(log_binomial(4)).round(9)
    array([1., 4., 6., 4., 1.])
    """
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    logs: FloatArray = log_factorial[n] - log_factorial - log_factorial[::-1]
    return logs


def law_of(logs: FloatArray) -> FloatArray:
    """A law from the logarithms of its proportions."""
    law = np.exp(logs - logs.max())
    return np.asarray(law / law.sum())


def leave_one_out_weights(n: int) -> FloatArray:
    """p(n−1) = 1: only the largest coalition counts."""
    return np.array([0.0] * (n - 1) + [1.0])


def check_weights(weights: object, n: int) -> FloatArray:
    """The weights of a semivalue of n players, or an error that says what is wrong with them."""
    p = real_numbers(weights, "weights")
    if p.shape != (n,) or not np.isfinite(p).all() or (p < 0).any():
        raise InvalidInput(
            f"weights must be {n} non-negative numbers, one for each coalition size 0..{n - 1}, got {weights!r:.80}",
            argument="weights",
            code="shape",
        )
    with np.errstate(divide="ignore"):
        mass = float(np.exp(np.log(p) + log_binomial(n - 1)).sum())
    if not abs(mass - 1) <= 1e-9:
        raise InvalidInput(
            f"weights give Σ C(n−1,k)·p(k) = {mass:.6g}; divide them by that number so that it is 1",
            argument="weights",
            code="range",
        )
    return p


def semivalue_from_table(v: FloatArray, weights: FloatArray) -> FloatArray:
    r"""Credits from all 2ⁿ payoffs, O(2ⁿ) in one pass of two slim matrix products; bit i of the index says whether i plays.

    With g(k) = p(k−1) + p(k),  φ_i = Σ_{S ∋ i} g(|S|)·v(S) − Σ_S p(|S|)·v(S). Write S = H ∪ L, the players of the high and
    the low half of the bits, and the table as a matrix v[H, L]. A high player needs only the row sums Σ_L g(|H|+|L|)·v[H, L],
    a low one only the column sums, and both come from products with the few vectors g(k + |L|), k = 0..⌈n/2⌉.

    >>> semivalue_from_table(np.array([0.0, 5, 3, 10]), shapley_weights(2))
    array([6., 4.])
    """
    n = v.size.bit_length() - 1
    low = n // 2
    size_low, size_high = _sizes(low), _sizes(n - low)
    p = np.concatenate([weights, [0.0]])  # p(n) = 0: nobody can join everybody
    g = np.concatenate([[0.0], weights]) + p
    classes = np.arange(n - low + 1)[:, None]  # k = |H|
    gains = v - v[0]  # the constant cancels; subtracting it first keeps the digits
    table = gains.reshape(size_high.size, size_low.size)
    by_class = (classes == size_high).astype(np.float64) @ table  # (k, L): Σ over the H with |H| = k
    rows = (table @ g[classes + size_low].T)[np.arange(size_high.size), size_high]  # (H,)
    columns = (g[classes + size_low] * by_class).sum(axis=0)  # (L,)
    lost = float((p[classes + size_low] * by_class).sum())
    return np.concatenate([_sums_with_each(columns), _sums_with_each(rows)]) - lost


def _sums_with_each(a: FloatArray) -> FloatArray:
    """Σ_{S ∋ i} a(S) for every bit i: the upper half is the sum with the highest bit, then fold it away. O(2ᵇ)."""
    sums = np.empty(a.size.bit_length() - 1)
    for i in reversed(range(sums.size)):
        half = a.size // 2
        sums[i] = a[half:].sum()
        a = a[:half] + a[half:]
    return sums


def shapley_from_table(v: FloatArray) -> FloatArray:
    """Shapley values from all 2ⁿ payoffs; bit i of the index says whether i plays.

    >>> shapley_from_table(np.array([0.0, 5, 3, 10]))
    array([6., 4.])
    """
    return semivalue_from_table(v, shapley_weights(v.size.bit_length() - 1))


def _sizes(n: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """|S| of every table index, built by doubling."""
    size = np.zeros(1 << n, dtype=np.uint8)
    for i in range(n):
        np.add(size[: 1 << i], 1, out=size[1 << i : 2 << i])
    return size
