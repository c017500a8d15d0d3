r"""The size-local kernel: what a player adds may depend on how many others are in, smoothly.

With k = |S|, t = |T|, $x_k = \log(k/(n-k))$ (sizes kept above 0.4), $\kappa(k,t) = e^{-|x_k-x_t|/\ell}$ and the
correlation $c = (|S \cap T| - kt/n)/\sqrt{k(n-k)/n \cdot t(n-t)/n}$ of the two memberships,

$$L(S,T) = \tfrac12\,[\kappa(k,t)\,h(c) - \kappa(n-k,t)\,h(-c)], \quad h(c) = c \text{ if } \beta = 0 \text{ else }
e^{\beta(c-1)}.$$

Max-like, capped and voting payoffs look like this.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from accredit.checks.numbers import FloatArray, IntArray
from accredit.values.surrogate.rows import CoalitionRows, Meeting

EXACT_SUPPORT = 100  # above this many common players the law of |S ∩ T| is summed by its first cumulants


@dataclass(frozen=True)
class SizeLocal:
    """Functions of membership that change over `length` in log-odds of size; `sharpness` β bends them towards few players."""

    length: float
    sharpness: float

    def between(self, meeting: Meeting) -> FloatArray:
        """L(S, T): (M, M')."""
        return meeting.spread(self.law)

    def law(self, n: int, k: IntArray, t: IntArray, common: FloatArray) -> FloatArray:
        """L for |S| = k, |T| = t and |S ∩ T| = common."""
        near, far = self._closeness(n, k, t)
        c = (common - k * (t / n)) * (_inverse_spread(n, k) * _inverse_spread(n, t))
        if self.sharpness == 0:
            return np.asarray(c * (0.5 * (near + far)))
        bent = np.exp(self.sharpness * (c - 1))
        return np.asarray((0.5 * near) * bent - (0.5 * np.exp(-2 * self.sharpness) * far) / bent)

    def _closeness(self, n: int, k: IntArray, t: IntArray) -> tuple[FloatArray, FloatArray]:
        """κ(k, t) and κ(n-k, t), the log-odds of n-k being those of k with the other sign."""
        x_k, x_t = _log_odds(n, k), _log_odds(n, t)
        return np.exp(-np.abs(x_k - x_t) / self.length), np.exp(-np.abs(x_k + x_t) / self.length)

    def credit(self, rows: CoalitionRows, load: FloatArray) -> FloatArray:
        r"""Shapley values of Σ_T load_T L(·, T): (n,).

        For any kernel of (k, t, |S ∩ T|) the function K(·, T) gives equal shares plus $z_i(T)\,n/(t(n-t))\,g_t$, see
        `gain`; the second term is 0 for t ∈ {0, n}.
        """
        n, t = rows.players, rows.sizes
        inner = (t > 0) & (t < n)
        sizes, which = np.unique(t[inner], return_inverse=True)
        gains = np.array([gain(n, size, self.length, self.sharpness) for size in sizes.tolist()])
        pull = np.zeros(len(rows))
        pull[inner] = load[inner] * gains[which] * n / (sizes * (n - sizes))[which]
        return rows.members.T @ pull - (pull @ t) / n + self._total(rows, load) / n

    def _total(self, rows: CoalitionRows, load: FloatArray) -> float:
        """Σ_T load_T (L(N, T) - L(∅, T)): what the game divides."""
        n = rows.players
        near, far = self._closeness(n, np.array(n), rows.sizes)
        bend = 0.0 if self.sharpness == 0 else np.exp(-self.sharpness)  # h(0)
        return float(bend * ((near - far) @ load))


def _log_odds(n: int, k: IntArray) -> FloatArray:
    return np.log(np.maximum(k, 0.4) / np.maximum(n - k, 0.4))


def _inverse_spread(n: int, k: IntArray) -> FloatArray:
    """1/√(k(n-k)/n), and 0 for the empty and the full coalition, whose correlation with anything is taken as 0."""
    spread = np.sqrt(k * (n - k) / n)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


@lru_cache(maxsize=1 << 15)
def gain(n: int, t: int, length: float, sharpness: float) -> float:
    r"""$g_t = \sum_{k=1}^{n-1} \frac n{k(n-k)}\,E[(|S \cap T| - kt/n)\,L]$, S uniform among the sets of k players.

    Cost O(n·min(t, n-t)), and O(n) where the overlap is wide.
    """
    k = np.arange(1, n)
    x_k, x_t = _log_odds(n, k), _log_odds(n, np.array(t))
    near, far = np.exp(-np.abs(x_k - x_t) / length), np.exp(-np.abs(x_k + x_t) / length)
    spread = np.sqrt(k * (n - k) * (t * (n - t)) / n**2)
    if sharpness == 0:  # E[(j - kt/n) c] is the variance of j over the spread
        pull = 0.5 * (near + far) * spread / (n - 1)
    else:
        rise = _tilt(n, k, t, sharpness / spread)
        fall = _tilt(n, k, t, -sharpness / spread)
        pull = 0.5 * np.exp(-sharpness) * (near * rise - far * fall)
    return float(np.sum(pull * n / (k * (n - k))))


def _tilt(n: int, k: IntArray, t: int, tilt: FloatArray) -> FloatArray:
    """E[(j - kt/n) exp(tilt·(j - kt/n))] for j hypergeometric, the overlap of a fixed t-set and a uniform k-set: like k."""
    narrow = np.minimum(np.minimum(k, n - k), min(t, n - t)) <= EXACT_SUPPORT
    out = np.empty(len(k))
    out[narrow] = _tilt_by_sum(n, k[narrow], t, tilt[narrow])
    out[~narrow] = _tilt_by_cumulants(n, k[~narrow], t, tilt[~narrow])
    return out


def _tilt_by_sum(n: int, k: IntArray, t: int, tilt: FloatArray) -> FloatArray:
    if len(k) == 0:
        return np.zeros(0)
    log_factorial = _log_factorials(n)
    low, high = np.maximum(0, k + t - n)[:, None], np.minimum(k, t)[:, None]
    j = low + np.arange(int((high - low).max()) + 1)
    real, j, k_ = j <= high, np.minimum(j, high), k[:, None]
    log_law = (
        log_factorial[t]
        - log_factorial[j]
        - log_factorial[t - j]
        + log_factorial[n - t]
        - log_factorial[k_ - j]
        - log_factorial[n - t - k_ + j]
        - log_factorial[n]
        + log_factorial[k_]
        + log_factorial[n - k_]
    )
    off = j - k_ * t / n
    return np.asarray(np.sum(np.where(real, off * np.exp(log_law + tilt[:, None] * off), 0.0), axis=1))


@lru_cache(maxsize=16)
def _log_factorials(n: int) -> FloatArray:
    table: FloatArray = gammaln(np.arange(n + 1) + 1.0)
    return table


def _tilt_by_cumulants(n: int, k: IntArray, t: int, tilt: FloatArray) -> FloatArray:
    """K'(u)·exp K(u) with K(u) = κ₂u²/2 + κ₃u³/6: the tilt is below 1/`EXACT_SUPPORT` per player, the next term below 2e-5."""
    second = k * (n - k) * (t * (n - t)) / (n**2 * (n - 1))
    third = second * (n - 2 * k) * (n - 2 * t) / (n * (n - 2))
    slope = second * tilt + third * tilt**2 / 2
    return np.asarray(slope * np.exp(second * tilt**2 / 2 + third * tilt**3 / 6))
