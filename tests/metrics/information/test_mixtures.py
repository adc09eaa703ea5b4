"""Entropies of mixtures: against closed forms, quadrature and Monte Carlo."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import trapezoid
from scipy.special import logsumexp, xlogy

from sklearn_disent.metrics import rmig_score
from sklearn_disent.metrics._aggregation import top_gap
from sklearn_disent.metrics.information._mixtures import (
    kl_terms_exact,
    kl_terms_mss,
    log_mixture,
    mixture_entropy,
    mixture_information,
    mss_weights,
)

GAUSSIAN = 0.5 * np.log(2 * np.pi * np.e)


def density(x, mean, std, weight=None):
    """The mixture's density, component by component."""
    weight = np.ones(len(mean)) if weight is None else weight
    p = np.zeros_like(x)
    for m, s, w in zip(mean, std, weight / np.sum(weight)):
        p += w * stats.norm.pdf(x, m, s)
    return p


def quadrature_entropy(mean, std, weight=None):
    """The trapezoidal rule, 20 points to the least standard deviation."""
    low, high = (mean - 9 * std).min(), (mean + 9 * std).max()
    x = np.linspace(low, high, int(20 * (high - low) / std.min()))
    p = density(x, mean, std, weight)
    return -xlogy(p, p).sum() * (x[1] - x[0])


def toy(n, seed=0, sizes=(3, 5)):
    """Factors, means and standard deviations: one code per factor, one of both, one dead."""
    rng = np.random.default_rng(seed)
    y = np.column_stack([rng.integers(size, size=n) for size in sizes])
    mean = np.column_stack([y, y.sum(axis=1), np.zeros(n)]) * 0.5
    mean += rng.normal(scale=0.1, size=mean.shape)
    width = np.resize([0.1, 0.3, 0.2, 1.0], mean.shape[1])
    spread = np.resize([0.5, 0.2, 0.8, 0.05], mean.shape[1])
    std = np.exp(rng.normal(np.log(width), spread, mean.shape))
    return y, mean, std


@pytest.mark.parametrize("std", [1e-6, 0.3, 1e4])
def test_entropy_of_one_gaussian_is_closed_form(std):
    for n in (1, 3):
        value = mixture_entropy(np.full(n, 2.5), np.full(n, std))
        assert value == pytest.approx(GAUSSIAN + np.log(std), abs=1e-12)
    # On the grid: the two means differ by next to nothing.
    value = mixture_entropy(np.array([2.5, 2.5 + 1e-9 * std]), np.full(2, std))
    assert value == pytest.approx(GAUSSIAN + np.log(std), abs=2e-6)


@pytest.mark.parametrize("n", [2, 10])
def test_entropy_of_separate_gaussians_adds_the_choice(n):
    std = np.geomspace(0.01, 1.0, n)
    value = mixture_entropy(100.0 * np.arange(n), std)
    assert value == pytest.approx(GAUSSIAN + np.log(std).mean() + np.log(n), abs=1e-5)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), spread=st.floats(0.0, 2.0))
def test_entropy_equals_quadrature(seed, n, spread):
    rng = np.random.default_rng(seed)
    mean, weight = rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    std = np.exp(rng.uniform(-2, 0) + spread * rng.uniform(-1, 1, n))
    expected = quadrature_entropy(mean, std, weight)
    assert mixture_entropy(mean, std, weight) == pytest.approx(expected, abs=2e-4)


def test_entropy_of_a_spike_on_a_wide_base():
    mean, std = np.zeros(2), np.array([1.0, 40.0])
    assert mixture_entropy(mean, std) == pytest.approx(quadrature_entropy(mean, std), abs=1e-4)


def test_entropy_follows_shift_scale_and_weight():
    _, mean, std = toy(300)
    mean, std = mean[:, 2], std[:, 2]
    weight = np.random.default_rng(0).integers(1, 4, 300)
    value = mixture_entropy(mean, std, weight.astype(float))
    repeated = mixture_entropy(mean.repeat(weight), std.repeat(weight))
    assert repeated == pytest.approx(value, abs=1e-12)
    moved = mixture_entropy(7.0 - 1e3 * mean, 1e3 * std, weight.astype(float))
    assert moved - np.log(1e3) == pytest.approx(value, abs=2e-5)


def test_information_equals_direct_quadrature():
    y, mean, std = toy(2000)
    info = mixture_information(y, mean, std)
    for j in range(mean.shape[1]):
        x = np.linspace(
            (mean[:, j] - 9 * std[:, j]).min(), (mean[:, j] + 9 * std[:, j]).max(), 2500
        )
        kernels = stats.norm.pdf(x, mean[:, j, None], std[:, j, None])
        entropy = -trapezoid(xlogy(*[kernels.mean(axis=0)] * 2), x)
        assert info.h_codes[j] == pytest.approx(entropy, abs=1e-3)
        for k in range(y.shape[1]):
            parts = [kernels[y[:, k] == v].mean(axis=0) for v in range(y[:, k].max() + 1)]
            inner = [-trapezoid(xlogy(p, p), x) for p in parts]
            expected = entropy - np.bincount(y[:, k]) / len(y) @ inner
            assert info.mutual_info[k, j] == pytest.approx(expected, abs=1e-3)


def test_information_equals_monte_carlo_within_its_error():
    """The estimate of the paper: draws from q(z|n), their density under all components."""
    y, mean, std = toy(2000)
    info = mixture_information(y, mean, std)
    rng = np.random.default_rng(1)
    for j, k in ((0, 0), (1, 1), (2, 0), (2, 1)):
        rows = rng.integers(len(y), size=2000)
        z = rng.normal(mean[rows, j], std[rows, j])
        kernels = stats.norm.pdf(z[:, None], mean[:, j], std[:, j])
        same = y[rows, k, None] == y[:, k]
        ratio = np.log((kernels * same).sum(axis=1) / same.sum(axis=1) / kernels.mean(axis=1))
        error = ratio.std() / np.sqrt(len(ratio))
        assert abs(info.mutual_info[k, j] - ratio.mean()) < 3.5 * error


def test_information_is_the_limit_of_fine_bins():
    y, mean, std = toy(2000)
    info = mixture_information(y, mean, std)
    binned = rmig_score(y, mean, codes_std=std, n_bins=1500, code_range=(-6, 9), average=None)
    assert_allclose(top_gap(info.mutual_info) / info.h_factors, binned, atol=1e-3)


def test_information_is_within_its_limits():
    y = np.arange(60).reshape(-1, 1) % 3
    certain = mixture_information(y, y * 10.0, np.full((60, 1), 0.1))
    assert certain.mutual_info[0, 0] == pytest.approx(np.log(3), abs=1e-5)
    ignorant = mixture_information(y, np.zeros((60, 1)), np.full((60, 1), 0.1))
    assert ignorant.mutual_info[0, 0] == 0.0
    # Every sample a class of its own: codes that tell all samples apart know it.
    own = mixture_information(
        np.arange(60)[:, None], np.arange(60.0)[:, None], np.full((60, 1), 0.01)
    )
    assert own.mutual_info[0, 0] == pytest.approx(np.log(60), abs=1e-5)


@pytest.mark.slow
def test_information_needs_little_memory():
    y, mean, std = toy(50_000, sizes=(3, 40))
    tracemalloc.start()
    mixture_information(y, mean, std)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # a single N x N table would have 20e9


@pytest.mark.slow
def test_information_of_737280_posteriors_needs_little_memory():
    y, mean, std = toy(737_280, sizes=(3, 6, 40, 32, 32))
    mean, std = (np.hstack([part, part[:, :3]]) for part in (mean, std))
    assert mean.shape == (737_280, 10)
    tracemalloc.start()
    info = mixture_information(y, mean, std)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500e6
    assert np.isfinite(info.mutual_info).all()


def test_log_mixture_equals_direct_sum():
    rng = np.random.default_rng(0)
    mean, std = 5.0 + rng.normal(size=(5000, 3)), np.exp(rng.normal(-2, 1, (5000, 3)))
    z = mean[:300] + std[:300] * rng.normal(size=(300, 3))
    direct = stats.norm.logpdf(z[:, None], mean, std).sum(axis=2)
    assert_allclose(log_mixture(z, mean, std), logsumexp(direct, axis=1) - np.log(5000), atol=1e-7)


def terms(mean, std=None, n_samples=4000, seed=0):
    std = np.full(np.shape(mean), 0.1) if std is None else std
    return kl_terms_exact(np.asarray(mean, float), std, n_samples, np.random.RandomState(seed))


def closed_kl(mean, std):
    return 0.5 * (mean**2 + std**2 - 2 * np.log(std) - 1).sum(axis=1).mean()


def test_terms_of_one_posterior_are_all_divergence():
    mean, std = np.array([[0.5, -1.0]]), np.array([[0.5, 2.0]])
    assert terms(mean, std) == pytest.approx((0.0, 0.0, closed_kl(mean, std)), abs=1e-9)


def test_terms_of_two_far_samples():
    """One bit tells them apart; both latents know it, hence one bit of total correlation."""
    mean = np.array([[5.0, 5.0], [-5.0, -5.0]])
    mutual_info, total_correlation, dimension_wise = terms(mean)
    assert mutual_info == pytest.approx(np.log(2), abs=1e-9)
    assert total_correlation == pytest.approx(np.log(2), abs=1e-5)
    # Each latent: KL of the mixture is the mean KL less the bit.
    kl = closed_kl(mean, np.full((2, 2), 0.1))
    assert dimension_wise == pytest.approx(kl - 2 * np.log(2), abs=1e-5)


def test_terms_of_a_grid_have_no_total_correlation():
    mean = np.array([[i, j] for i in range(4) for j in range(4)], float) * 3
    assert terms(mean)[:2] == pytest.approx((np.log(16), 0.0), abs=1e-5)
    # Overlapping, too.
    assert terms(mean / 10, n_samples=20_000)[1] == pytest.approx(0.0, abs=0.02)


def test_terms_sum_to_the_divergence():
    _, mean, std = toy(500)
    assert sum(terms(mean, std)) == pytest.approx(closed_kl(mean, std), abs=1e-9)
    batches = kl_terms_mss(mean, std, 64, np.random.RandomState(0))
    # One draw per sample: within four standard errors of its KL.
    assert sum(batches) == pytest.approx(closed_kl(mean, std), abs=4 * np.sqrt(2 / 500) * 2)


def test_terms_of_far_samples_keep_their_digits():
    _, mean, std = toy(200)
    near, far = terms(mean, std), terms(mean + 1e7, std)
    assert_allclose(far[:2], near[:2], atol=1e-3)


def test_terms_equal_brute_force():
    _, mean, std = toy(200)
    rng = np.random.default_rng(0)
    z = rng.normal(mean.repeat(8, axis=0), std.repeat(8, axis=0))
    logs = stats.norm.logpdf(z[:, None], mean, std)
    joint = logsumexp(logs.sum(axis=2), axis=1) - np.log(200)
    product = (logsumexp(logs, axis=1) - np.log(200)).sum(axis=1)
    own = stats.norm.logpdf(z, mean.repeat(8, axis=0), std.repeat(8, axis=0)).sum(axis=1)
    prior = stats.norm.logpdf(z).sum(axis=1)
    found = terms(mean, std, n_samples=1600)
    for value, draws in zip(found, (own - joint, joint - product, product - prior)):
        assert abs(value - draws.mean()) < 6 * draws.std() / np.sqrt(len(draws))


def test_mss_weights_by_hand():
    expected = [[1 / 10, 8 / 20, 1 / 2], [1 / 2, 1 / 10, 8 / 20], [8 / 20, 1 / 2, 1 / 10]]
    assert_allclose(mss_weights(3, 10), expected)
    for batch_size, n in ((2, 2), (2, 50), (7, 7), (64, 20_000)):
        assert_allclose(mss_weights(batch_size, n).sum(axis=1), 1.0)


def test_mss_equals_loop():
    _, mean, std = toy(6)
    found = kl_terms_mss(mean, std, 6, np.random.RandomState(0))
    rng = np.random.RandomState(0)
    rows = rng.permutation(6)
    mean, std = mean[rows], std[rows]
    z = mean + std * rng.standard_normal(mean.shape)
    weights, expected = mss_weights(6, 6), np.zeros(3)
    for i in range(6):
        kernels = stats.norm.pdf(z[i], mean, std)
        joint = np.log(weights[i] @ kernels.prod(axis=1))
        product = np.log(weights[i] @ kernels).sum()
        own, prior = np.log(kernels[i]).sum(), stats.norm.logpdf(z[i]).sum()
        expected += [own - joint, joint - product, product - prior]
    assert_allclose(found, expected / 6)


@pytest.mark.slow
def test_terms_of_20000_samples_have_the_known_values():
    """Independent latents: what MI cannot hold beyond log N appears as total correlation."""
    rng = np.random.RandomState(0)
    mean, std = np.sqrt(0.95) * rng.standard_normal((20_000, 10)), np.full((20_000, 10), 0.05**0.5)
    assert_allclose(terms(mean, std, n_samples=2000), (9.87, 5.09, 0.01), atol=0.03)
    batches = kl_terms_mss(mean, std, 64, rng)
    assert_allclose(batches, (9.90, 5.86, -0.82), atol=0.12)
