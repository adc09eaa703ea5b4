"""Objective terms as pure functions: each takes tensors and returns values in nats or a penalty.

Notation: B rows in the batch, N in the data set, D latents; q(z|x_j) is the diagonal Gaussian
``N(mean_j, exp(log_var_j))``.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn import functional as F

# -- likelihoods and divergences -------------------------------------------------------------


def bernoulli_nll(x: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Negative log-likelihood per observation: ``-sum x log p + (1 - x) log(1 - p)``."""
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)


def gaussian_nll(x: torch.Tensor, mean: torch.Tensor, sigma: float) -> torch.Tensor:
    """Negative log-density per observation under ``N(mean, sigma^2 I)``, constants included."""
    n_values = x[0].numel()
    squares = (x - mean).flatten(1).pow(2).sum(1)
    return squares / (2 * sigma**2) + n_values * (math.log(sigma) + 0.5 * math.log(2 * math.pi))


def gaussian_log_density(
    z: torch.Tensor, mean: torch.Tensor, log_var: torch.Tensor
) -> torch.Tensor:
    """``log N(z; mean, exp(log_var))``, elementwise and broadcast."""
    return -0.5 * ((z - mean).pow(2) * (-log_var).exp() + log_var + math.log(2 * math.pi))


def gaussian_entropy(log_var: torch.Tensor) -> torch.Tensor:
    """Differential entropy of ``N(mean, exp(log_var))``, elementwise."""
    return 0.5 * (log_var + math.log(2 * math.pi * math.e))


def gaussian_kl(mean: torch.Tensor, log_var: torch.Tensor) -> torch.Tensor:
    """KL divergence of ``N(mean, exp(log_var))`` from ``N(0, 1)``, per observation and latent."""
    return 0.5 * (mean.pow(2) + log_var.exp() - log_var - 1)


def standard_log_prior(z: torch.Tensor) -> torch.Tensor:
    """``log N(z; 0, 1)`` elementwise."""
    return -0.5 * (z.pow(2) + math.log(2 * math.pi))


# -- the KL divergence in three parts (Chen et al. 2018) -------------------------------------


class KLParts(NamedTuple):
    """``KL(q(z|x), p(z))`` averaged over data = the sum of the three."""

    index_code_mi: torch.Tensor  # I(x; z) under q
    total_correlation: torch.Tensor  # KL(q(z), prod_d q(z_d))
    dimension_wise_kl: torch.Tensor  # sum_d KL(q(z_d), p(z_d))


def mss_log_weights(n_batch: int, n_data: int, **options: object) -> torch.Tensor:
    """Log of the (B, B) weights of minibatch stratified sampling; every row of weights sums to 1.

    With M = B - 1: 1/N for the row's own posterior, which is certain to be in the batch;
    (N - M) / (N M) for the next one, which stands for the rest of the data; 1/M for the others.
    They lie on the diagonal and on the one beside it, not in the first two columns.
    """
    if n_batch == 1:  # the own posterior is all there is
        return torch.zeros(1, 1, **options)
    others = n_batch - 1
    weights = torch.full((n_batch, n_batch), 1 / others, **options)
    row = torch.arange(n_batch, device=weights.device)
    weights[row, (row + 1) % n_batch] = (n_data - others) / (n_data * others)
    weights[row, row] = 1 / n_data
    return weights.log()


def kl_parts(
    z: torch.Tensor,
    mean: torch.Tensor,
    log_var: torch.Tensor,
    n_data: int,
    estimator: str = "mss",
    log_prior: Callable[[torch.Tensor], torch.Tensor] = standard_log_prior,
) -> KLParts:
    """Estimate the three parts of the KL divergence from one batch.

    ``log q(z_i) = logsumexp_j [log W_ij + sum_d log q(z_id|x_j)]``, and the same per latent.
    "mss" takes W from :func:`mss_log_weights`; "mws" takes 1 / (B N), whose values are off by
    constants (log N for q(z), D log N for its marginals) with the same gradient.
    ``log_prior`` maps z to the (B, D) log-densities of a factorised prior.
    """
    log_q = gaussian_log_density(z[:, None], mean[None], log_var[None])  # (B, B, D)
    if estimator == "mss":
        log_w = mss_log_weights(len(z), n_data, dtype=z.dtype, device=z.device)
        joint = torch.logsumexp(log_w + log_q.sum(2), 1)
        marginals = torch.logsumexp(log_w[:, :, None] + log_q, 1).sum(1)
    else:
        offset = math.log(len(z) * n_data)
        joint = torch.logsumexp(log_q.sum(2), 1) - offset
        marginals = (torch.logsumexp(log_q, 1) - offset).sum(1)
    own = gaussian_log_density(z, mean, log_var).sum(1)
    return KLParts(
        (own - joint).mean(),
        (joint - marginals).mean(),
        (marginals - log_prior(z).sum(1)).mean(),
    )


# -- total correlation by a discriminator (Kim & Mnih 2018) ----------------------------------


def permute_dims(z: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Shuffle every latent over the batch on its own: draws from the product of marginals."""
    order = torch.rand(z.shape, generator=generator, device=z.device).argsort(0)
    return z.gather(0, order)


def density_ratio_tc(logits: torch.Tensor) -> torch.Tensor:
    """``mean(D_0(z) - D_1(z))``: total correlation, where D tells q(z) (0) from marginals (1)."""
    return (logits[:, 0] - logits[:, 1]).mean()


def discriminator_loss(joint: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of two-class logits: draws of q(z) are class 0, permuted draws class 1."""
    zeros = torch.zeros(len(joint), dtype=torch.long, device=joint.device)
    ones = torch.ones(len(product), dtype=torch.long, device=product.device)
    return 0.5 * (F.cross_entropy(joint, zeros) + F.cross_entropy(product, ones))


# -- moments ---------------------------------------------------------------------------------


def covariance(values: torch.Tensor) -> torch.Tensor:
    """Covariance of rows, divided by B: (D, D); all zero for a single row."""
    centred = values - values.mean(0)
    return centred.T @ centred / len(values)


def dip_penalties(
    mean: torch.Tensor, log_var: torch.Tensor, kind: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """``sum_{i != j} S_ij^2`` and ``sum_i (S_ii - 1)^2`` (Kumar et al. 2018).

    S is the covariance of the posterior means (kind "i") or of the codes (kind "ii"), by the
    law of total covariance ``Cov[mean] + diag(E[variance])``.
    """
    matrix = covariance(mean)
    if kind == "ii":
        matrix = matrix + torch.diag(log_var.exp().mean(0))
    diagonal = matrix.diagonal()
    off_diagonal = matrix.pow(2).sum() - diagonal.pow(2).sum()
    return off_diagonal, (diagonal - 1).pow(2).sum()


def mmd_squared(x: torch.Tensor, y: torch.Tensor, bandwidth: float) -> torch.Tensor:
    """Unbiased squared maximum mean discrepancy under ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Can be negative. Within a sample, pairs of a row with itself do not count; fewer than two
    rows tell nothing, and the value is 0.
    """
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return 0.0 * x.sum()

    def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (-(a[:, None] - b[None]).pow(2).sum(2) / (2 * bandwidth**2)).exp()

    within_x = (kernel(x, x).sum() - n) / (n * (n - 1))
    within_y = (kernel(y, y).sum() - m) / (m * (m - 1))
    return within_x + within_y - 2 * kernel(x, y).mean()


# -- factorised support (Roth et al. 2023) ---------------------------------------------------

_CHUNK = 4096  # grid points whose nearest rows are searched at a time


def hausdorff_support(mean: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Squared Hausdorff distance of the codes from the product of their supports.

    The sum over pairs (i, j) of latents of ``max_{a,b} min_k [(mean_ai - mean_ki)^2 + (mean_bj -
    mean_kj)^2]``: how far the emptiest combination of an occurring value of i with one of j lies
    from all that occur together. The rows a, b, k are found without gradient, in memory of order
    B^2; the value and its gradient are those of the full expression.
    """
    total = 0.0 * mean.sum()
    for i, j in pairs.tolist():
        x, y = mean[:, i], mean[:, j]
        with torch.no_grad():
            a, b, k = _emptiest_combination(x.contiguous(), y.contiguous())
        total = total + (x[a] - x[k]).pow(2) + (y[b] - y[k]).pow(2)
    return total


def _emptiest_combination(x: torch.Tensor, y: torch.Tensor) -> tuple[int, int, int]:
    """Rows (a, b, k): (x_a, y_b) is the grid point farthest from its nearest row, and that is k.

    The distance to the nearest row changes by at most the way between two points. So exact
    distances on a coarse grid of about B points bound those of all B^2, and only points whose
    bound reaches the largest distance known are looked at: a few dozen of 65,536 at B = 256.
    """
    n = len(x)
    (xs, x_row), (ys, y_row) = x.sort(), y.sort()
    ranks = torch.linspace(0, n - 1, math.ceil(math.sqrt(n)), device=x.device).round().long()
    cx, cy = xs[ranks], ys[ranks]
    coarse, _ = _nearest(torch.cartesian_prod(cx, cy), x, y)
    x_near = torch.bucketize(xs, (cx[1:] + cx[:-1]) / 2)
    y_near = torch.bucketize(ys, (cy[1:] + cy[:-1]) / 2)
    way = ((xs - cx[x_near]).pow(2)[:, None] + (ys - cy[y_near]).pow(2)).sqrt()
    bound = coarse.sqrt().view(len(cx), len(cy))[x_near][:, y_near] + way
    bound = bound.flatten().square()
    promising = bound.topk(min(128, n * n)).indices
    known = _nearest(torch.stack([xs[promising // n], ys[promising % n]], 1), x, y)[0].max()
    # The slack covers rounding in the bounds.
    points = (bound >= torch.maximum(known, coarse.max()) * (1 - 1e-5)).nonzero()[:, 0]
    if not len(points):  # values that are not finite: let them reach the loss
        points = torch.zeros(1, dtype=torch.long, device=x.device)
    best = (-1.0, 0, 0, 0)
    for point in points.split(_CHUNK):
        a, b = x_row[point // n], y_row[point % n]
        distance, row = _nearest(torch.stack([x[a], y[b]], 1), x, y)
        top = distance.argmax()
        best = max(best, (distance[top].item(), a[top].item(), b[top].item(), row[top].item()))
    return best[1:]


def _nearest(
    points: torch.Tensor, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Squared distance of each point from its nearest row (x_k, y_k), and that row."""
    squares = (points[:, :1] - x).square_().add_((points[:, 1:] - y).square_())
    distance, row = squares.min(1)
    return distance, row
