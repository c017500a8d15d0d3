"""One fitted surrogate: what it predicts, how well it predicts pairs it has not seen, and the Shapley values of its mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accredit.checks.numbers import FloatArray
from accredit.values.surrogate.likelihood import Mixture, Observations, solve
from accredit.values.surrogate.rows import CoalitionRows, Meeting

CROSS_KERNEL_ROWS = 1000  # rows of a cross-kernel held at once


@dataclass(frozen=True)
class Posterior:
    """The mean b·s̄ + Σ_T α_T K(·, T) of a surrogate given its sample."""

    mixture: Mixture
    rows: CoalitionRows  # (M rows), the end pair last
    load: FloatArray  # (M,): α
    slope: float  # b
    left_out: FloatArray  # (m,): residual of each real pair, had it been left out
    residual: FloatArray  # (m,): residual of each real pair

    def credit(self) -> FloatArray:
        """Shapley values of the mean, shifted to sum to zero: (n,). The slope gives all players the same."""
        credit = self.mixture.credit(self.rows, self.load)
        return np.asarray(credit - credit.mean())

    def predict(self, rows: CoalitionRows) -> FloatArray:
        """The mean at other coalitions: (rows,)."""
        parts = [
            self.mixture.between(Meeting(rows.at(slice(at, at + CROSS_KERNEL_ROWS)), self.rows)) @ self.load
            for at in range(0, len(rows), CROSS_KERNEL_ROWS)
        ]
        return np.concatenate(parts) + self.slope * (1 - 2 * rows.sizes / rows.players)


def posterior(mixture: Mixture, sample: Observations) -> Posterior | None:
    """Condition on a sample, or None when the covariance has no Cholesky factor. Cost O(M³), memory a few M² matrices.

    Leave-one-out residuals are α_T/P_TT. The slope is recomputed from what α leaves: the normal equations cancel.
    """
    covariance = mixture.between(sample.meeting)
    covariance[np.diag_indices_from(covariance)] += sample.noise
    found = solve(covariance, sample)
    if found is None:
        return None
    load, diagonal = found.load, found.diagonal
    if not (np.all(diagonal > 0) and np.all(np.isfinite(load))):
        return None
    remains = sample.target - covariance @ load
    slope = float(sample.trend @ remains / (sample.trend @ sample.trend))
    real = slice(0, len(sample) - 1)
    return Posterior(mixture, sample.rows, load, slope, (load / diagonal)[real], (sample.noise * load)[real])


def steady(mixture: Mixture, sample: Observations) -> Posterior | None:
    """`posterior`, with noise added in steps of 100 when the covariance is numerically singular; None if that fails too."""
    found = posterior(mixture, sample)
    scale = sum(mixture.amplitudes) + float(sample.noise.mean())
    for jitter in (1e-10, 1e-8, 1e-6):
        if found is not None:
            break
        found = posterior(mixture, Observations(sample.rows, sample.target, sample.noise + jitter * scale))
    return found
