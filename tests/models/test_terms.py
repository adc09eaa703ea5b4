"""Objective terms against torch.distributions, closed forms, Monte Carlo and loops."""

import math

import numpy as np
import pytest
import torch
from torch import distributions as td

from sklearn_disent.models import terms
from sklearn_disent.networks import FactorizedFlow


@pytest.fixture
def posteriors():
    """Draws, means and log-variances of 12 posteriors over 3 latents, in float64."""
    g = torch.Generator().manual_seed(0)
    mean = torch.randn(12, 3, generator=g, dtype=torch.float64)
    log_var = 0.5 * torch.randn(12, 3, generator=g, dtype=torch.float64) - 1
    z = mean + (0.5 * log_var).exp() * torch.randn(12, 3, generator=g, dtype=torch.float64)
    return z, mean, log_var


def close(a, b, **kwargs):
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b), check_dtype=False, **kwargs)


# -- likelihoods and divergences -------------------------------------------------------------


def test_bernoulli_nll_is_the_likelihood_of_torch():
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 1, 3, 3, generator=g)
    x = torch.randint(0, 2, (4, 1, 3, 3), generator=g).float()
    close(terms.bernoulli_nll(x, logits), -td.Bernoulli(logits=logits).log_prob(x).sum((1, 2, 3)))


@pytest.mark.parametrize("sigma", [0.1, 1.0, 3.0])
def test_gaussian_nll_is_a_likelihood_with_its_constants(sigma):
    x, mean = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(0))
    close(terms.gaussian_nll(x, mean, sigma), -td.Normal(mean, sigma).log_prob(x).sum(1))
    # a density: it integrates to 1
    grid = torch.linspace(-10 * sigma, 10 * sigma, 4001)[:, None]
    density = (-terms.gaussian_nll(grid, torch.zeros(1), sigma)).exp()
    assert torch.trapezoid(density, grid[:, 0]).item() == pytest.approx(1, abs=1e-4)


def test_gaussian_terms_match_torch_distributions(posteriors):
    z, mean, log_var = posteriors
    q = td.Normal(mean, (0.5 * log_var).exp())
    p = td.Normal(torch.zeros_like(mean), 1.0)
    close(terms.gaussian_kl(mean, log_var), td.kl_divergence(q, p))
    close(terms.gaussian_log_density(z, mean, log_var), q.log_prob(z))
    close(terms.gaussian_entropy(log_var), q.entropy())
    close(terms.standard_log_prior(z), p.log_prob(z))


def test_gaussian_kl_between_two_gaussians(posteriors):
    _, mean, log_var = posteriors
    other_mean, other_log_var = mean.flip(0), log_var.roll(1, 0)
    q, p = (
        td.Normal(m, (0.5 * v).exp()) for m, v in ((mean, log_var), (other_mean, other_log_var))
    )
    close(terms.gaussian_kl(mean, log_var, other_mean, other_log_var), td.kl_divergence(q, p))
    zero = torch.zeros_like(mean)
    assert torch.equal(
        terms.gaussian_kl(mean, log_var, zero, zero), terms.gaussian_kl(mean, log_var)
    )
    with pytest.raises(ValueError, match="together, or neither"):
        terms.gaussian_kl(mean, log_var, zero)


def test_terms_refuse_misspelt_options(posteriors):
    z, mean, log_var = posteriors
    with pytest.raises(ValueError, match="'mss' or 'mws', got 'msw'"):
        terms.kl_parts(z, mean, log_var, 12, "msw")
    with pytest.raises(ValueError, match="'i' or 'ii', got 'iii'"):
        terms.dip_penalties(mean, log_var, "iii")
    with pytest.raises(ValueError, match="deviation must be"):
        terms.same_pair_term(torch.ones(12, 1), mean, z, deviation="mean")


def test_terms_are_the_public_names_of_their_module():
    functions = [getattr(terms, name) for name in terms.__all__]
    assert all("Examples" in f.__doc__ for f in functions if f is not terms.KLParts)
    assert all(f.__module__.startswith("sklearn_disent.models.terms.") for f in functions)


# -- parts of the KL divergence --------------------------------------------------------------


@pytest.mark.parametrize(("n_batch", "n_data"), [(2, 2), (5, 5), (5, 100), (64, 20_000)])
def test_mss_weights_lie_on_diagonals_and_rows_sum_to_one(n_batch, n_data):
    weights = terms.mss_log_weights(n_batch, n_data, dtype=torch.float64).exp()
    close(weights.sum(1), torch.ones(n_batch))
    others = n_batch - 1
    for i in range(n_batch):
        for j in range(n_batch):
            expected = 1 / others
            if j == i:
                expected = 1 / n_data
            elif j == (i + 1) % n_batch:
                expected = (n_data - others) / (n_data * others)
            assert weights[i, j].item() == pytest.approx(expected)


@pytest.mark.parametrize("estimator", ["mss", "mws"])
def test_kl_parts_match_loops(posteriors, estimator):
    z, mean, log_var = posteriors
    n, d, n_data = *z.shape, 50
    weights = terms.mss_log_weights(n, n_data, dtype=torch.float64).exp()
    if estimator == "mws":
        weights = torch.full((n, n), 1 / (n * n_data), dtype=torch.float64)
    q = [[td.Normal(mean[j], (0.5 * log_var[j]).exp()).log_prob(z[i]).exp() for j in range(n)]
         for i in range(n)]  # fmt: skip
    own = [q[i][i].prod().log() for i in range(n)]
    joint = [sum(weights[i, j] * q[i][j].prod() for j in range(n)).log() for i in range(n)]
    marginal = [
        sum(sum(weights[i, j] * q[i][j][k] for j in range(n)).log() for k in range(d))
        for i in range(n)
    ]
    prior = td.Normal(0, 1).log_prob(z).sum(1)
    expected = [
        sum(a - b for a, b in zip(own, joint)) / n,
        sum(a - b for a, b in zip(joint, marginal)) / n,
        sum(a - b for a, b in zip(marginal, prior)) / n,
    ]
    for value, wanted in zip(terms.kl_parts(z, mean, log_var, n_data, estimator), expected):
        close(value, wanted)


@pytest.mark.parametrize("estimator", ["mss", "mws"])
@pytest.mark.parametrize("n_rows", [1, 2, 12])
def test_kl_parts_sum_to_the_monte_carlo_kl(posteriors, estimator, n_rows):
    z, mean, log_var = (value[:n_rows] for value in posteriors)
    q = td.Normal(mean, (0.5 * log_var).exp())
    expected = (q.log_prob(z) - td.Normal(0.0, 1.0).log_prob(z)).sum(1).mean()
    parts = terms.kl_parts(z, mean, log_var, 100, estimator)
    close(sum(parts), expected)
    assert all(torch.isfinite(part) for part in parts)


def test_kl_parts_average_to_the_closed_form_kl(posteriors):
    _, mean, log_var = posteriors
    g = torch.Generator().manual_seed(1)
    draws = [
        sum(terms.kl_parts(mean + (0.5 * log_var).exp() * noise, mean, log_var, 12)).item()
        for noise in torch.randn(1000, *mean.shape, generator=g, dtype=torch.float64)
    ]
    expected = terms.gaussian_kl(mean, log_var).sum(1).mean().item()
    assert np.mean(draws) == pytest.approx(expected, abs=4 * np.std(draws) / math.sqrt(1000))


def test_kl_parts_estimators_have_the_same_gradient_of_a_full_batch(posteriors):
    # With B = N and weights 1/N, q(z) is exact: the weighted estimate differs by a constant.
    _, mean, log_var = posteriors
    z = mean.clone().requires_grad_()
    weighted = terms.kl_parts(z, mean, log_var, 12, "mws")
    log_q = terms.gaussian_log_density(z[:, None], mean[None], log_var[None])
    joint = torch.logsumexp(log_q.sum(2), 1) - math.log(12)
    marginals = (torch.logsumexp(log_q, 1) - math.log(12)).sum(1)
    exact = (joint - marginals).mean()
    close(weighted.total_correlation - exact, 2 * math.log(12))  # (D - 1) log N
    (a,) = torch.autograd.grad(weighted.total_correlation, z, retain_graph=True)
    (b,) = torch.autograd.grad(exact, z)
    close(a, b)


@pytest.fixture(scope="module")
def large():
    """20,000 posteriors over 10 independent latents whose aggregate is N(0, I), and draws."""
    g = torch.Generator().manual_seed(0)
    mean = math.sqrt(0.95) * torch.randn(20_000, 10, generator=g)
    log_var = torch.full_like(mean, math.log(0.05))
    z = mean + math.sqrt(0.05) * torch.randn(20_000, 10, generator=g)
    batches = torch.randperm(20_000, generator=g)[: 64 * 200].split(64)
    return z, mean, log_var, batches


def average(large, function):
    z, mean, log_var, batches = large
    values = [torch.stack(list(function(z[i], mean[i], log_var[i]))) for i in batches]
    return torch.stack(values).mean(0).tolist()


@pytest.mark.slow
def test_kl_parts_of_20000_posteriors_have_the_published_size(large):
    # Over all rows: MI 9.87, TC 5.09, dwKL 0.01.
    z, mean, log_var, batches = large
    exact = []
    for row in torch.cat(list(batches[:8])).split(16):
        log_q = terms.gaussian_log_density(z[row, None], mean[None], log_var[None])
        joint = torch.logsumexp(log_q.sum(2), 1) - math.log(20_000)
        marginals = (torch.logsumexp(log_q, 1) - math.log(20_000)).sum(1)
        own = terms.gaussian_log_density(z[row], mean[row], log_var[row]).sum(1)
        prior = terms.standard_log_prior(z[row]).sum(1)
        exact.append(torch.stack([own - joint, joint - marginals, marginals - prior], 1))
    exact = torch.cat(exact).mean(0).tolist()
    # A row's TC spreads by 2.3 nats, so a mean over 512 rows by 0.1.
    assert exact == pytest.approx([9.87, 5.09, 0.01], abs=0.3)
    mss = average(large, lambda *q: terms.kl_parts(*q, 20_000))
    assert mss == pytest.approx([9.90, 5.86, -0.82], abs=0.2)
    mws = average(large, lambda *q: terms.kl_parts(*q, 20_000, "mws"))
    assert mws == pytest.approx([14.1, 99.4, -98.5], abs=0.2)


def test_mss_weights_in_columns_would_double_the_total_correlation(large, monkeypatch):
    # What several public versions do: flat strides of B fill the first two columns.
    def columns(start, stop, n_batch, n_data, **options):
        others = n_batch - 1
        weights = torch.full((n_batch, n_batch), 1 / others)
        weights.view(-1)[::n_batch] = 1 / n_data
        weights.view(-1)[1::n_batch] = (n_data - others) / (n_data * others)
        return weights.log()[start:stop]

    right = average(large, lambda *q: terms.kl_parts(*q, 20_000))[1]
    monkeypatch.setattr(terms._elbo, "_mss_rows", columns)
    wrong = average(large, lambda *q: terms.kl_parts(*q, 20_000))[1]
    assert wrong == pytest.approx(10.18, abs=0.2)
    assert right < 6.1


def test_mws_has_its_constant_so_that_total_correlation_is_not_negative(large):
    # Without log(B N) in the marginals, the estimate falls by D - 1 times 14 nats.
    assert average(large, lambda *q: terms.kl_parts(*q, 20_000, "mws"))[1] > 0


# -- the flow prior --------------------------------------------------------------------------


def bent_flow():
    flow = FactorizedFlow(2, n_layers=3).double()
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=g, dtype=torch.float64))
    return flow


def test_flow_starts_as_the_standard_normal():
    z = torch.linspace(-3, 3, 7)[:, None].repeat(1, 2)
    close(FactorizedFlow(2).log_prob(z), td.Normal(0.0, 1.0).log_prob(z))


def test_flow_density_integrates_to_one_and_matches_autograd():
    flow = bent_flow()
    grid = torch.linspace(-40, 40, 40_001, dtype=torch.float64)[:, None].repeat(1, 2)
    close(torch.trapezoid(flow.log_prob(grid).exp(), grid, dim=0), torch.ones(2), atol=1e-4, rtol=0)
    z = torch.linspace(-3, 3, 7, dtype=torch.float64)[:, None].repeat(1, 2).requires_grad_()
    normal, log_slope = flow(z)
    (slope,) = torch.autograd.grad(normal.sum(), z)
    assert (slope > 0).all()
    close(log_slope, slope.log())


def test_flow_inverse_undoes_the_flow():
    flow = bent_flow()
    z = 3 * torch.randn(50, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    close(flow.inverse(flow(z)[0]), z)


# -- moments ---------------------------------------------------------------------------------


def test_dip_covariances_match_numpy_and_monte_carlo(posteriors):
    _, mean, log_var = posteriors
    matrix = np.cov(mean.numpy(), rowvar=False, bias=True)
    close(terms.covariance(mean), matrix)
    draws = td.Normal(mean, (0.5 * log_var).exp()).sample((100_000,)).flatten(0, 1)
    expected = matrix + np.diag(log_var.exp().mean(0))
    close(terms.covariance(draws), expected, atol=0.01, rtol=0)
    for kind, covariance in (("i", matrix), ("ii", expected)):
        off_diagonal, diagonal = terms.dip_penalties(mean, log_var, kind)
        wanted = sum(covariance[i, j] ** 2 for i in range(3) for j in range(3) if i != j)
        close(off_diagonal, wanted)
        close(diagonal, ((np.diag(covariance) - 1) ** 2).sum())


def test_dip_ii_is_zero_on_a_diagonal_covariance():
    # Means of a cross: uncorrelated, variance 1/4 each; posterior variances 3/4.
    c = math.sqrt(0.5)
    mean = torch.tensor([[c, 0], [-c, 0], [0, c], [0, -c]], dtype=torch.float64)
    log_var = torch.full((4, 2), math.log(0.75), dtype=torch.float64)
    off_diagonal, diagonal = terms.dip_penalties(mean, log_var, "ii")
    close(off_diagonal, 0.0, atol=1e-12, rtol=0)
    close(diagonal, 0.0, atol=1e-12, rtol=0)
    # Adding the variance as a scalar to all entries would give 2 * 0.75 ** 2 off the diagonal.
    assert off_diagonal < 0.1


def test_mmd_matches_loops_and_is_unbiased():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 7, 2, generator=g, dtype=torch.float64)

    def kernel(a, b):
        return math.exp(-((a - b) ** 2).sum().item() / (2 * 1.5**2))

    within = [[kernel(v[i], v[j]) for i in range(7) for j in range(7) if i != j] for v in (x, y)]
    across = [kernel(a, b) for a in x for b in y]
    wanted = np.mean(within[0]) + np.mean(within[1]) - 2 * np.mean(across)
    close(terms.mmd_squared(x, y, 1.5), wanted)
    same = [terms.mmd_squared(*torch.randn(2, 8, 2, generator=g), 1.5).item() for _ in range(2000)]
    assert abs(np.mean(same)) < 4 * np.std(same) / math.sqrt(2000)
    assert min(same) < 0


def test_mmd_has_the_closed_form_of_two_normals():
    # E k(x, y) = (s^2 / (s^2 + v))^(1/2) exp(-m^2 / (2 (s^2 + v))), v the variance of x - y.
    g = torch.Generator().manual_seed(0)
    x = 1.0 + torch.randn(4000, 1, generator=g)
    y = torch.randn(4000, 1, generator=g)
    same, cross = math.sqrt(1 / 3), math.sqrt(1 / 3) * math.exp(-1 / 6)
    expected = 2 * same - 2 * cross
    assert terms.mmd_squared(x, y, 1.0).item() == pytest.approx(expected, abs=0.01)


def test_mmd_of_one_row_is_zero_with_a_gradient():
    x = torch.ones(1, 2, requires_grad=True)
    value = terms.mmd_squared(x, torch.zeros(1, 2), 1.0)
    value.backward()
    assert value.item() == 0
    assert torch.equal(x.grad, torch.zeros(1, 2))


# -- factorised support ----------------------------------------------------------------------


def hausdorff_brute(mean, pairs):
    total = 0
    for i, j in pairs.tolist():
        x, y = mean[:, i], mean[:, j]
        grid = (x[:, None, None] - x) ** 2 + (y[None, :, None] - y) ** 2  # (a, b, k)
        total = total + grid.min(2).values.max()
    return total


@pytest.mark.parametrize("n_rows", [1, 2, 3, 17, 64, 150])
@pytest.mark.parametrize("shape", ["independent", "diagonal", "clusters", "equal"])
def test_hausdorff_equals_brute_force_in_value_and_gradient(n_rows, shape):
    g = torch.Generator().manual_seed(n_rows)
    mean = torch.randn(n_rows, 4, generator=g, dtype=torch.float64)
    if shape == "diagonal":
        mean = mean[:, :1] + 0.01 * mean
    elif shape == "clusters":
        mean = 0.01 * mean + 10 * torch.randint(0, 3, mean.shape, generator=g)
    elif shape == "equal":
        mean = torch.ones_like(mean)
    pairs = torch.combinations(torch.arange(4))
    mean.requires_grad_()
    fast, slow = terms.hausdorff_support(mean, pairs), hausdorff_brute(mean, pairs)
    close(fast, slow)
    if shape != "equal":  # where all rows are equal, any triple will do
        close(*(torch.autograd.grad(value, mean)[0] for value in (fast, slow)))


def test_hausdorff_sees_an_empty_corner():
    # Three corners of a square: the fourth is 1 away from its nearest.
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert terms.hausdorff_support(corners, torch.tensor([[0, 1]])).item() == 1
    full = torch.cat([corners, torch.ones(1, 2)])
    assert terms.hausdorff_support(full, torch.tensor([[0, 1]])).item() == 0


def test_hausdorff_lets_nan_through():
    mean = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    mean[3] = float("nan")
    assert math.isnan(terms.hausdorff_support(mean, torch.tensor([[0, 1]])).item())


# -- the discriminator -----------------------------------------------------------------------


def test_permute_dims_keeps_marginals_and_breaks_dependence():
    g = torch.Generator().manual_seed(0)
    z = torch.randn(5000, 1, generator=g).repeat(1, 3)
    permuted = terms.permute_dims(z, g)
    close(permuted.sort(0).values, z.sort(0).values)
    correlation = np.corrcoef(permuted.numpy(), rowvar=False)
    assert np.abs(correlation - np.eye(3)).max() < 0.06  # 4 / sqrt(5000)


def test_density_ratio_of_the_best_discriminator_is_the_total_correlation():
    # Two standard normals of correlation r: TC = -log(1 - r^2) / 2, and the best logits are the
    # log-densities of the joint and of the product.
    r = 0.8
    both = td.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, r], [r, 1.0]]))
    torch.manual_seed(0)
    z = both.sample((20_000,))
    logits = torch.stack([both.log_prob(z), td.Normal(0.0, 1.0).log_prob(z).sum(1)], 1)
    expected = -0.5 * math.log(1 - r**2)
    assert terms.density_ratio_tc(logits).item() == pytest.approx(expected, abs=0.03)
