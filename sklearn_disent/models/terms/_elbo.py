"""Likelihoods, Gaussian densities, and the KL divergence in three parts."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

# Squares of smaller ones vanish, those of their inverses overflow.
_LEAST_SIGMA = 1e-150

# Entries of the largest array of densities; larger batches are taken in parts.
_MAX_ENTRIES = 2**26

# -- likelihoods and divergences -------------------------------------------------------------


def bernoulli_nll(x: Tensor, logits: Tensor) -> Tensor:
    """Negative log-likelihood of each observation under independent Bernoulli variables.

    ``-sum_i x_i log p_i + (1 - x_i) log(1 - p_i)`` with ``p = sigmoid(logits)``.

    Parameters
    ----------
    x : Tensor of shape (B, ...)
        Observations in [0, 1].
    logits : Tensor of the shape of x
        What the decoder returns.

    Returns
    -------
    nll : Tensor of shape (B,)
        In nats.

    See Also
    --------
    gaussian_nll : For values without bounds.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.bernoulli_nll(torch.ones(1, 2), torch.zeros(1, 2))
    tensor([1.3863])
    """
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)


def gaussian_nll(x: Tensor, mean: Tensor, sigma: float) -> Tensor:
    """Negative log-density of each observation under ``N(mean, sigma^2 I)``, constants included.

    Parameters
    ----------
    x : Tensor of shape (B, ...)
        Observations.
    mean : Tensor of the shape of x
        What the decoder returns.
    sigma : float
        Standard deviation of every value.

    Returns
    -------
    nll : Tensor of shape (B,)
        In nats; negative where the density is above 1.

    See Also
    --------
    bernoulli_nll : For values in [0, 1].

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.gaussian_nll(torch.zeros(1, 2), torch.zeros(1, 2), sigma=1.0)
    tensor([1.8379])
    """
    if not _LEAST_SIGMA <= sigma <= 1 / _LEAST_SIGMA:
        raise ValueError(
            f"sigma must be from {_LEAST_SIGMA:g} to {1 / _LEAST_SIGMA:g}, where its square is a "
            f"number that training can use, got {sigma}. Scale X instead."
        )
    n_values = x[0].numel()
    squares = (x - mean).flatten(1).pow(2).sum(1)
    return squares / (2 * sigma**2) + n_values * (math.log(sigma) + 0.5 * math.log(2 * math.pi))


def gaussian_log_density(z: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """``log N(z; mean, exp(log_var))``, elementwise.

    Parameters
    ----------
    z, mean, log_var : Tensor
        Values, means and log-variances; they are broadcast.

    Returns
    -------
    log_density : Tensor
        In nats, of the broadcast shape.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.gaussian_log_density(torch.zeros(1), torch.zeros(1), torch.zeros(1))
    tensor([-0.9189])
    """
    return -0.5 * ((z - mean).pow(2) * (-log_var).exp() + log_var + math.log(2 * math.pi))


def gaussian_entropy(log_var: Tensor) -> Tensor:
    """Differential entropy of ``N(mean, exp(log_var))``, elementwise.

    Parameters
    ----------
    log_var : Tensor
        Log-variances.

    Returns
    -------
    entropy : Tensor of the same shape
        In nats.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.gaussian_entropy(torch.zeros(1))
    tensor([1.4189])
    """
    return 0.5 * (log_var + math.log(2 * math.pi * math.e))


def gaussian_kl(
    mean: Tensor,
    log_var: Tensor,
    other_mean: Tensor | None = None,
    other_log_var: Tensor | None = None,
) -> Tensor:
    """KL divergence of ``N(mean, exp(log_var))`` from another Gaussian, elementwise.

    ``0.5 ((m - m')^2 / v' + v / v' - log(v / v') - 1)``.

    Parameters
    ----------
    mean, log_var : Tensor
        Means and log-variances.
    other_mean, other_log_var : Tensor or None, default=None
        Those of the other Gaussian; None takes N(0, 1).

    Returns
    -------
    kl : Tensor
        In nats, at least 0: per observation and latent, if the arguments are (B, D).

    See Also
    --------
    kl_parts : The divergence from the prior, averaged over data, in three parts.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> terms.gaussian_kl(one, zero), terms.gaussian_kl(one, zero, one, zero)
    (tensor([0.5000]), tensor([0.]))
    """
    if other_mean is None and other_log_var is None:
        return 0.5 * (mean.pow(2) + log_var.exp() - log_var - 1)
    if other_mean is None or other_log_var is None:
        raise ValueError("Pass other_mean and other_log_var together, or neither for N(0, 1).")
    gap = log_var - other_log_var
    return 0.5 * ((mean - other_mean).square() * (-other_log_var).exp() + gap.exp() - gap - 1)


def standard_log_prior(z: Tensor) -> Tensor:
    """``log N(z; 0, 1)``, elementwise.

    Parameters
    ----------
    z : Tensor
        Values.

    Returns
    -------
    log_density : Tensor of the same shape
        In nats.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.standard_log_prior(torch.zeros(1))
    tensor([-0.9189])
    """
    return -0.5 * (z.pow(2) + math.log(2 * math.pi))


def categorical_kl(logits: Tensor) -> Tensor:
    """KL divergence of categorical distributions from the uniform one: ``log K - H(p)``.

    Parameters
    ----------
    logits : Tensor of shape (..., K)
        Logarithms of the probabilities, up to a constant.

    Returns
    -------
    kl : Tensor of shape (...)
        In nats, from 0 to ``log K``.

    See Also
    --------
    gaussian_kl : For Gaussian latents.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> terms.categorical_kl(torch.zeros(1, 3))
    tensor([0.])
    """
    log_p = F.log_softmax(logits, dim=-1)
    entropy = -(log_p.exp() * log_p).sum(-1)
    return (math.log(logits.shape[-1]) - entropy).clamp(min=0.0)


def laplace_transition_kl(
    mean: Tensor, log_var: Tensor, other_mean: Tensor, other_log_var: Tensor, rate: float
) -> Tensor:
    """Mean KL divergence of a Gaussian from a Laplace density around another Gaussian's draw.

    ``E_{a ~ N(other)} KL(N(mean, exp(log_var)), Laplace(a, rate))``, elementwise: the density is
    ``rate / 2 exp(-rate |z - a|)``. As z - a is Gaussian, the expectation of its absolute value is
    that of a folded normal distribution, in closed form.

    Parameters
    ----------
    mean, log_var : Tensor
        Means and log-variances of the later codes.
    other_mean, other_log_var : Tensor
        Those of the earlier codes.
    rate : float
        One over the mean step of a code.

    Returns
    -------
    kl : Tensor
        In nats, of the shape of the arguments.

    See Also
    --------
    gaussian_kl : The divergence from a Gaussian.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> zero = torch.zeros(1)
    >>> round(float(terms.laplace_transition_kl(zero, zero, zero, zero, rate=1.0)), 3)
    0.403
    """
    variance = log_var.exp() + other_log_var.exp()
    gap = mean - other_mean
    std = variance.sqrt()
    distance = std * math.sqrt(2 / math.pi) * (-gap.square() / (2 * variance)).exp()
    distance = distance + gap * torch.erf(gap / (std * math.sqrt(2)))
    return rate * distance - math.log(rate / 2) - gaussian_entropy(log_var)


# -- the KL divergence in three parts (Chen et al. 2018) -------------------------------------


class KLParts(NamedTuple):
    """``KL(q(z|x), p(z))`` averaged over data is the sum of the three."""

    index_code_mi: Tensor  # I(x; z) under q
    total_correlation: Tensor  # KL(q(z), prod_d q(z_d))
    dimension_wise_kl: Tensor  # sum_d KL(q(z_d), p(z_d))


def mss_log_weights(n_batch: int, n_data: int, **options: Any) -> Tensor:
    """Log of the weights of minibatch stratified sampling; every row of weights sums to 1.

    With M = B - 1: 1/N for the row's own posterior, which is certain to be in the batch;
    (N - M) / (N M) for the next one, which stands for the rest of the data; 1/M for the others.

    Parameters
    ----------
    n_batch, n_data : int
        B and N.
    **options : dict
        ``dtype`` and ``device`` of the result.

    Returns
    -------
    log_weights : Tensor of shape (B, B)

    Notes
    -----
    The first two weights lie on the diagonal and on the one beside it, not in the first two
    columns, as in several public versions.

    Examples
    --------
    >>> from sklearn_disent.models import terms
    >>> terms.mss_log_weights(3, 100).exp().sum(1)
    tensor([1., 1., 1.])
    """
    return _mss_rows(0, n_batch, n_batch, n_data, **options)


def _mss_rows(start: int, stop: int, n_batch: int, n_data: int, **options: Any) -> Tensor:
    """Some rows of `mss_log_weights`."""
    if n_batch == 1:  # the own posterior is all there is
        return torch.zeros(1, 1, **options)
    others = n_batch - 1
    weights = torch.full((stop - start, n_batch), 1 / others, **options)
    row = torch.arange(start, stop, device=weights.device)
    weights[row - start, (row + 1) % n_batch] = (n_data - others) / (n_data * others)
    weights[row - start, row] = 1 / n_data
    return weights.log()


def kl_parts(
    z: Tensor,
    mean: Tensor,
    log_var: Tensor,
    n_data: int,
    estimator: Literal["mss", "mws"] = "mss",
    log_prior: Callable[[Tensor], Tensor] = standard_log_prior,
) -> KLParts:
    """Estimate the three parts of the KL divergence from one batch.

    ``log q(z_i) = logsumexp_j [log W_ij + sum_d log q(z_id|x_j)]``, and the same per latent.

    Parameters
    ----------
    z : Tensor of shape (B, D)
        A draw from each posterior.
    mean, log_var : Tensor of shape (B, D)
        The posteriors.
    n_data : int
        N, the number of rows that batches are taken from.
    estimator : {"mss", "mws"}, default="mss"
        "mss" takes W from :func:`mss_log_weights`. "mws" takes 1 / (B N), whose values are off by
        constants (log N for q(z), D log N for its marginals) with the same gradient.
    log_prior : callable, default=standard_log_prior
        Maps z to the (B, D) log-densities of a factorised prior.

    Returns
    -------
    parts : KLParts
        ``index_code_mi``, ``total_correlation`` and ``dimension_wise_kl``, scalars in nats.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018). Isolating sources of disentanglement in variational
    autoencoders. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from sklearn_disent.models import terms
    >>> mean = torch.tensor([[-2.0], [2.0]])
    >>> parts = terms.kl_parts(mean, mean, torch.full((2, 1), -4.0), n_data=2)
    >>> parts.index_code_mi  # two posteriors that do not overlap: log 2
    tensor(0.6931)
    """
    if estimator not in ("mss", "mws"):
        raise ValueError(f"estimator must be 'mss' or 'mws', got {estimator!r}.")
    n_rows = max(1, _MAX_ENTRIES // z.numel())
    args = (z, mean, log_var, n_data, estimator)
    if n_rows >= len(z):
        joint, marginals = _log_aggregates(0, len(z), *args)
    else:
        # Each part is computed again for its gradient: kept, they would be as large as the whole.
        parts = [
            checkpoint(_log_aggregates, i, min(i + n_rows, len(z)), *args, use_reentrant=False)
            for i in range(0, len(z), n_rows)
        ]
        joint, marginals = (torch.cat(part) for part in zip(*parts))
    own = gaussian_log_density(z, mean, log_var).sum(1)
    return KLParts(
        (own - joint).mean(),
        (joint - marginals).mean(),
        (marginals - log_prior(z).sum(1)).mean(),
    )


def _log_aggregates(
    start: int, stop: int, z: Tensor, mean: Tensor, log_var: Tensor, n_data: int, estimator: str
) -> tuple[Tensor, Tensor]:
    """``log q(z_i)`` and ``sum_d log q(z_id)`` for the rows i from `start` to `stop`."""
    log_q = gaussian_log_density(z[start:stop, None], mean[None], log_var[None])  # (rows, B, D)
    if estimator == "mss":
        log_w = _mss_rows(start, stop, len(z), n_data, dtype=z.dtype, device=z.device)
        joint = torch.logsumexp(log_w + log_q.sum(2), 1)
        return joint, torch.logsumexp(log_w[:, :, None] + log_q, 1).sum(1)
    offset = math.log(len(z) * n_data)
    joint = torch.logsumexp(log_q.sum(2), 1) - offset
    return joint, (torch.logsumexp(log_q, 1) - offset).sum(1)
