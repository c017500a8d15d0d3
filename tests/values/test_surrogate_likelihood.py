import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from accredit.core.coalitions import from_index
from accredit.values.surrogate.likelihood import (
    Mixture,
    Sample,
    fit_isotropic,
    inverse_and_logdet,
    isotropic_kernels,
    isotropic_objective,
    restricted_likelihood,
    screened_kernels,
    screened_objective,
)
from accredit.values.surrogate.posterior import posterior
from accredit.values.surrogate.rows import Meeting, Rows
from accredit.values.surrogate.walsh import Walsh


def sample(players=7, rows=25, seed=0):
    rng = np.random.default_rng(seed)
    index = np.append(rng.choice(np.arange(1, (1 << players) - 1), rows, replace=False), (1 << players) - 1)
    return Sample(
        Rows.of(from_index(index, players)),
        np.append(rng.normal(size=rows), 0.0),
        np.append(rng.uniform(0.5, 2, rows), 1e-2),
    )


@pytest.mark.parametrize("seed", range(3))
def test_gradients_agree_with_finite_differences(seed):
    data = sample(seed=seed)
    rng = np.random.default_rng(10 + seed)
    for objective, size in [
        (isotropic_objective(data, isotropic_kernels(7)), 6),
        (screened_objective(data, screened_kernels(7)), 7 + 1 + 4),
    ]:
        place = rng.normal(0, 1, size)
        numeric = approx_fprime(place, lambda x, f=objective: f(x)[0], 1e-6)
        assert_allclose(objective(place)[1], numeric, rtol=1e-4, atol=1e-4)


def test_restricted_likelihood_is_that_of_contrasts_free_of_the_slope():
    """The likelihood of any M-1 orthonormal contrasts orthogonal to the trend, up to constants that no kernel changes."""
    data = sample()
    complement = np.linalg.svd(data.trend[:, None])[0][:, 1:]

    def by_contrasts(covariance):
        inner = complement.T @ covariance @ complement
        target = complement.T @ data.target
        misfit = target @ np.linalg.solve(inner, target)
        return 0.5 * ((len(data) - 1) * np.log(misfit) + np.linalg.slogdet(inner)[1])

    gaps = []
    for amplitude in (0.1, 1.0, 30.0):
        covariance = amplitude * Walsh(3).between(Meeting(data.rows, data.rows)) + np.diag(data.noise)
        gaps.append(restricted_likelihood(covariance, data)[0] - by_contrasts(covariance))
    assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_a_covariance_without_cholesky_factor_is_refused():
    data = sample()
    assert inverse_and_logdet(-np.eye(4)) is None
    assert restricted_likelihood(-np.eye(len(data)), data) is None


def test_left_out_residuals_are_those_of_refits_without_the_pair():
    data = sample()
    mixture = Mixture((Walsh(1), Walsh(3)), (5.0, 2.0))
    whole = posterior(mixture, data)
    for row in (0, 7, 24):
        kept = np.delete(np.arange(len(data)), row)
        refit = posterior(mixture, Sample(data.rows.at(kept), data.target[kept], data.noise[kept]))
        predicted = refit.predict(data.rows.at(np.array([row])))
        assert_allclose(whole.left_out[row], data.target[row] - predicted[0], rtol=1e-8)
        here = whole.predict(data.rows.at(np.array([row])))
        assert_allclose(whole.residual[row], data.target[row] - here[0], rtol=1e-8)


def test_the_fit_finds_an_amplitude_more_likely_than_its_start():
    data = sample(players=9, rows=120, seed=3)
    kernels = isotropic_kernels(9)
    objective = isotropic_objective(data, kernels)
    fitted = np.log(fit_isotropic(data, data).amplitudes)
    start = np.array([8.0, 4.0, 2.0, 0.0, 2.0, 2.0])
    assert objective(fitted)[0] < objective(start)[0] - 1
