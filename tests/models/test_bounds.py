"""Bounds of the log-likelihood: without bias, with an honest error."""

import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_digits

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.metrics import elbo_decomposition, elbo_score
from sklearn_disent.models import VAE, BetaTCVAE, BetaVAE

DIGITS = (load_digits().images[:700] / 16.0).astype(np.float32)
SMALL = {"architecture": "mlp", "module__hidden_sizes": (32,)}


def monte_carlo(model, X, n_draws, seed=0):
    """E_q log p(x|z) by plain draws, and the standard error of its mean over rows."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.as_tensor(X)[:, None]
    with torch.inference_mode():
        mean, log_var = model.module_.encode(x)
        sums = torch.zeros(2, len(x), dtype=torch.float64)
        for _ in range(n_draws):
            z = mean + (0.5 * log_var).exp() * torch.randn(mean.shape, generator=generator)
            value = -model.reconstruction(x, model.module_.decoder(z)).double()
            sums += torch.stack([value, value**2])
    first, second = sums / n_draws
    variance = (second - first**2) / (n_draws - 1)
    return first.numpy(), float(variance.sum().sqrt() / len(x))


@pytest.fixture(scope="module", params=[2, 5, 10, 64])
def fitted(request):
    return VAE(request.param, max_epochs=8, random_state=0, **SMALL).fit(DIGITS)


@pytest.fixture(scope="module")
def sampled(fitted):
    return monte_carlo(fitted, DIGITS, 300)


def test_elbo_agrees_with_monte_carlo(fitted, sampled):
    truth, error = sampled
    ours, kl = fitted.elbo_terms(DIGITS, n_draws=32)
    assert error < 0.015
    assert abs(ours.mean() - truth.mean()) < 0.05
    own = elbo_score(fitted, DIGITS, n_draws=32, return_std=True)[1]
    assert abs(ours.mean() - truth.mean()) < 4 * np.hypot(error, own)
    assert (kl >= 0).all()


def test_score_is_unbiased_over_random_models(capsys):
    X = DIGITS[:600]
    errors = []
    for seed in range(10):
        model = BetaVAE(
            4 + seed, beta=0.5 + 0.5 * (seed % 4), max_epochs=5, random_state=seed, **SMALL
        ).fit(X)
        truth, _ = monte_carlo(model, X, 60, seed=seed)
        errors.append(model.elbo_terms(X)[0].mean() - truth.mean())
    with capsys.disabled():
        sys.stdout.write(f" mean error of the ELBO over ten models {np.mean(errors):+.4f} nats ")
    assert abs(np.mean(errors)) < 0.02
    assert np.std(errors) < 0.06


def test_score_samples_does_not_depend_on_other_rows(fitted):
    whole = fitted.score_samples(DIGITS)
    assert_allclose(fitted.score_samples(DIGITS[100:110]), whole[100:110], rtol=1e-5)
    assert_array_equal(fitted.score_samples(DIGITS), whole)
    other = fitted.set_params(batch_size=7).score_samples(DIGITS[:50])
    fitted.set_params(batch_size=64)
    assert_allclose(other, whole[:50], rtol=1e-5)


def test_standard_error_covers_the_truth(fitted, sampled):
    truth, _ = sampled
    values, std = fitted.score_samples(DIGITS, n_draws=16, return_std=True)
    kl = fitted.elbo_terms(DIGITS)[1]
    within = np.abs(values + kl - truth) < stats.t(7).ppf(0.95) * std
    # 90 % intervals; means of pairs are skewed, so that few of them cover somewhat less.
    assert 0.78 < within.mean() < 0.95
    score, error = elbo_score(fitted, DIGITS, n_draws=16, return_std=True)
    assert score == pytest.approx(values.mean(), rel=1e-6)
    assert error == pytest.approx(np.sqrt((std**2).sum()) / len(std), rel=1e-6)


def test_importance_weighted_bound_is_tighter_and_grows(fitted):
    bounds = [fitted.importance_weighted_bound(DIGITS[:300], n_draws=n).mean() for n in (1, 4, 64)]
    assert bounds[0] < bounds[1] < bounds[2]
    elbo = fitted.score_samples(DIGITS[:300], n_draws=64).mean()
    assert bounds[2] > elbo
    # A single draw is an estimate of the ELBO itself.
    assert abs(bounds[0] - elbo) < 1.0
    score = elbo_score(fitted, DIGITS[:300], bound="importance_weighted")
    assert score == pytest.approx(bounds[2], rel=1e-6)


class LinearGaussian(torch.nn.Module):
    """Means and log-variances of a linear encoder, all set by hand."""

    def __init__(self, slope, log_var):
        super().__init__()
        self.slope, self.log_var = slope, log_var

    def forward(self, x):
        mean = x.flatten(1) @ self.slope.T
        return torch.cat([mean, self.log_var.expand_as(mean)], 1)


@pytest.mark.parametrize("n_draws", [1, 2, 16])
def test_importance_weighted_bound_of_the_true_posterior_is_the_likelihood(n_draws):
    """All weights are equal then: whatever the number of draws, the bound is log p(x)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)).astype(np.float32)
    weight, sigma = np.array([[0.8], [-0.5], [0.3]]), 0.5
    variance = 1 / (1 + (weight**2).sum() / sigma**2)
    slope = torch.tensor(variance * weight.T / sigma**2, dtype=torch.float32)
    log_var = torch.log(torch.tensor([[variance]], dtype=torch.float32))
    decoder = torch.nn.Linear(1, 3)
    with torch.no_grad():
        decoder.weight.copy_(torch.tensor(weight))
        decoder.bias.zero_()
    encoder = LinearGaussian(slope, log_var)
    vae = VAE(1, encoder=encoder, decoder=decoder, sigma=sigma, max_epochs=0).fit(X)
    exact = stats.multivariate_normal(np.zeros(3), weight @ weight.T + sigma**2 * np.eye(3))
    bound = vae.importance_weighted_bound(X, n_draws=n_draws)
    assert_allclose(bound, exact.logpdf(X), atol=1e-4)


@pytest.mark.slow
def test_importance_weighted_bound_reaches_a_known_likelihood():
    """Linear decoder, Gaussian likelihood: log p(x) has a closed form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)) @ rng.normal(size=(1, 3)) + rng.normal(size=(400, 3)) * 0.5
    X = X.astype(np.float32)
    vae = VAE(
        1,
        decoder=torch.nn.Linear(1, 3),
        sigma=0.5,
        lr=1e-2,
        max_epochs=60,
        random_state=0,
    ).fit(X)
    weight = vae.module_.decoder.weight.detach().numpy()
    bias = vae.module_.decoder.bias.detach().numpy()
    exact = stats.multivariate_normal(bias, weight @ weight.T + 0.25 * np.eye(3)).logpdf(X)
    bound = vae.importance_weighted_bound(X, n_draws=512)
    assert vae.score_samples(X, n_draws=64).mean() <= exact.mean() + 0.01
    assert bound.mean() == pytest.approx(exact.mean(), abs=0.01)


def test_kl_of_a_flow_prior_agrees_with_draws_and_is_not_negative():
    X = DIGITS[:400]
    model = BetaTCVAE(
        3, beta=1.0, prior="factorized_flow", lr=5e-3, max_epochs=20, random_state=0, **SMALL
    ).fit(X)
    mean, log_var = (torch.from_numpy(part) for part in model.posterior(X))
    kl = model.elbo_terms(X)[1]
    assert kl.min() >= 0
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        std, total = (0.5 * log_var).exp(), torch.zeros(len(X), dtype=torch.float64)
        for _ in range(20):
            noise = torch.randn((50, *mean.shape), generator=generator)
            # Each draw and its mirror image, by whose mean the error is smaller.
            for draw in (noise, -noise):
                log_q = -0.5 * (draw**2 + log_var + np.log(2 * np.pi))
                log_p = model.log_prior((mean + std * draw).flatten(0, 1)).view_as(draw)
                total += (log_q - log_p).double().sum((0, 2))
    assert kl.mean() == pytest.approx(float(total.mean()) / 2000, abs=0.01)
    assert elbo_decomposition(model, X, random_state=0).dimension_wise_kl > -0.01


def test_kl_of_posteriors_that_are_the_prior_is_not_negative():
    """All but the flow's prior: quadrature and single precision would take some below 0."""
    model = BetaTCVAE(2, prior="factorized_flow", max_epochs=0, random_state=0).fit(DIGITS[:50])
    generator = torch.Generator().manual_seed(0)
    mean, log_var = 1e-3 * torch.randn((2, 2000, 2), generator=generator)
    with torch.inference_mode():
        kl = model.kl_from_prior(mean, log_var)
    assert kl.min() >= 0
    assert_allclose(kl, 0, atol=1e-4)


def test_kl_of_a_sharp_flow_is_good_to_tenths():
    """Steps of the density are narrower than the points are apart."""
    model = BetaTCVAE(1, prior="factorized_flow", max_epochs=0, random_state=0).fit(DIGITS[:50])
    flow, generator = model.module_.prior, torch.Generator().manual_seed(0)
    with torch.inference_mode():
        for parameter in flow.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        mean, log_var = torch.randn((2, 20, 1), generator=generator)
        kl = model.kl_from_prior(mean, log_var)
        noise = torch.linspace(-10, 10, 20_001)
        density = torch.exp(-0.5 * noise**2) / np.sqrt(2 * np.pi)
        z = mean + (0.5 * log_var).exp() * noise
        log_p = flow.log_prob(z.reshape(-1, 1)).view_as(z)
        log_q = -0.5 * (noise**2 + log_var + np.log(2 * np.pi))
        truth = torch.trapezoid(density * (log_q - log_p), noise)
    assert (kl - truth).abs().max() < 0.2


def test_flow_that_is_the_identity_has_the_closed_form():
    model = BetaTCVAE(3, prior="factorized_flow", max_epochs=0, random_state=0).fit(DIGITS[:50])
    plain = BetaTCVAE(3, max_epochs=0, random_state=0).fit(DIGITS[:50])
    assert_allclose(model.elbo_terms(DIGITS)[1], plain.elbo_terms(DIGITS)[1], atol=1e-4)


@pytest.mark.parametrize("n_draws", [0, 2.5, "many"])
def test_bad_number_of_draws_is_refused(fitted, n_draws):
    for method in (fitted.score_samples, fitted.elbo_terms, fitted.importance_weighted_bound):
        with pytest.raises(ValueError, match="n_draws must be a positive integer"):
            method(DIGITS[:4], n_draws=n_draws)


def test_standard_error_needs_two_pairs(fitted):
    with pytest.raises(ValueError, match="at least 4"):
        fitted.score_samples(DIGITS[:4], n_draws=3, return_std=True)


@pytest.mark.slow
@pytest.mark.parametrize("model", [VAE(10), BetaVAE(10, beta=4.0), BetaTCVAE(10)])
def test_elbo_of_images_agrees_with_monte_carlo(model):
    X = make_dsprites(3000, image_size=32, random_state=0).images
    model.set_params(max_epochs=8, random_state=0, module__init="he").fit(X)
    truth, error = monte_carlo(model, X, 100)
    assert error < 0.02
    # The default of 8 draws has a standard error of up to .07 nats here: more draws to see a bias.
    _, of_rows = model.score_samples(X, n_draws=64, return_std=True)
    standard_error = np.sqrt((of_rows**2).sum()) / len(X)
    assert standard_error < 0.03
    reconstruction = model.elbo_terms(X, n_draws=64)[0].mean()
    assert abs(reconstruction - truth.mean()) < 4 * np.hypot(standard_error, error)
