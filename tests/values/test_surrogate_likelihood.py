import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize

from accredit.core.coalitions import from_index
from accredit.values.surrogate.estimate import fitted_posterior, posterior
from accredit.values.surrogate.fitting import (
    COARSE,
    FINE,
    FINEST,
    climb,
    fit_isotropic,
    fit_screened,
    isotropic_kernels,
    isotropic_objective,
    minimise,
    screened_kernels,
    screened_objective,
    search_samples,
)
from accredit.values.surrogate.likelihood import Mixture, Observations, inverse_of_lower, solve
from accredit.values.surrogate.rows import CoalitionRows, Meeting
from accredit.values.surrogate.walsh import Walsh


def sample(players=7, rows=25, seed=0):
    rng = np.random.default_rng(seed)
    index = np.append(rng.choice(np.arange(1, (1 << players) - 1), rows, replace=False), (1 << players) - 1)
    return Observations(
        CoalitionRows.of(from_index(index, players)),
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
        numeric = approx_fprime(place, lambda x, f=objective: f(x).value, 1e-6)
        assert_allclose(objective(place).derivatives()[0], numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_the_curvature_is_the_average_of_observed_and_expected_information(seed):
    """By hand: the observed one by differences of the gradient, the expected one by traces."""
    data = sample(seed=seed)
    kernels = isotropic_kernels(7)
    objective = isotropic_objective(data, kernels)
    place = np.random.default_rng(20 + seed).normal(0, 1, 6)
    gradient, curvature = objective(place).derivatives()
    observed = np.stack(
        [
            (objective(place + step).derivatives()[0] - objective(place - step).derivatives()[0]) / 2e-5
            for step in 1e-5 * np.eye(6)
        ]
    )
    grams = np.exp(place)[:, None, None] * np.stack([kernel.between(data.meeting) for kernel in kernels])
    found = solve(grams.sum(axis=0) + np.diag(data.noise), data)
    precision = found.half + np.tril(found.half, -1).T
    moved = np.stack([precision @ gram for gram in grams])
    expected = 0.5 * np.einsum("iab,jba->ij", moved, moved) - 0.5 * found.rate / found.misfit * np.outer(
        (grams @ found.load) @ found.load, (grams @ found.load) @ found.load
    )
    by_scale = np.diag(gradient - 2e-3 * place)  # ∂²C/∂τ² = ∂C/∂τ for a log amplitude τ
    average = (observed - 2e-3 * np.eye(6) - by_scale + expected) / 2
    assert_allclose(curvature - 2e-3 * np.eye(6), average, atol=1e-5 * np.abs(average).max())
    assert np.linalg.eigvalsh(curvature).min() > 0


def test_the_search_ends_at_the_highest_likelihood_with_either_model():
    data = sample(players=7, rows=40, seed=5)
    for objective, start, box in [
        (isotropic_objective(data, isotropic_kernels(7)), np.full(6, 2.0), np.array([(-14.0, 14.0)] * 6)),
        (
            screened_objective(data, screened_kernels(7)),
            np.append(np.full(7, -1.0), np.full(5, 2.0)),
            np.array([(-10.0, 3.5)] * 7 + [(-14.0, 14.0)] * 5),
        ),
    ]:
        near = objective(minimise(objective, start, box, 40, 0.02)[0]).value

        def value_and_slope(place, objective=objective):
            found = objective(place)
            return found.value, found.derivatives()[0]

        best = minimize(value_and_slope, start, jac=True, bounds=box, method="L-BFGS-B").fun
        assert near < objective(start).value - 1
        assert near <= best + 0.1


def test_a_search_that_cannot_start_stays_where_it_is():
    start = np.array([1.0, 2.0])
    assert minimise(lambda place: None, start, np.array([(-5.0, 5.0)] * 2), 9, 0.1) == (start, None)


@pytest.mark.parametrize(("rows", "searched"), [(100, {101: 9}), (900, {COARSE: 6, 360: 3})])
def test_hyper_parameters_are_searched_on_few_rows_first(rows, searched):
    data, seen = sample(players=12, rows=rows), {}

    def objective(part):
        assert part.rows.sizes[-1] == 12  # the end pair stays
        plain = isotropic_objective(part, isotropic_kernels(12))

        def counted(place):
            seen[len(part)] = seen.get(len(part), 0) + 1
            return plain(place)

        return counted

    samples = search_samples(data, np.random.default_rng(0))
    climb(objective, samples, (6, 3), np.full(6, 8.0), np.array([(-14.0, 14.0)] * 6))
    assert all(0 < seen[size] <= most for size, most in searched.items()) and set(seen) == set(searched)


def test_a_search_never_sees_more_rows_than_it_can_afford():
    sizes = {rows: [len(part) for part in search_samples(sample(12, rows), np.random.default_rng(0))] for rows in (200, 3000)}
    assert sizes == {200: [COARSE, FINE], 3000: [COARSE, FINEST]}


def test_a_search_that_ends_on_few_rows_leaves_the_others_unsolved():
    samples = search_samples(sample(players=12, rows=900), np.random.default_rng(0))
    assert fit_isotropic(samples).solved is None
    assert fit_screened(samples).sample is samples[1]


def test_a_search_on_all_rows_has_solved_them():
    data = sample(players=9, rows=120, seed=3)
    fitted = fit_screened((data,))
    assert fitted.sample is data
    kept, again = fitted_posterior(fitted, data), posterior(fitted.mixture, data)
    assert_allclose(kept.credit(), again.credit(), rtol=1e-9)
    assert_allclose(kept.left_out, again.left_out, rtol=1e-9)
    assert kept.slope == pytest.approx(again.slope, rel=1e-9)


def test_triangles_are_inverted_by_halves():
    factor = np.linalg.cholesky(np.cov(np.random.default_rng(0).normal(size=(300, 900))) + np.eye(300))
    assert_allclose(inverse_of_lower(np.asfortranarray(factor)) @ factor, np.eye(300), atol=1e-12)


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
        gaps.append(solve(covariance.copy(), data).unlikelihood - by_contrasts(covariance))
    assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_a_covariance_without_cholesky_factor_is_refused():
    data = sample()
    assert solve(-np.eye(len(data)), data) is None


def test_left_out_residuals_are_those_of_refits_without_the_pair():
    data = sample()
    mixture = Mixture((Walsh(1), Walsh(3)), (5.0, 2.0))
    whole = posterior(mixture, data)
    for row in (0, 7, 24):
        kept = np.delete(np.arange(len(data)), row)
        refit = posterior(mixture, Observations(data.rows.at(kept), data.target[kept], data.noise[kept]))
        predicted = refit.predict(data.rows.at(np.array([row])))
        assert_allclose(whole.left_out[row], data.target[row] - predicted[0], rtol=1e-8)
        here = whole.predict(data.rows.at(np.array([row])))
        assert_allclose(whole.residual[row], data.target[row] - here[0], rtol=1e-8)


def test_the_fit_finds_an_amplitude_more_likely_than_its_start():
    data = sample(players=9, rows=120, seed=3)
    kernels = isotropic_kernels(9)
    objective = isotropic_objective(data, kernels)
    fitted = np.log(fit_isotropic((data,)).mixture.amplitudes)
    start = np.array([2.0, 8.0, 4.0, 2.0, 0.0, 2.0])
    assert objective(fitted).value < objective(start).value - 1
